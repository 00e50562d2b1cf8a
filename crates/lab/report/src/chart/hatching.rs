//! Hatching in the background colour: the second sign of bars and areas that share a colour.

use maud::{Markup, html};

use super::axis::px;
use crate::colours::PAPER;

/// Slopes and spacing of diagonal hatching, by number: first by slope, then denser.
const KINDS: [(&[Slope], f64); 5] = [
    (&[Slope::Up], 7.0),
    (&[Slope::Down], 7.0),
    (&[Slope::Up, Slope::Down], 8.0),
    (&[Slope::Up], 4.0),
    (&[Slope::Down], 4.0),
];
/// Spacing of vertical hatching, by number.
const SPACING: [f64; 5] = [6.0, 3.0, 9.0, 4.5, 12.0];
const WIDTH: f64 = 1.4;

#[derive(Clone, Copy)]
enum Slope {
    Up,
    Down,
}

/// Hatches a rectangle (left, top, width, height) diagonally. Number 0 is plain.
pub(super) fn diagonal(area: [f64; 4], number: usize) -> Markup {
    let Some(index) = number.checked_sub(1) else { return Markup::default() };
    let (slopes, apart) = KINDS[index % KINDS.len()];
    drawn(&slopes.iter().map(|slope| slanted(area, *slope, apart)).collect::<String>())
}

/// Returns lines of 45 degrees, cut at the edges.
fn slanted([x, y, width, height]: [f64; 4], slope: Slope, apart: f64) -> String {
    let count = ((width + height) / apart).floor().clamp(0.0, 400.0) as usize;
    let line = |i: usize| {
        // Distance along both edges from the corner at the top left.
        let sum = apart * (i as f64 + 0.5);
        let (from, to) = ((sum - height).max(0.0), sum.min(width));
        let at = |along: f64| match slope {
            Slope::Up => (x + along, y + sum - along),
            Slope::Down => (x + width - along, y + sum - along),
        };
        let (start, end) = (at(from), at(to));
        format!("M{} {}L{} {}", px(start.0), px(start.1), px(end.0), px(end.1))
    };
    (0..count).map(line).collect()
}

/// Hatches a rectangle vertically.
pub(super) fn vertical([x, y, width, height]: [f64; 4], number: usize) -> Markup {
    between(number, (x, x + width), |_| Some((y, y + height)))
}

/// Hatches vertically from `left` to `right`, between the heights of an area.
pub(super) fn between(
    number: usize,
    (left, right): (f64, f64),
    heights: impl Fn(f64) -> Option<(f64, f64)>,
) -> Markup {
    let Some(index) = number.checked_sub(1) else { return Markup::default() };
    let apart = SPACING[index % SPACING.len()];
    let count = ((right - left) / apart).floor().clamp(0.0, 1000.0) as usize;
    let places = (0..count).map(|i| left + apart * (i as f64 + 0.5));
    let lines = places.filter_map(|x| heights(x).map(|(top, bottom)| (x, top, bottom)));
    let lines = lines.filter(|(_, top, bottom)| bottom - top > 1.0);
    drawn(&lines.map(|(x, top, bottom)| format!("M{} {}V{}", px(x), px(top), px(bottom))).collect::<String>())
}

fn drawn(data: &str) -> Markup {
    html! {
        @if !data.is_empty() {
            path d=(data) stroke=(PAPER) stroke-width=(WIDTH) fill="none" pointer-events="none" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_stay_on_their_area() {
        let area = [10.0, 20.0, 12.0, 30.0];
        assert!(diagonal(area, 0).0.is_empty() && vertical(area, 0).0.is_empty());
        for number in 1..8 {
            for markup in [diagonal(area, number).0, vertical(area, number).0] {
                let data = markup.split('"').nth(1).unwrap_or_default().replace(['M', 'L'], " ");
                let numbers: Vec<f64> = data.split([' ', 'V']).filter_map(|n| n.parse().ok()).collect();
                assert!(numbers.len() >= 3, "{number}: {markup}");
                assert!(numbers.iter().all(|n| (10.0..=50.0).contains(n)), "{number}: {markup}");
            }
        }
        assert_ne!(diagonal(area, 1).0, diagonal(area, 2).0);
    }
}
