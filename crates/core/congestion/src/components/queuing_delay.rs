//! One-way queuing delay from the send time and the peer's receive time of each packet.
//!
//! QUIC-DC (arXiv 2507.00896, July 2025), equations 3 to 5. The paper leaves the base delay open.
//! Here it is chosen as in RFC 6817:
//!
//! ```text
//! OWD_i  = received_i - sent_i            ns, contains the offset of the two clocks           (3)
//! OWDV_i = OWD_i - OWD_(i-1)              ns, the offset is gone                              (4)
//! raw       OWQD_i = OWQD_(i-1) + OWDV_i                   = OWD_i - OWD_0                    (5)
//! clamped   OWQD_i = max(0, OWQD_(i-1) + OWDV_i)           = OWD_i - min over j <= i of OWD_j
//! windowed  OWQD_i = OWD_i - min over the packets sent at most a window before i of OWD_j
//! ```
//!
//! The second form of `clamped` is the Skorokhod (Lindley) identity. Packets count in ascending
//! order of packet number. A packet without a receive time, or older than the last, is skipped. The
//! next difference then spans the gap.
//!
//! Deviations: none. Differences saturate at the ends of `i64`, 292 years.

use alloc::collections::VecDeque;

use crate::AckedPacket;
use units::{Duration, Time};

/// The base delay from which the queuing delay is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum BaseDelay {
    /// Delay of the first packet. If that packet was queued, the estimate stays too low and is
    /// sometimes negative.
    Raw,
    /// Smallest delay so far. A receiver clock that runs fast raises the estimate permanently.
    Clamped,
    /// Smallest delay of the last window. Follows clocks and routes, but forgets a queue older than
    /// the window.
    Windowed,
}

/// Estimator of the queuing delay.
#[derive(Clone, Debug)]
pub struct QueuingDelay {
    anchor: BaseDelay,
    window: Duration,
    owqd: i64,
    last_owd: Option<i64>,
    last_pn: Option<u64>,
    /// Candidates for the windowed minimum, ascending in send time and in delay.
    minima: VecDeque<(Time, i64)>,
}

impl QueuingDelay {
    /// Creates an estimator. `window` matters only to [`BaseDelay::Windowed`].
    pub fn new(anchor: BaseDelay, window: Duration) -> Self {
        Self { anchor, window, owqd: 0, last_owd: None, last_pn: None, minima: VecDeque::new() }
    }

    /// Returns the estimate after a packet, in nanoseconds. `None` if the packet has no receive
    /// time or is older than the last.
    pub fn on_packet(&mut self, packet: &AckedPacket) -> Option<i64> {
        let received = packet.received?;
        if self.last_pn.is_some_and(|last| packet.pn <= last) {
            return None;
        }
        self.last_pn = Some(packet.pn);
        let owd = received.saturating_sub(i64::try_from(packet.sent.0).unwrap_or(i64::MAX));
        let owdv = self.last_owd.map_or(0, |last| owd.saturating_sub(last));
        self.last_owd = Some(owd);
        self.owqd = match self.anchor {
            BaseDelay::Raw => self.owqd.saturating_add(owdv),
            BaseDelay::Clamped => self.owqd.saturating_add(owdv).max(0),
            BaseDelay::Windowed => owd.saturating_sub(self.windowed_min(packet.sent, owd)),
        };
        Some(self.owqd)
    }

    fn windowed_min(&mut self, sent: Time, owd: i64) -> i64 {
        while self.minima.back().is_some_and(|&(_, old)| old >= owd) {
            self.minima.pop_back();
        }
        self.minima.push_back((sent, owd));
        while self.minima.front().is_some_and(|&(old, _)| sent - old > self.window) {
            self.minima.pop_front();
        }
        self.minima.front().map_or(owd, |&(_, min)| min)
    }

    /// Returns the last estimate, in nanoseconds.
    pub fn owqd(&self) -> i64 {
        self.owqd
    }

    /// Restarts the estimate with the next packet.
    pub fn reset(&mut self) {
        self.owqd = 0;
        self.last_owd = None;
        self.minima.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::fixtures::stamped;

    const MS: i64 = 1_000_000;
    const BASE_DELAYS: [BaseDelay; 3] = [BaseDelay::Raw, BaseDelay::Clamped, BaseDelay::Windowed];

    /// Packets sent 1 ms apart that arrive after these delays, with this clock offset.
    fn estimates(anchor: BaseDelay, offset: i64, delays: &[i64]) -> Vec<i64> {
        let mut q = QueuingDelay::new(anchor, Duration::from_secs(10));
        let packet = |i: usize, delay: i64| {
            let sent = Time::from_millis(i as u64);
            stamped(i as u64, sent, sent.0 as i64 + delay + offset)
        };
        delays.iter().enumerate().filter_map(|(i, &d)| q.on_packet(&packet(i, d))).collect()
    }

    proptest! {
        /// Equation 5 telescopes. Clamped, it is the distance to the running minimum (Skorokhod).
        #[test]
        fn closed_forms(delays in prop::collection::vec(0i64..1_000_000_000, 1..200)) {
            let min = |i: usize| delays[..=i].iter().copied().min().unwrap_or(0);
            let raw: Vec<_> = delays.iter().map(|d| d - delays[0]).collect();
            let clamped: Vec<_> = delays.iter().enumerate().map(|(i, d)| d - min(i)).collect();
            prop_assert_eq!(estimates(BaseDelay::Raw, 0, &delays), raw);
            prop_assert_eq!(&estimates(BaseDelay::Clamped, 0, &delays), &clamped);
            prop_assert_eq!(estimates(BaseDelay::Windowed, 0, &delays), clamped, "shorter than the window");
        }

        /// Equation 4: the clock offset cancels, even one of a million seconds.
        #[test]
        fn offset_does_not_matter(
            delays in prop::collection::vec(0i64..1_000_000_000, 1..100),
            offset in -1_000_000_000_000_000i64..1_000_000_000_000_000,
        ) {
            for anchor in BASE_DELAYS {
                prop_assert_eq!(estimates(anchor, offset, &delays), estimates(anchor, 0, &delays));
            }
        }

        /// No receive time causes a panic.
        #[test]
        fn any_time_is_survived(times in prop::collection::vec((any::<u64>(), any::<i64>()), 1..50)) {
            for anchor in BASE_DELAYS {
                let mut q = QueuingDelay::new(anchor, Duration::from_secs(10));
                for (pn, &(sent, received)) in times.iter().enumerate() {
                    q.on_packet(&stamped(pn as u64, Time(sent), received));
                }
            }
        }

        /// With constant delay and jitter the estimate stays within the jitter.
        #[test]
        fn jitter_stays_jitter(jitter in prop::collection::vec(0i64..3_000_000, 1..200)) {
            let delays: Vec<_> = jitter.iter().map(|j| 25 * MS + j).collect();
            prop_assert!(estimates(BaseDelay::Clamped, 0, &delays).iter().all(|q| (0..3 * MS).contains(q)));
        }
    }

    /// A queue that grows by 1 ms per 10 packets exceeds 20 ms right after packet 200.
    #[test]
    fn ramp() {
        let delays: Vec<_> = (0..400).map(|i| 25 * MS + i * MS / 10).collect();
        for anchor in BASE_DELAYS {
            assert_eq!(estimates(anchor, 0, &delays).iter().position(|&q| q > 20 * MS), Some(201));
        }
    }

    /// A missing receive time in the middle has no effect afterwards, nor has a packet that arrives
    /// too late.
    #[test]
    fn gaps_do_no_harm() {
        let packet = |pn: u64| stamped(pn, Time::from_millis(pn), (pn * pn) as i64 * MS);
        for anchor in BASE_DELAYS {
            let mut whole = QueuingDelay::new(anchor, Duration::from_secs(10));
            let mut gap = whole.clone();
            for pn in 0..20 {
                let expected = whole.on_packet(&packet(pn));
                let received = packet(pn).received.filter(|_| pn != 7);
                let got = gap.on_packet(&AckedPacket { received, ..packet(pn) });
                assert_eq!(got, expected.filter(|_| pn != 7));
                if pn > 7 {
                    assert_eq!(gap.on_packet(&packet(7)), None, "too late");
                }
            }
        }
    }

    /// The windowed minimum forgets. A skew of 50 ppm raises `clamped` by 3 ms per minute,
    /// `windowed` by at most one window's share.
    #[test]
    fn windowed_follows_the_clock() {
        let run = |anchor| {
            let mut q = QueuingDelay::new(anchor, Duration::from_secs(10));
            for pn in 0..6000u64 {
                let sent = Time::from_millis(10 * pn);
                q.on_packet(&stamped(pn, sent, (sent.0 + sent.0 / 20_000) as i64));
            }
            q.owqd()
        };
        assert!(run(BaseDelay::Clamped) > 2_990_000);
        assert_eq!(run(BaseDelay::Windowed), 500_000);
    }

    #[test]
    fn reset_starts_anew() {
        for anchor in BASE_DELAYS {
            let mut q = QueuingDelay::new(anchor, Duration::from_secs(10));
            q.on_packet(&stamped(1, Time::ZERO, 0));
            assert_eq!(q.on_packet(&stamped(2, Time::ZERO, 9 * MS)), Some(9 * MS));
            q.reset();
            assert_eq!(q.on_packet(&stamped(2, Time::ZERO, 9 * MS)), None, "an old packet stays old");
            assert_eq!(q.on_packet(&stamped(3, Time::ZERO, 9 * MS)), Some(0));
        }
    }
}
