//! One table per experiment (`-v`): the reference variant, and the range of the other variants
//! beside each number.
//!
//! A sweep without a reference shows all variants if they fit on a screen.

use results::summary::{Row, Summary, Trust, Variant, Verdict};

use crate::gaps;

use super::cells::{DEVIATION, bias, mark};
use super::grid::{self, Grid};
use super::lines::{Lines, short};
use crate::variants::keys_and_values;

/// Most lines of a table that leaves space for other output.
const SCREEN: usize = 24;

/// Reasons already printed. A table refers to them by number, so that each appears once.
pub type Notes = Vec<String>;

/// Returns heading, table and claims. Reasons in `notes` are not printed again.
pub fn text(summary: &Summary, notes: &mut Notes, width: usize) -> String {
    let mut out = Lines::new(width);
    out.line("");
    title(&mut out, summary);
    if !summary.note.is_empty() {
        out.put("", &summary.note);
    }
    out.line("");
    table(&mut out, summary, notes);
    if !summary.claims.is_empty() {
        out.line("");
    }
    claims(&mut out, summary, notes);
    out.into_text()
}

/// Prints one line for each claim that holds, and the full sentence with its reason for the others.
fn claims(out: &mut Lines, summary: &Summary, notes: &mut Notes) {
    for claim in &summary.claims {
        let ours = if claim.ours { " (ours)" } else { "" };
        let (verdict, says) = (format!("  {} ", short(claim)), format!("{}: {}{ours}", claim.id, claim.says));
        if claim.verdict == Verdict::Holds {
            out.cut(&verdict, &says);
            continue;
        }
        out.put(&verdict, &says);
        let Some(reason) = &claim.reason else { continue };
        match notes.iter().position(|note| note == reason) {
            Some(known) => out.put("           why: ", &format!("[{}]", known + 1)),
            None => {
                notes.push(reason.clone());
                out.put(&format!("           [{}] ", notes.len()), reason);
            }
        }
    }
}

fn title(out: &mut Lines, summary: &Summary) {
    out.put("", &format!("{}: {}{}", summary.experiment, summary.title, summary.world.title_suffix()));
}

/// Prints title, source and note of a single experiment.
pub(super) fn heading(out: &mut Lines, summary: &Summary) {
    title(out, summary);
    for more in [&summary.source, &summary.note] {
        if !more.is_empty() {
            out.put("", more);
        }
    }
}

/// Returns the number of rows of the variant that [`table`] shows first.
pub(super) fn table_rows(summary: &Summary) -> usize {
    shown_variant(summary).map_or(0, |variant| variant.rows.len())
}

/// Returns the first reference variant, or the first of all.
fn shown_variant(summary: &Summary) -> Option<&Variant> {
    summary.variants.iter().find(|v| v.reference).or(summary.variants.first())
}

/// Prints the table and its notes. Without claims it shows every column, otherwise at most a
/// screen.
pub(super) fn table(out: &mut Lines, summary: &Summary, notes: &mut Notes) {
    let known = notes.len();
    numbers(out, summary, notes);
    for (i, reason) in notes.iter().enumerate().skip(known) {
        out.put(&format!("  [{}] ", i + 1), reason);
    }
    remarks(out, summary);
}

/// Prints the table, and where to read the reasons for its differences.
pub(super) fn table_without_reasons(out: &mut Lines, summary: &Summary) {
    let mut notes = Notes::new();
    numbers(out, summary, &mut notes);
    match notes.len() {
        0 => {}
        1 => out.put("  ", "[1]: reason for differences (-v)"),
        last => out.put("  ", &format!("[1] to [{last}]: reasons for differences (-v)")),
    }
    remarks(out, summary);
}

/// Prints the table and its biases. New reasons are added to `notes`.
fn numbers(out: &mut Lines, summary: &Summary, notes: &mut Notes) {
    let Some(variant) = shown_variant(summary) else { return };
    let others: Vec<&Variant> = summary.variants.iter().filter(|other| other.name != variant.name).collect();
    let (corner, rows) = if shows_every_variant(summary) {
        every_row(&summary.variants)
    } else {
        if !variant.name.is_empty() {
            out.put("", &caption(variant, others.len(), is_sweep(summary)));
        }
        (String::new(), rows_of(variant, &others))
    };
    let most = if summary.claims.is_empty() { usize::MAX } else { SCREEN };
    let grid = Grid { corner, rows: &rows, most };
    let grid::Layout { left_out, has_deviation } = grid.draw(out, &summary.metrics, notes);
    if has_deviation {
        out.put("  ", DEVIATION);
    }
    let shown = &summary.metrics[..summary.metrics.len() - left_out.len()];
    for gap in gaps::of_rows(&rows.iter().map(|line| line.row).collect::<Vec<_>>(), shown) {
        out.put("  ", &gap);
    }
    if !left_out.is_empty() {
        out.put("  ", &format!("more columns (-vv): {}", left_out.join(", ")));
    }
    for found in &variant.biases {
        notes.extend(found.reason.clone().filter(|reason| !notes.contains(reason)));
        out.put("  ", &bias(found, notes));
    }
}

/// Prints why runs of the shown rows are invalid.
fn remarks(out: &mut Lines, summary: &Summary) {
    let all = if shows_every_variant(summary) { &summary.variants[..] } else { &[] };
    let shown = shown_variant(summary).filter(|_| all.is_empty());
    for row in all.iter().chain(shown).flat_map(|variant| &variant.rows) {
        for remark in row.trust.iter().filter_map(Trust::remark) {
            out.put(&format!("  {} ", mark(row).trim()), &format!("{}: {remark}", row.label));
        }
    }
}

/// Reports whether the table has the rows of all variants: a short sweep without a reference.
fn shows_every_variant(summary: &Summary) -> bool {
    let rows = summary.variants.iter().map(|v| v.rows.len()).sum::<usize>();
    is_sweep(summary) && rows <= SCREEN
}

/// Reports whether there are several variants, all with the same standing.
fn is_sweep(summary: &Summary) -> bool {
    summary.variants.len() > 1 && summary.variants.iter().all(|v| v.reference)
}

fn caption(variant: &Variant, others: usize, is_sweep: bool) -> String {
    let standing = if variant.reference && !is_sweep { " (reference)" } else { "" };
    match others {
        0 => variant.name.clone(),
        1 => format!("{}{standing}; others: the other variant", variant.name),
        _ => format!("{}{standing}; others: lowest and highest of {others} other variants", variant.name),
    }
}

fn rows_of<'a>(variant: &'a Variant, others: &[&'a Variant]) -> Vec<grid::Line<'a>> {
    let line = |row: &'a Row| {
        let all = others.iter().flat_map(|variant| &variant.rows);
        let others = all.filter(|other| other.label == row.label).collect();
        grid::Line { label: row.label.to_string() + mark(row), row, others }
    };
    variant.rows.iter().map(line).collect()
}

/// Returns the swept keys, and the rows of all variants with the variant's values before its first
/// row.
fn every_row(variants: &[Variant]) -> (String, Vec<grid::Line<'_>>) {
    let names: Vec<&str> = variants.iter().map(|v| v.name.as_str()).collect();
    let (keys, values) = keys_and_values(&names);
    let values: Vec<String> = values.iter().map(|values| values.join(", ")).collect();
    let width = values.iter().map(|value| value.chars().count()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (variant, value) in variants.iter().zip(&values) {
        for (i, row) in variant.rows.iter().enumerate() {
            let value = if i == 0 { value.as_str() } else { "" };
            let label = format!("{value:width$}  {}{}", row.label, mark(row));
            lines.push(grid::Line { label, row, others: Vec::new() });
        }
    }
    (keys, lines)
}
