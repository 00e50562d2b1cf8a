//! Labels under a vertical chart: side by side if they fit, in several lines if needed, otherwise
//! turned. A part that neighbours share is printed once below them.

use maud::{Markup, html};

use crate::chart::svg::{self, Anchor, SMALL};
use crate::colours::{AXIS, INK};

/// Angle of turned labels, with its sine and cosine.
struct Turn {
    degrees: u32,
    sine: f64,
    cosine: f64,
}
/// Angle of labels of one line.
const FLAT: Turn = Turn { degrees: 30, sine: 0.5, cosine: 0.866 };
/// Angle of labels of two lines, which are thicker.
const STEEP: Turn = Turn { degrees: 45, sine: 0.707, cosine: 0.707 };
const LONGEST: f64 = 140.0;
const LINE: f64 = 14.0;
/// Line height of turned labels.
const NARROW_LINE: f64 = 12.0;
/// Most lines of a label that is not turned.
const MOST_LINES: usize = 3;

/// Labels of the places, each of one or several parts.
pub(super) struct Names<'a> {
    pub(super) lines: &'a [Vec<String>],
    pub(super) middles: &'a [f64],
    pub(super) space: f64,
}

impl Names<'_> {
    /// Draws the labels below `top`. Returns them with their height.
    pub(super) fn under(&self, top: f64) -> (Markup, f64) {
        if self.widest() < self.space {
            return level(self.lines, self.middles, self.space, top);
        }
        let runs = self.runs();
        if runs.is_empty() { self.apart(self.lines, top) } else { self.grouped(&runs, top) }
    }

    fn widest(&self) -> f64 {
        self.lines.iter().flatten().map(|v| svg::text_width(v, SMALL)).fold(0.0, f64::max)
    }

    /// Returns runs of neighbours with the same first part, or none if grouping gains nothing.
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

    /// Draws the differing parts under each place, and the common part under its run.
    fn grouped(&self, runs: &[(usize, usize)], top: f64) -> (Markup, f64) {
        let rest: Vec<Vec<String>> = self.lines.iter().map(|parts| parts[1..].to_vec()).collect();
        let (names, height) = self.apart(&rest, top);
        let under = top + height + 6.0;
        let markup = html! {
            (names)
            @for (start, end) in runs {
                @let (left, right) = (self.middles[*start] - 0.42 * self.space, self.middles[*end] + 0.42 * self.space);
                (svg::line(left, under, right, under, AXIS))
                (svg::label(f64::midpoint(left, right), under + LINE, SMALL, Anchor::Middle, right - left, &self.lines[*start][0]))
            }
        };
        (markup, height + 8.0 + LINE)
    }

    /// Draws labels in lines if all words fit, otherwise turned.
    fn apart(&self, parts: &[Vec<String>], top: f64) -> (Markup, f64) {
        let wholes: Vec<String> = parts.iter().map(|parts| parts.join(", ")).collect();
        let wrapped: Option<Vec<_>> =
            wholes.iter().map(|whole| svg::wrapped(whole, self.space - 4.0)).collect();
        match wrapped.filter(|all| all.iter().all(|lines| lines.len() <= MOST_LINES)) {
            Some(lines) => level(&lines, self.middles, self.space, top),
            None => self.turned(&wholes, top),
        }
    }

    fn turned(&self, wholes: &[String], top: f64) -> (Markup, f64) {
        let is_long = |whole: &String| svg::text_width(whole, SMALL) > LONGEST;
        let turn = if wholes.iter().any(is_long) { STEEP } else { FLAT };
        let mut height: f64 = 0.0;
        let mut label = |whole: &str, x: f64| {
            let space = LONGEST.min(x / turn.cosine - 8.0);
            let lines = svg::wrapped(whole, space).filter(|lines| (1..=2).contains(&lines.len()));
            let lines = lines.unwrap_or_else(|| vec![svg::shortened(whole, SMALL, space)]);
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

fn level(lines: &[Vec<String>], middles: &[f64], space: f64, top: f64) -> (Markup, f64) {
    let widest = lines.iter().flatten().map(|v| svg::text_width(v, SMALL)).fold(0.0, f64::max);
    // The text is smaller if neighbours would touch.
    let size = if widest < space - 6.0 { SMALL } else { SMALL - 1.5 };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(names: &[[&str; 2]], space: f64) -> String {
        let lines: Vec<Vec<String>> =
            names.iter().map(|parts| parts.iter().map(|part| (*part).to_owned()).collect()).collect();
        let middles: Vec<f64> = (0..lines.len()).map(|i| 50.0 + space * (i as f64 + 0.5)).collect();
        Names { lines: &lines, middles: &middles, space }.under(0.0).0.0
    }

    /// A part that neighbours share is printed once, and the differing part is complete.
    #[test]
    fn the_part_that_differs_is_kept() {
        let readings =
            ["pacing gain", "window gain, smoothed RTT", "pacing gain, CUBIC in bursts of 64 packets"];
        let names: Vec<[&str; 2]> = ["1 BDP", "3 BDP", "6 BDP"]
            .iter()
            .flat_map(|queue| readings.map(|reading| [*queue, reading]))
            .collect();
        for space in [40.0, 104.0] {
            let drawn = drawn(&names, space);
            assert_eq!(drawn.matches(">1 BDP</text>").count(), 1, "{drawn}");
            assert!(!drawn.contains('…') && drawn.contains("64 packets</text>"), "{drawn}");
        }
        assert!(!drawn(&names, 104.0).contains("rotate"));
        let unlike = [["1 BDP", "a reading of many words"], ["3 BDP", "another reading of many words"]];
        assert!(drawn(&unlike, 60.0).contains("rotate(-45)"));
    }
}
