//! A FIFO whose departures are known at arrival: drop-tail and RED.

use units::{Bytes, Ecn, Rng, Time};

use crate::aqm::Aqm;
use crate::aqm::red::{Red, Verdict};
use crate::backlog::{Count, Occupancy};
use crate::config::LinkConfig;
use crate::counters::{DropReason, QueueTime};
use crate::departure::Departure;
use crate::limit::{Capacity, LimitCounts};
use crate::rate::Server;
use crate::steps::Stepper;

/// Queue before the server.
#[derive(Debug)]
pub(crate) struct Analytic {
    capacity: Stepper<Capacity>,
    /// Packets until departure.
    pub(crate) queue: Occupancy,
    /// Packets that count towards the limit, if not those behind the first of the queue: until
    /// delivery if the limit counts those, or until a chance serves their first byte or their
    /// aggregate begins.
    window: Option<Occupancy>,
    /// Whether packets are in the window until delivery.
    until_delivery: bool,
    /// Whether the first packet of the queue is in transmission rather than waiting for tokens.
    transmits: bool,
    /// Departure of the last packet taken.
    free_at: Time,
    red: Option<Box<Red>>,
}

impl Analytic {
    pub(crate) fn new(config: &LinkConfig, rng: Rng) -> Self {
        let red = match &config.aqm {
            Aqm::Red(params) => Some(Box::new(Red::new(params, config.limit, rng))),
            _ => None,
        };
        let until_delivery = config.limit_counts == LimitCounts::QueueAndDelay;
        Self {
            capacity: config.capacity(),
            queue: Occupancy::default(),
            window: (until_delivery || config.rate.is_gated()).then(Occupancy::default),
            until_delivery,
            transmits: config.burst == Bytes(0),
            free_at: Time::ZERO,
            red,
        }
    }

    /// Advances to `now`. Returns the packets that count towards the limit.
    #[inline]
    pub(crate) fn drain(&mut self, now: Time) -> Count {
        match &mut self.window {
            None if self.transmits => self.queue.behind_first(now),
            None => self.queue.drain(now),
            Some(window) => {
                self.queue.drain(now);
                window.drain(now)
            }
        }
    }

    /// Decides about a packet that arrives while `counted` packets count towards the limit. A
    /// packet that finds its tokens does not wait, so it passes even a queue of nothing: a policer.
    #[inline]
    pub(crate) fn verdict(
        &mut self,
        now: Time,
        counted: Count,
        size: u32,
        ecn: Ecn,
        server: &Server,
    ) -> Verdict {
        let waits = self.transmits || self.window.is_some() || counted.packets > 0;
        let passes = || !waits && server.has_tokens(size);
        let fits = self.capacity.at(now).admits(counted, size) || passes();
        // RED averages over every arrival, even one that does not fit.
        let managed = match &mut self.red {
            Some(red) => red.verdict(now, counted, size, ecn, server.rate()),
            None => Verdict::Pass,
        };
        if fits { managed } else { Verdict::Drop(DropReason::QueueFull) }
    }

    /// Takes a packet. Returns its time in the queue.
    #[inline]
    pub(crate) fn admit(&mut self, now: Time, departure: &Departure, delivery: Time, size: u32) -> QueueTime {
        let free_at = std::mem::replace(&mut self.free_at, departure.at);
        let begins = departure.begins.unwrap_or(free_at);
        self.queue.admit(now, departure.at, size);
        if let Some(window) = &mut self.window {
            window.admit(now, if self.until_delivery { delivery } else { begins }, size);
        }
        if let Some(red) = &mut self.red {
            red.on_taken(departure.at);
        }
        let total = departure.at - now;
        QueueTime { wait: if self.transmits { begins - now } else { total }, total }
    }
}
