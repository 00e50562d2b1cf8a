//! Delay and rates over time: the fluid model over the packet simulation.

use maud::{Markup, html};

use super::axis::{Scale, extent};
use super::path;
use super::svg::{self, Figure, WIDTH};
use crate::colours::INK;
use crate::styles::Style;
use stability::overlay::{Overlay, TimeSeries};

const LEFT: f64 = 50.0;
const RIGHT: f64 = WIDTH - 14.0;
const PANEL: f64 = 150.0;

/// A panel: its name, and the values of a course that it shows.
type Panel = (&'static str, fn(&TimeSeries) -> Vec<&Vec<f64>>);

const PANELS: [Panel; 2] = [
    ("One-way delay (ms)", |c| vec![&c.delay]),
    ("Rate of each flow (Mbit/s)", |c| c.rates.iter().collect()),
];

/// Draws both models.
pub(super) fn draw(overlay: &Overlay) -> Figure {
    let packets = Style::nth(0);
    let fluid = Style { dash: Some("5 3"), ..Style::plain(INK) };
    let courses = [("packets", &overlay.packets, &packets), ("fluid", &overlay.fluid, &fluid)];
    let (legend, mut top) =
        svg::legend(WIDTH, 4.0, &courses.map(|(name, _, style)| (name, style)), svg::PIECE);
    let (start, end) = extent(courses.iter().flat_map(|c| &c.1.times).copied()).unwrap_or((0.0, 1.0));
    let time = Scale::exact(start, end, 6).on(LEFT, RIGHT);
    let mut drawn = Vec::new();
    for (i, (name, values)) in PANELS.iter().enumerate() {
        let (first, bottom) = (top + 26.0, top + 26.0 + PANEL);
        let all = courses.iter().flat_map(|c| values(c.1)).flatten().copied();
        let y = Scale::values(extent(all), i == 0, 4).on(bottom, first);
        drawn.push(html! {
            (svg::heading(8.0, first - 9.0, name))
            (svg::grid_x(&time, first, bottom, i + 1 == PANELS.len()))
            (svg::grid_y(&y, LEFT, RIGHT))
            (svg::x_axis_line(LEFT, RIGHT, bottom))
            @for (name, course, style) in courses { (lines(course, values(course), &time, &y, style, name)) }
        });
        top = bottom + 8.0;
    }
    let body = html! {
        (legend)
        @for panel in drawn { (panel) }
        (svg::x_axis_name(LEFT, RIGHT, top + 25.0, "Time (s)"))
    };
    Figure {
        kind: "fluid-and-packets".to_owned(),
        title: "Fluid and packets".to_owned(),
        variant: String::new(),
        width: WIDTH,
        height: top + 34.0,
        body,
    }
}

fn lines(
    course: &TimeSeries,
    values: Vec<&Vec<f64>>,
    time: &Scale,
    y: &Scale,
    style: &Style,
    name: &str,
) -> Markup {
    let data = values
        .into_iter()
        .map(|v| path::series(course.times.iter().copied().zip(v.iter().copied()), time, y));
    html! { @for data in data { (svg::curve(&data, style, 1.4, name)) } }
}
