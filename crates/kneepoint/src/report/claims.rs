//! The claims of an experiment and where they stand.

use maud::{Markup, html};

use crate::summary::{ClaimResult, Verdict};

/// Symbol, word and class of a verdict: none of them depends on colour alone.
pub(super) fn words(verdict: Verdict) -> (&'static str, &'static str, &'static str) {
    match verdict {
        Verdict::Holds => ("✓", "holds", "holds"),
        Verdict::KnownMiss => ("◆", "known miss", "known"),
        Verdict::UnexpectedMiss => ("✗", "unexpected miss", "unexpected"),
        Verdict::NotJudged => ("?", "not judged", "unexpected"),
    }
}

/// How many claims hold, are known misses, are unexpected misses; and how many were not judged, if there are any.
pub(super) fn count<'a>(claims: impl Iterator<Item = &'a ClaimResult>) -> Vec<(Verdict, usize)> {
    let all = [Verdict::Holds, Verdict::KnownMiss, Verdict::UnexpectedMiss, Verdict::NotJudged];
    let mut counts = all.map(|verdict| (verdict, 0)).to_vec();
    for claim in claims {
        for (_, count) in counts.iter_mut().filter(|(v, _)| *v == claim.verdict) {
            *count += 1;
        }
    }
    counts.retain(|(verdict, count)| *verdict != Verdict::NotJudged || *count > 0);
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
            td.says { (claim.says) }
            td { (published(claim.holds_published)) }
            td.ours {
                @for (variant, holds, numbers) in &claim.variants {
                    div {
                        span class=(if *holds { "yes" } else { "no" }) { (if *holds { "✓" } else { "✗" }) }
                        " " @if !variant.is_empty() { span.variant { (variant) ": " } }
                        (numbers)
                    }
                }
            }
            @if has_reasons { td.reason { @if let Some(reason) = &claim.reason { (reason) } } }
        }
    }
}

fn published(holds: Option<bool>) -> Markup {
    match holds {
        Some(true) => html! { span.yes { "✓" } " holds" },
        Some(false) => html! { span.no { "✗" } " does not hold" },
        None => html! { span.unknown { "not printed" } },
    }
}
