//! NewReno for QUIC, RFC 9002 section 7 (May 2021).
//!
//! ```text
//! slow start            cwnd += acked                    (7.3.1)
//! congestion avoidance  cwnd += mds * acked / cwnd       (7.3.3: `growth`)
//! congestion event      ssthresh = cwnd = beta * cwnd    (7.3.2)
//! persistent congestion cwnd = minimum window            (7.6.2)
//! ```
//!
//! `growth = "window"` keeps the fraction in RFC 3465's accumulator, so that the window grows by
//! whole packets. `"ack"` adds it to the window at each acknowledgement, as the pseudocode of
//! appendix B.5 does, rounded down to bytes. `count` and `abc-limit` decide how much of an ACK
//! counts as `acked`. A spurious loss or timeout is undone.
//!
//! facebook/mvfst's NewReno (NewReno.cpp:79-160 at commit b48045620d4a) is `growth = "packet"`,
//! `count = "always"`, `initial-window = 10`; everything else has its default here. It neither
//! paces nor undoes, which is set in the sender (`recovery.undo = false`).
//!
//! With TCP, a timeout leaves one packet and sets `ssthresh` as after a loss. A second timeout in a
//! row keeps `ssthresh` (RFC 5681 section 3.1). Idle time restarts the window if the sender asks
//! for it (see `idle`).
//!
//! Deviations: none. The sender decides which packets may grow the window and how often it may
//! shrink.

pub use crate::algorithms::reno::window::VARIABLES;
use crate::algorithms::reno::window::{Growth, Progress, Reno};
use crate::components::careful_resume;
use crate::components::count::Count;
use crate::components::window_rule::{Options, WindowController, WindowRule, options};
use crate::{Ack, Congestion, Range, params};

params! {
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = None => Range::PACKETS,
    /// Factor by which the window is multiplied after a congestion event, 0..1. RFC 9002 appendix
    /// B.1.
    beta: f64 = 0.5 => Range::SHARE,
    /// Smallest window, packets. RFC 9002 section 7.2.
    min_window: u64 = 2 => Range::PACKETS,
    /// Window after persistent congestion: the `minimum` window (RFC 9002 section 7.6.2) or the
    /// `initial` one (as Reynders' thesis, 2020, describes QUIC).
    persistent_congestion: Collapse = Collapse::Minimum,
    /// Growth of the window in congestion avoidance: a packet per `window` (RFC 3465 section 2.1),
    /// a fraction of a packet per `ack` (RFC 9002 appendix B.5), or a fraction of 1232 bytes per
    /// `packet`, rounded down (mvfst).
    growth: Growth = Growth::Window,
    /// Quantity that grows the window: `bytes` acknowledged (RFC 9002 section 7.3), `packets`,
    #[doc = crate::components::count::others!()]
    count: Count = Count::Bytes,
    /// L, largest growth per ACK in slow start, packets, or `"off"`. RFC 3465 section 2.2 has 2;
    /// RFC 9002 none.
    #[serde(with = "units::or_off")]
    abc_limit: Option<u64> = None => Range::COUNT,
    #[doc = crate::components::slow_start::values!()]
    slow_start: crate::components::slow_start::Kind = crate::components::slow_start::Kind::Standard,
    /// Window and RTT of an earlier connection to resume: draft-ietf-tsvwg-careful-resume.
    careful_resume: careful_resume::Params = careful_resume::Params::default(); careful_resume::Params::DOCS,
}

/// Window after persistent congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Collapse {
    /// The smallest window.
    Minimum,
    /// The initial window, if it is smaller than the current one.
    Initial,
}

/// The controller. Windows are in bytes.
pub type NewReno = WindowController<Params>;

impl WindowRule for Params {
    type Unit = u64;
    type Memory = Progress;

    fn begin(&self) -> (Options, Progress) {
        (Options { resume: self.careful_resume.saved(), ..options!(self) }, Progress::default())
    }

    fn grow(&mut self, reno: &mut Reno, ack: &Ack) {
        reno.grow(ack, self.growth);
    }

    fn reduce(&mut self, reno: &mut Reno, _: &Congestion) -> u64 {
        ((reno.window.cwnd as f64 * self.beta) as u64).max(reno.min_window())
    }

    fn collapsed(&self, reno: &Reno) -> u64 {
        match self.persistent_congestion {
            Collapse::Minimum => reno.min_window(),
            Collapse::Initial => reno.initial(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixtures::{acked, congestion, path};
    use crate::{Cause, Controller, Idle};

    const MDS: u64 = 1200;

    fn avoiding(cwnd: u64) -> NewReno {
        let mut cc = NewReno::new(Params::default(), path(MDS));
        cc.frame.window.cwnd = 2 * cwnd;
        cc.on_congestion(&congestion(Cause::Loss, 2 * cwnd));
        assert_eq!(cc.frame.window.cwnd, cwnd);
        // Ends recovery.
        cc.on_ack(&acked(0));
        cc
    }

    /// Section 7.2's table.
    #[test]
    fn initial_windows() {
        for (mds, cwnd) in [(1200, 12_000), (1252, 12_520), (1472, 14_720), (1500, 14_720), (9000, 18_000)] {
            assert_eq!(NewReno::new(Params::default(), path(mds)).control().cwnd, cwnd);
        }
    }

    /// Section 7.3.1: bytes count, whatever the number of packets per ACK.
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

    /// Appendix B.5: each ACK grows the window. A window of ACKs adds nearly a packet, because the
    /// window grows meanwhile.
    #[test]
    fn growth_at_each_ack() {
        let window = avoiding(64_000).frame.window;
        let mut cc = NewReno::new(Params { growth: Growth::Ack, ..Params::default() }, path(MDS));
        cc.frame.window = window;
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
        assert!(cc.control().in_slow_start(), "slow start up to the old ssthresh");
        let params = Params { persistent_congestion: Collapse::Initial, ..Params::default() };
        for (before, after) in [(100, 10), (4, 4)] {
            let mut cc = NewReno::new(params.clone(), path(MDS));
            cc.frame.window.cwnd = before * MDS;
            cc.on_congestion(&congestion(Cause::PersistentCongestion, 0));
            assert_eq!(cc.control().cwnd, after * MDS);
        }
    }

    #[test]
    fn spurious_event_is_undone() {
        for cause in [Cause::Loss, Cause::Timeout] {
            let mut cc = avoiding(100 * MDS);
            cc.on_congestion(&congestion(cause, 100 * MDS));
            cc.on_spurious();
            assert_eq!((cc.frame.window.cwnd, cc.frame.window.ssthresh), (100 * MDS, 100 * MDS), "{cause:?}");
        }
        // A loss, then a timeout before recovery ends: restores the state before the loss.
        let mut cc = avoiding(100 * MDS);
        cc.on_congestion(&congestion(Cause::Loss, 100 * MDS));
        cc.on_ack(&Ack { growth: 0, in_recovery: true, ..acked(MDS) });
        for _ in 0..2 {
            cc.on_congestion(&congestion(Cause::Timeout, 50 * MDS));
            assert_eq!(
                (cc.frame.window.cwnd, cc.frame.window.ssthresh),
                (MDS, 25 * MDS),
                "a second timeout keeps ssthresh"
            );
        }
        cc.on_spurious();
        assert_eq!((cc.frame.window.cwnd, cc.frame.window.ssthresh), (100 * MDS, 100 * MDS));
    }

    /// Slow start that ended because of a spurious loss continues as before, also HyStart++.
    #[test]
    fn undone_slow_start() {
        let params =
            Params { slow_start: crate::components::slow_start::Kind::HystartPlusPlus, ..Params::default() };
        let mut cc = NewReno::new(params, path(MDS));
        let before = format!("{:?}", cc.frame.window);
        cc.on_congestion(&congestion(Cause::Timeout, 0));
        assert_ne!(format!("{:?}", cc.frame.window), before);
        cc.on_spurious();
        assert_eq!(format!("{:?}", cc.frame.window), before);
    }

    /// RFC 5681, ns-3: an ACK grows the window by at most a packet in both phases, whatever it
    /// acknowledges. With L = 10 only slow start is limited.
    #[test]
    fn growth_per_ack() {
        for (count, abc_limit, slow_start, avoidance) in [
            (Count::Acks, None, 5, MDS * MDS * 5 / (64 * MDS)),
            (Count::Bytes, Some(10), 50, 5 * MDS * 20 / 64),
            (Count::Bytes, None, 100, 5 * MDS * 20 / 64),
        ] {
            let params = Params { count, abc_limit, growth: Growth::Ack, ..Params::default() };
            let mut cc = NewReno::new(params, path(MDS));
            (0..5).for_each(|_| _ = cc.on_ack(&acked(20 * MDS)));
            assert_eq!(cc.control().cwnd, (10 + slow_start) * MDS);
            (cc.frame.window.cwnd, cc.frame.window.ssthresh) = (64 * MDS, 64 * MDS);
            (0..5).for_each(|_| _ = cc.on_ack(&acked(20 * MDS)));
            let grown = cc.control().cwnd - 64 * MDS;
            // The window grows meanwhile.
            assert!(grown <= avoidance && grown > avoidance * 95 / 100, "{grown}, not {avoidance}");
        }
    }

    #[test]
    fn declared_initial_window() {
        for (initial_window, packets) in [(None, 10), (Some(32), 32), (Some(1), 1)] {
            let params = Params { initial_window, ..Params::default() };
            assert_eq!(NewReno::new(params, path(MDS)).control().cwnd, packets * MDS);
        }
    }

    #[test]
    fn idle_time() {
        let mut cc = avoiding(100 * MDS);
        let (idle, rto) = (units::Duration::from_millis(500), units::Duration::from_millis(200));
        cc.on_idle(&Idle { now: units::Time::ZERO, idle, rto });
        assert_eq!((cc.frame.window.cwnd, cc.frame.window.ssthresh), (25 * MDS, 100 * MDS));
    }

    /// 100 packets of 1200 bytes stay 120 000 bytes. Growth, smallest window and undo follow the
    /// new size.
    #[test]
    fn larger_datagrams() {
        let mut cc = avoiding(100 * MDS);
        cc.on_path_change(path(1400));
        assert_eq!((cc.frame.window.cwnd, cc.frame.window.ssthresh), (100 * MDS, 100 * MDS));
        cc.on_ack(&acked(100 * MDS));
        assert_eq!(cc.control().cwnd, 100 * MDS + 1400);
        cc.on_congestion(&congestion(Cause::Loss, 0));
        cc.on_path_change(path(1000));
        cc.on_spurious();
        assert_eq!(cc.control().cwnd, 100 * MDS + 1400);
        cc.on_ack(&acked(100 * MDS + 1400));
        assert_eq!(cc.control().cwnd, 100 * MDS + 2400);
        cc.on_congestion(&congestion(Cause::PersistentCongestion, 0));
        assert_eq!(cc.control().cwnd, 2000);
        cc.on_path_change(path(1500));
        assert_eq!(cc.control().cwnd, 3000, "two packets are two packets");
        let mut new = NewReno::new(Params::default(), path(MDS));
        new.on_path_change(path(1400));
        assert_eq!(
            (new.frame.window.cwnd, new.frame.window.ssthresh, new.frame.initial()),
            (12_000, u64::MAX, 14_000)
        );
    }
}
