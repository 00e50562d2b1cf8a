//! A queue whose discipline decides at departure: CoDel, FQ-CoDel, PIE, DualPI2.
//!
//! A packet leaves the discipline when its transmission begins, which is when the one before it has left. With a
//! discipline that never objects this is the FIFO of `analytic.rs`, to the nanosecond.

use std::collections::VecDeque;

use units::{Bytes, Time};

use crate::aqm::discipline::Discipline;
use crate::aqm::fifo::Waiting;
use crate::aqm::signals::Signals;
use crate::backlog::{Gauge, Tally};
use crate::counters::{Admitted, DropReason, Dropped, Fate, Stay, Tallies};
use crate::link::wire::Wire;
use crate::loss::Losses;
use crate::packet::Packet;

/// The packet in transmission, or the one that waits for a token bucket.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    arrival: Time,
    size: u32,
    ends: Time,
}

/// The queue before the server.
#[derive(Debug)]
pub(crate) struct EventDriven<P> {
    discipline: Discipline<P>,
    transmission: Option<Transmission>,
    /// Whether that packet no longer counts as one that waits; it does behind a token bucket.
    transmits: bool,
    /// Those in the discipline and the one in transmission.
    pub(crate) gauge: Gauge,
    signals: Signals<P>,
    pub(crate) fates: VecDeque<Fate<P>>,
}

impl<P: Packet> EventDriven<P> {
    pub(crate) fn new(discipline: Discipline<P>, burst: Bytes) -> Self {
        Self {
            discipline,
            transmission: None,
            transmits: burst == Bytes(0),
            gauge: Gauge::default(),
            signals: Signals::default(),
            fates: VecDeque::new(),
        }
    }

    /// When the packet in transmission has left, if ever.
    pub(crate) fn next(&self) -> Option<Time> {
        self.transmission.map(|t| t.ends).filter(|&ends| ends != Time::NEVER)
    }

    /// Lets go what leaves by `now`, each at its own time.
    pub(crate) fn run(&mut self, now: Time, wire: &mut Wire<P>, tallies: &mut Tallies) {
        while let Some(sent) = self.transmission.filter(|t| t.ends <= now) {
            self.gauge.leave(sent.ends, sent.arrival, sent.size);
            self.transmission = None;
            self.begin(sent.ends, true, wire, tallies);
        }
    }

    /// A packet arrives.
    #[inline(never)]
    pub(crate) fn arrive(
        &mut self,
        now: Time,
        mut packet: P,
        losses: &mut Losses,
        wire: &mut Wire<P>,
        tallies: &mut Tallies,
    ) -> Result<Admitted, Dropped<P>> {
        self.run(now, wire, tallies);
        wire.server.advance(now);
        let lost = wire.refuses(now, losses);
        if let Some(reason) = lost.or_else(|| self.refusal(now, &mut packet, tallies)) {
            tallies.refuse(packet.size(), reason);
            return Err(Dropped { packet, reason });
        }
        tallies.admitted.add(packet.size());
        self.take(now, packet, wire, tallies);
        Ok(Admitted { stay: None })
    }

    fn refusal(&mut self, now: Time, packet: &mut P, tallies: &mut Tallies) -> Option<DropReason> {
        let reason = self.discipline.refusal(now, self.waiting(), packet, &mut self.signals);
        self.apply_signals(now, tallies);
        reason
    }

    fn take(&mut self, now: Time, packet: P, wire: &mut Wire<P>, tallies: &mut Tallies) {
        let first = if self.transmits { Tally::default() } else { self.first() };
        self.gauge.enter(now, packet.size());
        self.discipline.enqueue(Waiting { arrival: now, packet }, first, &mut self.signals);
        self.apply_signals(now, tallies);
        if self.transmission.is_none() {
            self.begin(now, false, wire, tallies);
            // Tokens may let it pass at once.
            self.run(now, wire, tallies);
        }
        self.gauge.peak();
    }

    /// The packet that has left the discipline.
    fn first(&self) -> Tally {
        self.transmission.map_or(Tally::default(), |t| Tally { packets: 1, bytes: t.size.into() })
    }

    /// What counts towards the limit.
    pub(crate) fn waiting(&self) -> Tally {
        let held = self.gauge.held();
        if self.transmits { held - self.first() } else { held }
    }

    /// The server is free: the next packet's transmission begins. `busy`: it has just ended that of another.
    fn begin(&mut self, now: Time, busy: bool, wire: &mut Wire<P>, tallies: &mut Tallies) {
        let next = self.discipline.dequeue(now, &mut self.signals);
        self.apply_signals(now, tallies);
        let Some(Waiting { arrival, mut packet }) = next else { return };
        let size = packet.size();
        wire.server.advance(now);
        let departure = if busy { wire.server.depart_next(size) } else { wire.server.depart(size) };
        let delivery = wire.deliver(&departure);
        self.transmission = Some(Transmission { arrival, size, ends: departure.at });
        let total = departure.at - arrival;
        let stay = Stay { wait: if self.transmits { now - arrival } else { total }, total };
        self.fates.push_back(Fate::Departs { flow: packet.flow(), stay });
        packet.set_departure(departure.at);
        wire.store(delivery, packet);
    }

    fn apply_signals(&mut self, now: Time, tallies: &mut Tallies) {
        tallies.marked = tallies.marked + std::mem::take(&mut self.signals.marked);
        for (Waiting { arrival, packet }, reason) in self.signals.dropped.drain(..) {
            self.gauge.leave(now, arrival, packet.size());
            tallies.take_back(packet.size(), reason);
            self.fates.push_back(Fate::Dropped(Dropped { packet, reason }));
        }
    }
}
