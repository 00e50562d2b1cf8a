//! HighSpeed TCP, RFC 3649 (December 2003): Reno whose increase a(w) and decrease b(w) follow the
//! window.
//!
//! ```text
//! w in packets
//! w <= Low_Window    a(w) = 1, b(w) = 0.5: Reno                                                    (section 5)
//! above              ln p(w) = ln Low_P + (ln w - ln Low_Window) / S
//!                    S       = (ln High_Window - ln Low_Window) / (ln High_P - ln Low_P)  = -0.83
//!                    b(w)    = (High_Decrease - 0.5) (ln w - ln Low_Window) / (ln High_Window - ln Low_Window) + 0.5
//!                    a(w)    = w^2 p(w) 2 b(w) / (2 - b(w)),  at least 1
//! each packet acknowledged  w += a(w) / w,  with a of the old window
//! loss, mark                w  = ssthresh = max(2, (1 - b(w)) w)
//! timeout                   ssthresh likewise, w = 1
//! slow start                as `slow_start`, optionally limited above max_ssthresh packets (RFC 3742, March 2004):
//!                           w += 1 / K for each packet,  K = floor(w / (max_ssthresh / 2))
//! ```
//!
//! In steady state w = 0.12 / p^0.835. Appendix B's table rounds p(w) to 1 / (12.8 w^1.2), which is
//! at most 2.5 % less. With `low-p` and `high-p` of that line, the formula gives every row of the
//! table. Like the table, a and b continue beyond High_Window, up to the table's end at 100 000
//! packets.
//!
//! Deviations: windows are not whole packets. The reduction is based on `cwnd`, as in Linux,
//! because the sender allows no growth of an unused window. The initial window is RFC 9002's. The
//! sender decides when recovery begins and ends. A repeated timeout keeps ssthresh (RFC 5681
//! section 3.1). Persistent congestion, which TCP lacks, follows RFC 9002 section 7.6.2. The sender
//! does RFC 3742's pacing of bursts.

use crate::components::count::Count;
use crate::components::window_rule::{Frame, Options, WindowController, WindowRule, options};
use crate::{Ack, Congestion, Range, params};

params! {
    /// Low_Window, packets, up to which the controller is Reno. RFC 3649 section 5.
    low_window: f64 = 38.0 => Range::PACKETS.up_to("high_window"),
    /// High_Window, packets. RFC 3649 section 5.
    high_window: f64 = 83_000.0 => Range::PACKETS,
    /// Low_P, loss rate that gives a mean window of Low_Window, 0..1. RFC 3649 section 5.
    low_p: f64 = 1e-3 => Range::SHARE,
    /// High_P, loss rate that gives a mean window of High_Window, 0..1. RFC 3649 section 5.
    high_p: f64 = 1e-7 => Range::SHARE,
    /// High_Decrease, share by which a loss reduces High_Window, 0..1. RFC 3649 section 5.
    high_decrease: f64 = 0.1 => Range::SHARE,
    /// Share by which a loss reduces Low_Window and smaller windows, 0..1. RFC 3649 section 5, as
    /// in Reno.
    low_decrease: f64 = 0.5 => Range::SHARE,
    /// Smallest window, packets. RFC 5681 equation 4.
    min_window: u64 = 2 => Range::PACKETS,
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = None => Range::PACKETS,
    /// Quantity that grows the window: `bytes` acknowledged, `packets` (Linux),
    #[doc = crate::components::count::others!()]
    count: Count = Count::Bytes,
    /// L, largest growth per ACK in slow start, packets, or `"off"`. RFC 3465 section 2.2 has 2;
    /// RFC 9002 and Linux none.
    #[serde(with = "units::or_off")]
    abc_limit: Option<u64> = None => Range::COUNT,
    #[doc = crate::components::slow_start::values!()]
    slow_start: crate::components::slow_start::Kind = crate::components::slow_start::Kind::Standard,
    /// max_ssthresh of limited slow start, packets, or `"off"`. RFC 3742 section 2 has 100.
    #[serde(with = "units::or_off")]
    max_ssthresh: Option<f64> = None => Range::PACKETS,
}

/// End of the table, in packets. RFC 3649 appendix B.
const TABLE_END: f64 = 100_000.0;

impl Params {
    /// Returns the position between Low_Window (0) and High_Window (1) on a logarithmic scale, and
    /// the window to use in the formulas.
    fn position(&self, w: f64) -> (f64, f64) {
        let w = w.min(TABLE_END.max(self.high_window));
        (libm::log(w / self.low_window) / libm::log(self.high_window / self.low_window), w)
    }

    /// Returns b(w), the share of the window that a loss takes.
    pub fn decrease(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return self.low_decrease;
        }
        self.low_decrease + (self.high_decrease - self.low_decrease) * self.position(w).0
    }

    /// Returns a(w), in packets per round trip.
    pub fn increase(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return 1.0;
        }
        let (position, w) = self.position(w);
        let p = self.low_p * libm::exp(position * libm::log(self.high_p / self.low_p));
        let b = self.decrease(w);
        (w * w * p * 2.0 * b / (2.0 - b)).max(1.0)
    }
}

crate::variables! {
    /// Slow-start threshold, infinite until slow start has ended. RFC 5681 section 3.1.
    ssthresh: "bytes",
    /// Growth per round trip at the current window, a(w). RFC 3649 section 5.
    a: "packets",
    /// Share of the current window that a loss takes, b(w), 0..1. RFC 3649 section 5.
    b: "",
}

/// The controller. Windows are in packets.
pub type Hstcp = WindowController<Params>;

impl WindowRule for Params {
    type Unit = f64;
    type Memory = ();

    fn begin(&self) -> (Options, ()) {
        (options!(self), ())
    }

    fn slow_start(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        let w = frame.window.cwnd;
        let max = self.max_ssthresh.filter(|&max| w > max);
        // RFC 3742 section 2.
        let k = max.map_or(1.0, |max| libm::floor(w / (0.5 * max)));
        frame.slow_start(ack, |grown| grown / k);
    }

    fn grow(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        let w = frame.window.cwnd;
        frame.window.cwnd += self.increase(w) * frame.counted(ack) / w;
    }

    fn reduce(&mut self, frame: &mut Frame<f64>, _: &Congestion) -> f64 {
        let w = frame.window.cwnd;
        ((1.0 - self.decrease(w)) * w).max(frame.min_window())
    }

    /// Reports `a` and `b` of the current window.
    fn trace(&self, frame: &Frame<f64>, put: &mut dyn FnMut(&'static str, f64)) {
        put("a", self.increase(frame.window.cwnd));
        put("b", self.decrease(frame.window.cwnd));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::reno::new_reno::NewReno;
    use crate::testing::fixtures::{acked, congestion, path};
    use crate::{Cause, Controller};

    const MDS: u64 = 1200;

    /// The first column of appendix B's table. The second column counts from 1.
    const TABLE: [u64; 73] = [
        38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778, 4177,
        4596, 5036, 5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082, 12834, 13614,
        14424, 15265, 16137, 17042, 17981, 18955, 19965, 21013, 22101, 23230, 24402, 25618, 26881, 28193,
        29557, 30975, 32450, 33986, 35586, 37253, 38992, 40808, 42707, 44694, 46776, 48961, 51258, 53677,
        56230, 58932, 61799, 64851, 68113, 71617, 75401, 79517, 84035, 89053, 94717,
    ];

    /// Some values of the third column.
    const DECREASE: [(u64, f64); 14] = [
        (38, 0.50),
        (118, 0.44),
        (221, 0.41),
        (347, 0.38),
        (495, 0.37),
        (1529, 0.31),
        (5036, 0.25),
        (10661, 0.21),
        (21013, 0.17),
        (40808, 0.14),
        (68113, 0.11),
        (83000, 0.10),
        (89053, 0.10),
        (94717, 0.09),
    ];

    fn with(cwnd: u64, params: Params) -> Hstcp {
        let mut cc = Hstcp::new(params, path(MDS));
        (cc.frame.window.cwnd, cc.frame.window.ssthresh) = (cwnd as f64, 0.0);
        cc
    }

    /// RFC 3649 appendix B's program: a row for each window whose a exceeds that of the last row by
    /// more than 1.
    #[test]
    fn appendix_b() {
        let p = |w: f64| 1.0 / (12.8 * libm::pow(w, 1.2));
        let params = Params { low_p: p(38.0), high_p: p(83_000.0), ..Params::default() };
        let (mut rows, mut last) = (vec![38], 1.0);
        for w in 39..100_000 {
            let a = params.increase(w as f64);
            if a > last + 1.0 {
                rows.push(w);
                last = a;
                assert_eq!(a as usize, rows.len());
            }
        }
        assert_eq!(rows, TABLE);
    }

    /// The exact line: at most 2.5 % above the table, in which p(w) is rounded.
    #[test]
    fn close_to_the_table() {
        for (row, w) in TABLE.into_iter().enumerate() {
            let more = Params::default().increase(w as f64) / (row + 1) as f64;
            assert!((1.0..=1.025).contains(&more), "{w}: {more}");
        }
        for (w, b) in DECREASE {
            assert!((Params::default().decrease(w as f64) - b).abs() <= 0.005, "{w}");
        }
        let ends =
            [30.0, 38.0, 83_000.0].map(|w| (Params::default().increase(w), Params::default().decrease(w)));
        assert_eq!((ends[0], ends[1]), ((1.0, 0.5), (1.0, 0.5)));
        // w^2 p 2b / (2 - b) with p = 1e-7 and b = 0.1: section 5's 72 packets.
        assert!((ends[2].0 - 83.0 * 83.0 * 0.1 * 0.2 / 1.9).abs() < 1e-6 && (ends[2].1 - 0.1).abs() < 1e-12);
    }

    /// Beyond the table's end nothing changes.
    #[test]
    fn beyond_the_table() {
        let at = |w| (Params::default().increase(w), Params::default().decrease(w));
        assert_eq!(at(1e5), at(1e9));
        let wide = Params { high_window: 1e6, ..Params::default() };
        assert!((wide.decrease(1e6) - 0.1).abs() < 1e-12);
    }

    /// A round trip adds a(w) of the old window, or slightly less because w grows meanwhile. A loss
    /// takes b(w) of it.
    #[test]
    fn round_trip_and_loss() {
        for w in [38, 118, 1529, 10_661, 83_000] {
            let mut cc = with(w, Params::default());
            let (a, b) = (cc.rule.increase(w as f64), cc.rule.decrease(w as f64));
            cc.on_ack(&acked(MDS));
            assert!((cc.frame.window.cwnd - w as f64 - a / w as f64).abs() < 1e-9);
            for _ in 1..w {
                cc.on_ack(&acked(MDS));
            }
            assert!((cc.frame.window.cwnd - w as f64 - a).abs() < 0.02 * a, "{w}: {}", cc.frame.window.cwnd);
            for cause in [Cause::Loss, Cause::Ecn] {
                let mut cc = with(w, Params::default());
                cc.on_congestion(&congestion(cause, 0));
                assert!((cc.frame.window.cwnd - (1.0 - b) * w as f64).abs() < 1e-9);
                assert_eq!(cc.frame.window.cwnd, cc.frame.window.ssthresh);
            }
        }
    }

    /// Section 5's response function: one loss per 1/p packets gives 0.12 / p^0.835 packets on
    /// average.
    #[test]
    fn response_function() {
        for (p, expected) in [(1e-3, 38.0), (1e-4, 262.0), (1e-5, 1795.0), (1e-6, 12_279.0)] {
            let mut cc = with(expected as u64, Params::default());
            let cycle = (1.0 / p) as u64;
            let (mut packets, mut sum, rounds) = (0, 0.0, 4000);
            for _ in 0..rounds {
                sum += cc.frame.window.cwnd;
                packets += cc.frame.window.cwnd as u64;
                if packets >= cycle {
                    packets -= cycle;
                    cc.on_congestion(&congestion(Cause::Loss, 0));
                } else {
                    cc.on_ack(&acked(cc.control().cwnd));
                }
            }
            let mean = sum / f64::from(rounds);
            assert!((mean / expected - 1.0).abs() < 0.05, "{p}: {mean}");
        }
    }

    /// Up to Low_Window it equals NewReno, except for fractions of a packet.
    #[test]
    fn small_windows() {
        let mut reno = NewReno::new(crate::algorithms::reno::new_reno::Params::default(), path(MDS));
        let mut cc = Hstcp::new(Params::default(), path(MDS));
        for round in 0..40 {
            for _ in 0..reno.control().cwnd / MDS {
                reno.on_ack(&acked(MDS));
                cc.on_ack(&acked(MDS));
            }
            if reno.control().cwnd > 30 * MDS {
                reno.on_congestion(&congestion(Cause::Loss, 0));
                cc.on_congestion(&congestion(Cause::Loss, 0));
            }
            assert!(cc.control().cwnd.abs_diff(reno.control().cwnd) < 2 * MDS, "{round}");
        }
    }

    /// RFC 3742: above 100 packets at most 50 packets per round trip.
    #[test]
    fn limited_slow_start() {
        for (before, grown) in [(80, 80.0), (120, 60.0), (150, 50.0), (1000, 50.0)] {
            let mut cc = with(before, Params { max_ssthresh: Some(100.0), ..Params::default() });
            cc.frame.window.ssthresh = f64::INFINITY;
            cc.on_ack(&acked(before * MDS));
            assert!(
                (cc.frame.window.cwnd - before as f64 - grown).abs() < 1e-9,
                "{before}: {}",
                cc.frame.window.cwnd
            );
        }
    }

    /// ns-3, htsim: an ACK of five packets counts as one in both phases. L applies only in slow
    /// start.
    #[test]
    fn growth_per_ack() {
        for (count, abc_limit, slow_start, avoidance) in
            [(Count::Bytes, None, 5.0, 5.0), (Count::Acks, None, 1.0, 1.0), (Count::Bytes, Some(2), 2.0, 5.0)]
        {
            let mut cc = with(1529, Params { count, abc_limit, ..Params::default() });
            let a = cc.rule.increase(1529.0);
            cc.on_ack(&acked(5 * MDS));
            assert!((cc.frame.window.cwnd - 1529.0 - a * avoidance / 1529.0).abs() < 1e-9);
            (cc.frame.window.cwnd, cc.frame.window.ssthresh) = (100.0, 200.0);
            cc.on_ack(&acked(5 * MDS));
            assert!((cc.frame.window.cwnd - 100.0 - slow_start).abs() < 1e-9);
        }
    }

    /// RFC 5681: one packet, then slow start up to (1 - b) w, which a second timeout keeps. Undone
    /// at once.
    #[test]
    fn timeouts() {
        let mut cc = with(1529, Params::default());
        let half = cc.rule.reduce(&mut cc.frame, &congestion(Cause::Loss, 0));
        for _ in 0..2 {
            cc.on_congestion(&congestion(Cause::Timeout, 0));
            assert_eq!((cc.frame.window.cwnd, cc.frame.window.ssthresh), (1.0, half));
        }
        assert!(cc.control().in_slow_start());
        cc.on_spurious();
        assert_eq!(cc.frame.window.cwnd, 1529.0);
        // By now the window has outgrown what a late undo would restore.
        cc.on_congestion(&congestion(Cause::Loss, 0));
        cc.frame.window.cwnd = 2000.0;
        cc.on_spurious();
        assert_eq!(cc.frame.window.cwnd, 2000.0);
        cc.frame.window.ssthresh = 700.0;
        cc.on_congestion(&congestion(Cause::PersistentCongestion, 0));
        assert_eq!((cc.frame.window.cwnd, cc.frame.window.ssthresh), (2.0, 700.0));
    }
}
