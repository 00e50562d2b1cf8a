//! A link: loss, a drop-tail queue, a server, a delay.
//!
//! The departure of a drop-tail FIFO is known at arrival, so a packet is handled twice only: [`Link::push`] works out
//! its delivery, [`Link::pop`] hands it over. The driver keeps one event per link, that of [`Link::next`].

use std::collections::VecDeque;

use congestion::{Bytes, Duration, Rate, Rng, Time};
use serde::{Deserialize, Serialize};

use crate::Packet;
use crate::backlog::{Backlog, Occupancy, Tally, insert};
use crate::delay::{Propagation, Reorder};
use crate::limit::{Ceiling, Limit, LimitCounts};
use crate::loss::Bernoulli;
use crate::rate::{RateModel, Server};

/// A link in the words of an experiment file. Only the rate is required; what is left out is not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkConfig {
    /// How fast, and when.
    pub rate: RateModel,
    /// Depth of the token bucket, initially full; 0 (default): a plain serialiser. At least a packet, or the packet
    /// waits for what the bucket lacks.
    #[serde(default)]
    pub burst: Bytes,
    /// What the queue may hold; default unlimited.
    #[serde(default = "LinkConfig::default_limit")]
    pub limit: Limit,
    /// Which packets count towards the limit; default those in the queue.
    #[serde(default)]
    pub limit_counts: LimitCounts,
    /// Propagation delay, one way; default none.
    #[serde(default)]
    pub delay: Duration,
    /// Upper end of the uniform extra delay, which keeps order; default none.
    #[serde(default)]
    pub jitter: Duration,
    /// Packets that arrive early on purpose; default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Reorder>,
    /// Probability 0..=1 that a packet is lost before the queue; default 0.
    #[serde(default)]
    pub loss: f64,
}

impl LinkConfig {
    /// A serialiser at a constant rate with an unlimited queue and no delay.
    pub fn plain(rate: Rate) -> Self {
        Self {
            rate: RateModel::Constant(rate),
            burst: Bytes(0),
            limit: Limit::Unlimited,
            limit_counts: LimitCounts::Queue,
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            reorder: None,
            loss: 0.0,
        }
    }

    /// Says in words which value is out of range. [`Link::new`] itself takes anything and never panics.
    ///
    /// # Errors
    /// The first rule that does not hold, with the key's name.
    pub fn check(&self) -> Result<(), String> {
        if !(0.0..=1.0).contains(&self.loss) {
            return Err(format!("`loss` is {}, not a probability from 0 to 1", self.loss));
        }
        match self.reorder {
            Some(Reorder { every: 0, .. }) => return Err("`reorder.every` is 0, not at least 1".to_owned()),
            Some(Reorder { by, .. }) if by > self.delay => {
                return Err(format!("`reorder.by` is {by}, more than the `delay` of {}", self.delay));
            }
            _ => {}
        }
        self.rate.check()
    }

    fn default_limit() -> Limit {
        Limit::Unlimited
    }
}

/// The packet was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// From arrival to departure, its own transmission included, propagation not. At rate zero: centuries.
    pub queue_delay: Duration,
}

/// The packet was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped<P> {
    /// The packet, back in the caller's hands.
    pub packet: P,
    /// Why.
    pub reason: DropReason,
}

/// Why a packet was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// It would have exceeded the limit.
    QueueFull,
    /// Random loss.
    Random,
    /// It arrived during the outage at a slot boundary.
    Outage,
}

/// What happened on a link since the start. Packets still stored are `admitted - delivered`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Offered: admitted and dropped.
    pub pushed: Tally,
    /// Taken.
    pub admitted: Tally,
    /// Dropped because the queue was full.
    pub dropped_full: Tally,
    /// Dropped at random.
    pub dropped_random: Tally,
    /// Dropped in an outage.
    pub dropped_outage: Tally,
    /// Popped.
    pub delivered: Tally,
    /// Sum over the packets departed so far of the time from arrival to departure, ns.
    pub sojourn: u128,
    /// Packets of the backlog integrated over time, packet-ns. Equals `sojourn` whenever the queue is empty
    /// (Little's law).
    pub backlog_integral: u128,
    /// Most packets and most bytes in the backlog, each at its own moment.
    pub max_backlog: Backlog,
}

impl Counters {
    /// All drops, whatever the reason.
    pub fn dropped(&self) -> Tally {
        self.dropped_full + self.dropped_random + self.dropped_outage
    }
}

#[derive(Debug)]
struct Stored<P> {
    delivery: Time,
    packet: P,
}

/// One direction of a link. Time must not run backwards: an earlier `now` counts as the latest one seen.
#[derive(Debug)]
pub struct Link<P> {
    loss: Bernoulli,
    ceiling: Ceiling,
    server: Server,
    propagation: Propagation,
    /// Until departure.
    queue: Occupancy,
    /// Until delivery, when that is what the limit counts.
    window: Option<Occupancy>,
    /// Until popped, earliest delivery first.
    stored: VecDeque<Stored<P>>,
    now: Time,
    admitted: Tally,
    delivered: Tally,
    dropped: [Tally; 3],
}

impl<P: Packet> Link<P> {
    /// An empty link. Its random streams are named after `name`: `<name>.loss`, `<name>.jitter`, `<name>.slots`.
    pub fn new(config: &LinkConfig, rng_seed: u64, name: &str) -> Self {
        let stream = |element: &str| Rng::stream(rng_seed, &format!("{name}.{element}"));
        let LinkConfig { delay, jitter, reorder, .. } = *config;
        Self {
            loss: Bernoulli::new(config.loss, stream("loss")),
            ceiling: Ceiling::from(config.limit),
            server: Server::new(&config.rate, config.burst, stream("slots")),
            propagation: Propagation::new(delay, jitter, reorder, stream("jitter")),
            queue: Occupancy::default(),
            window: (config.limit_counts == LimitCounts::QueueAndDelay).then(Occupancy::default),
            stored: VecDeque::new(),
            now: Time::ZERO,
            admitted: Tally::default(),
            delivered: Tally::default(),
            dropped: [Tally::default(); 3],
        }
    }

    /// A packet arrives. Packets that depart or are delivered at this very time have already made room.
    ///
    /// # Errors
    /// The packet and the reason it was dropped.
    #[inline]
    pub fn push(&mut self, now: Time, packet: P) -> Result<Admitted, Dropped<P>> {
        let now = self.advance(now);
        let size = packet.size();
        if let Some(reason) = self.refusal(now, size) {
            self.dropped[reason as usize].add(size);
            return Err(Dropped { packet, reason });
        }
        self.admitted.add(size);
        let departure = self.server.depart(size);
        let delivery = self.propagation.deliver(departure.at, departure.extra_delay);
        self.queue.admit(now, departure.at, size);
        if let Some(window) = &mut self.window {
            window.admit(now, delivery, size);
        }
        insert(&mut self.stored, Stored { delivery, packet }, |s| s.delivery);
        Ok(Admitted { queue_delay: departure.at - now })
    }

    /// When the next packet is delivered; nothing stored, or nothing that ever leaves: `None`.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.stored.front().map(|s| s.delivery).filter(|&delivery| delivery != Time::NEVER)
    }

    /// The next packet, if it is due by now. Call until `None`.
    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<P> {
        self.next().filter(|&delivery| delivery <= now)?;
        let packet = self.stored.pop_front()?.packet;
        self.delivered.add(packet.size());
        Some(packet)
    }

    /// Packets and bytes queued or in transmission (the latter whole), not those in propagation.
    pub fn backlog(&mut self, now: Time) -> Backlog {
        let now = self.advance(now);
        self.queue.drain(now)
    }

    /// What happened up to now.
    pub fn counters(&mut self, now: Time) -> Counters {
        let now = self.advance(now);
        let backlog_integral = self.queue.integral(now);
        let [dropped_full, dropped_random, dropped_outage] = self.dropped;
        Counters {
            pushed: self.admitted + dropped_full + dropped_random + dropped_outage,
            admitted: self.admitted,
            dropped_full,
            dropped_random,
            dropped_outage,
            delivered: self.delivered,
            sojourn: self.queue.sojourn(),
            backlog_integral,
            max_backlog: self.queue.max(),
        }
    }

    /// The time that counts: not before the latest seen, and before the end of time.
    #[inline]
    fn advance(&mut self, now: Time) -> Time {
        self.now = self.now.max(now.min(Time(u64::MAX - 1)));
        self.now
    }

    /// Every arriving packet draws its loss, so that a fuller queue shifts nobody's dice.
    #[inline]
    fn refusal(&mut self, now: Time, size: u32) -> Option<DropReason> {
        self.server.advance(now);
        let mut held = self.queue.drain(now);
        if let Some(window) = &mut self.window {
            held = window.drain(now);
        }
        if self.loss.loses() {
            Some(DropReason::Random)
        } else if self.server.is_out() {
            Some(DropReason::Outage)
        } else if !self.ceiling.admits(held, size) {
            Some(DropReason::QueueFull)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests;
