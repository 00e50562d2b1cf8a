//! The ellipse of a cloud of points: one standard deviation along each axis of its covariance.

/// Number of points per quarter of the outline.
const QUARTER: usize = 10;

/// Half axes and direction of an ellipse around the mean of points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ellipse {
    pub(super) centre: (f64, f64),
    /// Half axes, the longer one first. Neither is negative, and both may be zero.
    pub(super) axes: (f64, f64),
    /// Unit vector of the longer axis.
    pub(super) direction: (f64, f64),
}

impl Ellipse {
    /// Fits the ellipse to the sample covariance of the points. Returns `None` without points.
    pub(super) fn from_points(points: &[(f64, f64)]) -> Option<Self> {
        let count = points.len() as f64;
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let centre = (mean(&|p| p.0), mean(&|p| p.1));
        let product =
            |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / (count - 1.0).max(1.0);
        let covariance = (
            product(&|p| (p.0 - centre.0) * (p.0 - centre.0)),
            product(&|p| (p.0 - centre.0) * (p.1 - centre.1)),
            product(&|p| (p.1 - centre.1) * (p.1 - centre.1)),
        );
        let (variances, direction) = eigen(covariance.0, covariance.1, covariance.2);
        let axes = (variances.0.max(0.0).sqrt(), variances.1.max(0.0).sqrt());
        (!points.is_empty()).then_some(Self { centre, axes, direction })
    }

    /// Returns points around the ellipse in order.
    pub(super) fn outline(&self) -> impl Iterator<Item = (f64, f64)> {
        let (major, minor) = self.axes;
        let (x, y) = self.direction;
        // The rational form of a circle, one quarter after another: exact, and the same on every
        // machine.
        let quarter = (0..QUARTER).map(|i| i as f64 / QUARTER as f64).map(|t| {
            let norm = 1.0 + t * t;
            ((1.0 - t * t) / norm, 2.0 * t / norm)
        });
        let turn = |n: usize, (c, s): (f64, f64)| [(c, s), (-s, c), (-c, -s), (s, -c)][n];
        let circle = (0..4).flat_map(move |n| quarter.clone().map(move |p| turn(n, p)));
        let (cx, cy) = self.centre;
        circle.map(move |(c, s)| (cx + c * major * x - s * minor * y, cy + c * major * y + s * minor * x))
    }
}

/// Returns the eigenvalues of `[[a, b], [b, c]]`, the larger first, and its unit eigenvector.
fn eigen(a: f64, b: f64, c: f64) -> ((f64, f64), (f64, f64)) {
    let middle = f64::midpoint(a, c);
    let half = f64::midpoint(a, -c).hypot(b);
    // Both point in its direction. The longer one is not a difference of nearly equal numbers.
    let (along_x, along_y) = ((half + f64::midpoint(a, -c), b), (b, half - f64::midpoint(a, -c)));
    let (x, y) = if a >= c { along_x } else { along_y };
    let length = x.hypot(y);
    let direction = if length > 0.0 { (x / length, y / length) } else { (1.0, 0.0) };
    ((middle + half, middle - half), direction)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: (f64, f64), b: (f64, f64)) {
        assert!((a.0 - b.0).abs() < 1e-9 && (a.1 - b.1).abs() < 1e-9, "{a:?} is not {b:?}");
    }

    #[test]
    fn axes_along_the_axes() {
        // Variances 32/3 (of ±4, 0, 0) and 2/3.
        let wide = Ellipse::from_points(&[(-3.0, 2.0), (5.0, 2.0), (1.0, 3.0), (1.0, 1.0)]).unwrap();
        near(wide.centre, (1.0, 2.0));
        near(wide.axes, ((32.0_f64 / 3.0).sqrt(), (2.0_f64 / 3.0).sqrt()));
        near(wide.direction, (1.0, 0.0));
        let tall = Ellipse::from_points(&[(2.0, -3.0), (2.0, 5.0), (3.0, 1.0), (1.0, 1.0)]).unwrap();
        near(tall.axes, wide.axes);
        near(tall.direction, (0.0, 1.0));
    }

    #[test]
    fn a_turned_cloud_has_a_turned_ellipse() {
        // A cross of half lengths 10 and 5 along (3, 4) / 5 and (-4, 3) / 5: variances 200/3 and
        // 50/3.
        let cross = [(6.0, 8.0), (-6.0, -8.0), (-4.0, 3.0), (4.0, -3.0)];
        let ellipse = Ellipse::from_points(&cross).unwrap();
        near(ellipse.axes, ((200.0_f64 / 3.0).sqrt(), (50.0_f64 / 3.0).sqrt()));
        near(ellipse.direction, (0.6, 0.8));
        let mirrored = cross.map(|(x, y)| (x, -y));
        let direction = Ellipse::from_points(&mirrored).unwrap().direction;
        near((direction.0.abs(), direction.0 * direction.1), (0.6, -0.48));
        for (x, y) in ellipse.outline() {
            let (along, across) = (x * 0.6 + y * 0.8, y * 0.6 - x * 0.8);
            assert!(
                (along * along * 3.0 / 200.0 + across * across * 3.0 / 50.0 - 1.0).abs() < 1e-9,
                "{x} {y}"
            );
        }
        assert_eq!(ellipse.outline().count(), 4 * QUARTER);
    }

    #[test]
    fn a_point_a_line_and_nothing() {
        assert_eq!(Ellipse::from_points(&[]), None);
        let point = Ellipse::from_points(&[(7.0, 3.0); 5]).unwrap();
        assert_eq!((point.centre, point.axes), ((7.0, 3.0), (0.0, 0.0)));
        let line = Ellipse::from_points(&[(0.0, 0.0), (2.0, 2.0), (4.0, 4.0)]).unwrap();
        near(line.axes, (8.0_f64.sqrt(), 0.0));
        near(line.direction, (0.5_f64.sqrt(), 0.5_f64.sqrt()));
        let circle = Ellipse::from_points(&[(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)]).unwrap();
        let radius = (2.0_f64 / 3.0).sqrt();
        near(circle.axes, (radius, radius));
        assert!(circle.outline().all(|(x, y)| (x.hypot(y) - radius).abs() < 1e-9));
    }
}
