//! Fluid model of the network: D'Aronco et al., arXiv 1506.02799v3, equations 2, 4, 5, 16 and 17.
//! With the delays at equilibrium, equations 33 and 34.
//!
//! ```text
//! q_l'(t) = (sum of x_r(t - tau^f) - c_l)/c_l,   0 <= q_l <= buffer                         (2), (34)
//! pi_l(t) = 1 - c_l/y_l(t) if q_l = buffer and y_l > c_l                                     (4)
//! x_r'(t) = k_r x_r (h/x_r - v_r(sum of d_l(t - tau^b)) - sum of q_l'(t - tau^b) - pi_r)      (16), (33)
//! ```
//!
//! k_r = eta/RTT_r and the delays tau are those at equilibrium, as in the paper's linearisation, so
//! that the fluid shows the behaviour of F. The fluid model of one link (`stability::fluid`) uses
//! the delay of each packet instead. **Without delays** it is the system of section IV-A.

use super::{Equilibrium, Network};
use crate::dde::{self, History, System};

/// The fluid model of a network.
#[derive(Clone, Debug)]
pub struct Fluid<'a> {
    net: &'a Network,
    equilibrium: &'a Equilibrium,
    is_delayed: bool,
}

impl<'a> Fluid<'a> {
    /// Creates the model with the delays at equilibrium, (33) and (34).
    pub fn delayed(net: &'a Network, equilibrium: &'a Equilibrium) -> Self {
        Self { net, equilibrium, is_delayed: true }
    }

    /// Creates the model without delays of section IV-A.
    pub fn undelayed(net: &'a Network, equilibrium: &'a Equilibrium) -> Self {
        Self { net, equilibrium, is_delayed: false }
    }

    /// Solves the model from these queues (in seconds) and rates (in bit/s), which also apply
    /// before the start. Returns a row of both per step.
    pub fn run(&self, queues: &[f64], rates: &[f64], step: f64, end: f64) -> History {
        let initial: Vec<f64> = queues.iter().chain(rates).copied().collect();
        dde::solve(self, &initial, step, end)
    }

    /// Returns a step well below the model's time scales: the shortest delay, or the response time
    /// of the flows.
    pub fn step(&self) -> f64 {
        let flows = 0..self.net.flows.len();
        let fastest = self.equilibrium.rtts.iter().copied().fold(f64::INFINITY, f64::min);
        if !self.is_delayed {
            return fastest / 20.0;
        }
        let delays = flows.flat_map(|r| self.net.flows[r].route.iter().map(move |&l| (r, l)));
        let shortest = delays.flat_map(|(r, l)| [self.there(r, l), self.back(r, l)]).filter(|d| *d > 0.0);
        shortest.fold(fastest, f64::min).min(fastest / 10.0) / 2.0
    }

    fn there(&self, flow: usize, link: usize) -> f64 {
        if self.is_delayed { self.net.forward(flow, link, self.equilibrium) } else { 0.0 }
    }

    fn back(&self, flow: usize, link: usize) -> f64 {
        let trip = self.equilibrium.rtts[flow] - self.net.forward(flow, link, self.equilibrium);
        if self.is_delayed { trip } else { 0.0 }
    }

    fn rate(&self, flow: usize, ago: f64, now: &Now<'_>) -> f64 {
        now.value(self.net.links.len() + flow, ago)
    }

    /// Returns the load y of a link, `ago` seconds earlier (7).
    fn load(&self, link: usize, ago: f64, now: &Now<'_>) -> f64 {
        let crossing = (0..self.net.flows.len()).filter(|&r| self.net.crosses(link, r));
        crossing.map(|r| self.rate(r, ago + self.there(r, link), now)).sum()
    }

    /// Returns q' and pi of a link, `ago` seconds earlier.
    fn link_state(&self, link: usize, ago: f64, now: &Now<'_>) -> (f64, f64) {
        let (c, y, q) = (self.net.links[link].rate, self.load(link, ago, now), now.value(link, ago));
        let growth = (y - c) / c;
        if growth > 0.0 && q >= self.net.links[link].buffer {
            return (0.0, 1.0 - c / y);
        }
        (if q > 0.0 { growth } else { growth.max(0.0) }, 0.0)
    }

    fn acceleration(&self, r: usize, now: &Now<'_>) -> f64 {
        let flow = &self.net.flows[r];
        let (mut e, mut growth, mut through) = (0.0, 0.0, 1.0);
        for &l in &flow.route {
            let ago = self.back(r, l);
            let (slope, loss) = self.link_state(l, ago, now);
            e += self.net.links[l].delay + now.value(l, ago).max(0.0);
            growth += slope;
            through *= 1.0 - loss;
        }
        let x = self.rate(r, 0.0, now);
        let k = flow.params.gain / self.equilibrium.rtts[r];
        k * (flow.h() - x * (flow.price(e) + growth + 1.0 - through))
    }
}

/// State and past of the solution.
struct Now<'a> {
    t: f64,
    values: &'a [f64],
    past: &'a History,
}

impl Now<'_> {
    fn value(&self, i: usize, ago: f64) -> f64 {
        if ago > 0.0 { self.past.at(i, self.t - ago) } else { self.values[i] }
    }
}

impl System for Fluid<'_> {
    fn slopes(&self, t: f64, values: &[f64], past: &History, slopes: &mut [f64]) {
        let (now, links) = (Now { t, values, past }, self.net.links.len());
        for (l, slope) in slopes[..links].iter_mut().enumerate() {
            *slope = self.link_state(l, 0.0, &now).0;
        }
        for (r, slope) in slopes[links..].iter_mut().enumerate() {
            *slope = self.acceleration(r, &now);
        }
    }

    fn project(&self, values: &mut [f64]) {
        let (queues, rates) = values.split_at_mut(self.net.links.len());
        for (queue, link) in queues.iter_mut().zip(&self.net.links) {
            *queue = queue.clamp(0.0, link.buffer);
        }
        rates.iter_mut().for_each(|rate| *rate = rate.max(1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::super::ratio::ReturnRatio;
    use super::super::tests::{link, network, parking_lot};
    use super::super::{Link, Network};
    use super::*;

    /// Returns the largest relative deviation of the rates from equilibrium in the last quarter.
    fn distance(net: &Network, equilibrium: &Equilibrium, past: &History) -> f64 {
        let links = net.links.len();
        let rows = (past.len() * 3 / 4..past.len()).map(|n| past.row(n));
        rows.flat_map(|row| row[links..].iter().zip(&equilibrium.rates).map(|(x, at)| (x / at - 1.0).abs()))
            .fold(0.0, f64::max)
    }

    fn full(rate: f64, buffer: f64) -> Link {
        Link { buffer, ..link(rate, 0.02) }
    }

    /// Both systems converge to the equilibrium, with and without loss.
    #[test]
    fn rests_where_the_network_rests() {
        let lossy = network(vec![full(1e6, 0.03), link(1.2e6, 0.03)], &[&[0, 1], &[0], &[1]]);
        for net in [parking_lot(), lossy] {
            let equilibrium = net.equilibrium().unwrap();
            let rates: Vec<f64> = equilibrium.rates.iter().map(|x| 0.8 * x).collect();
            for fluid in [Fluid::undelayed(&net, &equilibrium), Fluid::delayed(&net, &equilibrium)] {
                let past = fluid.run(&equilibrium.queues, &rates, fluid.step(), 600.0);
                assert!(distance(&net, &equilibrium, &past) < 1e-4, "{equilibrium:?}");
                let last = past.row(past.len() - 1);
                let queues = last.iter().zip(&equilibrium.queues).map(|(q, at)| (q - at).abs());
                assert!(queues.fold(0.0, f64::max) < 1e-5, "{last:?} {equilibrium:?}");
            }
        }
    }

    /// The fluid agrees with F: it converges 3 % below the largest gain, and oscillates 3 % above
    /// it. The cases are two bottlenecks without loss, two bottlenecks of which one is full and
    /// signals loss (IV-C), and one full link.
    #[test]
    fn swings_beyond_the_largest_gain() {
        let half_full = network(vec![full(1e6, 0.03), link(1.2e6, 0.03)], &[&[0, 1], &[0], &[1]]);
        for net in [parking_lot(), half_full, network(vec![full(1e6, 0.03)], &[&[0], &[0]])] {
            let equilibrium = net.equilibrium().unwrap();
            let largest = ReturnRatio::new(&net, &equilibrium).margins().largest_gain.unwrap();
            let moved = |factor: f64| {
                let mut net = net.clone();
                net.flows.iter_mut().for_each(|flow| flow.params.gain *= factor * largest);
                let rates: Vec<f64> = equilibrium.rates.iter().map(|x| 1.02 * x).collect();
                let fluid = Fluid::delayed(&net, &equilibrium);
                let past = fluid.run(&equilibrium.queues, &rates, fluid.step(), 150.0);
                distance(&net, &equilibrium, &past)
            };
            assert!(moved(0.97) < 2e-3, "{} at {largest}", moved(0.97));
            assert!(moved(1.03) > 2e-2, "{} at {largest}", moved(1.03));
        }
    }
}
