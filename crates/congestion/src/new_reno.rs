//! NewReno for QUIC, RFC 9002 section 7 (May 2021).
//!
//! ```text
//! slow start            cwnd += acked                    (7.3.1)
//! congestion avoidance  cwnd += mds * acked / cwnd       (7.3.3: `growth`)
//! congestion event      ssthresh = cwnd = beta * cwnd    (7.3.2)
//! persistent congestion cwnd = minimum window            (7.6.2)
//! ```
//!
//! `growth = "window"` keeps the fraction in RFC 3465's accumulator, so that the window grows by whole packets; `"ack"` adds
//! it to the window at each acknowledgement, as the pseudocode of appendix B.5 does, rounded down to bytes.
//!
//! Deviations: none. Which packets may grow the window and how often it may shrink is the ledger's business.

use serde::{Deserialize, Serialize};

use crate::hystart::SlowStart;
use crate::params::{Range, params};
use crate::{Ack, Cause, Congestion, Control, Controller, Path, initial_window};

params! {
    /// What is left of the window after a congestion event, 0..1. RFC 9002 appendix B.1.
    beta: f64 = 0.5 => Range::SHARE,
    /// Smallest window, packets. RFC 9002 section 7.2.
    min_window: u64 = 2 => Range::PACKETS,
    /// How the window grows in congestion avoidance: a packet each `window` (RFC 3465 section 2.1) or a fraction of one each
    /// `ack` (RFC 9002 appendix B.5).
    growth: Growth = Growth::Window,
    /// How slow start grows and ends: `standard`, `hystart++` (RFC 9406) or `hystart` (Linux).
    slow_start: crate::hystart::Kind = crate::hystart::Kind::Standard,
}

/// How the window grows in congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// By a packet once a window has been acknowledged.
    Window,
    /// By a fraction of a packet at each acknowledgement.
    Ack,
}

/// The window of every algorithm that grows as Reno does, in bytes; also what an undo restores.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
    /// Bytes acknowledged towards the next growth by one packet (RFC 3465 section 2.1).
    pub(crate) bytes_acked: u64,
}

impl Window {
    /// In slow start.
    pub(crate) fn new(cwnd: u64) -> Self {
        Self { cwnd, ssthresh: u64::MAX, bytes_acked: 0 }
    }

    /// Slow start below `ssthresh`, one packet per window above it.
    pub(crate) fn grow(&mut self, ack: &Ack, slow_start: &mut SlowStart, mds: u64) {
        if self.cwnd >= self.ssthresh {
            return self.avoid_congestion(ack.growth, mds);
        }
        self.cwnd += slow_start.growth(ack);
        if slow_start.ended(ack, self.cwnd) {
            self.ssthresh = self.cwnd;
        }
    }

    fn avoid_congestion(&mut self, growth: u64, mds: u64) {
        self.bytes_acked += growth;
        // An ACK larger than the window leaves a remainder that an ACK without growth must not spend.
        if growth > 0 && self.bytes_acked >= self.cwnd {
            self.bytes_acked -= self.cwnd;
            self.cwnd += mds;
        }
    }

    /// A congestion event. It never opens the window: after a timeout `cwnd` may be below every floor.
    pub(crate) fn shrink(&mut self, cwnd: u64, ssthresh: u64) {
        *self = Self { cwnd: cwnd.min(self.cwnd), ssthresh, bytes_acked: 0 };
    }

    pub(crate) fn control(&self) -> Control {
        Control {
            cwnd: self.cwnd,
            pacing_rate: None,
            slow_start: self.cwnd < self.ssthresh,
            send_quantum: None,
        }
    }

    pub(crate) fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("ssthresh", if self.ssthresh == u64::MAX { f64::INFINITY } else { self.ssthresh as f64 });
    }
}

/// The controller. Windows in bytes.
#[derive(Debug)]
pub struct NewReno {
    params: Params,
    mds: u64,
    now: Window,
    before: Option<Window>,
    slow_start: SlowStart,
}

impl NewReno {
    /// In slow start, with the initial window of RFC 9002.
    pub fn new(params: Params, path: Path) -> Self {
        let now = Window::new(initial_window(path.mds));
        let slow_start = SlowStart::new(params.slow_start, path);
        Self { params, mds: path.mds, now, before: None, slow_start }
    }
}

impl Controller for NewReno {
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        if self.params.growth == Growth::Ack && self.now.cwnd >= self.now.ssthresh {
            self.now.cwnd += self.mds * ack.growth / self.now.cwnd;
        } else {
            self.now.grow(ack, &mut self.slow_start, self.mds);
        }
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let floor = self.params.min_window * self.mds;
        self.before = (event.cause == Cause::Loss).then(|| self.now.clone());
        self.slow_start.leave();
        let reduced = ((self.now.cwnd as f64 * self.params.beta) as u64).max(floor);
        match event.cause {
            // RFC 9002 section 7.6.2 lowers the window alone; ssthresh stays.
            Cause::PersistentCongestion => self.now.shrink(floor, self.now.ssthresh),
            Cause::Timeout => self.now.shrink(self.mds, reduced),
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

    const MDS: u64 = 1200;

    fn avoiding(cwnd: u64) -> NewReno {
        let mut cc = NewReno::new(Params::default(), path(MDS));
        cc.now.cwnd = 2 * cwnd;
        cc.on_congestion(&congestion(Cause::Loss, 2 * cwnd));
        assert_eq!(cc.now.cwnd, cwnd);
        cc
    }

    /// Section 7.2's table.
    #[test]
    fn initial_windows() {
        for (mds, cwnd) in [(1200, 12_000), (1252, 12_520), (1472, 14_720), (1500, 14_720), (9000, 18_000)] {
            assert_eq!(NewReno::new(Params::default(), path(mds)).control().cwnd, cwnd);
        }
    }

    /// Section 7.3.1: byte counting, whatever the number of packets per ACK.
    #[test]
    fn slow_start_doubles() {
        for packets_per_ack in [1, 2, 5, 10] {
            let mut cc = NewReno::new(Params::default(), path(MDS));
            for _ in 0..10 / packets_per_ack {
                cc.on_ack(&acked(packets_per_ack * MDS));
            }
            assert_eq!(cc.control().cwnd, 20 * MDS);
        }
    }

    /// Section 7.3.3: one packet per window of acknowledged bytes, for every size of ACK.
    #[test]
    fn one_packet_per_window() {
        for size in [1000, 1200, 2400, 64_000] {
            let mut cc = avoiding(64_000);
            let mut left = 64_000;
            while left > 0 {
                let bytes = left.min(size);
                cc.on_ack(&acked(bytes));
                left -= bytes;
            }
            assert_eq!(cc.control().cwnd, 64_000 + MDS, "ACKs of {size} bytes");
        }
    }

    /// Appendix B.5: each ACK opens the window, and a window of ACKs by nearly a packet; the window itself grows meanwhile.
    #[test]
    fn growth_at_each_ack() {
        let mut cc = avoiding(64_000);
        cc.params.growth = Growth::Ack;
        cc.on_ack(&acked(1200));
        assert_eq!(cc.control().cwnd, 64_000 + MDS * 1200 / 64_000);
        for _ in 1..64_000 / 1200 {
            cc.on_ack(&acked(1200));
        }
        assert!((64_000 + MDS * 9 / 10..64_000 + MDS).contains(&cc.control().cwnd), "{}", cc.control().cwnd);
        let mut new = NewReno::new(Params { growth: Growth::Ack, ..Params::default() }, path(MDS));
        new.on_ack(&acked(10 * MDS));
        assert_eq!(new.control().cwnd, 20 * MDS, "slow start as ever");
    }

    #[test]
    fn persistent_congestion_restarts_at_two_packets() {
        let mut cc = avoiding(100 * MDS);
        cc.on_congestion(&congestion(Cause::PersistentCongestion, 0));
        assert_eq!(cc.control().cwnd, 2 * MDS);
        assert!(cc.control().slow_start, "slow start up to the old ssthresh");
    }

    #[test]
    fn spurious_event_is_undone() {
        let mut cc = avoiding(100 * MDS);
        cc.on_congestion(&congestion(Cause::Loss, 100 * MDS));
        cc.on_spurious();
        assert_eq!(cc.control().cwnd, 100 * MDS);
    }
}
