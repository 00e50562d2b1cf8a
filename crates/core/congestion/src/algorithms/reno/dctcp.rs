//! DCTCP: RFC 8257 (October 2017): Reno whose response to marks follows the share of marked
//! packets.
//!
//! ```text
//! once per window of data  M     = marked / acknowledged packets                        (section 3.3, steps 5 to 8)
//!                          alpha = (1 - g) alpha + g M,  first 1                        (section 4.2: g = 1/16)
//! mark                     ssthresh = cwnd = cwnd (1 - alpha / 2),  once per window      (section 3.3)
//! loss                     ssthresh = cwnd = FlightSize / 2                              (section 3.5, RFC 5681 equation 4)
//! timeout                  ssthresh likewise, cwnd = 1 packet                            (section 3.5)
//! growth                   Reno, see `window`                                            (section 3.4)
//!
//! rules = "linux", windows in whole packets, alpha in 1/1024                  (tcp_dctcp.c, commit 01581a21)
//!   alpha -= floor(g alpha), or to 0 if that is 0;  alpha += floor(1024 g M), at most 1024
//!   mark                   cwnd -= floor(cwnd alpha / 2)
//!   loss, timeout          ssthresh = floor(cwnd / 2)
//! ```
//!
//! RFC 8257 counts bytes of ACKs with ECE. Linux counts packets, and so does this code, from the CE
//! counts in the ACKs. The two are equal if all packets have the same size. Alpha begins at 1, so
//! the first mark halves the window. A window without an acknowledged packet leaves alpha as it is.
//!
//! Of RFC 8257, only the steps of section 3.3 could be read, quoted in other sources. The other
//! sections are cited unread.
//!
//! Deviations: the sender reports a mark before the ACK that carries it. A reduction therefore uses
//! alpha without the window that this ACK ends. Linux updates alpha first. A loss in the window of
//! a mark does not reduce again (section 3.5). Linux halves again. The receiver's part (section
//! 3.2) is not needed where ACKs carry counts, as in QUIC and in the simulator's TCP. Kernel TCP
//! repeats a mark for a round trip (RFC 3168), so its agent refuses this controller. No window is
//! below two packets, as in Linux. Persistent congestion, which TCP lacks, follows RFC 9002 section
//! 7.6.2.

use crate::algorithms::reno::window::{self, Growth, Progress, Reno};
use crate::components::count::Count;
use crate::components::window_rule::{Options, WindowController, WindowRule, options};
use crate::{Ack, Cause, Congestion, Needs, Range, params};
use units::Ecn;

params! {
    /// g, weight of the newest window of data in alpha, 0..1. RFC 8257 section 4.2.
    g: f64 = 1.0 / 16.0 => Range::SHARE,
    /// First value of alpha, 0..1. RFC 8257 section 3.3.
    alpha_on_init: f64 = 1.0 => Range::PART,
    /// Arithmetic: `exact` (RFC 8257), or `linux`: alpha in 1/1024, windows in whole packets. Linux
    /// tcp_dctcp.c. Use it with `count = "packets"`.
    rules: Rules = Rules::Exact,
    /// Smallest window, packets. RFC 5681 equation 4; Linux tcp_dctcp.c.
    min_window: u64 = 2 => Range::PACKETS,
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = None => Range::PACKETS,
    /// Growth of the window in congestion avoidance: a packet per `window` (RFC 3465 section 2.1),
    /// a fraction of a packet per `ack` (RFC 5681 equation 3), or a fraction of 1232 bytes per
    /// `packet`, rounded down (mvfst).
    growth: Growth = Growth::Window,
    /// Quantity that grows the window: `bytes` acknowledged, `packets` (Linux),
    #[doc = crate::components::count::others!()]
    count: Count = Count::Bytes,
    /// L, largest growth per ACK in slow start, packets, or `"off"`. RFC 3465 section 2.2 has 2;
    /// Linux none.
    #[serde(with = "units::or_off")]
    abc_limit: Option<u64> = None => Range::COUNT,
    #[doc = crate::components::slow_start::values!()]
    slow_start: crate::components::slow_start::Kind = crate::components::slow_start::Kind::Standard,
}

/// Arithmetic of alpha and of the reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Rules {
    /// Real numbers.
    Exact,
    /// Integers of Linux.
    Linux,
}

crate::variables! {
    with window::VARIABLES;
    /// Estimate of the share of marked packets, DCTCP.Alpha, 0..1. RFC 8257 section 3.3.
    alpha: "",
}

/// DCTCP_MAX_ALPHA, alpha of 1 in Linux tcp_dctcp.c.
const LINUX_ONE: f64 = 1024.0;

/// The controller. Windows are in bytes.
pub type DctcpController = WindowController<Dctcp>;

/// The rule, with its estimate.
#[derive(Clone, Debug)]
pub struct Dctcp {
    params: Params,
    alpha: f64,
    /// Packets acknowledged in this window of data.
    acked: u64,
    /// Packets marked in it.
    marked: u64,
}

impl From<Params> for Dctcp {
    fn from(params: Params) -> Self {
        Self { alpha: params.alpha_on_init, params, acked: 0, marked: 0 }
    }
}

impl Dctcp {
    /// Ends a window of data. RFC 8257 section 3.3, steps 5 to 8.
    fn end_window(&mut self) {
        if self.acked > 0 {
            let m = (self.marked as f64 / self.acked as f64).min(1.0);
            self.alpha = self.next_alpha(m);
            (self.acked, self.marked) = (0, 0);
        }
    }

    fn next_alpha(&self, m: f64) -> f64 {
        let Self { params: Params { g, rules, .. }, alpha, .. } = *self;
        match rules {
            Rules::Exact => (1.0 - g) * alpha + g * m,
            Rules::Linux => {
                let alpha = libm::floor(LINUX_ONE * alpha);
                let taken = libm::floor(alpha * g);
                let left = if taken == 0.0 { 0.0 } else { alpha - taken };
                (left + libm::floor(LINUX_ONE * g * m)).min(LINUX_ONE) / LINUX_ONE
            }
        }
    }

    /// Returns the window after an event of Linux, in bytes.
    fn linux(&self, reno: &Reno, cause: Cause) -> u64 {
        let packets = reno.window.cwnd / reno.mds();
        let kept = match cause {
            Cause::Ecn => packets - (packets as f64 * self.alpha / 2.0) as u64,
            _ => packets / 2,
        };
        kept * reno.mds()
    }
}

impl WindowRule for Dctcp {
    type Unit = u64;
    type Memory = Progress;

    fn begin(&self) -> (Options, Progress) {
        (options!(self.params), Progress::default())
    }

    fn needs(&self) -> Needs {
        Needs { mark_counts: true, ecn: Ecn::Ect0, ..Needs::default() }
    }

    fn on_ack(&mut self, _: &mut Reno, ack: &Ack) {
        self.acked += ack.packets.len() as u64;
        self.marked += ack.ce;
        if ack.round_start {
            self.end_window();
        }
    }

    fn grow(&mut self, reno: &mut Reno, ack: &Ack) {
        reno.grow(ack, self.params.growth);
    }

    fn reduce(&mut self, reno: &mut Reno, event: &Congestion) -> u64 {
        let kept = match (self.params.rules, event.cause) {
            (Rules::Linux, cause) => self.linux(reno, cause),
            (Rules::Exact, Cause::Ecn) => (reno.window.cwnd as f64 * (1.0 - self.alpha / 2.0)) as u64,
            (Rules::Exact, _) => event.prior_in_flight / 2,
        };
        kept.max(reno.min_window())
    }

    fn trace(&self, _: &Reno, put: &mut dyn FnMut(&'static str, f64)) {
        put("alpha", self.alpha);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::reno::window::tests::avoiding;
    use crate::testing::fixtures::{MDS, acked, congestion, path, stamped};
    use crate::{AckedPacket, Controller};
    use units::Time;

    fn with(params: Params) -> DctcpController {
        DctcpController::new(params, path(MDS))
    }

    fn linux() -> Params {
        Params { rules: Rules::Linux, count: Count::Packets, initial_window: Some(10), ..Params::default() }
    }

    fn packet() -> [AckedPacket; 1] {
        [AckedPacket { bytes: MDS, ..stamped(0, Time::ZERO, 0) }]
    }

    /// Plays the ACKs of a round trip. The first `marked` packets carry marks, and the last ACK
    /// ends the round trip.
    fn round(cc: &mut DctcpController, acks: u64, marked: u64, grows: bool) {
        for i in 0..acks {
            let (ce, growth) = (u64::from(i < marked), if grows { MDS } else { 0 });
            let (packets, round_start) = (&packet(), i + 1 == acks);
            cc.on_ack(&Ack { packets, ce, growth, round_start, in_recovery: !grows, ..acked(MDS) });
        }
    }

    fn windows(cc: &DctcpController) -> u64 {
        cc.control().cwnd / MDS
    }

    /// The vector of the equation for alpha: from 0, all packets marked. `vectors/dctcp.py`.
    #[test]
    fn alpha_rises() {
        let mut cc = with(Params { alpha_on_init: 0.0, ..Params::default() });
        for (i, expected) in
            [0.0625, 0.1211, 0.1760, 0.2275, 0.2758, 0.3211, 0.3635, 0.4033].into_iter().enumerate()
        {
            round(&mut cc, 10, 10, false);
            // The vector has four digits.
            assert!((cc.rule.alpha - expected).abs() < 5e-5, "{i}: {}", cc.rule.alpha);
        }
        (8..16).for_each(|_| round(&mut cc, 10, 10, false));
        assert!((cc.rule.alpha - 0.6439).abs() < 5e-5);
    }

    /// Closed forms: 1 - (1 - g)^n of all marked, (1 - g)^n of none, M of a constant share.
    #[test]
    fn alpha_is_a_mean() {
        for g in [1.0 / 16.0, 0.5] {
            for (first, marked, limit) in [(0.0, 10, 1.0), (1.0, 0, 0.0), (1.0, 3, 0.3)] {
                let mut cc = with(Params { g, alpha_on_init: first, ..Params::default() });
                for n in 1..200 {
                    round(&mut cc, 10, marked, false);
                    let expected = limit + (first - limit) * libm::pow(1.0 - g, f64::from(n));
                    assert!((cc.rule.alpha - expected).abs() < 1e-12, "{g} {n}");
                    assert!((0.0..=1.0).contains(&cc.rule.alpha));
                }
            }
        }
    }

    /// Without marks Linux reaches 0 after 75 windows. `vectors/dctcp.py`.
    #[test]
    fn linux_alpha_reaches_zero() {
        let mut cc = with(linux());
        let mut left = Vec::new();
        for _ in 0..75 {
            assert!(cc.rule.alpha > 0.0);
            round(&mut cc, 10, 0, false);
            left.push(cc.rule.alpha * LINUX_ONE);
        }
        assert_eq!([15, 31, 47, 63, 74].map(|i| left[i]), [370.0, 137.0, 54.0, 25.0, 0.0]);
    }

    /// Linux's rules on a fixed sequence of marks and losses: window and alpha after each round
    /// trip. `vectors/dctcp.py`.
    #[test]
    fn as_linux() {
        const ROUNDS: [i64; 30] =
            [0, 0, 0, 3, 0, 5, 1, 0, 0, 40, 0, -1, 0, 0, 0, 2, 0, 7, 0, 0, 0, 0, -1, 9, 0, 0, 1, 0, 0, 0];
        const EXPECTED: [(u64, u64); 30] = [
            (20, 960),
            (40, 900),
            (80, 844),
            (48, 794),
            (49, 745),
            (32, 705),
            (21, 663),
            (22, 622),
            (23, 584),
            (17, 612),
            (18, 574),
            (9, 539),
            (10, 506),
            (11, 475),
            (12, 446),
            (10, 429),
            (11, 403),
            (9, 418),
            (10, 392),
            (11, 368),
            (12, 345),
            (13, 324),
            (6, 304),
            (6, 349),
            (7, 328),
            (8, 308),
            (7, 297),
            (8, 279),
            (9, 262),
            (10, 246),
        ];
        let mut cc = with(linux());
        for (i, (marks, expected)) in ROUNDS.into_iter().zip(EXPECTED).enumerate() {
            let acks = windows(&cc);
            if marks != 0 {
                let cause = if marks < 0 { Cause::Loss } else { Cause::Ecn };
                cc.on_congestion(&congestion(cause, acks * MDS));
            }
            round(&mut cc, acks, marks.max(0).unsigned_abs().min(acks), marks == 0);
            assert_eq!((windows(&cc), (cc.rule.alpha * LINUX_ONE) as u64), expected, "round {i}");
        }
    }

    /// A mark takes alpha / 2 of the window, a loss half of the flight, neither more than all but
    /// two packets.
    #[test]
    fn reductions() {
        for (alpha, cause, cwnd, left) in [
            (1.0, Cause::Ecn, 100, 50),
            (0.5, Cause::Ecn, 100, 75),
            (0.0, Cause::Ecn, 100, 100),
            (0.1, Cause::Loss, 100, 40),
            (1.0, Cause::Ecn, 3, 2),
        ] {
            let mut cc = with(Params { alpha_on_init: alpha, ..Params::default() });
            cc.frame.window = avoiding(cwnd * MDS);
            cc.on_congestion(&congestion(cause, 80 * MDS));
            assert_eq!((windows(&cc), cc.frame.window.ssthresh), (left, left * MDS), "{alpha} {cause:?}");
        }
        let mut cc = with(Params::default());
        cc.frame.window = avoiding(100 * MDS);
        cc.on_congestion(&congestion(Cause::Timeout, 80 * MDS));
        assert_eq!((windows(&cc), cc.frame.window.ssthresh), (1, 40 * MDS));
        cc.on_spurious();
        assert_eq!(windows(&cc), 100);
    }

    /// Late packets alone are no window of data. More marks than packets count as all.
    #[test]
    fn odd_counts() {
        let mut cc = with(Params::default());
        cc.on_ack(&Ack { acked: 0, late: MDS, round_start: true, ..acked(0) });
        assert_eq!(cc.rule.alpha, 1.0);
        cc.rule.alpha = 0.0;
        cc.on_ack(&Ack { packets: &packet(), ce: 5, round_start: true, ..acked(MDS) });
        assert_eq!(cc.rule.alpha, 1.0 / 16.0);
        assert!(cc.needs().mark_counts);
    }

    /// A flow is marked in each round trip above W packets. A cycle has W alpha / 2 round trips of
    /// growth, the one with marks, and one for the first window, which is no whole number of
    /// packets. So alpha (W alpha / 2 + 2) = 1. For large W this is sqrt(2 / W), as in Alizadeh et
    /// al., SIGMETRICS 2011. `vectors/dctcp.py` solves it.
    #[test]
    fn steady_state() {
        for (limit, expected) in [(200, 0.0905), (400, 0.0659), (800, 0.0476)] {
            // The analysis takes alpha as constant, so g is small.
            let mut cc = with(Params { g: 1.0 / 512.0, alpha_on_init: expected, ..Params::default() });
            cc.frame.window = avoiding(limit * MDS);
            let (mut sum, mut rounds) = (0.0, 0.0);
            for i in 0..3000 {
                let acks = windows(&cc);
                let above = acks > limit;
                if above {
                    cc.on_congestion(&congestion(Cause::Ecn, acks * MDS));
                }
                round(&mut cc, acks, if above { acks } else { 0 }, !above);
                if i >= 1000 {
                    (sum, rounds) = (sum + cc.rule.alpha, rounds + 1.0);
                }
            }
            let alpha: f64 = sum / rounds;
            // A cycle is a whole number of round trips, about 11 at W = 200.
            assert!((alpha - expected).abs() < 0.1 * expected, "{limit}: {alpha}");
        }
    }
}
