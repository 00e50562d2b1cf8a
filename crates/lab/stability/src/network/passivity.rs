//! Quantities of the passivity proof of the system without delays (section IV-A and appendix A),
//! along a run of the fluid model.
//!
//! ```text
//! V_user  = sum of 1/(k_r alpha) int from x^ to x of (z - x^)/z dz                        (31)
//! V_link  = 1/2 sum of c dd^2 + 1/alpha sum of (c - y^) d                                 (32)
//! W_user  = -1/alpha dx^T (U'(x) - U'(x^)) >= 0                                           (52)
//! W_link  = -dq^T (y^ - c) >= 0                                                           (57)
//! V_user' = -W_user - 1/alpha dy^T d' - 1/alpha dx^T (v(e) - v(e^))                       (48) to (50)
//!        <= -W_user - 1/alpha dy^T d' - dy^T dd                                           (51), (52)
//! V_link' <= -W_link + dy^T dd + 1/alpha dy^T d'                                          (54) to (60)
//! V'      <= -W_user - W_link                                                             (27) to (30)
//! ```
//!
//! alpha is the largest slope of any price, so that (53) holds: (v(e) - v(e^))/alpha < de for a
//! rise. But (51) needs dx_r (v(e_r) - v(e^_r))/alpha >= dx_r de_r. That is the opposite when rate
//! and delay are on the same side of their equilibrium: **there (51) does not follow from (53), and
//! V may grow.** The missing term is
//!
//! ```text
//! gap = sum of dx_r (de_r - (v_r(e_r) - v_r(e^_r))/alpha)            V' <= -W_user - W_link + gap
//! ```
//!
//! It is 0 if the price is proportional to the delay. On one full link whose flows have the same
//! price, the claim itself holds with the storage function of a bent price:
//!
//! ```text
//! V_bent  = V_user + c/alpha int from e^ to e of (v(z) - v(e^)) dz                  V_bent' <= -W_user
//! ```

use serde::Serialize;

use super::fluid::Fluid;
use super::{Equilibrium, Network};
use crate::dde::History;

/// Quantities at one time. Storage functions are in bit s, and their slopes in bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Moment {
    /// Time, in seconds.
    pub time: f64,
    /// User storage, (31).
    pub v_user: f64,
    /// Link storage, (32), minus its value at equilibrium.
    pub v_link: f64,
    /// User dissipation, (52).
    pub w_user: f64,
    /// Link dissipation, (57).
    pub w_link: f64,
    /// Term that is missing in (51).
    pub gap: f64,
    /// Slope (V_user + V_link)', from the model's equations.
    pub slope: f64,
    /// Storage of a bent price. `None` with several links or prices.
    pub v_bent: Option<f64>,
}

/// The quantities along a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PassivityRun {
    /// Largest slope of a price, in 1/s.
    pub alpha: f64,
    /// Quantities at each step.
    #[serde(skip)]
    pub moments: Vec<Moment>,
}

/// Computes the proof's quantities around an equilibrium.
struct Proof<'a> {
    net: &'a Network,
    equilibrium: &'a Equilibrium,
    alpha: f64,
}

impl PassivityRun {
    /// Runs the model without delays, from these multiples of the queues and rates at equilibrium.
    pub fn run(net: &Network, equilibrium: &Equilibrium, queues: f64, rates: f64, end: f64) -> Self {
        let times = |factor: f64, values: &[f64]| values.iter().map(|v| factor * v).collect::<Vec<f64>>();
        let fluid = Fluid::undelayed(net, equilibrium);
        let (queues, rates) = (times(queues, &equilibrium.queues), times(rates, &equilibrium.rates));
        Self::from_history(net, equilibrium, &fluid.run(&queues, &rates, fluid.step(), end))
    }

    /// Computes the quantities along a run of the model without delays.
    pub fn from_history(net: &Network, equilibrium: &Equilibrium, past: &History) -> Self {
        let proof = Proof { net, equilibrium, alpha: alpha(net) };
        let moment = |n: usize| proof.moment(n as f64 * past.step(), past.row(n), past.slopes(n));
        Self { alpha: proof.alpha, moments: (0..past.len()).map(moment).collect() }
    }

    /// Returns the largest rise of V above an earlier value, as a share of its first value. It is 0
    /// if V only falls.
    pub fn growth(&self) -> f64 {
        self.most(|moment| Some(moment.v_user + moment.v_link))
    }

    /// Returns the same for V_bent, if it exists.
    pub fn bent_growth(&self) -> Option<f64> {
        self.moments.first()?.v_bent?;
        Some(self.most(|moment| moment.v_bent))
    }

    fn most(&self, storage: impl Fn(&Moment) -> Option<f64>) -> f64 {
        let all: Vec<f64> = self.moments.iter().filter_map(storage).collect();
        let first = all.first().copied().unwrap_or(1.0);
        let (_, most) =
            all.iter().fold((first, 0.0_f64), |(least, most), v| (least.min(*v), most.max(v - least)));
        most / first
    }
}

/// Returns the largest slope of a price. A price is steepest where it starts: at its threshold, or
/// at the delay of the empty path.
fn alpha(net: &Network) -> f64 {
    let empty = vec![0.0; net.links.len()];
    let steepest = |flow: &super::Flow| {
        let e = net.delay(flow, &empty).max(flow.threshold());
        let trip = e + flow.back;
        flow.params.beta * (flow.back + flow.threshold()) / (trip * trip)
    };
    net.flows.iter().map(steepest).fold(0.0, f64::max)
}

impl Proof<'_> {
    fn moment(&self, time: f64, values: &[f64], slopes: &[f64]) -> Moment {
        let Self { net, equilibrium, alpha } = self;
        let (queues, rates) = values.split_at(net.links.len());
        let mut all = Moment { time, ..Moment::default() };
        for (r, flow) in net.flows.iter().enumerate() {
            let (x, at) = (rates[r], equilibrium.rates[r]);
            let k = flow.params.gain / equilibrium.rtts[r];
            let (dx, e) = (x - at, net.delay(flow, queues));
            // Integral of (z - x^)/z.
            all.v_user += (dx - at * libm::log(x / at)) / (k * alpha);
            all.w_user -= dx * (flow.h() / x - flow.h() / at) / alpha;
            let dv = flow.price(e) - flow.price(equilibrium.delays[r]);
            all.gap += dx * ((e - equilibrium.delays[r]) - dv / alpha);
            all.slope += dx / x * slopes[net.links.len() + r] / (k * alpha);
        }
        for (l, link) in net.links.iter().enumerate() {
            let (dq, spare) = (queues[l] - equilibrium.queues[l], link.rate - equilibrium.loads[l]);
            all.v_link += link.rate * dq * dq / 2.0 + spare * dq / alpha;
            all.w_link += dq * spare;
            all.slope += (link.rate * dq + spare / alpha) * slopes[l];
        }
        all.v_bent = self.bent(queues[0]).map(|more| all.v_user + more);
        all
    }

    /// Returns c/alpha times the integral of v - v^, on one full link.
    fn bent(&self, queue: f64) -> Option<f64> {
        let [link] = &self.net.links[..] else { return None };
        let first = &self.net.flows[0];
        let alike = |flow: &super::Flow| {
            let key = |flow: &super::Flow| (flow.params.beta, flow.params.threshold, flow.back);
            key(flow) == key(first)
        };
        if self.equilibrium.queues[0] <= 0.0 || !self.net.flows.iter().all(alike) {
            return None;
        }
        let (now, at) = (link.delay + queue, self.equilibrium.delays[0]);
        let area = integral(first, now) - integral(first, at) - first.price(at) * (now - at);
        Some(link.rate / self.alpha * area)
    }
}

/// Returns the integral of (17) up to e: beta ((e - T) - (T + back) ln((e + back)/(T + back))), and
/// 0 up to the threshold.
fn integral(flow: &super::Flow, e: f64) -> f64 {
    let (over, trip) = ((e - flow.threshold()).max(0.0), flow.threshold() + flow.back);
    flow.params.beta * (over - trip * libm::log1p(over / trip))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{link, network, parking_lot};
    use super::*;

    /// Initial queues and rates, as multiples of the equilibrium.
    const STARTS: [(f64, f64); 4] = [(0.0, 0.3), (0.0, 2.0), (0.5, 0.9), (3.0, 1.5)];
    /// Rounding error of the solver, as a share of V.
    const ROUNDING: f64 = 1e-7;

    fn course(net: &Network, start: (f64, f64)) -> PassivityRun {
        PassivityRun::run(net, &net.equilibrium().unwrap(), start.0, start.1, 200.0)
    }

    fn single() -> Network {
        network(vec![link(3e6, 0.025)], &[&[0], &[0], &[0]])
    }

    /// The storages (31) and (32) are 0 at equilibrium and positive elsewhere. The dissipations
    /// (52) and (57) are not negative.
    #[test]
    fn storages_and_dissipations() {
        let wide = network(vec![link(1e6, 0.02), link(3e6, 0.005)], &[&[0, 1], &[1]]);
        for net in [single(), parking_lot(), wide] {
            let equilibrium = net.equilibrium().unwrap();
            for start in STARTS {
                for m in course(&net, start).moments {
                    let floor = -1e-6;
                    assert!(m.v_user >= floor && m.v_link >= floor, "{m:?}");
                    assert!(m.w_user >= floor && m.w_link >= floor, "{m:?}");
                    assert!(m.v_bent.is_none_or(|v| v >= floor), "{m:?}");
                }
            }
            let proof = Proof { net: &net, equilibrium: &equilibrium, alpha: alpha(&net) };
            let at: Vec<f64> = equilibrium.queues.iter().chain(&equilibrium.rates).copied().collect();
            let m = proof.moment(0.0, &at, &vec![0.0; at.len()]);
            assert!([m.v_user, m.v_link, m.w_user, m.w_link, m.gap].iter().all(|v| v.abs() < 1e-6), "{m:?}");
        }
    }

    /// The integrals of (31) and of a bent price agree with the trapezoidal rule.
    #[test]
    fn integrals() {
        let net = single();
        let flow = &net.flows[0];
        let sum = |from: f64, to: f64, f: &dyn Fn(f64) -> f64| {
            let (n, width) = (20_000, (to - from) / 20_000.0);
            let at = |i: i32| from + width * f64::from(i);
            (0..n).map(|i| width * (f(at(i)) + f(at(i + 1))) / 2.0).sum::<f64>()
        };
        let area = sum(0.1, 0.4, &|e| flow.price(e));
        assert!((integral(flow, 0.4) / area - 1.0).abs() < 1e-7);
        assert_eq!(integral(flow, 0.09), 0.0);
        let (at, x) = (1e6_f64, 1.7e6_f64);
        let closed = x - at - at * libm::log(x / at);
        assert!((closed / sum(at, x, &|z| (z - at) / z) - 1.0).abs() < 1e-7);
    }

    /// By (48) to (60) without (51), V' is at most -W_user - W_link + gap. V' is the slope of V.
    #[test]
    fn the_inequality_with_its_gap() {
        for net in [single(), parking_lot()] {
            for start in STARTS {
                let PassivityRun { moments, .. } = course(&net, start);
                let scale = moments.iter().map(|m| m.slope.abs()).fold(0.0, f64::max);
                for m in &moments {
                    assert!(m.slope <= -m.w_user - m.w_link + m.gap + 1e-6 * scale, "{m:?}");
                }
                for w in moments.windows(3).step_by(97) {
                    let v = |m: &Moment| m.v_user + m.v_link;
                    let difference = (v(&w[2]) - v(&w[0])) / (w[2].time - w[0].time);
                    assert!((difference - w[1].slope).abs() < 2e-3 * scale, "{w:?}");
                }
            }
        }
    }

    /// For a rise, (53) holds but has the wrong direction for (51). The gap is positive when rate
    /// and delay are both above or both below their equilibrium.
    #[test]
    fn equation_53_is_not_what_51_needs() {
        let net = single();
        let (flow, equilibrium, alpha) = (&net.flows[0], net.equilibrium().unwrap(), alpha(&net));
        let at = equilibrium.delays[0];
        for de in [0.001, 0.05, 1.0] {
            let dv = flow.price(at + de) - flow.price(at);
            assert!(dv / alpha < de, "(53)");
            let dx = 1e5;
            assert!(dx * (de - dv / alpha) > 0.0);
        }
        assert!(course(&net, (0.0, 0.3)).moments[0].gap > 0.0);
        assert!(course(&net, (3.0, 1.5)).moments[0].gap > 0.0);
        assert!(course(&net, (0.0, 2.0)).moments[0].gap < 0.0);
    }

    /// On the paper's own setting, V grows temporarily by some percent. This happens when rates and
    /// delays start both above their equilibrium, or both somewhat below. The storage of the bent
    /// price never grows.
    #[test]
    fn v_grows_and_the_bent_storage_does_not() {
        for start in STARTS {
            let ours = course(&single(), start);
            let same_side = [(0.5, 0.9), (3.0, 1.5)].contains(&start);
            assert_eq!(ours.growth() > 0.01, same_side, "{start:?}: {}", ours.growth());
            assert!(ours.bent_growth().unwrap() < ROUNDING, "{start:?}: {:?}", ours.bent_growth());
        }
        assert!(course(&parking_lot(), STARTS[0]).bent_growth().is_none());
    }

    /// If the price is proportional to the delay, which a long return path achieves, V always
    /// falls, as the paper says.
    #[test]
    fn a_straight_price_needs_no_gap() {
        let mut net = single();
        for flow in &mut net.flows {
            // Keep k and the rates at equilibrium.
            (flow.back, flow.params.gain) = (2000.0, 0.4 * 2000.0 / 0.15);
            flow.params.h = units::Rate(20);
        }
        let equilibrium = net.equilibrium().unwrap();
        let (queues, rates): (Vec<_>, Vec<_>) = (
            equilibrium.queues.iter().map(|q| 3.0 * q).collect(),
            equilibrium.rates.iter().map(|x| 1.5 * x).collect(),
        );
        let past = Fluid::undelayed(&net, &equilibrium).run(&queues, &rates, 5e-3, 200.0);
        let course = PassivityRun::from_history(&net, &equilibrium, &past);
        assert!(course.growth() < 1e-4, "{}", course.growth());
    }
}
