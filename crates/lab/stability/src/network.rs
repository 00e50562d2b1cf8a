//! Equilibrium of flows over several links: D'Aronco et al., arXiv 1506.02799v3, sections II and
//! III.
//!
//! ```text
//! y_l = sum of x_r over the flows that cross l                                (1)
//! e_r = sum of d_l over the links of r,  d_l = p_l + q_l,  RTT_r = e_r + back  (3), (9)
//! pi_l = (y_l - c_l)/y_l if q_l is at its maximum, else 0                     (4)
//! pi_r = 1 - product of (1 - pi_l) over the links of r                        (5);  nearly their sum (6)
//! equilibrium:  h/x_r = v_r(e_r) + pi_r,   v_r(e) = beta ((e - T_r)/(e + back))+     (16), (17), (18)
//!               y_l = c_l if 0 < q_l < maximum;  y_l <= c_l if q_l = 0
//! ```
//!
//! As printed, (5) has the routing matrix as a factor in its product. The product would then be 0
//! if a link is not crossed. Here it is taken over the links of the route.

pub mod fluid;
pub mod passivity;
pub mod ratio;
mod read;
pub mod text;

use congestion::algorithms::media::dccc::Params;

pub use self::read::{Mistake, read};

/// A link of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Name.
    pub name: String,
    /// Rate c, in bit/s.
    pub rate: f64,
    /// Propagation delay p, in seconds.
    pub delay: f64,
    /// Largest queue delay, in seconds. Infinite means no loss.
    pub buffer: f64,
}

/// A flow of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Indices of the links that it crosses, in order.
    pub route: Vec<usize>,
    /// Delay e^b of the return path, in seconds.
    pub back: f64,
    /// Parameters of the controller.
    pub params: Params,
}

/// Links and flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The L links.
    pub links: Vec<Link>,
    /// The R flows.
    pub flows: Vec<Flow>,
}

/// The equilibrium of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Equilibrium {
    /// Queue delay q of each link, in seconds.
    pub queues: Vec<f64>,
    /// Loss rate pi of each link.
    pub losses: Vec<f64>,
    /// Load y of each link, in bit/s.
    pub loads: Vec<f64>,
    /// Rate x of each flow, in bit/s.
    pub rates: Vec<f64>,
    /// One-way delay e of each flow, in seconds.
    pub delays: Vec<f64>,
    /// RTT of each flow, in seconds.
    pub rtts: Vec<f64>,
}

impl Flow {
    /// Returns the price (17) divided by beta, from 0 to 1. It is 0 up to the threshold.
    pub fn penalty(&self, e: f64) -> f64 {
        ((e - self.threshold()) / (e + self.back)).max(0.0)
    }

    /// Returns the price v_r (17).
    pub fn price(&self, e: f64) -> f64 {
        self.params.beta * self.penalty(e)
    }

    /// Returns the slope v_r' of the price, in 1/s. It is (beta - v)/RTT, which equals (45) if v =
    /// h/x.
    pub fn slope(&self, e: f64) -> f64 {
        if e > self.threshold() { (self.params.beta - self.price(e)) / (e + self.back) } else { 0.0 }
    }

    /// Returns the threshold T_r, in seconds.
    pub fn threshold(&self) -> f64 {
        self.params.threshold.as_secs_f64()
    }

    /// Returns the weight h of the utility, in bit/s.
    pub fn h(&self) -> f64 {
        self.params.h.0 as f64
    }
}

/// Largest number of sweeps over the links. Each sweep bisects every link to the last bit.
const SWEEPS: usize = 100_000;

impl Network {
    /// Reports whether a flow crosses a link: R of (1).
    pub fn crosses(&self, link: usize, flow: usize) -> bool {
        self.flows[flow].route.contains(&link)
    }

    /// Returns M, the largest number of links on a route.
    pub fn longest(&self) -> usize {
        self.flows.iter().map(|flow| flow.route.len()).max().unwrap_or(0)
    }

    /// Returns the one-way delay of a flow (3), in seconds.
    pub fn delay(&self, flow: &Flow, queues: &[f64]) -> f64 {
        flow.route.iter().map(|&l| self.links[l].delay + queues[l]).sum()
    }

    /// Returns the loss rate of a flow (5).
    pub fn loss(&self, flow: &Flow, losses: &[f64]) -> f64 {
        1.0 - flow.route.iter().map(|&l| 1.0 - losses[l]).product::<f64>()
    }

    /// Returns the load of a link (1), in bit/s.
    pub fn load(&self, link: usize, rates: &[f64]) -> f64 {
        (0..self.flows.len()).filter(|&r| self.crosses(link, r)).map(|r| rates[r]).sum()
    }

    /// Returns tau^f, the delay from the source to the end of a link on the route, including
    /// queues, in seconds.
    pub fn forward(&self, flow: usize, link: usize, equilibrium: &Equilibrium) -> f64 {
        let route = &self.flows[flow].route;
        let last = route.iter().position(|&l| l == link).map_or(0, |at| at + 1);
        route[..last].iter().map(|&l| self.links[l].delay + equilibrium.queues[l]).sum()
    }

    /// Computes the equilibrium. Each link must be able to hold its flows, with more than h/beta
    /// for each (20) or with loss.
    ///
    /// # Errors
    /// A link that is overloaded at any delay.
    pub fn equilibrium(&self) -> Result<Equilibrium, String> {
        self.check_capacities()?;
        // Total demand of a link on its flows: its queue delay and, once the queue is full, a term
        // for loss.
        let mut asks = vec![0.0; self.links.len()];
        for _ in 0..SWEEPS {
            let before = asks.clone();
            for link in 0..self.links.len() {
                asks[link] = self.clearing(link, &mut asks.clone());
            }
            let moved = asks.iter().zip(&before).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            if moved < 1e-13 {
                return Ok(self.equilibrium_at(&asks));
            }
        }
        Err("no equilibrium found; two links in a row may be the same bottleneck; give them different rates"
            .into())
    }

    /// Checks links without loss. With loss, a link can reduce any load.
    fn check_capacities(&self) -> Result<(), String> {
        for (l, link) in self.links.iter().enumerate().filter(|(_, link)| link.buffer.is_infinite()) {
            let crossing = self.flows.iter().filter(|flow| flow.route.contains(&l));
            let least: f64 = crossing.map(|flow| flow.h() / flow.params.beta).sum();
            if least >= link.rate {
                return Err(format!(
                    "link `{}`: delay alone cannot limit a flow to h / beta or less (equation 20), in total {:.0} bit/s for its \
                     flows; give it a higher rate or a buffer",
                    link.name, least
                ));
            }
        }
        Ok(())
    }

    /// Returns the demand at which a link's load equals its capacity, while the other links keep
    /// theirs. The load falls as the demand grows.
    fn clearing(&self, link: usize, asks: &mut [f64]) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        let mut is_overloaded = |ask: f64| {
            asks[link] = ask;
            let equilibrium = self.equilibrium_at(asks);
            equilibrium.loads[link] * (1.0 - equilibrium.losses[link]) > self.links[link].rate
        };
        if !is_overloaded(0.0) {
            return 0.0;
        }
        while is_overloaded(high) {
            low = high;
            high *= 2.0;
        }
        loop {
            let middle = f64::midpoint(low, high);
            if middle <= low || middle >= high {
                return high;
            }
            if is_overloaded(middle) { low = middle } else { high = middle }
        }
    }

    fn equilibrium_at(&self, asks: &[f64]) -> Equilibrium {
        let both = || self.links.iter().zip(asks);
        let queues: Vec<f64> = both().map(|(link, ask)| ask.min(link.buffer)).collect();
        // The loss rate has no upper bound below 1.
        let losses: Vec<f64> =
            both().map(|(link, ask)| (ask - link.buffer).max(0.0)).map(|more| more / (1.0 + more)).collect();
        let delays: Vec<f64> = self.flows.iter().map(|flow| self.delay(flow, &queues)).collect();
        let rates: Vec<f64> = self
            .flows
            .iter()
            .zip(&delays)
            .map(|(flow, &e)| flow.h() / (flow.price(e) + self.loss(flow, &losses)))
            .collect();
        Equilibrium {
            loads: (0..self.links.len()).map(|l| self.load(l, &rates)).collect(),
            rtts: self.flows.iter().zip(&delays).map(|(flow, e)| e + flow.back).collect(),
            queues,
            losses,
            rates,
            delays,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use congestion::algorithms::media::dccc::equilibrium_delay;
    use units::{Duration, Rate};

    use super::*;

    pub(crate) fn link(rate: f64, delay: f64) -> Link {
        Link { name: "l".into(), rate, delay, buffer: f64::INFINITY }
    }

    /// Returns a network in which return paths have the same delay as forward paths.
    pub(crate) fn network(links: Vec<Link>, routes: &[&[usize]]) -> Network {
        let flow = |route: &&[usize]| Flow {
            back: route.iter().map(|&l| links[l].delay).sum(),
            route: route.to_vec(),
            params: Params::default(),
        };
        Network { flows: routes.iter().map(flow).collect(), links }
    }

    /// Returns the paper's topology 2: two bottlenecks, with one flow over both and one over each.
    pub(crate) fn parking_lot() -> Network {
        network(vec![link(2e6, 0.015), link(1.5e6, 0.01)], &[&[0, 1], &[0], &[1]])
    }

    /// With one link, alone or shared, the equilibrium is that of equation 19 at the rate of each
    /// flow.
    #[test]
    fn equation_19() {
        for (flows, rate) in [(1, 1e6), (1, 3e5), (3, 3e6)] {
            let net = network(vec![link(rate, 0.025)], &vec![&[0][..]; flows]);
            let equilibrium = net.equilibrium().unwrap();
            let each = rate / flows as f64;
            let back = Duration::from_millis(25);
            let e = equilibrium_delay(&Params::default(), Rate(each as u64), back).unwrap();
            assert!((equilibrium.delays[0] - e.as_secs_f64()).abs() < 1e-9, "{equilibrium:?}");
            assert!((equilibrium.rtts[0] - equilibrium.delays[0] - 0.025).abs() < 1e-12);
            assert!(equilibrium.rates.iter().all(|x| (x / each - 1.0).abs() < 1e-9), "{equilibrium:?}");
        }
    }

    /// Both links are fully used without loss, and every flow satisfies (18). The long flow pays
    /// twice and has the lowest rate.
    #[test]
    fn two_bottlenecks() {
        let net = parking_lot();
        let equilibrium = net.equilibrium().unwrap();
        for (l, link) in net.links.iter().enumerate() {
            assert!(
                (equilibrium.loads[l] / link.rate - 1.0).abs() < 1e-9 && equilibrium.queues[l] > 0.0,
                "{equilibrium:?}"
            );
        }
        for (r, flow) in net.flows.iter().enumerate() {
            let e =
                equilibrium.rtts[r] * flow.h() / (flow.params.beta * equilibrium.rates[r]) + flow.threshold();
            assert!((e - equilibrium.delays[r]).abs() < 1e-9, "(18)");
        }
        assert!(equilibrium.rates[0] < equilibrium.rates[1] && equilibrium.rates[0] < equilibrium.rates[2]);
        assert!((net.forward(0, 0, &equilibrium) - 0.015 - equilibrium.queues[0]).abs() < 1e-15);
        assert!(
            (net.forward(0, 1, &equilibrium) - equilibrium.delays[0]).abs() < 1e-15,
            "tau^f of the last link is e"
        );
    }

    /// A link that is not fully used has no queue.
    #[test]
    fn a_wide_link_is_empty() {
        let net = network(vec![link(1e6, 0.02), link(9e6, 0.005)], &[&[0, 1], &[1]]);
        let mut net = Network { flows: net.flows[..1].to_vec(), ..net };
        let equilibrium = net.equilibrium().unwrap();
        assert_eq!((equilibrium.queues[1], equilibrium.losses.clone()), (0.0, vec![0.0, 0.0]));
        // The flow has the same equilibrium as on one link with both delays.
        net.links = vec![link(1e6, 0.025)];
        net.flows[0].route = vec![0];
        assert!((net.equilibrium().unwrap().delays[0] - equilibrium.delays[0]).abs() < 1e-12);
    }

    /// With one full link and n flows, x = (h + c/n)/(1 + v), from h/x = v + 1 - c/(n x).
    #[test]
    fn loss_at_rest() {
        for (flows, buffer) in [(1, 0.03), (3, 0.03), (2, 0.076)] {
            let narrow = Link { buffer, ..link(1e6, 0.025) };
            let net = network(vec![narrow], &vec![&[0][..]; flows]);
            let equilibrium = net.equilibrium().unwrap();
            let n = flows as f64;
            let expected = (20e3 + 1e6 / n) / (1.0 + net.flows[0].price(0.025 + buffer));
            assert!(equilibrium.losses[0] > 0.0 && equilibrium.queues[0] == buffer);
            assert!((equilibrium.rates[0] / expected - 1.0).abs() < 1e-9, "{equilibrium:?} {expected}");
            assert!((equilibrium.losses[0] - (1.0 - 1e6 / equilibrium.loads[0])).abs() < 1e-9, "(4)");
        }
    }

    /// The loss of a path is (5), and equals (6) up to second order in small losses.
    #[test]
    fn losses_of_a_path() {
        let net = parking_lot();
        let (a, b) = (0.003, 0.002);
        assert!((net.loss(&net.flows[0], &[a, b]) - (a + b - a * b)).abs() < 1e-15);
        assert!((net.loss(&net.flows[1], &[a, b]) - a).abs() < 1e-15, "not of a link that it does not cross");
        assert!((net.loss(&net.flows[0], &[a, b]) - (a + b)).abs() < (a + b) * (a + b), "(6)");
    }

    /// The price (17) is 0 up to the threshold and tends to beta. Its slope is (45).
    #[test]
    fn prices() {
        let net = parking_lot();
        let flow = &net.flows[0];
        assert_eq!((flow.price(0.1), flow.slope(0.09)), (0.0, 0.0));
        assert!((flow.penalty(1e6) - 1.0).abs() < 1e-6);
        for e in [0.11, 0.2, 0.7] {
            let slope = (flow.price(e + 1e-6) - flow.price(e - 1e-6)) / 2e-6;
            assert!((slope / flow.slope(e) - 1.0).abs() < 1e-6);
        }
        let equilibrium = net.equilibrium().unwrap();
        let printed = (flow.params.beta - flow.h() / equilibrium.rates[0]) / equilibrium.rtts[0];
        assert!((flow.slope(equilibrium.delays[0]) / printed - 1.0).abs() < 1e-6, "(45)");
    }

    #[test]
    fn too_narrow() {
        let net = network(vec![link(5e5, 0.01)], &[&[0], &[0], &[0]]);
        assert!(net.equilibrium().unwrap_err().contains("equation 20"));
        let narrow = Link { buffer: 0.2, ..net.links[0].clone() };
        assert!(Network { links: vec![narrow], ..net }.equilibrium().is_ok(), "then by loss");
    }
}
