//! The section of an experiment: its claims, then tables and charts of one variant at a time.
//!
//! Variants are chosen by radio buttons, whose rules are in the style sheet. No script is needed,
//! the arrow keys work, and the chosen variant is printed.

use maud::{Markup, html};

use super::chart::Figure;
use super::{claims, number, overview, table, variants};
use experiment::metric::Metric;
use experiment::row::RowLabel;
use results::summary::{Summary, Variant};

/// Number of letters above which a text is folded.
const LONG: usize = 240;

/// Number of variants above which they are chosen from a list, and shown together in tables.
const MANY: usize = 16;
/// Most of these tables.
const MATRICES: usize = 4;

/// An experiment with its figures.
pub(super) struct Section<'a> {
    pub(super) summary: &'a Summary,
    /// Name that is unique in the report, valid in links and file names.
    pub(super) anchor: String,
    pub(super) charts: Vec<Vec<DrawnFigure>>,
}

/// A figure in its widths.
pub(super) struct DrawnFigure {
    /// The figure for a column and for its file.
    pub(super) figure: Figure,
    /// The figure for the full width of a page, if it gains by that.
    pub(super) across: Option<Figure>,
    /// The figure for its file, if the chart has a size on paper.
    pub(super) printed: Option<Figure>,
    pub(super) file: String,
}

impl Section<'_> {
    /// Returns the name of its page, if it is one of several.
    pub(super) fn page(&self) -> String {
        format!("{}.html", self.anchor)
    }

    /// Returns the id of a variant's button, which is also the class of what it shows.
    fn tab(&self, variant: usize) -> String {
        format!("v-{}-{variant}", self.anchor)
    }
}

/// Returns an experiment's title, or its name if it has none.
pub(super) fn title(summary: &Summary) -> String {
    let text = if summary.title.is_empty() { &summary.experiment } else { &summary.title };
    format!("{text}{}", summary.world.title_suffix())
}

/// Chooses singular or plural.
pub(super) fn plural(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

/// Draws an experiment, with its title unless the page has it already.
pub(super) fn draw(section: &Section<'_>, with_title: bool) -> Markup {
    let s = section.summary;
    html! {
        section id=(section.anchor) {
            @if with_title { h2 { (title(s)) " " span.id { (s.experiment) } } }
            @if !s.source.is_empty() { p.source { "Source: " (s.source) } }
            (warning(s))
            @if !s.claims.is_empty() { h3 { "Claims" } (claims::draw(&s.claims)) }
            (folded("How to read it", &s.note))
            @if s.variants.is_empty() { p.empty { "No results." } }
            (tabs(section))
            (folded("Why this reference", &s.why_reference))
        }
    }
}

/// Draws a text, folded under its name if it is long.
fn folded(name: &str, text: &str) -> Markup {
    html! {
        @if text.len() > LONG {
            details.paper { summary { (name) } p.note { (text) } }
        } @else if !text.is_empty() {
            p.note { b { (name) ": " } (text) }
        }
    }
}

/// Warns of invalid rows. Charts cannot mark their lines.
fn warning(summary: &Summary) -> Markup {
    let rows = summary.variants.iter().flat_map(|v| &v.rows);
    let invalid = rows.filter(|row| !row.is_trusted()).count();
    html! {
        @if invalid > 0 {
            p.note.warning {
                b { (invalid) (plural(invalid, " row is", " rows are")) " not valid: " }
                "none of their runs passed its audit. Tables and charts show them, but no claim is judged by them."
            }
        }
    }
}

fn tabs(section: &Section<'_>) -> Markup {
    let all = &section.summary.variants;
    let several = all.len() > 1;
    let first = all.iter().position(|v| v.reference).unwrap_or(0);
    let id = |i: usize| section.tab(i);
    let has_published = has_published(section.summary);
    html! {
        div.tabs {
            @if several {
                @for (i, variant) in all.iter().enumerate() {
                    input.tab type="radio" name={ (section.anchor) "-variant" } id=(id(i)) checked=[(i == first).then_some("")]
                        aria-label=(variant.name);
                }
                (bar(all, &id))
            }
            @if all.len() > MANY { (matrices(section.summary)) }
            div.body {
                // Published numbers are to be compared, so the table comes first. Otherwise a chart
                // says more.
                @if !has_published { (charts(section)) }
                @for (i, variant) in all.iter().enumerate() {
                    div class=[several.then(|| format!("v {}", id(i)))] { (results(section, variant, i)) }
                }
                @if has_published { (charts(section)) }
            }
        }
    }
}

/// Reports whether the source published numbers that stand beside ours.
pub(super) fn has_published(summary: &Summary) -> bool {
    let rows = summary.variants.iter().flat_map(|v| &v.rows);
    rows.flat_map(|row| row.cells.values()).any(|cell| cell.published.is_some())
}

fn charts(section: &Section<'_>) -> Markup {
    html! { div.charts { @for chart in &section.charts { (figures(section, chart)) } } }
}

/// Draws the labels of the radio buttons, after the keys that all variants share. Many are folded,
/// and the script makes a list to select from.
fn bar(all: &[Variant], id: &dyn Fn(usize) -> String) -> Markup {
    let (keys, values) = variants::keys_and_values(&all.iter().map(|v| v.name.as_str()).collect::<Vec<_>>());
    let keys = if keys.is_empty() { "Variant" } else { &keys };
    let has_others = all.iter().any(|v| !v.reference);
    let labels = html! {
        @for (i, (variant, values)) in all.iter().zip(values).enumerate() {
            label class=(id(i)) for=(id(i)) {
                (values.join(", ")) @if variant.reference && has_others { " " span.star title="reference" { "★" } }
            }
        }
    };
    html! {
        @if all.len() > MANY {
            details.bar data-choice { summary { (all.len()) " variants: " (keys) } div { (labels) } }
        } @else {
            div.bar { span.keys { (keys) } (labels) }
        }
    }
}

/// Draws a table for each of the first metrics: a row for each variant, a column for each row.
fn matrices(summary: &Summary) -> Markup {
    let (keys, values) =
        variants::keys_and_values(&summary.variants.iter().map(|v| v.name.as_str()).collect::<Vec<_>>());
    let mut labels: Vec<&RowLabel> = Vec::new();
    for row in summary.variants.iter().flat_map(|variant| &variant.rows) {
        if !labels.contains(&&row.label) {
            labels.push(&row.label);
        }
    }
    let first = if keys.is_empty() { "Variant".to_owned() } else { keys };
    let head: Vec<String> = std::iter::once(first).chain(labels.iter().map(ToString::to_string)).collect();
    let rows = |metric: &Metric| {
        let line = |(variant, values): (&Variant, &Vec<String>)| {
            let row = |label: &&RowLabel| variant.rows.iter().find(|row| row.label == **label);
            let cell = |label| row(label).and_then(|row| row.cells.get(metric));
            let shown = labels.iter().map(|label| match cell(label) {
                Some(cell) => number::fixed(cell.value(), metric.decimals(cell.value())),
                None => "–".to_owned(),
            });
            std::iter::once(values.join(", ")).chain(shown).collect()
        };
        summary.variants.iter().zip(&values).map(line).collect::<Vec<_>>()
    };
    html! {
        @for (i, metric) in summary.metrics.iter().take(MATRICES).enumerate() {
            details.matrix open[i == 0] {
                summary { "All " (summary.variants.len()) " variants: " (metric) @if !metric.unit().is_empty() { " (" (metric.unit()) ")" } }
                (overview::table("", &head, &rows(metric), true))
            }
        }
    }
}

/// Returns style rules that show the chosen variant and highlight its label.
pub(super) fn rules(section: &Section<'_>) -> String {
    let rule = |i: usize| {
        let id = section.tab(i);
        format!(
            "#{id}:checked~.body .{id}{{display:block}}#{id}:checked~.bar .{id}{{background:var(--ink);color:var(--paper)}}\
             #{id}:focus-visible~.bar .{id}{{outline:2px solid var(--link);outline-offset:2px}}\n"
        )
    };
    (0..section.summary.variants.len()).map(rule).collect()
}

fn results(section: &Section<'_>, variant: &Variant, index: usize) -> Markup {
    let s = section.summary;
    html! {
        h3 {
            @if variant.name.is_empty() { "Results" } @else { "Results with " code { (variant.name) } }
            @if variant.reference && s.variants.iter().any(|other| !other.reference) { " (reference)" }
        }
        (table::draw(variant, &s.metrics, &format!("{}-{index}", section.anchor)))
        (biases(variant))
    }
}

/// Draws the biased columns.
fn biases(variant: &Variant) -> Markup {
    html! {
        @for bias in &variant.biases {
            p.note {
                "Every " b { (bias.metric) } " is biased: " (number::percent(bias.mean)) " % on average ("
                (number::percent(bias.range.0)) " to " (number::percent(bias.range.1)) "). "
                @match &bias.reason { Some(reason) => { (reason) } None => { span.no { "Unexplained." } } }
                @if bias.open { " (cause unknown)" }
            }
        }
    }
}

/// Draws a chart: one figure per variant, of which the chosen one shows, or one for all.
fn figures(section: &Section<'_>, figures: &[DrawnFigure]) -> Markup {
    let Some(first) = figures.first() else { return Markup::default() };
    let several = section.summary.variants.len() > 1;
    html! {
        div.wide[first.across.is_some()] {
            h3 { (first.figure.title) }
            @for drawn in figures {
                @let index = section.summary.variants.iter().position(|v| v.name == drawn.figure.variant);
                @let tab = index.filter(|_| several && !drawn.figure.variant.is_empty());
                (figure(drawn, tab.map(|i| format!("v {}", section.tab(i)))))
            }
        }
    }
}

/// Draws a chart on a page without a choice of variants: the reference's figure, or the first.
pub(super) fn picture(section: &Section<'_>, figures: &[DrawnFigure]) -> Markup {
    picture_of(figures, section.summary.variants.iter().find(|v| v.reference).map(|v| v.name.as_str()))
}

/// Draws the figure of a variant, or the first.
pub(super) fn picture_of(figures: &[DrawnFigure], variant: Option<&str>) -> Markup {
    let wanted = figures.iter().find(|drawn| Some(drawn.figure.variant.as_str()) == variant);
    html! {
        @if let Some(drawn) = wanted.or(figures.first()) {
            div.wide[drawn.across.is_some()] { h3 { (drawn.figure.title) } (figure(drawn, None)) }
        }
    }
}

/// Draws a figure that is not one of an experiment's charts.
pub(super) fn only_figure(figure: &Figure) -> Markup {
    html! {
        div {
            h3 { (figure.title) }
            figure { figcaption { a.file href=(figure.file()) { "SVG" } } (figure.inline()) }
        }
    }
}

fn figure(drawn: &DrawnFigure, class: Option<String>) -> Markup {
    html! {
        figure class=[class] {
            figcaption {
                @if !drawn.figure.variant.is_empty() { code { (drawn.figure.variant) } " " }
                a.file href=(drawn.file) { "SVG" }
            }
            @match &drawn.across {
                Some(across) => { div.across { (across.inline()) } div.column { (drawn.figure.inline()) } }
                None => (drawn.figure.inline()),
            }
        }
    }
}
