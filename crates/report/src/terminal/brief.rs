//! An experiment in one table (`-v`): the reference variant, and with each number where the other variants lie. Of a sweep without a
//! reference all variants, if a screen has room for them.

use results::summary::{Row, Summary, Trust, Variant, Verdict};

use super::cells::{DEVIATION, bias, mark};
use super::grid::{self, Grid};
use super::lines::{Lines, short};
use crate::variants::keys_and_values;

/// Lines of a table beside which others are shown too.
const SCREEN: usize = 24;

/// Reasons that have been told, each once: a table names them by their place.
pub type Notes = Vec<String>;

/// Heading, table, claims. What `notes` holds is on the screen already.
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

/// A line for each that holds, and the whole sentence with its reason of the others.
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
    out.put("", &format!("{}: {}{}", summary.experiment, summary.title, summary.world.title_end()));
}

/// What the one experiment is.
pub(super) fn heading(out: &mut Lines, summary: &Summary) {
    title(out, summary);
    for more in [&summary.source, &summary.note] {
        if !more.is_empty() {
            out.put("", more);
        }
    }
}

/// The table and its notes. Where claims are the answer, it is no longer than a screen.
pub(super) fn table(out: &mut Lines, summary: &Summary, notes: &mut Notes) {
    let Some(variant) = summary.variants.iter().find(|v| v.reference).or(summary.variants.first()) else {
        return;
    };
    let known = notes.len();
    let others: Vec<&Variant> = summary.variants.iter().filter(|other| other.name != variant.name).collect();
    let is_sweep = !others.is_empty() && summary.variants.iter().all(|v| v.reference);
    let is_short = summary.variants.iter().map(|v| v.rows.len()).sum::<usize>() <= SCREEN;
    let (corner, rows) = if is_sweep && is_short {
        every_row(&summary.variants)
    } else {
        if !variant.name.is_empty() {
            out.put("", &caption(variant, others.len(), is_sweep));
        }
        (String::new(), rows_of(variant, &others))
    };
    let most = if summary.claims.is_empty() { usize::MAX } else { SCREEN };
    let grid = Grid { corner, rows: &rows, most };
    let grid::Drawn { left_out, has_deviation } = grid.draw(out, &summary.metrics, notes);
    if has_deviation {
        out.put("  ", DEVIATION);
    }
    if !left_out.is_empty() {
        out.put("  ", &format!("more columns with -vv: {}", left_out.join(", ")));
    }
    for found in &variant.biases {
        notes.extend(found.reason.clone().filter(|reason| !notes.contains(reason)));
        out.put("  ", &bias(found, notes));
    }
    for (i, reason) in notes.iter().enumerate().skip(known) {
        out.put(&format!("  [{}] ", i + 1), reason);
    }
    for grid::Line { row, .. } in &rows {
        for remark in row.trust.iter().filter_map(Trust::remark) {
            out.put(&format!("  {} ", mark(row).trim()), &format!("{}: {remark}", row.label));
        }
    }
}

fn caption(variant: &Variant, others: usize, is_sweep: bool) -> String {
    let of = if variant.reference && !is_sweep { " (reference)" } else { "" };
    match others {
        0 => variant.name.clone(),
        _ => format!("{}{of}; others: lowest and highest of {others} other variants", variant.name),
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

/// The rows of all variants with the value of each before its first row, and the name of what is swept.
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
