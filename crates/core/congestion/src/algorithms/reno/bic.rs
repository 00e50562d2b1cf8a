//! BIC: Xu, Harfoush and Rhee, INFOCOM (March 2004), with the rules of Linux tcp_bic.c (commit
//! 93987391 of kernel-patches/bpf). A binary search for the window at which a packet was lost.
//!
//! ```text
//! W in packets, Wmax = window at the last loss; divisions round down
//! cnt     = packets acknowledged per packet of growth
//!   W <= low_window                 W                                          Reno
//!   W <  Wmax,  D = (Wmax - W) / B
//!     D > Smax                      W / Smax                                   additive increase
//!     D <= 1                        W smooth_part / B
//!     otherwise                     W / D                                      binary search
//!   W >= Wmax
//!     W < Wmax + B                  W smooth_part / B                          away from Wmax, as it came
//!     W < Wmax + Smax (B - 1)       W (B - 1) / (W - Wmax)
//!     otherwise                     W / Smax
//! no loss since the start or a timeout:  cnt at most 20, which is 5 % per round trip
//! above low_window:   cnt = 16 cnt / r, at least 1;  r += packets of the ACK - r / 16,  first 32
//! cnt is computed once per W, or after 1/32 s
//!
//! loss, mark   Wmax = W (1 + beta) / 2 if W < Wmax (fast convergence), otherwise W
//!              ssthresh = W = W / 2 if W <= low_window, otherwise beta W;  at least 2
//! timeout      ssthresh likewise, W = 1;  Wmax and r are forgotten
//! B = 4, Smax = 16, low_window = 14, beta = 819/1024, smooth_part = 20
//! ```
//!
//! r is 16 times the mean number of packets per ACK. Today's Linux counts packets and still divides
//! by r. Its first versions needed that because they counted ACKs (commit 018da8f4 of
//! torvalds/linux). A receiver that acknowledges every second packet thus doubles the growth. One
//! that acknowledges each nearly does: r begins at 32, and rounding keeps it at 31. `delayed-ack =
//! false` counts packets alone.
//!
//! ns-3's TcpBic (commit 6bb63835) has `smooth-part = 5`, `beta = 0.8`, `fast-convergence = "beta"`
//! (Wmax = beta W) and `delayed-ack = false`. Its cnt is larger by one packet, and a window of
//! low_window is not small. The paper halves the distance (`b = 2`), as summaries say. Its text
//! could not be read.
//!
//! Deviations: slow start does not stop at ssthresh within an ACK. Persistent congestion, which TCP
//! lacks, follows RFC 9002 section 7.6.2 and forgets like a timeout.

use crate::algorithms::reno::window::{self, Progress, Reno};
use crate::components::window_rule::{Options, WindowController, WindowRule, options, window_params};
use crate::{Ack, Cause, Congestion, Range};
use units::{Duration, Time};

window_params! {
    initial_window = Some(10), count = Packets;
    /// Window up to which the controller is Reno, packets. Linux low_window.
    low_window: u64 = 14 => Range::PACKETS,
    /// Smax, largest growth per round trip, packets. Linux max_increment.
    max_increment: u64 = 16 => Range::PACKETS,
    /// B, divisor of the distance to Wmax. Linux BICTCP_B; 2 in the paper.
    b: u64 = 4 => Range::COUNT.to(1e6),
    /// Round trips for the last B packets before Wmax. Linux smooth_part; 5 in ns-3.
    smooth_part: u64 = 20 => Range::COUNT.to(1e6),
    /// Factor by which the window is multiplied after a loss, 0..1. Linux beta.
    beta: f64 = 819.0 / 1024.0 => Range::SHARE,
    /// Wmax after a loss below the last Wmax: `mean` of the windows before and after (Linux),
    /// `beta`, the window after (ns-3), or `off`, the window before.
    fast_convergence: FastConvergence = FastConvergence::Mean,
    /// Whether to divide cnt by the mean number of packets per ACK. Linux delayed_ack.
    delayed_ack: bool = true,
}

/// Wmax after a loss below the last Wmax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum FastConvergence {
    /// Mean of the windows before and after the loss.
    Mean,
    /// Window after the loss.
    Beta,
    /// Window before the loss.
    Off,
}

/// Time after which cnt is computed again for the same window. Linux tcp_bic.c, HZ / 32.
const UPDATE: Duration = Duration::from_micros(31_250);
/// Largest cnt before the first loss. Linux tcp_bic.c.
const NO_LOSS_CNT: u64 = 20;
/// Value of r for one packet per ACK. Linux ACK_RATIO_SHIFT.
const ONE_PER_ACK: u64 = 16;

crate::variables! {
    with window::VARIABLES;
    /// Window at the last loss, Wmax, from the first loss on. Linux last_max_cwnd.
    wmax: "packets"; later,
}

/// The controller. Windows are in bytes, whole packets after each reduction.
pub type BicController = WindowController<Bic>;

/// The rule, with its memory. Windows are in packets.
#[derive(Clone, Debug)]
pub struct Bic {
    params: Params,
    /// Wmax, or 0.
    wmax: u64,
    cnt: u64,
    /// Window and time for which cnt was computed.
    updated: Option<(u64, Time)>,
    /// r, 16 times the mean number of packets per ACK.
    ratio: u64,
}

impl From<Params> for Bic {
    fn from(params: Params) -> Self {
        Self { params, wmax: 0, cnt: 0, updated: None, ratio: 2 * ONE_PER_ACK }
    }
}

impl Bic {
    /// Returns the number of packets acknowledged per packet of growth, before corrections.
    fn search(&self, w: u64) -> u64 {
        let Params { max_increment, b, smooth_part, .. } = self.params;
        let (linear, smooth) = (w / max_increment, w.saturating_mul(smooth_part) / b);
        if w < self.wmax {
            match (self.wmax - w) / b {
                distance if distance > max_increment => linear,
                0 | 1 => smooth,
                distance => w / distance,
            }
        } else {
            match w - self.wmax {
                excess if excess < b => smooth,
                excess if excess < max_increment * (b - 1) => w.saturating_mul(b - 1) / excess,
                _ => linear,
            }
        }
    }

    fn update(&mut self, w: u64, now: Time) {
        if self.updated.is_some_and(|(last, at)| last == w && now - at <= UPDATE) {
            return;
        }
        self.updated = Some((w, now));
        if w <= self.params.low_window {
            self.cnt = w;
            return;
        }
        let most = if self.wmax == 0 { NO_LOSS_CNT } else { u64::MAX };
        let ratio = if self.params.delayed_ack { self.ratio } else { ONE_PER_ACK };
        self.cnt = (self.search(w).min(most).saturating_mul(ONE_PER_ACK) / ratio).max(1);
    }

    fn remember(&mut self, w: u64) {
        let share = match self.params.fast_convergence {
            FastConvergence::Mean => (1.0 + self.params.beta) / 2.0,
            FastConvergence::Beta => self.params.beta,
            FastConvergence::Off => 1.0,
        };
        self.wmax = if w < self.wmax { (w as f64 * share) as u64 } else { w };
    }
}

impl WindowRule for Bic {
    type Unit = u64;
    type Memory = Progress;

    fn begin(&self) -> (Options, Progress) {
        (options!(self.params), Progress::default())
    }

    fn on_ack(&mut self, reno: &mut Reno, ack: &Ack) {
        if ack.acked > 0 && !ack.in_recovery {
            self.ratio = self.ratio - self.ratio / ONE_PER_ACK + ack.acked.div_ceil(reno.mds());
        }
    }

    /// Linux's tcp_cong_avoid_ai: what was acknowledged for a longer cnt counts for one packet.
    fn grow(&mut self, reno: &mut Reno, ack: &Ack) {
        let (counted, mds) = (reno.counting.in_avoidance(ack), reno.mds());
        if counted == 0 {
            return;
        }
        self.update(reno.window.cwnd / mds, ack.now);
        let (per, bytes_acked) = (self.cnt.max(1).saturating_mul(mds), &mut reno.window.memory.bytes_acked);
        if *bytes_acked >= per {
            (*bytes_acked, reno.window.cwnd) = (0, reno.window.cwnd + mds);
        }
        *bytes_acked += counted;
        reno.window.cwnd += *bytes_acked / per * mds;
        *bytes_acked %= per;
    }

    fn reduce(&mut self, reno: &mut Reno, event: &Congestion) -> u64 {
        let w = reno.window.cwnd / reno.mds();
        self.remember(w);
        if matches!(event.cause, Cause::Timeout | Cause::PersistentCongestion) {
            *self = self.params.clone().into();
        }
        let left = if w <= self.params.low_window { w / 2 } else { (w as f64 * self.params.beta) as u64 };
        (left * reno.mds()).max(reno.min_window())
    }

    fn trace(&self, _: &Reno, put: &mut dyn FnMut(&'static str, f64)) {
        if self.wmax > 0 {
            put("wmax", self.wmax as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Controller;
    use crate::algorithms::reno::window::tests::avoiding as window;
    use crate::testing::fixtures::{MDS, acked, congestion, path};

    fn avoiding(packets: u64, params: Params) -> BicController {
        let mut cc = BicController::new(params, path(MDS));
        cc.frame.window = window(packets * MDS);
        cc
    }

    fn packets(cc: &BicController) -> u64 {
        cc.control().cwnd / MDS
    }

    fn ack(cc: &mut BicController, ms: u64, packets: u64, in_recovery: bool) {
        let growth = if in_recovery { 0 } else { packets * MDS };
        cc.on_ack(&Ack { now: Time::from_millis(ms), growth, in_recovery, ..acked(packets * MDS) });
    }

    /// The windows after each round trip without delayed ACKs, from beta Wmax.
    fn search(wmax: u64, params: &Params, rounds: u64) -> Vec<u64> {
        let mut cc = avoiding(wmax, Params { delayed_ack: false, ..params.clone() });
        cc.on_congestion(&congestion(Cause::Loss, 0));
        let mut windows = vec![packets(&cc)];
        for round in 0..rounds {
            (0..packets(&cc)).for_each(|_| ack(&mut cc, 100 * round, 1, false));
            windows.push(packets(&cc));
        }
        windows
    }

    /// `vectors/bic.py`, today's Linux with one packet per ACK and r = 16. The windows of its first
    /// version differ by up to a packet in the first ten round trips.
    #[test]
    fn search_without_delayed_acks() {
        for (wmax, first, later) in [
            (
                200,
                [159, 167, 174, 180, 184, 187, 189, 191, 193, 193],
                [(20, 195), (40, 199), (60, 203), (80, 401), (100, 721)],
            ),
            (
                1000,
                [799, 815, 831, 847, 863, 879, 895, 911, 927, 942],
                [(10, 954), (20, 993), (60, 1001), (80, 1037), (0, 799)],
            ),
        ] {
            let windows = search(wmax, &Params::default(), 100);
            assert_eq!(windows[..10], first);
            assert_eq!(later.map(|(round, _)| windows[round]), later.map(|(_, window)| window));
        }
    }

    /// At most Smax per round trip, closer and closer to Wmax, and away from it as it came.
    #[test]
    fn shape() {
        let windows = search(1000, &Params::default(), 80);
        let grown: Vec<_> = windows.windows(2).map(|pair| (pair[0], pair[1] - pair[0])).collect();
        // A round trip of W packets may begin with a packet that is nearly due.
        assert!(grown.iter().all(|(_, grown)| *grown <= 17), "{grown:?}");
        let below: Vec<_> =
            grown.iter().filter(|(w, _)| (940..988).contains(w)).map(|(_, grown)| *grown).collect();
        assert!(below.windows(2).all(|pair| pair[1] <= pair[0]), "{below:?}");
        let above: Vec<_> =
            grown.iter().filter(|(w, _)| (1004..1060).contains(w)).map(|(_, grown)| *grown).collect();
        assert!(above.windows(2).all(|pair| pair[1] >= pair[0]), "{above:?}");
    }

    /// Each branch of cnt.
    #[test]
    fn branches() {
        for (w, wmax, cnt) in [
            (100, 300, 6),
            (232, 300, 14),
            (240, 300, 16),
            (290, 300, 145),
            (296, 300, 1480),
            (299, 300, 1495),
            (300, 300, 1500),
            (303, 300, 1515),
            (304, 300, 228),
            (347, 300, 22),
            (348, 300, 21),
        ] {
            let mut cc = avoiding(w, Params::default());
            (cc.rule.wmax, cc.rule.ratio) = (wmax, 16);
            cc.rule.update(w, Time::ZERO);
            assert_eq!(cc.rule.cnt, cnt, "{w}");
            // Two packets per ACK halve cnt, but not within 1/32 s.
            cc.rule.ratio = 32;
            cc.rule.update(w, Time::ZERO + UPDATE);
            assert_eq!(cc.rule.cnt, cnt, "{w}");
            cc.rule.update(w, Time::ZERO + UPDATE * 2);
            assert_eq!(cc.rule.cnt, cnt / 2, "{w}");
        }
    }

    /// Without a loss, a packet per 20 packets. Up to 14 packets it is Reno.
    #[test]
    fn without_a_loss_and_small() {
        for (w, needed) in [(14, 14), (10, 10), (400, 20), (1000, 20)] {
            let mut cc = avoiding(w, Params { delayed_ack: false, ..Params::default() });
            (1..needed).for_each(|_| ack(&mut cc, 0, 1, false));
            assert_eq!(packets(&cc), w);
            ack(&mut cc, 0, 1, false);
            assert_eq!(packets(&cc), w + 1);
        }
    }

    /// beta of the window, or half of a small one. Wmax is lower if the window has not reached it.
    #[test]
    fn losses() {
        for (w, wmax, fast_convergence, left, remembered) in [
            (100, 0, FastConvergence::Mean, 79, 100),
            (100, 200, FastConvergence::Mean, 79, 89),
            (100, 200, FastConvergence::Beta, 79, 79),
            (100, 200, FastConvergence::Off, 79, 100),
            (200, 200, FastConvergence::Mean, 159, 200),
            (15, 0, FastConvergence::Mean, 11, 15),
            (14, 0, FastConvergence::Mean, 7, 14),
            (3, 0, FastConvergence::Mean, 2, 3),
        ] {
            for cause in [Cause::Loss, Cause::Ecn] {
                let mut cc = avoiding(w, Params { fast_convergence, ..Params::default() });
                cc.rule.wmax = wmax;
                cc.on_congestion(&congestion(cause, 0));
                assert_eq!((packets(&cc), cc.rule.wmax), (left, remembered), "{w} {wmax}");
            }
        }
        let mut cc = avoiding(100, Params::default());
        cc.rule.wmax = 200;
        cc.on_congestion(&congestion(Cause::Timeout, 0));
        assert_eq!((packets(&cc), cc.frame.window.ssthresh, cc.rule.wmax), (1, 79 * MDS, 0));
        cc.on_spurious();
        assert_eq!((packets(&cc), cc.rule.wmax), (100, 0));
    }

    /// ns-3's parameters: the last 4 packets below Wmax take 5 round trips in place of 20.
    #[test]
    fn as_ns3() {
        let beta = FastConvergence::Beta;
        let ns3 = Params { smooth_part: 5, beta: 0.8, fast_convergence: beta, ..Params::default() };
        let near = |params| search(200, params, 60).iter().filter(|w| (196..200).contains(*w)).count();
        assert_eq!((near(&ns3), near(&Params::default())), (5, 20));
    }

    /// `vectors/bic.py`: windows, Wmax and r, phase by phase.
    #[test]
    fn as_linux() {
        for (per_ack, phases) in LINUX {
            let (mut cc, mut start) = (avoiding(10, Params::default()), 0);
            for (phase, &((rtt, rounds, event), expected)) in phases.iter().enumerate() {
                for round in 0..rounds {
                    let (acks, event) = ((packets(&cc) / per_ack).max(1), event.filter(|_| round == 0));
                    if let Some(cause) = event {
                        cc.on_congestion(&congestion(cause, 0));
                    }
                    (0..acks).for_each(|i| ack(&mut cc, start + i * rtt / acks, *per_ack, event.is_some()));
                    start += rtt;
                }
                assert_eq!((packets(&cc), cc.rule.wmax, cc.rule.ratio), expected, "{per_ack} {phase}");
            }
        }
    }

    /// RTT in ms, round trips, and the event at the first one; window, Wmax and r afterwards.
    /// Output of `vectors/bic.py`.
    type Phase = ((u64, u64, Option<Cause>), (u64, u64, u64));
    const LINUX: &[(u64, &[Phase])] = &[
        (
            1,
            &[
                ((40, 6, None), (30, 0, 31)),
                ((40, 12, None), (421, 0, 31)),
                ((50, 10, Some(Cause::Loss)), (415, 421, 31)),
                ((50, 20, None), (423, 421, 31)),
                ((60, 10, Some(Cause::Loss)), (417, 423, 31)),
                ((60, 30, Some(Cause::Loss)), (377, 375, 31)),
                ((60, 12, None), (570, 375, 31)),
                ((40, 6, Some(Cause::Timeout)), (32, 0, 31)),
                ((40, 10, None), (815, 0, 31)),
                ((55, 12, Some(Cause::Loss)), (809, 815, 31)),
                ((55, 12, Some(Cause::Loss)), (723, 728, 31)),
                ((20, 20, None), (730, 728, 31)),
            ],
        ),
        (
            2,
            &[
                ((30, 12, None), (204, 0, 32)),
                ((35, 10, Some(Cause::Loss)), (199, 204, 32)),
                ((30, 20, Some(Cause::Loss)), (178, 179, 32)),
                ((35, 20, None), (392, 179, 32)),
                ((30, 8, Some(Cause::Timeout)), (129, 0, 32)),
                ((30, 12, None), (863, 0, 32)),
            ],
        ),
    ];
}
