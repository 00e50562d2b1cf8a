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

use std::collections::BTreeSet;

use experiment::file::{Check, Claim, Experiment, Part, Relation, Rows, Side};
use experiment::{library, prose};
use results::ledger;
use results::summary::{Cell, Summary};

/// Command of an entry whose numbers a run prints, without the experiment.
const RUN: &str = "ackclock run ";
/// Command of an entry whose numbers the ledger prints, without the metric.
const LEDGER: &str = "ackclock ledger --columns=";

/// Line of the register.
pub(crate) struct Entry {
    /// Experiment, or page.
    pub(crate) place: String,
    /// Origin of the numbers.
    pub(crate) by: String,
    pub(crate) numbers: BTreeSet<String>,
}

/// Returns the numbers in a sentence as they are written, except those between braces.
pub(crate) fn in_text(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_alphanumeric() || "._+-/".contains(c);
    let words = prose::texts(text).flat_map(move |part| part.split(move |c| !is_part(c)));
    let bare = words.map(|word| word.trim_end_matches(['.', '-', '/']).trim_start_matches(['+', '-']));
    bare.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.parse::<f64>().is_ok())
        .map(str::to_owned)
        .collect()
}

/// Returns the shipped register. Fails if a line is malformed.
pub(crate) fn register() -> Result<Vec<Entry>, String> {
    let entry = |(at, line): (usize, &str)| {
        let wrong = || format!("prose-numbers.csv:{}: expected `experiment,by,numbers`", at + 1);
        let (place, rest) = line.split_once(',').ok_or_else(wrong)?;
        let (by, numbers) = rest.rsplit_once(',').ok_or_else(wrong)?;
        let numbers = numbers.split_whitespace().map(str::to_owned).collect();
        Ok(Entry { place: place.to_owned(), by: by.to_owned(), numbers })
    };
    library::prose_numbers().lines().enumerate().skip(1).map(entry).collect()
}

/// Returns the numbers that are in an experiment's prose but not in the register, or the other way
/// round.
pub(crate) fn compare(exp: &Experiment, register: &[Entry]) -> Vec<String> {
    let own = register.iter().filter(|entry| entry.place == exp.name);
    let known: BTreeSet<String> = own.flat_map(|entry| entry.numbers.clone()).collect();
    let found: BTreeSet<String> = exp.prose().flat_map(in_text).collect();
    let lacking = found
        .difference(&known)
        .map(|n| format!("{}: {n} is in its prose but not in prose-numbers.csv", exp.name));
    let left = known
        .difference(&found)
        .map(|n| format!("{}: {n} is in prose-numbers.csv but no longer in its prose", exp.name));
    lacking.chain(left).collect()
}

/// Returns the values that the command of an entry prints, without signs, or none without its
/// results. The cells of a run count by value, deviation, published value, and difference in
/// percent.
pub(crate) fn printed(by: &str, summaries: &[Summary]) -> Vec<f64> {
    if let Some(metric) = by.strip_prefix(LEDGER) {
        let columns = ledger::by_source(summaries.iter()).into_iter().flat_map(|source| source.columns);
        return columns.filter(|column| column.metric.as_str() == metric).map(|c| c.distance).collect();
    }
    let run = summaries.iter().find(|summary| by.strip_prefix(RUN) == Some(&summary.experiment));
    let rows = run.into_iter().flat_map(|run| &run.variants).flat_map(|variant| &variant.rows);
    let shown =
        |cell: &Cell| [Some(cell.value()), cell.spread, cell.published, cell.difference().map(|d| 100.0 * d)];
    rows.flat_map(|row| row.cells.values()).flat_map(shown).flatten().map(f64::abs).collect()
}

/// Returns the numbers that are none of these values, at their own precision. Without values there
/// are none.
pub(crate) fn stale<'n>(numbers: &'n BTreeSet<String>, values: &[f64]) -> Vec<&'n String> {
    let is_stale = |number: &&String| !values.is_empty() && !is_shown(number, values.iter().copied());
    numbers.iter().filter(is_stale).collect()
}

/// Reports whether a value is this number at the number's precision.
fn is_shown(number: &str, mut values: impl Iterator<Item = f64>) -> bool {
    let decimals = number.split_once('.').map_or(0, |(_, digits)| digits.len());
    values.any(|value| format!("{value:.decimals$}") == number)
}

/// Returns the sentences with a number of the run that breaks the bound of its sentence.
pub(crate) fn broken_bounds(summary: &Summary) -> Vec<String> {
    let variants = || summary.variants.iter();
    let cells = variants().flat_map(|v| &v.rows).flat_map(|row| row.cells.values().map(|cell| &cell.reason));
    let biases = variants().flat_map(|v| &v.biases).map(|bias| &bias.reason);
    let reasons = summary.claims.iter().map(|claim| &claim.reason).chain(cells).chain(biases).flatten();
    let texts: BTreeSet<&String> = reasons.chain([&summary.note, &summary.why_reference]).collect();
    let broken = texts.into_iter().filter(|text| text.contains(prose::BROKEN));
    broken.map(|text| format!("{}: {text}", summary.experiment)).collect()
}

/// Returns a complaint about each bound of a claim that equals its rows' values to three or more
/// digits. It was copied from our output and proves nothing. Bounds near a closed form are left
/// out, because they may be that form.
pub(crate) fn self_derived_bounds(exp: &Experiment, summary: &Summary) -> Vec<String> {
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
        let digits = text.trim_start_matches(['0', '.']).chars().filter(char::is_ascii_digit).count();
        let mine = summary.variants.iter().filter(|v| part.applies_to(&v.name)).flat_map(|v| &v.rows);
        let values =
            mine.filter(|row| rows.matches(row.label.as_str())).filter_map(|row| row.cells.get(&part.metric));
        digits >= 3 && is_shown(&text, values.map(Cell::value))
    };
    let complaint = |(claim, _, _, bound): (&Claim, _, _, f64)| {
        format!("{} {}: {bound} is our own number", exp.name, claim.id)
    };
    bounds.filter(is_self_derived).map(complaint).collect()
}

#[cfg(test)]
mod tests;
