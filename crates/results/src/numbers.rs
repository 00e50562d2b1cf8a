//! The numbers that stand in the prose of shipped experiments: where each comes from, and whether its command still prints it.
//!
//! Numbers of the run itself are written `{row: metric}` and need no entry. Every other is in `experiments/prose-numbers.csv`:
//! `experiment,by,numbers`, where `by` is `source` (the document says it), `file` (a value, a name or a closed form of the
//! experiment's file), `arithmetic` (made of others in the sentence), or the command that prints it. A number is known by its digits:
//! `0.50` is another than `0.5`. A page (`docs/x.md`) has entries for what `ackclock ledger --columns=METRIC` prints; its other numbers
//! are not registered.

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::Column;
use crate::summary::{Cell, Summary};
use experiment::file::{Check, Claim, Experiment, Part, Relation, Rows, Side};
use experiment::{library, prose};

/// The command of an entry whose number a run prints.
const RUN: &str = "ackclock run ";
/// That of an entry whose number the ledger prints, before the metric.
const LEDGER: &str = "ackclock ledger --columns=";

/// Where the numbers of an experiment's prose come from: by what, and which.
pub type Origins = BTreeMap<String, Vec<(String, BTreeSet<String>)>>;

/// The numbers in a sentence, as they are written; not those between braces.
pub fn in_text(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_alphanumeric() || "._+-/".contains(c);
    let words = prose::texts(text).flat_map(move |part| part.split(move |c| !is_part(c)));
    let bare = words.map(|word| word.trim_end_matches(['.', '-', '/']).trim_start_matches(['+', '-']));
    bare.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.parse::<f64>().is_ok())
        .map(str::to_owned)
        .collect()
}

/// Those of a file's note, reference and reasons.
pub fn of(exp: &Experiment) -> BTreeSet<String> {
    exp.prose().flat_map(in_text).collect()
}

/// The shipped register.
///
/// # Errors
/// A line that is none.
pub fn register() -> Result<Origins, String> {
    let mut origins = Origins::new();
    for (number, line) in library::prose_numbers().lines().enumerate().skip(1) {
        let wrong = || format!("prose-numbers.csv:{}: experiment,by,numbers", number + 1);
        let (experiment, rest) = line.split_once(',').ok_or_else(wrong)?;
        let (by, numbers) = rest.rsplit_once(',').ok_or_else(wrong)?;
        let numbers = numbers.split_whitespace().map(str::to_owned).collect();
        origins.entry(experiment.to_owned()).or_default().push((by.to_owned(), numbers));
    }
    Ok(origins)
}

/// What the register lacks of an experiment's prose, and what it has too much.
pub fn compare(exp: &Experiment, origins: &Origins) -> Vec<String> {
    let known: BTreeSet<String> =
        origins.get(&exp.name).into_iter().flatten().flat_map(|(_, numbers)| numbers.clone()).collect();
    let found = of(exp);
    let lacking =
        found.difference(&known).map(|n| format!("{}: {n} stands in its prose, from nowhere", exp.name));
    let left = known.difference(&found).map(|n| format!("{}: {n} no longer stands in its prose", exp.name));
    lacking.chain(left).collect()
}

/// The experiment whose runs print an entry's numbers, as it is shipped: not with another key or on the wire.
pub fn printed_by(by: &str) -> Option<&str> {
    by.strip_prefix(RUN).filter(|rest| !rest.contains(' '))
}

/// Those of the numbers that none of the summary's cells has, to their own digits: value, deviation, published value or
/// difference in percent.
pub fn stale<'n>(numbers: &'n BTreeSet<String>, summary: &Summary) -> Vec<&'n String> {
    let cells = || summary.variants.iter().flat_map(|v| &v.rows).flat_map(|row| row.cells.values());
    let values: Vec<f64> = cells()
        .flat_map(|cell| {
            [Some(cell.value()), cell.spread, cell.published, cell.difference().map(|d| 100.0 * d)]
        })
        .flatten()
        .collect();
    let shows = |number: &String| {
        let decimals = number.split_once('.').map_or(0, |(_, digits)| digits.len());
        values.iter().any(|value| format!("{:.decimals$}", value.abs()) == *number)
    };
    numbers.iter().filter(|number| !shows(number)).collect()
}

/// The entries of pages: page, command and numbers.
pub fn of_pages(origins: &Origins) -> impl Iterator<Item = (&str, &str, &BTreeSet<String>)> {
    let pages = origins.iter().filter(|(name, _)| name.ends_with(".md"));
    pages.flat_map(|(page, entries)| {
        entries.iter().map(move |(by, numbers)| (page.as_str(), by.as_str(), numbers))
    })
}

/// Those that no column of the ledger has, to their own digits: `by` names the metric behind the command. None is without results.
pub fn stale_of_ledger<'n, 'c>(
    by: &str,
    numbers: &'n BTreeSet<String>,
    columns: impl Iterator<Item = &'c Column>,
) -> Vec<&'n String> {
    let metric = by.strip_prefix(LEDGER).unwrap_or_default();
    let distances: Vec<f64> =
        columns.filter(|column| column.metric.as_str() == metric).map(|c| c.distance).collect();
    let shows = |number: &String| {
        let decimals = number.split_once('.').map_or(0, |(_, digits)| digits.len());
        distances.iter().any(|distance| format!("{distance:.decimals$}") == *number)
    };
    numbers.iter().filter(|number| !distances.is_empty() && !shows(number)).collect()
}

/// Bounds of a claim that are its own rows' numbers to three digits and more: typed in from our output, they say nothing. What is near
/// a closed form may well be it.
pub fn hugged<'c>(exp: &'c Experiment, summary: &Summary) -> Vec<(&'c str, f64)> {
    let parts = exp.claims.iter().flat_map(|claim| claim.parts.iter().map(move |part| (claim, part)));
    let bounds = parts.filter_map(|(claim, part)| match &part.check {
        Check::Compare { is: Relation::Near(_), .. } => None,
        Check::Compare { left: Side::Rows { rows, .. }, right: Side::Number(bound), times, .. } => {
            Some((claim, part, rows, bound * times))
        }
        _ => None,
    });
    let is_hugged = |(_, part, rows, bound): &(&Claim, &Part, &Rows, f64)| {
        let text = format!("{bound}");
        let decimals = text.split_once('.').map_or(0, |(_, digits)| digits.len());
        let digits = text.trim_start_matches(['0', '.']).chars().filter(char::is_ascii_digit).count();
        let mine = summary.variants.iter().filter(|v| part.applies_to(&v.name)).flat_map(|v| &v.rows);
        let values =
            mine.filter(|row| rows.matches(row.label.as_str())).filter_map(|row| row.cells.get(&part.metric));
        digits >= 3 && values.map(Cell::value).any(|value| format!("{value:.decimals$}") == text)
    };
    bounds.filter(is_hugged).map(|(claim, _, _, bound)| (claim.id.as_str(), bound)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_from_names() {
        let text =
            "RFC 9002, S0-01w, BBRv2: 12.5 ms for {Cubic: rtt_mean} ms (+3 %), section 5.2.1, 10-20, 0.50.";
        let expected = ["0.50", "12.5", "3", "9002"].map(str::to_owned);
        assert_eq!(in_text(text), BTreeSet::from(expected));
    }
}
