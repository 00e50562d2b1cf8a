//! Decides whether a check holds, by how much, and whether the difference exceeds the spread of the
//! runs.
//!
//! ```text
//! left is below right       slack = right - left          spread = sqrt(s_left^2 + s_right^2)
//! left is above right       slack = left - right          s: sample deviation over the repetitions
//! left is near right        slack = ln f - |ln(left / right)|, s relative to its value
//! a is increasing           the smallest step minus its spread
//!
//! holds   slack > spread        missed   slack < -spread        within the spread   otherwise
//! ```
//!
//! `right` is the number of the rows times the claim's factor. A multiple of a measured 0 is not
//! judged, because nothing can be some times as large as 0. Two zeros are equal.

use experiment::file::{Compared, Relation, Sample, slack_within};
use serde::{Deserialize, Serialize};

/// Result of a check in a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The check holds by more than the spread.
    Holds,
    /// The difference is within the spread.
    WithinSpread,
    /// The check fails by more than the spread.
    Missed,
    /// A number is missing, or there is nothing to compare.
    NotJudged,
}

/// Returns the deviation of a difference, unknown if one of the two is unknown.
fn combined_spread(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a?.hypot(b?))
}

/// Judgement on a check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// Result with the spread taken into account.
    pub outcome: Outcome,
    /// Slack, relative to the right side.
    pub margin: f64,
    /// Deviation of the slack, relative to the right side. `None` if a row was run once.
    pub spread: Option<f64>,
}

/// Judges the numbers of a check.
pub fn judge(numbers: &Compared) -> Judgement {
    match numbers {
        Compared::Sides { left, is, times, right, typed } => compare(*left, *is, *times, *right, *typed),
        Compared::Steps(samples) => increasing(samples),
        Compared::Published(pairs, factor) => {
            let slack = |(_, ours, theirs): &(_, Sample, f64)| {
                (slack_within(ours.value, *theirs, *factor), relative(*ours), 1.0)
            };
            all_hold(pairs.iter().map(slack))
        }
    }
}

fn relative(sample: Sample) -> Option<f64> {
    Some(sample.spread? / sample.value.abs())
}

fn compare(left: Sample, is: Relation, times: f64, right: Sample, typed: bool) -> Judgement {
    let apart = combined_spread(left.spread, right.spread);
    let (slack, spread, scale) = match is {
        Relation::Below | Relation::AtMost => (right.value - left.value, apart, right.value.abs()),
        Relation::Above | Relation::AtLeast => (left.value - right.value, apart, right.value.abs()),
        Relation::Near(factor) => {
            let spread = combined_spread(relative(left), relative(right));
            (slack_within(left.value, right.value, factor), spread, 1.0)
        }
    };
    let nothing = right.value == 0.0 && !typed;
    let outcome = match nothing && (times != 1.0 || matches!(is, Relation::Near(_))) {
        true => Outcome::NotJudged,
        // An exact tie with a typed limit holds: "at most 0" when nothing was lost.
        false
            if typed
                && is == Relation::AtMost
                && left.value == right.value
                && apart.unwrap_or(0.0) == 0.0 =>
        {
            Outcome::Holds
        }
        false => outcome(slack, spread),
    };
    Judgement { outcome, margin: slack / scale, spread: spread.map(|s| s / scale) }
}

/// Compares a slack with its spread. A single run has no spread, so the numbers alone decide.
fn outcome(slack: f64, spread: Option<f64>) -> Outcome {
    let spread = finite_or_zero(spread);
    match slack {
        slack if slack > spread => Outcome::Holds,
        slack if slack >= -spread => Outcome::WithinSpread,
        _ => Outcome::Missed,
    }
}

fn finite_or_zero(spread: Option<f64>) -> f64 {
    spread.filter(|spread| spread.is_finite()).unwrap_or(0.0)
}

/// Returns the result of several checks that must all hold.
fn worst_outcome(outcomes: &(impl Iterator<Item = Outcome> + Clone)) -> Outcome {
    let has = |wanted| outcomes.clone().any(|outcome| outcome == wanted);
    [Outcome::Missed, Outcome::NotJudged, Outcome::WithinSpread]
        .into_iter()
        .find(|worse| has(*worse))
        .unwrap_or(Outcome::Holds)
}

fn increasing(samples: &[Sample]) -> Judgement {
    all_hold(samples.windows(2).map(|pair| {
        let spread = combined_spread(pair[0].spread, pair[1].spread);
        (pair[1].value - pair[0].value, spread, pair[0].value.abs())
    }))
}

/// Judges conditions that must all hold, each given by its slack, spread and scale. The tightest
/// gives the margin.
fn all_hold(slacks: impl Iterator<Item = (f64, Option<f64>, f64)> + Clone) -> Judgement {
    let left = |(slack, spread, _): &(f64, Option<f64>, f64)| slack - finite_or_zero(*spread);
    let tightest = slacks.clone().min_by(|a, b| left(a).total_cmp(&left(b)));
    let (slack, spread, scale) = tightest.unwrap_or((0.0, None, 1.0));
    Judgement {
        outcome: worst_outcome(&slacks.map(|(slack, spread, _)| outcome(slack, spread))),
        margin: slack / scale,
        spread: spread.map(|spread| spread / scale),
    }
}
