//! Timers of a connection.

use units::{Duration, Rate, Time};

use crate::connection::event::Ended;
use crate::connection::state::Connection;
use crate::connection::tap::Observation;

impl Connection {
    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout), or [`Time::NEVER`].
    pub fn poll_timeout(&self) -> Time {
        if !self.lifecycle.is_open() {
            return self.lifecycle.timer();
        }
        // ACKs that are already due only wait for `poll_transmit`.
        let acks =
            self.spaces.iter().filter(|space| !space.ack_now).filter_map(|space| space.receiver.timer());
        let first = acks.chain(self.loss.timer()).min().unwrap_or(Time::NEVER);
        first.min(self.idle.deadline(self.loss.pto())).min(self.paths.timer())
    }

    /// Processes timers that are due. Afterwards `poll_transmit` may have something to send.
    pub fn handle_timeout(&mut self, now: Time) {
        self.lifecycle.on_timer(now);
        if !self.lifecycle.is_open() {
            return;
        }
        if self.idle.deadline(self.loss.pto()) <= now {
            return self.give_up(Ended::Idle);
        }
        self.on_path_timer(now);
        for space in &mut self.spaces {
            space.ack_now |= space.receiver.timer().is_some_and(|due| due <= now);
        }
        if self.loss.sender.next_timer().is_some_and(|due| due <= now) {
            self.on_loss_timer(now);
        }
    }

    pub(super) fn observe(&mut self, now: Time, what: &Observation<'_>) {
        if let Some(tap) = &mut self.tap {
            tap.on(now, what);
        }
    }

    /// Observes an update of 1-RTT keys since this generation.
    pub(super) fn observe_keys(&mut self, now: Time, before: u64) {
        let generation = self.keys.generation();
        if generation != before {
            self.observe(now, &Observation::Keys(generation));
        }
    }

    pub(super) fn observe_metrics(&mut self, now: Time, latest_rtt: Option<Duration>) {
        if self.tap.is_none() {
            return;
        }
        let sender = &self.loss.sender;
        let control = sender.control();
        let metrics = Observation::Metrics {
            cwnd: control.cwnd,
            bytes_in_flight: sender.bytes_in_flight(),
            smoothed_rtt: sender.rtt().smoothed(),
            latest_rtt,
            pacing_rate: control.pacing_rate.map(Rate::bytes_per_sec),
        };
        self.observe(now, &metrics);
    }
}
