//! What a sender has decided to send, until it arrives, where both times are known.
//!
//! A sender may be ahead of the links: it decides on packets that leave later, and each waits here for its time. Over one link that says at once
//! when a packet arrives it stays here until then, so that nothing is moved and no event is needed; others leave for their first link. How long
//! the link keeps packets is noted for when the sender acts again: the flow's record is elsewhere in memory, and is fetched once for all.

use std::collections::VecDeque;

use link::Stay;
use units::{Ecn, Time};

use crate::packet::{Chunk, Data, Fault};

/// A packet, without what all of its flow have in common: a line of the cache, of which a window is full.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Packet {
    /// When it leaves.
    pub(super) sent: Time,
    /// Once it has left: when it arrives, [`Time::NEVER`] if that is not known here.
    arrives: Time,
    pub(super) pn: u64,
    pub(super) chunk: Chunk,
    pub(super) least_unacked: u64,
    /// Bytes on the wire.
    pub(super) size: u32,
    pub(super) connection: u32,
    pub(super) ecn: Ecn,
    /// It repeats what was sent before.
    pub(super) repeat: bool,
}

impl Packet {
    /// That leaves at this time.
    #[inline]
    pub(super) fn new(sent: Time, pn: u64, chunk: Chunk, size: u32, connection: u32) -> Self {
        let (arrives, ecn) = (Time::NEVER, Ecn::NotEct);
        Self { sent, arrives, pn, chunk, least_unacked: 0, size, connection, ecn, repeat: false }
    }

    /// It, as a packet of this flow that leaves the network behind this link.
    #[inline]
    pub(super) fn data(&self, flow: u32, last_link: u16) -> Data {
        let &Self { sent, pn, chunk, least_unacked, size, connection, ecn, .. } = self;
        Data { flow, size, last_link, connection, pn, sent, chunk, ecn, fault: Fault::NONE, least_unacked }
    }
}

/// Packets in the order of their times.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    packets: VecDeque<Packet>,
    /// So many of them have left. The first of these arrives here, the others if they say when.
    left: usize,
    /// Since the sender acted last: when packets entered the first link, and how long it keeps them.
    stays: Vec<(Time, Stay)>,
}

impl UnderWay {
    /// It leaves later than, or with, all others.
    #[inline]
    pub(super) fn push(&mut self, packet: Packet) {
        self.packets.push_back(packet);
    }

    /// How many have not left.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.packets.len() - self.left
    }

    /// When the next one leaves.
    #[inline]
    pub(super) fn leaves(&self) -> Option<Time> {
        self.packets.get(self.left).map(|next| next.sent)
    }

    /// The next one, if it leaves now. [`UnderWay::leave`] it.
    #[inline]
    pub(super) fn due(&self, now: Time) -> Option<Packet> {
        self.packets.get(self.left).filter(|next| next.sent <= now).copied()
    }

    /// The next one has left. `arrival`: when it arrives, later than those before it, and with which mark, where it stays here until then.
    #[inline]
    pub(super) fn leave(&mut self, now: Time, stay: Option<Stay>, arrival: Option<(Time, Ecn)>) {
        self.stays.extend(stay.map(|stay| (now, stay)));
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

    /// When the next of those that stay here arrives.
    #[inline]
    pub(super) fn arrival(&self) -> Time {
        if self.left == 0 {
            return Time::NEVER;
        }
        self.packets.front().map_or(Time::NEVER, |first| first.arrives)
    }

    /// That one.
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

    /// How long the first link keeps what has entered it since this was last asked.
    #[inline]
    pub(super) fn take_stays(&mut self) -> impl Iterator<Item = (Time, Stay)> + '_ {
        self.stays.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::*;

    /// Packets 1, 3 and 6 stay here, others leave for a link.
    #[test]
    fn what_stays_arrives_in_order() {
        let mut under_way = UnderWay::default();
        let chunk = Chunk { offset: 0, len: 1 };
        (0..8).for_each(|pn| under_way.push(Packet::new(Time(10 * pn + 10), pn, chunk, 1, 0)));
        assert_eq!(
            (under_way.waiting(), under_way.leaves(), under_way.arrival()),
            (8, Some(Time(10)), Time::NEVER)
        );
        let stay = Stay { wait: Duration(0), total: Duration(2) };
        let mut arrived = Vec::new();
        for now in (1..9).map(|turn| Time(10 * turn)) {
            assert!(under_way.due(now - Duration(1)).is_none());
            let packet = under_way.due(now).unwrap();
            let stays = [1, 3, 6].contains(&packet.pn);
            under_way.leave(now, Some(stay), stays.then_some((now + Duration(25), Ecn::Ce)));
            if under_way.arrival() <= now {
                arrived.extend(under_way.arrive().map(|(at, packet)| (at.0, packet.pn, packet.ecn)));
            }
        }
        assert_eq!((under_way.waiting(), under_way.leaves(), under_way.arrival()), (0, None, Time(95)));
        assert_eq!(
            under_way.take_stays().map(|(at, _)| at.0 / 10).collect::<Vec<_>>(),
            [1, 2, 3, 4, 5, 6, 7, 8]
        );
        while let Some((at, packet)) = under_way.arrive() {
            arrived.push((at.0, packet.pn, packet.ecn));
        }
        assert_eq!(arrived, [(45, 1, Ecn::Ce), (65, 3, Ecn::Ce), (95, 6, Ecn::Ce)]);
        assert!(under_way.packets.is_empty() && under_way.left == 0);
    }

    #[test]
    fn a_packet_is_small() {
        assert_eq!(size_of::<Packet>(), 64);
    }
}
