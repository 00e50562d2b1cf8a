//! Idle timeout of a QUIC connection (RFC 9000 section 10.1).

use units::{Duration, Time};

/// Minimum idle timeout, in PTOs.
const PTOS: u64 = 3;

/// Closes the connection silently when nothing was received for too long.
#[derive(Clone, Copy, Debug)]
pub struct IdleTimer {
    /// The shorter of the timeouts declared by the two ends; `None` if neither declared one.
    timeout: Option<Duration>,
    since: Time,
    /// Whether an ACK-eliciting packet was sent since the last packet was received.
    asked: bool,
}

impl IdleTimer {
    /// Creates the timer from this end's `max_idle_timeout`; `None` disables it.
    pub const fn new(now: Time, local: Option<Duration>) -> Self {
        Self { timeout: local, since: now, asked: false }
    }

    /// Sets the peer's `max_idle_timeout`; `None` if it is 0 or absent. The shorter timeout
    /// applies.
    pub fn on_peer(&mut self, remote: Option<Duration>) {
        self.timeout = match (self.timeout, remote) {
            (Some(local), Some(remote)) => Some(local.min(remote)),
            (local, remote) => local.or(remote),
        };
    }

    /// Returns the effective timeout.
    pub const fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Restarts the timer when a packet from the peer was processed.
    pub const fn on_received(&mut self, now: Time) {
        (self.since, self.asked) = (now, false);
    }

    /// Restarts the timer when an ACK-eliciting packet is sent. Only the first since the last
    /// received packet counts, so that sending to a dead peer ends.
    pub const fn on_sent(&mut self, now: Time) {
        if !self.asked {
            (self.since, self.asked) = (now, true);
        }
    }

    /// Returns the time at which the connection is closed, given the current PTO. [`Time::NEVER`]
    /// without a timeout.
    pub fn deadline(&self, pto: Duration) -> Time {
        self.timeout.map_or(Time::NEVER, |timeout| self.since + timeout.max(pto * PTOS))
    }
}
