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
                p.note { "Numbers of the reference variants. Cause unknown: it differs by more than 10 %, and the reason is not known." }
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
    html! {
        div.scroll tabindex="0" role="region" aria-label="Claims by source" {
            table.numbers {
                thead {
                    tr {
                        th { "source" }
                        @for head in ["claims", "hold", "partly", "within the spread", "missed", "not judged", "cause unknown"] {
                            th { (head) }
                        }
                    }
                }
                tbody {
                    @for Source { name, claims: c, .. } in sources {
                        tr {
                            th scope="row" { (name) }
                            @for count in [c.all(), c.holds, c.partly, c.within_spread, c.missed, c.not_judged, c.open] {
                                td.first { (count) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cells(sources: &[Source]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Numbers by source" {
            table.numbers {
                thead {
                    tr {
                        th { "source" }
                        th { "numbers" }
                        @for limit in LIMITS { th { "within " (limit) " %" } }
                        th { "cause unknown" }
                    }
                }
                tbody {
                    @for Source { name, cells, .. } in sources {
                        tr {
                            th scope="row" { (name) }
                            td.first { (cells.all) }
                            @for count in cells.within { td.first { (count) } }
                            td.first { (cells.open) }
                        }
                    }
                }
            }
        }
    }
}

fn differences(title: &str, source: &str, list: &[Difference]) -> Markup {
    html! {
        section {
            h2 { (title) ": " (source) }
            div.scroll tabindex="0" role="region" aria-label={ (title) ": " (source) } {
                table.numbers {
                    thead {
                        tr {
                            @for head in ["experiment", "variant", "row", "metric", "ours", "published", "state"] {
                                th { (head) }
                            }
                        }
                    }
                    tbody { @for difference in list { (line(difference)) } }
                }
            }
        }
    }
}

fn line(d: &Difference) -> Markup {
    let shown = |value: f64| number::fixed(value, d.metric.decimals(value));
    html! {
        tr {
            th scope="row" { (d.experiment) }
            td { (d.variant) }
            td { (d.row) }
            td { (d.metric) }
            td.first { (shown(d.ours)) }
            td.published { (shown(d.published)) }
            td { (d.state.word()) }
        }
    }
}
