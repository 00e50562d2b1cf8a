//! Sentences on how numbers were compared, and on the smallest change that the runs would show.

use experiment::metric::Metric;

use super::change::{Change, Ruling};
use super::comparison::Comparison;
use super::evidence::{ALIKE, Method};
use super::rule::{POWER, Rule, two_digits};
use crate::text::join_all;

/// Returns a line on the method, and one for each rule or, without rules, one on the tables.
pub(super) fn lines(comparison: &Comparison, rules: &[Rule]) -> Vec<String> {
    let sights = rules.iter().filter_map(|rule| sight(comparison, &rule.text));
    let tables = tables(comparison).filter(|_| rules.is_empty());
    method(comparison).into_iter().chain(tables).chain(sights).collect()
}

fn method(comparison: &Comparison) -> Option<String> {
    let count = |is: fn(Method) -> bool| comparison.changes.iter().filter(|c| is(c.evidence.method)).count();
    let all = [
        (
            count(|method| matches!(method, Method::Pairs(_) | Method::Equal(_))),
            "run by run with the same seed",
        ),
        (count(|method| matches!(method, Method::Means(_))), "by their means, because their seeds differ"),
        (count(|method| method == Method::Single), "by single runs, so that every difference counts"),
    ];
    let all = all.iter().filter(|(n, _)| *n > 0).map(|(n, how)| format!("{n} {how}"));
    let all = join_all(&all.collect::<Vec<_>>());
    (!all.is_empty()).then(|| format!("compared: {all}"))
}

/// Says which changes of the tables' metrics every row would show.
fn tables(comparison: &Comparison) -> Option<String> {
    let of = |metric: &Metric| {
        let changes = comparison.changes.iter().filter(|change| change.metric == *metric);
        let most = changes.filter_map(|change| Some(change.evidence.smallest?[0])).reduce(f64::max)?;
        Some(match libm::expm1(most) {
            share if share <= ALIKE => format!("{metric} any"),
            share if share.is_infinite() => format!("{metric} none from 0"),
            share => format!("{metric} {} %", two_digits(share * 100.0)),
        })
    };
    let all: Vec<String> = comparison.metrics.iter().filter_map(of).collect();
    (!all.is_empty()).then(|| format!("smallest change that every row shows {POWER}: {}", all.join(", ")))
}

/// Says which change a rule sees in every row, and whether that is enough.
fn sight(comparison: &Comparison, rule: &str) -> Option<String> {
    let changes = comparison.changes.iter();
    let rulings = changes.flat_map(|change| change.rulings.iter().map(move |ruling| (change, ruling)));
    let rulings: Vec<(&Change, &Ruling)> = rulings.filter(|(_, ruling)| ruling.rule == rule).collect();
    let fine = rulings.iter().filter(|(_, ruling)| ruling.is_too_fine).count();
    let size = |ruling: &Ruling| ruling.smallest.unwrap_or(f64::INFINITY);
    let order = |(_, one): &&(&Change, &Ruling), (_, other): &&(&Change, &Ruling)| {
        one.is_too_fine.cmp(&other.is_too_fine).then(size(one).total_cmp(&size(other)))
    };
    let (change, ruling) = rulings.iter().max_by(order)?;
    let (place, all) = (change.place(), rulings.len());
    Some(match fine {
        0 => format!("\"{rule}\" sees {} ({place}: {})", ruling.sees, runs(change)),
        _ => format!(
            "! \"{rule}\" is too fine for {fine} of {all} rows. {place}: {}",
            too_fine(change, ruling)
        ),
    })
}

/// Says what a row shows, for a rule that is finer, and what to do.
pub(super) fn too_fine(change: &Change, ruling: &Ruling) -> String {
    let advice = "add repetitions, take noise out of the network, or allow more";
    let only = if ruling.sees.starts_with("no ") { "" } else { "only " };
    format!("{} show {only}{}; {advice}", runs(change), ruling.sees)
}

fn runs(change: &Change) -> String {
    match change.evidence.method {
        Method::Pairs(n) => format!("{n} pairs of runs"),
        Method::Equal(n) => format!("{n} equal pairs of runs, so that nothing has changed"),
        Method::Means([before, after]) => format!("{before} and {after} runs"),
        Method::Single => "one run on a side".to_owned(),
    }
}
