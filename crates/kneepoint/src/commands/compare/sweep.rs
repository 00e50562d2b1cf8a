//! A comparison over the values of a key of the link.

use std::fmt::Write as _;

use results::summary::{Results, Variant};

use super::measured::mean;
use super::question::Question;
use super::screen::{put, significant};
use super::varied::Varied;
use crate::commands::ratio::Ratio;

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
            "{seeds} seeds each, {} long, of which the first {} do not count.",
            question.to, question.from
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
            || ratio.and_then(|(a, b)| Ratio::of(a, b, seeds)).is_some_and(|r| !r.matters())
    };
    let names: Vec<&str> = variant.rows.iter().filter(level).map(|row| row.label.as_str()).collect();
    if names.len() == 1 { names[0].to_owned() } else { format!("{} level", names.join(" and ")) }
}
