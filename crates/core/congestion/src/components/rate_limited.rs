//! Growth of a window that is not used: draft-ietf-ccwg-ratelimited-increase-11 (September 2026),
//! `count = "rate-limited"`.
//!
//! ```text
//! maxFS    largest bytes in flight since the window was last reduced; before that at least the initial window
//! growth   bytes acknowledged since the last reduction, also those of an unused window
//! cwnd     where these grow it: at most limit(maxFS)                                       (section 3)
//!            slow start             2 maxFS
//!            congestion avoidance   maxFS + SMSS
//! ```
//!
//! limit() is the window that the algorithm would reach by acknowledgements of maxFS bytes. In
//! congestion avoidance it is Reno's for every rule. A faster rule grows by more while the window
//! is used. While it is not, the limit is lower than the draft's. Growth by what the sender counts
//! as use of the window keeps the limit by itself, because as much was in flight.
//!
//! Deviations: a reduction resets maxFS to 0, and the next packet sent sets it, not the next ACK. A
//! rule whose growth follows the time, like CUBIC, stands still in congestion avoidance (section
//! 4.5: the time excludes unused windows).

use crate::Ack;
use crate::components::count::since_reduction;

/// The largest flight of one connection.
#[derive(Clone, Debug)]
pub(crate) struct MaxFlight(u64);

impl MaxFlight {
    pub(crate) fn new(initial: u64) -> Self {
        Self(initial)
    }

    /// Reports the bytes in flight after a packet was sent.
    pub(crate) fn on_sent(&mut self, bytes_in_flight: u64) {
        self.0 = self.0.max(bytes_in_flight);
    }

    /// Reports that the window was reduced.
    pub(crate) fn on_reduction(&mut self) {
        self.0 = 0;
    }

    /// Returns limit(maxFS) in bytes.
    pub(crate) fn limit(&self, slow_start: bool, mds: u64) -> u64 {
        self.0.saturating_add(if slow_start { self.0 } else { mds })
    }
}

/// Returns the growth of an ACK with the bytes of an unused window. `None` if it has no such bytes.
pub(crate) fn unused(ack: &Ack) -> Option<u64> {
    Some(since_reduction(ack)).filter(|&all| all > ack.growth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::cubic::rfc9438::{self as cubic, Cubic};
    use crate::algorithms::delay::vegas::{self, Vegas};
    use crate::algorithms::reno::new_reno::{self, NewReno};
    use crate::components::count::Count;
    use crate::testing::fixtures::{congestion, path, stamped};
    use crate::{AckedPacket, Cause, Controller, Sent};
    use units::Time;

    const MDS: u64 = 1000;

    fn new_reno() -> NewReno {
        NewReno::new(new_reno::Params { count: Count::RateLimited, ..new_reno::Params::default() }, path(MDS))
    }

    /// Sends a flight, then acknowledges it two packets at a time. The sender found none of them to
    /// fill the window.
    fn round(cc: &mut dyn Controller, packets: u64) -> u64 {
        for n in 1..=packets {
            let bytes_in_flight = n * MDS;
            cc.on_sent(&Sent { now: Time::ZERO, pn: n, bytes: MDS, bytes_in_flight, app_limited: true });
        }
        for _ in 0..packets / 2 {
            let pair = [AckedPacket { bytes: MDS, ..stamped(1, Time::ZERO, 0) }; 2];
            cc.on_ack(&Ack { packets: &pair, acked: 2 * MDS, ..Ack::default() });
        }
        cc.control().cwnd
    }

    /// The draft's appendix A: flights of 4, 8, 4 and 20 packets.
    #[test]
    fn appendix_a() {
        let mut cc = new_reno();
        for (packets, cwnd) in [(4, 14_000), (8, 20_000), (4, 20_000), (20, 40_000)] {
            assert_eq!(round(&mut cc, packets), cwnd, "{packets}");
        }
    }

    /// Section 3.1.2: a full window, then 4 packets.
    #[test]
    fn section_3_1_2() {
        let mut cc = new_reno();
        assert_eq!((round(&mut cc, 10), round(&mut cc, 4)), (20_000, 20_000));
        let mut unlimited =
            NewReno::new(new_reno::Params { count: Count::Always, ..new_reno::Params::default() }, path(MDS));
        assert_eq!((round(&mut unlimited, 10), round(&mut unlimited, 4)), (20_000, 24_000));
    }

    /// A loss resets maxFS. In congestion avoidance one packet more than the largest flight.
    #[test]
    fn after_a_reduction() {
        let mut cc = new_reno();
        round(&mut cc, 10);
        round(&mut cc, 20);
        cc.on_congestion(&congestion(Cause::Loss, 0));
        assert_eq!(cc.control().cwnd, 20_000);
        for (packets, cwnd) in [(10, 20_000), (18, 20_000), (20, 21_000), (20, 21_000)] {
            assert_eq!(round(&mut cc, packets), cwnd, "{packets}");
        }
    }

    /// CUBIC's curve and Vegas' steps stand still. In slow start both grow.
    #[test]
    fn others() {
        let mut cc =
            Cubic::new(cubic::Params { count: Count::RateLimited, ..cubic::Params::default() }, path(MDS));
        assert_eq!(round(&mut cc, 4), 14_000);
        cc.on_congestion(&congestion(Cause::Loss, 0));
        let reduced = cc.control().cwnd;
        assert_eq!(round(&mut cc, 8), reduced);
        let mut cc =
            Vegas::new(vegas::Params { count: Count::RateLimited, ..vegas::Params::default() }, path(MDS));
        cc.on_congestion(&congestion(Cause::Loss, 0));
        let reduced = cc.control().cwnd;
        assert_eq!((round(&mut cc, 4), round(&mut cc, 4)), (reduced, reduced));
    }

    /// 50 packets per round trip of 100 ms for a minute: the window is at most what one full flight
    /// of them would have made of it. Counted without a limit, it is 30 000 packets.
    #[test]
    fn half_rate_for_a_minute() {
        for (count, cwnd) in [(Count::RateLimited, 100_000), (Count::Always, 30_000_000)] {
            let mut cc = NewReno::new(new_reno::Params { count, ..new_reno::Params::default() }, path(MDS));
            for _ in 0..600 {
                let packets = (cc.control().cwnd / MDS).min(50);
                round(&mut cc, packets);
            }
            assert!(cc.control().cwnd.abs_diff(cwnd) < cwnd / 100, "{count:?}: {}", cc.control().cwnd);
        }
    }
}
