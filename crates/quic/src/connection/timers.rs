//! When something is due.

use units::{Duration, Rate, Time};

use crate::connection::event::Ended;
use crate::connection::state::Connection;
use crate::connection::tap::Observation;

impl Connection {
    /// The probe timeout of now, without backoff (RFC 9002 section 6.2.1).
    pub(super) fn pto(&self) -> Duration {
        debug_assert_eq!(self.probe_timeout, self.sender.timers().pto, "computed whenever it changes");
        self.probe_timeout
    }

    /// To be called when the RTT or the peer's `max_ack_delay` has changed: the probe timeout is asked for several times a packet.
    pub(super) fn compute_pto(&mut self) {
        self.probe_timeout = self.sender.timers().pto;
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called; never while nothing is due.
    pub fn poll_timeout(&self) -> Time {
        if !self.lifecycle.is_open() {
            return self.lifecycle.timer();
        }
        // What is due already waits for `poll_transmit` alone.
        let acks =
            self.spaces.iter().filter(|space| !space.ack_now).filter_map(|space| space.receiver.timer());
        let more = [self.sender.next_timer(), self.pacing].into_iter().flatten();
        let first = acks.chain(more).min().unwrap_or(Time::NEVER);
        first.min(self.idle.deadline(self.pto())).min(self.paths.timer())
    }

    /// The time has come. Afterwards `poll_transmit` may have something.
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
