//! Packets scheduled ahead of time: departure and arrival are known.
//!
//! A sender may be ahead of the links: it schedules packets that leave later, and each waits here
//! for its departure. Over a single link that knows the arrival at once, the packet stays here
//! until then: nothing is moved and no event is needed. Other packets leave for their first link.
//! Queue times are collected until the sender acts again, because the flow's record is elsewhere in
//! memory and is then fetched only once.

use std::collections::VecDeque;

use link::QueueTime;
use units::{Ecn, Time};

use crate::packet::{Chunk, Data, Fault};

/// Packet without the properties common to its flow: one cache line, of which a whole window is
/// stored.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Packet {
    /// Departure.
    pub(super) sent: Time,
    /// Arrival, once it has left; [`Time::NEVER`] if not known here.
    arrives: Time,
    pub(super) pn: u64,
    pub(super) chunk: Chunk,
    pub(super) least_unacked: u64,
    /// Bytes on the wire.
    pub(super) size: u32,
    pub(super) connection: u32,
    pub(super) ecn: Ecn,
    /// Whether it is a retransmission.
    pub(super) repeat: bool,
}

impl Packet {
    /// Creates a packet that leaves at `sent`.
    #[inline]
    pub(super) fn new(sent: Time, pn: u64, chunk: Chunk, size: u32, connection: u32) -> Self {
        let (arrives, ecn) = (Time::NEVER, Ecn::NotEct);
        Self { sent, arrives, pn, chunk, least_unacked: 0, size, connection, ecn, repeat: false }
    }

    /// Converts it to a packet of this flow that leaves the network behind `last_link`.
    #[inline]
    pub(super) fn data(&self, flow: u32, last_link: u16) -> Data {
        let &Self { sent, pn, chunk, least_unacked, size, connection, ecn, .. } = self;
        Data { flow, size, last_link, connection, pn, sent, chunk, ecn, fault: Fault::NONE, least_unacked }
    }
}

/// Packets in order of departure.
#[derive(Debug, Default)]
pub(super) struct Scheduled {
    packets: VecDeque<Packet>,
    /// Number of packets that have left. The first of them arrives here, the others only if their
    /// arrival is known.
    left: usize,
    /// Number of retransmissions that have not left.
    repeats: usize,
    /// Entry into the first link and time in its queue, for packets since the sender last acted.
    queue_times: Vec<(Time, QueueTime)>,
}

impl Scheduled {
    /// Adds a packet that leaves no earlier than all others.
    #[inline]
    pub(super) fn push(&mut self, packet: Packet) {
        self.repeats += usize::from(packet.repeat);
        self.packets.push_back(packet);
    }

    /// Returns the number of packets that have not left.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.packets.len() - self.left
    }

    /// Reports whether a retransmission has not left.
    #[inline]
    pub(super) fn has_repeat(&self) -> bool {
        self.repeats > 0
    }

    /// Returns the departure of the next packet.
    #[inline]
    pub(super) fn leaves(&self) -> Option<Time> {
        self.packets.get(self.left).map(|next| next.sent)
    }

    /// Returns the next packet if it leaves now. Call [`Scheduled::leave`] for it.
    #[inline]
    pub(super) fn due(&self, now: Time) -> Option<Packet> {
        self.packets.get(self.left).filter(|next| next.sent <= now).copied()
    }

    /// Notes that the next packet has left. `arrival` is its arrival, later than those before, and
    /// its ECN field then, if it stays here until it arrives.
    #[inline]
    pub(super) fn leave(&mut self, now: Time, queue_time: Option<QueueTime>, arrival: Option<(Time, Ecn)>) {
        self.queue_times.extend(queue_time.map(|queue_time| (now, queue_time)));
        let arrival = arrival.filter(|(at, _)| *at < Time::NEVER);
        match (arrival, self.packets.get_mut(self.left)) {
            (Some(arrival), Some(packet)) => (packet.arrives, packet.ecn) = arrival,
            _ if self.left == 0 => {
                self.packets.pop_front();
                return;
            }
            _ => {}
        }
        self.left += 1;
    }

    /// Notes that the packet that has just left is a retransmission.
    #[inline]
    pub(super) fn leave_repeat(&mut self) {
        self.repeats -= 1;
    }

    /// Returns the arrival of the next packet that stays here.
    #[inline]
    pub(super) fn arrival(&self) -> Time {
        if self.left == 0 {
            return Time::NEVER;
        }
        self.packets.front().map_or(Time::NEVER, |first| first.arrives)
    }

    /// Takes that packet.
    #[inline]
    pub(super) fn arrive(&mut self) -> Option<(Time, Packet)> {
        self.left = self.left.checked_sub(1)?;
        let packet = self.packets.pop_front()?;
        while self.left > 0 && self.packets.front().is_some_and(|next| next.arrives == Time::NEVER) {
            self.packets.pop_front();
            self.left -= 1;
        }
        Some((packet.arrives, packet))
    }

    /// Takes the queue times of packets that entered the first link since the previous call.
    #[inline]
    pub(super) fn take_queue_times(&mut self) -> impl Iterator<Item = (Time, QueueTime)> + '_ {
        self.queue_times.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::*;

    /// Packets 1, 3 and 6 stay here, others leave for a link.
    #[test]
    fn what_stays_arrives_in_order() {
        let mut scheduled = Scheduled::default();
        let chunk = Chunk { offset: 0, len: 1 };
        (0..8).for_each(|pn| scheduled.push(Packet::new(Time(10 * pn + 10), pn, chunk, 1, 0)));
        assert_eq!(
            (scheduled.waiting(), scheduled.leaves(), scheduled.arrival()),
            (8, Some(Time(10)), Time::NEVER)
        );
        let queue_time = QueueTime { wait: Duration(0), total: Duration(2) };
        let mut arrived = Vec::new();
        for now in (1..9).map(|turn| Time(10 * turn)) {
            assert!(scheduled.due(now - Duration(1)).is_none());
            let packet = scheduled.due(now).unwrap();
            let stays = [1, 3, 6].contains(&packet.pn);
            scheduled.leave(now, Some(queue_time), stays.then_some((now + Duration(25), Ecn::Ce)));
            if scheduled.arrival() <= now {
                arrived.extend(scheduled.arrive().map(|(at, packet)| (at.0, packet.pn, packet.ecn)));
            }
        }
        assert_eq!((scheduled.waiting(), scheduled.leaves(), scheduled.arrival()), (0, None, Time(95)));
        assert_eq!(
            scheduled.take_queue_times().map(|(at, _)| at.0 / 10).collect::<Vec<_>>(),
            [1, 2, 3, 4, 5, 6, 7, 8]
        );
        while let Some((at, packet)) = scheduled.arrive() {
            arrived.push((at.0, packet.pn, packet.ecn));
        }
        assert_eq!(arrived, [(45, 1, Ecn::Ce), (65, 3, Ecn::Ce), (95, 6, Ecn::Ce)]);
        assert!(scheduled.packets.is_empty() && scheduled.left == 0);
    }

    #[test]
    fn a_packet_is_small() {
        assert_eq!(size_of::<Packet>(), 64);
    }
}
