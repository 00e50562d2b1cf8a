//! The Nyquist plot: the frequency response in the complex plane near the critical point.

use maud::{Markup, html};
use num_complex::Complex64;

use super::axis::Scale;
use super::frame::{Frame, Plot};
use super::loops::Curve;
use super::path;
use super::place::{self, Area};
use super::svg::{self, Figure, TEXT, WIDTH};
use crate::colours::{AXIS, INK, MUTED, PAPER};
use crate::number;
use stability::margins::degrees;

/// The visible part: the unit circle and its surroundings. One unit has the same length on both
/// axes.
const REAL: (f64, f64) = (-2.2, 1.2);
const IMAGINARY: (f64, f64) = (-1.6, 1.2);
/// Frequencies with an arrow on the curve, below, between and above the crossovers, as shares of
/// the phase crossover.
const ARROWS: [f64; 3] = [0.2, 0.65, 1.6];

/// The complex plane.
struct Plane(Plot);

/// A marked point with its label.
struct Mark {
    at: Complex64,
    colour: String,
    words: String,
}

/// Draws the Nyquist plot of these loops, which have the same critical point.
pub(super) fn draw(curves: &[Curve]) -> Figure {
    let entries: Vec<_> = curves.iter().map(|c| (c.name, &c.style)).collect();
    let mut frame = Frame::with_legend(WIDTH, &entries, svg::PIECE);
    let unit = (frame.sides.1 - frame.sides.0) / (REAL.1 - REAL.0);
    let (real, imaginary) = (Scale::exact(REAL.0, REAL.1, 7), Scale::exact(IMAGINARY.0, IMAGINARY.1, 6));
    let plane = Plane(frame.plot(14.0, unit * (IMAGINARY.1 - IMAGINARY.0), &real, &imaginary));
    let critical = curves.first().map_or(-1.0, |c| -1.0 / c.open.links);
    frame.draw(html! {
        (plane.grid())
        (plane.circle(1.0, "unit circle"))
        @if critical > -1.0 { (plane.circle(-critical, "circle of radius 1/M")) }
        @for curve in curves { (plane.branches(curve)) }
        (plane.marks(curves, critical))
    });
    frame.axes(&plane.0, ["Real part of G", "Imaginary part of G"], Some(REMARK));
    frame.figure("nyquist", "Nyquist plot", "")
}

const REMARK: &str = "Arrows: rising frequency. Faint: negative frequencies. Dots: margins.";

impl Plane {
    fn at(&self, z: Complex64) -> (f64, f64) {
        self.0.at((z.re, z.im))
    }

    fn shows(z: Complex64) -> bool {
        (REAL.0..=REAL.1).contains(&z.re) && (IMAGINARY.0..=IMAGINARY.1).contains(&z.im)
    }

    fn grid(&self) -> Markup {
        let (origin, (top, bottom)) = (self.at(Complex64::ZERO), self.0.span());
        html! {
            (self.0.grid(true))
            (svg::x_axis_line(self.0.x.left(), self.0.x.right(), origin.1))
            (svg::line(origin.0, top, origin.0, bottom, AXIS))
        }
    }

    fn circle(&self, radius: f64, name: &str) -> Markup {
        let (x, y) = self.at(Complex64::ZERO);
        let pixels = self.0.x.at(radius) - x;
        html! {
            circle cx=(svg::px(x)) cy=(svg::px(y)) r=(svg::px(pixels)) fill="none" stroke=(MUTED) stroke-dasharray="2 3" {
                title { (name) }
            }
        }
    }

    /// Draws positive frequencies, and negative ones as the mirror image.
    fn branches(&self, curve: &Curve) -> Markup {
        let response: Vec<_> = curve.frequencies(1e-3, 60.0).map(|w| curve.open.at(w)).collect();
        let line = |mirror: fn(Complex64) -> Complex64| {
            let seen = response.iter().map(|g| mirror(*g));
            path::polyline(seen.map(|g| Self::shows(g).then(|| self.at(g))))
        };
        let (positive, negative) = (line(|g| g), line(|g| g.conj()));
        html! {
            g stroke-opacity=".35" { (svg::curve(&negative, &curve.style, 1.2, curve.name)) }
            (svg::curve(&positive, &curve.style, 1.8, curve.name))
            @for arrow in ARROWS.iter().filter_map(|share| self.arrow(curve, *share)) { (arrow) }
        }
    }

    /// Draws an arrow at this share of the phase crossover's frequency.
    fn arrow(&self, curve: &Curve, share: f64) -> Option<Markup> {
        let w = share * curve.margins.phase_crossover;
        let (before, here) = (curve.open.at(0.99 * w), curve.open.at(w));
        let ((x0, y0), (x, y)) = (self.at(before), self.at(here));
        let length = (x - x0).hypot(y - y0);
        if !Self::shows(here) || length == 0.0 {
            return None;
        }
        let (dx, dy) = ((x - x0) / length, (y - y0) / length);
        let corner = |along: f64, across: f64| (x + along * dx - across * dy, y + along * dy + across * dx);
        let head = path::outline([corner(6.0, 0.0), corner(-4.0, 4.5), corner(-4.0, -4.5)].into_iter());
        Some(html! { path d=(head) fill=(curve.style.colour) {} })
    }

    /// Draws the critical point and the crossovers with their labels.
    fn marks(&self, curves: &[Curve], critical: f64) -> Markup {
        let mut marks = vec![Mark { at: (-1.0).into(), colour: INK.to_owned(), words: "−1".to_owned() }];
        if critical > -1.0 {
            marks.push(Mark { at: critical.into(), colour: INK.to_owned(), words: "−1/M".to_owned() });
        }
        let criticals = marks.len();
        marks.extend(curves.iter().flat_map(crossovers));
        marks.retain(|m| Self::shows(m.at));
        let points: Vec<_> = marks.iter().map(|m| self.at(m.at)).collect();
        let sizes: Vec<_> = marks.iter().map(|m| (svg::text_width(&m.words, TEXT), TEXT)).collect();
        let space = Area::inside(&self.0);
        let labels = place::labels(&points, &sizes, &space, self.obstacles(curves));
        html! {
            (place::leaders(&points, &labels))
            @for (i, (mark, (x, y))) in marks.iter().zip(&points).enumerate() {
                @if i < criticals { (cross(*x, *y)) } @else {
                    circle cx=(svg::px(*x)) cy=(svg::px(*y)) r="4" fill=(mark.colour) stroke=(PAPER) {}
                }
            }
            (place::names(marks.iter().map(|mark| &mark.words), &labels))
        }
    }

    /// Returns what labels should not cover: the curves, the unit circle and the real axis.
    fn obstacles(&self, curves: &[Curve]) -> Vec<Area> {
        let responses =
            curves.iter().flat_map(|c| c.frequencies(0.05, 20.0).step_by(4).map(|w| c.open.at(w)));
        let circle = (0..72).map(|i| Complex64::cis(f64::from(i) * std::f64::consts::PI / 36.0));
        let axis = (0..60).map(|i| Complex64::from(REAL.0 + f64::from(i) * (REAL.1 - REAL.0) / 60.0));
        let all = responses.chain(circle).chain(axis).filter(|z| Self::shows(*z)).map(|z| self.at(z));
        all.map(|(x, y)| Area::around(x, y, 3.0, 3.0)).collect()
    }
}

/// Returns the points where |G| = 1/M and where the phase is -180 degrees.
fn crossovers(curve: &Curve) -> impl Iterator<Item = Mark> {
    let Curve { open, margins, .. } = curve;
    let mark = |w: f64, words: String| Mark { at: open.at(w), colour: curve.style.colour.clone(), words };
    let gain = margins.gain_crossover.zip(margins.phase_margin);
    let gain = gain.map(|(w, margin)| mark(w, format!("{}°", number::fixed(degrees(margin), 0))));
    let phase = mark(margins.phase_crossover, format!("× {}", number::fixed(margins.gain_margin, 2)));
    gain.into_iter().chain([phase])
}

fn cross(x: f64, y: f64) -> Markup {
    let data = format!("M{} {}h12m-6-6v12", svg::px(x - 6.0), svg::px(y));
    html! { path d=(data) stroke=(INK) stroke-width="2" fill="none" {} }
}
