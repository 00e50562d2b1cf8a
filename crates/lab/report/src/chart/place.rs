//! Places the labels of points so that they do not overlap.

use maud::{Markup, html};

use super::frame::Plot;
use super::svg;
use crate::colours::AXIS;

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Area {
    /// Returns the area of a plot.
    pub(super) fn inside(plot: &Plot) -> Self {
        let ((top, bottom), (left, right)) = (plot.span(), plot.sides());
        Self { left, top, right, bottom }
    }

    pub(super) fn around(x: f64, y: f64, half_width: f64, half_height: f64) -> Self {
        Self { left: x - half_width, top: y - half_height, right: x + half_width, bottom: y + half_height }
    }

    fn grown(&self, by: f64) -> Self {
        let Self { left, top, right, bottom } = *self;
        Self { left: left - by, top: top - by, right: right + by, bottom: bottom + by }
    }

    fn size(&self) -> f64 {
        (self.right - self.left).max(0.0) * (self.bottom - self.top).max(0.0)
    }

    /// Returns the common area in square pixels.
    fn shared(&self, other: &Self) -> f64 {
        let (left, right) = (self.left.max(other.left), self.right.min(other.right));
        let (top, bottom) = (self.top.max(other.top), self.bottom.min(other.bottom));
        Self { left, top, right, bottom }.size()
    }
}

/// Directions in order of preference: right, left, above, below, then the corners.
const SIDES: [(f64, f64); 8] =
    [(1.0, 0.0), (-1.0, 0.0), (0.0, -1.0), (0.0, 1.0), (0.8, -1.0), (0.8, 1.0), (-0.8, -1.0), (-0.8, 1.0)];
/// Distances between a point and its label, nearest first.
const DISTANCES: [f64; 5] = [7.0, 18.0, 32.0, 48.0, 66.0];

const SPACE: f64 = 2.0;
/// Cost of covering a letter, relative to a dot.
const WORSE: f64 = 10.0;
/// Cost of standing nearer to another point, which is about that of covering some dots.
const MISLEADING: f64 = 80.0;

/// Places a label of the given size beside each point, inside `bounds`. Labels are placed one by
/// one, each where it covers least of the points, of earlier labels and of `taken`.
pub(super) fn labels(
    points: &[(f64, f64)],
    sizes: &[(f64, f64)],
    bounds: &Area,
    mut taken: Vec<Area>,
) -> Vec<Area> {
    taken.extend(points.iter().map(|(x, y)| Area::around(*x, *y, 5.0, 5.0)));
    let mut placed: Vec<Area> = Vec::new();
    for (point, size) in points.iter().zip(sizes) {
        let on = |area: &Area, others: &[Area]| others.iter().map(|other| area.shared(other)).sum::<f64>();
        let cost = |area: &Area| {
            let outside = area.size() - area.shared(bounds);
            let crossed = trail(*point, area).map(|spot| on(&spot, &placed)).sum::<f64>();
            let own = distance(*point, area);
            let nearer = points.iter().filter(|p| *p != point && distance(**p, area) < own).count();
            on(area, &taken)
                + WORSE * (on(&area.grown(SPACE), &placed) + outside + crossed)
                + MISLEADING * nearer as f64
        };
        // Among equal costs the first wins: near and to the right.
        let best = candidates(*point, *size).min_by(|a, b| cost(a).total_cmp(&cost(b)));
        let best = best.unwrap_or(Area::around(point.0, point.1, size.0 / 2.0, size.1 / 2.0));
        taken.extend(trail(*point, &best));
        placed.push(best);
    }
    placed
}

/// Returns spots along the line from a point to its label.
fn trail(point: (f64, f64), label: &Area) -> impl Iterator<Item = Area> + use<> {
    leader(point, label).into_iter().flat_map(|[from, to]| {
        let at = move |share: f64| (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1));
        (1..8).map(move |i| at(f64::from(i) / 8.0)).map(|(x, y)| Area::around(x, y, 2.0, 2.0))
    })
}

fn candidates((x, y): (f64, f64), (width, height): (f64, f64)) -> impl Iterator<Item = Area> {
    let at = move |distance: f64, (dx, dy): (f64, f64)| {
        let (half_width, half_height) = (width / 2.0, height / 2.0);
        Area::around(
            x + dx * (half_width + distance),
            y + dy * (half_height + distance),
            half_width,
            half_height,
        )
    };
    DISTANCES.into_iter().flat_map(move |distance| SIDES.into_iter().map(move |side| at(distance, side)))
}

/// Draws lines from points to those of their labels that are not next to them.
pub(super) fn leaders(points: &[(f64, f64)], labels: &[Area]) -> Markup {
    html! {
        @for (point, label) in points.iter().zip(labels) {
            @if let Some([from, to]) = leader(*point, label) { (svg::line(from.0, from.1, to.0, to.1, AXIS)) }
        }
    }
}

/// Draws the names in their places.
pub(super) fn names<'n>(names: impl Iterator<Item = &'n String>, labels: &[Area]) -> Markup {
    html! { @for (label, name) in labels.iter().zip(names) { (svg::haloed(label.left, label.bottom - 2.0, name)) } }
}

/// Returns the ends of a line from a point to its label, if the label is not next to it.
fn leader(point: (f64, f64), label: &Area) -> Option<[(f64, f64); 2]> {
    (distance(point, label) > 1.5 * DISTANCES[0]).then_some([point, nearest(point, label)])
}

fn nearest(point: (f64, f64), area: &Area) -> (f64, f64) {
    (point.0.clamp(area.left, area.right), point.1.clamp(area.top, area.bottom))
}

fn distance(point: (f64, f64), area: &Area) -> f64 {
    let nearest = nearest(point, area);
    (nearest.0 - point.0).hypot(nearest.1 - point.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Area = Area { left: 0.0, top: 0.0, right: 300.0, bottom: 200.0 };

    #[test]
    fn a_lone_label_stands_to_the_right_unless_there_is_no_room() {
        let one = |x| labels(&[(x, 100.0)], &[(60.0, 12.0)], &BOUNDS, Vec::new())[0];
        assert_eq!(one(100.0), Area::around(137.0, 100.0, 30.0, 6.0));
        assert_eq!(one(290.0), Area::around(253.0, 100.0, 30.0, 6.0));
        assert_eq!(leader((100.0, 100.0), &one(100.0)), None);
        let wall = vec![Area { left: 105.0, top: 60.0, right: 120.0, bottom: 140.0 }];
        let label = labels(&[(100.0, 100.0)], &[(60.0, 12.0)], &BOUNDS, wall)[0];
        assert_eq!(label, Area::around(63.0, 100.0, 30.0, 6.0));
    }

    #[test]
    fn near_points_have_labels_apart() {
        let points: Vec<_> = (0..9).map(|i| (150.0 + f64::from(i % 3), 100.0 + f64::from(i))).collect();
        let placed = labels(&points, &[(50.0, 12.0); 9], &BOUNDS, Vec::new());
        for (i, a) in placed.iter().enumerate() {
            assert_eq!(a.shared(&BOUNDS), a.size(), "{i} is outside");
            assert!(placed[..i].iter().all(|b| a.shared(b) == 0.0), "{i} covers another");
        }
        assert!(points.iter().zip(&placed).any(|(p, a)| leader(*p, a).is_some()));
    }
}
