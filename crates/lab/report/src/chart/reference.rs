//! Reference lines: capacity, base RTT and queue limit of a row's network.

use maud::{Markup, html};

use super::axis::Scale;
use super::svg::{self, Anchor, SMALL};
use super::{Source, path};
use crate::colours::MUTED;
use crate::styles::Style;
use results::network::{Course, Network};

/// A line higher than this many times the largest value is left out, because it would leave the
/// values no space.
const MOST: f64 = 3.0;
/// Most lines in one panel. More would be a pattern.
pub(super) const MOST_LINES: usize = 6;

/// A reference line with its name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reference {
    pub(super) name: &'static str,
    pub(super) course: Course,
}

/// Returns the style of all reference lines.
pub(super) fn style() -> Style {
    Style { dash: Some("4 3"), ..Style::plain(MUTED) }
}

/// Returns the lines for a column of the series, in its unit. A column without a limit has none.
pub(super) fn for_column(source: &Source<'_>, variant: &str, row: &str, column: &str) -> Vec<Reference> {
    let Some(network) = network(source, variant, row) else { return Vec::new() };
    let line = |name, course: &Course| Reference { name, course: course.clone() };
    let all = match column {
        "queue_bytes" => vec![line("queue limit", &network.buffer)],
        "ping_ms" => Vec::new(),
        rtt if rtt.contains("rtt") && rtt.ends_with("_ms") => {
            network.base_rtt.iter().map(|course| line("base RTT", course)).collect()
        }
        rate if rate.ends_with("_mbit_s") => vec![line("capacity", &network.capacity)],
        _ => Vec::new(),
    };
    all.into_iter().filter(|reference| !reference.course.is_empty()).take(MOST_LINES).collect()
}

/// Returns the limits of a row's network.
pub(super) fn network<'a>(source: &Source<'a>, variant: &str, row: &str) -> Option<&'a Network> {
    source.results.networks.iter().find(|network| network.variant == variant && network.row == row)
}

/// Removes repeats, and keeps at most [`MOST_LINES`].
pub(super) fn distinct(all: impl Iterator<Item = Reference>) -> Vec<Reference> {
    let mut known = crate::distinct::distinct(all);
    known.truncate(MOST_LINES);
    known
}

/// Returns the values that an axis should include besides values up to `largest`.
pub(super) fn ends(references: &[Reference], largest: f64) -> impl Iterator<Item = f64> {
    let values = references.iter().flat_map(|r| &r.course).map(|(_, value)| *value);
    values.filter(move |value| *value <= MOST * largest)
}

/// Draws the key of a reference line in its panel's heading. `right` is its right end, `y` its
/// baseline.
pub(super) fn key(right: f64, y: f64, name: &str) -> Markup {
    let from = right - svg::text_width(name, SMALL) - 30.0;
    html! {
        (svg::curve(&format!("M{} {}h24", svg::px(from), svg::px(y - 4.0)), &style(), 1.1, ""))
        (svg::text(right, y, SMALL, MUTED, Anchor::End, name))
    }
}

/// Draws the lines that lie on the axis.
pub(super) fn draw(references: &[Reference], divisor: f64, time: &Scale, y: &Scale) -> Markup {
    let shown = references.iter().filter(|r| r.course.iter().any(|(_, value)| y.has(value / divisor)));
    html! {
        @for reference in shown {
            @let data = path::polyline(corners(&reference.course, divisor, time, y).into_iter());
            g class="reference" { (svg::curve(&data, &style(), 1.1, reference.name)) }
        }
    }
}

/// Returns the corners of a line. A value outside the axis leaves a gap.
fn corners(course: &Course, divisor: f64, time: &Scale, y: &Scale) -> Vec<Option<(f64, f64)>> {
    let ends = course.iter().skip(1).map(|(at, _)| *at).chain([time.high()]);
    let level = |((at, value), end): (&(f64, f64), f64)| {
        let value = value / divisor;
        let shown = y.has(value) && end >= time.low() && *at <= time.high();
        [*at, end].map(|at| shown.then(|| (time.at(at), y.at(value))))
    };
    course.iter().zip(ends).flat_map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_corners_and_end_at_the_axis() {
        let (time, y) =
            (Scale::exact(0.0, 10.0, 5).on(0.0, 100.0), Scale::exact(0.0, 10.0, 5).on(100.0, 0.0));
        let course = vec![(0.0, 5.0), (4.0, 2.0), (20.0, 9.0)];
        let data = path::polyline(corners(&course, 1.0, &time, &y).into_iter());
        assert_eq!(data, "M0 50h40v30h60");
        let high = vec![(0.0, 5.0), (4.0, 20.0), (6.0, 5.0)];
        assert_eq!(path::polyline(corners(&high, 1.0, &time, &y).into_iter()), "M0 50h40M60 50h40");
    }

    #[test]
    fn a_line_far_above_all_values_does_not_stretch_the_axis() {
        let reference = |value| vec![Reference { name: "capacity", course: vec![(0.0, value)] }];
        assert_eq!(ends(&reference(25.0), 10.0).collect::<Vec<_>>(), [25.0]);
        assert_eq!(ends(&reference(31.0), 10.0).count(), 0);
    }
}
