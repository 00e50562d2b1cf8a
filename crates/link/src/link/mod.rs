//! A link: bleaching, loss, a queue with its limit and management, a server, a delay, damage and copies.
//!
//! One face, [`Link::push`], [`Link::next`], [`Link::pop`], and two compositions behind it:
//!
//! | composition | queue | a packet is handled | [`Link::next`] |
//! |---|---|---|---|
//! | `analytic.rs` | drop-tail, RED | twice: `push` works out its delivery, `pop` hands it over | the next delivery |
//! | `event_driven.rs` | CoDel, FQ-CoDel, PIE, DualPI2 | three times: also when its transmission begins | the next departure or delivery |
//!
//! The first assumes that the departure from a FIFO is known at arrival, and that the decision about a packet falls there
//! too. In the second a departure is an event: it takes the next packet out of the queue discipline, which may drop
//! some on the way. What `push` cannot say then, [`Link::fate`] tells afterwards. Updates on a timer (PIE, DualPI2) are
//! no events: the discipline catches up with them before the next packet.
//!
//! Both stand before the same server and delay (`wire.rs`). The driver keeps one event per link, that of
//! [`Link::next`], and calls [`Link::pop`] until `None` when it is due; there need not be a packet each time. A driver that keeps its packets
//! itself has no events of an analytic link at all ([`Link::carry`]).

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
use crate::config::LinkConfig;
use crate::counters::{Admitted, Carried, Counters, DropReason, Dropped, Fate, Stay, Tallies};
use crate::faults::Faults;
use crate::loss::Losses;
use crate::packet::Packet;
use crate::rate::Server;

#[derive(Debug)]
// One per link, and the large one is the fast one: no detour to it.
#[allow(clippy::large_enum_variant)]
enum Queue<P> {
    Analytic(Analytic),
    EventDriven(Box<EventDriven<P>>),
}

/// One direction of a link. Time must not run backwards: an earlier `now` counts as the latest one seen.
#[derive(Debug)]
pub struct Link<P> {
    bleach: bool,
    losses: Losses,
    queue: Queue<P>,
    wire: Wire<P>,
    now: Time,
    tallies: Tallies,
}

impl<P: Packet> Link<P> {
    /// An empty link. Its random streams are named after `name`: `<name>.loss`, `<name>.jitter`, `<name>.slots`,
    /// `<name>.aqm`, `<name>.corrupt`, `<name>.duplicate`, `<name>.bits`.
    pub fn new(config: &LinkConfig, rng_seed: u64, name: &str) -> Self {
        let stream = |element: &str| Rng::stream(rng_seed, &format!("{name}.{element}"));
        let server = Server::new(&config.rate, config.burst, stream("slots"));
        let queue = match Discipline::new(config, stream("aqm")) {
            Some(discipline) => Queue::EventDriven(Box::new(EventDriven::new(discipline, config.burst))),
            None => Queue::Analytic(Analytic::new(config, stream("aqm"))),
        };
        Self {
            bleach: config.bleach,
            losses: Losses::new(config, stream("loss")),
            queue,
            wire: Wire::new(server, config.propagation(stream("jitter")), Faults::new(config, stream)),
            now: Time::ZERO,
            tallies: Tallies::default(),
        }
    }

    /// A packet arrives. Packets that depart or are delivered at this very time have already made room.
    ///
    /// # Errors
    /// The packet and the reason it was dropped.
    #[inline(always)]
    pub fn push(&mut self, now: Time, mut packet: P) -> Result<Admitted, Dropped<P>> {
        if self.bleach {
            packet.set_ecn(Ecn::NotEct);
        }
        self.now = clock(self.now, now);
        let now = self.now;
        let Self { queue, losses, wire, tallies, .. } = self;
        let analytic = match queue {
            Queue::Analytic(analytic) => analytic,
            Queue::EventDriven(events) => return events.arrive(now, packet, losses, wire, tallies),
        };
        match take(now, packet.size(), packet.ecn(), analytic, losses, wire, tallies) {
            Ok(Taken { stay, departure, delivery, marked }) => {
                if marked {
                    packet.set_ce();
                }
                packet.set_departure(departure);
                wire.store(delivery, packet);
                Ok(Admitted { stay: Some(stay) })
            }
            Err(reason) => Err(Dropped { packet, reason }),
        }
    }

    /// The same for a packet that stays with who brings it, and is never popped; or why it was dropped. `None` where an AQM decides about its departure,
    /// where it may be delivered before others, or where the link changes more of it than its mark: [`Link::push`] it.
    #[inline(always)]
    pub fn carry(&mut self, now: Time, size: u32, ecn: Ecn) -> Option<Result<Carried, DropReason>> {
        if !self.wire.is_plain() {
            return None;
        }
        let latest = clock(self.now, now);
        let Self { queue: Queue::Analytic(analytic), losses, wire, tallies, now, .. } = self else {
            return None;
        };
        *now = latest;
        let now = latest;
        let ecn = if self.bleach { Ecn::NotEct } else { ecn };
        let taken = take(now, size, ecn, analytic, losses, wire, tallies);
        Some(taken.map(|Taken { stay, delivery, marked, .. }| {
            wire.settle(now, &mut tallies.delivered);
            wire.carry(delivery, size);
            Carried { stay, delivery, ecn: if marked { Ecn::Ce } else { ecn } }
        }))
    }

    /// When the link must be looked at next: a packet is delivered, or one departs and the queue moves on. Nothing
    /// stored, or nothing that ever leaves: `None`.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        let delivery = self.wire.next();
        match &self.queue {
            Queue::Analytic(_) => delivery,
            Queue::EventDriven(events) => [events.next(), delivery].into_iter().flatten().min(),
        }
    }

    /// The next packet, if it is due by now. Call until `None`.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<P> {
        if let Queue::EventDriven(_) = self.queue {
            self.advance(now);
        }
        let packet = self.wire.pop(now)?;
        self.tallies.delivered.add(packet.size());
        if self.wire.doubles() && packet.is_copy() {
            self.tallies.copies.add(packet.size());
        }
        Some(packet)
    }

    /// What became of packets that [`Link::push`] took without knowing their departure, in the order in which it was
    /// decided. They pile up until asked for: after each push and pop, call until `None`.
    #[inline]
    pub fn fate(&mut self) -> Option<Fate<P>> {
        match &mut self.queue {
            Queue::Analytic(_) => None,
            Queue::EventDriven(events) => events.fates.pop_front(),
        }
    }

    /// Packets and bytes queued or in transmission (the latter whole), not those in propagation.
    pub fn backlog(&mut self, now: Time) -> Backlog {
        let now = self.advance(now);
        match &mut self.queue {
            Queue::Analytic(analytic) => analytic.queue.drain(now),
            Queue::EventDriven(events) => events.gauge.held(),
        }
    }

    /// What happened up to now.
    pub fn counters(&mut self, now: Time) -> Counters {
        let now = self.advance(now);
        self.wire.settle(now, &mut self.tallies.delivered);
        let gauge = match &mut self.queue {
            Queue::Analytic(analytic) => analytic.queue.gauge(now),
            Queue::EventDriven(events) => &mut events.gauge,
        };
        let integral = gauge.integral(now);
        let faults = self.wire.faults.as_ref().map(|faults| (faults.corrupted, faults.duplicated));
        self.tallies.with(gauge, integral, faults.unwrap_or_default())
    }

    #[inline]
    fn advance(&mut self, now: Time) -> Time {
        self.now = clock(self.now, now);
        if let Queue::EventDriven(events) = &mut self.queue {
            events.run(self.now, &mut self.wire, &mut self.tallies);
        }
        self.now
    }
}

/// A packet is taken at a queue whose departures are known.
struct Taken {
    stay: Stay,
    departure: Time,
    delivery: Time,
    /// It is to be marked.
    marked: bool,
}

/// What becomes of a packet at a queue whose departures are known.
#[inline(always)]
fn take<P: Packet>(
    now: Time,
    size: u32,
    ecn: Ecn,
    analytic: &mut Analytic,
    losses: &mut Losses,
    wire: &mut Wire<P>,
    tallies: &mut Tallies,
) -> Result<Taken, DropReason> {
    wire.server.advance(now);
    let counted = analytic.drain(now);
    let verdict = match wire.refuses(now, losses) {
        None => analytic.verdict(now, counted, size, ecn, wire.server.rate()),
        Some(lost) => Verdict::Drop(lost),
    };
    let marked = verdict == Verdict::Mark;
    if let Verdict::Drop(reason) = verdict {
        tallies.refuse(size, reason);
        return Err(reason);
    }
    if marked {
        tallies.marked.add(size);
    }
    tallies.admitted.add(size);
    let departure = wire.server.depart(size);
    let delivery = wire.deliver(&departure);
    let stay = analytic.admit(now, departure.at, delivery, size);
    Ok(Taken { stay, departure: departure.at, delivery, marked })
}

/// The time that counts: not before the latest seen, and before the end of time.
#[inline]
fn clock(latest: Time, now: Time) -> Time {
    latest.max(now.min(Time(u64::MAX - 1)))
}

#[cfg(test)]
mod managed_tests;
#[cfg(test)]
mod tests;
