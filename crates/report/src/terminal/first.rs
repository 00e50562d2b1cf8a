//! The first screen of a run: a line per experiment, the sentences that matter most, the largest open differences.

use experiment::metric::Metric;
use experiment::row::RowLabel;
use results::ledger::{self, Claims, Difference, Far};
use results::summary::{ClaimResult, Summary, Verdict};

use super::cells::{mark, number};
use super::lines::{Lines, colour, paint, short};
use super::{beside, brief};

/// Open differences that are shown.
const DIFFERENCES: usize = 5;
/// Claims that are shown where none is a main sentence.
const CLAIMS: usize = 10;
/// Columns of the overview beside the names.
const NUMBERS: usize = 46;

/// The answer of these experiments, `asked` for by this name.
pub fn text(asked: &str, all: &[&Summary], width: usize) -> String {
    let mut out = Lines::new(width);
    out.line("");
    match all {
        [one] => brief::heading(&mut out, one),
        _ => out.put("", &format!("{asked}: {} experiments", all.len())),
    }
    out.line("");
    match all {
        _ if all.iter().any(|summary| !summary.claims.is_empty()) => {
            overview(&mut out, all);
            sentences(&mut out, all);
        }
        [one] => brief::table(&mut out, one, &mut Vec::new()),
        _ => tables(&mut out, all),
    }
    questions(&mut out, all);
    out.into_text()
}

/// What is left to say where each experiment has been told (`-v`).
pub fn rest(asked: &str, all: &[&Summary], width: usize) -> String {
    if all.len() > 1 && all.iter().any(|summary| !summary.claims.is_empty()) {
        return text(asked, all, width);
    }
    let mut out = Lines::new(width);
    questions(&mut out, all);
    out.into_text()
}

/// A table each, with the name of its file.
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
    beside::put(out, all);
    untrusted(out, all);
    differences(out, all);
    open_questions(out, all);
}

fn overview(out: &mut Lines, all: &[&Summary]) {
    let longest = all.iter().map(|summary| summary.experiment.chars().count()).max().unwrap_or(0);
    let names = longest.min(out.width().saturating_sub(NUMBERS));
    out.line(&format!(
        "{:names$}  {:>9} {:>6} {:>6} {:>7} {:>6} {:>5}",
        "", "rows x v", "holds", "partly", "unclear", "missed", "|ln|"
    ));
    let mut unclear = false;
    for summary in all {
        let mut claims = Claims::default();
        summary.claims.iter().for_each(|claim| claims.add(claim));
        unclear |= claims.within_spread + claims.not_judged > 0;
        out.line(&line_of(summary, &claims, names));
    }
    let also = if unclear { "; unclear: within the spread of the runs, or not judged" } else { "" };
    out.put(
        "",
        &format!(
            "rows x v: rows of the table times its variants; |ln|: mean distance of the table's numbers from the printed ones, \
             0.10 is a tenth{also}"
        ),
    );
}

fn line_of(summary: &Summary, claims: &Claims, names: usize) -> String {
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
        distance(summary).map_or_else(String::new, |distance| format!("{distance:.2}")),
    )
}

/// Its end, which tells names apart.
fn shortened(name: &str, width: usize) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    let long = name.chars().count();
    if long <= width {
        return name;
    }
    let end: String = name.chars().skip(long + 1 - width.max(1)).collect();
    format!("…{end}")
}

/// The mean of |ln(ours / published)| over the numbers of which neither is zero.
fn distance(summary: &Summary) -> Option<f64> {
    let distances: Vec<f64> = ledger::differences(summary)
        .iter()
        .map(Difference::distance)
        .filter(|d| d.is_finite() && *d >= 1.0)
        .collect();
    let sum: f64 = distances.iter().map(|distance| libm::log(*distance)).sum();
    (!distances.is_empty()).then(|| sum / distances.len() as f64)
}

fn sentences(out: &mut Lines, all: &[&Summary]) {
    let every: Vec<(&Summary, &ClaimResult)> =
        all.iter().flat_map(|summary| summary.claims.iter().map(move |claim| (*summary, claim))).collect();
    let (mut shown, title) = match every.iter().any(|(_, claim)| claim.main) {
        true => (every.clone(), "main sentences"),
        false => (every.clone(), "claims"),
    };
    if title == "main sentences" {
        shown.retain(|(_, claim)| claim.main || claim.is_unexplained());
    } else {
        shown.sort_by_key(|(_, claim)| claim.verdict == Verdict::Holds);
        shown.truncate(CLAIMS);
    }
    out.line(&format!("\n{title}"));
    for (summary, claim) in &shown {
        let of = if all.len() > 1 { format!(" ({})", last(&summary.experiment)) } else { String::new() };
        out.put(&format!("  {} ", short(claim)), &format!("{}: {}{of}", claim.id, claim.says));
    }
    if shown.len() < every.len() {
        out.put("  ", &format!("... and {} claims more: -v", every.len() - shown.len()));
    }
}

/// `table-1` of `quic-dc/table-1`.
fn last(experiment: &str) -> &str {
    experiment.rsplit('/').next().unwrap_or(experiment)
}

/// Rows of real endpoints of which some runs, or all, do not count.
fn untrusted(out: &mut Lines, all: &[&Summary]) {
    let rows = || all.iter().flat_map(|s| &s.variants).flat_map(|variant| &variant.rows);
    let (none, some) =
        (rows().filter(|row| !row.is_trusted()).count(), rows().filter(|row| mark(row) == " !").count());
    if none + some > 0 {
        let text = format!("{none} rows without a valid run, {some} with some runs that do not count: -v");
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
    out.line("\nlargest differences whose cause is not known");
    for found in open.iter().take(DIFFERENCES) {
        out.put("  ", &in_words(found));
    }
    if open.len() > DIFFERENCES {
        out.put("  ", &format!("... and {} more beyond 10 %: -v", open.len() - DIFFERENCES));
    }
}

fn in_words(found: &Difference) -> String {
    let Difference { experiment, variant, row, metric, ours, published, state } = found;
    let row: &RowLabel = row;
    let of = if variant.is_empty() { String::new() } else { format!(" ({variant})") };
    format!(
        "{experiment} {row}{of}: {metric} {}, the source {} ({})",
        with_unit(metric, *ours),
        with_unit(metric, *published),
        state.word()
    )
}

fn with_unit(metric: &Metric, value: f64) -> String {
    format!("{} {}", number(metric, value), metric.unit()).trim_end().to_owned()
}

fn open_questions(out: &mut Lines, all: &[&Summary]) {
    let claims = all.iter().flat_map(|s| &s.claims).filter(|c| c.open || c.is_unexplained()).count();
    let references = all.iter().flat_map(|s| &s.variants).filter(|variant| variant.reference);
    let biases = references.flat_map(|v| &v.biases).filter(|b| b.open || b.reason.is_none()).count();
    let far = Far::of(all.iter().copied());
    if claims + biases + far.open > 0 {
        let numbers = format!("{} of the {} numbers that are off by more than 10 %", far.open, far.all);
        out.line("");
        out.put("", &format!("open questions: {claims} claims, {biases} biased columns, {numbers}"));
    }
}
