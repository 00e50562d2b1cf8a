//! Tables and claims as text for the terminal.
//!
//! The first screen is in `first`, one table per experiment in `brief`, and everything (`-vv`)
//! here.

pub mod brief;
mod cells;
pub mod first;
mod grid;
pub mod lines;
mod vs_simulator;

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};

use experiment::metric::Metric;
use results::summary::{ClaimResult, Judged, Summary, Trust, Variant};
use results::verdict::Outcome;

use crate::gaps;
use cells::{DEVIATION, bias, difference, mark, published, value};
use lines::{colour, paint, word};

/// Returns everything about one experiment: all variants, claims and reasons.
pub fn text(summary: &Summary) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "\n{}: {}{}", summary.experiment, summary.title, summary.world.title_suffix());
    for more in [&summary.source, &summary.note].into_iter().filter(|more| !more.is_empty()) {
        let _ = writeln!(out, "{more}");
    }
    for variant in &summary.variants {
        out.push('\n');
        if !variant.name.is_empty() {
            let reference = if is_one_of_many(summary, variant) { "  (reference)" } else { "" };
            let _ = writeln!(out, "{}{reference}", variant.name);
        }
        table(&mut out, &summary.metrics, variant);
        for found in &variant.biases {
            let _ = writeln!(out, "  {}", bias(found, &[]));
        }
    }
    if !summary.why_reference.is_empty() {
        let _ = writeln!(out, "\nreference: {}", summary.why_reference);
    }
    if !summary.claims.is_empty() {
        claims(&mut out, &summary.claims);
    }
    out
}

fn table(out: &mut String, metrics: &[Metric], variant: &Variant) {
    let cells = || variant.rows.iter().flat_map(|r| r.cells.iter());
    let has_published = |name: &Metric| cells().any(|(m, c)| m == name && c.published.is_some());
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut header = vec![String::new()];
    for name in metrics {
        header.push(format!("{name}\n{}", name.unit()));
        if has_published(name) {
            header.extend(["published".to_owned(), "diff".to_owned()]);
        }
    }
    let columns = header.len();
    table.set_header(header);
    let mut reasons: Vec<String> = Vec::new();
    for row in &variant.rows {
        let mut line = vec![row.label.to_string() + mark(row)];
        for name in metrics {
            let cell = row.cells.get(name);
            line.push(cell.map_or_else(|| "-".to_owned(), |c| value(name, c)));
            if has_published(name) {
                line.push(cell.and_then(|c| c.published).map_or_else(String::new, |p| published(name, p)));
                line.push(cell.map_or_else(String::new, |c| difference(c, &mut reasons)));
            }
        }
        table.add_row(line);
    }
    for i in 1..columns {
        if let Some(column) = table.column_mut(i) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let table = table.trim_fmt();
    let _ = writeln!(out, "{table}");
    if table.contains('±') {
        let _ = writeln!(out, "  {DEVIATION}");
    }
    for gap in gaps::of_rows(&variant.rows.iter().collect::<Vec<_>>(), metrics) {
        let _ = writeln!(out, "  {gap}");
    }
    for (i, reason) in reasons.iter().enumerate() {
        let _ = writeln!(out, "  [{}] {reason}", i + 1);
    }
    for row in &variant.rows {
        for remark in row.trust.iter().filter_map(Trust::remark) {
            let _ = writeln!(out, "  {} {}: {remark}", mark(row).trim(), row.label);
        }
    }
}

/// Reports whether a variant is a reference and others are not.
fn is_one_of_many(summary: &Summary, variant: &Variant) -> bool {
    variant.reference && summary.variants.iter().any(|other| !other.reference)
}

fn claims(out: &mut String, claims: &[ClaimResult]) {
    out.push_str("\nclaims\n");
    for claim in claims {
        let paper = match claim.holds_published() {
            Some(false) => " (does not hold on the paper's own numbers)",
            _ => "",
        };
        let ours = if claim.ours { " (ours)" } else { "" };
        let verdict = paint(colour(claim.verdict), &format!("{:17}", headline(claim)));
        let _ = writeln!(out, "  {verdict} {}: {}{ours}{paper}", claim.id, claim.says);
        for part in &claim.parts {
            if let Some(says) = &part.says {
                let _ = writeln!(out, "    {says}");
            }
            for judged in &part.variants {
                let _ = writeln!(
                    out,
                    "    {} {}",
                    sign(judged.outcome),
                    line_of(judged, &claim.parts[0].variants)
                );
            }
        }
        if let Some(reason) = &claim.reason {
            let _ = writeln!(out, "    why: {reason}");
        }
    }
}

/// Returns the verdict. A claim that holds in only some variants has their number.
fn headline(claim: &ClaimResult) -> String {
    let (held, all) = claim.held();
    let some = if held.is_empty() || held.len() == all {
        String::new()
    } else {
        format!(", {} of {all}", held.len())
    };
    let bare = if claim.is_unexplained() { " !" } else { "" };
    format!("{}{some}{bare}", word(claim.verdict))
}

fn sign(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Holds => "yes",
        Outcome::WithinSpread => " ~ ",
        Outcome::Missed => "no ",
        Outcome::NotJudged => " ? ",
    }
}

/// Returns variant, numbers, margin and spread. The reference is marked if `all` has other
/// variants.
fn line_of(judged: &Judged, all: &[Judged]) -> String {
    let name = match judged.variant.as_str() {
        "" => String::new(),
        name if judged.reference && all.iter().any(|other| !other.reference) => {
            format!("{name} (reference): ")
        }
        name => format!("{name}: "),
    };
    format!("{name}{}{}", judged.numbers, by_how_much(judged))
}

/// Formats margin and spread relative to the right side: `, margin 24 %, spread 1 %`. A single run
/// has no spread.
pub fn by_how_much(judged: &Judged) -> String {
    let percent = |share: f64| {
        let percent = share * 100.0;
        if percent.abs() < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
    };
    let margin = judged.margin.map_or_else(String::new, |margin| format!(", margin {}", percent(margin)));
    if judged.one_run {
        return format!("{margin}, one run: no spread");
    }
    match judged.spread.filter(|spread| *spread > 0.0) {
        Some(spread) => format!("{margin}, spread {}", percent(spread)),
        None => margin,
    }
}
