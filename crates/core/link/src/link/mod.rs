//! A link: bleaching, loss, a queue with its limit and management, a server, a delay, damage and
//! copies.
//!
//! One interface ([`Link::push`], [`Link::next`], [`Link::pop`]) hides two implementations:
//!
//! | implementation | queue | a packet is handled | [`Link::next`] |
//! |---|---|---|---|
//! | `analytic.rs` | drop-tail, RED | twice: `push` computes its delivery, `pop` returns it | the next delivery |
//! | `event_driven.rs` | CoDel, FQ-CoDel, PIE, DualPI2 | three times: also when its transmission begins | the next departure or delivery |
//!
//! The first relies on a FIFO's departures being known at arrival, when the decision about a packet
//! is also made. In the second a departure is an event: it takes the next packet from the queue
//! discipline, which may drop packets first. [`Link::next_outcome`] later reports what `push`
//! cannot know yet. Periodic updates (PIE, DualPI2) are no events: the discipline catches up with
//! them before the next packet.
//!
//! Both share the server and the delay (`wire.rs`). The driver keeps one event per link, at the
//! time of [`Link::next`]. When it is due, the driver calls [`Link::pop`] until `None`; the event
//! need not yield a packet. A driver that stores its packets itself needs no events for an analytic
//! link at all ([`Link::transit`]).

mod analytic;
mod event_driven;
mod wire;

use units::{Ecn, Rng, Time};

use self::analytic::Analytic;
use self::event_driven::EventDriven;
use self::wire::Wire;
use crate::aqm::discipline::Discipline;
use crate::aqm::red::Verdict;
use crate::backlog::Backlog;
use crate::config::{LinkConfig, slots_stream};
use crate::counters::{Admitted, Counters, DropReason, Dropped, PacketOutcome, QueueTime, Totals, Transit};
use crate::faults::Faults;
use crate::loss::Losses;
use crate::packet::Packet;
use crate::rate::Server;

#[derive(Debug)]
// There is one per link, and the large variant is the fast one, so it is not boxed.
#[allow(clippy::large_enum_variant)]
enum Queue<P> {
    Analytic(Analytic),
    EventDriven(Box<EventDriven<P>>),
}

/// One direction of a link. Time never runs backwards: an earlier `now` counts as the latest one
/// seen.
#[derive(Debug)]
pub struct Link<P> {
    bleach: bool,
    losses: Losses,
    queue: Queue<P>,
    wire: Wire<P>,
    now: Time,
    totals: Totals,
}

impl<P: Packet> Link<P> {
    /// Creates an empty link. Its random streams are named after `name`: `<name>.loss`,
    /// `<name>.bursts`, `<name>.bursts.loss`, `<name>.jitter`, `<name>.slots`, `<name>.aqm`,
    /// `<name>.corrupt`, `<name>.duplicate`, `<name>.bits`.
    pub fn new(config: &LinkConfig, rng_seed: u64, name: &str) -> Self {
        let stream = |element: &str| Rng::stream(rng_seed, &format!("{name}.{element}"));
        let server = Server::new(&config.rate, config.burst, slots_stream(rng_seed, name));
        let queue = match Discipline::new(config, stream("aqm")) {
            Some(discipline) => Queue::EventDriven(Box::new(EventDriven::new(discipline, config.burst))),
            None => Queue::Analytic(Analytic::new(config, stream("aqm"))),
        };
        Self {
            bleach: config.bleach,
            losses: Losses::new(config, stream),
            queue,
            wire: Wire::new(server, config.propagation(stream("jitter")), Faults::new(config, stream)),
            now: Time::ZERO,
            totals: Totals::default(),
        }
    }

    /// Offers an arriving packet. Packets that depart or are delivered at this very time no longer
    /// count.
    ///
    /// # Errors
    /// Returns the packet and the reason it was dropped.
    #[inline(always)]
    pub fn push(&mut self, now: Time, mut packet: P) -> Result<Admitted, Dropped<P>> {
        if self.bleach {
            packet.set_ecn(Ecn::NotEct);
        }
        self.now = clock(self.now, now);
        let now = self.now;
        let Self { queue, losses, wire, totals, .. } = self;
        let analytic = match queue {
            Queue::Analytic(analytic) => analytic,
            Queue::EventDriven(events) => return events.arrive(now, packet, losses, wire, totals),
        };
        let offered = Offered { size: packet.size(), ecn: packet.ecn(), flow: packet.flow() };
        match take(now, offered, analytic, losses, wire, totals) {
            Ok(Taken { queue_time, departure, delivery, marked }) => {
                if marked {
                    packet.set_ce();
                }
                packet.set_departure(departure);
                wire.store(delivery, packet);
                Ok(Admitted { queue_time: Some(queue_time) })
            }
            Err(reason) => Err(Dropped { packet, reason }),
        }
    }

    /// Like [`Link::push`] for a packet that the caller keeps, so that it is never popped. Returns
    /// the reason if it is dropped.
    ///
    /// Returns `None` if an AQM decides at departure, or if the link may reorder, damage or copy
    /// packets, or keeps order only within flows. Then use [`Link::push`].
    #[inline(always)]
    pub fn transit(&mut self, now: Time, size: u32, ecn: Ecn) -> Option<Result<Transit, DropReason>> {
        if !self.wire.is_plain() {
            return None;
        }
        let latest = clock(self.now, now);
        let Self { queue: Queue::Analytic(analytic), losses, wire, totals, now, .. } = self else {
            return None;
        };
        *now = latest;
        let now = latest;
        let ecn = if self.bleach { Ecn::NotEct } else { ecn };
        // The order of the link's packets does not depend on their flows.
        let taken = take(now, Offered { size, ecn, flow: 0 }, analytic, losses, wire, totals);
        Some(taken.map(|Taken { queue_time, delivery, marked, .. }| {
            wire.count_delivered(now, &mut totals.delivered);
            wire.transit(delivery, size);
            Transit { queue_time, delivery, ecn: if marked { Ecn::Ce } else { ecn } }
        }))
    }

    /// Returns the time of the next event: a packet is delivered, or one departs and the queue
    /// moves on. Returns `None` if nothing is stored, or nothing ever leaves.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        let delivery = self.wire.next();
        match &self.queue {
            Queue::Analytic(_) => delivery,
            Queue::EventDriven(events) => [events.next(), delivery].into_iter().flatten().min(),
        }
    }

    /// Returns the next packet if it is due by `now`. Call until `None`.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<P> {
        if let Queue::EventDriven(_) = self.queue {
            self.advance(now);
        }
        let packet = self.wire.pop(now)?;
        self.totals.delivered.add(packet.size());
        Some(packet)
    }

    /// Returns the next outcome of a packet that [`Link::push`] admitted without knowing its
    /// departure, in order of the decisions. Outcomes accumulate: call this until `None` after each
    /// push and pop.
    #[inline]
    pub fn next_outcome(&mut self) -> Option<PacketOutcome<P>> {
        match &mut self.queue {
            Queue::Analytic(_) => None,
            Queue::EventDriven(events) => events.outcomes.pop_front(),
        }
    }

    /// Returns the packets and bytes queued or in transmission, without those in propagation. The
    /// packet in transmission counts in full.
    pub fn backlog(&mut self, now: Time) -> Backlog {
        let now = self.advance(now);
        match &mut self.queue {
            Queue::Analytic(analytic) => analytic.queue.drain(now),
            Queue::EventDriven(events) => events.gauge.held(),
        }
    }

    /// Returns the counters up to `now`.
    pub fn counters(&mut self, now: Time) -> Counters {
        let now = self.advance(now);
        self.wire.count_delivered(now, &mut self.totals.delivered);
        let gauge = match &mut self.queue {
            Queue::Analytic(analytic) => analytic.queue.gauge(now),
            Queue::EventDriven(events) => &mut events.gauge,
        };
        let integral = gauge.integral(now);
        let faults = self.wire.faults.as_ref().map(|faults| (faults.corrupted, faults.duplicated));
        self.totals.counters(gauge, integral, faults.unwrap_or_default())
    }

    #[inline]
    fn advance(&mut self, now: Time) -> Time {
        self.now = clock(self.now, now);
        if let Queue::EventDriven(events) = &mut self.queue {
            events.run(self.now, &mut self.wire, &mut self.totals);
        }
        self.now
    }
}

/// Properties of a packet that a link needs before it admits the packet.
struct Offered {
    size: u32,
    ecn: Ecn,
    flow: u32,
}

/// Packet admitted to a queue whose departures are known.
struct Taken {
    queue_time: QueueTime,
    departure: Time,
    delivery: Time,
    marked: bool,
}

/// Offers a packet to a queue whose departures are known.
#[inline(always)]
fn take<P: Packet>(
    now: Time,
    Offered { size, ecn, flow }: Offered,
    analytic: &mut Analytic,
    losses: &mut Losses,
    wire: &mut Wire<P>,
    totals: &mut Totals,
) -> Result<Taken, DropReason> {
    wire.server.advance(now);
    let counted = analytic.drain(now);
    let verdict = match wire.drop_reason(now, size, losses) {
        None => analytic.verdict(now, counted, size, ecn, &wire.server),
        Some(lost) => Verdict::Drop(lost),
    };
    let marked = verdict == Verdict::Mark;
    if let Verdict::Drop(reason) = verdict {
        totals.drop_at_arrival(size, reason);
        return Err(reason);
    }
    if marked {
        totals.marked.add(size);
    }
    totals.admitted.add(size);
    let departure = wire.server.depart(size);
    let delivery = wire.deliver(&departure, flow);
    let queue_time = analytic.admit(now, &departure, delivery, size);
    Ok(Taken { queue_time, departure: departure.at, delivery, marked })
}

/// Returns the effective time: not before the latest seen, and before the end of time.
#[inline]
fn clock(latest: Time, now: Time) -> Time {
    latest.max(now.min(Time(u64::MAX - 1)))
}

#[cfg(test)]
mod managed_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trace_tests;
