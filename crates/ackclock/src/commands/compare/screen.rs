//! One screen: the verdict, the ranking, why.

use std::fmt::Write as _;

use super::answer::{Answer, Ranked};
use super::measured::Beside;
use super::question::{Question, TRANSFERS};
use crate::commands::ratio::Ratio;
use crate::status::cut;

/// A difference of the mean wait that is worth a word, milliseconds and share.
const NOTABLE_WAIT: (f64, f64) = (1.0, 1.2);
/// An interval whose ends are further apart than by this factor says nothing.
const WIDE: f64 = 10.0;

/// At most 80 columns wide.
pub(super) fn text(question: &Question, answer: &Answer) -> String {
    let mut out = String::new();
    put(&mut out, "", &verdict(question, answer));
    put_some(&mut out, place(question, answer));
    out.push('\n');
    table(&mut out, question, answer);
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

/// What is not told of a network that is more than one link.
pub(super) fn network(question: &Question) -> Option<String> {
    let found = question.network.beyond_one_link.join(", ");
    let is_more = !question.network.is_one_link();
    is_more.then(|| format!("The network has {found}: no formula or reason of one drop-tail link is told."))
}

/// How it was measured, and what the intervals are of.
pub(super) fn foot(question: &Question, answer: &Answer) -> String {
    let [from, to] = answer.window;
    let seeds = if answer.seeds == 1 { "seed" } else { "seeds" };
    let length =
        format!("{} {seeds}, {to:.0} s each, of which the first {from:.0} s do not count", answer.seeds);
    let is_alike = |r: &Ranked| {
        [r.long.spread, r.beside.and_then(|beside| beside.spread)].iter().all(|s| *s == Some(0.0))
    };
    let alike = answer.ranking.iter().all(is_alike);
    let of = match question.network.random.as_slice() {
        _ if alike => "; every run alike. Ranges".to_owned(),
        [] => ". Random are the start times alone: ranges say how far these move a ratio, nothing of the model. They".to_owned(),
        random => {
            let all: Vec<&str> = random.iter().copied().chain(["the start times"]).collect();
            format!(". Random are {}. Ranges", join(&all))
        }
    };
    let limit = if question.network.buffer.is_none() { " No queue is given: it has no limit." } else { "" };
    format!("{length}{of} are 95 % intervals of the ratio, +- the deviation over the seeds.{limit}")
}

/// Where it was run, and what the same is in the simulator; nothing where it was run there.
pub(super) fn place(question: &Question, answer: &Answer) -> Option<String> {
    let simulated = |r: &Ranked| {
        Some(format!("{} {} (here {})", r.label, significant(r.simulated?), significant(r.long.goodput)))
    };
    let all: Vec<String> = answer.ranking.iter().filter_map(simulated).collect();
    let beside = format!(" In the simulator, Mbit/s: {}.", all.join(", "));
    question.place.sentence().map(|place| place + &beside)
}

/// Who carries most, by how much, and what it costs.
pub(super) fn verdict(question: &Question, answer: &Answer) -> String {
    let on = &question.link;
    let [best, rest @ ..] = answer.ranking.as_slice() else { return String::new() };
    if best.long.goodput <= 0.0 {
        return format!("Nothing gets through, on {on}.");
    }
    format!("{}{}", ranking(best, rest, on), delay(answer))
}

fn ranking(best: &Ranked, rest: &[Ranked], on: &str) -> String {
    let all = || std::iter::once(best).chain(rest).map(|r| r.label.as_str()).collect::<Vec<_>>();
    let most = || rest.iter().filter_map(|r| r.best_over_this).map(|r| r.value).fold(1.0, f64::max);
    if let Some((next, ratio)) = rest.first().and_then(|r| Some((r, r.best_over_this?)))
        && ratio.high.is_infinite()
    {
        let value = ratio.value;
        return format!(
            "{} carries {value:.2} times what {} does in a run each, and one run tells nothing apart, on {on}.",
            best.label, next.label
        );
    }
    let is = |r: &&Ranked, what: fn(Ratio) -> bool| r.best_over_this.is_some_and(what);
    let same: Vec<&str> = rest.iter().filter(|r| is(r, Ratio::is_same)).map(|r| r.label.as_str()).collect();
    let unknown = |r: &&Ranked| r.best_over_this.is_some_and(|ratio| !ratio.matters() && !ratio.is_same());
    if same.len() == rest.len() {
        return format!("{} carry the same within {:.1} %, on {on}.", join(&all()), (most() - 1.0) * 100.0);
    }
    let mut also = String::new();
    if !same.is_empty() {
        let _ = write!(also, "; {} as much", join(&same));
    }
    // The first that is certainly less.
    let Some(next) = rest.iter().find(|r| r.best_over_this.is_none_or(Ratio::matters)) else {
        let open = rest.iter().filter(unknown);
        let open = open.filter_map(|r| Some(format!("{} what {} does", times(r.best_over_this?), r.label)));
        let open = join_all(&open.collect::<Vec<_>>());
        return format!(
            "Not told apart: {} carries {open}{also}, on {on}; more seeds (--repeat) may tell.",
            best.label
        );
    };
    let more = match next.best_over_this {
        Some(ratio) => format!("{} what {} does", times(ratio), next.label),
        None => format!("{:.2} Mbit/s where {} carries nothing", best.long.goodput, next.label),
    };
    let open: Vec<&str> = rest.iter().filter(unknown).map(|r| r.label.as_str()).collect();
    if !open.is_empty() {
        let _ = write!(also, "; {} not told apart from it", join(&open));
    }
    let verb = if rest.len() > 1 { "carries most," } else { "carries" };
    format!("{} {verb} {more}{also}, on {on}.", best.label)
}

/// `3.3 times (3.1 to 3.5)`.
fn times(ratio: Ratio) -> String {
    let decimals = if ratio.value < 1.2 { 3 } else { 2 };
    if ratio.low == ratio.high {
        return format!("{:.decimals$} times", ratio.value);
    }
    format!("{:.decimals$} times ({:.decimals$} to {:.decimals$})", ratio.value, ratio.low, ratio.high)
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

fn table(out: &mut String, question: &Question, answer: &Answer) {
    let width = label_width(answer);
    let all = || answer.ranking.iter().flat_map(|ranked| ranked.completion.iter().flatten());
    // The shortest must have digits.
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
        let share = if question.network.has_capacity {
            format!("{:.0} %", long.of_link * 100.0)
        } else {
            "-".to_owned()
        };
        let _ = write!(
            out,
            "{:width$} {:>9} {share:>5} {:>7} {:>7} {:>6.3} ",
            cut(&ranked.label, width),
            significant(long.goodput),
            time(long.rtt_mean),
            time(long.rtt_p95),
            long.loss
        );
        for completion in &ranked.completion {
            let shown = completion.map_or_else(|| "-".to_owned(), |seconds| significant(seconds * factor));
            let _ = write!(out, "{shown:>7}");
        }
        out.push('\n');
    }
}

/// Milliseconds: a decimal, or three digits of short ones.
fn time(ms: f64) -> String {
    if ms < 10.0 { significant(ms) } else { format!("{ms:.1}") }
}

/// What each does to the competitor: who may be deployed beside it.
fn beside(out: &mut String, answer: &Answer) {
    let against = &answer.against;
    let width = label_width(answer);
    let _ = writeln!(out, "{:width$}  beside one flow of {against}: Mbit/s of both, share, mean RTT", "");
    for ranked in &answer.ranking {
        let Some(beside) = ranked.beside else { continue };
        let _ = writeln!(
            out,
            "{:width$} {:>9} and {:>5} of {against}, {} %, {} ms",
            cut(&ranked.label, width),
            significant(beside.goodput),
            significant(beside.competitor),
            share(&beside),
            significant(beside.rtt_mean)
        );
    }
    put_some(out, kept(answer));
}

/// `43 +-2`.
pub(super) fn share(beside: &Beside) -> String {
    let spread = beside.spread.filter(|s| *s >= 0.5).map_or_else(String::new, |s| format!(" +-{s:.0}"));
    format!("{:.0}{spread}", beside.share)
}

/// What the competitor keeps of what it has beside its own kind.
pub(super) fn kept(answer: &Answer) -> Option<String> {
    let against = &answer.against;
    let kept =
        answer.ranking.iter().filter_map(|r| Some(format!("{} beside {}", keeps(r.beside?.keeps?), r.label)));
    let kept: Vec<String> = kept.collect();
    let its = format!("Of what {against} has beside another {against} it keeps ");
    (!kept.is_empty()).then(|| format!("{its}{}.", kept.join(", ")))
}

/// `43 % (40 to 46)`.
fn keeps(ratio: Ratio) -> String {
    let [value, low, high] = [ratio.value, ratio.low, ratio.high].map(|r| r * 100.0);
    match high / low {
        1.0 => format!("{value:.0} %"),
        wide if wide < WIDE => format!("{value:.0} % ({low:.0} to {high:.0})"),
        _ => format!("{value:.0} % (of too few seeds for an interval)"),
    }
}

/// Columns that are left for a label beside the numbers.
const LONGEST_LABEL: usize = 18;

/// Columns of the labels.
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
                "{} {} Mbit/s ({source}), here {}",
                r.label,
                significant(goodput),
                significant(r.long.goodput)
            ))
        })
        .collect();
    let loss = percent(question.network.path.loss);
    (!known.is_empty()).then(|| format!("Closed form at {loss} % of random loss: {}.", known.join("; ")))
}

/// In the digits that it was given with: a sum of probabilities has others behind them.
fn percent(share: f64) -> f64 {
    (share * 1e11).round() / 1e9
}

/// Three digits, of what is tiny four decimals.
pub(super) fn significant(value: f64) -> String {
    let decimals = match value {
        v if v >= 99.95 || v <= 0.0 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        v if v >= 0.09995 => 3,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

fn join(names: &[&str]) -> String {
    match names {
        [names @ .., last] if !names.is_empty() => format!("{} and {last}", names.join(", ")),
        names => names.join(", "),
    }
}

fn join_all(sentences: &[String]) -> String {
    join(&sentences.iter().map(String::as_str).collect::<Vec<_>>())
}

fn put_some(out: &mut String, text: Option<String>) {
    if let Some(text) = text {
        put(out, "", &text);
    }
}

/// A paragraph within 80 columns.
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

    /// With the ratio of the best to it, and its interval.
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
            "a carries 1.90 times (1.80 to 2.00) what b does, on a link."
        );
        assert_eq!(
            says(&[best(), other([1.01, 1.005, 1.02])]),
            "a and b carry the same within 1.0 %, on a link."
        );
        assert_eq!(
            says(&[best(), other([1.2, 0.9, 1.6])]),
            "Not told apart: a carries 1.20 times (0.90 to 1.60) what b does, on a link; more seeds (--repeat) may tell."
        );
        let once = says(&[best(), other([1.9, 0.0, f64::INFINITY])]);
        assert_eq!(
            once,
            "a carries 1.90 times what b does in a run each, and one run tells nothing apart, on a link."
        );
        let nothing = says(&[best(), ranked("b", 0.0, None)]);
        assert_eq!(nothing, "a carries 19.00 Mbit/s where b carries nothing, on a link.");
    }

    /// Who ties with the best is told, and the ratio is to the first that does not.
    #[test]
    fn several() {
        let all = [
            ranked("a", 19.0, None),
            ranked("b", 19.0, Some([1.0, 1.0, 1.0])),
            ranked("c", 9.0, Some([2.1, 2.1, 2.1])),
            ranked("d", 1.0, Some([19.0, 18.0, 20.0])),
        ];
        assert_eq!(says(&all), "a carries most, 2.10 times what c does; b as much, on a link.");
        assert_eq!(says(&all[..2]), "a and b carry the same within 0.0 %, on a link.");
        let unknown = || ranked("e", 13.0, Some([1.45, 0.9, 2.3]));
        let [a, b, c, _] = all;
        assert_eq!(
            says(&[a, b, unknown(), c]),
            "a carries most, 2.10 times what c does; b as much; e not told apart from it, on a link."
        );
    }
}
