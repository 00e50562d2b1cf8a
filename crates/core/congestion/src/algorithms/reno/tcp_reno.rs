//! Reno for TCP: RFC 5681 (September 2009) with the byte counting of RFC 3465 (February 2003), the
//! initial window of RFC 6928 (April 2013) and, through the sender's recovery period, NewReno, RFC
//! 6582 (April 2012).
//!
//! ```text
//! initial window        min(10 * SMSS, max(2 * SMSS, 14600 bytes))             (RFC 6928 section 2)
//! slow start            cwnd += min(N, L * SMSS) per ACK of N bytes            (RFC 3465 section 2.2)
//!                       L = 1 after a timeout                                  (RFC 3465 section 2.3)
//! congestion avoidance  cwnd += SMSS per cwnd bytes acknowledged               (RFC 3465 section 2.1)
//! loss, mark            ssthresh = max(FlightSize / 2, 2 * SMSS)               (RFC 5681 equation 4)
//!                       cwnd = ssthresh                                        (RFC 5681 section 3.2, step 6)
//! timeout               ssthresh likewise, but kept on a repeated timeout; cwnd = 1 SMSS   (RFC 5681 section 3.1)
//! ```
//!
//! FlightSize is halved, not `cwnd`. RFC 5681 requires it, because a window that was never filled
//! has not been tested by the path. Linux halves `cwnd` (`halve = "cwnd"`), which is the same for a
//! bulk flow. `count = "packets"` keeps the window in whole packets and counts every acknowledged
//! segment as a packet, as Linux does. Growth then comes in steps. `count = "acks"` is RFC 5681
//! without RFC 3465: every ACK grows the window by at most a packet (ns-3's TcpNewReno, htsim).
//!
//! Idle time restarts the window if the sender asks for it (RFC 5681 section 4.1; see `idle`). A
//! spurious loss or timeout is undone, as in Linux; RFC 5682 and RFC 3522 only detect it.
//!
//! Deviations: the window drops to `ssthresh` at once. The sender may spread the reduction over the
//! round trip (its `reduction`). The sender also handles duplicate ACKs, partial ACKs and the end
//! of recovery. Persistent congestion, which TCP lacks, follows RFC 9002 section 7.6.2.

pub use crate::algorithms::reno::window::VARIABLES;
use crate::algorithms::reno::window::{Growth, Progress, Reno};
use crate::components::careful_resume;
use crate::components::count::Count;
use crate::components::window_rule::{Options, WindowController, WindowRule};
use crate::{Ack, Cause, Congestion, Range, params};
use units::Bytes;

params! {
    /// Initial window, packets. RFC 6928 section 2.
    initial_window: u64 = 10 => Range::PACKETS,
    /// Upper limit of the initial window, but at least two packets. RFC 6928 section 2; not used by
    /// `count = "packets"`.
    initial_window_limit: Bytes = Bytes(14_600),
    /// Factor by which FlightSize or window is multiplied after a congestion event, 0..1. RFC 5681
    /// equation 4.
    beta: f64 = 0.5 => Range::SHARE,
    /// Quantity that is halved: `flight` (RFC 5681 equation 4) or `cwnd` (Linux).
    halve: Halve = Halve::Flight,
    /// Quantity that grows the window: `bytes` acknowledged (RFC 3465), `packets`, which keeps the
    /// window in whole packets (Linux),
    #[doc = crate::components::count::others!()]
    count: Count = Count::Bytes,
    /// Growth of the window in congestion avoidance: a packet per `window` (RFC 3465 section 2.1),
    /// a fraction of a packet per `ack` (RFC 5681 equation 3), or a fraction of 1232 bytes per
    /// `packet`, rounded down (mvfst).
    growth: Growth = Growth::Window,
    /// L, largest growth per ACK in slow start, packets. RFC 3465 section 2.3; Linux has no limit.
    abc_limit: u64 = 2 => Range::COUNT,
    /// L in the slow start after a timeout, packets. RFC 3465 section 2.3.
    abc_limit_after_timeout: u64 = 1 => Range::COUNT,
    /// Smallest `ssthresh`, packets. RFC 5681 equation 4.
    min_window: u64 = 2 => Range::PACKETS,
    /// Window after a timeout, the loss window, packets. RFC 5681 section 3.1.
    loss_window: u64 = 1 => Range::PACKETS,
    #[doc = crate::components::slow_start::values!()]
    slow_start: crate::components::slow_start::Kind = crate::components::slow_start::Kind::Standard,
    /// Window and RTT of an earlier connection to resume: draft-ietf-tsvwg-careful-resume.
    careful_resume: careful_resume::Params = careful_resume::Params::default(); careful_resume::Params::DOCS,
}

/// Quantity that a congestion event halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Halve {
    /// Bytes in flight before the event.
    Flight,
    /// The congestion window.
    Cwnd,
}

/// The controller. Windows are in bytes.
pub type TcpReno = WindowController<Params>;

impl Params {
    /// Rounds down to whole packets if the window is counted in packets.
    fn whole(&self, bytes: u64, mds: u64) -> u64 {
        if self.count == Count::Packets { bytes - bytes % mds } else { bytes }
    }
}

impl WindowRule for Params {
    type Unit = u64;
    type Memory = Progress;

    fn begin(&self) -> (Options, Progress) {
        let unlimited = self.count == Count::Packets;
        let options = Options {
            initial_window: Some(self.initial_window),
            initial_limit: if unlimited { u64::MAX } else { self.initial_window_limit.0 },
            loss_window: self.loss_window,
            min_window: self.min_window,
            count: self.count,
            abc_limit: Some(self.abc_limit),
            slow_start: self.slow_start,
            resume: self.careful_resume.saved(),
        };
        (options, Progress::default())
    }

    fn slow_start(&mut self, reno: &mut Reno, ack: &Ack) {
        let timed_out = reno.window.memory.timed_out;
        reno.counting.limit = Some(if timed_out { self.abc_limit_after_timeout } else { self.abc_limit });
        reno.slow_start(ack, |grown| grown);
    }

    fn grow(&mut self, reno: &mut Reno, ack: &Ack) {
        reno.grow(ack, self.growth);
    }

    /// RFC 5681 equation 4.
    fn reduce(&mut self, reno: &mut Reno, event: &Congestion) -> u64 {
        reno.window.memory.timed_out |= event.cause == Cause::Timeout;
        let base = match self.halve {
            Halve::Flight => event.prior_in_flight,
            Halve::Cwnd => reno.window.cwnd,
        };
        self.whole((base as f64 * self.beta) as u64, reno.mds()).max(reno.min_window())
    }

    fn on_restart(&mut self, reno: &mut Reno) {
        reno.window.memory.timed_out = false;
        // The initial window need not be a whole number of packets.
        reno.window.cwnd = self.whole(reno.window.cwnd, reno.mds());
    }

    fn on_resize(&mut self, reno: &mut Reno, _: f64) {
        let mds = reno.mds();
        if self.count == Count::Packets {
            // Round to the nearest whole number of new packets, at least one.
            reno.each_window(|window| window.cwnd = ((window.cwnd + mds / 2) / mds).max(1) * mds);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Controller;
    use crate::algorithms::reno::window::tests::avoiding;
    use crate::testing::fixtures::{acked, congestion, path};

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

    /// RFC 3465 section 2.1: one packet per window for every size of ACK.
    #[test]
    fn one_packet_per_window() {
        for size in [500, MDS, 2 * MDS, 20 * MDS] {
            let mut cc = with(Params::default());
            cc.frame.window = avoiding(40 * MDS);
            let mut left = 40 * MDS;
            while left > 0 {
                cc.on_ack(&acked(left.min(size)));
                left -= left.min(size);
            }
            assert_eq!(cc.control().cwnd, 41 * MDS, "ACKs of {size} bytes");
        }
    }

    /// Linux: every acknowledged segment is a packet, and the window is a whole number of packets.
    #[test]
    fn whole_packets() {
        let mut cc = with(linux());
        cc.frame.window = avoiding(41 * MDS);
        event(&mut cc, Cause::Loss);
        assert_eq!(cc.control().cwnd, 20 * MDS);
        for n in 1..=20 {
            assert_eq!(cc.control().cwnd, 20 * MDS, "before small packet {n}");
            cc.on_ack(&acked(100));
        }
        assert_eq!(cc.control().cwnd, 21 * MDS);
    }

    /// RFC 5681 equation 4: half of the flight, not of the window, unless Linux's rule is selected.
    #[test]
    fn halves_the_flight() {
        for (params, left) in [(Params::default(), 20), (linux(), 50)] {
            let mut cc = with(params);
            cc.frame.window.cwnd = 100 * MDS;
            cc.on_congestion(&congestion(Cause::Loss, 40 * MDS));
            assert_eq!(cc.control().cwnd, left * MDS);
        }
        let mut cc = with(Params::default());
        cc.on_congestion(&congestion(Cause::Loss, MDS));
        assert_eq!(cc.control().cwnd, 2 * MDS);
    }

    /// RFC 5681 section 3.1: one packet. A second timeout without progress keeps `ssthresh`. Undone
    /// at once.
    #[test]
    fn timeouts() {
        let mut cc = with(Params::default());
        cc.frame.window.cwnd = 100 * MDS;
        for _ in 0..3 {
            event(&mut cc, Cause::Timeout);
            assert_eq!((cc.control().cwnd, cc.frame.window.ssthresh), (MDS, 50 * MDS));
        }
        cc.on_spurious();
        assert_eq!(cc.control().cwnd, 100 * MDS);
    }

    /// Mathis et al. 1997: mean window sqrt(3/(2p)) with one loss per 1/p packets: 122 packets at p
    /// = 1e-4.
    #[test]
    fn response_function() {
        let mut cc = with(Params::default());
        cc.frame.window = avoiding(122 * MDS);
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

    /// Linux counts in whole packets: the nearest number of new packets, and one after a timeout.
    #[test]
    fn whole_larger_datagrams() {
        for (before, after) in [(100 * MDS, 99 * 1480), (2 * MDS, 2 * 1480), (MDS, 1480)] {
            let mut cc = with(linux());
            cc.frame.window.cwnd = before;
            cc.on_path_change(path(1480));
            assert_eq!(cc.control().cwnd, after);
        }
    }
}
