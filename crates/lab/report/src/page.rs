//! HTML pages: one per experiment, and an overview if there are several. Each page is complete in
//! itself.

use std::collections::BTreeSet;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::section::{Section, plural};
use super::{answer, claims, colours, section};
use crate::Block;
use results::ledger::Outliers;
use results::summary::{Results, Verdict};

/// Returns the page of the only experiment, or the overview of several. An answer comes first.
pub(super) fn index(
    heading: &str,
    answer: &[Block],
    experiments: &[Results],
    sections: &[Section<'_>],
) -> Markup {
    let only = sections.first().filter(|_| sections.len() == 1 && answer.is_empty());
    let heading = only.map_or_else(|| heading.to_owned(), |only| section::title(only.summary));
    let body = html! {
        header {
            h1 { (heading) @if let Some(only) = only { " " span.id { (only.summary.experiment) } } }
            @if is_compared(experiments) {
                (strip(experiments))
                p { a href="ledger.html" { "Ledger: claims and numbers by source" } }
            }
        }
        main {
            @match sections {
                several if !answer.is_empty() => (answer::draw(&heading, answer, several)),
                [only] => (section::draw(only, false)),
                [] => p.empty { "No experiments." },
                several => (overview(several)),
            }
        }
        (footer())
    };
    let rules = if let [only] = sections { section::rules(only) } else { String::new() };
    frame(&heading, &rules, &body)
}

/// Returns the page of one of several experiments.
pub(super) fn experiment(sections: &[Section<'_>], index: usize) -> Markup {
    let section = &sections[index];
    let other = |i: Option<usize>| i.and_then(|i| sections.get(i));
    let body = html! {
        header.way {
            a href="index.html" { "All experiments" }
            @if let Some(before) = other(index.checked_sub(1)) { a rel="prev" href=(before.page()) { "‹ " (before.summary.experiment) } }
            @if let Some(after) = other(Some(index + 1)) { a rel="next" href=(after.page()) { (after.summary.experiment) " ›" } }
        }
        main { (section::draw(section, true)) }
        (footer())
    };
    frame(&section::title(section.summary), &section::rules(section), &body)
}

fn footer() -> Markup {
    html! {
        footer {
            p {
                "Ackclock " (env!("CARGO_PKG_VERSION")) ". Each chart is also an SVG file beside this page."
                span.hint {
                    " In a chart: point to read values, drag to zoom in time, double-click to reset, click a legend entry to hide \
                     its line. Keyboard: arrow keys, + and −, 0."
                }
            }
        }
    }
}

/// Returns a page with this body and its own style rules, for light and dark mode.
pub(super) fn frame(heading: &str, rules: &str, body: &Markup) -> Markup {
    let dark = dark_rules(&body.0);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (heading) }
                style { (PreEscaped(include_str!("style.css"))) (PreEscaped(rules)) (PreEscaped(dark)) }
            }
            body {
                (body)
                script type="module" { (PreEscaped("//<![CDATA[\n")) (PreEscaped(include_str!("script.js"))) (PreEscaped("//]]>")) }
            }
        }
    }
}

/// Reports whether any experiment has claims or published numbers.
fn is_compared(experiments: &[Results]) -> bool {
    let is_claimed = experiments.iter().any(|e| !e.summary.claims.is_empty());
    is_claimed
        || Outliers::count(experiments.iter().map(|e| &e.summary)).all > 0
        || experiments.iter().any(|e| section::has_published(&e.summary))
}

/// Draws the most important counts at the top.
fn strip(experiments: &[Results]) -> Markup {
    let counts = claims::count(experiments.iter().flat_map(|e| &e.summary.claims));
    let outliers = Outliers::count(experiments.iter().map(|e| &e.summary));
    html! {
        ul.strip {
            @if experiments.len() > 1 { li { b { (experiments.len()) } " experiments" } }
            @for (verdict, count) in counts {
                li class=[(count > 0).then_some(claims::words(verdict).2)] {
                    b { (count) } span { (claims::words(verdict).0) " " (card(verdict, count)) }
                }
            }
            @if experiments.iter().any(|e| section::has_published(&e.summary)) {
                li {
                    b { (outliers.open) }
                    span { "of " (outliers.all) " numbers that differ by more than 10 % have no known cause; " (outliers.unexplained) " have no explanation" @if outliers.path_unknown > 0 { "; " (outliers.path_unknown) " are of an unknown path" } }
                }
            }
        }
    }
}

fn card(verdict: Verdict, count: usize) -> &'static str {
    match verdict {
        Verdict::Holds => plural(count, "claim holds", "claims hold"),
        Verdict::Partly => plural(count, "claim holds in part", "claims hold in part"),
        Verdict::WithinSpread => plural(count, "claim within the spread", "claims within the spread"),
        Verdict::Missed => plural(count, "claim missed", "claims missed"),
        Verdict::NotJudged => plural(count, "claim not judged", "claims not judged"),
    }
}

/// Draws the verdicts of all experiments with links to their pages.
fn overview(sections: &[Section<'_>]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Experiments" {
            table.overview {
                thead {
                    tr { th { "experiment" } th { "verdicts" } th { "off by > 10 %" } th { "cause unknown" } th { "path unknown" } th { "charts" } }
                }
                tbody {
                    @for s in sections {
                        @let outliers = Outliers::count([s.summary]);
                        tr {
                            th scope="row" {
                                a href=(s.page()) { (section::title(s.summary)) } " " span.id { (s.summary.experiment) }
                            }
                            td { (verdicts(s)) }
                            td.count { (outliers.all) }
                            td.count { (outliers.open) }
                            td.count { (outliers.path_unknown) }
                            td.count { (s.charts.len()) }
                        }
                    }
                }
            }
        }
    }
}

fn verdicts(section: &Section<'_>) -> Markup {
    html! {
        @for (verdict, count) in claims::count(section.summary.claims.iter()) {
            @if count > 0 {
                span class={ "badge " (claims::words(verdict).2) } title=(card(verdict, count)) {
                    (claims::words(verdict).0) " " (count)
                }
            }
        }
        @if section.summary.claims.is_empty() { span.empty { "no claims" } }
    }
}

/// Returns rules that replace each chart colour in dark mode. Only colours start with `="#`: in
/// text, the template library escapes every `"` as `&quot;`.
fn dark_rules(body: &str) -> String {
    let colours: BTreeSet<&str> =
        body.split("=\"#").skip(1).filter_map(|rest| rest.get(..6)).filter(|c| is_hex(c)).collect();
    let rule = |c: &str| {
        let dark = colours::dark(&format!("#{c}"));
        format!(".chart [fill=\"#{c}\"]{{fill:{dark}}}.chart [stroke=\"#{c}\"]{{stroke:{dark}}}\n")
    };
    let rules: String = colours.into_iter().map(rule).collect();
    format!("@media screen and (prefers-color-scheme: dark) {{\n{rules}}}\n")
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_hexdigit())
}
