//! Several links and the flows along them: D'Aronco et al., arXiv 1506.02799v3, sections II and III, and where they rest.
//!
//! ```text
//! y_l = sum of x_r over the flows that cross l                                (1)
//! e_r = sum of d_l over the links of r,  d_l = p_l + q_l,  RTT_r = e_r + back  (3), (9)
//! pi_l = (y_l - c_l)/y_l where q_l is at its most, else 0                     (4)
//! pi_r = 1 - product of (1 - pi_l) over the links of r                        (5);  about their sum (6)
//! rest:  h/x_r = v_r(e_r) + pi_r,   v_r(e) = beta ((e - T_r)/(e + back))+     (16), (17), (18)
//!        y_l = c_l where 0 < q_l < most;  y_l <= c_l where q_l = 0
//! ```
//!
//! (5) as printed has the routing matrix as a factor of its product, which would be 0 for a link that is not crossed: the
//! product is over the links of the route.

pub mod fluid;
pub mod passivity;
pub mod ratio;
mod read;
pub mod text;

use congestion::algorithms::media::dccc::Params;

pub use self::read::read;

/// A link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// c, bit/s.
    pub rate: f64,
    /// p, seconds.
    pub delay: f64,
    /// The most that its queue delays, seconds; infinite: no loss.
    pub buffer: f64,
}

/// A flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Numbers of its links, in the order in which it crosses them.
    pub route: Vec<usize>,
    /// e^b, the delay of its way back, seconds.
    pub back: f64,
    /// Its controller.
    pub params: Params,
}

/// Both.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// L of them.
    pub links: Vec<Link>,
    /// R of them.
    pub flows: Vec<Flow>,
}

/// Where it rests.
#[derive(Clone, Debug, PartialEq)]
pub struct Rest {
    /// q of each link, seconds.
    pub queues: Vec<f64>,
    /// pi of each link.
    pub losses: Vec<f64>,
    /// y of each link, bit/s.
    pub loads: Vec<f64>,
    /// x of each flow, bit/s.
    pub rates: Vec<f64>,
    /// e of each flow, seconds.
    pub delays: Vec<f64>,
    /// RTT of each flow, seconds.
    pub rtts: Vec<f64>,
}

impl Flow {
    /// (17) without beta: 0 to 1, and 0 up to the threshold.
    pub fn penalty(&self, e: f64) -> f64 {
        ((e - self.threshold()) / (e + self.back)).max(0.0)
    }

    /// v_r, (17).
    pub fn price(&self, e: f64) -> f64 {
        self.params.beta * self.penalty(e)
    }

    /// v_r', its slope, 1/s: (beta - v)/RTT, which is (45) where v = h/x.
    pub fn slope(&self, e: f64) -> f64 {
        if e > self.threshold() { (self.params.beta - self.price(e)) / (e + self.back) } else { 0.0 }
    }

    /// T_r, seconds.
    pub fn threshold(&self) -> f64 {
        self.params.threshold.as_secs_f64()
    }

    /// h, bit/s.
    pub fn h(&self) -> f64 {
        self.params.h.0 as f64
    }
}

/// Sweeps over the links until they rest, at most; each is a bisection to the last bit.
const SWEEPS: usize = 100_000;

impl Network {
    /// R of (1): whether a flow crosses a link.
    pub fn crosses(&self, link: usize, flow: usize) -> bool {
        self.flows[flow].route.contains(&link)
    }

    /// M: links on one route at most.
    pub fn longest(&self) -> usize {
        self.flows.iter().map(|flow| flow.route.len()).max().unwrap_or(0)
    }

    /// (3).
    pub fn delay(&self, flow: &Flow, queues: &[f64]) -> f64 {
        flow.route.iter().map(|&l| self.links[l].delay + queues[l]).sum()
    }

    /// (5).
    pub fn loss(&self, flow: &Flow, losses: &[f64]) -> f64 {
        1.0 - flow.route.iter().map(|&l| 1.0 - losses[l]).product::<f64>()
    }

    /// (1).
    pub fn load(&self, link: usize, rates: &[f64]) -> f64 {
        (0..self.flows.len()).filter(|&r| self.crosses(link, r)).map(|r| rates[r]).sum()
    }

    /// tau^f: from the source to the end of a link of the route, queue included.
    pub fn forward(&self, flow: usize, link: usize, rest: &Rest) -> f64 {
        let route = &self.flows[flow].route;
        let last = route.iter().position(|&l| l == link).map_or(0, |at| at + 1);
        route[..last].iter().map(|&l| self.links[l].delay + rest.queues[l]).sum()
    }

    /// Where it rests, if every link can hold its flows: more than h/beta each (20), or loss.
    ///
    /// # Errors
    /// A link that its flows overload whatever its delay.
    pub fn rest(&self) -> Result<Rest, String> {
        self.check_capacities()?;
        // What a link asks of its flows: its queue and, once that is full, its loss on top.
        let mut asks = vec![0.0; self.links.len()];
        for _ in 0..SWEEPS {
            let before = asks.clone();
            for link in 0..self.links.len() {
                asks[link] = self.clearing(link, &mut asks.clone());
            }
            let moved = asks.iter().zip(&before).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            if moved < 1e-13 {
                return Ok(self.rest_at(&asks));
            }
        }
        Err("the flows find no rest: two links in a row may be the same bottleneck; give them other rates"
            .into())
    }

    /// With loss as the last resort every load can be turned away.
    fn check_capacities(&self) -> Result<(), String> {
        for (l, link) in self.links.iter().enumerate().filter(|(_, link)| link.buffer.is_infinite()) {
            let crossing = self.flows.iter().filter(|flow| flow.route.contains(&l));
            let least: f64 = crossing.map(|flow| flow.h() / flow.params.beta).sum();
            if least >= link.rate {
                return Err(format!(
                    "link `{}`: delay alone holds no flow at h / beta or less (equation 20), {:.0} bit/s for its flows \
                     together; give it a higher rate, or a buffer",
                    link.name, least
                ));
            }
        }
        Ok(())
    }

    /// What a link asks when its load is its capacity, with the others as they are: the load falls with it.
    fn clearing(&self, link: usize, asks: &mut [f64]) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        let mut is_overloaded = |ask: f64| {
            asks[link] = ask;
            let rest = self.rest_at(asks);
            rest.loads[link] * (1.0 - rest.losses[link]) > self.links[link].rate
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

    fn rest_at(&self, asks: &[f64]) -> Rest {
        let both = || self.links.iter().zip(asks);
        let queues: Vec<f64> = both().map(|(link, ask)| ask.min(link.buffer)).collect();
        // Loss has no upper end here: it nears 1.
        let losses: Vec<f64> =
            both().map(|(link, ask)| (ask - link.buffer).max(0.0)).map(|more| more / (1.0 + more)).collect();
        let delays: Vec<f64> = self.flows.iter().map(|flow| self.delay(flow, &queues)).collect();
        let rates: Vec<f64> = self
            .flows
            .iter()
            .zip(&delays)
            .map(|(flow, &e)| flow.h() / (flow.price(e) + self.loss(flow, &losses)))
            .collect();
        Rest {
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

    /// With a way back as long as the way there.
    pub(crate) fn network(links: Vec<Link>, routes: &[&[usize]]) -> Network {
        let flow = |route: &&[usize]| Flow {
            back: route.iter().map(|&l| links[l].delay).sum(),
            route: route.to_vec(),
            params: Params::default(),
        };
        Network { flows: routes.iter().map(flow).collect(), links }
    }

    /// The paper's topology 2: two bottlenecks, a flow over both and one over each.
    pub(crate) fn parking_lot() -> Network {
        network(vec![link(2e6, 0.015), link(1.5e6, 0.01)], &[&[0, 1], &[0], &[1]])
    }

    /// One link, and one with flows that share it: equation 19 at the rate of each.
    #[test]
    fn equation_19() {
        for (flows, rate) in [(1, 1e6), (1, 3e5), (3, 3e6)] {
            let net = network(vec![link(rate, 0.025)], &vec![&[0][..]; flows]);
            let rest = net.rest().unwrap();
            let each = rate / flows as f64;
            let back = Duration::from_millis(25);
            let e = equilibrium_delay(&Params::default(), Rate(each as u64), back).unwrap();
            assert!((rest.delays[0] - e.as_secs_f64()).abs() < 1e-9, "{rest:?}");
            assert!((rest.rtts[0] - rest.delays[0] - 0.025).abs() < 1e-12);
            assert!(rest.rates.iter().all(|x| (x / each - 1.0).abs() < 1e-9), "{rest:?}");
        }
    }

    /// Both links full, none with loss, every flow at (18); the long flow pays twice and has the least.
    #[test]
    fn two_bottlenecks() {
        let net = parking_lot();
        let rest = net.rest().unwrap();
        for (l, link) in net.links.iter().enumerate() {
            assert!((rest.loads[l] / link.rate - 1.0).abs() < 1e-9 && rest.queues[l] > 0.0, "{rest:?}");
        }
        for (r, flow) in net.flows.iter().enumerate() {
            let e = rest.rtts[r] * flow.h() / (flow.params.beta * rest.rates[r]) + flow.threshold();
            assert!((e - rest.delays[r]).abs() < 1e-9, "(18)");
        }
        assert!(rest.rates[0] < rest.rates[1] && rest.rates[0] < rest.rates[2]);
        assert!((net.forward(0, 0, &rest) - 0.015 - rest.queues[0]).abs() < 1e-15);
        assert!((net.forward(0, 1, &rest) - rest.delays[0]).abs() < 1e-15, "tau^f of the last link is e");
    }

    /// A link that its flows cannot fill has no queue.
    #[test]
    fn a_wide_link_is_empty() {
        let net = network(vec![link(1e6, 0.02), link(9e6, 0.005)], &[&[0, 1], &[1]]);
        let mut net = Network { flows: net.flows[..1].to_vec(), ..net };
        let rest = net.rest().unwrap();
        assert_eq!((rest.queues[1], rest.losses.clone()), (0.0, vec![0.0, 0.0]));
        // And the flow rests as on one link of both delays.
        net.links = vec![link(1e6, 0.025)];
        net.flows[0].route = vec![0];
        assert!((net.rest().unwrap().delays[0] - rest.delays[0]).abs() < 1e-12);
    }

    /// One full link and n flows: x = (h + c/n)/(1 + v), from h/x = v + 1 - c/(n x).
    #[test]
    fn loss_at_rest() {
        for (flows, buffer) in [(1, 0.03), (3, 0.03), (2, 0.076)] {
            let narrow = Link { buffer, ..link(1e6, 0.025) };
            let net = network(vec![narrow], &vec![&[0][..]; flows]);
            let rest = net.rest().unwrap();
            let n = flows as f64;
            let expected = (20e3 + 1e6 / n) / (1.0 + net.flows[0].price(0.025 + buffer));
            assert!(rest.losses[0] > 0.0 && rest.queues[0] == buffer);
            assert!((rest.rates[0] / expected - 1.0).abs() < 1e-9, "{rest:?} {expected}");
            assert!((rest.losses[0] - (1.0 - 1e6 / rest.loads[0])).abs() < 1e-9, "(4)");
        }
    }

    /// (5), and (6) to the second order of small losses.
    #[test]
    fn losses_of_a_path() {
        let net = parking_lot();
        let (a, b) = (0.003, 0.002);
        assert!((net.loss(&net.flows[0], &[a, b]) - (a + b - a * b)).abs() < 1e-15);
        assert!((net.loss(&net.flows[1], &[a, b]) - a).abs() < 1e-15, "not of a link that it does not cross");
        assert!((net.loss(&net.flows[0], &[a, b]) - (a + b)).abs() < (a + b) * (a + b), "(6)");
    }

    /// (17): 0 up to the threshold, beta in the end; (45) is its slope.
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
        let rest = net.rest().unwrap();
        let printed = (flow.params.beta - flow.h() / rest.rates[0]) / rest.rtts[0];
        assert!((flow.slope(rest.delays[0]) / printed - 1.0).abs() < 1e-6, "(45)");
    }

    #[test]
    fn too_narrow() {
        let net = network(vec![link(5e5, 0.01)], &[&[0], &[0], &[0]]);
        assert!(net.rest().unwrap_err().contains("equation 20"));
        let narrow = Link { buffer: 0.2, ..net.links[0].clone() };
        assert!(Network { links: vec![narrow], ..net }.rest().is_ok(), "then by loss");
    }
}
