//! Clouds of samples in a plane with their hulls.

use maud::{Markup, html};

use super::axis::{Scale, extent};
use super::frame::{Frame, Plot};
use super::path;
use super::svg::{self, Figure, WIDTH};
use crate::styles::Style;

const HEIGHT: f64 = 230.0;
/// Most dots of a cloud. More would hide each other.
const DOTS: usize = 400;

/// Samples of one kind with their hull.
#[derive(Clone, Debug, PartialEq)]
pub struct Cloud {
    pub name: String,
    /// x and y of each sample, in percent of the axes.
    pub points: Vec<(f64, f64)>,
    /// Corners of the hull, in order.
    pub hull: Vec<(f64, f64)>,
}

/// Draws these clouds. `names` are those of the x and y axes.
pub(super) fn draw(title: &str, names: [&str; 2], clouds: &[Cloud]) -> Figure {
    let styles: Vec<Style> = (0..clouds.len()).map(Style::nth).collect();
    let entries: Vec<(&str, &Style)> = clouds.iter().map(|cloud| cloud.name.as_str()).zip(&styles).collect();
    let mut frame = Frame::with_legend(WIDTH, &entries, svg::PIECE);
    let ends = |of: fn(&(f64, f64)) -> f64| extent(clouds.iter().flat_map(|cloud| &cloud.points).map(of));
    let across = Scale::values(ends(|p| p.0), true, 6).in_unit("%");
    let up = Scale::values(ends(|p| p.1), true, 5).in_unit("%");
    let plot = frame.plot(12.0, HEIGHT, &across, &up);
    frame.draw(plot.grid(true));
    frame.draw(plot.group(&html! {
        @for (cloud, style) in clouds.iter().zip(&styles) { (one(cloud, style, &plot)) }
    }));
    frame.axes(&plot, names, None);
    frame.figure("envelopes", title, "")
}

fn one(cloud: &Cloud, style: &Style, plot: &Plot) -> Markup {
    let step = cloud.points.len().div_ceil(DOTS).max(1);
    let dots = path::dots(cloud.points.iter().step_by(step).map(|p| plot.at(*p)));
    let around = path::outline(cloud.hull.iter().map(|p| plot.at(*p)));
    html! {
        path d=(dots) fill="none" stroke=(style.colour) stroke-opacity=".45" stroke-width="2.4" stroke-linecap="round" {}
        (svg::curve(&around, style, 1.8, &cloud.name))
    }
}
