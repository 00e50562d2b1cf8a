//! Delay and rates over time: the fluid model over the packet simulation.

use maud::{Markup, html};

use super::axis::{Scale, extent};
use super::frame::{Frame, Plot};
use super::path;
use super::svg::{self, Figure, WIDTH};
use crate::colours::INK;
use crate::styles::Style;
use stability::overlay::{Overlay, TimeSeries};

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
    let entries = courses.map(|(name, _, style)| (name, style));
    let mut frame = Frame::with_legend(WIDTH, &entries, svg::PIECE);
    let (start, end) = extent(courses.iter().flat_map(|c| &c.1.times).copied()).unwrap_or((0.0, 1.0));
    let time = Scale::exact(start, end, 6);
    for (i, (name, values)) in PANELS.iter().enumerate() {
        let all = courses.iter().flat_map(|c| values(c.1)).flatten().copied();
        let y = Scale::values(extent(all), i == 0, 4);
        let plot = frame.plot(if i == 0 { 26.0 } else { 34.0 }, PANEL, &time, &y);
        frame.draw(html! {
            (svg::heading(8.0, plot.span().0 - 9.0, name))
            (plot.grid(i + 1 == PANELS.len()))
            (plot.axis())
            @for (name, course, style) in courses { (lines(course, values(course), &plot, style, name)) }
        });
    }
    frame.foot("Time (s)", &[]);
    frame.figure("fluid-and-packets", "Fluid and packets", "")
}

fn lines(course: &TimeSeries, values: Vec<&Vec<f64>>, plot: &Plot, style: &Style, name: &str) -> Markup {
    let points = |v: &Vec<f64>| course.times.iter().copied().zip(v.clone()).collect::<Vec<_>>();
    let data = values.into_iter().map(|v| path::series(points(v).into_iter(), &plot.x, &plot.y));
    html! { @for data in data { (svg::curve(&data, style, 1.4, name)) } }
}
