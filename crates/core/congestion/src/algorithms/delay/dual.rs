//! TCP DUAL: Wang and Crowcroft, ACM CCR 22(2), April 1992: Reno that also reduces its window when
//! the RTT is in the upper half of its range.
//!
//! ```text
//! RTTmin, RTTmax    smallest and largest RTT since the start or the last timeout          seconds
//! every 2 RTTs      RTT > RTTmin + alpha (RTTmax - RTTmin):  cwnd -= cwnd / 8,  alpha = 0.5
//!                                                            ssthresh = min(ssthresh, cwnd)
//! each packet       cwnd += 1 / cwnd; slow start as `slow_start`
//! loss, mark        ssthresh = cwnd = cwnd / 2
//! timeout           ssthresh likewise, cwnd = 1; RTTmin and RTTmax are forgotten
//! ```
//!
//! The paper could not be read. The rule is as Brakmo, O'Malley and Peterson describe it (TCP
//! Vegas, SIGCOMM 1994, section 3.2): growth as in Reno, and every two round-trip delays a decrease
//! by one eighth if the current RTT is greater than the average of the smallest and the largest RTT
//! so far. That average is alpha = 0.5. Whether the paper resets the range on a timeout could not
//! be verified.
//!
//! Two choices are open there. The current RTT is that of the ACK that ends the second round trip.
//! The decrease also lowers ssthresh, because slow start would undo it otherwise
//! (`lower-ssthresh = false` keeps ssthresh). The first decrease thus ends the first slow start.
//!
//! Deviations: windows are not whole packets. A loss halves the window as in Reno; the TCP of the
//! paper was Tahoe, which begins again with one packet. The sender allows no growth of an unused
//! window. Persistent congestion, which TCP lacks, follows RFC 9002 section 7.6.2 and forgets the
//! range like a timeout.

use crate::components::window_rule::{Frame, Options, WindowController, WindowRule, options, window_params};
use crate::{Ack, Cause, Congestion, Range};
use units::Duration;

window_params! {
    initial_window = None, count = Bytes;
    /// alpha, part of the RTT's range above which the window shrinks, 0..1. Brakmo et al. 1994: the
    /// average of the smallest and the largest RTT.
    alpha: f64 = 0.5 => Range::PART,
    /// Factor by which the window is multiplied when the RTT is above, 0..1. Brakmo et al. 1994.
    delay_reduction: f64 = 0.875 => Range::SHARE,
    /// Number of round trips between two tests of the RTT. Brakmo et al. 1994.
    period: u64 = 2 => Range::COUNT,
    /// Whether a decrease by delay also lowers ssthresh to the window. An interpretation.
    lower_ssthresh: bool = true,
    /// Factor by which the window is multiplied after a loss or a mark, 0..1. RFC 5681 equation 4.
    reduction: f64 = 0.5 => Range::SHARE,
}

crate::variables! {
    /// Slow-start threshold, infinite until slow start has ended. RFC 5681 section 3.1.
    ssthresh: "bytes",
    /// Smallest RTT since the start or the last timeout, RTTmin, from the first sample on. Brakmo
    /// et al. 1994.
    rtt_min: "s"; later,
    /// Largest RTT since the start or the last timeout, RTTmax, from the first sample on. Brakmo et
    /// al. 1994.
    rtt_max: "s"; later,
}

/// The controller. Windows are in packets.
pub type DualController = WindowController<Dual>;

/// The rule, with its measurements.
#[derive(Clone, Debug)]
pub struct Dual {
    params: Params,
    /// Smallest and largest RTT, in seconds.
    range: Option<(f64, f64)>,
    /// Round trips since the last test.
    rounds: u64,
}

impl From<Params> for Dual {
    fn from(params: Params) -> Self {
        Self { params, range: None, rounds: 0 }
    }
}

impl Dual {
    fn sample(&mut self, rtt: Duration) {
        let rtt = rtt.as_secs_f64();
        let (min, max) = self.range.unwrap_or((rtt, rtt));
        self.range = Some((min.min(rtt), max.max(rtt)));
    }

    /// Reports whether an RTT is in the upper part of the range.
    fn above(&self, rtt: Duration) -> bool {
        let threshold = |(min, max)| min + self.params.alpha * (max - min);
        self.range.is_some_and(|range| rtt.as_secs_f64() > threshold(range))
    }

    fn shrink(&self, frame: &mut Frame<f64>) {
        let least = frame.min_window().min(frame.window.cwnd);
        let window = &mut frame.window;
        window.cwnd = (window.cwnd * self.params.delay_reduction).max(least);
        if self.params.lower_ssthresh {
            window.ssthresh = window.ssthresh.min(window.cwnd);
        }
    }
}

impl WindowRule for Dual {
    type Unit = f64;
    type Memory = ();

    fn begin(&self) -> (Options, ()) {
        (options!(self.params), ())
    }

    fn on_ack(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        if let Some(rtt) = ack.latest_rtt {
            self.sample(rtt);
        }
        self.rounds += u64::from(ack.round_start);
        if ack.round_start && self.rounds >= self.params.period {
            self.rounds = 0;
            if !ack.in_recovery && ack.latest_rtt.is_some_and(|rtt| self.above(rtt)) {
                self.shrink(frame);
            }
        }
    }

    fn grow(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        frame.window.cwnd += frame.counted(ack) / frame.window.cwnd;
    }

    fn reduce(&mut self, frame: &mut Frame<f64>, event: &Congestion) -> f64 {
        if matches!(event.cause, Cause::Timeout | Cause::PersistentCongestion) {
            (self.range, self.rounds) = (None, 0);
        }
        (self.params.reduction * frame.window.cwnd).max(frame.min_window())
    }

    /// Reports `rtt_min` and `rtt_max` in seconds.
    fn trace(&self, _: &Frame<f64>, put: &mut dyn FnMut(&'static str, f64)) {
        if let Some((min, max)) = self.range {
            put("rtt_min", min);
            put("rtt_max", max);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Controller;
    use crate::testing::fixtures::{MDS, acked, congestion, path};

    fn with(params: Params, packets: f64) -> DualController {
        let mut cc = DualController::new(params, path(MDS));
        (cc.frame.window.cwnd, cc.frame.window.ssthresh) = (packets, packets);
        cc
    }

    fn packets(cc: &DualController) -> f64 {
        cc.frame.window.cwnd
    }

    /// Acknowledges a window of packets with this RTT in ms. The last ACK ends the round trip.
    fn round(cc: &mut DualController, ms: u64) {
        let acks = packets(cc) as u64;
        for i in 0..acks {
            let (latest_rtt, round_start) = (Some(Duration::from_millis(ms)), i + 1 == acks);
            cc.on_ack(&Ack { latest_rtt, round_start, ..acked(MDS) });
        }
    }

    /// Ends a round trip with this RTT in ms. Nothing grows.
    fn end(cc: &mut DualController, ms: u64) {
        let latest_rtt = Some(Duration::from_millis(ms));
        cc.on_ack(&Ack { latest_rtt, growth: 0, round_start: true, ..acked(MDS) });
    }

    /// The threshold is the middle of the range, or another part of it, and must be exceeded.
    #[test]
    fn threshold() {
        for (alpha, ms, left) in [
            (0.5, 150, 80.0),
            (0.5, 151, 70.0),
            (0.5, 200, 70.0),
            (0.25, 125, 80.0),
            (0.25, 126, 70.0),
            (1.0, 200, 80.0),
        ] {
            let mut cc = with(Params { alpha, ..Params::default() }, 80.0);
            [100, 200, 100].into_iter().for_each(|ms| cc.rule.sample(Duration::from_millis(ms)));
            end(&mut cc, 100);
            end(&mut cc, ms);
            assert_eq!((packets(&cc), cc.frame.window.ssthresh), (left, left), "{alpha} {ms}");
        }
    }

    /// A constant RTT leaves Reno: one packet per round trip.
    #[test]
    fn no_range() {
        let mut cc = with(Params::default(), 50.0);
        for n in 1..20 {
            round(&mut cc, 100);
            // A round trip acknowledges whole packets of a window that grows meanwhile, which is up
            // to two packets in fifty less.
            let grown = packets(&cc) - 50.0;
            assert!(grown > 0.96 * f64::from(n) && grown <= f64::from(n), "{n}: {grown}");
        }
    }

    /// At most one decrease in two round trips, none in a recovery, and never below two packets.
    #[test]
    fn every_second_round_trip() {
        let mut cc = with(Params::default(), 64.0);
        cc.rule.sample(Duration::from_millis(100));
        let windows: Vec<_> = (0..6).map(|_| (end(&mut cc, 200), packets(&cc)).1).collect();
        assert_eq!(windows, [64.0, 56.0, 56.0, 49.0, 49.0, 42.875]);
        end(&mut cc, 200);
        let latest_rtt = Some(Duration::from_millis(200));
        cc.on_ack(&Ack { latest_rtt, growth: 0, round_start: true, in_recovery: true, ..acked(MDS) });
        assert_eq!(packets(&cc), 42.875);
        for (before, left) in [(2.1, 2.0), (1.0, 1.0)] {
            let mut cc = with(Params::default(), before);
            cc.rule.sample(Duration::from_millis(100));
            (0..2).for_each(|_| end(&mut cc, 200));
            assert_eq!(packets(&cc), left);
        }
    }

    /// The decrease ends slow start, unless ssthresh is kept.
    #[test]
    fn slow_start() {
        for (lower_ssthresh, slow) in [(true, false), (false, true)] {
            let mut cc = DualController::new(Params { lower_ssthresh, ..Params::default() }, path(MDS));
            end(&mut cc, 100);
            end(&mut cc, 200);
            assert_eq!((packets(&cc), cc.control().in_slow_start()), (8.75, slow));
        }
    }

    /// Half after a loss. A timeout also forgets the range.
    #[test]
    fn events() {
        for (cause, cwnd, known) in [
            (Cause::Loss, 32.0, true),
            (Cause::Ecn, 32.0, true),
            (Cause::Timeout, 1.0, false),
            (Cause::PersistentCongestion, 2.0, false),
        ] {
            let mut cc = with(Params::default(), 64.0);
            cc.rule.sample(Duration::from_millis(100));
            cc.on_congestion(&congestion(cause, 0));
            assert_eq!((packets(&cc), cc.rule.range.is_some()), (cwnd, known), "{cause:?}");
        }
    }

    /// Windows on a pipe of 100 packets whose RTT is max(1, cwnd / 100) * 100 ms, in whole ms, from
    /// three first windows. `vectors/dual.py`.
    #[test]
    fn on_a_pipe() {
        for (first, expected) in PIPE {
            let mut cc = with(Params::default(), first);
            for (i, expected) in expected.into_iter().enumerate() {
                for _ in 0..5 {
                    let ms = packets(&cc).max(100.0) as u64;
                    round(&mut cc, ms);
                }
                // The script prints four digits after the point.
                assert!((packets(&cc) - expected).abs() < 1e-4, "{first} {i}: {}", packets(&cc));
            }
        }
    }

    /// Output of `vectors/dual.py`: first window, and windows after each five round trips.
    const PIPE: [(f64, [f64; 8]); 3] = [
        (80.0, [84.9238, 89.845, 94.7743, 99.7107, 91.6956, 96.634, 101.5785, 93.4609]),
        (120.0, [109.4582, 114.4165, 104.5794, 109.5303, 114.4855, 105.0242, 110.0006, 100.5785]),
        (190.0, [170.7217, 175.687, 180.6542, 162.668, 167.6332, 172.6005, 177.5696, 160.2261]),
    ];
}
