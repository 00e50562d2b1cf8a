//! Bars, boxes, points and whiskers in a vertical or horizontal panel. Every mark is drawn along
//! the category axis and at values, whichever of them points up.

use maud::{Markup, html};
use results::summary::Quartiles;

use crate::chart::axis::Scale;
use crate::chart::{hatching, svg};
use crate::colours::{INK, PAPER};
use crate::styles::Style;

/// Thickness of a box without height.
const FLAT: f64 = 3.0;

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

    /// Draws a box plot.
    ///
    /// ```text
    /// |-----[  |    ]--------|     least, lower quartile, median, upper quartile, most
    /// ```
    pub(super) fn box_plot(&self, slot: Slot, five: &Quartiles, style: &Style, name: &str) -> Markup {
        let reach = self.value.at(five.max) - self.value.at(five.min);
        if reach.abs() < FLAT {
            return self.flat_box(slot, five.median, style, name);
        }
        let [x, y, width, height] = self.area(slot, five.lower, five.upper);
        let area = [x, y, width.max(1.0), height.max(1.0)];
        let [x, y, width, height] = area.map(svg::px);
        let (along, half) = (slot.middle, slot.width / 2.0);
        html! {
            (self.whisker(along, half.min(3.0), (five.min, five.max)))
            rect x=(x) y=(y) width=(width) height=(height) fill=(style.colour) stroke=(PAPER) { title { (name) } }
            (hatching::diagonal(area, style.stripes))
            (self.line((along - half, five.median), (along + half, five.median)))
        }
    }

    /// Draws a box without visible height, as a line in its colour. All runs agree, or there is
    /// only one.
    fn flat_box(&self, slot: Slot, value: f64, style: &Style, name: &str) -> Markup {
        let [x, y, width, height] = self.area(slot, value, value);
        let thick = |at: f64, size: f64| if size < FLAT { (at - FLAT / 2.0, FLAT) } else { (at, size) };
        let ((x, width), (y, height)) = (thick(x, width), thick(y, height));
        let [x, y, width, height] = [x, y, width, height].map(svg::px);
        html! { rect x=(x) y=(y) width=(width) height=(height) fill=(style.colour) { title { (name) } } }
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

    #[test]
    fn a_box_of_one_run_has_its_colour() {
        let value = Scale::exact(0.0, 10.0, 5).on(100.0, 0.0);
        let five = Quartiles { min: 4.0, lower: 4.0, median: 4.0, upper: 4.0, max: 4.0 };
        let pen = Pen { value: &value, is_horizontal: false };
        let drawn =
            pen.box_plot(Slot { middle: 50.0, width: 20.0 }, &five, &Style::plain("#123456"), "one").0;
        let (line, ink) =
            ("y=\"58.5\" width=\"20\" height=\"3\" fill=\"#123456\"", format!("stroke=\"{INK}\""));
        assert!(drawn.contains(line) && !drawn.contains(&ink), "{drawn}");
    }
}
