//! The first screen of a run: the numbers, the claims that matter most, the largest unexplained
//! differences.
//!
//! A single experiment shows its table. Several experiments with claims show one line each.

use experiment::printable::counted;
use experiment::row::RowLabel;
use results::ledger::{self, Claims, Difference, Outliers};
use results::summary::{ClaimResult, Summary, Verdict};

use super::cells::{mark, number, published as printed};
use super::lines::{Lines, colour, paint, short};
use super::{brief, vs_simulator};

/// Number of unexplained differences to show.
const DIFFERENCES: usize = 5;
/// Number of claims to show if none is a main claim.
const CLAIMS: usize = 10;
/// Most rows of a table that is shown before the claims.
const TABLE_ROWS: usize = 20;
/// Width of the overview without the names, in terminal columns.
const NUMBERS: usize = 46;

/// Returns the first screen for these experiments. `asked` is what the user typed to select them.
pub fn text(asked: &str, all: &[&Summary], width: usize) -> String {
    let mut out = Lines::new(width);
    out.line("");
    match all {
        [one] => brief::heading(&mut out, one),
        _ => out.put("", &format!("{asked}: {} experiments", all.len())),
    }
    out.line("");
    match all {
        [one] if one.claims.is_empty() => brief::table(&mut out, one, &mut Vec::new()),
        [one] if brief::table_rows(one) <= TABLE_ROWS => {
            brief::table_without_reasons(&mut out, one);
            claims(&mut out, all);
        }
        _ if all.iter().any(|summary| !summary.claims.is_empty()) => {
            overview(&mut out, all);
            claims(&mut out, all);
        }
        _ => tables(&mut out, all),
    }
    questions(&mut out, all);
    out.into_text()
}

/// Returns what follows the experiments' own texts (`-v`).
pub fn rest(asked: &str, all: &[&Summary], width: usize) -> String {
    if all.len() > 1 && all.iter().any(|summary| !summary.claims.is_empty()) {
        return text(asked, all, width);
    }
    let mut out = Lines::new(width);
    questions(&mut out, all);
    out.into_text()
}

/// Prints a table for each experiment, below the name of its file.
fn tables(out: &mut Lines, all: &[&Summary]) {
    let mut notes = Vec::new();
    for (i, summary) in all.iter().enumerate() {
        if i > 0 {
            out.line("");
        }
        out.put("", &format!("{}: {}", summary.experiment, summary.title));
        brief::table(out, summary, &mut notes);
    }
}

fn questions(out: &mut Lines, all: &[&Summary]) {
    vs_simulator::put(out, all);
    untrusted(out, all);
    differences(out, all);
    open_questions(out, all);
}

fn overview(out: &mut Lines, all: &[&Summary]) {
    let longest = all.iter().map(|summary| summary.experiment.chars().count()).max().unwrap_or(0);
    let names = longest.min(out.width().saturating_sub(NUMBERS));
    out.line(&format!(
        "{:names$}  {:>9} {:>6} {:>6} {:>7} {:>6} {:>5}",
        "", "rows x", "", "", "within", "", ""
    ));
    out.line(&format!(
        "{:names$}  {:>9} {:>6} {:>6} {:>7} {:>6} {:>5}",
        "", "variants", "holds", "partly", "spread", "missed", "error"
    ));
    let mut notes = Vec::new();
    for summary in all {
        let claims = Claims::count(&summary.claims);
        let distance = distance(summary);
        if distance.is_some() && !notes.contains(&ERROR) {
            notes.insert(0, ERROR);
        }
        if claims.within_spread + claims.not_judged > 0 && !notes.contains(&WITHIN_SPREAD) {
            notes.push(WITHIN_SPREAD);
        }
        out.line(&line_of(summary, &claims, distance, names));
    }
    if !notes.is_empty() {
        out.put("", &notes.join("; "));
    }
}

const ERROR: &str =
    "error: mean relative distance of the table's numbers from the published ones (0.10 is 10 %)";
const WITHIN_SPREAD: &str = "within spread: decided by less than the spread of the runs, or not judged";

fn line_of(summary: &Summary, claims: &Claims, distance: Option<f64>, names: usize) -> String {
    let rows = summary.variants.iter().map(|variant| variant.rows.len()).max().unwrap_or(0);
    let is_bare = |verdict| summary.claims.iter().any(|c| c.verdict == verdict && c.is_unexplained());
    let count = |number: usize, width: usize, verdict: Verdict| match number {
        0 => format!("{:>width$}", if summary.claims.is_empty() { "" } else { "." }),
        _ => paint(
            colour(verdict),
            &format!("{:>width$}", format!("{number}{}", if is_bare(verdict) { "!" } else { "" })),
        ),
    };
    format!(
        "{:names$}  {:>9} {} {} {} {} {:>5}",
        shortened(&summary.experiment, names),
        format!("{rows} x {}", summary.variants.len()),
        count(claims.holds, 6, Verdict::Holds),
        count(claims.partly, 6, Verdict::Partly),
        count(claims.within_spread + claims.not_judged, 7, Verdict::WithinSpread),
        count(claims.missed, 6, Verdict::Missed),
        distance.map_or_else(String::new, |distance| format!("{distance:.2}")),
    )
}

/// Shortens a name to its end, because names mostly differ there.
fn shortened(name: &str, width: usize) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    let long = name.chars().count();
    if long <= width {
        return name;
    }
    let end: String = name.chars().skip(long + 1 - width.max(1)).collect();
    format!("…{end}")
}

/// Mean of |ln(ours / published)| over all pairs of numbers without a zero.
fn distance(summary: &Summary) -> Option<f64> {
    let distances: Vec<f64> = ledger::differences(summary)
        .iter()
        .map(Difference::distance)
        .filter(|d| d.is_finite() && *d >= 1.0)
        .collect();
    let sum: f64 = distances.iter().map(|distance| libm::log(*distance)).sum();
    (!distances.is_empty()).then(|| sum / distances.len() as f64)
}

fn claims(out: &mut Lines, all: &[&Summary]) {
    let every: Vec<(&Summary, &ClaimResult)> =
        all.iter().flat_map(|summary| summary.claims.iter().map(move |claim| (*summary, claim))).collect();
    let (mut shown, title) = match every.iter().any(|(_, claim)| claim.main) {
        true => (every.clone(), "main claims"),
        false => (every.clone(), "claims"),
    };
    if title == "main claims" {
        shown.retain(|(_, claim)| claim.main || claim.is_unexplained());
    } else {
        shown.sort_by_key(|(_, claim)| claim.verdict == Verdict::Holds);
        shown.truncate(CLAIMS);
    }
    out.line(&format!("\n{title}"));
    for (summary, claim) in &shown {
        let origin = if all.len() > 1 { format!(" ({})", last(&summary.experiment)) } else { String::new() };
        out.put(&format!("  {} ", short(claim)), &format!("{}: {}{origin}", claim.id, claim.says));
    }
    if shown.len() < every.len() {
        out.put("  ", &format!("... and {} more (-v)", every.len() - shown.len()));
    }
}

/// Returns the last part of a name: `table-1` for `quic-dc/table-1`.
fn last(experiment: &str) -> &str {
    experiment.rsplit('/').next().unwrap_or(experiment)
}

/// Counts the rows of real endpoints with invalid runs.
fn untrusted(out: &mut Lines, all: &[&Summary]) {
    let rows = || all.iter().flat_map(|s| &s.variants).flat_map(|variant| &variant.rows);
    let (none, some) =
        (rows().filter(|row| !row.is_trusted()).count(), rows().filter(|row| mark(row) == " !").count());
    if none + some > 0 {
        let none = counted(none, ["row has no valid run", "rows have no valid run"]);
        let some = counted(some, ["row has some invalid runs", "rows have some invalid runs"]);
        let text = format!("{none}, {some} (-v)");
        out.line("");
        out.put("", &text);
    }
}

fn differences(out: &mut Lines, all: &[&Summary]) {
    let mut open: Vec<Difference> =
        all.iter().flat_map(|summary| ledger::differences(summary)).filter(Difference::is_open).collect();
    if open.is_empty() {
        return;
    }
    open.sort_by(|a, b| b.distance().total_cmp(&a.distance()));
    out.line("\nlargest unexplained differences");
    for found in open.iter().take(DIFFERENCES) {
        out.put("  ", &in_words(found));
    }
    if open.len() > DIFFERENCES {
        out.put("  ", &format!("... and {} more above 10 % (-v)", open.len() - DIFFERENCES));
    }
}

fn in_words(found: &Difference) -> String {
    let Difference { experiment, variant, row, metric, ours, published, state } = found;
    let row: &RowLabel = row;
    let place = if variant.is_empty() { String::new() } else { format!(" ({variant})") };
    let with_unit = |number: String| format!("{number} {}", metric.unit()).trim_end().to_owned();
    format!(
        "{experiment} {row}{place}: {metric} {}, published {} ({})",
        with_unit(number(metric, *ours)),
        with_unit(printed(metric, *published)),
        state.word()
    )
}

fn open_questions(out: &mut Lines, all: &[&Summary]) {
    let claims = all.iter().flat_map(|s| &s.claims).filter(|c| c.open || c.is_unexplained()).count();
    let references = all.iter().flat_map(|s| &s.variants).filter(|variant| variant.reference);
    let biases = references.flat_map(|v| &v.biases).filter(|b| b.open || b.reason.is_none()).count();
    let outliers = Outliers::count(all.iter().copied());
    if claims + biases + outliers.open > 0 {
        let all = counted(outliers.all, ["number that differs", "numbers that differ"]);
        let numbers = format!("{} of the {all} by more than 10 %", outliers.open);
        out.line("");
        let paths = match outliers.path_unknown {
            0 => String::new(),
            count => format!("; {count} of an unknown path"),
        };
        let claims = counted(claims, ["claim", "claims"]);
        let biases = counted(biases, ["biased column", "biased columns"]);
        out.put("", &format!("open questions: {claims}, {biases}, {numbers}{paths}"));
    }
}
