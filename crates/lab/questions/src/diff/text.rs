//! The comparison as text: the answer first, then the largest changes.

use std::fmt::Write as _;

use super::Question;
use super::change::Change;
use super::comparison::{ChangedVerdict, Comparison};
use super::unchecked::Unchecked;
use super::{settings, sight};

/// Largest number of changes on a screen.
const MOST: usize = 10;
/// Largest number of metrics on a screen.
const MOST_METRICS: usize = 16;

/// Format of the text.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    pub(super) markdown: bool,
    pub(super) all: bool,
}

impl Shown {
    /// Returns a text as it is, or escaped for Markdown.
    fn safe(self, text: &str) -> String {
        let is_markup = |c: char| self.markdown && "\\`|<*[&~".contains(c);
        text.chars().flat_map(|c| is_markup(c).then_some('\\').into_iter().chain([c])).collect()
    }
}

pub(super) fn report(comparison: &Comparison, question: &Question, shown: Shown) -> String {
    let mut out = String::new();
    let beyond = comparison.beyond().count();
    let experiments = match comparison.experiments {
        1 => "1 experiment".to_owned(),
        n => format!("{n} experiments"),
    };
    let _ = writeln!(
        out,
        "{beyond} of {} numbers in {experiments} changed by more than the spread between runs",
        comparison.changes.len(),
    );
    let broken = comparison.broken().count();
    if !question.rules.is_empty() {
        let verb = if broken == 1 { "breaks" } else { "break" };
        let _ = writeln!(out, "{broken} of them {verb} a rule");
    }
    let mark = if shown.markdown { "* " } else { "" };
    for line in sight::lines(comparison, &question.rules).into_iter().chain(remarks(comparison, question)) {
        let _ = writeln!(out, "{mark}{}", shown.safe(&line));
    }
    if beyond > MOST {
        metrics(&mut out, comparison, shown);
    }
    changes(&mut out, comparison, shown);
    out
}

/// Says what was not compared, what is new and which verdicts changed.
fn remarks(comparison: &Comparison, question: &Question) -> Vec<String> {
    let (before, after) = (&question.before.name, &question.after.name);
    let mut all: Vec<String> = comparison.unchecked.iter().map(Unchecked::sentence).collect();
    let unused = comparison.unused.iter();
    all.extend(
        unused.map(|rule| format!("\"{rule}\" was not checked: no table in both results has this metric")),
    );
    all.extend(settings::sentence(&comparison.settings));
    all.extend(comparison.renamed.iter().map(|(old, new)| format!("{old} is called {new} in {after}")));
    let side = |is_new: bool| if is_new { after } else { before };
    let alone = comparison.alone.iter();
    all.extend(
        alone.map(|(name, world, is_new)| format!("{name} ({}): only in {}", world.word(), side(*is_new))),
    );
    if comparison.unmatched > 0 {
        all.push(format!("{} numbers have no counterpart", comparison.unmatched));
    }
    all.extend(comparison.claims.iter().map(verdict));
    all
}

fn verdict(ChangedVerdict { experiment, claim, before, after }: &ChangedVerdict) -> String {
    format!("{experiment} {claim}: {} -> {}", before.words(), after.words())
}

/// Appends the number of changes of each metric, and their range.
fn metrics(out: &mut String, comparison: &Comparison, shown: Shown) {
    let mut all: Vec<&Change> = comparison.beyond().collect();
    all.sort_by_key(|change| change.rank());
    let groups: Vec<&[&Change]> = all.chunk_by(|a, b| a.metric == b.metric).collect();
    let most = if shown.all { groups.len() } else { MOST_METRICS };
    out.push_str(if shown.markdown { "\n| metric | changed | by |\n|---|---:|---|\n" } else { "\n" });
    let width = groups.iter().take(most).map(|group| group[0].metric.as_str().len()).max().unwrap_or(0);
    for group in groups.iter().take(most) {
        let (metric, n) = (group[0].metric.as_str(), group.len());
        let total = comparison.changes.iter().filter(|change| change.metric == group[0].metric).count();
        let shares: Vec<f64> = group.iter().filter_map(|change| change.relative()).collect();
        let (low, high) = shares.iter().fold((f64::MAX, f64::MIN), |(l, h), s| (l.min(*s), h.max(*s)));
        let mut by = Vec::new();
        if !shares.is_empty() {
            by.push(format!("{:+.1} to {:+.1} %", low * 100.0, high * 100.0));
        }
        if shares.len() < n {
            by.push(format!("{} from 0", n - shares.len()));
        }
        let by = by.join(", ");
        let _ = match shown.markdown {
            true => writeln!(out, "| {} | {n} of {total} | {by} |", shown.safe(metric)),
            false => writeln!(out, "    {metric:width$}  {n:>4} of {total:<4}  {by}"),
        };
    }
    if groups.len() > most {
        let _ = writeln!(out, "    and {} other metrics; -v shows them", groups.len() - most);
    }
}

/// Appends the changes, those that break a rule first.
fn changes(out: &mut String, comparison: &Comparison, shown: Shown) {
    let others = comparison.beyond().filter(|change| change.broken().is_none());
    let all: Vec<&Change> = comparison.broken().chain(others).collect();
    let most = if shown.all { all.len() } else { MOST };
    if all.is_empty() {
        return;
    }
    if shown.markdown {
        out.push_str(
            "\n| where | metric | before | after | change | 95 % | |\n|---|---|---:|---:|---:|---|---|\n",
        );
    } else {
        out.push('\n');
    }
    for change in all.iter().take(most) {
        out.push_str(&line(change, shown));
    }
    if all.len() > most {
        let _ = writeln!(out, "and {} more; -v shows them", all.len() - most);
    }
}

fn line(change: &Change, shown: Shown) -> String {
    let place = change.place();
    let number = |value: f64| format!("{value:.*}", change.metric.decimals(value).max(2));
    let by = change.relative().map_or_else(|| "from 0".to_owned(), |by| format!("{:+.1} %", by * 100.0));
    let range = change
        .evidence
        .ratio
        .filter(|ratio| ratio.high.is_finite() && ratio.low < ratio.high)
        .map_or_else(String::new, |ratio| {
            format!("{:+.1} to {:+.1} %", (ratio.low - 1.0) * 100.0, (ratio.high - 1.0) * 100.0)
        });
    let (before, after, unit) = (number(change.before), number(change.after), change.metric.unit());
    let rule = change.broken().map_or_else(String::new, |rule| format!("breaks \"{rule}\""));
    if shown.markdown {
        let [place, metric, rule] = [&place, change.metric.as_str(), &rule].map(|text| shown.safe(text));
        return format!("| {place} | {metric} {unit} | {before} | {after} | {by} | {range} | {rule} |\n");
    }
    let mark = if rule.is_empty() { "" } else { "! " };
    let range = if range.is_empty() { String::new() } else { format!(" ({range})") };
    format!("{mark}{place}\n    {} {before} -> {after} {unit}, {by}{range} {rule}\n", change.metric)
        .replace(" \n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_no_markup() {
        let safe = |markdown| Shown { markdown, all: false }.safe("a|b `c` <d> rtt_mean");
        assert_eq!([safe(false), safe(true)], ["a|b `c` <d> rtt_mean", "a\\|b \\`c\\` \\<d> rtt_mean"]);
    }
}
