//! Numbers in the prose of shipped experiments: the origin of each, and whether its command still
//! prints it.
//!
//! Numbers of the run itself are written `{row: metric}` and need no entry. Every other number is
//! in `experiments/prose-numbers.csv` with the columns `experiment,by,numbers`. `by` is one of:
//!
//! - `source`: the document has the number.
//! - `file`: it is a value, a name or a closed form of the experiment's file.
//! - `arithmetic`: it is computed from others in the sentence.
//! - the command that prints it.
//!
//! Digits identify a number: `0.50` differs from `0.5`. A page (`docs/src/x.md`) has entries for
//! the output of `ackclock ledger --columns=METRIC`. Its other numbers are not registered.

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::Column;
use crate::summary::{Cell, Summary};
use experiment::file::{Check, Claim, Experiment, Part, Relation, Rows, Side};
use experiment::{library, prose};

/// Command of an entry whose number a run prints.
const RUN: &str = "ackclock run ";
/// Command of an entry whose number the ledger prints, without the metric.
const LEDGER: &str = "ackclock ledger --columns=";

/// Experiment to the origins of its numbers: source and numbers.
pub type Origins = BTreeMap<String, Vec<(String, BTreeSet<String>)>>;

/// Returns the numbers in a sentence as they are written, except those between braces.
pub fn in_text(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_alphanumeric() || "._+-/".contains(c);
    let words = prose::texts(text).flat_map(move |part| part.split(move |c| !is_part(c)));
    let bare = words.map(|word| word.trim_end_matches(['.', '-', '/']).trim_start_matches(['+', '-']));
    bare.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.parse::<f64>().is_ok())
        .map(str::to_owned)
        .collect()
}

/// Returns the numbers in a file's note, reference and reasons.
pub fn in_experiment(exp: &Experiment) -> BTreeSet<String> {
    exp.prose().flat_map(in_text).collect()
}

/// Returns the shipped register.
///
/// # Errors
/// Fails if a line is malformed.
pub fn register() -> Result<Origins, String> {
    let mut origins = Origins::new();
    for (number, line) in library::prose_numbers().lines().enumerate().skip(1) {
        let wrong = || format!("prose-numbers.csv:{}: expected `experiment,by,numbers`", number + 1);
        let (experiment, rest) = line.split_once(',').ok_or_else(wrong)?;
        let (by, numbers) = rest.rsplit_once(',').ok_or_else(wrong)?;
        let numbers = numbers.split_whitespace().map(str::to_owned).collect();
        origins.entry(experiment.to_owned()).or_default().push((by.to_owned(), numbers));
    }
    Ok(origins)
}

/// Returns the numbers that are in an experiment's prose but not in the register, or the other way
/// round.
pub fn compare(exp: &Experiment, origins: &Origins) -> Vec<String> {
    let known: BTreeSet<String> =
        origins.get(&exp.name).into_iter().flatten().flat_map(|(_, numbers)| numbers.clone()).collect();
    let found = in_experiment(exp);
    let lacking = found
        .difference(&known)
        .map(|n| format!("{}: {n} is in its prose but not in prose-numbers.csv", exp.name));
    let left = known
        .difference(&found)
        .map(|n| format!("{}: {n} is in prose-numbers.csv but no longer in its prose", exp.name));
    lacking.chain(left).collect()
}

/// Returns the experiment whose unchanged runs print an entry's numbers.
pub fn printed_by(by: &str) -> Option<&str> {
    by.strip_prefix(RUN).filter(|rest| !rest.contains(' '))
}

/// Returns the numbers that no cell of the summary has, at their own precision. Cells count by
/// value, deviation, published value, and difference in percent.
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

/// Returns the entries of pages: page, command and numbers.
pub fn page_entries(origins: &Origins) -> impl Iterator<Item = (&str, &str, &BTreeSet<String>)> {
    let pages = origins.iter().filter(|(name, _)| name.ends_with(".md"));
    pages.flat_map(|(page, entries)| {
        entries.iter().map(move |(by, numbers)| (page.as_str(), by.as_str(), numbers))
    })
}

/// Returns the numbers that no column of the ledger has, at their own precision. `by` ends in the
/// metric. Without results there are none.
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

/// Returns bounds of claims that equal their rows' values to three or more digits. They were copied
/// from our output and prove nothing. Bounds near a closed form are left out, because they may be
/// that form.
pub fn self_derived_bounds<'c>(exp: &'c Experiment, summary: &Summary) -> Vec<(&'c str, f64)> {
    let parts = exp.claims.iter().flat_map(|claim| claim.parts.iter().map(move |part| (claim, part)));
    let bounds = parts.filter_map(|(claim, part)| match &part.check {
        Check::Compare { is: Relation::Near(_), .. } => None,
        Check::Compare { left: Side::Rows { rows, .. }, right: Side::Number(bound), times, .. } => {
            Some((claim, part, rows, bound * times))
        }
        _ => None,
    });
    let is_self_derived = |(_, part, rows, bound): &(&Claim, &Part, &Rows, f64)| {
        let text = format!("{bound}");
        let decimals = text.split_once('.').map_or(0, |(_, digits)| digits.len());
        let digits = text.trim_start_matches(['0', '.']).chars().filter(char::is_ascii_digit).count();
        let mine = summary.variants.iter().filter(|v| part.applies_to(&v.name)).flat_map(|v| &v.rows);
        let values =
            mine.filter(|row| rows.matches(row.label.as_str())).filter_map(|row| row.cells.get(&part.metric));
        digits >= 3 && values.map(Cell::value).any(|value| format!("{value:.decimals$}") == text)
    };
    bounds.filter(is_self_derived).map(|(claim, _, _, bound)| (claim.id.as_str(), bound)).collect()
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
