//! Broken rules as JUnit's XML, for CI systems that read it.

use maud::{Markup, PreEscaped, html};

use super::change::Change;
use super::comparison::Comparison;
use super::sight::too_fine;
use super::unchecked::Unchecked;

/// First line of the file.
const DECLARATION: PreEscaped<&str> = PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
/// Message for a rule whose metric is in neither or only one of the tables.
const UNUSED: &str = "no number to compare: no table in both results has this metric";

/// A test case: its name, its outcome, and what its rules see.
type Case = (String, Outcome, String);

/// Outcome of a test case, with a message.
enum Outcome {
    Passed,
    /// No rule is about it.
    Skipped(String),
    Failed(String),
}

/// Returns the report: a suite per experiment, a case per number that a rule is about.
pub(super) fn report(comparison: &Comparison) -> String {
    let ruled = || comparison.changes.iter().filter(|change| !change.rulings.is_empty());
    let mut names: Vec<&str> = ruled().map(|change| change.experiment.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut suites: Vec<(&str, Vec<Case>)> = Vec::new();
    for name in names {
        let mut changes: Vec<&Change> = ruled().filter(|change| change.experiment == name).collect();
        changes.sort_by(|a, b| {
            (&a.variant, a.row.as_str(), &a.metric).cmp(&(&b.variant, b.row.as_str(), &b.metric))
        });
        suites.push((name, changes.into_iter().map(case).collect()));
    }
    if !comparison.unused.is_empty() {
        let unused = comparison.unused.iter();
        let unused = unused.map(|rule| (rule.clone(), Outcome::Failed(UNUSED.to_owned()), String::new()));
        suites.push(("rules", unused.collect()));
    }
    if !comparison.unchecked.is_empty() {
        suites.push(("not checked", comparison.unchecked.iter().map(unchecked).collect()));
    }
    let cases = || suites.iter().flat_map(|(_, cases)| cases);
    let report = html! {
        (DECLARATION)
        testsuites name="ackclock diff" tests=(cases().count()) failures=(failures(cases())) errors="0" {
            @for (name, cases) in &suites {
                testsuite name=(xml(name)) tests=(cases.len()) failures=(failures(cases)) errors="0" disabled="0" {
                    @for case in cases { (element(case)) }
                }
            }
        }
    };
    report.into_string() + "\n"
}

fn failures<'a>(cases: impl IntoIterator<Item = &'a Case>) -> usize {
    cases.into_iter().filter(|(_, outcome, _)| matches!(outcome, Outcome::Failed(_))).count()
}

fn unchecked(Unchecked { what, why, metrics }: &Unchecked) -> Case {
    let outcome = if metrics.is_empty() { Outcome::Skipped } else { Outcome::Failed };
    (what.clone(), outcome((*why).to_owned()), String::new())
}

fn element((name, outcome, output): &Case) -> Markup {
    html! {
        testcase name=(xml(name)) {
            @match outcome {
                Outcome::Passed => {}
                Outcome::Skipped(message) => { skipped message=(xml(message)) {} }
                Outcome::Failed(message) => { failure message=(xml(message)) {} }
            }
            @if !output.is_empty() { system-out { (xml(output)) } }
        }
    }
}

/// Replaces characters that XML 1.0 cannot hold.
fn xml(text: &str) -> String {
    let is_held =
        |c: char| matches!(c, '\t' | '\n' | '\r') || (c >= ' ' && !matches!(c, '\u{fffe}' | '\u{ffff}'));
    text.chars().map(|c| if is_held(c) { c } else { '\u{fffd}' }).collect()
}

fn case(change: &Change) -> Case {
    let broken = change.broken().map(|rule| {
        let unit = change.metric.unit();
        format!("{} -> {} {unit} breaks \"{rule}\"", change.before, change.after)
    });
    let fine = change.rulings.iter().find(|ruling| ruling.is_too_fine);
    let fine = || fine.map(|fine| format!("\"{}\" is too fine: {}", fine.rule, too_fine(change, fine)));
    let sees = change.rulings.iter().map(|ruling| format!("\"{}\" sees {}", ruling.rule, ruling.sees));
    (
        change.case(),
        broken.or_else(fine).map_or(Outcome::Passed, Outcome::Failed),
        sees.collect::<Vec<_>>().join("\n"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped() {
        let failure = "1 -> 2 breaks \"goodput -3 %\"".to_owned();
        let case = ("a < \"b\" & c\u{1}".to_owned(), Outcome::Failed(failure), "<".to_owned());
        assert_eq!(
            element(&case).into_string(),
            "<testcase name=\"a &lt; &quot;b&quot; &amp; c\u{fffd}\"><failure message=\"1 -&gt; 2 breaks \
             &quot;goodput -3 %&quot;\"></failure><system-out>&lt;</system-out></testcase>"
        );
    }
}
