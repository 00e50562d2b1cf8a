//! The answer on one screen: the verdict, the ranking, and the reasons.

use std::fmt::Write as _;

use super::answer::{Answer, Ranked};
use super::measured::Beside;
use super::question::{Question, TRANSFERS};
use crate::ratio::Ratio;
use crate::text::{cut, join, join_all, seconds, seeds, significant};

/// Smallest difference of mean queueing delays that is mentioned, in milliseconds and as a factor.
const NOTABLE_WAIT: (f64, f64) = (1.0, 1.2);
/// Largest quotient of an interval's ends at which the interval is still shown.
const WIDE: f64 = 10.0;

/// Formats the screen, at most 80 columns wide.
pub(super) fn text(question: &Question, answer: &Answer) -> String {
    let mut out = String::new();
    put(&mut out, "", &verdict(question, answer));
    put_some(&mut out, place(question, answer));
    out.push('\n');
    table(&mut out, answer);
    out.push('\n');
    beside(&mut out, answer);
    for ranked in &answer.ranking {
        put(&mut out, &format!("{}: ", ranked.label), &ranked.why);
    }
    put_some(&mut out, closed_forms(question, answer));
    put_some(&mut out, network(question));
    put(&mut out, "", &foot(question, answer));
    out
}

/// Explains why formulas and reasons are missing for a network that is not a single drop-tail link.
pub(super) fn network(question: &Question) -> Option<String> {
    let found = question.networks[0].beyond_one_link.join(", ");
    let is_more = !question.networks[0].is_one_link();
    is_more.then(|| {
        format!("The network has {found}: formulas and reasons for a single drop-tail link do not apply.")
    })
}

/// Describes how the numbers were measured, and what the intervals cover.
pub(super) fn foot(question: &Question, answer: &Answer) -> String {
    let [from, to] = answer.window.map(seconds);
    let seeds = seeds(answer.seeds);
    let length = format!("{seeds}, {to} each; the first {from} are not counted.");
    let is_alike = |r: &Ranked| {
        [r.long.spread, r.beside.and_then(|beside| beside.spread)].iter().all(|s| *s == Some(0.0))
    };
    let alike = answer.ranking.iter().all(is_alike);
    let varies = match question.networks[0].random.as_slice() {
        _ if alike => "All runs are identical.".to_owned(),
        [] => "Only start times vary between runs; the intervals do not cover model error.".to_owned(),
        random => {
            let all: Vec<&str> = random.iter().copied().chain(["start times"]).collect();
            format!("Random between runs: {}.", join(&all))
        }
    };
    let limit = if question.networks[0].buffer.is_none() {
        " No queue size is given, so it is unlimited."
    } else {
        ""
    };
    let reads_clock = question.controllers.iter().any(|controller| controller.algorithm == "dccc");
    let clock =
        if reads_clock { " dccc compares its own clock with the receiver's; here they agree." } else { "" };
    let (packets, marks) = (&question.networks[0].packets, question.marks());
    format!(
        "{length} {varies} Ranges are 95 % intervals, +- is the standard deviation over the seeds. {packets}{marks}{clock}{limit}"
    )
}

/// Names the stacks, and the goodput in the simulator; `None` if all flows were simulated.
pub(super) fn place(question: &Question, answer: &Answer) -> Option<String> {
    let simulated = |r: &Ranked| {
        Some(format!("{} {} (here {})", r.label, significant(r.simulated?), significant(r.long.goodput)))
    };
    let all: Vec<String> = answer.ranking.iter().filter_map(simulated).collect();
    let simulated = format!(" Goodput in the simulator, Mbit/s: {}.", all.join(", "));
    question.place.sentence().map(|place| place + &simulated)
}

/// Names the controller with the highest goodput, by how much it leads, and the delay that it
/// causes.
pub(super) fn verdict(question: &Question, answer: &Answer) -> String {
    let on = question.network();
    let [best, rest @ ..] = answer.ranking.as_slice() else { return String::new() };
    if best.long.goodput <= 0.0 {
        let [from, to] = answer.window;
        let why = question.networks[0].obstacle.unwrap_or("lengthen --time, so that the flows can recover");
        return format!("No data arrives from {from:.0} s to {to:.0} s on {on}: {why}.");
    }
    format!("{}{}", ranking(best, rest, &on), delay(answer))
}

fn ranking(best: &Ranked, rest: &[Ranked], on: &str) -> String {
    let all = || std::iter::once(best).chain(rest).map(|r| r.label.as_str()).collect::<Vec<_>>();
    let most = || rest.iter().filter_map(|r| r.best_over_this).map(|r| r.value).fold(1.0, f64::max);
    if let Some((next, ratio)) = rest.first().and_then(|r| Some((r, r.best_over_this?)))
        && ratio.high.is_infinite()
    {
        let value = ratio.value;
        return format!(
            "{} achieves {value:.2} times the goodput of {} on {on}, but one run each is not significant.",
            best.label, next.label
        );
    }
    let is = |r: &&Ranked, what: fn(Ratio) -> bool| r.best_over_this.is_some_and(what);
    let same: Vec<&str> = rest.iter().filter(|r| is(r, Ratio::is_same)).map(|r| r.label.as_str()).collect();
    let unknown = |r: &&Ranked| r.best_over_this.is_some_and(|ratio| !ratio.matters() && !ratio.is_same());
    if same.len() == rest.len() {
        let within = (most() - 1.0) * 100.0;
        return format!("{} achieve the same goodput within {within:.1} % on {on}.", join(&all()));
    }
    let mut also = String::new();
    if !same.is_empty() {
        let ties = if same.len() == 1 { "ties" } else { "tie" };
        let _ = write!(also, "; {} {ties} with it", join(&same));
    }
    // The first that is certainly slower.
    let Some(next) = rest.iter().find(|r| r.best_over_this.is_none_or(Ratio::matters)) else {
        let open = rest.iter().filter(unknown);
        let open = open.filter_map(|r| Some(times(r.best_over_this?, &r.label)));
        let open = join_all(&open.collect::<Vec<_>>());
        return format!(
            "No significant difference on {on}: {} achieves {open}{also}; more seeds (--repeat) may decide.",
            best.label
        );
    };
    let more = match next.best_over_this {
        Some(ratio) => times(ratio, &next.label),
        None => format!("{:.2} Mbit/s while {} achieves nothing", best.long.goodput, next.label),
    };
    let open: Vec<&str> = rest.iter().filter(unknown).map(|r| r.label.as_str()).collect();
    if !open.is_empty() {
        let verb = if open.len() == 1 { "does" } else { "do" };
        let _ = write!(also, "; {} {verb} not differ significantly", join(&open));
    }
    match rest.len() {
        1 => format!("{} achieves {more} on {on}.", best.label),
        _ => format!("{} achieves the highest goodput on {on}: {more}{also}.", best.label),
    }
}

/// Formats a ratio of goodputs, as in `3.30 times the goodput of cubic (3.10 to 3.50)`.
fn times(ratio: Ratio, other: &str) -> String {
    let decimals = if ratio.value < 1.2 { 3 } else { 2 };
    let value = format!("{:.decimals$} times the goodput of {other}", ratio.value);
    if ratio.low == ratio.high {
        return value;
    }
    format!("{value} ({:.decimals$} to {:.decimals$})", ratio.low, ratio.high)
}

/// Names the controller with the lowest queueing delay, if that is not the one with the highest
/// goodput.
fn delay(answer: &Answer) -> String {
    let best = &answer.ranking[0];
    let wait = |r: &Ranked| r.long.queue_wait.unwrap_or(0.0);
    let known = answer.ranking.iter().filter(|r| r.long.queue_wait.is_some());
    let Some(least) = known.min_by(|a, b| wait(a).total_cmp(&wait(b))) else {
        return String::new();
    };
    let (apart, factor) = NOTABLE_WAIT;
    if wait(best) - wait(least) < apart || wait(best) < factor * wait(least) {
        return String::new();
    }
    format!(
        " Mean queueing delay: {} {:.1} ms, {} {:.1} ms.",
        best.label,
        wait(best),
        least.label,
        wait(least)
    )
}

/// Formats a value, or a dash if there is none.
pub(super) fn or_dash(value: Option<f64>, format: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), format)
}

fn table(out: &mut String, answer: &Answer) {
    let width = label_width(answer);
    let all = || answer.ranking.iter().flat_map(|ranked| ranked.completion.iter().flatten());
    // The shortest time must have digits.
    let (unit, factor) = if all().any(|seconds| *seconds < 0.1) { ("ms", 1e3) } else { ("s", 1.0) };
    let completion = format!("- completion, {unit} ");
    let _ = writeln!(out, "{:width$}  ------ long flow alone --------------  {completion:-<20}", "");
    let _ = write!(
        out,
        "{:width$} {:>9} {:>5} {:>7} {:>7} {:>6} ",
        "", "Mbit/s", "link", "RTT ms", "p95 ms", "loss %"
    );
    let _ = writeln!(out, "{}", TRANSFERS.map(|size| format!("{size:>7}")).concat());
    for ranked in &answer.ranking {
        let long = &ranked.long;
        let share = or_dash(long.of_link, |share| format!("{:.0} %", share * 100.0));
        let _ = write!(
            out,
            "{:width$} {:>9} {share:>5} {:>7} {:>7} {:>6} ",
            cut(&ranked.label, width),
            significant(long.goodput),
            or_dash(long.rtt_mean, time),
            or_dash(long.rtt_p95, time),
            or_dash(long.loss, |loss| format!("{loss:.3}"))
        );
        for completion in &ranked.completion {
            let shown = or_dash(*completion, |seconds| significant(seconds * factor));
            let _ = write!(out, "{shown:>7}");
        }
        out.push('\n');
    }
}

/// Formats milliseconds with one decimal, or three digits below 10 ms.
fn time(ms: f64) -> String {
    if ms < 10.0 { significant(ms) } else { format!("{ms:.1}") }
}

/// Shows how each controller shares the link with the competitor.
fn beside(out: &mut String, answer: &Answer) {
    let against = &answer.against;
    let width = label_width(answer);
    let _ = writeln!(out, "{:width$}  beside one flow of {against}: Mbit/s, its Mbit/s, share, mean RTT", "");
    for ranked in &answer.ranking {
        let Some(beside) = ranked.beside else { continue };
        let _ = writeln!(
            out,
            "{:width$} {:>9} {:>9}   {}, {}",
            cut(&ranked.label, width),
            significant(beside.goodput),
            significant(beside.competitor),
            with_unit(share(&beside), "%"),
            with_unit(or_dash(beside.rtt_mean, significant), "ms")
        );
    }
    put_some(out, kept(answer));
}

fn with_unit(shown: String, unit: &str) -> String {
    if shown == "-" { shown } else { format!("{shown} {unit}") }
}

/// Formats the share of the total goodput in percent, as in `43 +-2`.
pub(super) fn share(beside: &Beside) -> String {
    let spread = beside.spread.filter(|s| *s >= 0.5).map_or_else(String::new, |s| format!(" +-{s:.0}"));
    or_dash(beside.share, |share| format!("{share:.0}{spread}"))
}

/// Compares the competitor's goodput with what it has against another flow of its own kind.
pub(super) fn kept(answer: &Answer) -> Option<String> {
    let against = &answer.against;
    let mut kept = answer.ranking.iter().filter_map(|r| Some((r.label.as_str(), keeps(r.beside?.keeps?))));
    let (label, share) = kept.next()?;
    let first = format!("Against {label}, {against} gets {share} of its goodput against another {against}");
    let others: String = kept.map(|(label, share)| format!("; against {label}, {share}")).collect();
    Some(format!("{first}{others}."))
}

/// Formats a ratio in percent, as in `43 % (40 to 46)`.
fn keeps(ratio: Ratio) -> String {
    let [value, low, high] = [ratio.value, ratio.low, ratio.high].map(|r| r * 100.0);
    match high / low {
        1.0 => format!("{value:.0} %"),
        wide if wide < WIDE => format!("{value:.0} % ({low:.0} to {high:.0})"),
        _ => format!("{value:.0} % (too few seeds for an interval)"),
    }
}

/// Largest width of a label next to the numbers.
const LONGEST_LABEL: usize = 18;

/// Returns the width of the labels.
fn label_width(answer: &Answer) -> usize {
    answer.ranking.iter().map(|r| r.label.chars().count()).max().unwrap_or(0).clamp(10, LONGEST_LABEL)
}

pub(super) fn closed_forms(question: &Question, answer: &Answer) -> Option<String> {
    let known: Vec<String> = answer
        .ranking
        .iter()
        .filter_map(|r| {
            let (goodput, source) = r.closed_form?;
            Some(format!(
                "{} {} Mbit/s ({source}), measured {}",
                r.label,
                significant(goodput),
                significant(r.long.goodput)
            ))
        })
        .collect();
    let loss = percent(question.networks[0].path.loss);
    (!known.is_empty()).then(|| format!("Closed form at {loss} % random loss: {}.", known.join("; ")))
}

/// Converts a probability to percent, and rounds off the errors of binary fractions.
fn percent(share: f64) -> f64 {
    (share * 1e11).round() / 1e9
}

fn put_some(out: &mut String, text: Option<String>) {
    if let Some(text) = text {
        put(out, "", &text);
    }
}

/// Appends a paragraph, wrapped to 80 columns.
pub(super) fn put(out: &mut String, lead: &str, text: &str) {
    let options = textwrap::Options::new(79).subsequent_indent("  ");
    let _ = writeln!(out, "{}", textwrap::fill(&format!("{lead}{text}"), options));
}

#[cfg(test)]
mod tests {
    use super::super::measured::Long;
    use super::*;

    #[test]
    fn shares_in_their_digits() {
        let both: f64 = 0.01 + 0.02 - 0.01 * 0.02;
        for (share, text) in [(0.0001, "0.01"), (1.0 - (1.0 - 0.0001), "0.01"), (both, "2.98")] {
            assert_eq!(percent(share).to_string(), text);
        }
    }

    /// A controller with the ratio of the best goodput to its own, and the interval of the ratio.
    fn ranked(label: &str, goodput: f64, ratio: Option<[f64; 3]>) -> Ranked {
        Ranked {
            label: label.to_owned(),
            algorithm: label.to_owned(),
            best_over_this: ratio.map(|[value, low, high]| Ratio { value, low, high }),
            on: Default::default(),
            simulated: None,
            long: Long { goodput, ..Long::default() },
            completion: Vec::new(),
            beside: None,
            closed_form: None,
            why: String::new(),
        }
    }

    fn says(all: &[Ranked]) -> String {
        ranking(&all[0], &all[1..], "a link")
    }

    #[test]
    fn two() {
        let best = || ranked("a", 19.0, None);
        let other = |ratio| ranked("b", 10.0, Some(ratio));
        assert_eq!(
            says(&[best(), other([1.9, 1.8, 2.0])]),
            "a achieves 1.90 times the goodput of b (1.80 to 2.00) on a link."
        );
        assert_eq!(
            says(&[best(), other([1.01, 1.005, 1.02])]),
            "a and b achieve the same goodput within 1.0 % on a link."
        );
        assert_eq!(
            says(&[best(), other([1.2, 0.9, 1.6])]),
            "No significant difference on a link: a achieves 1.20 times the goodput of b (0.90 to 1.60); more seeds (--repeat) may \
             decide."
        );
        let once = says(&[best(), other([1.9, 0.0, f64::INFINITY])]);
        assert_eq!(
            once,
            "a achieves 1.90 times the goodput of b on a link, but one run each is not significant."
        );
        let nothing = says(&[best(), ranked("b", 0.0, None)]);
        assert_eq!(nothing, "a achieves 19.00 Mbit/s while b achieves nothing on a link.");
    }

    /// Controllers that tie with the best are named. The ratio is to the first that does not.
    #[test]
    fn several() {
        let all = [
            ranked("a", 19.0, None),
            ranked("b", 19.0, Some([1.0, 1.0, 1.0])),
            ranked("c", 9.0, Some([2.1, 2.1, 2.1])),
            ranked("d", 1.0, Some([19.0, 18.0, 20.0])),
        ];
        assert_eq!(
            says(&all),
            "a achieves the highest goodput on a link: 2.10 times the goodput of c; b ties with it."
        );
        assert_eq!(says(&all[..2]), "a and b achieve the same goodput within 0.0 % on a link.");
        let unknown = || ranked("e", 13.0, Some([1.45, 0.9, 2.3]));
        let [a, b, c, _] = all;
        assert_eq!(
            says(&[a, b, unknown(), c]),
            "a achieves the highest goodput on a link: 2.10 times the goodput of c; b ties with it; e does not differ significantly."
        );
    }
}
