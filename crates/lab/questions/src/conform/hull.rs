//! The performance envelope: the delays and throughputs of a flow.
//!
//! The method follows Mishra et al. (IMC 2022, 2023) and their tool QUICbench
//! (`visualize/plot_perf_env.py`). It takes samples of throughput and delay every ten RTTs and
//! drops the 5 % furthest from their mean. The envelope is the convex hull of the rest.
//! *Conformance* is the share of both sets of samples that lie inside the hull of the other.
//!
//! Differences from QUICbench:
//!
//! * The flow is alone on its link instead of next to a flow of the kernel.
//! * A sample is the mean over ten RTTs.
//! * Coordinates are shares of the link's rate and of its longest RTT.
//! * A sample counts as inside if it is within [`NEAR`] of the hull. A flow alone fills its link,
//!   so its hull can be as flat as a line.

/// Largest distance of an inside sample from the hull, as a share of the axes.
pub(super) const NEAR: f64 = 0.02;
/// Share of the samples that form a hull.
const KEPT: f64 = 0.95;

/// A sample of delay and throughput, each as a share of the largest value on the network.
pub(super) type Point = [f64; 2];

/// Returns the share of both sets of samples inside the other's hull, 0..1; `None` if one is empty.
pub(super) fn conformance(one: &[Point], other: &[Point]) -> Option<f64> {
    let (one, other) = (without_outliers(one)?, without_outliers(other)?);
    let hulls = [hull(&one), hull(&other)];
    let within =
        |points: &[Point], hull: &[Point]| points.iter().filter(|p| outside(**p, hull) <= NEAR).count();
    let inside = within(&one, &hulls[1]) + within(&other, &hulls[0]);
    Some(inside as f64 / (one.len() + other.len()) as f64)
}

/// Returns the samples closest to the mean.
pub(super) fn without_outliers(points: &[Point]) -> Option<Vec<Point>> {
    if points.is_empty() {
        return None;
    }
    let n = points.len() as f64;
    let mean = [0, 1].map(|axis| points.iter().map(|p| p[axis]).sum::<f64>() / n);
    let mut kept = points.to_vec();
    kept.sort_by(|a, b| distance(*a, mean).total_cmp(&distance(*b, mean)));
    kept.truncate(((n * KEPT).ceil() as usize).max(1));
    Some(kept)
}

/// Returns the corners of the convex hull, counterclockwise (Andrew's monotone chain). There are
/// fewer than three if all points lie on a line.
pub(super) fn hull(points: &[Point]) -> Vec<Point> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    sorted.dedup();
    if sorted.len() < 3 {
        return sorted;
    }
    let mut all = chain(sorted.iter());
    all.extend(chain(sorted.iter().rev()));
    all
}

/// Returns one half of the hull, without its last corner.
fn chain<'a>(points: impl Iterator<Item = &'a Point>) -> Vec<Point> {
    let mut half: Vec<Point> = Vec::new();
    for point in points {
        while let [.., a, b] = half.as_slice()
            && cross(*a, *b, *point) <= 0.0
        {
            half.pop();
        }
        half.push(*point);
    }
    half.pop();
    half
}

/// Returns twice the area of a triangle, positive if it turns left.
fn cross(a: Point, b: Point, c: Point) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

fn distance(a: Point, b: Point) -> f64 {
    libm::hypot(a[0] - b[0], a[1] - b[1])
}

/// Returns the distance of a point from a hull; 0 inside it.
fn outside(point: Point, hull: &[Point]) -> f64 {
    let edges = || hull.iter().zip(hull.iter().cycle().skip(1));
    if hull.len() > 2 && edges().all(|(a, b)| cross(*a, *b, point) >= 0.0) {
        return 0.0;
    }
    edges().map(|(a, b)| to_edge(point, *a, *b)).fold(f64::INFINITY, f64::min)
}

/// Returns the distance of a point from an edge.
fn to_edge(point: Point, a: Point, b: Point) -> f64 {
    let (along, length) = ([b[0] - a[0], b[1] - a[1]], distance(a, b));
    if length == 0.0 {
        return distance(point, a);
    }
    let part = ((point[0] - a[0]) * along[0] + (point[1] - a[1]) * along[1]) / (length * length);
    let part = part.clamp(0.0, 1.0);
    distance(point, [a[0] + part * along[0], a[1] + part * along[1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square of 21 x 21 points from (x, 0).
    fn square(x: f64) -> Vec<Point> {
        (0..441).map(|i| [x + f64::from(i % 21) / 20.0, f64::from(i / 21) / 20.0]).collect()
    }

    #[test]
    fn the_hull_of_a_square() {
        let corners = hull(&square(0.0));
        assert_eq!(corners, [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]);
        assert_eq!((outside([0.5, 0.5], &corners), outside([2.0, 0.5], &corners)), (0.0, 1.0));
        assert!((outside([4.0, 5.0], &corners) - 5.0).abs() < 1e-12, "to the corner");
    }

    #[test]
    fn all_on_a_line() {
        let line: Vec<Point> = (0..9).map(|i| [f64::from(i), 1.0]).collect();
        assert_eq!(hull(&line), [[0.0, 1.0], [8.0, 1.0]]);
        assert_eq!((outside([3.5, 1.25], &hull(&line)), outside([3.0, 1.0], &[[3.0, 1.0]])), (0.25, 0.0));
        assert_eq!(conformance(&line, &line), Some(1.0));
    }

    /// Two squares that overlap by half: half of each lies inside the other's hull. Without the
    /// outliers the hull loses its corners, and `NEAR` gives a little back.
    #[test]
    fn halves_of_squares() {
        assert_eq!(conformance(&square(0.0), &square(0.0)), Some(1.0));
        assert_eq!(conformance(&square(0.0), &square(3.0)), Some(0.0));
        let half = conformance(&square(0.0), &square(0.5)).unwrap();
        assert!((half - 0.5).abs() < 0.06, "{half}");
        assert_eq!(conformance(&[], &square(0.0)), None);
    }
}
