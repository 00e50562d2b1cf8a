//! TIMELY, a sending rate from the gradient of the RTT: Mittal et al., SIGCOMM (August 2015), with
//! the patch of Zhu et al., ECN or Delay, CoNEXT (December 2016), as an option.
//!
//! ```text
//! each RTT   d = (1 - alpha) d + alpha (RTT - previous RTT);  g = d / min_rtt;  f = min(1, time since the last RTT / min_rtt)
//!            k = number of RTTs in a row that were smaller than the previous one
//! RTT < T_low         rate += delta f
//! RTT > T_high        rate *= 1 - f beta (1 - T_high / RTT)
//! else   g <= 0       rate += N delta f,  N = 5 if k >= 5, else 1                  hyperactive increase, HAI
//!        g > 0        rate *= 1 - beta g
//! patched             w = clamp(2 g + 1/2, 0, 1),  e = (RTT - T_low) / T_low       between T_low and T_high
//!                     rate = rate + delta (1 - w) - beta_patched w e rate
//! then   rate = at least half of itself, within its limits
//! ```
//!
//! Neither paper could be read. The first form is the code that its authors published
//! (timely-code-snippet.cc, radhikam.web.illinois.edu). The patch is that of the fluid model of its
//! authors (jitupadhye-zz/rdma, timely-fixed.m, commit 80b6d7d5). T_low, T_high and min_rtt are
//! those of this model, which cites section 4.4 of the paper. The published code recommends a
//! T_high of 1 ms, and a T_low of 0 with a pacer per packet.
//!
//! The thresholds are RTTs, not queue delays: TIMELY is made for a data centre. On a path with a
//! longer RTT they and `min-rtt` must be raised, or the rate falls to its minimum.
//!
//! Deviations: a segment is a number of acknowledged bytes, whose RTT is that of the last ACK. The
//! window, which TIMELY lacks, only stops the sender when its path has died. Losses and marks
//! have no effect, as in a network without losses. A timeout or persistent congestion sets the rate
//! to its minimum.

use crate::components::receiver_report::{Window, bits};
use crate::{Ack, Cause, Congestion, Control, Controller, PathInfo, Range, params};
use units::{Duration, Rate, Time};

params! {
    /// T_low, RTT below which the rate only grows. Section 4.4.
    t_low: Duration = Duration::from_micros(50) => Range::from(0.0).up_to("t_high"),
    /// T_high, RTT above which the rate only falls. Section 4.4; the published code has 1 ms.
    t_high: Duration = Duration::from_micros(500),
    /// Data between two RTT samples, bytes. Section 3.1: a segment of 16 to 64 KB.
    segment: u64 = 16_384 => Range::COUNT,
    /// Smallest RTT of the network, which normalises the gradient. Section 4.4.
    min_rtt: Duration = Duration::from_micros(20),
    /// EWMA weight of the newest difference of RTTs, alpha. Published code.
    alpha: f64 = 0.02 => Range::SHARE,
    /// Multiplicative decrement, beta. Published code.
    beta: f64 = 0.8 => Range::SHARE,
    /// Additive increment, delta. Published code, for a link of 10 Gbit/s.
    delta: Rate = Rate(10_000_000),
    /// Number of falling RTTs in a row that speed up the increase. Published code.
    hai_threshold: u64 = 5 => Range::COUNT,
    /// Factor on the increase then, N. Published code.
    hai_factor: f64 = 5.0 => Range::FACTOR,
    /// Whether the decrease follows the RTT besides the gradient. Zhu et al.
    patched: bool = false,
    /// Multiplicative decrement of the patch. Zhu et al.
    beta_patched: f64 = 0.008 => Range::SHARE,
    /// First rate. Not in the paper as a constant.
    initial_rate: Rate = Rate(10_000_000),
    /// Smallest rate. Not in the paper as a constant.
    min_rate: Rate = Rate(1_000_000) => Range::from(0.0).up_to("max_rate"),
    /// Largest rate, that of the link. Not in the paper as a constant.
    max_rate: Rate = Rate(10_000_000_000),
    /// Window, in multiples of the bytes sent in an RTT. Large enough not to limit the rate. Not in
    /// the paper.
    window: f64 = 2.0 => Range::PACKETS,
    /// Smallest window, packets. Not in the paper.
    min_window: u64 = 10 => Range::PACKETS,
}

crate::variables! {
    /// Sending rate. Algorithm 1.
    rate: "bit/s",
    /// Gradient of the RTT, normalized_gradient, from the first RTT on. Algorithm 1.
    gradient: ""; later,
}

/// Gradient beyond which the weight of the patch is 0 or 1. Zhu et al., CalculateP.
const STEEP: f64 = 0.25;

/// The controller.
#[derive(Clone, Debug)]
pub struct Timely {
    params: Params,
    window: Window,
    /// Sending rate, bit/s.
    rate: f64,
    /// Last RTT in seconds, and its time.
    last: Option<(f64, Time)>,
    /// Average difference of RTTs, seconds.
    diff: f64,
    /// Falling RTTs in a row.
    falling: u64,
    /// Bytes acknowledged since the last sample.
    acked: u64,
}

impl Timely {
    /// Creates a controller at the initial rate.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let window = Window::new(path, Duration::ZERO, params.window, params.min_window);
        let rate = bits(params.initial_rate);
        let mut cc = Self { params, window, rate, last: None, diff: 0.0, falling: 0, acked: 0 };
        cc.set(rate);
        cc
    }

    fn set(&mut self, rate: f64) {
        // In this order, a minimum above the maximum does not panic.
        self.rate = rate.min(bits(self.params.max_rate)).max(bits(self.params.min_rate)).max(1.0);
    }

    fn min_rtt(&self) -> f64 {
        self.params.min_rtt.as_secs_f64().max(1e-9)
    }

    fn gradient(&self) -> f64 {
        self.diff / self.min_rtt()
    }

    /// Responds to an RTT in seconds.
    fn on_rtt(&mut self, now: Time, rtt: f64) {
        let (previous, then) = self.last.unwrap_or((rtt, Time::ZERO));
        self.last = Some((rtt, now));
        self.falling = if rtt < previous { self.falling + 1 } else { 0 };
        self.diff += self.params.alpha * (rtt - previous - self.diff);
        let factor = ((now - then).as_secs_f64() / self.min_rtt()).min(1.0);
        let rate = self.next(rtt, factor).max(self.rate / 2.0);
        self.set(rate);
    }

    /// Returns the rate after an RTT.
    fn next(&self, rtt: f64, factor: f64) -> f64 {
        let Params { beta, hai_threshold, hai_factor, .. } = self.params;
        let (low, high) = (self.params.t_low.as_secs_f64(), self.params.t_high.as_secs_f64());
        let (delta, rate, gradient) = (bits(self.params.delta), self.rate, self.gradient());
        if rtt < low {
            rate + delta * factor
        } else if rtt > high {
            rate * (1.0 - factor * beta * (1.0 - high / rtt))
        } else if self.params.patched {
            let weight = ((gradient + STEEP) / (2.0 * STEEP)).clamp(0.0, 1.0);
            let error = (rtt - low) / low.max(1e-9);
            rate + delta * (1.0 - weight) - self.params.beta_patched * weight * error * rate
        } else if gradient <= 0.0 {
            let n = if self.falling >= hai_threshold { hai_factor } else { 1.0 };
            rate + n * delta * factor
        } else {
            rate * (1.0 - beta * gradient)
        }
    }
}

impl Controller for Timely {
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.window.on_ack(ack);
        self.acked += ack.acked;
        if let Some(rtt) = ack.latest_rtt.filter(|_| self.acked >= self.params.segment) {
            self.acked = 0;
            self.on_rtt(ack.now, rtt.as_secs_f64());
        }
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if matches!(event.cause, Cause::PersistentCongestion | Cause::Timeout) {
            self.set(0.0);
        }
    }

    /// The rate controls the sender, so the window must not be changed in recovery.
    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.window.on_path_change(path);
    }

    fn control(&self) -> Control {
        self.window.control(self.rate)
    }

    /// Reports `rate` in bit/s.
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("rate", self.rate);
        if self.last.is_some() {
            put("gradient", self.gradient());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixtures::{MDS, acked, congestion, path};

    fn with(params: Params) -> Timely {
        let mut cc = Timely::new(params, path(MDS));
        cc.set(1e9);
        cc
    }

    /// RTTs in microseconds, one every 20 us.
    const RTTS: [u64; 24] = [
        60, 64, 70, 80, 100, 140, 200, 300, 420, 520, 700, 600, 450, 300, 250, 200, 150, 120, 90, 80, 45, 40,
        55, 52,
    ];

    fn play(params: Params) -> Vec<f64> {
        let mut cc = with(params);
        let rates = RTTS.iter().enumerate().map(|(i, &us)| {
            let (now, latest_rtt) = (Time(1_000_000 + 20_000 * i as u64), Some(Duration::from_micros(us)));
            cc.on_ack(&Ack { now, latest_rtt, ..acked(MDS) });
            cc.rate * 1e-6
        });
        rates.collect()
    }

    /// The published code and the patch on a fixed sequence of RTTs: rates in Mbit/s.
    /// `vectors/timely.py`.
    #[test]
    fn as_published() {
        for (patched, expected) in [(false, PUBLISHED), (true, PATCHED)] {
            let rates = play(Params { patched, segment: 1, ..Params::default() });
            for (i, (rate, expected)) in rates.into_iter().zip(expected).enumerate() {
                // The script prints four digits.
                assert!((rate - expected).abs() < 1e-4, "{patched} {i}: {rate}");
            }
        }
    }

    /// Output of `vectors/timely.py`.
    const PUBLISHED: [f64; 24] = [
        1010.0, 1006.768, 998.7783, 983.0203, 952.0928, 892.2704, 794.4991, 645.6224, 465.0827, 450.7725,
        347.7388, 301.3736, 219.0622, 186.7158, 167.1657, 156.6992, 153.3523, 203.3523, 253.3523, 303.3523,
        313.3523, 323.3523, 333.3523, 343.3523,
    ];
    /// Likewise, patched.
    const PATCHED: [f64; 24] = [
        1004.2, 1007.9773, 1011.1021, 1013.0896, 1012.6133, 1006.4611, 990.0272, 951.9905, 895.6326,
        868.0747, 669.6576, 580.3699, 543.2263, 525.6491, 515.218, 510.5346, 510.4802, 512.742, 516.998,
        521.8327, 531.8327, 541.8327, 547.9528, 554.2038,
    ];

    /// The growth is proportional to the time since the last RTT, up to min_rtt.
    #[test]
    fn frequent_rtts() {
        for (us, grown) in [(5, 2.5), (20, 10.0), (100, 10.0)] {
            let mut cc = with(Params::default());
            cc.on_rtt(Time(1_000_000), 40e-6);
            let before = cc.rate;
            cc.on_rtt(Time(1_000_000 + us * 1000), 40e-6);
            assert!((cc.rate - before - grown * 1e6).abs() < 1.0, "{us}");
        }
    }

    /// Each segment has one RTT, that of the ACK that completes it.
    #[test]
    fn segments() {
        let mut cc = with(Params { segment: 3 * MDS, ..Params::default() });
        let mut now = Time::from_millis(1);
        let rates = [30, 40, 600, 30, 30, 30].map(|us| {
            let latest_rtt = Some(Duration::from_micros(us));
            now += Duration::from_micros(20);
            cc.on_ack(&Ack { now, latest_rtt, ..acked(MDS) });
            cc.rate
        });
        assert!(
            rates[1] == 1e9 && rates[2] < 1e9 && rates[4] == rates[2] && rates[5] > rates[4],
            "{rates:?}"
        );
    }

    /// Five falling RTTs in a row speed up the increase. An equal one ends the row.
    #[test]
    fn hyperactive_increase() {
        let mut cc = with(Params::default());
        let mut grown = Vec::new();
        for (i, us) in [200, 190, 180, 170, 160, 150, 140, 140, 130].into_iter().enumerate() {
            let before = cc.rate;
            cc.on_rtt(Time(1_000_000 + 100_000 * i as u64), f64::from(us) * 1e-6);
            grown.push(((cc.rate - before) * 1e-6 + 0.5) as u64);
        }
        assert_eq!(grown, [10, 10, 10, 10, 10, 50, 50, 10, 10]);
    }

    /// Between a quarter below and above zero the gradient weighs the two terms of the patch.
    #[test]
    fn patch() {
        for (gradient, change) in [(-0.5, 10.0), (-0.25, 10.0), (0.0, 1.0), (0.25, -8.0), (1.0, -8.0)] {
            let mut cc = with(Params { patched: true, ..Params::default() });
            cc.diff = gradient * 20e-6;
            // At 100 us the error is 1, so 8 of 1000 Mbit/s.
            assert!((cc.next(100e-6, 1.0) - 1e9 - change * 1e6).abs() < 1.0, "{gradient}");
        }
    }

    /// A rate halves at most, and stays within its limits.
    #[test]
    fn limits() {
        let mut cc =
            with(Params { min_rate: Rate(300_000_000), max_rate: Rate(1_005_000_000), ..Params::default() });
        cc.diff = 1.0;
        for expected in [500.0, 300.0, 300.0] {
            cc.on_rtt(Time(1_000_000), 100e-6);
            assert_eq!(cc.rate, expected * 1e6);
        }
        cc.rate = 1e9;
        cc.on_rtt(Time(2_000_000), 10e-6);
        assert_eq!(cc.rate, 1.005e9);
        cc.on_congestion(&congestion(Cause::Loss, 0));
        assert_eq!(cc.rate, 1.005e9);
        cc.on_congestion(&congestion(Cause::Timeout, 0));
        assert_eq!(cc.control().pacing_rate, Some(Rate(300_000_000)));
    }
}
