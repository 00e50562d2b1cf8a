//! Scalable TCP: T. Kelly, ACM CCR 33(2), April 2003, with the rules of Linux tcp_scalable.c. The
//! window recovers from a loss after the same number of round trips, whatever its size.
//!
//! ```text
//! w in packets
//! each packet acknowledged  w += max(a, 1 / w),  a = 0.01             Linux: at least Reno's growth
//! loss, mark                w  = ssthresh = max(2, (1 - b) w),  b = 1/8
//! timeout                   ssthresh likewise, w = 1
//!
//! with a legacy window (Kelly section 4: 16 packets)
//! w <= legacy_window        Reno: w += 1 / w,  b = 0.5
//! w >  legacy_window        w += a
//! recovery from a loss      ln(1 / (1 - b)) / ln(1 + a) = 13.4 round trips
//! ```
//!
//! Linux decides the default: it has no legacy window. It grows by one packet for min(w, 100)
//! acknowledged packets. Kernels before that change (version 02b5a603 of the file) counted 50 to
//! account for delayed ACKs, which is a = 0.02. Kelly's text was not available. The legacy window
//! is his, as quoted elsewhere.
//!
//! Deviations: windows are not whole packets. Linux rounds a reduction in favour of the window. The
//! first window is RFC 9002's.

use crate::components::window_rule::{Frame, Options, WindowController, WindowRule, options, window_params};
use crate::{Ack, Congestion, Range};

window_params! {
    initial_window = None, count = Packets;
    /// Growth for each packet acknowledged, packets. Linux tcp_scalable.c, Kelly 2003.
    a: f64 = 0.01 => Range::SHARE,
    /// Share by which a loss reduces the window, 0..1. Linux tcp_scalable.c, Kelly 2003.
    b: f64 = 0.125 => Range::SHARE,
    /// Window up to which the controller is Reno, packets, or `"off"`: growth is at least Reno's
    /// (Linux tcp_scalable.c). Kelly 2003 has 16.
    #[serde(with = "units::or_off")]
    legacy_window: Option<f64> = None => Range::PACKETS,
}

impl Params {
    fn is_legacy(&self, w: f64) -> bool {
        self.legacy_window.is_some_and(|legacy| w <= legacy)
    }

    /// Returns the growth for a packet acknowledged, in packets.
    fn increase(&self, w: f64) -> f64 {
        match self.legacy_window {
            Some(legacy) if w > legacy => self.a,
            Some(_) => 1.0 / w,
            None => self.a.max(1.0 / w),
        }
    }
}

crate::variables! {
    /// Slow-start threshold, infinite until slow start has ended. RFC 5681 section 3.1.
    ssthresh: "bytes",
}

/// The controller. Windows are in packets.
pub type Scalable = WindowController<Params>;

impl WindowRule for Params {
    type Unit = f64;
    type Memory = ();

    fn begin(&self) -> (Options, ()) {
        (options!(self), ())
    }

    fn grow(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        frame.window.cwnd += self.increase(frame.window.cwnd) * frame.counted(ack);
    }

    fn reduce(&mut self, frame: &mut Frame<f64>, _: &Congestion) -> f64 {
        let w = frame.window.cwnd;
        let b = if self.is_legacy(w) { 0.5 } else { self.b };
        ((1.0 - b) * w).max(frame.min_window())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::count::Count;
    use crate::testing::fixtures::{acked, congestion, path};
    use crate::{Cause, Controller};

    const MDS: u64 = 1200;

    fn avoiding(packets: f64, legacy_window: Option<f64>) -> Scalable {
        let mut cc = Scalable::new(Params { legacy_window, ..Params::default() }, path(MDS));
        (cc.frame.window.cwnd, cc.frame.window.ssthresh) = (packets, 0.0);
        cc
    }

    /// `vectors/scalable.py`: Linux's whole packets, ACK by ACK.
    #[test]
    fn as_linux() {
        for (start, packets, grown, left) in [
            (10.0, 200, 22.0, 20.0),
            (90.0, 1000, 100.0, 88.0),
            (400.0, 4000, 440.0, 385.0),
            (3.0, 0, 3.0, 3.0),
        ] {
            let mut cc = avoiding(start, None);
            for _ in 0..packets {
                cc.on_ack(&acked(MDS));
            }
            // Linux drops fractions of a packet and keeps the rest of a reduction.
            assert!((cc.frame.window.cwnd - grown).abs() < 1.0, "{start}: {}", cc.frame.window.cwnd);
            cc.on_congestion(&congestion(Cause::Loss, 0));
            assert!((cc.frame.window.cwnd - left).abs() < 1.5, "{start}: {}", cc.frame.window.cwnd);
        }
    }

    /// After a loss, the window is back after ln(1/0.875) / ln(1.01) = 13.4 round trips, whatever
    /// its size. An exact window of fractions of packets needs 14 whole ones.
    #[test]
    fn recovery_does_not_depend_on_the_window() {
        for packets in [200.0, 1000.0, 10_000.0] {
            let mut cc = Scalable::new(Params { count: Count::Bytes, ..Params::default() }, path(MDS));
            (cc.frame.window.cwnd, cc.frame.window.ssthresh) = (packets, 0.0);
            cc.on_congestion(&congestion(Cause::Loss, 0));
            assert_eq!(cc.frame.window.cwnd, 0.875 * packets);
            let rounds = (1..).find(|_| {
                cc.on_ack(&acked(cc.control().cwnd));
                cc.frame.window.cwnd >= packets
            });
            assert_eq!(rounds, Some(14), "{packets}");
        }
    }

    /// Kelly: Reno at 16 packets, then 1 % per round trip.
    #[test]
    fn legacy_window() {
        for (packets, grown, left) in [(16.0, 17.0, 8.0), (50.0, 50.5, 43.75)] {
            let mut cc = avoiding(packets, Some(16.0));
            cc.on_ack(&acked(packets as u64 * MDS));
            assert!((cc.frame.window.cwnd - grown).abs() < 1e-9, "{}", cc.frame.window.cwnd);
            let mut cc = avoiding(packets, Some(16.0));
            cc.on_congestion(&congestion(Cause::Ecn, 0));
            assert_eq!(cc.frame.window.cwnd, left);
        }
    }

    /// A timeout leaves one packet and is undone.
    #[test]
    fn timeout() {
        let mut cc = avoiding(80.0, None);
        cc.on_congestion(&congestion(Cause::Timeout, 0));
        assert_eq!((cc.frame.window.cwnd, cc.frame.window.ssthresh), (1.0, 70.0));
        cc.on_spurious();
        assert_eq!(cc.frame.window.cwnd, 80.0);
    }
}
