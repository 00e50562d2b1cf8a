//! The page: heading, summary, contents, and a section per experiment.

use std::collections::BTreeSet;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::chart::Figure;
use super::{claims, number, palette, table};
use results::summary::{Results, Summary, Variant, Verdict};

/// An experiment with its drawn charts.
pub(super) struct Section<'a> {
    /// Its tables, claims, texts.
    pub(super) summary: &'a Summary,
    /// Unique in the page, fit for a link.
    pub(super) anchor: String,
    /// The figures of each chart, with the names of their files.
    pub(super) charts: Vec<Vec<(Figure, String)>>,
}

/// The whole page, which needs nothing beside itself.
pub(super) fn draw(heading: &str, experiments: &[Results], sections: &[Section<'_>]) -> Markup {
    let body = html! {
        header {
            h1 { (heading) }
            (strip(experiments))
            p { a href="ledger.html" { "Ledger of claims and numbers by source" } }
        }
        @if sections.len() > 1 { (contents(sections)) }
        main { @for s in sections { (section(s)) } }
        footer { p { "Kneepoint " (env!("CARGO_PKG_VERSION")) ". Each chart is also an SVG file beside this page." } }
    };
    frame(heading, &body)
}

/// A page with this body, in the colours of the reader's choice.
pub(super) fn frame(heading: &str, body: &Markup) -> Markup {
    let colours = dark_rules(&body.0);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (heading) }
                style { (PreEscaped(include_str!("style.css"))) (PreEscaped(colours)) }
            }
            body { (body) }
        }
    }
}

/// The numbers that matter, at the top.
fn strip(experiments: &[Results]) -> Markup {
    let counts = claims::count(experiments.iter().flat_map(|e| &e.summary.claims));
    let (far, open, bare) = table::count_far(experiments.iter().flat_map(|e| &e.summary.variants));
    html! {
        ul.strip {
            li { b { (experiments.len()) } (plural(experiments.len(), " experiment", " experiments")) }
            @for (verdict, count) in counts {
                li class=[(count > 0).then_some(claims::words(verdict).2)] {
                    b { (count) } span { (claims::words(verdict).0) " " (card(verdict, count)) }
                }
            }
            li { b { (far) } span { "differences beyond 10 %; cause open: " (open) ", no reason: " (bare) } }
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

fn plural(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

fn contents(sections: &[Section<'_>]) -> Markup {
    html! {
        nav aria-label="Contents" {
            h2 { "Contents" }
            ol {
                @for s in sections {
                    li {
                        a href={ "#" (s.anchor) } { (title(s.summary)) }
                        " " span.id { (s.summary.experiment) }
                        span.badges {
                            @for (verdict, count) in claims::count(s.summary.claims.iter()) {
                                @if count > 0 {
                                    span class={ "badge " (claims::words(verdict).2) } title=(card(verdict, count)) {
                                        (claims::words(verdict).0) " " (count)
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn title(summary: &Summary) -> Markup {
    let text = if summary.title.is_empty() { &summary.experiment } else { &summary.title };
    html! { (text) (summary.world.title_end()) }
}

fn section(section: &Section<'_>) -> Markup {
    let s = section.summary;
    html! {
        section id=(section.anchor) {
            h2 { (title(s)) " " span.id { (s.experiment) } }
            @if !s.source.is_empty() { p.source { "Source: " (s.source) } }
            @if !s.note.is_empty() { p.note { (s.note) } }
            (warning(s))
            (tables(section))
            @if !s.claims.is_empty() { h3 { "Claims" } (claims::draw(&s.claims)) }
            div.charts { @for chart in &section.charts { (figures(chart)) } }
        }
    }
}

/// What charts cannot say of their lines.
fn warning(summary: &Summary) -> Markup {
    let rows = summary.variants.iter().flat_map(|v| &v.rows);
    let invalid = rows.filter(|row| !row.is_trusted()).count();
    html! {
        @if invalid > 0 {
            p.note.warning {
                b { (invalid) (plural(invalid, " row is", " rows are")) " not valid: " }
                "no run of theirs passed its own audit. Their numbers and their lines in the charts show what happened, and no \
                 claim is judged by them."
            }
        }
    }
}

fn tables(section: &Section<'_>) -> Markup {
    let s = section.summary;
    html! {
        @if s.variants.is_empty() { p.empty { "No results." } }
        @for (i, variant) in s.variants.iter().enumerate() {
            h3 {
                @if variant.name.is_empty() { "Results" } @else { "Results with " code { (variant.name) } }
                @if variant.reference && s.variants.iter().any(|other| !other.reference) { " (reference)" }
            }
            (table::draw(variant, &s.metrics, &format!("{}-{i}", section.anchor)))
            (biases(variant))
        }
        @if !s.why_reference.is_empty() { p.note { b { "Reference: " } (s.why_reference) } }
    }
}

/// Columns that are off as a whole.
fn biases(variant: &Variant) -> Markup {
    html! {
        @for bias in &variant.biases {
            p.note {
                "Every " b { (bias.metric) } " is off to one side: " (number::percent(bias.mean)) " % in the mean ("
                (number::percent(bias.range.0)) " to " (number::percent(bias.range.1)) "). "
                @match &bias.reason { Some(reason) => { (reason) } None => { span.no { "Unexplained." } } }
                @if bias.open { " (open)" }
            }
        }
    }
}

/// A chart: its variants side by side. A chart of one variant leaves room for the next beside it.
fn figures(figures: &[(Figure, String)]) -> Markup {
    let Some((first, _)) = figures.first() else { return Markup::default() };
    html! {
        div.wide[figures.len() > 1] {
            h3 { (first.title) }
            div.figures {
                @for (figure, file) in figures {
                    figure {
                        figcaption {
                            @if !figure.variant.is_empty() { code { (figure.variant) } " " }
                            a.file href=(file) { "SVG" }
                        }
                        (figure.inline())
                    }
                }
            }
        }
    }
}

/// Replaces each colour of the charts on the dark page. Colours are the only values that start so: in texts, the
/// template library has turned every `"` into `&quot;`.
fn dark_rules(body: &str) -> String {
    let colours: BTreeSet<&str> =
        body.split("=\"#").skip(1).filter_map(|rest| rest.get(..6)).filter(|c| is_hex(c)).collect();
    let rule = |c: &str| {
        let dark = palette::dark(&format!("#{c}"));
        format!(".chart [fill=\"#{c}\"]{{fill:{dark}}}.chart [stroke=\"#{c}\"]{{stroke:{dark}}}\n")
    };
    let rules: String = colours.into_iter().map(rule).collect();
    format!("@media screen and (prefers-color-scheme: dark) {{\n{rules}}}\n")
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_hexdigit())
}
