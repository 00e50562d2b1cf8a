//! Values over an axis, as lines.

use maud::html;

use super::axis::{Scale, extent};
use super::frame::Frame;
use super::path;
use super::svg::{self, Figure, WIDTH};
use crate::styles::Style;

const HEIGHT: f64 = 230.0;

/// Values over an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub name: String,
    /// x and y of each value, ascending.
    pub points: Vec<(f64, f64)>,
}

/// Draws these lines. `names` are those of the x and y axes.
pub(super) fn draw(title: &str, names: [&str; 2], lines: &[Line]) -> Figure {
    let styles: Vec<Style> = (0..lines.len()).map(Style::nth).collect();
    let entries: Vec<(&str, &Style)> = lines.iter().map(|line| line.name.as_str()).zip(&styles).collect();
    let mut frame = Frame::with_legend(WIDTH, &entries, svg::PIECE);
    let points = || lines.iter().flat_map(|line| &line.points);
    let (low, high) = extent(points().map(|p| p.0)).unwrap_or((0.0, 1.0));
    let across = Scale::exact(low, high.max(low + 1e-9), 6);
    let zero = std::iter::once(0.0);
    let up = Scale::values(extent(points().map(|p| p.1).chain(zero)), true, 5);
    let plot = frame.plot(12.0, HEIGHT, &across, &up);
    frame.draw(plot.grid(true));
    frame.draw(plot.group(&html! {
        @for (line, style) in lines.iter().zip(&styles) {
            @let curve = path::series(line.points.iter().copied(), &plot.x, &plot.y);
            (svg::curve(&curve, style, 1.8, &line.name))
        }
    }));
    frame.axes(&plot, names, None);
    frame.figure("lines", title, "")
}
