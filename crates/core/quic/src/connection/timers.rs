//! Timers of a connection.

use units::{Duration, Rate, Time};

use crate::connection::event::Ended;
use crate::connection::state::Connection;
use crate::connection::tap::Observation;

impl Connection {
    /// Returns the current probe timeout, without backoff (RFC 9002 section 6.2.1).
    pub(super) fn pto(&self) -> Duration {
        debug_assert_eq!(self.probe_timeout, self.sender.timers().pto, "computed whenever it changes");
        self.probe_timeout
    }

    /// Updates the cached probe timeout, which is read several times per packet. Call this when the
    /// RTT or the peer's `max_ack_delay` changes.
    pub(super) fn compute_pto(&mut self) {
        self.probe_timeout = self.sender.timers().pto;
    }

    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout), or [`Time::NEVER`].
    pub fn poll_timeout(&self) -> Time {
        if !self.lifecycle.is_open() {
            return self.lifecycle.timer();
        }
        // ACKs that are already due only wait for `poll_transmit`.
        let acks =
            self.spaces.iter().filter(|space| !space.ack_now).filter_map(|space| space.receiver.timer());
        let more = [self.sender.next_timer(), self.pacing].into_iter().flatten();
        let first = acks.chain(more).min().unwrap_or(Time::NEVER);
        first.min(self.idle.deadline(self.pto())).min(self.paths.timer())
    }

    /// Processes timers that are due. Afterwards `poll_transmit` may have something to send.
    pub fn handle_timeout(&mut self, now: Time) {
        self.lifecycle.on_timer(now);
        if !self.lifecycle.is_open() {
            return;
        }
        if self.idle.deadline(self.pto()) <= now {
            return self.give_up(Ended::Idle);
        }
        self.on_path_timer(now);
        for space in &mut self.spaces {
            space.ack_now |= space.receiver.timer().is_some_and(|due| due <= now);
        }
        if self.sender.next_timer().is_some_and(|due| due <= now) {
            self.on_loss_timer(now);
        }
    }

    pub(super) fn observe(&mut self, now: Time, what: &Observation<'_>) {
        if let Some(tap) = &mut self.tap {
            tap.on(now, what);
        }
    }

    pub(super) fn observe_metrics(&mut self, now: Time, latest_rtt: Option<Duration>) {
        if self.tap.is_none() {
            return;
        }
        let control = self.sender.control();
        let metrics = Observation::Metrics {
            cwnd: control.cwnd,
            bytes_in_flight: self.sender.bytes_in_flight(),
            smoothed_rtt: self.sender.rtt().smoothed(),
            latest_rtt,
            pacing_rate: control.pacing_rate.map(Rate::bytes_per_sec),
        };
        self.observe(now, &metrics);
    }
}
