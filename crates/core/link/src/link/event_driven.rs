//! A queue whose discipline decides at departure: CoDel, FQ-CoDel, PIE, DualPI2.
//!
//! A packet leaves the discipline when its transmission begins, which is when the previous packet
//! has left. With a discipline that never drops or marks, this equals the FIFO of `analytic.rs` to
//! the nanosecond. With chances to deliver, a transmission begins at the chance that serves the
//! packet's first byte. All packets of an aggregate leave the discipline when the aggregate begins.

use std::collections::VecDeque;

use units::{Bytes, Time};

use crate::aqm::discipline::Discipline;
use crate::aqm::fifo::Waiting;
use crate::aqm::signals::Signals;
use crate::backlog::{Count, Gauge};
use crate::counters::{Admitted, DropReason, Dropped, PacketOutcome, QueueTime, Totals};
use crate::link::wire::Wire;
use crate::loss::Losses;
use crate::packet::Packet;

/// A packet in transmission, or the one that waits for a token bucket.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    arrival: Time,
    size: u32,
    ends: Time,
}

/// Queue before the server.
#[derive(Debug)]
pub(crate) struct EventDriven<P> {
    discipline: Discipline<P>,
    /// Packets that have left the discipline: one, or those of an aggregate.
    transmissions: VecDeque<Transmission>,
    /// Their number and bytes.
    sent: Count,
    /// Time of the chance or aggregate at which the next transmission begins, if packets wait.
    begins: Option<Time>,
    /// Whether that packet no longer counts as waiting. Behind a token bucket it does count.
    transmits: bool,
    /// Packets in the discipline and the one in transmission.
    pub(crate) gauge: Gauge,
    signals: Signals<P>,
    pub(crate) outcomes: VecDeque<PacketOutcome<P>>,
}

impl<P: Packet> EventDriven<P> {
    pub(crate) fn new(discipline: Discipline<P>, burst: Bytes) -> Self {
        Self {
            discipline,
            transmissions: VecDeque::new(),
            sent: Count::default(),
            begins: None,
            transmits: burst == Bytes(0),
            gauge: Gauge::default(),
            signals: Signals::default(),
            outcomes: VecDeque::new(),
        }
    }

    /// Returns the departure of the packet in transmission, or the time at which the next one
    /// begins, if that ever happens.
    pub(crate) fn next(&self) -> Option<Time> {
        self.transmissions.front().map(|t| t.ends).or(self.begins).filter(|&at| at != Time::NEVER)
    }

    /// Processes all departures and beginnings up to `now`, each at its own time.
    pub(crate) fn run(&mut self, now: Time, wire: &mut Wire<P>, totals: &mut Totals) {
        while let Some(at) = self.next().filter(|&at| at <= now) {
            if let Some(sent) = self.transmissions.pop_front() {
                self.gauge.leave(sent.ends, sent.arrival, sent.size);
                self.sent.remove(sent.size);
            }
            if self.transmissions.is_empty() {
                self.begins = None;
                self.begin(at, true, wire, totals);
            }
        }
    }

    /// Offers an arriving packet.
    #[inline(never)]
    pub(crate) fn arrive(
        &mut self,
        now: Time,
        mut packet: P,
        losses: &mut Losses,
        wire: &mut Wire<P>,
        totals: &mut Totals,
    ) -> Result<Admitted, Dropped<P>> {
        self.run(now, wire, totals);
        wire.server.advance(now);
        let lost = wire.drop_reason(now, packet.size(), losses);
        let passes = !self.transmits && self.waiting().packets == 0 && wire.server.has_tokens(packet.size());
        let full = |reason: &DropReason| passes && *reason == DropReason::QueueFull;
        let refused = || self.drop_reason(now, &mut packet, totals).filter(|reason| !full(reason));
        if let Some(reason) = lost.or_else(refused) {
            totals.drop_at_arrival(packet.size(), reason);
            return Err(Dropped { packet, reason });
        }
        totals.admitted.add(packet.size());
        self.take(now, packet, wire, totals);
        Ok(Admitted { queue_time: None })
    }

    fn drop_reason(&mut self, now: Time, packet: &mut P, totals: &mut Totals) -> Option<DropReason> {
        let reason = self.discipline.drop_reason(now, self.waiting(), packet, &mut self.signals);
        self.apply_signals(now, totals);
        reason
    }

    fn take(&mut self, now: Time, packet: P, wire: &mut Wire<P>, totals: &mut Totals) {
        let first = if self.transmits { Count::default() } else { self.sent };
        self.gauge.enter(now, packet.size());
        self.discipline.enqueue(Waiting { arrival: now, packet }, first, &mut self.signals);
        self.apply_signals(now, totals);
        if self.transmissions.is_empty() && self.begins.is_none() {
            self.begin(now, false, wire, totals);
            // With enough tokens the packet passes at once.
            self.run(now, wire, totals);
        }
        self.gauge.update_max();
    }

    /// Returns the packets that count towards the limit.
    pub(crate) fn waiting(&self) -> Count {
        let held = self.gauge.held();
        if self.transmits { held - self.sent } else { held }
    }

    /// Begins the next transmission or aggregate, or waits for the time to. `busy` says that the
    /// previous one has just ended, or that this is the time.
    fn begin(&mut self, now: Time, busy: bool, wire: &mut Wire<P>, totals: &mut Totals) {
        let waits = self.waiting().packets > 0;
        if let Some(at) = wire.server.begins(now, !busy, waits).filter(|&at| at > now) {
            self.begins = waits.then_some(at);
            return;
        }
        while self.send(now, busy, wire, totals) && wire.server.takes_another() {}
    }

    /// Sends the next packet, if there is one.
    fn send(&mut self, now: Time, busy: bool, wire: &mut Wire<P>, totals: &mut Totals) -> bool {
        let next = self.discipline.dequeue(now, &mut self.signals);
        self.apply_signals(now, totals);
        let Some(Waiting { arrival, mut packet }) = next else { return false };
        let size = packet.size();
        wire.server.advance(now);
        let departure = if busy { wire.server.depart_next(size) } else { wire.server.depart(size) };
        let delivery = wire.deliver(&departure, packet.flow());
        self.transmissions.push_back(Transmission { arrival, size, ends: departure.at });
        self.sent.add(size);
        let total = departure.at - arrival;
        let queue_time = QueueTime { wait: if self.transmits { now - arrival } else { total }, total };
        self.outcomes.push_back(PacketOutcome::Departs { flow: packet.flow(), queue_time });
        packet.set_departure(departure.at);
        wire.store(delivery, packet);
        true
    }

    fn apply_signals(&mut self, now: Time, totals: &mut Totals) {
        totals.marked = totals.marked + std::mem::take(&mut self.signals.marked);
        for (Waiting { arrival, packet }, reason) in self.signals.dropped.drain(..) {
            self.gauge.leave(now, arrival, packet.size());
            totals.drop_admitted(packet.size(), reason);
            self.outcomes.push_back(PacketOutcome::Dropped(Dropped { packet, reason }));
        }
    }
}
