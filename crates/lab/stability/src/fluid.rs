//! Fluid model of dccc flows on one link: D'Aronco et al., arXiv 1506.02799v3, equations 2, 9, 16
//! and 17, with delays.
//!
//! ```text
//! q' = (sum of x_i(t) over flows that started) / C - 1,  q >= 0          s    the queue, next to the senders
//! s + q(s) + base = t                                                         sent at s, acknowledged at t
//! e = q(s) + base/2;  RTT = q(s) + base
//! x' = gain / RTT (h - x (beta ((e - T_r)/RTT)+ + q'(s))),  x >= min-rate     and x' = 0 before the first ACK
//! ```
//!
//! The delay is that of each packet, q(s) + base, as in the simulator. The paper's analysis uses
//! the delay at equilibrium. There is no loss, because the buffer is unlimited, as in the paper's
//! section IV.

use congestion::algorithms::media::dccc::Params;
use units::{Duration, Rate, Time};

use super::dde::{self, History, System};

/// A flow of the fluid model.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Parameters of the controller. `threshold` applies to the whole one-way delay.
    pub params: Params,
    /// RTT without queue, half of it in each direction.
    pub base_rtt: Duration,
    /// Time of the first packet, sent at the initial rate.
    pub start: Time,
}

/// Solution of the fluid model, sampled at each step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    /// Times, in seconds.
    pub times: Vec<f64>,
    /// Queue delay, in seconds. A flow's one-way delay is this plus half its base RTT.
    pub queue: Vec<f64>,
    /// Rates of each flow, in bit/s.
    pub rates: Vec<Vec<f64>>,
}

struct Fluid<'a> {
    capacity: f64,
    flows: &'a [Flow],
}

/// Index of the queue among the values. Flow i has index i + 1.
const QUEUE: usize = 0;

/// Simulates flows that share a link of this capacity.
pub fn run(capacity: Rate, flows: &[Flow], duration: Duration, step: Duration) -> Trajectory {
    let fluid = Fluid { capacity: capacity.0 as f64, flows };
    let mut initial = vec![0.0];
    initial.extend(flows.iter().map(|f| f.params.initial_rate.0 as f64));
    let past = dde::solve(&fluid, &initial, step.as_secs_f64(), duration.as_secs_f64());
    let rows = || (0..past.len()).map(|n| past.row(n));
    Trajectory {
        times: (0..past.len()).map(|n| n as f64 * past.step()).collect(),
        queue: rows().map(|row| row[QUEUE]).collect(),
        rates: (1..initial.len()).map(|i| rows().map(|row| row[i]).collect()).collect(),
    }
}

impl Fluid<'_> {
    /// Returns the queue's slope at this queue and these rates.
    fn growth(&self, t: f64, queue: f64, rate: impl Fn(usize) -> f64) -> f64 {
        let running = self.flows.iter().enumerate().filter(|(_, f)| f.start.as_secs_f64() <= t);
        let growth = running.map(|(i, _)| rate(i + 1)).sum::<f64>() / self.capacity - 1.0;
        if queue > 0.0 { growth } else { growth.max(0.0) }
    }

    fn acceleration(&self, flow: &Flow, x: f64, t: f64, past: &History) -> f64 {
        let base = flow.base_rtt.as_secs_f64();
        let left = departure(t - base, past);
        if left < flow.start.as_secs_f64() {
            return 0.0;
        }
        let queue = past.at(QUEUE, left).max(0.0);
        let rtt = queue + base;
        let Params { threshold, beta, gain, h, .. } = flow.params;
        let price = beta * ((queue + base / 2.0 - threshold.as_secs_f64()) / rtt).max(0.0);
        let growth = self.growth(left, queue, |i| past.at(i, left));
        gain / rtt * (h.0 as f64 - x * (price + growth))
    }
}

/// Returns the time at which the fluid entered that leaves the queue at `t`. The equation s + q(s)
/// = t has one solution, because no queue drains faster than time.
fn departure(t: f64, past: &History) -> f64 {
    let (mut low, mut high) = (0.0_f64.min(t), t);
    while high - low > 1e-9 {
        let middle = f64::midpoint(low, high);
        if middle + past.at(QUEUE, middle) < t { low = middle } else { high = middle }
    }
    high
}

impl System for Fluid<'_> {
    fn slopes(&self, t: f64, values: &[f64], past: &History, slopes: &mut [f64]) {
        slopes[QUEUE] = self.growth(t, values[QUEUE], |i| values[i]);
        for (i, flow) in self.flows.iter().enumerate() {
            slopes[i + 1] = self.acceleration(flow, values[i + 1], t, past);
        }
    }

    fn project(&self, values: &mut [f64]) {
        values[QUEUE] = values[QUEUE].max(0.0);
        for (value, flow) in values[1..].iter_mut().zip(self.flows) {
            *value = value.max(flow.params.min_rate.0 as f64);
        }
    }
}

/// Returns mean and standard deviation.
pub fn spread(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
    (mean, variance.sqrt())
}

#[cfg(test)]
mod tests {
    use congestion::algorithms::media::dccc::equilibrium_delay;

    use super::super::margins::Margins;
    use super::super::open_loop::OpenLoop;
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn flow(gain: f64, kbit: u64) -> Flow {
        let params = Params { gain, initial_rate: Rate(kbit * 900), ..Params::default() };
        Flow { params, base_rtt: MS * 50, start: Time::ZERO }
    }

    fn settled(values: &[f64]) -> (f64, f64) {
        spread(&values[values.len() * 3 / 4..])
    }

    /// The equilibrium is exactly that of equation 19: h/beta = 200 kbit/s, T_r = 100 ms, 25 ms on
    /// the return path.
    #[test]
    fn rests_where_equation_19_says() {
        for (kbit, ms) in [(300, 350.0), (500, 550.0 / 3.0), (1000, 131.25), (1500, 1550.0 / 13.0)] {
            let path = run(Rate(kbit * 1000), &[flow(0.4, kbit)], Duration::from_secs(400), MS * 10);
            let (queue, queue_spread) = settled(&path.queue);
            let (rate, rate_spread) = settled(&path.rates[0]);
            assert!((queue * 1e3 + 25.0 - ms).abs() < 1e-3, "{kbit}: {queue}");
            assert!((rate / (kbit as f64 * 1e3) - 1.0).abs() < 1e-6 && rate_spread < 1.0, "{kbit}: {rate}");
            assert!(queue_spread < 1e-6, "{kbit}: {queue_spread}");
        }
    }

    /// With start times far apart, and equal thresholds and RTTs, each flow ends with a third and
    /// the delay of that rate.
    #[test]
    fn three_flows_share() {
        let flows = [0, 4, 100].map(|s| Flow { start: Time::from_millis(s * 1000), ..flow(0.4, 300) });
        let path = run(Rate(3_000_000), &flows, Duration::from_secs(1200), MS * 20);
        let e = equilibrium_delay(&flows[0].params, Rate(1_000_000), MS * 25).unwrap();
        assert!((settled(&path.queue).0 + 0.025 - e.as_secs_f64()).abs() < 1e-4);
        for rates in &path.rates {
            assert!((rates.last().unwrap() / 1e6 - 1.0).abs() < 1e-3, "{:?}", rates.last());
        }
    }

    /// A flow that has not started neither loads the link nor changes its rate. The first ACK takes
    /// an RTT.
    #[test]
    fn before_the_start() {
        let late = Flow { start: Time::from_millis(2000), ..flow(0.4, 500) };
        let path = run(Rate(1_000_000), &[late], Duration::from_secs(3), MS);
        let at = |ms: usize| path.rates[0][ms];
        assert_eq!((path.queue[1999], at(1999), at(2049)), (0.0, 450e3, 450e3));
        assert!(at(2060) > 450e3);
    }

    /// The fluid agrees with Nyquist's criterion, at 3 % and 20 % from the largest gain. Below it
    /// the delay settles, and above it the delay oscillates forever.
    #[test]
    fn swings_beyond_the_largest_gain() {
        for kbit in [300, 1000, 5000] {
            let price = 20.0 / kbit as f64;
            let open = OpenLoop { gain: 0.4, slope: 0.1 - price, price, links: 1.0, updates: None };
            let largest = Margins::new(&open).largest_gain.unwrap();
            let swing = |factor: f64| {
                let flows = [flow(factor * largest, kbit)];
                settled(&run(Rate(kbit * 1000), &flows, Duration::from_secs(400), MS * 5).queue)
            };
            for factor in [0.8, 0.97] {
                let (mean, spread) = swing(factor);
                assert!(spread < 1e-3 * mean, "{kbit} {factor}: {mean} {spread}");
            }
            for factor in [1.03, 1.2] {
                let (mean, spread) = swing(factor);
                assert!(spread > 0.05 * mean, "{kbit} {factor}: {mean} {spread}");
            }
        }
    }

    /// Flows that share a link are one loop. The largest gain depends on the rate of each, and not
    /// on their number.
    #[test]
    fn many_flows_are_one_loop() {
        let open = OpenLoop { gain: 0.4, slope: 0.08, price: 0.02, links: 1.0, updates: None };
        let largest = Margins::new(&open).largest_gain.unwrap();
        let swing = |factor: f64| {
            let flows = vec![flow(factor * largest, 1000); 4];
            settled(&run(Rate(4_000_000), &flows, Duration::from_secs(200), MS * 10).queue)
        };
        let ((below, calm), (above, wild)) = (swing(0.95), swing(1.05));
        assert!(calm < 1e-3 * below && wild > 0.05 * above, "{calm} {wild}");
    }
}
