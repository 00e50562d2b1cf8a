//! The idle timeout (RFC 9000 section 10.1).

use units::{Duration, Time};

/// The connection is not gone before so many PTO of silence.
const PTOS: u64 = 3;

/// When silence ends the connection. Nothing is sent then.
#[derive(Clone, Copy, Debug)]
pub struct IdleTimer {
    /// The shorter of what both ends have declared; none: neither has.
    timeout: Option<Duration>,
    since: Time,
    /// A packet that elicits an ACK was sent since the peer was heard.
    asked: bool,
}

impl IdleTimer {
    /// From this end's `max_idle_timeout`; none: never.
    pub const fn new(now: Time, local: Option<Duration>) -> Self {
        Self { timeout: local, since: now, asked: false }
    }

    /// The peer's `max_idle_timeout`; none when it is 0 or was not sent. The shorter one counts.
    pub fn on_peer(&mut self, remote: Option<Duration>) {
        self.timeout = match (self.timeout, remote) {
            (Some(local), Some(remote)) => Some(local.min(remote)),
            (local, remote) => local.or(remote),
        };
    }

    /// What both ends have agreed on.
    pub const fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// A packet of the peer was opened and processed.
    pub const fn on_received(&mut self, now: Time) {
        (self.since, self.asked) = (now, false);
    }

    /// A packet that elicits an ACK leaves. Only the first since the peer was heard counts: who talks to nobody shall not go on for ever.
    pub const fn on_sent(&mut self, now: Time) {
        if !self.asked {
            (self.since, self.asked) = (now, true);
        }
    }

    /// When the connection is gone, at the present PTO; never without a timeout.
    pub fn deadline(&self, pto: Duration) -> Time {
        self.timeout.map_or(Time::NEVER, |timeout| self.since + timeout.max(pto * PTOS))
    }
}
