//! Nyquist's criterion and the margins of an [`OpenLoop`].
//!
//! The magnitude of G falls with the frequency, so it crosses 1/M at most once. For beta <= 1 the
//! phase crosses -180 degrees exactly once before the delay term dominates, because w - atan(w/a) -
//! atan(eta b/w) first falls and then rises. Later crossings of the real axis are closer to zero.
//! So bisection finds both crossings.

use std::f64::consts::{FRAC_PI_2, PI};

use num_complex::Complex64;
use serde::Serialize;

use super::open_loop::OpenLoop;

/// Margins of a loop, with frequencies in multiples of 1/RTT, times in RTTs and angles in radians.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Margins {
    /// Frequency at which |G| = 1/M. `None` if |G| is larger at all frequencies.
    pub gain_crossover: Option<f64>,
    /// Distance of the phase at the gain crossover from -180 degrees. Negative if the phase is
    /// below.
    pub phase_margin: Option<f64>,
    /// Additional delay at which the loop becomes unstable.
    pub delay_margin: Option<f64>,
    /// Frequency at which the phase is -180 degrees.
    pub phase_crossover: f64,
    /// Gain margin 1 / (M |G|) at the phase crossover: the factor to the critical point with
    /// unchanged poles.
    pub gain_margin: f64,
    /// Largest stable eta, which also moves the second pole. `None` if every eta is stable.
    pub largest_gain: Option<f64>,
    /// Clockwise encirclements of -1/M by G, over positive and negative frequencies.
    pub encirclements: i64,
    /// Number of open-loop poles in the right half plane, or outside the unit circle.
    pub open_poles: i64,
    /// Number of closed-loop poles there. The loop is stable if there are none.
    pub closed_poles: i64,
}

/// Frequency below all features of the response.
const LOWEST: f64 = 1e-9;
/// Frequency above which |G| cannot be 1/M.
const HIGHEST: f64 = 1e6;
/// Range in which the largest stable gain is searched.
const GAINS: (f64, f64) = (1e-6, 1e3);

impl Margins {
    /// Computes the margins of a loop.
    pub fn new(open: &OpenLoop) -> Self {
        let gain_crossover = gain_crossover(open);
        let phase_margin = gain_crossover.map(|w| PI + open.phase(w));
        let delay_margin = gain_crossover.zip(phase_margin).map(|(w, margin)| margin / w);
        let phase_crossover = phase_crossover(open);
        let encirclements = encirclements(open);
        let open_poles = open.unstable_poles();
        Self {
            gain_crossover,
            phase_margin,
            delay_margin: delay_margin.filter(|d| *d > 0.0),
            phase_crossover,
            gain_margin: 1.0 / (open.links * open.at(phase_crossover).norm()),
            largest_gain: largest_gain(open),
            encirclements,
            open_poles,
            closed_poles: encirclements + open_poles,
        }
    }

    /// Reports whether the loop is stable by Nyquist's criterion.
    pub fn is_stable(&self) -> bool {
        self.closed_poles == 0
    }
}

/// Finds the point at which `is_beyond` becomes true between two positive numbers, to the last bit.
fn bisect(mut low: f64, mut high: f64, is_beyond: impl Fn(f64) -> bool) -> f64 {
    loop {
        // The geometric mean: the range may span many decades.
        let middle = low.sqrt() * high.sqrt();
        if middle <= low || middle >= high {
            return high;
        }
        if is_beyond(middle) { high = middle } else { low = middle }
    }
}

fn gain_crossover(open: &OpenLoop) -> Option<f64> {
    let is_beyond = |w: f64| open.links * open.at(w).norm() < 1.0;
    let high = open.top().min(HIGHEST);
    is_beyond(high).then(|| bisect(LOWEST, high, is_beyond))
}

fn phase_crossover(open: &OpenLoop) -> f64 {
    // At w = pi, delay and integrator alone contribute -270 degrees, and the zero at most +90.
    bisect(LOWEST, PI, |w| open.phase(w) < -PI)
}

fn largest_gain(open: &OpenLoop) -> Option<f64> {
    let is_beyond = |gain: f64| {
        let open = open.with_gain(gain);
        open.links * open.at(phase_crossover(&open)).norm() > 1.0
    };
    is_beyond(GAINS.1).then(|| bisect(GAINS.0, GAINS.1, is_beyond))
}

/// Counts the clockwise encirclements of -1/M. The path passes to the right of the pole at s = 0 (z
/// = 1), which is a half-turn at infinity.
fn encirclements(open: &OpenLoop) -> i64 {
    let difference = |w: f64| 1.0 + open.links * open.at(w);
    let pole = open.gain * open.price;
    // From far below pole and zero up to M |G| < 1/3, which cannot encircle the point any more.
    let (low, high) =
        (1e-4 * pole.min(open.slope).min(1.0), open.top().min(4.0 * open.links * open.gain + 10.0));
    let turned = turn(&difference, &frequencies(low, high, 0.01).collect::<Vec<_>>());
    // The half-turn of the indentation, minus the angle of both branches. Without encirclements,
    // both go from -90 degrees to 0.
    ((PI - 2.0 * turned) / (2.0 * PI)).round() as i64
}

/// Returns the angle by which a curve turns around zero along rising frequencies.
pub(super) fn turn(f: &impl Fn(f64) -> Complex64, points: &[f64]) -> f64 {
    points.windows(2).map(|w| turn_between(f, (w[0], f(w[0])), (w[1], f(w[1])), 40)).sum()
}

/// Returns the angle between two points, and halves the step until it is unambiguous.
fn turn_between(
    f: &impl Fn(f64) -> Complex64,
    a: (f64, Complex64),
    b: (f64, Complex64),
    halvings: u32,
) -> f64 {
    let angle = (b.1 / a.1).arg();
    if angle.abs() < 0.5 || halvings == 0 {
        return angle;
    }
    let middle = f64::midpoint(a.0, b.0);
    let middle = (middle, f(middle));
    turn_between(f, a, middle, halvings - 1) + turn_between(f, middle, b, halvings - 1)
}

/// Returns frequencies from `low` to `high` in relative steps of `share`. Steps are limited so that
/// the delay turns the curve only a little.
pub fn frequencies(low: f64, high: f64, share: f64) -> impl Iterator<Item = f64> {
    let next = move |w: &f64| (*w < high).then(|| (w + (w * share).min(0.05)).min(high));
    std::iter::successors(Some(low), next)
}

/// Converts radians to degrees.
pub fn degrees(angle: f64) -> f64 {
    angle * 90.0 / FRAC_PI_2
}

#[cfg(test)]
mod tests {
    use super::super::open_loop::tests::default;
    use super::*;

    fn near(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance * b.abs(), "{a} is not {b}");
    }

    /// Returns loops with various rates (from 1.01 h/beta up), prices, gains and links.
    fn loops() -> Vec<OpenLoop> {
        let mut all = Vec::new();
        for updates in [None, Some(1), Some(2), Some(8)] {
            for (beta, overshoot) in [(0.1, 0.99), (0.1, 0.2), (0.1, 1e-4), (1.0, 0.5), (0.05, 0.02)] {
                for (gain, links) in [(0.1, 1.0), (0.4, 1.0), (0.4, 3.0), (0.9, 2.0), (1.4, 1.0), (3.0, 1.0)]
                {
                    let price = beta * overshoot;
                    all.push(OpenLoop { gain, slope: beta - price, price, links, updates });
                }
            }
        }
        all
    }

    /// The gain crossover solves |G| = 1/M, which is quadratic in w^2.
    #[test]
    fn gain_crossover_in_closed_form() {
        for open in loops().into_iter().filter(|l| l.updates.is_none()) {
            let (g, c) = (open.links * open.gain, open.gain * open.price);
            let (g2, c2) = (g * g, c * c);
            let half = (g2 - c2) / 2.0;
            let expected = (half + (half * half + g2 * open.slope * open.slope).sqrt()).sqrt();
            near(gain_crossover(&open).unwrap(), expected, 1e-12);
        }
    }

    /// Without prices, (46) is a delayed integrator. Its largest gain is pi/2, and its gain margin
    /// pi/2 over eta.
    #[test]
    fn integrator() {
        let open = OpenLoop { gain: 0.4, slope: 1e-9, price: 1e-9, links: 1.0, updates: None };
        let margins = Margins::new(&open);
        near(margins.largest_gain.unwrap(), FRAC_PI_2, 1e-6);
        near(margins.gain_margin, FRAC_PI_2 / 0.4, 1e-6);
        near(margins.phase_margin.unwrap(), FRAC_PI_2 - 0.4, 1e-6);
        // Sampled once per RTT it is u[n] = u[n-1] - eta u[n-2], so |z|^2 = eta.
        near(largest_gain(&OpenLoop { updates: Some(1), ..open }).unwrap(), 1.0, 1e-6);
    }

    /// The number of closed-loop poles changes from zero to two at the largest gain, for each loop.
    #[test]
    fn the_count_turns_at_the_largest_gain() {
        for open in loops() {
            let largest = Margins::new(&open).largest_gain.unwrap();
            for (factor, poles) in
                [(0.1, 0), (0.5, 0), (0.99, 0), (0.9999, 0), (1.0001, 2), (1.01, 2), (1.3, 2)]
            {
                let open = open.with_gain(factor * largest);
                assert_eq!(Margins::new(&open).closed_poles, poles, "{factor} {open:?}");
            }
        }
    }

    /// All criteria agree: gain margin above 1, phase margin above 0, gain below the largest, no
    /// unstable pole.
    #[test]
    fn margins_agree() {
        for open in loops() {
            let margins = Margins::new(&open);
            let stable = margins.is_stable();
            assert_eq!(stable, margins.gain_margin > 1.0, "{open:?}");
            assert_eq!(stable, margins.largest_gain.is_none_or(|largest| open.gain < largest), "{open:?}");
            assert_eq!(stable, margins.phase_margin.is_some_and(|m| m > 0.0), "{open:?}");
            assert_eq!(stable, margins.delay_margin.is_some(), "{open:?}");
        }
    }

    /// At the largest gain, the closed loop's characteristic equation has a root on the imaginary
    /// axis. The equation is p (p + eta b) + M eta (p + a) e^-p = 0.
    #[test]
    fn the_characteristic_equation_at_the_boundary() {
        for open in loops().into_iter().filter(|l| l.updates.is_none()) {
            let open = open.with_gain(largest_gain(&open).unwrap());
            let p = Complex64::new(0.0, phase_crossover(&open));
            let zero =
                p * (p + open.gain * open.price) + open.links * open.gain * (p + open.slope) * (-p).exp();
            assert!(zero.norm() < 1e-9 * p.norm_sqr(), "{open:?}: {zero}");
        }
    }

    /// With the delay margin as additional delay, the loop is at its stability boundary.
    #[test]
    fn delay_margin() {
        let open = default(None);
        let margins = Margins::new(&open);
        let (w, more) = (margins.gain_crossover.unwrap(), margins.delay_margin.unwrap());
        let there = open.at(w) * Complex64::cis(-w * more);
        assert!((there + 1.0).norm() < 1e-9, "{there}");
    }

    /// The result agrees with Jury's conditions for the cubic z (z-1)(z-1+eta b) + eta (z-1) + eta
    /// a (z+1)/2, with one sample per RTT.
    #[test]
    fn jury() {
        for open in loops().into_iter().filter(|l| l.updates == Some(1)) {
            let (eta, a, c) = (open.gain * open.links, open.slope, open.gain * open.price);
            let (c2, c1, c0) = (c - 2.0, 1.0 - c + eta + eta * a / 2.0, eta * a / 2.0 - eta);
            let jury = 1.0 + c2 + c1 + c0 > 0.0
                && 1.0 - c2 + c1 - c0 > 0.0
                && (1.0 - c0 * c0) > (c1 - c2 * c0).abs();
            assert_eq!(jury, Margins::new(&open).is_stable(), "{open:?}");
        }
    }

    /// Near h / beta, delay hardly matters. Every gain is stable if the controller acts
    /// continuously.
    #[test]
    fn every_gain() {
        let open = OpenLoop { gain: 0.4, slope: 1e-6, price: 1.0 - 1e-6, links: 1.0, updates: None };
        assert_eq!(Margins::new(&open).largest_gain, None);
        assert!(Margins::new(&open.with_gain(100.0)).is_stable());
    }

    /// The smallest gain ends at rates up to the largest, and is stable.
    #[test]
    fn the_smallest_gain() {
        for (price, slope) in [(1e-2, 0.09), (1e-19, 0.1), (1.0 - 1e-9, 1e-9), (1e-19, 1e-19)] {
            for updates in [None, Some(1)] {
                let open = OpenLoop { gain: 1e-6, slope, price, links: 1.0, updates };
                assert!(Margins::new(&open).is_stable(), "{open:?}");
            }
        }
    }

    /// The figures of docs/src/reference/stability.md are correct: 1 Mbit/s, defaults, RTT of 100
    /// ms.
    #[test]
    fn documented() {
        let margins = |updates| Margins::new(&default(updates));
        for (updates, [gain_crossover, phase_margin, delay_margin, phase_crossover, gain_margin]) in
            [(None, [4.076, 56.67, 242.7, 15.236, 3.8038]), (Some(1), [4.117, 44.87, 190.2, 10.036, 2.3890])]
        {
            let m = margins(updates);
            near(m.gain_crossover.unwrap() / 0.1, gain_crossover, 5e-4);
            near(degrees(m.phase_margin.unwrap()), phase_margin, 5e-4);
            near(m.delay_margin.unwrap() * 100.0, delay_margin, 5e-4);
            near(m.phase_crossover / 0.1, phase_crossover, 5e-4);
            near(m.gain_margin, gain_margin, 5e-4);
        }
        let largest = [Some(1), Some(2), Some(4), Some(8), Some(16), None];
        for (updates, gain) in largest.into_iter().zip([0.9566, 1.1929, 1.3490, 1.4387, 1.4868, 1.5371]) {
            near(margins(updates).largest_gain.unwrap(), gain, 1e-4);
        }
    }
}
