//! GCC's arrival-time model and pre-filter, draft-ietf-rmcat-gcc-02 sections 5.1 and 5.2.
//!
//! ```text
//! d(i) = t(i) - t(i-1) - (T(i) - T(i-1))      ms;  t, T: arrival and send time of the last packet of group i
//! a packet belongs to the group if it was sent within burst_time of the group's first packet,
//!   or if it arrived within burst_time of the previous packet and made d smaller (d < 0)
//! ```
//!
//! The second rule groups packets that arrive in a burst after an outage. A draining queue looks
//! the same above 1.9 Mbit/s (1200 bytes in 5 ms), so the group would never end. As in WebRTC, it
//! ends after `max_burst`.

use crate::AckedPacket;
use units::{Duration, Time};

/// Packets that were sent together.
#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Time,
    first_received: i64,
    sent: Time,
    received: i64,
}

/// Differences between one group and the next, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Variation {
    /// Delay variation, d(i).
    pub(super) delay: f64,
    /// Send interval, T(i) - T(i-1).
    pub(super) departure: f64,
    /// Arrival interval, t(i) - t(i-1).
    pub(super) arrival: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Groups {
    burst_time: i64,
    max_burst: i64,
    last_pn: Option<u64>,
    current: Option<Group>,
    previous: Option<Group>,
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.0).unwrap_or(i64::MAX)
}

impl Group {
    fn from_packet(packet: &AckedPacket, received: i64) -> Self {
        Self { first_sent: packet.sent, first_received: received, sent: packet.sent, received }
    }

    fn since(&self, before: &Self) -> Variation {
        let departure = (self.sent - before.sent).as_millis_f64();
        let arrival = self.received.saturating_sub(before.received) as f64 * 1e-6;
        Variation { delay: arrival - departure, departure, arrival }
    }
}

impl Groups {
    pub(super) fn new(burst_time: Duration, max_burst: Duration) -> Self {
        let (burst_time, max_burst) = (nanos(burst_time), nanos(max_burst));
        Self { burst_time, max_burst, last_pn: None, current: None, previous: None }
    }

    fn belongs(&self, group: &Group, next: &Group) -> bool {
        let together = nanos(next.sent - group.first_sent) <= self.burst_time;
        let gap = next.received.saturating_sub(group.received);
        let lasts = next.received.saturating_sub(group.first_received);
        let burst = gap < self.burst_time && next.since(group).delay < 0.0 && lasts < self.max_burst;
        together || burst
    }

    /// Adds a packet. Returns the variation if the packet starts a new group, so that the previous
    /// one is complete.
    ///
    /// Ignores reordered packets and those without a receive time.
    pub(super) fn on_packet(&mut self, packet: &AckedPacket) -> Option<Variation> {
        let received = packet.received?;
        if self.last_pn.is_some_and(|last| packet.pn <= last) {
            return None;
        }
        self.last_pn = Some(packet.pn);
        let next = Group::from_packet(packet, received);
        match self.current {
            Some(group) if self.belongs(&group, &next) => {
                let (sent, received) = (next.sent, next.received);
                self.current = Some(Group { sent, received, ..group });
                None
            }
            complete => {
                self.current = Some(next);
                let complete = complete?;
                self.previous.replace(complete).map(|previous| complete.since(&previous))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixtures::stamped;

    fn groups() -> Groups {
        Groups::new(Duration::from_millis(5), Duration::from_millis(100))
    }

    /// Plays packets with these send and arrival times, in ms.
    fn play(groups: &mut Groups, packets: &[(u64, i64)]) -> Vec<Variation> {
        let numbered = (groups.last_pn.map_or(0, |pn| pn + 1)..).zip(packets);
        numbered
            .filter_map(|(pn, &(sent, received))| {
                groups.on_packet(&stamped(pn, Time::from_millis(sent), received * 1_000_000))
            })
            .collect()
    }

    /// Groups of 0..5, 10..12, 20: the last packet of each counts. The third is not complete.
    #[test]
    fn sent_together() {
        let packets = [(0, 50), (3, 54), (5, 58), (10, 64), (12, 66), (20, 71), (30, 90)];
        let expected = [
            Variation { delay: 8.0 - 7.0, departure: 7.0, arrival: 8.0 },
            Variation { delay: 5.0 - 8.0, departure: 8.0, arrival: 5.0 },
        ];
        assert_eq!(play(&mut groups(), &packets), expected);
    }

    /// After an outage: packets sent 10 ms and arriving 1 ms apart form one group. The next group
    /// is 10 ms later.
    #[test]
    fn arrived_in_a_burst() {
        let packets = [(0, 50), (10, 60), (20, 200), (30, 201), (40, 202), (50, 203), (60, 213), (70, 223)];
        let expected = [
            Variation { delay: 0.0, departure: 10.0, arrival: 10.0 },
            Variation { delay: 143.0 - 40.0, departure: 40.0, arrival: 143.0 },
            Variation { delay: 0.0, departure: 10.0, arrival: 10.0 },
        ];
        assert_eq!(play(&mut groups(), &packets), expected);
    }

    /// A draining queue: arrival intervals are 1 ms shorter than send intervals. The group ends
    /// after 100 ms.
    #[test]
    fn bursts_end() {
        let packets: Vec<_> = (0..100).map(|i| (6 * i, 1000 + 4 * i as i64)).collect();
        let variations = play(&mut groups(), &packets);
        assert_eq!(variations[0], Variation { delay: -50.0, departure: 150.0, arrival: 100.0 });
    }

    /// Reordered packets, packets without a receive time, and a clock that is far off.
    #[test]
    fn odd_packets() {
        let mut g = groups();
        play(&mut g, &[(0, 0), (10, 10)]);
        assert_eq!(g.on_packet(&stamped(1, Time::from_millis(10), 0)), None);
        assert_eq!(g.on_packet(&AckedPacket { received: None, ..stamped(9, Time::ZERO, 0) }), None);
        let d = |v: Option<Variation>| v.map(|v| v.delay);
        assert_eq!(d(g.on_packet(&stamped(2, Time::from_millis(20), 21_000_000))), Some(0.0));
        for received in [i64::MAX, i64::MIN, 0] {
            g.on_packet(&stamped(g.last_pn.unwrap_or(0) + 1, Time::NEVER, received));
        }
    }
}
