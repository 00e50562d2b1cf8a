//! The answer on one screen: a sentence, a table, what is not known, and the problems.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::analysed::{Analysed, MAIN, number};
use super::answer::Answer;
use crate::text::{cut, join, put, significant};

/// Widths of the screen and of a label.
const WIDTH: usize = 79;
const LABEL: usize = 26;
/// Largest number of problems and connections without `-v`.
const MOST_PROBLEMS: usize = 10;
const MOST_ROWS: usize = 15;

/// Formats the answer. `all` adds every metric.
pub(super) fn text(answer: &Answer, all: bool) -> String {
    let mut out = cut(&answer.title, WIDTH) + "\n";
    put(&mut out, "", &verdict(answer));
    out.push('\n');
    match (&answer.pair, answer.connections.as_slice()) {
        (Some(pair), _) => out += &pair.text(all),
        (None, [one]) => out += &table_of_one(one, all),
        (None, several) => out += &table_of_all(several, all),
    }
    out += &unknown(answer, all);
    out += &problems(answer, all);
    for gap in gaps(answer) {
        put(&mut out, "note: ", &gap);
    }
    out
}

/// Says what the logs have, and the main numbers of the first connection.
pub(super) fn verdict(answer: &Answer) -> String {
    let Some(first) = answer.connections.first() else { return String::new() };
    if let Some(pair) = &answer.pair {
        return pair.verdict();
    }
    let count = answer.connections.len() + answer.left_out;
    if count > 1 {
        let shown = match answer.left_out {
            0 => String::new(),
            left => format!("; the {} with most data are shown, {left} are not", answer.connections.len()),
        };
        return format!("{count} connections{shown}. Largest: {}", sentence(first));
    }
    sentence(first)
}

/// Describes a connection in a sentence.
fn sentence(one: &Analysed) -> String {
    let controller = one.controller.as_ref().map(|name| format!(" with {name}")).unwrap_or_default();
    if one.bytes == 0
        && let Some(rtt) = one.value("rtt_mean").filter(|_| one.is_ping)
    {
        return format!("Ping for {} s: mean RTT {} ms.", significant(one.seconds), significant(rtt));
    }
    if one.packet_bytes == Some(0) {
        let (protocol, seen, seconds) = (one.protocol, one.seen, significant(one.seconds));
        return format!("{protocol} connection{controller}, logged {seen} without packets, for {seconds} s.");
    }
    let mut text = format!(
        "{} connection{controller}, logged {}: {} from the {} in {} s",
        one.protocol,
        one.seen,
        amount(one),
        one.sender,
        significant(one.seconds)
    );
    if let Some(goodput) = one.value("goodput") {
        let _ = write!(text, ", {} Mbit/s", significant(goodput));
    }
    if let Some(rtt) = one.value("rtt_mean") {
        let _ = write!(text, "; mean RTT {} ms", significant(rtt));
    }
    if let Some(repeats) = one.value("retransmissions") {
        let _ = write!(text, "; {repeats:.0} retransmissions");
    }
    text + "."
}

/// Returns the bytes of a connection, in words.
fn amount(one: &Analysed) -> String {
    match (one.encrypted_bytes, one.packet_bytes) {
        (Some(wire), _) => format!("{} of encrypted packets", bytes(wire)),
        (None, Some(sent)) => format!("{} of packets without frames", bytes(sent)),
        (None, None) => bytes(one.bytes),
    }
}

/// Formats a number of bytes.
pub(super) fn bytes(count: u64) -> String {
    match count {
        0..1000 => format!("{count} B"),
        1000..1_000_000 => format!("{} kB", significant(count as f64 * 1e-3)),
        _ => format!("{} MB", significant(count as f64 * 1e-6)),
    }
}

fn table_of_one(one: &Analysed, all: bool) -> String {
    let mut out = String::new();
    for (word, name) in MAIN {
        if let Some(value) = one.value(word) {
            let inferred = one.losses_are_inferred && word.starts_with("lost_by");
            let mark = if inferred { "  (inferred from repeats)" } else { "" };
            let _ = writeln!(out, "  {name:<LABEL$} {:>10}{mark}", number(word, value));
        }
    }
    if let Some([offset, bound]) = one.clock_ms.filter(|clock| clock[1] > 0.0) {
        let _ = writeln!(out, "  {:<LABEL$} {offset:>10.3}  (within {bound:.3})", "clocks differ by, ms");
    }
    if all {
        let rest = one.metrics.iter().filter(|metric| MAIN.iter().all(|(word, _)| *word != metric.metric));
        for metric in rest {
            if let Some(value) = metric.value {
                let name = [metric.metric, metric.unit].join(if metric.unit.is_empty() { "" } else { ", " });
                let _ = writeln!(out, "  {name:<LABEL$} {:>10}", number(metric.metric, value));
            }
        }
    }
    out.push('\n');
    out
}

fn table_of_all(several: &[Analysed], all: bool) -> String {
    let mut out = format!(
        "{:<LABEL$} {:>9} {:>8} {:>9} {:>8} {:>7} {:>5}\n",
        "", "bytes", "seconds", "Mbit/s", "RTT, ms", "repeats", "lost"
    );
    let most = if all { several.len() } else { MOST_ROWS };
    for one in several.iter().take(most) {
        let cell = |word: &str| one.value(word).map_or_else(|| "-".to_owned(), |value| number(word, value));
        let _ = writeln!(
            out,
            "{:<LABEL$} {:>9} {:>8} {:>9} {:>8} {:>7} {:>5}",
            cut(&one.label, LABEL),
            bytes(one.encrypted_bytes.or(one.packet_bytes).unwrap_or(one.bytes)),
            significant(one.seconds),
            cell("goodput"),
            cell("rtt_mean"),
            cell("retransmissions"),
            cell("declared_lost")
        );
    }
    if several.len() > most {
        let _ = writeln!(out, "{} more with -v", several.len() - most);
    }
    out.push('\n');
    out
}

/// Names the main metrics that are not known, by reason.
fn unknown(answer: &Answer, all: bool) -> String {
    let mut out = String::new();
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for one in &answer.connections {
        // Sizes on the wire are a detail.
        let is_detail = |word: &str| word == MAIN[0].0 || MAIN.iter().all(|(main, _)| *main != word);
        let wanted = |word: &str| all || !is_detail(word);
        for metric in one.metrics.iter().filter(|metric| wanted(metric.metric)) {
            if let Some(why) = &metric.unknown {
                let words = reasons.entry(why.clone()).or_default();
                if !words.contains(&metric.metric) {
                    words.push(metric.metric);
                }
            }
        }
    }
    for (why, words) in reasons {
        put(&mut out, "not known: ", &format!("{}, because {why}.", join(&words)));
    }
    out
}

fn problems(answer: &Answer, all: bool) -> String {
    let several = answer.connections.len() > 1;
    let found: Vec<String> = answer
        .connections
        .iter()
        .flat_map(|one| {
            one.problems.iter().map(move |problem| {
                let label = if several { format!("{}: ", one.label) } else { String::new() };
                format!("{label}{}{}", problem.text, at(&problem.times))
            })
        })
        .collect();
    let mut out = String::new();
    if found.is_empty() {
        put(&mut out, "", nothing_found(answer));
        return out;
    }
    let most = if all { found.len() } else { MOST_PROBLEMS };
    found.iter().take(most).for_each(|problem| put(&mut out, "problem: ", problem));
    if found.len() > most {
        let _ = writeln!(out, "{} more with -v", found.len() - most);
    }
    out
}

/// Says that no problem was found, or that nothing could be checked.
pub(super) fn nothing_found(answer: &Answer) -> &'static str {
    match answer.connections.iter().any(|one| one.is_checked) {
        true => "No problem found: ten checks of the sender's log.",
        false => "The problem list needs the packets of a sender's log.",
    }
}

/// Names the first times of a problem.
pub(super) fn at(times: &[f64]) -> String {
    let shown: Vec<String> = times.iter().take(3).map(|time| format!("{time:.3} s")).collect();
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    if shown.is_empty() { ".".to_owned() } else { format!(", at {}.", join(&shown)) }
}

fn gaps(answer: &Answer) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for gap in answer.connections.iter().flat_map(|one| &one.gaps) {
        let text = format!("{}.", gap.trim_end_matches('.'));
        if !all.contains(&text) {
            all.push(text);
        }
    }
    let most = 12;
    if all.len() > most {
        let rest = all.len() - most;
        all.truncate(most);
        all.push(format!("{rest} more notes are in the report."));
    }
    all
}
