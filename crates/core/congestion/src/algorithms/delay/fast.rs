//! FAST TCP: Wei, Jin, Low and Hegde, IEEE/ACM ToN 14(6), December 2006. A window that keeps alpha
//! packets queued.
//!
//! ```text
//! w in packets, times in seconds
//! baseRTT  = smallest RTT so far
//! RTT      = average, RTT += eta (sample - RTT),  eta = min(3 / w, 1/4)
//! every second round trip:  w = min(2 w, (1 - gamma) w + gamma (w baseRTT / RTT + alpha)),  gamma = 1/2
//! slow start: until RTT - baseRTT reaches mi_threshold, w += 1 for each packet acknowledged   ns-2
//! loss, mark                w = ssthresh = w / 2
//! timeout                   ssthresh likewise, w = 1
//! ```
//!
//! In equilibrium w (1 - baseRTT / RTT) = alpha: each flow has alpha packets in the queue, so n
//! flows queue n alpha packets. The distance from there halves with each update (gamma = 1/2). A
//! flow that starts while others keep a queue takes the queue as part of its baseRTT, and gets
//! more.
//!
//! The paper could not be read. Its equation is quoted in many places. The rest is from its ns-2
//! module (Cui and Andrew, University of Melbourne, version 1.1.3, January 2007), which names Linux
//! as its model: the update in every second round trip, the multiplicative increase below a queuing
//! delay, and half of the window after a loss. The module averages with eta = min(3 / w, 1/256),
//! and its update takes the w of the time when the packet was sent. The value of alpha is open;
//! 20 is common between 10 and 100 Mbit/s.
//!
//! ns-2's module also doubles the window later, whenever the queue is below mi_threshold. With its
//! example of 1.5 ms and alpha = 20, alpha packets take less time than that from 160 Mbit/s on, and
//! a loss at 100 Mbit/s leaves less. The window then doubles, loses, and doubles again: at 100
//! Mbit/s and 40 ms, 5 % of the packets. So the increase ends with slow start here.
//!
//! Deviations: an increase is spread over ACKs, at most a packet per packet for which the sender
//! allows growth. FAST's burstiness control spreads it too; the rest of that is the sender's
//! pacing. Slow start ends with the multiplicative increase. Nothing is updated in a recovery.
//! Persistent congestion, which TCP lacks, follows RFC 9002 section 7.6.2.

use crate::components::window_rule::{Frame, Options, WindowController, WindowRule, options, window_params};
use crate::{Ack, Congestion, Range};
use units::Duration;

window_params! {
    initial_window = None, count = Bytes;
    /// alpha, packets that the flow keeps queued. Wei et al. 2006 leave it open.
    alpha: f64 = 20.0 => Range::above(0.0).to(1e6),
    /// gamma, weight of an update, 0..1. Wei et al. 2006; 0.5 in ns-2's module.
    gamma: f64 = 0.5 => Range::above(0.0).to(1.0),
    /// Number of round trips between updates. ns-2's module.
    period: u64 = 2 => Range::COUNT,
    /// Largest weight of an RTT sample in the average, 0..1. Wei et al. 2006; 1/256 in ns-2's
    /// module.
    max_weight: f64 = 0.25 => Range::above(0.0).to(1.0),
    /// Queuing delay up to which slow start doubles the window, or `"off"`: no slow start. 1.5 ms in
    /// the example of ns-2's module.
    #[serde(with = "units::or_off")]
    mi_threshold: Option<Duration> = Some(Duration::from_micros(1500)),
    /// Factor by which the window is multiplied after a loss or a mark, 0..1. ns-2's module.
    reduction: f64 = 0.5 => Range::SHARE,
}

crate::variables! {
    /// Slow-start threshold, infinite until slow start has ended. RFC 5681 section 3.1.
    ssthresh: "bytes",
    /// Smallest RTT so far, baseRTT, from the first sample on. Wei et al. 2006.
    base_rtt: "s"; later,
    /// Average RTT, from the first sample on. Wei et al. 2006.
    avg_rtt: "s"; later,
}

/// The controller. Windows are in packets.
pub type FastController = WindowController<Fast>;

/// The rule, with its measurements.
#[derive(Clone, Debug)]
pub struct Fast {
    params: Params,
    /// baseRTT and RTT, in seconds.
    rtts: Option<(f64, f64)>,
    /// Round trips since the last update, and the window that it allows.
    rounds: u64,
    allowed: f64,
}

impl From<Params> for Fast {
    fn from(params: Params) -> Self {
        Self { params, rtts: None, rounds: 0, allowed: 0.0 }
    }
}

impl Fast {
    fn sample(&mut self, rtt: Duration, w: f64) {
        let rtt = rtt.as_secs_f64();
        let (base, avg) = self.rtts.unwrap_or((rtt, rtt));
        let eta = (3.0 / w).min(self.params.max_weight);
        self.rtts = Some((base.min(rtt), avg + eta * (rtt - avg)));
    }

    /// Reports whether the queue is too short to end slow start.
    fn multiplies(&self) -> bool {
        let queuing = self.rtts.map_or(0.0, |(base, avg)| avg - base);
        self.params.mi_threshold.is_some_and(|threshold| queuing < threshold.as_secs_f64())
    }

    /// Returns the window after an update.
    fn updated(&self, w: f64) -> f64 {
        let Params { alpha, gamma, .. } = self.params;
        let ratio = self.rtts.map_or(1.0, |(base, avg)| base / avg);
        ((1.0 - gamma) * w + gamma * (w * ratio + alpha)).min(2.0 * w)
    }

    fn restart(&mut self) {
        (self.rounds, self.allowed) = (0, 0.0);
    }
}

impl WindowRule for Fast {
    type Unit = f64;
    type Memory = ();

    fn begin(&self) -> (Options, ()) {
        (options!(self.params), ())
    }

    fn on_ack(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        if let Some(rtt) = ack.latest_rtt.filter(|rtt| *rtt > Duration::ZERO) {
            self.sample(rtt, frame.window.cwnd);
        }
        self.rounds += u64::from(ack.round_start);
    }

    fn slow_start(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        if self.multiplies() {
            self.restart();
            return frame.slow_start(ack, |grown| grown);
        }
        frame.window.ssthresh = frame.window.cwnd;
        self.grow(frame, ack);
    }

    fn grow(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        let w = frame.window.cwnd;
        if self.rounds >= self.params.period && !ack.in_recovery {
            (self.rounds, self.allowed) = (0, self.updated(w));
            frame.window.cwnd = self.allowed.max(frame.min_window()).min(w);
        }
        let missing = (self.allowed - frame.window.cwnd).max(0.0);
        frame.window.cwnd += missing.min(frame.counted(ack));
    }

    fn reduce(&mut self, frame: &mut Frame<f64>, _: &Congestion) -> f64 {
        self.restart();
        (self.params.reduction * frame.window.cwnd).max(frame.min_window())
    }

    /// Reports `base_rtt` and `avg_rtt` in seconds.
    fn trace(&self, _: &Frame<f64>, put: &mut dyn FnMut(&'static str, f64)) {
        if let Some((base, avg)) = self.rtts {
            put("base_rtt", base);
            put("avg_rtt", avg);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::closed_loop::{Flow, Loop};
    use crate::testing::fixtures::{MDS, acked, congestion, path};
    use crate::{Cause, Controller};
    use units::{Rate, Time};

    const MS: Duration = Duration::from_millis(1);

    fn with(params: Params, packets: f64) -> FastController {
        let mut cc = FastController::new(params, path(MDS));
        (cc.frame.window.cwnd, cc.frame.window.ssthresh) = (packets, packets);
        cc
    }

    fn packets(cc: &FastController) -> f64 {
        cc.frame.window.cwnd
    }

    /// A pipe of 100 packets, base 100 ms, alpha 20, from 10 packets on: ten packets per update
    /// until the pipe is full, then half of the distance to 120 packets. No more than twice the
    /// window.
    #[test]
    fn equation() {
        let at = |alpha, ms: f64| Fast {
            rtts: Some((0.1, 1e-3 * ms)),
            ..Params { alpha, ..Params::default() }.into()
        };
        let mut w: f64 = 10.0;
        for expected in [20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0, 110.0, 115.0, 117.5] {
            w = at(20.0, w.max(100.0)).updated(w);
            assert!((w - expected).abs() < 1e-9, "{expected}: {w}");
        }
        assert!((at(20.0, 120.0).updated(120.0) - 120.0).abs() < 1e-9, "the equilibrium");
        assert!((at(20.0, 400.0).updated(400.0) - 260.0).abs() < 1e-9);
        assert_eq!(at(200.0, 100.0).updated(10.0), 20.0);
        let mut gentle = at(20.0, 200.0);
        gentle.params.gamma = 0.1;
        // 0.9 * 200 + 0.1 * (100 + 20)
        assert!((gentle.updated(200.0) - 192.0).abs() < 1e-9);
    }

    /// The weight of a sample is 3 / w, at most 1/4.
    #[test]
    fn average() {
        for (w, avg) in [(4.0, 0.125), (12.0, 0.125), (30.0, 0.11), (300.0, 0.101)] {
            let mut fast = Fast::from(Params::default());
            fast.sample(MS * 100, w);
            fast.sample(MS * 200, w);
            let (base, got) = fast.rtts.expect("sampled");
            assert!(base == 0.1 && (got - avg).abs() < 1e-12, "{w}: {got}");
        }
    }

    /// Below 1.5 ms of queuing delay slow start doubles the window. The queue ends slow start for
    /// good.
    #[test]
    fn multiplicative_increase() {
        let mut cc = FastController::new(Params::default(), path(MDS));
        cc.on_ack(&acked(10 * MDS));
        assert!(cc.control().in_slow_start() && packets(&cc) == 20.0);
        cc.rule.rtts = Some((0.1, 0.1016));
        cc.on_ack(&Ack { latest_rtt: None, ..acked(MDS) });
        assert_eq!((packets(&cc), cc.frame.window.ssthresh), (20.0, 20.0));
        cc.rule.rtts = Some((0.1, 0.1014));
        cc.on_ack(&Ack { latest_rtt: None, ..acked(5 * MDS) });
        assert_eq!(packets(&cc), 20.0);
        let mut cc = FastController::new(Params { mi_threshold: None, ..Params::default() }, path(MDS));
        cc.on_ack(&acked(10 * MDS));
        assert!(!cc.control().in_slow_start() && packets(&cc) == 10.0);
    }

    /// One update in two round trips, none in a recovery, and a packet more per packet.
    #[test]
    fn updates() {
        let params = Params { mi_threshold: None, ..Params::default() };
        let end = |cc: &mut FastController, growth, in_recovery| {
            let packets = Ack { growth: growth * MDS, in_recovery, round_start: true, ..acked(100 * MDS) };
            cc.on_ack(&packets);
        };
        let mut cc = with(params.clone(), 100.0);
        for expected in [100.0, 110.0, 110.0, 120.0] {
            end(&mut cc, 100, false);
            assert_eq!(packets(&cc), expected);
        }
        for (growth, in_recovery, expected) in [(0, false, 100.0), (2, false, 102.0), (9, true, 100.0)] {
            let mut cc = with(params.clone(), 100.0);
            (0..2).for_each(|_| end(&mut cc, growth, in_recovery));
            assert_eq!(packets(&cc), expected, "{growth}");
        }
        // A decrease needs no grant.
        let mut cc = with(params, 100.0);
        cc.rule.rtts = Some((0.1, 0.4));
        (0..2).for_each(|_| {
            cc.on_ack(&Ack { latest_rtt: None, growth: 0, round_start: true, ..acked(MDS) });
        });
        assert_eq!(packets(&cc), 50.0 + 0.5 * (25.0 + 20.0));
    }

    /// Half after a loss, one packet after a timeout.
    #[test]
    fn events() {
        for (cause, left, ssthresh) in [
            (Cause::Loss, 50.0, 50.0),
            (Cause::Ecn, 50.0, 50.0),
            (Cause::Timeout, 1.0, 50.0),
            (Cause::PersistentCongestion, 2.0, 100.0),
        ] {
            let mut cc = with(Params::default(), 100.0);
            cc.on_congestion(&congestion(cause, 0));
            assert_eq!((packets(&cc), cc.frame.window.ssthresh), (left, ssthresh), "{cause:?}");
        }
    }

    /// n flows with the same baseRTT keep n alpha packets queued, in equal parts.
    #[test]
    fn equilibrium() {
        for flows in [1, 2, 4] {
            let flow = |_| {
                let mut cc = FastController::new(Params::default(), path(MDS));
                // The true baseRTT: 99 ms and the packet's own time.
                cc.rule.rtts = Some((0.1, 0.1));
                Flow::new(Box::new(cc), MS * 99, Time::ZERO)
            };
            let mut link = Loop::new((0..flows).map(flow).collect(), MDS, Rate(8_000_000));
            link.run_to(Time::from_millis(60_000));
            let windows: Vec<_> = link.flows.iter().map(|flow| packets(&flow.cc)).collect();
            let expected = 100.0 / f64::from(flows) + 20.0;
            // Windows are whole packets at the link, and the average RTT lags by a packet's time.
            assert!(windows.iter().all(|w| (w - expected).abs() < 1.5), "{windows:?}");
        }
    }

    /// A pipe of 100 packets whose RTT is max(1, w / 100) * 100 ms, in whole us: windows after each
    /// round trip, from 10 and from 300 packets. `vectors/fast.py`.
    #[test]
    fn on_a_pipe() {
        for (first, expected) in PIPE {
            let mut cc = FastController::new(Params::default(), path(MDS));
            cc.frame.window.cwnd = first;
            for (i, expected) in expected.into_iter().enumerate() {
                let us = 1000.0 * packets(&cc).max(100.0);
                let (latest_rtt, acks) = (Some(Duration::from_micros(us as u64)), packets(&cc) as u64);
                for n in 1..=acks {
                    cc.on_ack(&Ack { latest_rtt, round_start: n == acks, ..acked(MDS) });
                }
                // The script prints four digits after the point.
                assert!((packets(&cc) - expected).abs() < 1e-4, "{first} {i}: {}", packets(&cc));
            }
        }
    }

    /// Output of `vectors/fast.py`: first window, and windows after each round trip.
    const PIPE: [(f64, [f64; 24]); 2] = [
        (
            10.0,
            [
                20.0, 40.0, 80.0, 160.0, 161.0, 140.5596, 140.5596, 130.2629, 130.2629, 125.1225, 125.1225,
                122.5566, 122.5566, 121.2761, 121.2761, 120.6368, 120.6368, 120.3181, 120.3181, 120.1588,
                120.1588, 120.0796, 120.0796, 120.04,
            ],
        ),
        (
            300.0,
            [
                600.0, 600.0, 460.1834, 460.1834, 389.9814, 389.9814, 354.9242, 354.9242, 337.4256, 337.4256,
                328.6941, 328.6941, 324.3373, 324.3373, 322.1639, 322.1639, 321.0799, 321.0799, 320.5391,
                320.5391, 320.269, 320.269, 320.1342, 320.1342,
            ],
        ),
    ];
}
