//! The ledger page: for each source its claims by verdict, its numbers by distance, the largest
//! differences.

use maud::{Markup, html};

use super::number;
use results::ledger::{Difference, LIMITS, Source};

/// Returns the page's body.
pub(super) fn draw(sources: &[Source]) -> Markup {
    html! {
        header { h1 { "Ledger" } p { a href="index.html" { "Back to the experiments" } } }
        main {
            section {
                h2 { "Claims" }
                p.note { "Claims of the sources, judged in the reference variants. Cause unknown: it does not hold, and the reason is not known." }
                (claims(sources))
            }
            section {
                h2 { "Published numbers" }
                p.note { "Numbers of the reference variants. Cause unknown: it differs by more than 10 %, and the reason is not known. Path unknown: it differs by more than 10 %, and is not comparable, because the source measured on a path that is not known." }
                (cells(sources))
            }
            @for Source { name, largest, zeros, .. } in sources {
                @if !largest.is_empty() { (differences("Largest differences", name, largest)) }
                @if !zeros.is_empty() { (differences("Zero only in ours or only in the source", name, zeros)) }
            }
        }
    }
}

fn claims(sources: &[Source]) -> Markup {
    let head =
        ["source", "claims", "hold", "partly", "within the spread", "missed", "not judged", "cause unknown"];
    let row = |Source { name, claims: c, .. }: &Source| {
        counts(name, &[c.all(), c.holds, c.partly, c.within_spread, c.missed, c.not_judged, c.open])
    };
    table("Claims by source", &head.map(str::to_owned), sources.iter().map(row))
}

fn cells(sources: &[Source]) -> Markup {
    let within = LIMITS.iter().map(|limit| format!("within {limit} %"));
    let head = ["source", "numbers"].map(str::to_owned).into_iter().chain(within);
    let head: Vec<String> = head.chain(["cause unknown", "path unknown"].map(str::to_owned)).collect();
    let row = |Source { name, cells, .. }: &Source| {
        counts(name, &[&[cells.all], &cells.within[..], &[cells.open, cells.path_unknown]].concat())
    };
    table("Numbers by source", &head, sources.iter().map(row))
}

fn differences(title: &str, source: &str, list: &[Difference]) -> Markup {
    let title = format!("{title}: {source}");
    let head = ["experiment", "variant", "row", "metric", "ours", "published", "state"].map(str::to_owned);
    html! { section { h2 { (title) } (table(&title, &head, list.iter().map(line))) } }
}

/// Draws a table with these names of columns.
fn table(label: &str, head: &[String], rows: impl Iterator<Item = Markup>) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(label) {
            table.numbers {
                thead { tr { @for name in head { th { (name) } } } }
                tbody { @for row in rows { (row) } }
            }
        }
    }
}

/// Draws the row of a source.
fn counts(name: &str, counts: &[usize]) -> Markup {
    html! { tr { th scope="row" { (name) } @for count in counts { td.first { (count) } } } }
}

fn line(d: &Difference) -> Markup {
    let ours = number::fixed(d.ours, d.metric.decimals(d.ours));
    let published = number::fixed(d.published, d.metric.published_decimals(d.published));
    html! {
        tr {
            th scope="row" { (d.experiment) }
            td { (d.variant) }
            td { (d.row) }
            td { (d.metric) }
            td.first { (ours) }
            td.published { (published) }
            td { (d.state.word()) }
        }
    }
}
