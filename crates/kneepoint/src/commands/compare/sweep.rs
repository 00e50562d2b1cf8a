//! A comparison over the values of a key of the link.

use std::fmt::Write as _;

use experiment::file::Words;
use results::summary::{Results, Variant};

use super::answer::mean;
use super::interval::Ratio;
use super::question::Question;
use super::screen::{put, significant};
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
    let at = |i: u32| begin * (end / begin).powf(f64::from(i) / f64::from(STEPS - 1));
    Ok((0..STEPS).map(|i| format!("{} {unit}", rounded(at(i)))).collect())
}

/// Two digits: nobody means 0.3509 BDP.
fn rounded(value: f64) -> f64 {
    let scale = 10_f64.powi(1 - value.log10().floor() as i32);
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

/// A line per value: goodput of each, the ratio of the last two columns' best to the first, and shares beside the competitor.
pub(super) fn text(question: &Question, varied: &Varied, all: &[Results], seeds: u32) -> String {
    let (long, beside) = (&all[0].summary.variants, &all[1].summary.variants);
    let mut out = String::new();
    put(&mut out, "", &verdict(question, varied, long, seeds));
    out.push('\n');
    let labels: Vec<&str> = question.controllers.iter().map(|c| c.label.as_str()).collect();
    let width = labels.iter().map(|l| l.chars().count()).max().unwrap_or(0).clamp(8, 14);
    let cells = |of: &dyn Fn(&str) -> String| {
        labels.iter().map(|l| format!(" {:>width$}", of(l))).collect::<String>()
    };
    let _ = writeln!(out, "{:>12}  goodput alone, Mbit/s; share beside {}, %", "", question.against.label);
    let _ = writeln!(out, "{:>12} {}  |{}", varied.key, cells(&str::to_owned), cells(&str::to_owned));
    for (i, value) in varied.values.iter().enumerate() {
        let of = |variants: &[Variant], label: &str, metric: &str| {
            let row = variants.get(i).and_then(|v| v.rows.iter().find(|row| row.label == label));
            row.map_or(0.0, |row| mean(row, metric))
        };
        let goodput = cells(&|label| significant(of(long, label, "goodput")));
        let share = cells(&|label| format!("{:.0}", of(beside, label, "share of candidate")));
        let _ = writeln!(out, "{value:>12} {goodput}  |{share}");
    }
    out.push('\n');
    put(
        &mut out,
        "",
        &format!(
            "{seeds} seeds each, {} s long, the first {} s not counted.",
            question.to.as_secs_f64(),
            question.from.as_secs_f64()
        ),
    );
    out
}

/// Where the one that carries most changes.
fn verdict(question: &Question, varied: &Varied, variants: &[Variant], seeds: u32) -> String {
    let mut spans: Vec<(String, usize, usize)> = Vec::new();
    for (i, variant) in variants.iter().enumerate() {
        let winner = winner(variant, seeds);
        match spans.last_mut() {
            Some((name, _, last)) if *name == winner => *last = i,
            _ => spans.push((winner, i, i)),
        }
    }
    let value = |i: usize| varied.values.get(i).map_or("", String::as_str);
    let says: Vec<String> = spans
        .iter()
        .map(|(name, first, last)| match first == last {
            true => format!("{name} at {}", value(*first)),
            false => format!("{name} from {} to {}", value(*first), value(*last)),
        })
        .collect();
    format!("Most goodput on {}, over {}: {}.", question.link, varied.key, says.join(", "))
}

/// Who carries most there, or all that are not told apart from it.
fn winner(variant: &Variant, seeds: u32) -> String {
    let best = variant.rows.iter().max_by(|a, b| mean(a, "goodput").total_cmp(&mean(b, "goodput")));
    let Some(best) = best else { return String::new() };
    let level = |row: &&results::summary::Row| {
        let ratio = best.cells.get("goodput").zip(row.cells.get("goodput"));
        row.label == best.label
            || ratio.and_then(|(a, b)| Ratio::of(a, b, seeds)).is_some_and(|r| !r.differs() || r.value < 1.01)
    };
    let names: Vec<&str> = variant.rows.iter().filter(level).map(|row| row.label.as_str()).collect();
    if names.len() == 1 { names[0].to_owned() } else { format!("{} level", names.join(" and ")) }
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
