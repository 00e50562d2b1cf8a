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

use crate::algorithms::reno::frame::{Answer, Frame};
pub use crate::algorithms::reno::window::VARIABLES;
use crate::algorithms::reno::window::{Growth, Window};
use crate::components::count::{Count, Counting};
use crate::{Ack, Cause, Congestion, Control, Controller, Idle, PathInfo};
use crate::{Range, params};
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
    /// window in whole packets (Linux), `acks`, each as one packet (RFC 5681; ns-3, htsim), or
    /// `always`: bytes, even if the window was not fully used (mvfst).
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
    /// Growth and exit of slow start: `standard`, `hystart++` (RFC 9406), `hystart` (Linux),
    /// `hystart-picoquic` or `hystart-mvfst`.
    slow_start: crate::components::slow_start::Kind = crate::components::slow_start::Kind::Standard,
}

impl Params {
    /// Returns the initial window in bytes.
    fn initial(&self, mds: u64) -> u64 {
        let packets = self.initial_window * mds;
        match self.count {
            Count::Packets => packets,
            Count::Bytes | Count::Acks | Count::Always => {
                packets.min((self.min_window * mds).max(self.initial_window_limit.0))
            }
        }
    }
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
#[derive(Clone, Debug)]
pub struct TcpReno {
    params: Params,
    reno: Frame,
}

impl TcpReno {
    /// Creates a controller in slow start.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let mds = path.max_datagram_size.max(1);
        let counting = Counting { count: params.count, limit: Some(params.abc_limit), mds };
        let windows = [params.initial(mds), params.min_window];
        let reno = Frame::new(counting, params.growth, windows, params.slow_start, path);
        Self { params, reno }
    }

    /// Returns the window, for controllers built on this one.
    pub(crate) fn window(&self) -> &Window {
        &self.reno.state
    }

    /// Returns the window mutably, for controllers built on this one.
    pub(crate) fn window_mut(&mut self) -> &mut Window {
        &mut self.reno.state
    }

    /// Returns ssthresh after a reduction, RFC 5681 equation 4.
    fn reduced(&self, flight: u64) -> u64 {
        let base = match self.params.halve {
            Halve::Flight => flight,
            Halve::Cwnd => self.window().cwnd,
        };
        self.counted((base as f64 * self.params.beta) as u64).max(self.reno.min_window())
    }

    /// Rounds down to whole packets if the window is counted in packets.
    fn counted(&self, bytes: u64) -> u64 {
        if self.params.count == Count::Packets { bytes - bytes % self.reno.mds() } else { bytes }
    }
}

impl Controller for TcpReno {
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        let Params { abc_limit, abc_limit_after_timeout, .. } = self.params;
        let limit = if self.window().timed_out { abc_limit_after_timeout } else { abc_limit };
        self.reno.counting.limit = Some(limit);
        self.reno.on_ack(ack);
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let answer = Answer {
            reduced: self.reduced(event.prior_in_flight),
            collapsed: self.reno.min_window(),
            loss_window: self.params.loss_window * self.reno.mds(),
        };
        self.reno.on_congestion(event.cause, answer);
    }

    fn on_spurious(&mut self) {
        self.reno.on_spurious();
    }

    fn on_idle(&mut self, idle: &Idle) {
        self.reno.on_idle(idle);
        // The initial window need not be a whole number of packets.
        self.window_mut().cwnd = self.counted(self.window().cwnd);
    }

    fn on_path_change(&mut self, path: PathInfo) {
        let mds = path.max_datagram_size.max(1);
        self.reno.on_path_change(path, self.params.initial(mds));
        if self.params.count == Count::Packets {
            // Round to the nearest whole number of new packets, at least one.
            self.reno.each_window(|window, _| window.cwnd = ((window.cwnd + mds / 2) / mds).max(1) * mds);
        }
    }

    fn control(&self) -> Control {
        self.window().control()
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.window().trace(put);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            cc.reno.state = avoiding(40 * MDS);
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
        cc.reno.state = avoiding(41 * MDS);
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
            cc.reno.state.cwnd = 100 * MDS;
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
        cc.reno.state.cwnd = 100 * MDS;
        for _ in 0..3 {
            event(&mut cc, Cause::Timeout);
            assert_eq!((cc.control().cwnd, cc.window().ssthresh), (MDS, 50 * MDS));
        }
        cc.on_spurious();
        assert_eq!(cc.control().cwnd, 100 * MDS);
    }

    /// Mathis et al. 1997: mean window sqrt(3/(2p)) with one loss per 1/p packets: 122 packets at p
    /// = 1e-4.
    #[test]
    fn response_function() {
        let mut cc = with(Params::default());
        cc.reno.state = avoiding(122 * MDS);
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
            cc.reno.state.cwnd = before;
            cc.on_path_change(path(1480));
            assert_eq!(cc.control().cwnd, after);
        }
    }
}
