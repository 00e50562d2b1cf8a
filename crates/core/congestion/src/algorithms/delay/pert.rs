//! PERT, probabilistic early response TCP: Bhandarkar, Reddy, Zhang and Loguinov, SIGCOMM (August
//! 2007). Reno that emulates gentle RED at the sender.
//!
//! ```text
//! times in seconds
//! srtt  = 0.99 srtt + 0.01 RTT at each ACK
//! q     = srtt - smallest RTT so far
//! p     = 0                                             q <= Tmin = 5 ms
//!         pmax (q - Tmin) / (Tmax - Tmin)               up to Tmax = 10 ms,  pmax = 0.05
//!         pmax + (1 - pmax) (q - Tmax) / (Tend - Tmax)  up to Tend = 2 Tmax = 20 ms;  1 above
//! each ACK in congestion avoidance, at most once per round trip, with probability p:  cwnd = ssthresh = 0.65 cwnd
//! each packet   cwnd += 1 / cwnd; slow start as `slow_start`
//! loss, mark    ssthresh = cwnd = cwnd / 2
//! timeout       ssthresh likewise, cwnd = 1
//! ```
//!
//! The paper could not be read. A bachelor's thesis describes thresholds, probabilities and
//! reductions (reference 002 of this project). The average and the end of the ramp are from a port
//! to ns-3 (tcp-pert-red.cc), where Tend is 20 ms of queuing delay. The thesis ends the ramp at
//! srtt = 2 (smallest RTT + 10 ms), which is `ramp-end = "rtt"`. The port also adapts growth,
//! reduction and Tend to the range of the RTT, as a later version of PERT. That is left out.
//!
//! A response is a delay event. The sender reduces as its `reduction` says and allows no other
//! event in the round trip. The average weighs 100 ACKs, so a small window responds after many
//! round trips. RTTs include the ACK delay. A receiver delays the ACK of a window of one or two
//! packets, which looks like a queue: the window then stays there.
//!
//! Deviations: windows are not whole packets. The random numbers come from the seed of the path. A
//! draw takes place only where p > 0. The sender allows no growth of an unused window. Persistent
//! congestion, which TCP lacks, follows RFC 9002 section 7.6.2.

use crate::components::window_rule::{Frame, Options, WindowController, WindowRule, options, window_params};
use crate::{Ack, Cause, Congestion, PathInfo, Range};
use units::{Duration, Rng};

window_params! {
    initial_window = None, count = Bytes;
    /// Tmin, queuing delay up to which nothing responds. Bhandarkar et al. 2007.
    min_threshold: Duration = Duration::from_millis(5) => Range::from(0.0).up_to("max_threshold"),
    /// Tmax, queuing delay at which the probability is pmax. Bhandarkar et al. 2007.
    max_threshold: Duration = Duration::from_millis(10),
    /// End of the ramp from pmax to 1: `queue`, a queuing delay of 2 Tmax (ns-3's port), or `rtt`,
    /// a smoothed RTT of twice the smallest RTT plus Tmax.
    ramp_end: RampEnd = RampEnd::Queue,
    /// pmax, probability at Tmax, 0..1. Bhandarkar et al. 2007.
    max_p: f64 = 0.05 => Range::PART,
    /// Weight of an RTT sample in the average, 0..1. Bhandarkar et al. 2007.
    weight: f64 = 0.01 => Range::above(0.0).to(1.0),
    /// Factor by which the window is multiplied at a response, 0..1. Bhandarkar et al. 2007.
    early_reduction: f64 = 0.65 => Range::SHARE,
    /// Factor by which the window is multiplied after a loss or a mark, 0..1. RFC 5681 equation 4.
    reduction: f64 = 0.5 => Range::SHARE,
}

/// End of the ramp to probability 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum RampEnd {
    /// Queuing delay of 2 Tmax.
    Queue,
    /// Smoothed RTT of twice the sum of smallest RTT and Tmax.
    Rtt,
}

crate::variables! {
    /// Slow-start threshold, infinite until slow start has ended. RFC 5681 section 3.1.
    ssthresh: "bytes",
    /// Smoothed queuing delay, q, from the first RTT sample on. Bhandarkar et al. 2007.
    queuing_delay: "s"; later,
    /// Probability of a response, p, 0..1. Bhandarkar et al. 2007.
    p: "",
}

/// The controller. Windows are in packets.
pub type PertController = WindowController<Pert>;

/// The rule, with its measurements.
#[derive(Clone, Debug)]
pub struct Pert {
    params: Params,
    rng: Rng,
    /// Smallest and smoothed RTT, in seconds.
    rtts: Option<(f64, f64)>,
    /// Whether this ACK causes a response.
    responds: bool,
}

impl Pert {
    /// Creates a controller in slow start.
    pub fn controller(params: Params, path: PathInfo) -> PertController {
        let rng = Rng::stream(path.seed, "pert");
        WindowController::new(Self { params, rng, rtts: None, responds: false }, path)
    }

    fn sample(&mut self, rtt: Duration) {
        let rtt = rtt.as_secs_f64();
        let (min, srtt) = self.rtts.unwrap_or((rtt, rtt));
        self.rtts = Some((min.min(rtt), srtt + self.params.weight * (rtt - srtt)));
    }

    /// Returns p.
    fn probability(&self) -> f64 {
        let Some((min_rtt, srtt)) = self.rtts else { return 0.0 };
        let Params { max_p, ramp_end, min_threshold, max_threshold, .. } = self.params;
        let [min, max] = [min_threshold, max_threshold].map(Duration::as_secs_f64);
        let q = srtt - min_rtt;
        let end = match ramp_end {
            RampEnd::Queue => 2.0 * max,
            RampEnd::Rtt => 2.0 * max + min_rtt,
        };
        if q <= min {
            0.0
        } else if q <= max {
            max_p * (q - min) / (max - min)
        } else {
            (max_p + (1.0 - max_p) * (q - max) / (end - max)).min(1.0)
        }
    }
}

impl WindowRule for Pert {
    type Unit = f64;
    type Memory = ();

    fn begin(&self) -> (Options, ()) {
        (options!(self.params), ())
    }

    fn on_ack(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        if let Some(rtt) = ack.latest_rtt {
            self.sample(rtt);
        }
        let p = self.probability();
        let may = p > 0.0 && !ack.in_recovery && !frame.window.in_slow_start();
        self.responds = may && self.rng.unit() < p;
    }

    fn grow(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        if !self.responds {
            frame.window.cwnd += frame.counted(ack) / frame.window.cwnd;
        }
    }

    fn request(&mut self) -> Option<Cause> {
        core::mem::take(&mut self.responds).then_some(Cause::Delay)
    }

    fn reduce(&mut self, frame: &mut Frame<f64>, event: &Congestion) -> f64 {
        let Params { early_reduction, reduction, .. } = self.params;
        let left = if event.cause == Cause::Delay { early_reduction } else { reduction };
        (left * frame.window.cwnd).max(frame.min_window())
    }

    /// Reports the queuing delay in seconds and the probability.
    fn trace(&self, _: &Frame<f64>, put: &mut dyn FnMut(&'static str, f64)) {
        if let Some((min, srtt)) = self.rtts {
            put("queuing_delay", srtt - min);
        }
        put("p", self.probability());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Controller;
    use crate::testing::fixtures::{MDS, acked, congestion, path};

    fn with(params: Params, packets: f64) -> PertController {
        let mut cc = Pert::controller(params, path(MDS));
        (cc.frame.window.cwnd, cc.frame.window.ssthresh) = (packets, packets);
        cc
    }

    fn packets(cc: &PertController) -> f64 {
        cc.frame.window.cwnd
    }

    /// Acknowledges a packet without an RTT sample. Returns the event asked for.
    fn ack(cc: &mut PertController) -> Option<Cause> {
        cc.on_ack(&Ack { latest_rtt: None, ..acked(MDS) })
    }

    /// RED's gentle ramp, with both ends. The smallest RTT is 50 ms.
    #[test]
    fn ramp() {
        let at = |ramp_end, ms: f64| {
            let mut cc = with(Params { ramp_end, ..Params::default() }, 10.0);
            cc.rule.rtts = Some((0.05, 0.05 + 1e-3 * ms));
            cc.rule.probability()
        };
        for (ms, queue, rtt) in [
            (0.0, 0.0, 0.0),
            (5.0, 0.0, 0.0),
            (7.5, 0.025, 0.025),
            (10.0, 0.05, 0.05),
            (12.0, 0.24, 0.05 + 0.95 * 2.0 / 60.0),
            (15.0, 0.525, 0.05 + 0.95 * 5.0 / 60.0),
            (20.0, 1.0, 0.05 + 0.95 * 10.0 / 60.0),
            // srtt = 120 ms = 2 (50 + 10) ms.
            (70.0, 1.0, 1.0),
            (90.0, 1.0, 1.0),
        ] {
            let got = [RampEnd::Queue, RampEnd::Rtt].map(|end| at(end, ms));
            assert!((got[0] - queue).abs() < 1e-9 && (got[1] - rtt).abs() < 1e-9, "{ms}: {got:?}");
        }
        assert_eq!(with(Params::default(), 10.0).rule.probability(), 0.0);
    }

    /// A step of 20 ms is smoothed over 100 ACKs: 20 (1 - 0.99^n) ms.
    #[test]
    fn average() {
        let mut cc = with(Params::default(), 10.0);
        cc.rule.sample(Duration::from_millis(50));
        for n in 1..400 {
            cc.rule.sample(Duration::from_millis(70));
            let (min, srtt) = cc.rule.rtts.expect("sampled");
            let expected = 0.02 * (1.0 - libm::pow(0.99, f64::from(n)));
            assert!(min == 0.05 && (srtt - min - expected).abs() < 1e-12, "{n}");
        }
    }

    /// A queuing delay of at most 5 ms, whatever its jitter, leaves Reno.
    #[test]
    fn jitter() {
        let mut cc = with(Params::default(), 20.0);
        for i in 0..5000 {
            let latest_rtt = Some(Duration::from_micros(50_000 + 5000 * (i % 2)));
            assert_eq!(cc.on_ack(&Ack { latest_rtt, ..acked(MDS) }), None);
        }
        // Each packet adds 1 / w: w^2 = 20^2 + 2 * 5000, apart from the growth within a round trip.
        assert!((packets(&cc) - libm::sqrt(10_400.0)).abs() < 0.1, "{}", packets(&cc));
    }

    /// The share of ACKs that respond is p. Slow start and recovery do not respond.
    #[test]
    fn draws() {
        let count = |ramp: f64, in_recovery, slow| {
            let mut cc = with(Params::default(), 1e6);
            cc.rule.rtts = Some((0.05, 0.05 + 1e-3 * ramp));
            if slow {
                cc.frame.window.ssthresh = f64::INFINITY;
            }
            let mut event = || cc.on_ack(&Ack { latest_rtt: None, in_recovery, ..acked(MDS) });
            (0..10_000).filter(|_| event() == Some(Cause::Delay)).count() as f64
        };
        for (ms, p) in [(7.5, 0.025), (12.0, 0.24), (20.0, 1.0)] {
            // Four standard deviations of a binomial count.
            let tolerance = 4.0 * libm::sqrt(10_000.0 * p * (1.0 - p)) + 1e-9;
            assert!((count(ms, false, false) - 10_000.0 * p).abs() <= tolerance, "{ms}");
            assert_eq!([count(ms, true, false), count(ms, false, true)], [0.0, 0.0]);
        }
    }

    /// The seed of the path decides.
    #[test]
    fn seeds() {
        let draws = |seed| {
            let mut cc = Pert::controller(Params::default(), PathInfo { seed, ..path(MDS) });
            cc.frame.window.ssthresh = 0.0;
            cc.rule.rtts = Some((0.05, 0.065));
            (0..64).map(|_| ack(&mut cc).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(draws(1), draws(1));
        assert_ne!(draws(1), draws(2));
    }

    /// 0.65 of the window at a response, half after a loss. An ACK that responds does not grow it.
    #[test]
    fn events() {
        for (cause, cwnd, ssthresh) in [
            (Cause::Delay, 65.0, 65.0),
            (Cause::Loss, 50.0, 50.0),
            (Cause::Ecn, 50.0, 50.0),
            (Cause::Timeout, 1.0, 50.0),
            (Cause::PersistentCongestion, 2.0, 100.0),
        ] {
            let mut cc = with(Params::default(), 100.0);
            cc.on_congestion(&congestion(cause, 0));
            assert_eq!((packets(&cc), cc.frame.window.ssthresh), (cwnd, ssthresh), "{cause:?}");
        }
        let mut cc = with(Params::default(), 100.0);
        cc.rule.rtts = Some((0.05, 0.09));
        assert_eq!((ack(&mut cc), packets(&cc)), (Some(Cause::Delay), 100.0));
        cc.on_congestion(&congestion(Cause::Delay, 0));
        assert_eq!(packets(&cc), 65.0);
        let mut cc = with(Params::default(), 2.5);
        cc.on_congestion(&congestion(Cause::Delay, 0));
        assert_eq!(packets(&cc), 2.0);
    }

    /// A pipe of 100 packets with an RTT of max(1, w / 100) * 100 ms, in whole us, with a step from
    /// probability 0 to 1 in place of the ramp: windows after each five round trips.
    /// `vectors/pert.py`.
    #[test]
    fn on_a_pipe() {
        let threshold = Duration::from_millis(10);
        let step =
            Params { min_threshold: threshold, max_threshold: threshold, max_p: 1.0, ..Params::default() };
        let mut cc = with(step, 90.0);
        for (i, expected) in PIPE.into_iter().enumerate() {
            for _ in 0..5 {
                let us = 1000.0 * packets(&cc).max(100.0);
                let latest_rtt = Some(Duration::from_micros(us as u64));
                let mut in_recovery = false;
                for _ in 0..packets(&cc) as u64 {
                    let growth = if in_recovery { 0 } else { MDS };
                    if cc.on_ack(&Ack { latest_rtt, growth, in_recovery, ..acked(MDS) }).is_some() {
                        cc.on_congestion(&congestion(Cause::Delay, 0));
                        in_recovery = true;
                    }
                }
            }
            // The script prints four digits after the point.
            assert!((packets(&cc) - expected).abs() < 1e-4, "{i}: {}", packets(&cc));
        }
    }

    /// Output of `vectors/pert.py`.
    const PIPE: [f64; 20] = [
        94.9318, 99.8604, 104.7958, 109.737, 49.0297, 53.9445, 58.8226, 63.7195, 68.6313, 73.5549, 78.4881,
        83.4293, 88.3771, 93.3304, 98.2884, 103.2505, 108.216, 47.0604, 52.0075, 56.8935,
    ];
}
