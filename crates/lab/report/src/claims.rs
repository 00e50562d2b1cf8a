//! The claims of an experiment and their verdicts.

use experiment::printable::counted;
use maud::{Markup, html};

use crate::terminal::by_how_much;
use crate::terminal::lines::word;
use results::summary::{ClaimResult, Judged, PartResult, Verdict};
use results::verdict::Outcome;

/// Number of holding claims above which they are folded into one line.
const MOST_HOLDING: usize = 6;

/// Number of variants above which their numbers are folded.
const MOST: usize = 4;

const ALL: [Verdict; 5] =
    [Verdict::Holds, Verdict::Partly, Verdict::WithinSpread, Verdict::Missed, Verdict::NotJudged];

/// Order of claims on a page: failing claims first.
const ORDER: [Verdict; 5] =
    [Verdict::Missed, Verdict::NotJudged, Verdict::Partly, Verdict::WithinSpread, Verdict::Holds];

/// Returns symbol, word and class of a verdict. The symbol and the word do not depend on colour.
pub(super) fn words(verdict: Verdict) -> (&'static str, &'static str, &'static str) {
    let (symbol, class) = match verdict {
        Verdict::Holds => ("✓", "holds"),
        Verdict::Partly => ("◐", "known"),
        Verdict::WithinSpread => ("≈", "known"),
        Verdict::Missed => ("✗", "unexpected"),
        Verdict::NotJudged => ("?", "unexpected"),
    };
    (symbol, word(verdict), class)
}

/// Counts the claims with each verdict. Verdicts without a claim are left out, except `holds` and
/// `missed`.
pub(super) fn count<'a>(claims: impl Iterator<Item = &'a ClaimResult>) -> Vec<(Verdict, usize)> {
    let mut counts = ALL.map(|verdict| (verdict, 0)).to_vec();
    for claim in claims {
        for (_, count) in counts.iter_mut().filter(|(v, _)| *v == claim.verdict) {
            *count += 1;
        }
    }
    counts.retain(|(verdict, count)| matches!(verdict, Verdict::Holds | Verdict::Missed) || *count > 0);
    counts
}

/// Draws a verdict as a coloured word with its symbol.
pub(super) fn badge(verdict: Verdict) -> Markup {
    let (symbol, word, class) = words(verdict);
    html! { span class={ "badge " (class) } { (symbol) " " (word) } }
}

/// Draws one line per claim, failing claims first. Numbers and reason unfold.
pub(super) fn draw(claims: &[ClaimResult]) -> Markup {
    let mut sorted: Vec<&ClaimResult> = claims.iter().collect();
    sorted.sort_by_key(|claim| ORDER.iter().position(|verdict| *verdict == claim.verdict));
    let (holding, other): (Vec<_>, Vec<_>) = sorted.into_iter().partition(|c| c.verdict == Verdict::Holds);
    html! {
        div.claims {
            @for claim in &other { (one(claim)) }
            @if holding.len() > MOST_HOLDING {
                details.rest.paper {
                    summary { (badge(Verdict::Holds)) span.says { (holding.len()) " claims" } }
                    @for claim in &holding { (one(claim)) }
                }
            } @else {
                @for claim in &holding { (one(claim)) }
            }
        }
    }
}

/// Draws a claim. In print, claims that do not hold are unfolded.
fn one(claim: &ClaimResult) -> Markup {
    html! {
        details.paper[claim.verdict != Verdict::Holds] {
            summary { (badge(claim.verdict)) span.says { (claim.says) @if claim.ours { " (ours)" } } }
            div.whole {
                div { span.id { (claim.id) } "; on the published numbers: " (published(claim.holds_published())) }
                @for part in &claim.parts { (part_of(part)) }
                @if let Some(reason) = &claim.reason { p.reason { b { "Why: " } (reason) } }
            }
        }
    }
}

fn part_of(part: &PartResult) -> Markup {
    let choice = part.variants.iter().any(|judged| !judged.reference);
    let folds = part.variants.len() > MOST;
    let references = part.variants.iter().filter(|judged| judged.reference).count();
    let shows = |judged: &&Judged| choice && judged.reference && references <= MOST;
    let (first, rest): (Vec<&Judged>, Vec<&Judged>) = part.variants.iter().partition(shows);
    html! {
        @if let Some(says) = &part.says { div.says { (says) } }
        @for judged in first { (line(judged, choice)) }
        @if folds && !rest.is_empty() {
            details {
                summary { (outcome_counts(&rest)) }
                @for judged in rest { (line(judged, choice)) }
            }
        } @else {
            @for judged in rest { (line(judged, choice)) }
        }
    }
}

fn line(judged: &Judged, choice: bool) -> Markup {
    let (class, symbol) = sign(judged.outcome);
    html! {
        div {
            span class=(class) { (symbol) }
            " " @if !judged.variant.is_empty() { span.variant { (judged.variant) ": " } }
            @if judged.reference && choice { b { "reference: " } }
            (judged.numbers) (by_how_much(judged))
        }
    }
}

/// Counts the outcomes: `12 ✓, 3 ✗ in 15 variants`.
fn outcome_counts(all: &[&Judged]) -> String {
    let outcomes = [Outcome::Holds, Outcome::WithinSpread, Outcome::Missed, Outcome::NotJudged];
    let count = |outcome: &Outcome| all.iter().filter(|judged| judged.outcome == *outcome).count();
    let parts = outcomes.iter().filter(|o| count(o) > 0).map(|o| format!("{} {}", count(o), sign(*o).1));
    let variants = counted(all.len(), ["variant", "variants"]);
    format!("{} in {variants}", parts.collect::<Vec<_>>().join(", "))
}

fn sign(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Holds => ("yes", "✓"),
        Outcome::WithinSpread => ("unknown", "≈"),
        Outcome::Missed => ("no", "✗"),
        Outcome::NotJudged => ("unknown", "?"),
    }
}

fn published(holds: Option<bool>) -> Markup {
    match holds {
        Some(true) => html! { span.yes { "✓" } " holds" },
        Some(false) => html! { span.no { "✗" } " does not hold" },
        None => html! { span.unknown { "not published" } },
    }
}
