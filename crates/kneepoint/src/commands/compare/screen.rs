//! One screen: the verdict, the ranking, why.

use std::fmt::Write as _;

use super::answer::{Answer, Ranked};
use super::question::{Question, TRANSFERS};
use crate::commands::ratio::Ratio;

/// A difference of the mean wait that is worth a word, milliseconds and share.
const NOTABLE_WAIT: (f64, f64) = (1.0, 1.2);

/// At most 80 columns wide.
pub(super) fn text(question: &Question, answer: &Answer) -> String {
    let mut out = String::new();
    put(&mut out, "", &verdict(question, answer));
    out.push('\n');
    table(&mut out, answer);
    out.push('\n');
    beside(&mut out, answer);
    for ranked in &answer.ranking {
        put(&mut out, &format!("{}: ", ranked.label), &ranked.why);
    }
    closed_forms(&mut out, question, answer);
    let [from, to] = answer.window;
    let random = if answer.ranking.iter().all(|r| r.long.spread.is_none_or(|s| s == 0.0)) {
        "; every run alike".to_owned()
    } else {
        String::new()
    };
    put(
        &mut out,
        "",
        &format!(
            "{} seeds, {to:.0} s each, of which the first {from:.0} s do not count{random}. Ranges are 95 % intervals of the ratio.",
            answer.seeds
        ),
    );
    out
}

/// Who carries most, by how much, and what it costs.
fn verdict(question: &Question, answer: &Answer) -> String {
    let [best, rest @ ..] = answer.ranking.as_slice() else { return String::new() };
    let apart = rest.iter().filter(|r| r.best_over_this.is_none_or(Ratio::matters)).count();
    let on = &question.link;
    let head = match (rest, apart) {
        ([other], 1) => format!(
            "{} carries {} what {} does, on {on}.",
            best.label,
            other.best_over_this.map_or_else(|| "more than".to_owned(), times),
            other.label
        ),
        (_, 0) => {
            let all: Vec<&str> = answer.ranking.iter().map(|r| r.label.as_str()).collect();
            let most = rest.iter().filter_map(|r| r.best_over_this).map(|r| r.value).fold(1.0, f64::max);
            format!("{} carry the same within {:.1} %, on {on}.", join(&all), (most - 1.0) * 100.0)
        }
        _ => {
            let next = &rest[0];
            let ratio = next.best_over_this.map_or_else(String::new, times);
            format!("{} carries most, {ratio} what {} does, on {on}.", best.label, next.label)
        }
    };
    format!("{head}{}", delay(answer))
}

/// `3.3 times (3.1 to 3.5)`.
fn times(ratio: Ratio) -> String {
    let decimals = if ratio.value < 1.2 { 3 } else { 2 };
    match ratio.high.is_finite() {
        _ if ratio.low == ratio.high => format!("{:.decimals$} times", ratio.value),
        true => format!(
            "{:.decimals$} times ({:.decimals$} to {:.decimals$})",
            ratio.value, ratio.low, ratio.high
        ),
        false => format!("{:.decimals$} times (of one run, so no interval)", ratio.value),
    }
}

/// Who waits least, where that is not the one that carries most.
fn delay(answer: &Answer) -> String {
    let best = &answer.ranking[0];
    let wait = |r: &Ranked| r.long.queue_wait;
    let Some(least) = answer.ranking.iter().min_by(|a, b| wait(a).total_cmp(&wait(b))) else {
        return String::new();
    };
    let (apart, factor) = NOTABLE_WAIT;
    if wait(best) - wait(least) < apart || wait(best) < factor * wait(least) {
        return String::new();
    }
    format!(
        " Packets of {} wait {:.1} ms, those of {} {:.1} ms.",
        best.label,
        wait(best),
        least.label,
        wait(least)
    )
}

fn table(out: &mut String, answer: &Answer) {
    let width = answer.ranking.iter().map(|r| r.label.chars().count()).max().unwrap_or(0).max(10);
    let _ = writeln!(out, "{:width$}  ------ long flow alone --------------  -- completion, s --", "");
    let _ = write!(
        out,
        "{:width$} {:>9} {:>5} {:>7} {:>7} {:>6} ",
        "", "Mbit/s", "link", "RTT ms", "95 %", "loss %"
    );
    let _ = writeln!(out, "{}", TRANSFERS.map(|size| format!("{size:>7}")).concat());
    for ranked in &answer.ranking {
        let long = &ranked.long;
        let _ = write!(
            out,
            "{:width$} {:>9} {:>3.0} % {:>7.1} {:>7.1} {:>6.3} ",
            ranked.label,
            significant(long.goodput),
            long.of_link * 100.0,
            long.rtt_mean,
            long.rtt_p95,
            long.loss
        );
        for completion in &ranked.completion {
            let _ = write!(out, "{:>7}", completion.map_or_else(|| "-".to_owned(), |s| format!("{s:.2}")));
        }
        out.push('\n');
    }
}

fn beside(out: &mut String, answer: &Answer) {
    let shares: Vec<String> = answer
        .ranking
        .iter()
        .filter_map(|r| {
            let beside = r.beside?;
            let spread =
                beside.spread.filter(|s| *s >= 0.5).map_or_else(String::new, |s| format!(" +-{s:.0}"));
            Some(format!("{} has {:.0}{spread} % (RTT {:.0} ms)", r.label, beside.share, beside.rtt_mean))
        })
        .collect();
    put(out, "", &format!("One flow beside one of {}: {}.", answer.against, shares.join(", ")));
}

fn closed_forms(out: &mut String, question: &Question, answer: &Answer) {
    let known: Vec<String> = answer
        .ranking
        .iter()
        .filter_map(|r| {
            let (goodput, source) = r.closed_form?;
            Some(format!(
                "{} {} Mbit/s ({source}), here {}",
                r.label,
                significant(goodput),
                significant(r.long.goodput)
            ))
        })
        .collect();
    if !known.is_empty() {
        let loss = question.path.loss * 100.0;
        put(out, "", &format!("Closed form at {loss} % of random loss: {}.", known.join("; ")));
    }
}

/// Three digits.
pub(super) fn significant(value: f64) -> String {
    let decimals = if value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.decimals$}")
}

fn join(names: &[&str]) -> String {
    match names {
        [names @ .., last] if !names.is_empty() => format!("{} and {last}", names.join(", ")),
        names => names.join(", "),
    }
}

/// A paragraph within 80 columns.
pub(super) fn put(out: &mut String, lead: &str, text: &str) {
    let options = textwrap::Options::new(79).subsequent_indent("  ");
    let _ = writeln!(out, "{}", textwrap::fill(&format!("{lead}{text}"), options));
}
