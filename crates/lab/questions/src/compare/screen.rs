//! The answer on one screen: the verdict, the ranking, and the reasons.

use std::fmt::Write as _;

use super::answer::{Answer, Ranked};
use super::measured::Beside;
use super::question::{Question, TRANSFERS};
use crate::decision::Verdict;
use crate::ratio::Ratio;
use crate::text::{cut, join, join_all, put, seconds, seeds, significant};

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
    let length = format!(
        "{} Runs last {to}, the first {from} not counted; other runs have {}.",
        why_stopped(question, answer),
        seeds(answer.seeds)
    );
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
    let looks = match question.rule.looks().count() {
        1 => String::new(),
        looks => format!(", those of goodput ratios for {looks} looks"),
    };
    format!(
        "{length} {varies} Ranges are 95 % intervals{looks}; +- is the standard deviation. {packets}{marks}{clock}{limit}"
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
    let Some(best) = answer.ranking.first() else { return String::new() };
    if best.long.goodput <= 0.0 {
        let [from, to] = answer.window;
        let why = question.networks[0].obstacle.unwrap_or("lengthen --time, so that the flows can recover");
        return format!("No data arrives from {from:.0} s to {to:.0} s on {on}: {why}.");
    }
    format!("{}{}", ranking(answer, &on), delay(answer))
}

fn ranking(answer: &Answer, on: &str) -> String {
    let [best, rest @ ..] = answer.ranking.as_slice() else { return String::new() };
    if rest.is_empty() {
        let (label, goodput) = (&best.label, best.long.goodput);
        return format!("{label} alone has a valid run on {on}: {goodput:.2} Mbit/s.");
    }
    let is = |verdict: Verdict| {
        let rest = rest.iter().filter(move |r| r.verdict == Some(verdict) && r.best_over_this.is_some());
        rest.collect::<Vec<_>>()
    };
    let (equal, open) = (is(Verdict::Equal), is(Verdict::Undecided));
    let labels = |all: &[&Ranked]| join(&all.iter().map(|r| r.label.as_str()).collect::<Vec<_>>());
    let ratios = |all: &[&Ranked]| {
        let all = all.iter().filter_map(|r| Some(times(r.best_over_this?, &r.label)));
        join_all(&all.collect::<Vec<_>>())
    };
    let margin = format!("{} %", percent(answer.margin));
    if equal.len() == rest.len() {
        let all: Vec<&str> = answer.ranking.iter().map(|r| r.label.as_str()).collect();
        let (all, ratios) = (join(&all), ratios(&equal));
        let label = &best.label;
        return format!(
            "{all} achieve practically equal goodput on {on}, within {margin}: {label} achieves {ratios}."
        );
    }
    // The first that certainly has less.
    let less = |r: &&Ranked| r.best_over_this.is_none() || r.verdict == Some(Verdict::More);
    let Some(next) = rest.iter().find(less) else {
        let ties =
            if equal.is_empty() { String::new() } else { format!("; {} practically equal", labels(&equal)) };
        let pairs = pairs(answer.pairs);
        return format!(
            "Not decided after {pairs} on {on}: {} achieves {}{ties}.",
            best.label,
            ratios(&open)
        );
    };
    let more = match next.best_over_this {
        Some(ratio) => times(ratio, &next.label),
        None => format!("{:.2} Mbit/s while {} achieves nothing", best.long.goodput, next.label),
    };
    let mut also = String::new();
    if !equal.is_empty() {
        let verb = if equal.len() == 1 { "has" } else { "have" };
        let _ = write!(also, "; {} {verb} practically the same", labels(&equal));
    }
    if !open.is_empty() {
        let _ = write!(also, "; not decided after {}: {}", pairs(answer.pairs), labels(&open));
    }
    match rest.len() {
        1 => format!("{} achieves {more} on {on}.", best.label),
        _ => format!("{} achieves the highest goodput on {on}: {more}{also}.", best.label),
    }
}

/// Says how many pairs of runs were made, and why no more.
fn why_stopped(question: &Question, answer: &Answer) -> String {
    let rule = &question.rule;
    let most = rule.looks().last().unwrap_or(answer.pairs);
    let decided = answer.ranking.iter().all(|r| r.verdict != Some(Verdict::Undecided));
    let made = pairs(answer.pairs);
    match rule.looks().count() {
        _ if rule.is_exact() => {
            "Nothing random reaches the long flows, so one pair of runs decides.".to_owned()
        }
        1 => format!("The answer comes from {made}, looked at once."),
        _ if decided => {
            let margin = percent(answer.margin);
            format!(
                "Stopped after {made} of at most {most}: each interval lies inside or outside {margin} %."
            )
        }
        _ => format!("Stopped after {made}, the most that are made."),
    }
}

/// Formats a number of pairs.
pub(super) fn pairs(count: u32) -> String {
    if count == 1 { "one pair of runs".to_owned() } else { format!("{count} pairs of runs") }
}

/// Formats a ratio of goodputs, as in `3.30 times the goodput of cubic (3.10 to 3.50)`.
fn times(ratio: Ratio, other: &str) -> String {
    let decimals = if ratio.value < 1.2 { 3 } else { 2 };
    let value = format!("{:.decimals$} times the goodput of {other}", ratio.value);
    if ratio.low == ratio.high || ratio.high.is_infinite() {
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

#[cfg(test)]
mod tests {
    use super::super::measured::Long;
    use super::*;
    use crate::decision::Rule;

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
            verdict: ratio.map(|[_, low, high]| Rule::once(5, 0.05).verdict(low, high)),
            on: Default::default(),
            simulated: None,
            long: Long { goodput, ..Long::default() },
            completion: Vec::new(),
            beside: None,
            closed_form: None,
            why: String::new(),
        }
    }

    fn says(ranking: Vec<Ranked>) -> String {
        let answer = Answer {
            ranking,
            variants: Vec::new(),
            against: "a".to_owned(),
            pairs: 10,
            seeds: 5,
            margin: 0.05,
            window: [5.0, 35.0],
            results: Vec::new(),
            runs: Vec::new(),
        };
        super::ranking(&answer, "a link")
    }

    #[test]
    fn two() {
        let best = || ranked("a", 19.0, None);
        let other = |ratio| ranked("b", 10.0, Some(ratio));
        assert_eq!(
            says(vec![best(), other([1.9, 1.8, 2.0])]),
            "a achieves 1.90 times the goodput of b (1.80 to 2.00) on a link."
        );
        assert_eq!(
            says(vec![best(), other([1.01, 1.005, 1.02])]),
            "a and b achieve practically equal goodput on a link, within 5 %: a achieves 1.010 times the goodput of b (1.005 to \
             1.020)."
        );
        assert_eq!(
            says(vec![best(), other([1.2, 0.9, 1.6])]),
            "Not decided after 10 pairs of runs on a link: a achieves 1.20 times the goodput of b (0.90 to 1.60)."
        );
        assert_eq!(
            says(vec![best(), other([1.9, 0.0, f64::INFINITY])]),
            "Not decided after 10 pairs of runs on a link: a achieves 1.90 times the goodput of b."
        );
        let nothing = says(vec![best(), ranked("b", 0.0, None)]);
        assert_eq!(nothing, "a achieves 19.00 Mbit/s while b achieves nothing on a link.");
    }

    /// Controllers that are equal to the best, or not decided, are named. The ratio is to the first
    /// that is neither.
    #[test]
    fn several() {
        let a = || ranked("a", 19.0, None);
        let b = || ranked("b", 19.0, Some([1.0, 1.0, 1.0]));
        let c = || ranked("c", 9.0, Some([2.1, 2.1, 2.1]));
        let d = || ranked("d", 1.0, Some([19.0, 18.0, 20.0]));
        let open = || ranked("e", 13.0, Some([1.45, 0.9, 2.3]));
        assert_eq!(
            says(vec![a(), b(), c(), d()]),
            "a achieves the highest goodput on a link: 2.10 times the goodput of c; b has practically the same."
        );
        assert_eq!(
            says(vec![a(), b(), open(), c()]),
            "a achieves the highest goodput on a link: 2.10 times the goodput of c; b has practically the same; not decided after \
             10 pairs of runs: e."
        );
        assert_eq!(
            says(vec![a(), b(), open()]),
            "Not decided after 10 pairs of runs on a link: a achieves 1.45 times the goodput of e (0.90 to 2.30); b practically \
             equal."
        );
    }
}
