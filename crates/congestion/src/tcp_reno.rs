//! Reno for TCP: RFC 5681 (September 2009) with the byte counting of RFC 3465 (February 2003), the initial window of
//! RFC 6928 (April 2013) and, through the ledger's recovery period, NewReno, RFC 6582 (April 2012).
//!
//! ```text
//! initial window        min(10 * SMSS, max(2 * SMSS, 14600 bytes))             (RFC 6928 section 2)
//! slow start            cwnd += min(N, L * SMSS) per ACK of N bytes            (RFC 3465 section 2.2)
//!                       L = 1 after a timeout                                  (RFC 3465 section 2.3)
//! congestion avoidance  cwnd += SMSS per cwnd bytes acknowledged               (RFC 3465 section 2.1)
//! loss, mark            ssthresh = max(FlightSize / 2, 2 * SMSS)               (RFC 5681 equation 4)
//!                       cwnd = ssthresh                                        (RFC 5681 section 3.2, step 6)
//! timeout               ssthresh likewise, but kept on a repeated one; cwnd = 1 SMSS   (RFC 5681 section 3.1)
//! ```
//!
//! FlightSize, not `cwnd`, is halved: RFC 5681 demands it, and a window that was never filled must not excuse its
//! size. Linux halves `cwnd` (`halve = "cwnd"`), which is the same for a bulk flow. `count = "packets"` keeps the
//! window in whole packets and counts every acknowledged piece as one, as Linux does: growth comes in steps.
//!
//! Deviations: the window drops to `ssthresh` at once (the ledger may spread that over the round trip: its `reduction`);
//! its inflation by duplicate ACKs, partial ACKs and the moment
//! of exit are the ledger's. No restart window after idle time (RFC 5681 section 4.1): the ledger grants no growth to
//! an unused window and paces. Persistent congestion, which TCP lacks, follows RFC 9002 section 7.6.2.

use serde::{Deserialize, Serialize};

use crate::hystart::SlowStart;
use crate::new_reno::Window;
use crate::params::{Range, params};
use crate::{Ack, Bytes, Cause, Congestion, Control, Controller, Path};

params! {
    /// Initial window, packets. RFC 6928 section 2.
    initial_window: u64 = 10 => Range::PACKETS,
    /// The initial window's other limit, if more than two packets. RFC 6928 section 2; not used by `count = "packets"`.
    initial_window_limit: Bytes = Bytes(14_600),
    /// What is left of FlightSize or window after a congestion event, 0..1. RFC 5681 equation 4.
    beta: f64 = 0.5 => Range::SHARE,
    /// What is halved: `flight` (RFC 5681 equation 4) or `cwnd` (Linux).
    halve: Halve = Halve::Flight,
    /// How the window is counted: in `bytes` (RFC 3465) or in whole `packets` (Linux).
    count: Count = Count::Bytes,
    /// L, most packets of growth per ACK in slow start. RFC 3465 section 2.3; Linux knows no limit.
    abc_limit: u64 = 2 => Range::COUNT,
    /// L in the slow start that follows a timeout, packets. RFC 3465 section 2.3.
    abc_limit_after_timeout: u64 = 1 => Range::COUNT,
    /// Smallest `ssthresh`, packets. RFC 5681 equation 4.
    min_window: u64 = 2 => Range::PACKETS,
    /// Window after a timeout, packets: the loss window. RFC 5681 section 3.1.
    loss_window: u64 = 1 => Range::PACKETS,
    /// How slow start grows and ends: `standard`, `hystart++` (RFC 9406) or `hystart` (Linux).
    slow_start: crate::hystart::Kind = crate::hystart::Kind::Standard,
}

/// What a congestion event halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Halve {
    /// Bytes in flight before the event.
    Flight,
    /// The window.
    Cwnd,
}

/// What the window is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// Bytes.
    Bytes,
    /// Whole packets.
    Packets,
}

/// The controller. Windows in bytes.
#[derive(Debug)]
pub struct TcpReno {
    params: Params,
    mds: u64,
    pub(crate) now: Window,
    before: Option<Window>,
    slow_start: SlowStart,
    /// L of the present slow start, bytes.
    abc_limit: u64,
    /// A timeout since the last ACK.
    timed_out: bool,
}

impl TcpReno {
    /// In slow start.
    pub fn new(params: Params, path: Path) -> Self {
        let mds = path.mds.max(1);
        let packets = params.initial_window * mds;
        let cwnd = match params.count {
            Count::Bytes => packets.min((params.min_window * mds).max(params.initial_window_limit.0)),
            Count::Packets => packets,
        };
        let slow_start = SlowStart::new(params.slow_start, path);
        let abc_limit = params.abc_limit.saturating_mul(mds);
        Self { params, mds, now: Window::new(cwnd), before: None, slow_start, abc_limit, timed_out: false }
    }

    /// RFC 5681 equation 4.
    fn reduced(&self, flight: u64) -> u64 {
        let base = match self.params.halve {
            Halve::Flight => flight,
            Halve::Cwnd => self.now.cwnd,
        };
        let part = (base as f64 * self.params.beta) as u64;
        let counted = match self.params.count {
            Count::Bytes => part,
            Count::Packets => part - part % self.mds,
        };
        counted.max(self.params.min_window * self.mds)
    }

    /// The bytes of this ACK that may open the window.
    fn counted(&self, ack: &Ack) -> u64 {
        let bytes = match self.params.count {
            Count::Bytes => ack.growth,
            Count::Packets => ack.growth.div_ceil(self.mds) * self.mds,
        };
        if self.now.cwnd < self.now.ssthresh { bytes.min(self.abc_limit) } else { bytes }
    }

    fn on_timeout(&mut self, flight: u64) {
        let ssthresh = if self.timed_out { self.now.ssthresh } else { self.reduced(flight) };
        self.timed_out = true;
        self.abc_limit = self.params.abc_limit_after_timeout.saturating_mul(self.mds);
        self.now.shrink(self.params.loss_window * self.mds, ssthresh);
    }
}

impl Controller for TcpReno {
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.timed_out = false;
        let counted = Ack { growth: self.counted(ack), ..*ack };
        self.now.grow(&counted, &mut self.slow_start, self.mds);
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        // Two timeouts in a row were one mistake.
        if !(event.cause == Cause::Timeout && self.timed_out) {
            self.before = matches!(event.cause, Cause::Loss | Cause::Timeout).then(|| self.now.clone());
        }
        self.slow_start.leave();
        let reduced = self.reduced(event.prior_in_flight);
        match event.cause {
            Cause::PersistentCongestion => {
                self.now.shrink(self.params.min_window * self.mds, self.now.ssthresh);
            }
            Cause::Timeout => self.on_timeout(event.prior_in_flight),
            Cause::Loss | Cause::Ecn | Cause::Delay => self.now.shrink(reduced, reduced),
        }
    }

    fn on_spurious(&mut self) {
        if let Some(before) = self.before.take().filter(|b| b.cwnd > self.now.cwnd) {
            self.now = before;
        }
    }

    fn control(&self) -> Control {
        self.now.control()
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.now.trace(put);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{acked, congestion, path};

    const MDS: u64 = 1460;

    fn with(params: Params) -> TcpReno {
        TcpReno::new(params, path(MDS))
    }

    fn linux() -> Params {
        Params { halve: Halve::Cwnd, count: Count::Packets, ..Params::default() }
    }

    fn event(cc: &mut TcpReno, cause: Cause) {
        let prior = cc.control().cwnd;
        cc.on_congestion(&congestion(cause, prior));
    }

    /// RFC 6928 section 2.
    #[test]
    fn initial_windows() {
        for (mds, cwnd) in [(536, 5360), (1460, 14_600), (1500, 14_600), (9000, 18_000)] {
            assert_eq!(TcpReno::new(Params::default(), path(mds)).control().cwnd, cwnd);
        }
        assert_eq!(TcpReno::new(linux(), path(1500)).control().cwnd, 15_000);
    }

    /// RFC 3465 section 2.2: L packets per ACK, 1 after a timeout.
    #[test]
    fn slow_start_is_limited_per_ack() {
        for (packets, grown) in [(1, 1), (2, 2), (5, 2)] {
            let mut cc = with(Params::default());
            cc.on_ack(&acked(packets * MDS));
            assert_eq!(cc.control().cwnd, (10 + grown) * MDS);
        }
        let mut cc = with(Params::default());
        event(&mut cc, Cause::Timeout);
        cc.on_ack(&acked(2 * MDS));
        assert_eq!(cc.control().cwnd, 2 * MDS);
    }

    /// RFC 3465 section 2.1, for every size of ACK: one packet per window.
    #[test]
    fn one_packet_per_window() {
        for size in [500, MDS, 2 * MDS, 20 * MDS] {
            let mut cc = with(Params::default());
            cc.now = Window { cwnd: 40 * MDS, ssthresh: 40 * MDS, bytes_acked: 0 };
            let mut left = 40 * MDS;
            while left > 0 {
                cc.on_ack(&acked(left.min(size)));
                left -= left.min(size);
            }
            assert_eq!(cc.control().cwnd, 41 * MDS, "ACKs of {size} bytes");
        }
    }

    /// Linux: every acknowledged piece is a packet; the window is a whole number of them.
    #[test]
    fn whole_packets() {
        let mut cc = with(linux());
        cc.now = Window { cwnd: 41 * MDS, ssthresh: 41 * MDS, bytes_acked: 0 };
        event(&mut cc, Cause::Loss);
        assert_eq!(cc.control().cwnd, 20 * MDS);
        for n in 1..=20 {
            assert_eq!(cc.control().cwnd, 20 * MDS, "before small packet {n}");
            cc.on_ack(&acked(100));
        }
        assert_eq!(cc.control().cwnd, 21 * MDS);
    }

    /// RFC 5681 equation 4: the flight, not the window, unless Linux is asked for.
    #[test]
    fn halves_the_flight() {
        for (params, left) in [(Params::default(), 20), (linux(), 50)] {
            let mut cc = with(params);
            cc.now.cwnd = 100 * MDS;
            cc.on_congestion(&congestion(Cause::Loss, 40 * MDS));
            assert_eq!(cc.control().cwnd, left * MDS);
        }
        let mut cc = with(Params::default());
        cc.on_congestion(&congestion(Cause::Loss, MDS));
        assert_eq!(cc.control().cwnd, 2 * MDS);
    }

    /// RFC 5681 section 3.1: one packet; a second timeout without progress keeps `ssthresh`; undone at once.
    #[test]
    fn timeouts() {
        let mut cc = with(Params::default());
        cc.now.cwnd = 100 * MDS;
        for _ in 0..3 {
            event(&mut cc, Cause::Timeout);
            assert_eq!((cc.control().cwnd, cc.now.ssthresh), (MDS, 50 * MDS));
        }
        cc.on_spurious();
        assert_eq!(cc.control().cwnd, 100 * MDS);
    }

    /// Mathis et al. 1997: mean window sqrt(3/(2p)) with one loss per 1/p packets: 122 packets at p = 1e-4.
    #[test]
    fn response_function() {
        let mut cc = with(Params::default());
        cc.now = Window { cwnd: 122 * MDS, ssthresh: 122 * MDS, bytes_acked: 0 };
        let (mut packets, mut sum) = (0, 0);
        for _ in 0..4000 {
            let cwnd = cc.control().cwnd / MDS;
            sum += cwnd;
            packets += cwnd;
            if packets >= 10_000 {
                packets -= 10_000;
                event(&mut cc, Cause::Loss);
            } else {
                for _ in 0..cwnd {
                    cc.on_ack(&acked(MDS));
                }
            }
        }
        let mean = sum as f64 / 4000.0;
        assert!((mean - 122.5).abs() < 0.03 * 122.5, "{mean}");
    }
}
