//! The words under an upright axis: side by side if they fit, in several lines if need be, else turned. What neighbours have in common
//! stands once, under all of them.

use maud::{Markup, html};

use crate::chart::svg::{self, Anchor, SMALL};
use crate::colours::{AXIS, INK};

/// Labels that do not fit side by side are turned by this angle; its sine and cosine; the longest of them.
struct Turn {
    degrees: u32,
    sine: f64,
    cosine: f64,
}
/// Of labels of one line.
const FLAT: Turn = Turn { degrees: 30, sine: 0.5, cosine: 0.866 };
/// Of labels of two, which are thicker.
const STEEP: Turn = Turn { degrees: 45, sine: 0.707, cosine: 0.707 };
const LONGEST: f64 = 140.0;
const LINE: f64 = 14.0;
/// The same of turned labels.
const NARROW_LINE: f64 = 12.0;
/// Lines of a label that is not turned.
const MOST_LINES: usize = 3;

/// The words of each place, one or several parts.
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
        if self.widest() < self.room {
            return level(self.lines, self.middles, self.room, top);
        }
        let runs = self.runs();
        if runs.is_empty() { self.apart(self.lines, top) } else { self.grouped(&runs, top) }
    }

    fn widest(&self) -> f64 {
        self.lines.iter().flatten().map(|v| svg::text_width(v, SMALL)).fold(0.0, f64::max)
    }

    /// Neighbours whose first part is the same: where each run begins and ends. None if that gains nothing.
    fn runs(&self) -> Vec<(usize, usize)> {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (i, parts) in self.lines.iter().enumerate() {
            match runs.last_mut() {
                Some((start, end)) if self.lines[*start].first() == parts.first() => *end = i,
                _ => runs.push((i, i)),
            }
        }
        let gains = self.lines.iter().all(|parts| parts.len() > 1) && 2 * runs.len() <= self.lines.len();
        if gains { runs } else { Vec::new() }
    }

    /// What differs under each place, what is common under its run.
    fn grouped(&self, runs: &[(usize, usize)], top: f64) -> (Markup, f64) {
        let rest: Vec<Vec<String>> = self.lines.iter().map(|parts| parts[1..].to_vec()).collect();
        let (names, height) = self.apart(&rest, top);
        let under = top + height + 6.0;
        let markup = html! {
            (names)
            @for (start, end) in runs {
                @let (left, right) = (self.middles[*start] - 0.42 * self.room, self.middles[*end] + 0.42 * self.room);
                (svg::line(left, under, right, under, AXIS))
                (svg::label(f64::midpoint(left, right), under + LINE, SMALL, Anchor::Middle, right - left, &self.lines[*start][0]))
            }
        };
        (markup, height + 8.0 + LINE)
    }

    /// In lines, if all words fit, else turned.
    fn apart(&self, parts: &[Vec<String>], top: f64) -> (Markup, f64) {
        let wholes: Vec<String> = parts.iter().map(|parts| parts.join(", ")).collect();
        let wrapped: Option<Vec<_>> = wholes.iter().map(|whole| wrapped(whole, self.room - 4.0)).collect();
        match wrapped.filter(|all| all.iter().all(|lines| lines.len() <= MOST_LINES)) {
            Some(lines) => level(&lines, self.middles, self.room, top),
            None => self.turned(&wholes, top),
        }
    }

    fn turned(&self, wholes: &[String], top: f64) -> (Markup, f64) {
        let is_long = |whole: &String| svg::text_width(whole, SMALL) > LONGEST;
        let turn = if wholes.iter().any(is_long) { STEEP } else { FLAT };
        let mut height: f64 = 0.0;
        let mut label = |whole: &str, x: f64| {
            let room = LONGEST.min(x / turn.cosine - 8.0);
            let lines = wrapped(whole, room).filter(|lines| (1..=2).contains(&lines.len()));
            let lines = lines.unwrap_or_else(|| vec![svg::shortened(whole, SMALL, room)]);
            let widest = lines.iter().map(|line| svg::text_width(line, SMALL)).fold(0.0, f64::max);
            height = height.max(widest * turn.sine + NARROW_LINE * (lines.len() - 1) as f64 * turn.cosine);
            let degrees = turn.degrees;
            let place = format!("translate({} {}) rotate(-{degrees})", svg::px(x + 4.0), svg::px(top + 13.0));
            html! {
                g transform=(place) {
                    title { (whole) }
                    @for (i, line) in lines.iter().enumerate() {
                        text y=(svg::px(NARROW_LINE * i as f64)) font-size=(SMALL) fill=(INK) text-anchor="end" { (line) }
                    }
                }
            }
        };
        let drawn: Vec<_> = wholes.iter().zip(self.middles).map(|(whole, x)| label(whole, *x)).collect();
        (html! { @for label in drawn { (label) } }, height + 14.0)
    }
}

fn level(lines: &[Vec<String>], middles: &[f64], room: f64, top: f64) -> (Markup, f64) {
    let widest = lines.iter().flatten().map(|v| svg::text_width(v, SMALL)).fold(0.0, f64::max);
    // A little smaller where neighbours would touch.
    let size = if widest < room - 6.0 { SMALL } else { SMALL - 1.5 };
    let most = lines.iter().map(Vec::len).max().unwrap_or(0);
    let markup = html! {
        @for (words, x) in lines.iter().zip(middles) {
            @for (j, word) in words.iter().enumerate() {
                (svg::text(*x, top + 15.0 + LINE * j as f64, size, INK, Anchor::Middle, word))
            }
        }
    };
    (markup, 4.0 + LINE * most as f64)
}

/// In lines of this width; none if a word is wider.
fn wrapped(text: &str, room: f64) -> Option<Vec<String>> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        if svg::text_width(word, SMALL) > room {
            return None;
        }
        match lines.last_mut() {
            Some(line) if svg::text_width(&format!("{line} {word}"), SMALL) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(names: &[[&str; 2]], room: f64) -> String {
        let lines: Vec<Vec<String>> =
            names.iter().map(|parts| parts.iter().map(|part| (*part).to_owned()).collect()).collect();
        let middles: Vec<f64> = (0..lines.len()).map(|i| 50.0 + room * (i as f64 + 0.5)).collect();
        Names { lines: &lines, middles: &middles, room }.under(0.0).0.0
    }

    /// What neighbours share stands once, what differs is whole.
    #[test]
    fn the_part_that_differs_is_kept() {
        let readings =
            ["pacing gain", "window gain, smoothed RTT", "pacing gain, CUBIC in bursts of 64 packets"];
        let names: Vec<[&str; 2]> = ["1 BDP", "3 BDP", "6 BDP"]
            .iter()
            .flat_map(|queue| readings.map(|reading| [*queue, reading]))
            .collect();
        for room in [40.0, 104.0] {
            let drawn = drawn(&names, room);
            assert_eq!(drawn.matches(">1 BDP</text>").count(), 1, "{drawn}");
            assert!(!drawn.contains('…') && drawn.contains("64 packets</text>"), "{drawn}");
        }
        assert!(!drawn(&names, 104.0).contains("rotate"));
        let unlike = [["1 BDP", "a reading of many words"], ["3 BDP", "another reading of many words"]];
        assert!(drawn(&unlike, 60.0).contains("rotate(-45)"));
    }
}
