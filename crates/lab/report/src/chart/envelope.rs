//! Clouds of samples in a plane with their hulls.

use maud::{Markup, html};

use super::axis::{Scale, extent};
use super::path;
use super::svg::{self, Figure, WIDTH};
use crate::styles::Style;

const LEFT: f64 = 50.0;
const RIGHT: f64 = WIDTH - 14.0;
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

/// Draws these clouds. `x` and `y` are the names of the axes.
pub(super) fn draw(title: &str, [x, y]: [&str; 2], clouds: &[Cloud]) -> Figure {
    let styles: Vec<Style> = (0..clouds.len()).map(Style::nth).collect();
    let entries: Vec<(&str, &Style)> = clouds.iter().map(|cloud| cloud.name.as_str()).zip(&styles).collect();
    let (legend, top) = svg::legend(WIDTH, 4.0, &entries, svg::PIECE);
    let (top, bottom) = (top + 12.0, top + 12.0 + HEIGHT);
    let ends = |of: fn(&(f64, f64)) -> f64| extent(clouds.iter().flat_map(|cloud| &cloud.points).map(of));
    let across = Scale::values(ends(|p| p.0), true, 6).in_unit("%").on(LEFT, RIGHT);
    let up = Scale::values(ends(|p| p.1), true, 5).in_unit("%").on(bottom, top);
    let inner = html! {
        @for (cloud, style) in clouds.iter().zip(&styles) { (one(cloud, style, &across, &up)) }
    };
    let body = html! {
        (legend)
        (svg::grid_x(&across, top, bottom, true))
        (svg::grid_y(&up, LEFT, RIGHT))
        (svg::plot(&across, &up, &inner))
        (svg::x_axis_name(LEFT, RIGHT, bottom + 33.0, x))
        (svg::y_axis_name(top, bottom, y))
    };
    Figure {
        kind: "envelopes".to_owned(),
        title: title.to_owned(),
        variant: String::new(),
        width: WIDTH,
        height: bottom + 44.0,
        body,
    }
}

fn one(cloud: &Cloud, style: &Style, x: &Scale, y: &Scale) -> Markup {
    let step = cloud.points.len().div_ceil(DOTS).max(1);
    let place = |(a, b): &(f64, f64)| (x.at(*a), y.at(*b));
    let dots = path::dots(cloud.points.iter().step_by(step).map(place));
    let around = path::outline(cloud.hull.iter().map(place));
    html! {
        path d=(dots) fill="none" stroke=(style.colour) stroke-opacity=".45" stroke-width="2.4" stroke-linecap="round" {}
        (svg::curve(&around, style, 1.8, &cloud.name))
    }
}
