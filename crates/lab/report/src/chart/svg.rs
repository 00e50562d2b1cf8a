//! SVG, written with the HTML template library.
//!
//! The crate plotters (0.3.7, SVG backend) cannot draw these charts well. It rounds coordinates to
//! whole pixels, so slow slopes become stairs. A dashed line becomes one element per dash (167 for
//! a chart of 800 points). Its marks have no tooltip. A style sheet can tell its text and grid
//! apart only by opacity. This file replaces it.
//!
//! Colours are attributes, not styles: word processors and LaTeX understand those. The page's style
//! sheet replaces them by attribute selectors in dark mode.

use maud::{Markup, PreEscaped, html};

use super::axis::Scale;
pub(super) use super::axis::px;
use super::hatching;
use crate::colours::{AXIS, GRID, INK, MUTED, PAPER};
use crate::number;
use crate::styles::Style;

/// Width of every chart. Printed in a column of 84 mm, its text has 6.6 points.
pub(crate) const WIDTH: f64 = 430.0;
/// Width of a chart across a wide page.
pub(crate) const WIDE: f64 = 1000.0;
/// Typefaces of a chart in a file.
pub(crate) const TYPEFACE: &str = "Helvetica, Arial, sans-serif";
/// Text size.
pub(super) const TEXT: f64 = 12.0;
/// Text size of tick labels and numbers.
pub(super) const SMALL: f64 = 11.0;
/// Line width of a curve's sample in a legend.
pub(super) const PIECE: f64 = 2.2;
/// Size of the sample for bars.
pub(super) const BOX: f64 = 11.0;
/// Size of the sample for areas, whose hatching is vertical.
pub(super) const BANDS: f64 = 12.0;

/// A finished chart of one variant, or of all.
pub(crate) struct Figure {
    /// Kind of chart, for the file's name: `line-time`.
    pub(crate) kind: String,
    pub(crate) title: String,
    /// The variant's name; may be empty.
    pub(crate) variant: String,
    /// Width: [`WIDTH`], or [`WIDE`] for a chart across the page.
    pub(super) width: f64,
    pub(super) height: f64,
    /// Millimetres of a pixel on paper. `None` for a chart without a size.
    pub(super) unit: Option<f64>,
    /// Content of the `svg` element.
    pub(super) body: Markup,
}

impl Figure {
    /// Returns title and variant in one line.
    pub(crate) fn name(&self) -> String {
        if self.variant.is_empty() {
            self.title.clone()
        } else {
            format!("{} ({})", self.title, self.variant)
        }
    }

    /// Returns the name of the file of a figure that is the only one of its kind.
    pub(crate) fn file(&self) -> String {
        format!("{}.svg", self.kind)
    }

    /// Draws the chart for a page. The style sheet sets its width, typeface and dark colours.
    pub(crate) fn inline(&self) -> Markup {
        let frame = format!("0 0 {} {}", px(self.width), px(self.height));
        html! {
            svg class="chart" viewBox=(frame) role="img" aria-label=(self.name()) { (self.body) }
        }
    }

    /// Draws the chart for a file: on a white background, with size and typeface.
    pub(crate) fn standalone(&self) -> Markup {
        let (width, height) = (px(self.width), px(self.height));
        let size =
            |length: f64| self.unit.map_or_else(|| px(length), |unit| format!("{:.4}mm", length * unit));
        html! {
            (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
            svg xmlns="http://www.w3.org/2000/svg" width=(size(self.width)) height=(size(self.height)) viewBox={ "0 0 " (width) " " (height) }
                font-family=(TYPEFACE) {
                title { (self.name()) }
                rect width=(width) height=(height) fill=(PAPER) {}
                (self.body)
            }
            (PreEscaped("\n"))
        }
    }
}

/// Point of a text that its position refers to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Draws a text on its baseline.
pub(super) fn text(x: f64, y: f64, size: f64, colour: &str, anchor: Anchor, content: &str) -> Markup {
    let anchor = match anchor {
        Anchor::Start => None,
        Anchor::Middle => Some("middle"),
        Anchor::End => Some("end"),
    };
    html! { text x=(px(x)) y=(px(y)) font-size=(size) fill=(colour) text-anchor=[anchor] { (content) } }
}

/// Draws the heading of a panel.
pub(super) fn heading(x: f64, y: f64, content: &str) -> Markup {
    html! { text x=(px(x)) y=(px(y)) font-size=(TEXT) font-weight="bold" fill=(INK) { (content) } }
}

/// Draws a label that is shortened to `space`, with the full text as a tooltip.
pub(super) fn label(x: f64, y: f64, size: f64, anchor: Anchor, space: f64, content: &str) -> Markup {
    let short = shortened(content, size, space);
    if short == content {
        return text(x, y, size, INK, anchor, content);
    }
    html! { g { title { (content) } (text(x, y, size, INK, anchor, &short)) } }
}

/// Draws a text over curves, with a halo of the background colour.
pub(super) fn haloed(x: f64, y: f64, content: &str) -> Markup {
    html! {
        // The text is drawn twice: not every word processor can paint the stroke below the letters.
        text x=(px(x)) y=(px(y)) font-size=(TEXT) fill=(PAPER) stroke=(PAPER) stroke-width="3" aria-hidden="true" { (content) }
        (text(x, y, TEXT, INK, Anchor::Start, content))
    }
}

/// Draws a thin straight line.
pub(super) fn line(x1: f64, y1: f64, x2: f64, y2: f64, colour: &str) -> Markup {
    html! { line x1=(px(x1)) y1=(px(y1)) x2=(px(x2)) y2=(px(y2)) stroke=(colour) {} }
}

/// Draws a curve with its name as a tooltip.
pub(super) fn curve(data: &str, style: &Style, width: f64, name: &str) -> Markup {
    html! {
        path d=(data) fill="none" stroke=(style.colour) stroke-width=(width) stroke-linejoin="round"
            stroke-dasharray=[style.dash] data-series=[(!name.is_empty()).then_some(name)] { @if !name.is_empty() { title { (name) } } }
    }
}

/// Draws the marker of a value, with its name as a tooltip.
pub(super) fn marker((x, y): (f64, f64), style: &Style, name: &str) -> Markup {
    let shape = match style.marker % 5 {
        0 => "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
        1 => "m-2.8-2.8h5.6v5.6h-5.6z",
        2 => "m0-3.6l3.5 6h-7z",
        3 => "m0-3.8l3.8 3.8-3.8 3.8-3.8-3.8z",
        _ => "m0 3.6l3.5-6h-7z",
    };
    let data = format!("M{} {}{shape}", px(x), px(y));
    html! { path class="marker" d=(data) fill=(style.colour) stroke=(PAPER) stroke-width="0.8" { title { (name) } } }
}

/// Draws an area with its name as a tooltip. A stroke in the background colour separates it from
/// the next.
pub(super) fn area(data: &str, colour: &str, gap: f64, name: &str) -> Markup {
    html! { path d=(data) fill=(colour) stroke=(PAPER) stroke-width=(gap) { title { (name) } } }
}

/// Groups what is drawn on a pair of scales. The page's script reads values from it and zooms it.
/// If there are `stops`, it reads only at these: between them nothing was run.
pub(super) fn plot_at(x: &Scale, y: &Scale, stops: &[f64], inner: &Markup) -> Markup {
    let words = (!y.words().is_empty()).then(|| y.words().join("|"));
    // Units as they follow a number.
    let unit =
        |scale: &Scale| if scale.unit().is_empty() { String::new() } else { format!(" {}", scale.unit()) };
    let units = format!("{}|{}", unit(x), unit(y));
    let stops: Vec<String> =
        stops.iter().map(|value| format!("{}={}", px(x.at(*value)), number::plain(*value))).collect();
    let stops = (!stops.is_empty()).then(|| stops.join(" "));
    html! {
        g class="plot" data-x=(x.hook()) data-y=(y.hook()) data-at=[stops] data-words=[words] data-units=(units) { (inner) }
    }
}

/// Draws vertical grid lines with their labels below.
pub(super) fn grid_x(scale: &Scale, top: f64, bottom: f64, with_labels: bool) -> Markup {
    html! {
        @let named = if with_labels { apart(scale) } else { Vec::new() };
        g class="ticks" {
            @for tick in &scale.ticks {
                (line(scale.at(*tick), top, scale.at(*tick), bottom, GRID))
                @if named.contains(tick) {
                    (text(scale.at(*tick), bottom + 15.0, SMALL, MUTED, Anchor::Middle, &scale.label(*tick)))
                }
            }
        }
    }
}

/// Returns the ticks whose labels do not overlap the one before.
fn apart(scale: &Scale) -> Vec<f64> {
    let mut last: Option<(f64, f64)> = None;
    let is_free = |tick: &f64| {
        let (at, half) = (scale.at(*tick), text_width(&scale.label(*tick), SMALL) / 2.0 * TOO_WIDE);
        let is_free = last.is_none_or(|(before, width)| (at - before).abs() > half + width);
        if is_free {
            last = Some((at, half));
        }
        is_free
    };
    scale.ticks.iter().copied().filter(is_free).collect()
}

/// Draws horizontal grid lines with their labels on the left.
pub(super) fn grid_y(scale: &Scale, left: f64, right: f64) -> Markup {
    html! {
        @for tick in &scale.ticks {
            (line(left, scale.at(*tick), right, scale.at(*tick), GRID))
            (text(left - 6.0, scale.at(*tick) + 4.0, SMALL, MUTED, Anchor::End, &scale.label(*tick)))
        }
    }
}

/// Draws the x axis.
pub(super) fn x_axis_line(left: f64, right: f64, y: f64) -> Markup {
    line(left, y, right, y, AXIS)
}

/// Draws a text instead of a chart.
pub(super) fn placeholder(width: f64, y: f64, why: &str) -> Markup {
    text(width / 2.0, y, TEXT, MUTED, Anchor::Middle, why)
}

/// Draws the name of the y axis, beside its middle.
pub(super) fn y_axis_name(top: f64, bottom: f64, name: &str) -> Markup {
    html! {
        text font-size=(TEXT) fill=(INK) text-anchor="middle"
            transform={ "translate(12 " (px(f64::midpoint(top, bottom))) ") rotate(-90)" } { (name) }
    }
}

/// Length of a curve's sample in a legend.
const SWATCH: f64 = 26.0;

/// Returns the width of a legend with a name per line.
pub(super) fn legend_width(entries: &[(&str, &Style)]) -> f64 {
    let widest = entries.iter().map(|(name, _)| text_width(name, TEXT)).fold(0.0, f64::max);
    if widest > 0.0 { SWATCH + 24.0 + widest } else { 0.0 }
}

/// Draws names with a sample of each curve, in as many lines as needed. Returns the height.
pub(super) fn legend(width: f64, top: f64, entries: &[(&str, &Style)], weight: f64) -> (Markup, f64) {
    const LINE: f64 = 18.0;
    let (mut x, mut y) = (8.0, top + 12.0);
    let mut marks = Vec::new();
    let named: Vec<_> = entries.iter().filter(|(name, _)| !name.is_empty()).collect();
    if named.is_empty() && !entries.is_empty() {
        return (Markup::default(), 0.0);
    }
    for (name, style) in named {
        let space = width - SWATCH - 24.0;
        let taken = SWATCH + 6.0 + text_width(name, TEXT).min(space);
        if x > 8.0 && x + taken > width - 4.0 {
            (x, y) = (8.0, y + LINE);
        }
        let label = label(x + SWATCH + 6.0, y, TEXT, Anchor::Start, space, name);
        marks.push(html! { g class="key" data-series=(name) { (swatch(x, y - 4.0, SWATCH, style, weight)) (label) } });
        x += taken + 18.0;
    }
    (html! { @for mark in marks { (mark) } }, y + 8.0 - top)
}

/// Draws the sample of a curve, or a box in the colour of an area.
fn swatch(x: f64, y: f64, length: f64, style: &Style, weight: f64) -> Markup {
    if weight < BOX {
        return curve(&format!("M{} {}h{length}", px(x), px(y)), style, weight, "");
    }
    let (top, area) = (y - BOX / 2.0, [x, y - BOX / 2.0, length, BOX]);
    html! {
        rect x=(px(x)) y=(px(top)) width=(length) height=(BOX) fill=(style.colour) stroke=(style.colour) {}
        @if weight < BANDS { (hatching::diagonal(area, style.stripes)) }
        @else { (hatching::vertical(area, style.stripes)) }
    }
}

/// Share of an estimated width that a text at least has. Most texts are narrower than estimated.
pub(crate) const TOO_WIDE: f64 = 0.95;

/// Estimates the width of a text in a common sans-serif typeface, rather too wide than too narrow.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| size * letter_width(c)).sum()
}

fn letter_width(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | 'I' | ' ' | '.' | ',' | ':' | ';' | '!' | '|' | '\'' | '('
        | ')' | '-' => 0.36,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.92,
        'A'..='Z' | '+' | '=' | '<' | '>' => 0.72,
        c if u32::from(c) >= 0x1100 => 1.05,
        _ => 0.58,
    }
}

/// Wraps a small text to this width. Returns `None` if a word is wider.
pub(super) fn wrapped(text: &str, space: f64) -> Option<Vec<String>> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        if text_width(word, SMALL) > space {
            return None;
        }
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), SMALL) <= space => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    Some(lines)
}

/// Shortens a text to `space`. The beginning and the end are kept around an ellipsis, because
/// related names mostly differ at the end.
pub(super) fn shortened(text: &str, size: f64, space: f64) -> String {
    if text_width(text, size) <= space {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let fits = |letters: &mut dyn Iterator<Item = &char>, space: f64| {
        let mut left = space;
        letters
            .take_while(|c| {
                left -= size * letter_width(**c);
                left >= 0.0
            })
            .count()
    };
    let space = space - size;
    let head = fits(&mut letters.iter(), space * HEAD);
    let tail = fits(&mut letters[head..].iter().rev(), space * (1.0 - HEAD));
    let words = |part: &[char]| part.iter().collect::<String>();
    format!("{}…{}", words(&letters[..head]).trim_end(), words(&letters[letters.len() - tail..]).trim_start())
}

/// Share of a shortened text that is its beginning.
const HEAD: f64 = 0.3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_text_keeps_the_end_in_which_it_differs() {
        let names = ["reading = window gain, smoothed RTT", "reading = window gain, latest RTT"];
        let short = names.map(|name| shortened(name, SMALL, 150.0));
        assert!(short[0] != short[1] && short.iter().all(|s| text_width(s, SMALL) <= 150.0), "{short:?}");
        assert!(short[0].starts_with("reading") && short[0].ends_with("smoothed RTT"), "{short:?}");
        assert_eq!(shortened("short", SMALL, 120.0), "short");
        assert_eq!(shortened("anything", SMALL, 0.0), "…");
    }
}
