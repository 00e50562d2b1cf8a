//! Path data of curves, reduced to what a pixel can show.

use super::axis::{Scale, is_drawable};

/// Writes path data in relative tenths of a pixel, in the shortest form.
#[derive(Default)]
struct Pen {
    data: String,
    x: i64,
    y: i64,
    down: bool,
}

impl Pen {
    fn to(&mut self, x: f64, y: f64) {
        let (x, y) = (tenths(x), tenths(y));
        if self.down {
            self.draw(x, y);
        } else {
            self.data.push('M');
            self.number(x, true);
            self.number(y, false);
            self.down = true;
        }
        (self.x, self.y) = (x, y);
    }

    fn draw(&mut self, x: i64, y: i64) {
        let (dx, dy) = (x - self.x, y - self.y);
        match (dx, dy) {
            (0, 0) => {}
            (_, 0) => {
                self.data.push('h');
                self.number(dx, true);
            }
            (0, _) => {
                self.data.push('v');
                self.number(dy, true);
            }
            _ => {
                self.data.push('l');
                self.number(dx, true);
                self.number(dy, false);
            }
        }
    }

    fn number(&mut self, tenths: i64, is_first: bool) {
        if tenths < 0 {
            self.data.push('-');
        } else if !is_first {
            self.data.push(' ');
        }
        let (whole, rest) = (tenths.abs() / 10, tenths.abs() % 10);
        if whole > 0 || rest == 0 {
            self.data.push_str(&whole.to_string());
        }
        if rest > 0 {
            self.data.push('.');
            self.data.push_str(&rest.to_string());
        }
    }

    /// Ends a segment of the curve.
    fn lift(&mut self) {
        self.down = false;
    }
}

fn tenths(pixels: f64) -> i64 {
    (pixels * 10.0).round() as i64
}

/// The lowest and the highest point of a pixel column, in their order.
struct Pixel {
    column: i64,
    low: (usize, f64, f64),
    high: (usize, f64, f64),
}

impl Pixel {
    fn new(column: i64, index: usize, x: f64, y: f64) -> Self {
        Self { column, low: (index, x, y), high: (index, x, y) }
    }

    fn add(&mut self, index: usize, x: f64, y: f64) {
        if y < self.low.2 {
            self.low = (index, x, y);
        }
        if y > self.high.2 {
            self.high = (index, x, y);
        }
    }

    fn put(&self, pen: &mut Pen) {
        let (first, second) =
            if self.low.0 <= self.high.0 { (self.low, self.high) } else { (self.high, self.low) };
        pen.to(first.1, first.2);
        pen.to(second.1, second.2);
    }
}

/// Returns a series as path data, with gaps where a value is missing. It is empty if all are
/// missing.
pub(super) fn series(points: impl Iterator<Item = (f64, f64)>, x: &Scale, y: &Scale) -> String {
    let mut pen = Pen::default();
    let mut pixel: Option<Pixel> = None;
    // A single value between gaps would be invisible. It becomes a short dash.
    let mut in_piece = 0_usize;
    let end = |pen: &mut Pen, pixel: Option<Pixel>, in_piece: usize| {
        if let Some(pixel) = pixel {
            pixel.put(pen);
        }
        if in_piece == 1 {
            pen.data.push_str("h2");
        }
        pen.lift();
    };
    for (i, (time, value)) in points.enumerate() {
        if !is_drawable(time) || !is_drawable(value) {
            end(&mut pen, pixel.take(), in_piece);
            in_piece = 0;
            continue;
        }
        let (px, py) = (x.at(time), y.at(value));
        let column = px as i64;
        in_piece += 1;
        match &mut pixel {
            Some(p) if p.column == column => p.add(i, px, py),
            Some(p) => {
                p.put(&mut pen);
                *p = Pixel::new(column, i, px, py);
            }
            None => pixel = Some(Pixel::new(column, i, px, py)),
        }
    }
    end(&mut pen, pixel, in_piece);
    pen.data
}

/// Returns a distribution as steps from zero: at each point the share rises to its value.
pub(super) fn steps(points: &[(f64, f64)], x: &Scale, y: &Scale) -> String {
    let mut pen = Pen::default();
    let mut last: Option<(f64, f64)> = None;
    for (value, share) in points.iter().filter(|(v, s)| is_drawable(*v) && is_drawable(*s)) {
        let (px, py) = (x.at(*value), y.at(*share));
        let (last_x, last_y) = last.unwrap_or((px, y.at(0.0)));
        let near = (px - last_x).abs() < 0.4 && (py - last_y).abs() < 0.4;
        if last.is_some() && near {
            continue;
        }
        pen.to(px, last_y);
        pen.to(px, py);
        last = Some((px, py));
    }
    if let Some((_, py)) = last {
        // All samples lie below the right edge.
        pen.to(x.at(f64::MAX), py);
    }
    pen.data
}

/// Returns the area between a line and a floor, for points in pixels from left to right. It is
/// empty without points.
pub(super) fn area(points: impl Iterator<Item = (f64, f64)>, floor: f64) -> String {
    let mut pen = Pen::default();
    let mut last = None;
    for (x, y) in points {
        if last.is_none() {
            pen.to(x, floor);
        }
        pen.to(x, y);
        last = Some(x);
    }
    if let Some(x) = last {
        pen.to(x, floor);
        pen.data.push('z');
    }
    pen.data
}

/// Returns a closed line through points in pixels.
pub(super) fn outline(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut pen = Pen::default();
    points.for_each(|(x, y)| pen.to(x, y));
    if !pen.data.is_empty() {
        pen.data.push('z');
    }
    pen.data
}

/// Returns an open line through points in pixels, with gaps where a point is missing.
pub(super) fn polyline(points: impl Iterator<Item = Option<(f64, f64)>>) -> String {
    let mut pen = Pen::default();
    for point in points {
        match point {
            Some((x, y)) => pen.to(x, y),
            None => pen.lift(),
        }
    }
    pen.data
}

/// Returns a dot for each point in pixels, to be drawn with round ends. Dots at the same place are
/// drawn once.
pub(super) fn dots(points: impl Iterator<Item = (f64, f64)>) -> String {
    let half = |pixels: f64| (pixels * 2.0).round() as i64;
    let places: std::collections::BTreeSet<_> = points.map(|(x, y)| (half(x), half(y))).collect();
    let mut pen = Pen::default();
    for (x, y) in places {
        pen.to(x as f64 / 2.0, y as f64 / 2.0);
        pen.data.push_str("h0");
        pen.lift();
    }
    pen.data
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scales() -> (Scale, Scale) {
        (Scale::exact(0.0, 10.0, 5).on(0.0, 100.0), Scale::exact(0.0, 1.0, 5).on(100.0, 0.0))
    }

    #[test]
    fn a_gap_lifts_the_pen_and_a_lone_point_shows() {
        let (x, y) = scales();
        let points = [(0.0, 0.0), (1.0, 1.0), (2.0, f64::NAN), (3.0, 0.5), (4.0, f64::INFINITY)];
        assert_eq!(series(points.into_iter(), &x, &y), "M0 100l10-100M30 50h2");
        assert_eq!(series(std::iter::empty(), &x, &y), "");
        assert_eq!(series([(f64::NAN, 1.0)].into_iter(), &x, &y), "");
    }

    #[test]
    fn a_long_series_keeps_its_extremes_and_is_short() {
        let (x, y) = scales();
        let value = |i: usize| match i {
            77_777 => 1.0,
            i if i.is_multiple_of(2) => 0.2,
            _ => 0.4,
        };
        let data = series((0..100_000).map(|i| (i as f64 / 1e4, value(i))), &x, &y);
        assert!(data.len() < 3_000, "{} bytes", data.len());
        // The spike from 0.2 (or 0.4) to 1 is kept.
        assert!(data.contains("-80") || data.contains("-60"), "{data}");
    }

    #[test]
    fn areas_outlines_and_dots() {
        assert_eq!(area([(0.0, 5.0), (10.0, 2.5)].into_iter(), 20.0), "M0 20v-15l10-2.5v17.5z");
        assert_eq!(area(std::iter::empty(), 20.0), "");
        assert_eq!(outline([(1.0, 1.0), (2.0, 1.0), (2.0, 3.0)].into_iter()), "M1 1h1v2z");
        assert_eq!(outline(std::iter::empty()), "");
        let bend =
            [Some((1.0, 1.0)), Some((3.0, 1.0)), Some((2.0, 2.0)), None, Some((5.0, 5.0)), Some((5.0, 4.0))];
        assert_eq!(polyline(bend.into_iter()), "M1 1h2l-1 1M5 5v-1");
        assert_eq!(dots([(3.0, 4.0), (1.0, 2.0), (3.1, 4.1)].into_iter()), "M1 2h0M3 4h0");
    }

    #[test]
    fn a_distribution_is_a_staircase() {
        let (x, y) = scales();
        assert_eq!(steps(&[(2.0, 0.5), (4.0, 1.0)], &x, &y), "M20 100v-50h20v-50h60");
        assert_eq!(steps(&[], &x, &y), "");
    }
}
