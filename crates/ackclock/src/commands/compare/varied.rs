//! `--vary`: a key of the link and its values.

use experiment::file::Words;

use crate::status::Error;

/// Values of a range, evenly apart on the logarithm's scale.
const STEPS: u32 = 8;

/// A key of the link and its values, as an experiment file writes them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Varied {
    pub(super) key: String,
    pub(super) values: Vec<String>,
}

impl Varied {
    /// `queue=0.1..8 BDP`, `queue=0.5, 1, 2 BDP`, `aqm=codel, drop-tail`.
    pub(super) fn read(text: &str) -> Result<Self, Error> {
        let wrong = |why: &str| {
            Error::bad(format!(
                "--vary \"{text}\": {why}; write it like \"queue=0.1..8 BDP\" or \"loss=0, 0.01, 0.1 %\""
            ))
        };
        let words = Words::split(text).map_err(|_| wrong("no key with values"))?;
        let (key, values) = words.single().ok_or_else(|| wrong("one key of the link at a time"))?;
        let values = match values.split_once("..") {
            Some((low, high)) => range(low.trim(), high.trim()).map_err(|why| wrong(&why))?,
            None => list(values),
        };
        if values.len() < 2 {
            return Err(wrong("a single value does not vary"));
        }
        Ok(Self { key: key.to_owned(), values })
    }
}

/// The unit is that of the end.
fn range(low: &str, high: &str) -> Result<Vec<String>, String> {
    let (end, unit) = units::split_number(high)?;
    let (begin, own) = units::split_number(low)?;
    if !own.is_empty() && own != unit {
        return Err(format!("`{own}` and `{unit}` differ"));
    }
    if !(begin > 0.0 && begin < end) {
        return Err("a range begins above 0 and rises".to_owned());
    }
    let at = |i: u32| begin * libm::pow(end / begin, f64::from(i) / f64::from(STEPS - 1));
    Ok((0..STEPS).map(|i| format!("{} {unit}", rounded(at(i)))).collect())
}

/// Two digits: nobody means 0.3509 BDP.
fn rounded(value: f64) -> f64 {
    let scale = libm::pow(10.0, 1.0 - libm::log10(value).floor());
    (value * scale).round() / scale
}

/// A unit behind the last is that of all.
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
        Varied::read(text).map(|v| v.values).unwrap_or_else(|e| vec![e.message])
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
            ("queue", "no key with values"),
            ("queue=1 BDP", "a single value"),
            ("queue=8..1 BDP", "rises"),
            ("queue=0..1 BDP", "above 0"),
            ("queue=1 kB..8 BDP", "differ"),
            ("queue=1..2 BDP rtt=5 ms", "one key"),
        ] {
            assert!(values(text)[0].contains(says), "{text}: {:?}", values(text));
        }
    }
}
