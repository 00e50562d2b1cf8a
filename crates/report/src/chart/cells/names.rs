//! The words under an upright axis: side by side if they fit, else turned.

use maud::{Markup, html};

use crate::chart::svg::{self, Anchor, SMALL};
use crate::colours::INK;

/// Labels that do not fit side by side are turned by 30 degrees, whose sine and cosine these are; the longest of them.
const TURN: (f64, f64) = (0.5, 0.866);
const LONGEST: f64 = 120.0;
const LINE: f64 = 14.0;

/// The words of each place, one or several lines.
pub(super) struct Names<'a> {
    pub(super) lines: &'a [Vec<String>],
    /// The middles of the places.
    pub(super) middles: &'a [f64],
    /// Width of a place.
    pub(super) room: f64,
}

impl Names<'_> {
    /// Under a line, and the height that they take.
    pub(super) fn under(&self, top: f64) -> (Markup, f64) {
        if self.widest() < self.room { self.level(top) } else { self.turned(top) }
    }

    fn widest(&self) -> f64 {
        self.lines.iter().flatten().map(|v| svg::text_width(v, SMALL)).fold(0.0, f64::max)
    }

    fn level(&self, top: f64) -> (Markup, f64) {
        // A little smaller where neighbours would touch.
        let size = if self.widest() < self.room - 6.0 { SMALL } else { SMALL - 1.5 };
        let most = self.lines.iter().map(Vec::len).max().unwrap_or(0);
        let markup = html! {
            @for (words, x) in self.lines.iter().zip(self.middles) {
                @for (j, word) in words.iter().enumerate() {
                    (svg::text(*x, top + 15.0 + LINE * j as f64, size, INK, Anchor::Middle, word))
                }
            }
        };
        (markup, 4.0 + LINE * most as f64)
    }

    fn turned(&self, top: f64) -> (Markup, f64) {
        let (sine, cosine) = TURN;
        let mut height: f64 = 0.0;
        let mut label = |words: &[String], x: f64| {
            let whole = words.join(", ");
            let short = svg::shortened(&whole, SMALL, LONGEST.min(x / cosine - 8.0));
            height = height.max(svg::text_width(&short, SMALL) * sine);
            let place = format!("translate({} {}) rotate(-30)", svg::px(x + 4.0), svg::px(top + 13.0));
            html! {
                text font-size=(SMALL) fill=(INK) text-anchor="end" transform=(place) { (short) title { (whole) } }
            }
        };
        let drawn: Vec<_> = self.lines.iter().zip(self.middles).map(|(words, x)| label(words, *x)).collect();
        (html! { @for label in drawn { (label) } }, height + 14.0)
    }
}
