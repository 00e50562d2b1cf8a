//! One key of the link and its values.

use experiment::file::{Range, Words};

use crate::Failure;

/// A key of the link and its values, as written in an experiment file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Varied {
    pub(super) key: String,
    pub(super) values: Vec<String>,
}

impl Varied {
    /// Parses `queue=0.1..8 BDP`, `queue=0.5, 1, 2 BDP` or `aqm=codel, drop-tail`.
    pub(super) fn read(text: &str) -> Result<Self, Failure> {
        let wrong = |why: &str| {
            Failure::Field(
                "vary",
                format!(" \"{text}\": {why}; write it like \"queue=0.1..8 BDP\" or \"loss=0, 0.01, 0.1 %\""),
            )
        };
        let words = Words::split(text).map_err(|_| wrong("missing `=` and values"))?;
        let (key, values) = words.single().ok_or_else(|| wrong("only one key of the link can vary"))?;
        let values = match values.split_once("..") {
            Some(_) => Range::parse(values).map_err(|why| wrong(&why))?.steps(),
            None => list(values),
        };
        if values.len() < 2 {
            return Err(wrong("needs at least two values"));
        }
        Ok(Self { key: key.to_owned(), values })
    }
}

/// Splits a list. The unit of the last value applies to all values without one.
fn list(text: &str) -> Vec<String> {
    let values: Vec<&str> = text.split(',').map(str::trim).filter(|value| !value.is_empty()).collect();
    let unit = values.last().and_then(|last| units::split_number(last).ok()).map_or("", |(_, unit)| unit);
    let with_unit = |value: &&str| match units::split_number(value) {
        Ok((_, "")) => format!("{value} {unit}").trim().to_owned(),
        _ => (*value).to_owned(),
    };
    values.iter().map(with_unit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        Varied::read(text).map(|v| v.values).unwrap_or_else(|e| vec![e.to_string()])
    }

    #[test]
    fn ranges_and_lists() {
        assert_eq!(
            values("queue=0.1..8 BDP"),
            ["0.1 BDP", "0.19 BDP", "0.35 BDP", "0.65 BDP", "1.2 BDP", "2.3 BDP", "4.3 BDP", "8 BDP"]
        );
        assert_eq!(values("loss=0, 0.01, 0.1 %"), ["0 %", "0.01 %", "0.1 %"]);
        assert_eq!(values("aqm=codel, drop-tail"), ["codel", "drop-tail"]);
        assert_eq!(values("rate=1 Mbit/s..1000 Mbit/s").len(), 8);
    }

    #[test]
    fn mistakes() {
        for (text, says) in [
            ("queue", "missing `=`"),
            ("queue=1 BDP", "at least two values"),
            ("queue=8..1 BDP", "rise"),
            ("queue=1 kB..8 BDP", "differ"),
            ("queue=1..2 BDP rtt=5 ms", "only one key"),
        ] {
            assert!(values(text)[0].contains(says), "{text}: {:?}", values(text));
        }
    }
}
