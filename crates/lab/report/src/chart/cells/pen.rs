//! Bars, points and whiskers in a vertical or horizontal panel. Every mark is drawn along
//! the category axis and at values, whichever of them points up.

use maud::{Markup, html};

use crate::chart::axis::Scale;
use crate::chart::{hatching, svg};
use crate::colours::INK;
use crate::styles::Style;

/// The directions of a panel.
pub(super) struct Pen<'a> {
    /// Scale of the values, in pixels.
    pub(super) value: &'a Scale,
    /// Values go to the right, categories down.
    pub(super) is_horizontal: bool,
}

/// A part of the category axis: its middle and its width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slot {
    pub(super) middle: f64,
    pub(super) width: f64,
}

impl Slot {
    /// Returns a part of the slot. Both ends are shares of its width.
    fn part(self, from: f64, to: f64) -> Self {
        let start = self.middle - self.width / 2.0;
        Self { middle: start + self.width * f64::midpoint(from, to), width: self.width * (to - from) }
    }

    /// Splits the slot for our value and the published one.
    pub(super) fn halves(self) -> (Self, Self) {
        (self.part(0.0, 0.58), self.part(0.62, 1.0))
    }
}

impl Pen<'_> {
    /// Returns the pixel of a value at a place along the categories.
    pub(super) fn at(&self, along: f64, value: f64) -> (f64, f64) {
        let value = self.value.at(value);
        if self.is_horizontal { (value, along) } else { (along, value) }
    }

    fn line(&self, (a, from): (f64, f64), (b, to): (f64, f64)) -> Markup {
        let (start, end) = (self.at(a, from), self.at(b, to));
        svg::line(start.0, start.1, end.0, end.1, INK)
    }

    /// Returns left, top, width and height.
    fn area(&self, slot: Slot, from: f64, to: f64) -> [f64; 4] {
        let (a, b) =
            (self.at(slot.middle - slot.width / 2.0, from), self.at(slot.middle + slot.width / 2.0, to));
        [a.0.min(b.0), a.1.min(b.1), (a.0 - b.0).abs(), (a.1 - b.1).abs()]
    }

    /// Draws a bar from zero. It is hollow if it is not ours.
    pub(super) fn bar(&self, slot: Slot, value: f64, style: &Style, is_ours: bool, name: &str) -> Markup {
        let area = self.area(slot, self.value.base(), value);
        let [x, y, width, height] = area.map(svg::px);
        let opacity = if is_ours { None } else { Some(".18") };
        html! {
            rect x=(x) y=(y) width=(width) height=(height) fill=(style.colour) fill-opacity=[opacity] stroke=(style.colour) {
                title { (name) }
            }
            @if is_ours { (hatching::diagonal(area, style.stripes)) }
        }
    }

    /// Draws a line between two values with a stroke at both ends.
    pub(super) fn whisker(&self, along: f64, half: f64, (low, high): (f64, f64)) -> Markup {
        html! {
            (self.line((along, low), (along, high)))
            @for end in [low, high] { (self.line((along - half, end), (along + half, end))) }
        }
    }

    /// Draws a marker above its deviation.
    pub(super) fn point(
        &self,
        along: f64,
        value: f64,
        spread: Option<(f64, f64)>,
        style: &Style,
        name: &str,
    ) -> Markup {
        html! {
            @if let Some(spread) = spread { (self.whisker(along, 3.0, spread)) }
            (svg::marker(self.at(along, value), style, name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_mark_stands_and_lies() {
        let value = Scale::exact(0.0, 10.0, 5);
        let slot = Slot { middle: 50.0, width: 20.0 };
        let lying = Pen { value: &value.on(0.0, 100.0), is_horizontal: true }.area(slot, 0.0, 4.0);
        assert_eq!(lying, [0.0, 40.0, 40.0, 20.0]);
        let standing = Pen { value: &value.on(100.0, 0.0), is_horizontal: false }.area(slot, 0.0, 4.0);
        assert_eq!(standing, [40.0, 60.0, 20.0, 40.0]);
    }
}
