//! Tables and claims as text for the terminal.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};

use crate::metric;
use crate::summary::{Cell, ClaimResult, Row, Summary, Trust, Variant, Verdict};
use crate::world::World;

/// A difference from the published value that wants a reason.
pub const NOTABLE: f64 = 0.10;

/// The whole answer of one experiment.
pub fn text(summary: &Summary) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "\n{}: {}{}\n{}",
        summary.experiment,
        summary.title,
        suffix(summary.world),
        summary.source
    );
    if !summary.note.is_empty() {
        let _ = writeln!(out, "{}", summary.note);
    }
    for variant in &summary.variants {
        out.push('\n');
        if !variant.name.is_empty() {
            let _ = writeln!(out, "{}", variant.name);
        }
        table(&mut out, &summary.metrics, variant);
    }
    if !summary.claims.is_empty() {
        claims(&mut out, &summary.claims);
    }
    out
}

fn table(out: &mut String, metrics: &[String], variant: &Variant) {
    let cells = || variant.rows.iter().flat_map(|r| r.cells.iter());
    let has_published = |name: &String| cells().any(|(m, c)| m == name && c.published.is_some());
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut header = vec![String::new()];
    for name in metrics {
        header.push(format!("{name}\n{}", metric::find(name).map_or("", |m| m.unit)));
        if has_published(name) {
            header.extend(["published".to_owned(), "diff".to_owned()]);
        }
    }
    let columns = header.len();
    table.set_header(header);
    let mut reasons: Vec<String> = Vec::new();
    for row in &variant.rows {
        let mut line = vec![row.label.clone() + mark(row)];
        for name in metrics {
            let cell = row.cells.get(name);
            line.push(cell.map_or_else(|| "-".to_owned(), |c| value(name, c)));
            if has_published(name) {
                line.push(cell.and_then(|c| c.published).map_or_else(String::new, |p| number(name, p)));
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
    let _ = writeln!(out, "{}", table.trim_fmt());
    for (i, reason) in reasons.iter().enumerate() {
        let _ = writeln!(out, "  [{}] {reason}", i + 1);
    }
    for row in &variant.rows {
        for remark in row.trust.iter().filter_map(Trust::remark) {
            let _ = writeln!(out, "  {} {}: {remark}", mark(row).trim(), row.label);
        }
    }
}

fn suffix(world: World) -> &'static str {
    if world == World::Wire { ", on the wire" } else { "" }
}

/// Behind a label: some of the row's runs do not count, or none does.
fn mark(row: &Row) -> &'static str {
    match &row.trust {
        Some(_) if !row.is_trusted() => " !! INVALID",
        Some(trust) if !trust.invalid.is_empty() => " !",
        _ => "",
    }
}

/// The deviation with the decimals of the value.
fn value(metric: &str, cell: &Cell) -> String {
    let decimals = metric::decimals(metric, cell.value());
    match cell.spread.filter(|spread| *spread > 0.0) {
        Some(spread) => format!("{:.decimals$} ±{spread:.decimals$}", cell.value()),
        None => format!("{:.decimals$}", cell.value()),
    }
}

fn number(metric: &str, value: f64) -> String {
    let decimals = metric::decimals(metric, value);
    format!("{value:.decimals$}")
}

/// `+12 % [1]`: the difference and the number of its reason, which is added to `reasons` when it is new.
fn difference(cell: &Cell, reasons: &mut Vec<String>) -> String {
    let Some(difference) = cell.difference() else { return String::new() };
    let percent = difference * 100.0;
    let text = if percent.abs() >= 999.5 { "> x10".to_owned() } else { format!("{percent:+.0} %") };
    if difference.abs() <= NOTABLE {
        return text;
    }
    let Some(reason) = &cell.reason else { return format!("{text} !") };
    let known = reasons.iter().position(|r| r == reason).unwrap_or_else(|| {
        reasons.push(reason.clone());
        reasons.len() - 1
    });
    format!("{text} [{}]", known + 1)
}

fn claims(out: &mut String, claims: &[ClaimResult]) {
    out.push_str("\nclaims\n");
    for claim in claims {
        let word = match claim.verdict {
            Verdict::Holds => held(claim),
            Verdict::KnownMiss => missed("known miss", claim),
            Verdict::UnexpectedMiss => missed("MISS", claim),
            Verdict::NotJudged => "not judged".to_owned(),
        };
        let paper = match claim.holds_published {
            Some(false) => " (does not hold on the paper's own numbers)",
            _ => "",
        };
        let _ = writeln!(out, "  {word:15} {}: {}{paper}", claim.id, claim.says);
        for (variant, holds, numbers) in &claim.variants {
            let name = if variant.is_empty() { "" } else { variant };
            let _ = writeln!(out, "    {} {name}{}{numbers}", if *holds { "yes" } else { "no " }, sep(name));
        }
        if let Some(reason) = &claim.reason {
            let _ = writeln!(out, "    why: {reason}");
        }
    }
}

/// The word, and in how many variants it is one, if not in all.
fn missed(word: &str, claim: &ClaimResult) -> String {
    let (no, all) = (claim.variants.iter().filter(|v| !v.1).count(), claim.variants.len());
    if no == all { word.to_owned() } else { format!("{word} in {no} of {all}") }
}

/// `holds`, or in how many variants it does.
fn held(claim: &ClaimResult) -> String {
    let yes = claim.variants.iter().filter(|v| v.1).count();
    if yes == claim.variants.len() {
        "holds".to_owned()
    } else {
        format!("holds in {yes} of {}", claim.variants.len())
    }
}

fn sep(name: &str) -> &'static str {
    if name.is_empty() { "" } else { ": " }
}
