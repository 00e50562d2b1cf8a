//! The claims of an experiment and where they stand.

use maud::{Markup, html};

use crate::terminal::by_how_much;
use experiment::verdict::Outcome;
use results::summary::{ClaimResult, Judged, PartResult, Verdict};

/// Reasons of more letters are folded.
const LONG: usize = 90;

/// Numbers of more variants are folded.
const MOST: usize = 4;

const ALL: [Verdict; 5] =
    [Verdict::Holds, Verdict::Partly, Verdict::WithinSpread, Verdict::Missed, Verdict::NotJudged];

/// Symbol, word and class of a verdict: none of them depends on colour alone.
pub(super) fn words(verdict: Verdict) -> (&'static str, &'static str, &'static str) {
    match verdict {
        Verdict::Holds => ("✓", "holds", "holds"),
        Verdict::Partly => ("◐", "partly", "known"),
        Verdict::WithinSpread => ("≈", "within the spread", "known"),
        Verdict::Missed => ("✗", "missed", "unexpected"),
        Verdict::NotJudged => ("?", "not judged", "unexpected"),
    }
}

/// How many claims have each verdict; those that none has are left out, but for the first and the last word on them.
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

/// Verdict as a coloured word with its symbol.
pub(super) fn badge(verdict: Verdict) -> Markup {
    let (symbol, word, class) = words(verdict);
    html! { span class={ "badge " (class) } { (symbol) " " (word) } }
}

/// The table of claims.
pub(super) fn draw(claims: &[ClaimResult]) -> Markup {
    let has_reasons = claims.iter().any(|c| c.reason.is_some());
    html! {
        div.scroll tabindex="0" role="region" aria-label="Claims" {
            table.claims {
                thead {
                    tr {
                        th { "verdict" }
                        th { "claim" }
                        th { "the source says" }
                        th { "on its own numbers" }
                        th { "in our runs" }
                        @if has_reasons { th { "reason" } }
                    }
                }
                tbody { @for claim in claims { (row(claim, has_reasons)) } }
            }
        }
    }
}

fn row(claim: &ClaimResult, has_reasons: bool) -> Markup {
    html! {
        tr {
            td { (badge(claim.verdict)) }
            td.id { (claim.id) }
            td.says { (claim.says) @if claim.ours { " (ours)" } }
            td { (published(claim.holds_published())) }
            td.ours { @for part in &claim.parts { (part_of(part)) } }
            @if has_reasons { td.reason {
                    @if let Some(reason) = &claim.reason {
                        @if reason.len() > LONG { details { summary { "why" } (reason) } } @else { (reason) }
                    }
                } }
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
                summary { (tally(&rest)) }
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

/// `12 ✓, 3 ✗ in 15 variants`.
fn tally(all: &[&Judged]) -> String {
    let outcomes = [Outcome::Holds, Outcome::WithinSpread, Outcome::Missed, Outcome::NotJudged];
    let count = |outcome: &Outcome| all.iter().filter(|judged| judged.outcome == *outcome).count();
    let parts = outcomes.iter().filter(|o| count(o) > 0).map(|o| format!("{} {}", count(o), sign(*o).1));
    format!("{} in {} variants", parts.collect::<Vec<_>>().join(", "), all.len())
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
        None => html! { span.unknown { "not printed" } },
    }
}
