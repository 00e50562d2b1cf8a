//! What a link says of its packets, one by one and in sum.

use units::{Duration, Ecn, Time};

use crate::backlog::{Backlog, Gauge, Tally};

/// The packet was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// How long it stays. `None`: the AQM decides at departure; [`crate::Link::fate`] will tell.
    pub stay: Option<Stay>,
}

/// A packet was taken and stays with who brought it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// How long it stays.
    pub stay: Stay,
    /// When it is delivered, later than all before it; [`Time::NEVER`] if the rate is 0 for good.
    pub delivery: Time,
    /// Its mark from now on.
    pub ecn: Ecn,
}

/// How long a packet is on a link before it propagates. At rate zero: centuries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stay {
    /// From arrival until its transmission begins or, behind a token bucket, until it leaves.
    pub wait: Duration,
    /// From arrival to departure, its own transmission included.
    pub total: Duration,
}

/// The packet was not taken, or was dropped later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped<P> {
    /// The packet, back in the caller's hands.
    pub packet: P,
    /// Why.
    pub reason: DropReason,
}

/// What became of a packet of which [`crate::Link::push`] could not say it yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate<P> {
    /// Its transmission has begun.
    Departs {
        /// Of the packet.
        flow: u32,
        /// How long it stays.
        stay: Stay,
    },
    /// It was dropped after all.
    Dropped(Dropped<P>),
}

/// Why a packet was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// It would have exceeded the limit, or made room for another that would.
    QueueFull,
    /// Random loss.
    Random,
    /// It arrived during the outage at a slot boundary.
    Outage,
    /// The AQM's decision.
    Aqm,
    /// It arrived while the link swallowed everything.
    Blackhole,
    /// It was to be dropped by its number.
    Listed,
    /// It was delivered damaged, so that its receiver throws it away. No link says so of a packet that it refuses.
    Damaged,
}

/// What happened on a link since the start. Packets still stored or carried are
/// `admitted + duplicated - delivered`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Offered: admitted and dropped.
    pub pushed: Tally,
    /// Taken, and not dropped later.
    pub admitted: Tally,
    /// Dropped because the queue was full.
    pub dropped_full: Tally,
    /// Dropped at random.
    pub dropped_random: Tally,
    /// Dropped in an outage.
    pub dropped_outage: Tally,
    /// Dropped by the AQM, at arrival or at departure.
    pub dropped_aqm: Tally,
    /// Dropped while the link swallowed everything.
    pub dropped_blackhole: Tally,
    /// Dropped by number.
    pub dropped_listed: Tally,
    /// Marked CE by the AQM.
    pub marked: Tally,
    /// Popped, copies too; and carried, once the time of delivery has come.
    pub delivered: Tally,
    /// Of those popped by a link that makes copies: the copies, where packets tell ([`Packet::is_copy`](crate::Packet::is_copy)), which never
    /// crossed it. (Also those of a link before it, which did: where two links of a chain make copies, the second carries more than it says.)
    pub copies: Tally,
    /// Of those taken whose delivery is known: damaged.
    pub corrupted: Tally,
    /// Copies that the link makes of those.
    pub duplicated: Tally,
    /// Sum over the packets gone so far (departed, or dropped by the AQM from the queue) of the time from arrival to
    /// then, ns.
    pub sojourn: u128,
    /// Packets of the backlog integrated over time, packet-ns. Equals `sojourn` whenever the queue is empty
    /// (Little's law).
    pub backlog_integral: u128,
    /// Most packets and most bytes in the backlog, each at its own moment.
    pub max_backlog: Backlog,
}

impl Counters {
    /// Bytes that crossed the link.
    pub fn carried(&self) -> u64 {
        self.delivered.bytes - self.copies.bytes
    }

    /// All drops, whatever the reason.
    pub fn dropped(&self) -> Tally {
        let planned = self.dropped_blackhole + self.dropped_listed;
        self.dropped_full + self.dropped_random + self.dropped_outage + self.dropped_aqm + planned
    }
}

/// The counters that only grow, but for `admitted`.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    pub(crate) admitted: Tally,
    pub(crate) delivered: Tally,
    pub(crate) copies: Tally,
    pub(crate) marked: Tally,
    /// By reason, but for the last: a link delivers what it damages.
    dropped: [Tally; 6],
}

impl Tallies {
    /// Dropped at arrival.
    #[inline]
    pub(crate) fn refuse(&mut self, size: u32, reason: DropReason) {
        self.dropped[reason as usize].add(size);
    }

    /// Dropped although it had been taken.
    pub(crate) fn take_back(&mut self, size: u32, reason: DropReason) {
        self.admitted.remove(size);
        self.refuse(size, reason);
    }

    pub(crate) fn with(
        &self,
        gauge: &Gauge,
        backlog_integral: u128,
        (corrupted, duplicated): (Tally, Tally),
    ) -> Counters {
        let [dropped_full, dropped_random, dropped_outage, dropped_aqm, dropped_blackhole, dropped_listed] =
            self.dropped;
        let mut all = Counters {
            pushed: self.admitted,
            admitted: self.admitted,
            dropped_full,
            dropped_random,
            dropped_outage,
            dropped_aqm,
            dropped_blackhole,
            dropped_listed,
            marked: self.marked,
            delivered: self.delivered,
            copies: self.copies,
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
