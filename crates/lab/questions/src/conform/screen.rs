//! The answer on one screen: the verdict, the largest difference and the rule, and with `-v` a line
//! for each network.

use std::fmt::Write as _;

use super::baseline::{Deviation, Since};
use super::hull;
use super::judge::{Answer, Cause, Cell, Closest, Measured, WINDOW_LIMIT};
use super::question::Question;

/// Width of the screen.
const SCREEN: usize = 79;

/// Formats the screen.
pub(super) fn text(question: &Question, answer: &Answer, verbose: bool) -> String {
    let mut out = String::new();
    for sentence in sentences(question, answer) {
        out += &textwrap::fill(&sentence, textwrap::Options::new(SCREEN).subsequent_indent("  "));
        out.push('\n');
    }
    if verbose {
        out.push('\n');
        table(&mut out, &answer.cells, "reference");
        if let Some(cells) = &answer.kernel {
            out.push('\n');
            table(&mut out, cells, "kernel");
        }
        rules(&mut out, answer);
    }
    out
}

/// Returns the sentences, the verdict first.
pub(super) fn sentences(question: &Question, answer: &Answer) -> Vec<String> {
    let furthest = answer.worst().map(|cell| furthest(question, cell));
    let cause = answer.cause.as_ref().map(|cause| why(question, cause));
    let inside = answer.cause.as_ref().and_then(|cause| inside(question, cause));
    let left_out = Some(answer.left_out).filter(|n| *n > 0);
    let left_out = left_out.map(|n| format!("Left out: {n} networks without a valid run."));
    let others = answer.cause.as_ref().and_then(|cause| others(answer, cause));
    let kernel = answer.kernel.as_deref().map(|cells| beside_kernel(question, cells));
    let all = [
        Some(verdict(question, answer)),
        answer.since.as_ref().map(|since| changed(answer, since)),
        furthest,
        cause,
        others,
        inside,
        envelope(&answer.cells),
        kernel,
        left_out,
    ];
    all.into_iter().flatten().chain([HOW.to_owned()]).collect()
}

/// Summary of the method.
const HOW: &str = "Method: one flow alone, without its first 5 s. The comparison covers the distribution of the window, regardless of phase, and the number of reductions. See docs/src/reference/conformance.md.";
/// Name of the reference in the list of rules.
pub(super) const UNCHANGED: &str = "no rule changed";

pub(super) fn verdict(question: &Question, answer: &Answer) -> String {
    let (subject, document) = (question.subject(), question.document());
    let (far, near): (Vec<&Cell>, Vec<&Cell>) = answer.cells.iter().partition(|cell| cell.deviates);
    let all = answer.cells.len();
    if far.is_empty() {
        let limit = format!("the limit is {:.0} %", WINDOW_LIMIT * 100.0);
        let differences = differences(&near).map(|clause| format!(": {clause}; {limit}"));
        return format!(
            "{subject} conforms to {document} on {}{}.",
            if all == 1 { "this network".to_owned() } else { format!("all {all} networks") },
            differences.unwrap_or_default()
        );
    }
    let rest = differences(&near).map(|clause| format!("; on the others {clause}")).unwrap_or_default();
    let differences = differences(&far).map(|clause| format!(": {clause}")).unwrap_or_default();
    let on = if all == 1 { "this network".to_owned() } else { format!("{} of {all} networks", far.len()) };
    format!("{subject} deviates from {document} on {on}{differences}{rest}.")
}

/// Says which deviations are new since the baseline, and which are gone.
fn changed(answer: &Answer, since: &Since) -> String {
    let list = |word: &str, all: &[Deviation]| {
        let each = all.iter().filter_map(|deviation| {
            let cell = answer.cells.iter().find(|cell| cell.variant == deviation.variant)?;
            Some(format!("{} at {}", deviation.measure, place(cell)))
        });
        let each: Vec<String> = each.collect();
        if each.is_empty() { format!("{word}: none") } else { format!("{word}: {}", each.join("; ")) }
    };
    let (new, gone) = (list("New deviations since the baseline", &since.new), list("Gone", &since.gone));
    format!("{new}. {gone}. Known: {}.", since.known.len())
}

/// Describes the differences in window and number of reductions on these networks, or in bytes in
/// flight, in a clause.
fn differences(cells: &[&Cell]) -> Option<String> {
    let Some(windows) = range(cells.iter().filter_map(|cell| cell.distance)) else {
        let flights = range(cells.iter().filter_map(|cell| cell.flight))?;
        return Some(format!("its bytes in flight differ by {flights}"));
    };
    let tempo = range(cells.iter().filter_map(|cell| cell.tempo)).filter(|share| share != "0 %");
    let tempo = tempo.map(|share| format!(", the number of reductions by {share}")).unwrap_or_default();
    Some(format!("its window differs by {windows}{tempo}"))
}

/// Formats the range of some shares, as in `3 to 12 %`.
fn range(values: impl Iterator<Item = f64>) -> Option<String> {
    let all: Vec<f64> = values.collect();
    let least = all.iter().copied().reduce(f64::min)?;
    let most = all.iter().copied().reduce(f64::max)?;
    let [least, most] = [least, most].map(|share| format!("{:.0}", share * 100.0));
    Some(if least == most { format!("{most} %") } else { format!("{least} to {most} %") })
}

/// Lists the measurements on the network with the largest difference.
fn furthest(question: &Question, cell: &Cell) -> String {
    let Cell { reference, subject, .. } = cell;
    let pair = |name: &str, value: fn(&Measured) -> Option<f64>, unit: &str, digits: usize| {
        let (ours, theirs) = (value(reference)?, value(subject)?);
        Some(format!("{name} {theirs:.digits$} / {ours:.digits$}{unit}"))
    };
    let pairs = [
        pair("goodput", |m| m.goodput, " Mbit/s", 2),
        pair("queueing delay", |m| m.queue_wait, " ms", 1),
        pair("loss", |m| m.loss, " %", 3),
        pair("mean window", |m| m.window.map(|w| w / 1e3), " kB", 1),
        pair("reductions", |m| m.reductions, "", 1),
        pair("window kept after a reduction", |m| m.kept.map(|[_, median]| median * 100.0), " %", 0),
    ];
    let pairs: Vec<String> = pairs.into_iter().flatten().collect();
    let stack = &question.stack;
    format!("Largest difference at {} ({stack} / reference): {}.", place(cell), pairs.join(", "))
}

pub(super) fn place(cell: &Cell) -> String {
    let network = cell.network;
    format!("{:.0} Mbit/s, {:.0} ms, {} BDP", network.rate, network.rtt, buffer(network.buffer))
}

/// Rounds a queue size to a tenth of a BDP.
fn buffer(products: f64) -> f64 {
    (products * 10.0).round() / 10.0
}

/// Names the rule that explains the deviation, or the closest one.
fn why(question: &Question, cause: &Cause) -> String {
    let standard = cause.standard * 100.0;
    let closest = cause.rules.first();
    match (cause.explained(), closest) {
        (Some(rule), _) => format!(
            "Explained by: {}. With it, our {} differs from the stack by {:.1} % on average where it deviates, without it by {standard:.1} %.",
            rule.name,
            question.name,
            rule.distance * 100.0
        ),
        (None, Some(rule)) => format!(
            "Not explained: of {} changed rules, `{}` comes closest. With it, ours differs by {:.1} % on average where the stack deviates, without it by {standard:.1} %.",
            cause.rules.len(),
            rule.name,
            rule.distance * 100.0
        ),
        (None, None) => "Not explained: no rule was changed.".to_owned(),
    }
}

/// Names the networks where another rule explains the deviation.
fn others(answer: &Answer, cause: &Cause) -> Option<String> {
    let named = cause.explained().map_or("", |rule| rule.name.as_str());
    let one = |closest: &Closest| {
        let cell = answer.cells.iter().find(|cell| cell.variant == closest.variant)?;
        let [with, without] = closest.distance.map(|share| share * 100.0);
        Some(format!("{} at {} ({with:.1} % with it, {without:.1} % without)", closest.rule, place(cell)))
    };
    let others = cause.closest.iter().filter(|closest| closest.rule != named && !closest.named_does_as_well);
    let others: Vec<String> = others.filter_map(one).collect();
    let lead = if named.is_empty() { "On single networks" } else { "Explained by another rule" };
    (!others.is_empty()).then(|| format!("{lead}: {}.", others.join("; ")))
}

/// Says whether the controller or the rest of the stack causes the deviation.
fn inside(question: &Question, cause: &Cause) -> Option<String> {
    let difference = cause.inside?;
    let origin = match difference > cause.standard / 2.0 {
        true => "the controller, not the rest of the stack",
        false => "the rest of the stack (pacing, acknowledgements, loss recovery), not the controller",
    };
    let (name, stack) = (&question.name, &question.stack);
    Some(format!(
        "Our {name} inside {stack} differs from {stack}'s own by {:.1} %: the cause is {origin}.",
        difference * 100.0
    ))
}

/// Compares with the kernel's TCP, in the words of the verdict.
fn beside_kernel(question: &Question, cells: &[Cell]) -> String {
    let far = cells.iter().filter(|cell| cell.deviates).count();
    let kernel = question.kernel_row();
    let name = kernel.in_file();
    if cells.is_empty() {
        return format!("Compared with the kernel's {name} over TCP: no valid run.");
    }
    let differences = differences(&cells.iter().collect::<Vec<&Cell>>());
    let differences = differences.map(|clause| format!(": {clause}")).unwrap_or_default();
    let envelope = envelope(cells).map(|envelope| format!(" {envelope}")).unwrap_or_default();
    format!(
        "It deviates from the kernel's {name} over TCP on {far} of {} networks{differences}.{envelope}",
        cells.len()
    )
}

fn envelope(cells: &[Cell]) -> Option<String> {
    let shares = range(cells.iter().filter_map(|cell| cell.conformance))?;
    let near = hull::NEAR * 100.0;
    Some(format!(
        "Envelopes of delay and throughput: {shares} of each side's samples lie inside the other's envelope, or within {near:.0} % of it."
    ))
}

/// Headings of the table.
pub(super) const HEAD: [&str; 11] = [
    "network",
    "window",
    "flight",
    "frequency",
    "envelope",
    "goodput Mbit/s",
    "delay ms",
    "loss %",
    "mean window kB",
    "kept %",
    "reductions",
];

/// Formats a network for the table, with the values of the stack and of the reference.
pub(super) fn row(cell: &Cell) -> [String; 11] {
    let percent =
        |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0));
    let both = |value: fn(&Measured) -> Option<f64>, digits: usize| {
        let one = |measured| value(measured).map_or("-".to_owned(), |value| format!("{value:.digits$}"));
        format!("{} / {}", one(&cell.subject), one(&cell.reference))
    };
    let sign = |measure: &str| if cell.deviates_in.contains(&measure) { "!" } else { "" };
    [
        place(cell),
        percent(cell.distance) + sign("window"),
        percent(cell.flight) + sign("flight"),
        percent(cell.tempo) + sign("reductions"),
        percent(cell.conformance) + sign("envelope"),
        both(|m| m.goodput, 2),
        both(|m| m.queue_wait, 1),
        both(|m| m.loss, 3),
        both(|m| m.window.map(|w| w / 1e3), 1),
        kept(cell),
        both(|m| m.reductions, 1),
    ]
}

/// Formats the share of the window that a reduction keeps: 10th percentile and median.
fn kept(cell: &Cell) -> String {
    let one = |measured: &Measured| {
        let [least, median] = measured.kept?.map(|kept| format!("{:.0}", kept * 100.0));
        Some(if least == median { median } else { format!("{least}, {median}") })
    };
    let [theirs, ours] = [&cell.subject, &cell.reference].map(|m| one(m).unwrap_or_else(|| "-".to_owned()));
    format!("{theirs} / {ours}")
}

/// Appends the table, as wide as its text.
fn table(out: &mut String, cells: &[Cell], reference: &str) {
    let rows: Vec<[String; 11]> =
        std::iter::once(HEAD.map(str::to_owned)).chain(cells.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate();
        let cells: Vec<String> = cells
            .map(
                |(i, (cell, width))| {
                    if i == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                },
            )
            .collect();
        let _ = writeln!(out, "{}", cells.join("  ").trim_end());
    }
    let _ = writeln!(out, "(stack / {reference}; ! marks a deviation)");
}

/// Appends the distance of every rule.
fn rules(out: &mut String, answer: &Answer) {
    let Some(cause) = &answer.cause else { return };
    let _ = writeln!(out, "\nmean difference from the stack where it deviates, in window or frequency, %");
    let _ = writeln!(out, "{:>6.1}  {UNCHANGED}", cause.standard * 100.0);
    for rule in &cause.rules {
        let _ = writeln!(out, "{:>6.1}  {}", rule.distance * 100.0, rule.name);
    }
}
