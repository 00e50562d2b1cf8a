//! The Bode plot: gain and phase over the frequency, with the margins.

use std::f64::consts::PI;

use maud::{Markup, html};

use super::axis::{Scale, extent};
use super::frame::{Frame, Plot};
use super::loops::Curve;
use super::path;
use super::svg::{self, Anchor, Figure, SMALL, TEXT, WIDTH};
use crate::colours::{AXIS, GRID, MUTED, PAPER};
use crate::number;
use stability::Analysis;
use stability::margins::degrees;
use stability::text::decibels;

const LEFT: f64 = 56.0;
const PANEL: f64 = 150.0;
/// Phases beyond the last turn add nothing.
const PHASES: (f64, f64) = (-360.0, -90.0);
/// Most decades below the frequency of one turn per RTT.
const MOST_DECADES: f64 = 6.0;

struct Loops<'a> {
    curves: &'a [Curve],
    /// RTT in seconds.
    rtt: f64,
    /// Frequency axis in decades of rad/s.
    frequency: Scale,
}

/// A panel: gain or phase.
struct Panel<'a> {
    plot: Plot,
    /// The value that decides on stability.
    critical: f64,
    value: &'a dyn Fn(&Curve, f64) -> f64,
}

/// Draws the Bode plot of these loops.
pub(super) fn draw(analysis: &Analysis, curves: &[Curve]) -> Figure {
    let rtt = analysis.setting.rtt.as_secs_f64();
    let (low, high) = decades(analysis, rtt);
    let frequency = Scale::exact(low, high, (high - low) as usize).on(LEFT, WIDTH - 14.0);
    let plot = Loops { curves, rtt, frequency };
    let entries: Vec<_> = curves.iter().map(|c| (c.name, &c.style)).collect();
    let mut frame = Frame::with_legend(WIDTH, &entries, svg::PIECE);
    frame.sides.0 = LEFT;
    let gain = |c: &Curve, w: f64| decibels(c.open.at(w).norm());
    let phase = |c: &Curve, w: f64| degrees(c.open.phase(w));
    let gains = Panel {
        plot: frame.plot(30.0, PANEL, &plot.frequency, &plot.gains(&gain)),
        critical: -decibels(f64::from(analysis.setting.links)),
        value: &gain,
    };
    let scale = Scale::exact(PHASES.0, PHASES.1, 1).with_ticks(90.0);
    let phases =
        Panel { plot: frame.plot(32.0, PANEL, &plot.frequency, &scale), critical: -180.0, value: &phase };
    frame.draw(html! {
        (svg::heading(8.0, gains.plot.span().0 - 9.0, "Gain (dB)"))
        (plot.panel(&gains, false))
        @for c in curves { (plot.gain_margin(&gains, c)) }
        (svg::heading(8.0, phases.plot.span().0 - 9.0, "Phase (degrees)"))
        (plot.panel(&phases, true))
        @for margin in curves.iter().filter_map(|c| plot.phase_margin(&phases, c)) { (margin) }
    });
    frame.foot("Angular frequency (rad/s)", &[REMARK.to_owned()]);
    frame.figure("bode", "Bode plot", "")
}

const REMARK: &str = "Vertical lines: margins, measured to the dashed lines at 1/M and −180°.";

/// Returns whole decades around the second pole and the phase crossovers, as logarithms of rad/s.
fn decades(analysis: &Analysis, rtt: f64) -> (f64, f64) {
    let high = libm::log10(2.0 * PI / rtt).ceil();
    let pole = libm::log10(-analysis.setting.open_loop(None).pole() / rtt / 3.0).floor();
    (pole.clamp(high - MOST_DECADES, high - 3.0), high)
}

impl Loops<'_> {
    /// Returns the curve's frequencies in multiples of 1/RTT. The sampled loop ends at half its
    /// update rate.
    fn frequencies<'a>(&self, curve: &'a Curve) -> impl Iterator<Item = f64> + use<'a> {
        let ends = [self.frequency.low(), self.frequency.high()];
        let [low, high] = ends.map(|log| libm::exp10(log) * self.rtt);
        curve.frequencies(low, high)
    }

    fn gains(&self, gain: &dyn Fn(&Curve, f64) -> f64) -> Scale {
        let values = self.curves.iter().flat_map(|c| self.frequencies(c).map(|w| gain(c, w)));
        let (low, high) = extent(values).unwrap_or((-20.0, 20.0));
        let tick = if high - low > 120.0 { 40.0 } else { 20.0 };
        Scale::exact((low.max(-60.0) / tick).floor() * tick, (high / tick).ceil() * tick, 1).with_ticks(tick)
    }

    fn x(&self, w: f64) -> f64 {
        self.frequency.at(libm::log10(w / self.rtt))
    }

    fn panel(&self, panel: &Panel<'_>, with_labels: bool) -> Markup {
        let critical = panel.plot.y.at(panel.critical);
        html! {
            (self.grid(panel, with_labels))
            (svg::grid_y(&panel.plot.y, self.frequency.left(), self.frequency.right()))
            (panel.plot.axis())
            line x1=(self.frequency.left()) x2=(self.frequency.right()) y1=(svg::px(critical)) y2=(svg::px(critical)) stroke=(AXIS) stroke-dasharray="5 3" {}
            @for curve in self.curves { (svg::curve(&self.line(panel, curve), &curve.style, 1.8, curve.name)) }
        }
    }

    fn line(&self, panel: &Panel<'_>, curve: &Curve) -> String {
        let (low, high) = (panel.plot.y.low(), panel.plot.y.high());
        let point = |w: f64| {
            let value = (panel.value)(curve, w);
            (low..=high).contains(&value).then(|| (self.x(w), panel.plot.y.at(value)))
        };
        path::polyline(self.frequencies(curve).map(point))
    }

    /// Draws decades with labels, and fainter lines between them.
    fn grid(&self, panel: &Panel<'_>, with_labels: bool) -> Markup {
        let x = |log: f64| self.frequency.at(log);
        let (top, bottom) = panel.plot.span();
        html! {
            @for decade in &self.frequency.ticks {
                @for part in 2..10 {
                    @let log = decade + libm::log10(f64::from(part));
                    @if log < self.frequency.high() {
                        line x1=(svg::px(x(log))) x2=(svg::px(x(log))) y1=(svg::px(top)) y2=(svg::px(bottom))
                            stroke=(GRID) stroke-opacity=".55" {}
                    }
                }
                (svg::line(x(*decade), top, x(*decade), bottom, GRID))
                @if with_labels {
                    (svg::text(x(*decade), bottom + 15.0, SMALL, MUTED, Anchor::Middle, &power(*decade)))
                }
            }
        }
    }

    fn gain_margin(&self, panel: &Panel<'_>, curve: &Curve) -> Markup {
        let words = format!("{} dB", number::fixed(decibels(curve.margins.gain_margin), 1));
        let is_higher = curve.open.updates.is_some();
        self.margin(panel, curve, curve.margins.phase_crossover, &words, is_higher)
    }

    fn phase_margin(&self, panel: &Panel<'_>, curve: &Curve) -> Option<Markup> {
        let w = curve.margins.gain_crossover?;
        let words = format!("{}°", number::fixed(degrees(curve.margins.phase_margin?), 1));
        let is_higher = curve.open.updates.is_none();
        let is_shown = (panel.value)(curve, w) >= panel.plot.y.low();
        is_shown.then(|| self.margin(panel, curve, w, &words, is_higher))
    }

    /// Draws a margin: a vertical line from the curve to the critical value. Curves fall to the
    /// right. The words of the higher curve fit above it on its right, those of the lower one below
    /// it on its left.
    fn margin(&self, panel: &Panel<'_>, curve: &Curve, w: f64, words: &str, is_higher: bool) -> Markup {
        let colour = &curve.style.colour;
        let (x, y, to) =
            (self.x(w), panel.plot.y.at((panel.value)(curve, w)), panel.plot.y.at(panel.critical));
        let (text_x, text_y) = if is_higher {
            (x + 1.0, to.min(y) - 7.0)
        } else {
            (x - 3.0 - svg::text_width(words, TEXT), to.max(y) + 15.0)
        };
        html! {
            line x1=(svg::px(x)) x2=(svg::px(x)) y1=(svg::px(y)) y2=(svg::px(to)) stroke=(colour) stroke-width="1.4" {}
            circle cx=(svg::px(x)) cy=(svg::px(y)) r="3.5" fill=(colour) stroke=(PAPER) {}
            (svg::haloed(text_x, text_y, words))
        }
    }
}

/// Formats a power of ten: `0.01`, `1`, `100`, and `1e6` beyond.
fn power(log: f64) -> String {
    match log.round() as i32 {
        n @ 0..=4 => number::fixed(libm::exp10(f64::from(n)), 0),
        n @ -4..0 => number::fixed(libm::exp10(f64::from(n)), -n as usize),
        n => format!("1e{n}"),
    }
}
