//! One screen: the verdict, the network where it is furthest, the rule; on request a line for each network.

use std::fmt::Write as _;

use super::judge::{Answer, Cause, Cell, Closest, FAR, Measured, OFTEN};
use super::question::Question;

/// Columns.
const SCREEN: usize = 79;

/// All of it.
pub(super) fn text(question: &Question, answer: &Answer, verbose: bool) -> String {
    let mut out = String::new();
    for sentence in sentences(question, answer) {
        out += &textwrap::fill(&sentence, textwrap::Options::new(SCREEN).subsequent_indent("  "));
        out.push('\n');
    }
    if verbose {
        out.push('\n');
        table(&mut out, &answer.cells, "the standard's");
        if let Some(cells) = &answer.kernel {
            out.push('\n');
            table(&mut out, cells, "the kernel's");
        }
        rules(&mut out, answer);
    }
    out
}

/// The verdict first.
pub(super) fn sentences(question: &Question, answer: &Answer) -> Vec<String> {
    let furthest = answer.worst().map(|cell| furthest(question, cell));
    let cause = answer.cause.as_ref().map(|cause| why(question, cause));
    let inside = answer.cause.as_ref().and_then(|cause| inside(question, cause));
    let left_out = Some(answer.left_out).filter(|n| *n > 0);
    let left_out = left_out.map(|n| format!("Left out: {n} networks on which no run was valid."));
    let others = answer.cause.as_ref().and_then(|cause| others(answer, cause));
    let kernel = answer.kernel.as_deref().map(|cells| beside_kernel(question, cells));
    let all = [
        Some(verdict(question, answer)),
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

const HOW: &str = "Compared is one flow alone after its first 5 s; windows as distributions, whatever their phases, and how often they are reduced; docs/conform.md.";

pub(super) fn verdict(question: &Question, answer: &Answer) -> String {
    let (subject, document) = (question.subject(), question.document());
    let (far, near): (Vec<&Cell>, Vec<&Cell>) = answer.cells.iter().partition(|cell| cell.deviates);
    let all = answer.cells.len();
    if far.is_empty() {
        let limit = format!("{:.0} % would deviate", FAR * 100.0);
        let away = away(&near).map(|away| format!(": {away}; {limit}"));
        return format!(
            "{subject} conforms to {document} in all {all} networks{}.",
            away.unwrap_or_default()
        );
    }
    let rest = away(&near).map(|away| format!("; in the others {away}")).unwrap_or_default();
    let away = away(&far).map(|away| format!(": {away}")).unwrap_or_default();
    format!("{subject} deviates from {document} in {} of {all} networks{away}{rest}.", far.len())
}

/// Windows and tempo of these networks, in a clause.
fn away(cells: &[&Cell]) -> Option<String> {
    let windows = share_of(cells.iter().filter_map(|cell| cell.distance))?;
    let tempo = share_of(cells.iter().filter_map(|cell| cell.tempo)).filter(|share| share != "0 %");
    let tempo = tempo.map(|share| format!(", how often it reduces it {share}")).unwrap_or_default();
    Some(format!("its window is {windows} away{tempo}"))
}

/// `3 to 12 %`.
fn share_of(values: impl Iterator<Item = f64>) -> Option<String> {
    let all: Vec<f64> = values.collect();
    let least = all.iter().copied().reduce(f64::min)?;
    let most = all.iter().copied().reduce(f64::max)?;
    let [least, most] = [least, most].map(|share| format!("{:.0}", share * 100.0));
    Some(if least == most { format!("{most} %") } else { format!("{least} to {most} %") })
}

/// What the two are where they are furthest from each other.
fn furthest(question: &Question, cell: &Cell) -> String {
    let Cell { reference, subject, .. } = cell;
    let pair = |name: &str, of: fn(&Measured) -> Option<f64>, unit: &str, digits: usize| {
        let (ours, theirs) = (of(reference)?, of(subject)?);
        Some(format!("{name} {theirs:.digits$} for {ours:.digits$}{unit}"))
    };
    let pairs = [
        pair("goodput", |m| m.goodput, " Mbit/s", 2),
        pair("wait", |m| m.queue_wait, " ms", 1),
        pair("loss", |m| m.loss, " %", 3),
        pair("mean window", |m| m.window.map(|w| w / 1e3), " kB", 1),
        pair("reductions", |m| m.reductions, "", 1),
        pair("each leaves", |m| m.kept.map(|[_, median]| median * 100.0), " % of the window", 0),
    ];
    let pairs: Vec<String> = pairs.into_iter().flatten().collect();
    format!("Furthest at {}: {} ({} for the standard).", place(cell), pairs.join(", "), question.stack)
}

pub(super) fn place(cell: &Cell) -> String {
    let network = cell.network;
    format!("{:.0} Mbit/s, {:.0} ms, {} BDP", network.rate, network.rtt, buffer(network.buffer))
}

/// To a tenth, as files have it.
fn buffer(products: f64) -> f64 {
    (products * 10.0).round() / 10.0
}

/// The rule, or that there is none.
fn why(question: &Question, cause: &Cause) -> String {
    let standard = cause.standard * 100.0;
    let closest = cause.rules.first();
    match (cause.explained(), closest) {
        (Some(rule), _) => format!(
            "The rule that explains it: {}. With it our {} is {:.1} % away from the stack on the mean where it deviates, for {standard:.1} % without.",
            rule.name,
            question.name,
            rule.distance * 100.0
        ),
        (None, Some(rule)) => format!(
            "Not explained: of {} rules that were changed the closest is `{}`, with which ours is {:.1} % away on the mean where it deviates, for {standard:.1} % without.",
            cause.rules.len(),
            rule.name,
            rule.distance * 100.0
        ),
        (None, None) => "Not explained: no rule was changed.".to_owned(),
    }
}

/// Where the rule that is named does not explain it, and another one does.
fn others(answer: &Answer, cause: &Cause) -> Option<String> {
    let named = cause.explained().map_or("", |rule| rule.name.as_str());
    let one = |closest: &Closest| {
        let cell = answer.cells.iter().find(|cell| cell.variant == closest.variant)?;
        let [with, without] = closest.distance.map(|away| away * 100.0);
        Some(format!("{} at {} ({with:.1} % for {without:.1} %)", closest.rule, place(cell)))
    };
    let others = cause.closest.iter().filter(|closest| closest.rule != named && !closest.named_does_as_well);
    let others: Vec<String> = others.filter_map(one).collect();
    let lead = if named.is_empty() { "On single networks one does" } else { "Another rule does" };
    (!others.is_empty()).then(|| format!("{lead}: {}.", others.join("; ")))
}

/// Whether it is the controller or the rest of the stack.
fn inside(question: &Question, cause: &Cause) -> Option<String> {
    let away = cause.inside?;
    let whose = match away > cause.standard / 2.0 {
        true => "it is the controller, not the rest of the stack",
        false => "it is the rest of the stack (pacing, acknowledgements, loss recovery), not the controller",
    };
    let (name, stack) = (&question.name, &question.stack);
    Some(format!("Our {name} inside {stack} is {:.1} % away from {stack}'s own: {whose}.", away * 100.0))
}

/// As the verdict, but of another flow and no document.
fn beside_kernel(question: &Question, cells: &[Cell]) -> String {
    let far = cells.iter().filter(|cell| cell.deviates).count();
    let kernel = question.kernel_row();
    let name = kernel.in_file();
    if cells.is_empty() {
        return format!("Beside the kernel's {name} over TCP: no run of it is valid.");
    }
    let away =
        away(&cells.iter().collect::<Vec<&Cell>>()).map(|away| format!(": {away}")).unwrap_or_default();
    let envelope = envelope(cells).map(|envelope| format!(" {envelope}")).unwrap_or_default();
    format!(
        "From the kernel's {name} over TCP it deviates in {far} of {} networks{away}.{envelope}",
        cells.len()
    )
}

fn envelope(cells: &[Cell]) -> Option<String> {
    let shares = share_of(cells.iter().filter_map(|cell| cell.conformance))?;
    Some(format!("Of their samples of delay and throughput {shares} lie in both envelopes."))
}

/// Names of the columns, and what a network has there.
pub(super) const HEAD: [&str; 10] = [
    "network",
    "window",
    "tempo",
    "envelope",
    "goodput Mbit/s",
    "wait ms",
    "loss %",
    "mean window kB",
    "left %",
    "reductions",
];

/// A network in the words of the table: the stack's, `/` and the standard's.
pub(super) fn row(cell: &Cell) -> [String; 10] {
    let percent =
        |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0));
    let both = |of: fn(&Measured) -> Option<f64>, digits: usize| {
        let one = |measured| of(measured).map_or("-".to_owned(), |value| format!("{value:.digits$}"));
        format!("{} / {}", one(&cell.subject), one(&cell.reference))
    };
    let sign = |share: Option<f64>, most: f64| if share.is_some_and(|share| share > most) { "!" } else { "" };
    let hull = if cell.distance.is_none() && cell.deviates { "!" } else { "" };
    [
        place(cell),
        percent(cell.distance) + sign(cell.distance, FAR.max(cell.spread)),
        percent(cell.tempo) + sign(cell.tempo, OFTEN),
        percent(cell.conformance) + hull,
        both(|m| m.goodput, 2),
        both(|m| m.queue_wait, 1),
        both(|m| m.loss, 3),
        both(|m| m.window.map(|w| w / 1e3), 1),
        left(cell),
        both(|m| m.reductions, 1),
    ]
}

/// The tenth that leaves least, and the median.
fn left(cell: &Cell) -> String {
    let one = |measured: &Measured| {
        let [least, median] = measured.kept?.map(|kept| format!("{:.0}", kept * 100.0));
        Some(if least == median { median } else { format!("{least}, {median}") })
    };
    let [theirs, ours] = [&cell.subject, &cell.reference].map(|m| one(m).unwrap_or_else(|| "-".to_owned()));
    format!("{theirs} / {ours}")
}

/// As wide as its words.
fn table(out: &mut String, cells: &[Cell], reference: &str) {
    let rows: Vec<[String; 10]> =
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
    let _ = writeln!(out, "(the stack's / {reference}; !: deviates)");
}

/// Every rule and how far it is.
fn rules(out: &mut String, answer: &Answer) {
    let Some(cause) = &answer.cause else { return };
    let _ = writeln!(out, "\nfrom the stack, where it deviates, windows or tempo, %");
    let _ = writeln!(out, "{:>6.1}  as the standard", cause.standard * 100.0);
    for rule in &cause.rules {
        let _ = writeln!(out, "{:>6.1}  {}", rule.distance * 100.0, rule.name);
    }
}
