//! The passivity proof of the system without delays, section IV-A and appendix A: its quantities along a run of the fluid.
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
//! alpha is the largest slope of any price, so that (53) holds: (v(e) - v(e^))/alpha < de for a rise. But (51) needs
//! dx_r (v(e_r) - v(e^_r))/alpha >= dx_r de_r, which is the opposite where rate and delay are on the same side of their rest: **there (51)
//! does not follow from (53), and V may grow.** What is left out is
//!
//! ```text
//! gap = sum of dx_r (de_r - (v_r(e_r) - v_r(e^_r))/alpha)            V' <= -W_user - W_link + gap
//! ```
//!
//! and 0 for a price in proportion to the delay. On one full link whose flows have one price the claim itself holds, by the
//! storage that belongs to a bent price:
//!
//! ```text
//! V_bent  = V_user + c/alpha int from e^ to e of (v(z) - v(e^)) dz                  V_bent' <= -W_user
//! ```

use serde::Serialize;

use super::fluid::Fluid;
use super::{Network, Rest};
use crate::dde::History;

/// Of one moment. Storage functions are in bit s, their slopes in bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Moment {
    /// Seconds.
    pub time: f64,
    /// (31).
    pub v_user: f64,
    /// (32), less its value at rest.
    pub v_link: f64,
    /// (52).
    pub w_user: f64,
    /// (57).
    pub w_link: f64,
    /// What (51) leaves out.
    pub gap: f64,
    /// (V_user + V_link)', by the equations of motion.
    pub slope: f64,
    /// The storage of a bent price; none with several links or prices.
    pub v_bent: Option<f64>,
}

/// Of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Course {
    /// The largest slope of a price, 1/s.
    pub alpha: f64,
    /// One per step.
    #[serde(skip)]
    pub moments: Vec<Moment>,
}

/// The proof's quantities around a rest.
struct Proof<'a> {
    net: &'a Network,
    rest: &'a Rest,
    alpha: f64,
}

impl Course {
    /// Without delays, from so many times the queues and the rates at rest.
    pub fn run(net: &Network, rest: &Rest, queues: f64, rates: f64, end: f64) -> Self {
        let times = |factor: f64, values: &[f64]| values.iter().map(|v| factor * v).collect::<Vec<f64>>();
        let fluid = Fluid::undelayed(net, rest);
        let (queues, rates) = (times(queues, &rest.queues), times(rates, &rest.rates));
        Self::of(net, rest, &fluid.run(&queues, &rates, fluid.step(), end))
    }

    /// Of a run of the fluid without delays.
    pub fn of(net: &Network, rest: &Rest, past: &History) -> Self {
        let proof = Proof { net, rest, alpha: alpha(net) };
        let moment = |n: usize| proof.moment(n as f64 * past.step(), past.row(n), past.slopes(n));
        Self { alpha: proof.alpha, moments: (0..past.len()).map(moment).collect() }
    }

    /// The most that V rises above a value that it has had, as a share of its first; 0 if it only falls.
    pub fn growth(&self) -> f64 {
        self.most(|moment| Some(moment.v_user + moment.v_link))
    }

    /// The same of V_bent, if there is one.
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

/// The steepest point of a price is where it begins: at its threshold, or at the delay of the empty path.
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
        let Self { net, rest, alpha } = self;
        let (queues, rates) = values.split_at(net.links.len());
        let mut all = Moment { time, ..Moment::default() };
        for (r, flow) in net.flows.iter().enumerate() {
            let (x, at) = (rates[r], rest.rates[r]);
            let k = flow.params.gain / rest.rtts[r];
            let (dx, e) = (x - at, net.delay(flow, queues));
            // The integral of (z - x^)/z.
            all.v_user += (dx - at * libm::log(x / at)) / (k * alpha);
            all.w_user -= dx * (flow.h() / x - flow.h() / at) / alpha;
            let dv = flow.price(e) - flow.price(rest.delays[r]);
            all.gap += dx * ((e - rest.delays[r]) - dv / alpha);
            all.slope += dx / x * slopes[net.links.len() + r] / (k * alpha);
        }
        for (l, link) in net.links.iter().enumerate() {
            let (dq, spare) = (queues[l] - rest.queues[l], link.rate - rest.loads[l]);
            all.v_link += link.rate * dq * dq / 2.0 + spare * dq / alpha;
            all.w_link += dq * spare;
            all.slope += (link.rate * dq + spare / alpha) * slopes[l];
        }
        all.v_bent = self.bent(queues[0]).map(|more| all.v_user + more);
        all
    }

    /// c/alpha times the integral of v - v^, on one full link.
    fn bent(&self, queue: f64) -> Option<f64> {
        let [link] = &self.net.links[..] else { return None };
        let first = &self.net.flows[0];
        let alike = |flow: &super::Flow| {
            let of = |flow: &super::Flow| (flow.params.beta, flow.params.threshold, flow.back);
            of(flow) == of(first)
        };
        if self.rest.queues[0] <= 0.0 || !self.net.flows.iter().all(alike) {
            return None;
        }
        let (now, at) = (link.delay + queue, self.rest.delays[0]);
        let area = integral(first, now) - integral(first, at) - first.price(at) * (now - at);
        Some(link.rate / self.alpha * area)
    }
}

/// Of (17) up to e: beta ((e - T) - (T + back) ln((e + back)/(T + back))), and 0 up to the threshold.
fn integral(flow: &super::Flow, e: f64) -> f64 {
    let (over, trip) = ((e - flow.threshold()).max(0.0), flow.threshold() + flow.back);
    flow.params.beta * (over - trip * libm::log1p(over / trip))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{link, network, parking_lot};
    use super::*;

    /// Queues and rates at the start, as shares of those at rest.
    const STARTS: [(f64, f64); 4] = [(0.0, 0.3), (0.0, 2.0), (0.5, 0.9), (3.0, 1.5)];
    /// The rounding of the solver, as a share of V.
    const ROUNDING: f64 = 1e-7;

    fn course(net: &Network, start: (f64, f64)) -> Course {
        Course::run(net, &net.rest().unwrap(), start.0, start.1, 200.0)
    }

    fn single() -> Network {
        network(vec![link(3e6, 0.025)], &[&[0], &[0], &[0]])
    }

    /// (31) and (32) are storages: 0 at rest, above it elsewhere; (52) and (57) are dissipations.
    #[test]
    fn storages_and_dissipations() {
        let wide = network(vec![link(1e6, 0.02), link(3e6, 0.005)], &[&[0, 1], &[1]]);
        for net in [single(), parking_lot(), wide] {
            let rest = net.rest().unwrap();
            for start in STARTS {
                for m in course(&net, start).moments {
                    let floor = -1e-6;
                    assert!(m.v_user >= floor && m.v_link >= floor, "{m:?}");
                    assert!(m.w_user >= floor && m.w_link >= floor, "{m:?}");
                    assert!(m.v_bent.is_none_or(|v| v >= floor), "{m:?}");
                }
            }
            let proof = Proof { net: &net, rest: &rest, alpha: alpha(&net) };
            let at: Vec<f64> = rest.queues.iter().chain(&rest.rates).copied().collect();
            let m = proof.moment(0.0, &at, &vec![0.0; at.len()]);
            assert!([m.v_user, m.v_link, m.w_user, m.w_link, m.gap].iter().all(|v| v.abs() < 1e-6), "{m:?}");
        }
    }

    /// The integral of (31) and that of a bent price, by the trapezium rule.
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

    /// (48) to (60) without (51): V' is at most -W_user - W_link + gap, and V' is the slope of V.
    #[test]
    fn the_inequality_with_its_gap() {
        for net in [single(), parking_lot()] {
            for start in STARTS {
                let Course { moments, .. } = course(&net, start);
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

    /// (53) for a rise, and that it is the wrong way round for (51): the gap is above 0 where rate and delay are both above
    /// their rest, and both below.
    #[test]
    fn equation_53_is_not_what_51_needs() {
        let net = single();
        let (flow, rest, alpha) = (&net.flows[0], net.rest().unwrap(), alpha(&net));
        let at = rest.delays[0];
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

    /// So V grows for a time, by some percent, on the paper's own setting, where rates and delays begin above their rest or both
    /// somewhat below. The storage of the bent price never does.
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

    /// A price in proportion to the delay, which a long way back makes of it: then V falls all the way, as the paper says.
    #[test]
    fn a_straight_price_needs_no_gap() {
        let mut net = single();
        for flow in &mut net.flows {
            // The same k, and the same rest of rates.
            (flow.back, flow.params.gain) = (2000.0, 0.4 * 2000.0 / 0.15);
            flow.params.h = units::Rate(20);
        }
        let rest = net.rest().unwrap();
        let (queues, rates): (Vec<_>, Vec<_>) =
            (rest.queues.iter().map(|q| 3.0 * q).collect(), rest.rates.iter().map(|x| 1.5 * x).collect());
        let past = Fluid::undelayed(&net, &rest).run(&queues, &rates, 5e-3, 200.0);
        let course = Course::of(&net, &rest, &past);
        assert!(course.growth() < 1e-4, "{}", course.growth());
    }
}
