//! The table of a variant: ours, published, difference, and the reasons for differences.

use maud::{Markup, html};

use super::chart::text_width;
use super::{gaps, number};
use experiment::metric::Metric;
use results::summary::{Cell, Row, Trust, Variant};

/// Relative difference above which a cell is marked.
const TOLERANCE: f64 = 0.10;

/// Widths in pixels: a table on a page of 1300 pixels, the text size, the widest row label, the
/// space around a number.
const WIDTH: f64 = 1050.0;
const TEXT: f64 = 13.0;
const LABEL: f64 = 240.0;
const GAP: f64 = 8.0;

/// The columns of one metric.
struct Column<'a> {
    metric: &'a Metric,
    words: number::MetricText,
    has_spread: bool,
    has_published: bool,
    published_decimals: usize,
}

impl<'a> Column<'a> {
    fn new(variant: &Variant, metric: &'a Metric) -> Self {
        let cells = || variant.rows.iter().filter_map(|r| r.cells.get(metric));
        let words = number::metric(metric);
        Self {
            metric,
            has_spread: cells().any(has_spread),
            has_published: cells().any(|c| c.published.is_some()),
            published_decimals: number::printed_decimals(
                cells().filter_map(|c| c.published),
                number::MOST_DECIMALS,
            ),
            words,
        }
    }

    /// Estimates the width on the page, in pixels.
    fn width(&self, variant: &Variant) -> f64 {
        let cells = || variant.rows.iter().filter_map(|r| r.cells.get(self.metric));
        let widest = |texts: &mut dyn Iterator<Item = String>, least: &str| {
            texts.map(|t| text_width(&t, TEXT)).fold(text_width(least, TEXT), f64::max) + GAP
        };
        let decimals = |c: &Cell| number::decimals(self.metric, c.value(), c.spread);
        let ours = widest(&mut cells().map(|c| number::fixed(c.value(), decimals(c))), "ours");
        let spreads =
            cells().filter_map(|c| spread(c).map(|s| format!("± {}", number::fixed(s, decimals(c)))));
        let spread =
            if self.has_spread { widest(&mut spreads.collect::<Vec<_>>().into_iter(), "") } else { 0.0 };
        let published =
            if self.has_published { text_width("published diff. %", TEXT) + 2.0 * GAP } else { 0.0 };
        let head = text_width(&format!("{} {}", self.words.label, self.words.unit), TEXT) + GAP;
        head.max(ours + spread + published) + GAP
    }

    fn span(&self) -> usize {
        1 + usize::from(self.has_spread) + if self.has_published { 3 } else { 0 }
    }
}

fn has_spread(cell: &Cell) -> bool {
    spread(cell).is_some()
}

/// Returns the deviation if there is one to show.
fn spread(cell: &Cell) -> Option<f64> {
    cell.spread.filter(|spread| spread.is_finite() && *spread > 0.0)
}

/// Difference of a cell from the published value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Difference {
    /// Nothing is published.
    None,
    /// Within the tolerance.
    Near(f64),
    /// Beyond the tolerance. NaN if ours is NaN, infinite if the published value is zero and ours
    /// is not.
    Far(f64),
}

impl Difference {
    pub(super) fn from_cell(cell: &Cell) -> Self {
        let Some(published) = cell.published else { return Self::None };
        match cell.difference() {
            Some(d) if d.abs() <= TOLERANCE => Self::Near(d),
            Some(d) => Self::Far(d),
            None if cell.value() == published => Self::Near(0.0),
            None => Self::Far(cell.value() / 0.0),
        }
    }
}

/// Reasons of a table, in the order of their numbers.
#[derive(Default)]
struct Notes<'a>(Vec<&'a str>);

impl<'a> Notes<'a> {
    fn number(&mut self, reason: &'a str) -> usize {
        let index = self.0.iter().position(|r| *r == reason).unwrap_or_else(|| {
            self.0.push(reason);
            self.0.len() - 1
        });
        index + 1
    }
}

/// Draws the table with its footnotes. `anchor` is unique in the page.
pub(super) fn draw(variant: &Variant, metrics: &[Metric], anchor: &str) -> Markup {
    if variant.rows.is_empty() || metrics.is_empty() {
        return html! { p.empty { "No rows." } };
    }
    let columns: Vec<_> = metrics.iter().map(|m| Column::new(variant, m)).collect();
    let mut notes = Notes::default();
    let parts: Vec<Markup> =
        parts(variant, &columns).into_iter().map(|part| part_of(variant, part, &mut notes, anchor)).collect();
    html! {
        @for part in parts { (part) }
        @for gap in gaps::of_rows(&variant.rows.iter().collect::<Vec<_>>(), metrics) { p.empty { (gap) } }
        @if !notes.0.is_empty() { (footnotes(&notes, anchor)) }
        (audits(variant))
    }
}

/// Splits the columns into groups that fit on a page.
fn parts<'c, 'a>(variant: &Variant, columns: &'c [Column<'a>]) -> Vec<&'c [Column<'a>]> {
    let labels = variant.rows.iter().map(|row| text_width(row.label.as_str(), TEXT)).fold(0.0, f64::max);
    let space = WIDTH - labels.min(LABEL) - 16.0;
    let (mut parts, mut start, mut taken) = (Vec::new(), 0, 0.0);
    for (i, column) in columns.iter().enumerate() {
        let width = column.width(variant);
        if i > start && taken + width > space {
            parts.push(&columns[start..i]);
            (start, taken) = (i, 0.0);
        }
        taken += width;
    }
    parts.push(&columns[start..]);
    parts
}

fn part_of<'a>(variant: &'a Variant, columns: &[Column<'_>], notes: &mut Notes<'a>, anchor: &str) -> Markup {
    let rows: Vec<Markup> = variant
        .rows
        .iter()
        .map(|row| {
            let cells: Vec<Markup> =
                columns.iter().map(|c| cells(c, row.cells.get(c.metric), notes, anchor)).collect();
            html! {
                tr.invalid[!row.is_trusted()] {
                    th scope="row" { span.label title=(row.label) { (row.label) } (mark(row)) }
                    @for cell in cells { (cell) }
                }
            }
        })
        .collect();
    let first = columns.first().map_or("", |column| column.words.label.as_str());
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Table " (variant.name) " from " (first) } {
            table.numbers {
                (head(columns))
                tbody { @for row in rows { (row) } }
            }
        }
    }
}

/// Marks a row with invalid runs.
fn mark(row: &Row) -> Markup {
    let remark = row.trust.as_ref().and_then(Trust::remark);
    html! {
        @if let Some(remark) = remark {
            " " span.badge.known[row.is_trusted()].unexpected[!row.is_trusted()] title=(remark) {
                @if row.is_trusted() { "partly valid" } @else { "not valid" }
            }
        }
    }
}

/// Lists why runs are invalid.
fn audits(variant: &Variant) -> Markup {
    let remarks: Vec<(&Row, String)> =
        variant.rows.iter().filter_map(|row| Some((row, row.trust.as_ref()?.remark()?))).collect();
    html! {
        @if !remarks.is_empty() {
            ul.audits { @for (row, remark) in &remarks { li { b { (row.label) } ": " (remark) } } }
        }
    }
}

fn head(columns: &[Column<'_>]) -> Markup {
    let two = columns.iter().any(|c| c.has_published);
    html! {
        thead {
            tr {
                th rowspan=[two.then_some(2)] {}
                @for c in columns {
                    th.metric colspan=(c.span()) scope="colgroup" title=(c.words.doc) {
                        (c.words.label) @if !c.words.unit.is_empty() { " " span.unit { (c.words.unit) } }
                    }
                }
            }
            @if two { tr.sub { @for c in columns { (sub_head(c)) } } }
        }
    }
}

fn sub_head(column: &Column<'_>) -> Markup {
    html! {
        th.first.ours colspan=(1 + usize::from(column.has_spread)) { "ours" }
        @if column.has_published {
            th { "published" }
            th { "diff. %" }
            th.mark {}
        }
    }
}

fn cells<'a>(column: &Column<'_>, cell: Option<&'a Cell>, notes: &mut Notes<'a>, anchor: &str) -> Markup {
    let Some(cell) = cell else {
        return html! { td.first.none { "–" } @if column.span() > 1 { td colspan=(column.span() - 1) {} } };
    };
    let decimals = number::decimals(column.metric, cell.value(), cell.spread);
    html! {
        td.first { (number::fixed(cell.value(), decimals)) }
        @if column.has_spread {
            td.spread { @if let Some(spread) = spread(cell) { "± " (number::fixed(spread, decimals)) } }
        }
        @if column.has_published {
            td.published { @if let Some(p) = cell.published { (number::fixed(p, column.published_decimals)) } }
            (difference(cell, notes, anchor))
        }
    }
}

/// Draws the difference and its mark: colour, weight, and a footnote's number or a word.
fn difference<'a>(cell: &'a Cell, notes: &mut Notes<'a>, anchor: &str) -> Markup {
    match Difference::from_cell(cell) {
        Difference::None => html! { td {} td.mark {} },
        Difference::Near(d) => html! { td.diff { (number::percent(d)) } td.mark {} },
        Difference::Far(d) => {
            let text = if d.is_infinite() { "from 0".to_owned() } else { number::percent(d) };
            match cell.reason.as_deref() {
                Some(reason) => {
                    let n = notes.number(reason);
                    html! {
                        td.diff.far { (text) }
                        td.mark.far { a href={ "#" (anchor) "-note-" (n) } title=(reason) { (n) } }
                    }
                }
                None => html! { td.diff.far.bare { (text) small { "unexplained" } } td.mark.far.bare {} },
            }
        }
    }
}

fn footnotes(notes: &Notes<'_>, anchor: &str) -> Markup {
    html! {
        details.paper {
            summary { (notes.0.len()) @if notes.0.len() == 1 { " reason for differences" } @else { " reasons for differences" } }
            ol.notes {
                @for (i, reason) in notes.0.iter().enumerate() { li id={ (anchor) "-note-" (i + 1) } { (reason) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(mean: f64, published: Option<f64>) -> Cell {
        Cell { mean, published, ..Cell::default() }
    }

    #[test]
    fn a_difference_is_marked_beyond_ten_percent() {
        assert_eq!(Difference::from_cell(&cell(1.0, None)), Difference::None);
        assert!(matches!(Difference::from_cell(&cell(1.09, Some(1.0))), Difference::Near(_)));
        assert!(matches!(Difference::from_cell(&cell(0.89, Some(1.0))), Difference::Far(_)));
        assert_eq!(Difference::from_cell(&cell(0.0, Some(0.0))), Difference::Near(0.0));
        assert_eq!(Difference::from_cell(&cell(0.1, Some(0.0))), Difference::Far(f64::INFINITY));
        assert!(
            matches!(Difference::from_cell(&cell(f64::NAN, Some(1.0))), Difference::Far(d) if d.is_nan())
        );
        assert!(matches!(Difference::from_cell(&cell(1.0, Some(f64::NAN))), Difference::Far(_)));
    }
}
