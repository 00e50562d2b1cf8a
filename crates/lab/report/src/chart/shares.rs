//! Shares of a metric among the flows of a run: one bar per row, kind by kind, with the largest
//! flow of each kind first.

use experiment::metric::Metric;
use experiment::row::RowLabel;
use maud::{Markup, html};

use super::axis::{Scale, is_drawable};
use super::frame::{Frame, Layout};
use super::kinds::{Kind, Kinds, distinct};
use super::runs::Run;
use super::svg::{self, Anchor, Figure, SMALL, TEXT};
use super::{Source, hatching, wanted};
use crate::colours::{INK, MUTED, PAPER};
use crate::number;

const LEFT: f64 = 12.0;
const RIGHT: f64 = 14.0;
/// Height of a row, of its words and of its bar.
const ROW: (f64, f64, f64) = (60.0, 23.0, 22.0);
/// Length of the fair-share marks: between kinds, and between flows.
const MARKS: (f64, f64) = (4.0, 4.0);
/// Smallest distance of marks and lines. Closer ones are left out, because they would be a grey
/// area.
const CLOSEST: f64 = 2.0;

/// The first repetition of a row.
struct Division<'a> {
    row: &'a str,
    /// Values of the flows of each kind, largest first.
    kinds: Vec<(Kind<'a>, Vec<f64>)>,
}

/// Draws one figure per variant.
pub(super) fn draw(source: &Source<'_>, title: &str, rows: &[RowLabel], metric: &Metric) -> Vec<Figure> {
    let variants = &source.results.summary.variants;
    let divisions =
        |v| wanted(v, rows).into_iter().filter_map(|row| division(source, &v.name, row, metric)).collect();
    let shown: Vec<Vec<Division<'_>>> = variants.iter().map(divisions).collect();
    let all = shown.iter().flatten().flat_map(|run| &run.kinds);
    let kinds = Kinds::new(source, all.map(|(kind, _)| *kind));
    let layout = source.layout(true);
    let each = variants.iter().zip(&shown);
    each.map(|(v, runs)| figure(layout, (title, &v.name), runs, &kinds, metric)).collect()
}

fn division<'a>(
    source: &'a Source<'a>,
    variant: &str,
    row: &'a str,
    metric: &Metric,
) -> Option<Division<'a>> {
    let run = Run::first(source, variant, row)?;
    let values = |kind: Kind<'a>| {
        let of_kind = run.values(metric.as_str()).filter(|(of, _)| *of == kind).map(|(_, value)| value);
        let mut values: Vec<f64> = of_kind.filter(|v| is_drawable(*v) && *v >= 0.0).collect();
        values.sort_by(|a, b| b.total_cmp(a));
        (kind, values)
    };
    let known = run.flows.iter().filter(|flow| flow.metrics.is_some()).map(|flow| flow.kind);
    let kinds: Vec<_> = distinct(known).into_iter().map(values).collect();
    (!kinds.is_empty()).then_some(Division { row, kinds })
}

fn figure(
    layout: Layout,
    (title, variant): (&str, &str),
    runs: &[Division<'_>],
    kinds: &Kinds<'_>,
    metric: &Metric,
) -> Figure {
    let frame = match runs {
        [] => Frame::placeholder(layout.width, "no flows"),
        _ => bars(layout, runs, kinds, metric),
    };
    frame.figure("bar-flow", title, variant)
}

fn bars(layout: Layout, runs: &[Division<'_>], kinds: &Kinds<'_>, metric: &Metric) -> Frame {
    let shown: Vec<_> = runs.iter().flat_map(|run| &run.kinds).map(|(kind, _)| *kind).collect();
    let mut frame = kinds.frame(layout, &shown);
    frame.sides = (LEFT, frame.width - RIGHT);
    let percent = Scale::exact(0.0, 100.0, 5);
    let plot = frame.plot(4.0, ROW.0 * runs.len() as f64, &percent, &percent);
    let (first, end) = plot.span();
    frame.draw(svg::grid_x(&plot.x, first, end, true));
    for (i, run) in runs.iter().enumerate() {
        frame.draw(draw_run(run, kinds, &plot.x, first + ROW.0 * i as f64, runs.len() > 1));
    }
    let is_mixed = runs.iter().any(|run| run.kinds.len() > 1);
    let lines = if is_mixed { "; long lines: per label" } else { "" };
    let remark = format!("Marks show where bars would end at equal shares{lines}.");
    frame.foot(&format!("Share of the {} of all flows (%)", lower(metric)), &[remark]);
    frame
}

/// Draws a row's words above its bar.
fn draw_run(run: &Division<'_>, kinds: &Kinds<'_>, percent: &Scale, top: f64, with_name: bool) -> Markup {
    let words = run.words();
    let (left, right) = (percent.left(), percent.right());
    let space = right - left - svg::text_width(&words, SMALL) - 10.0;
    let baseline = top + ROW.1 - 8.0;
    html! {
        @if with_name { (svg::label(left, baseline, TEXT, Anchor::Start, space, run.row)) }
        (svg::text(right, baseline, SMALL, MUTED, Anchor::End, &words))
        (bar(run, kinds, percent, top + ROW.1))
    }
}

fn bar(run: &Division<'_>, kinds: &Kinds<'_>, percent: &Scale, top: f64) -> Markup {
    let total: f64 = run.flows().sum();
    let share = |value: f64| if total > 0.0 { 100.0 * value / total } else { 0.0 };
    let mut below = 0.0;
    let mut parts = Vec::new();
    for (kind, flows) in &run.kinds {
        let sum: f64 = flows.iter().sum();
        let (from, to) = (percent.at(share(below)), percent.at(share(below + sum)));
        let name =
            format!("{}, {}: {} %", kinds.name(*kind), count(flows.len()), number::fixed(share(sum), 1));
        parts.push(html! {
            rect x=(svg::px(from)) y=(svg::px(top)) width=(svg::px(to - from)) height=(svg::px(ROW.2))
                fill=(kinds.fill(*kind, 0)) { title { (name) } }
            (hatching::vertical([from, top, to - from, ROW.2], kinds.style(*kind).stripes))
        });
        below += sum;
    }
    let edges = run.flows().scan(0.0, |sum, value| {
        *sum += value;
        Some(percent.at(share(*sum)))
    });
    let bottom = top + ROW.2;
    html! {
        @for part in parts { (part) }
        (strokes(&apart(edges), top, bottom, PAPER, 0.7))
        (marks(run, percent, top, bottom))
    }
}

/// Draws where equal shares would end.
fn marks(run: &Division<'_>, percent: &Scale, top: f64, bottom: f64) -> Markup {
    let flows = run.flows().count();
    let fair = |count: usize| percent.at(100.0 * count as f64 / flows.max(1) as f64);
    let each: Vec<f64> = apart((0..=flows).map(fair));
    let ends = run.kinds.iter().scan(0, |sum, (_, flows)| {
        *sum += flows.len();
        Some(fair(*sum))
    });
    let between: Vec<f64> = ends.take(run.kinds.len().saturating_sub(1)).collect();
    html! {
        (strokes(&each, bottom + 1.0, bottom + 1.0 + MARKS.1, MUTED, 0.8))
        (strokes(&between, top - MARKS.0, bottom + MARKS.0, INK, 1.2))
    }
}

/// Removes places too close to the one before.
fn apart(places: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut last = f64::NEG_INFINITY;
    places.filter(|x| *x - std::mem::replace(&mut last, *x) >= CLOSEST).collect()
}

/// Draws vertical lines in one element.
fn strokes(places: &[f64], top: f64, bottom: f64, colour: &str, weight: f64) -> Markup {
    let line = |x: &f64| format!("M{} {}v{}", svg::px(*x), svg::px(top), svg::px(bottom - top));
    let data: String = places.iter().map(line).collect();
    html! { @if !data.is_empty() { path d=(data) stroke=(colour) stroke-width=(weight) fill="none" {} } }
}

impl Division<'_> {
    fn flows(&self) -> impl Iterator<Item = f64> {
        self.kinds.iter().flat_map(|(_, flows)| flows.iter().copied())
    }

    /// Describes the inequality: `8 flows, largest 3.2 times the smallest`.
    fn words(&self) -> String {
        let flows = count(self.flows().count());
        let (largest, smallest) =
            (self.flows().fold(0.0, f64::max), self.flows().fold(f64::INFINITY, f64::min));
        match largest / smallest {
            _ if self.flows().nth(1).is_none() => flows,
            _ if largest <= 0.0 => format!("{flows}, all zero"),
            ratio if ratio.is_finite() && ratio < 1e4 => {
                format!(
                    "{flows}, largest {} times the smallest",
                    number::fixed(ratio, usize::from(ratio < 99.5))
                )
            }
            _ => format!("{flows}, smallest near zero"),
        }
    }
}

/// Returns a metric's label as it is used within a sentence.
fn lower(metric: &Metric) -> String {
    number::metric(metric).label.to_lowercase()
}

fn count(flows: usize) -> String {
    if flows == 1 { "1 flow".to_owned() } else { format!("{flows} flows") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inequality_in_words() {
        let kind = Kind { label: "CUBIC", algorithm: "cubic" };
        let words = |flows: &[f64]| Division { row: "", kinds: vec![(kind, flows.to_vec())] }.words();
        assert_eq!(words(&[]), "0 flows");
        assert_eq!(words(&[3.0]), "1 flow");
        assert_eq!(words(&[3.0, 2.0]), "2 flows, largest 1.5 times the smallest");
        assert_eq!(words(&[300.0, 2.0]), "2 flows, largest 150 times the smallest");
        assert_eq!(words(&[3.0, 0.0]), "2 flows, smallest near zero");
        assert_eq!(words(&[0.0, 0.0]), "2 flows, all zero");
    }

    #[test]
    fn close_lines_are_left_out() {
        assert_eq!(apart([0.0, 5.0, 6.0, 9.0, 9.5].into_iter()), [0.0, 5.0, 9.0]);
    }
}
