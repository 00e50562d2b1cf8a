//! Results for single packets, and counters of a link.

use units::{Duration, Ecn, Time};

use crate::backlog::{Backlog, Count, Gauge};

/// Result for a packet that was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// Time in the queue. `None` if the AQM decides at departure: then
    /// [`crate::Link::next_outcome`] reports it.
    pub queue_time: Option<QueueTime>,
}

/// Result for an admitted packet that its sender keeps instead of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transit {
    /// Time in the queue.
    pub queue_time: QueueTime,
    /// Time of delivery, later than that of all packets before; [`Time::NEVER`] if the rate is 0
    /// for good.
    pub delivery: Time,
    /// ECN field of the packet from now on.
    pub ecn: Ecn,
}

/// Time of a packet in the queue and in transmission, before it propagates. Centuries at rate zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueTime {
    /// Time from arrival until transmission begins or, behind a token bucket, until departure.
    pub wait: Duration,
    /// Time from arrival to departure, the packet's own transmission included.
    pub total: Duration,
}

/// Packet that was not admitted, or that was dropped later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped<P> {
    /// The packet, returned to the caller.
    pub packet: P,
    /// Reason for the drop.
    pub reason: DropReason,
}

/// Outcome for a packet that [`crate::Link::push`] could not foresee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PacketOutcome<P> {
    /// The packet's transmission has begun.
    Departs {
        /// Flow of the packet.
        flow: u32,
        /// Time in the queue.
        queue_time: QueueTime,
    },
    /// The packet was dropped after it had been admitted.
    Dropped(Dropped<P>),
}

/// Reason why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The packet exceeded the limit, or was dropped in favour of one that would have.
    QueueFull,
    /// Random loss.
    Random,
    /// Arrival during the outage at a slot boundary.
    Outage,
    /// Decision of the AQM.
    Aqm,
    /// Arrival in a black hole.
    Blackhole,
    /// Drop by number.
    Listed,
    /// The packet is larger than the link's MTU.
    TooLarge,
    /// Delivered damaged, so that the receiver discards it. A link never gives this reason for a
    /// packet that it drops.
    Damaged,
}

/// Counters of a link since the start. Packets still stored or in transit are `admitted +
/// duplicated - delivered`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets offered: admitted or dropped.
    pub pushed: Count,
    /// Packets admitted and not dropped later.
    pub admitted: Count,
    /// Packets dropped because the queue was full.
    pub dropped_full: Count,
    /// Packets dropped at random.
    pub dropped_random: Count,
    /// Packets dropped in an outage.
    pub dropped_outage: Count,
    /// Packets dropped by the AQM, at arrival or at departure.
    pub dropped_aqm: Count,
    /// Packets dropped in a black hole.
    pub dropped_blackhole: Count,
    /// Packets dropped by number.
    pub dropped_listed: Count,
    /// Packets dropped because they are larger than the MTU.
    pub dropped_too_large: Count,
    /// Packets marked CE by the AQM.
    pub marked: Count,
    /// Packets popped, copies included, and packets in transit whose time of delivery has come.
    pub delivered: Count,
    /// Packets whose last bit has left the link. A copy leaves with its original, so it does not
    /// count.
    pub departed: Count,
    /// Damaged packets among those admitted whose delivery is known.
    pub corrupted: Count,
    /// Copies made of those packets.
    pub duplicated: Count,
    /// Sum over the packets gone so far of the time from arrival to departure, or to a drop from
    /// the queue by the AQM, in ns.
    pub sojourn: u128,
    /// Packets in the backlog, integrated over time, in packet-ns. Equals `sojourn` whenever the
    /// queue is empty (Little's law).
    pub backlog_integral: u128,
    /// Largest number of packets and of bytes in the backlog, each at its own time.
    pub max_backlog: Backlog,
}

impl Counters {
    /// Returns all drops, whatever the reason.
    pub fn dropped(&self) -> Count {
        let planned = self.dropped_blackhole + self.dropped_listed + self.dropped_too_large;
        self.dropped_full + self.dropped_random + self.dropped_outage + self.dropped_aqm + planned
    }
}

/// Counters that only grow, except `admitted`.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) admitted: Count,
    pub(crate) delivered: Count,
    pub(crate) marked: Count,
    /// Drops by reason, except the last reason: a link delivers what it damages.
    dropped: [Count; 7],
}

impl Totals {
    /// Counts a packet dropped at arrival.
    #[inline]
    pub(crate) fn drop_at_arrival(&mut self, size: u32, reason: DropReason) {
        self.dropped[reason as usize].add(size);
    }

    /// Counts a packet dropped after it had been admitted.
    pub(crate) fn drop_admitted(&mut self, size: u32, reason: DropReason) {
        self.admitted.remove(size);
        self.drop_at_arrival(size, reason);
    }

    pub(crate) fn counters(
        &self,
        gauge: &Gauge,
        backlog_integral: u128,
        (corrupted, duplicated): (Count, Count),
    ) -> Counters {
        let [
            dropped_full,
            dropped_random,
            dropped_outage,
            dropped_aqm,
            dropped_blackhole,
            dropped_listed,
            dropped_too_large,
        ] = self.dropped;
        let mut all = Counters {
            pushed: self.admitted,
            admitted: self.admitted,
            dropped_full,
            dropped_random,
            dropped_outage,
            dropped_aqm,
            dropped_blackhole,
            dropped_listed,
            dropped_too_large,
            marked: self.marked,
            delivered: self.delivered,
            departed: self.admitted - gauge.held(),
            corrupted,
            duplicated,
            sojourn: gauge.sojourn(),
            backlog_integral,
            max_backlog: gauge.max(),
        };
        all.pushed = all.admitted + all.dropped();
        all
    }
}
