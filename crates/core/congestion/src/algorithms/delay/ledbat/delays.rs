//! base_delays and current_delays, RFC 6817 section 2.4.2.

use crate::AckedPacket;
use alloc::collections::VecDeque;
use units::{Duration, Time};

/// base_delays and current_delays. Delays are in nanoseconds and include the clock offset.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    pub(super) base_history: usize,
    pub(super) base_interval: Duration,
    pub(super) current_filter: usize,
    pub(super) base: VecDeque<i64>,
    /// Number of the interval of the last base delay.
    pub(super) interval: u64,
    pub(super) current: VecDeque<(Time, i64)>,
}

impl Delays {
    pub(super) fn on_packet(&mut self, now: Time, packet: &AckedPacket) {
        let Some(received) = packet.received else { return };
        let delay = received.saturating_sub(i64::try_from(packet.sent.0).unwrap_or(i64::MAX));
        let interval = now.0 / self.base_interval.0.max(1);
        match self.base.back_mut() {
            Some(base) if interval == self.interval => *base = delay.min(*base),
            _ => {
                self.base.push_back(delay);
                self.interval = interval;
            }
        }
        while self.base.len() > self.base_history.max(1) {
            self.base.pop_front();
        }
        self.current.push_back((now, delay));
        while self.current.len() > self.current_filter.max(1) {
            self.current.pop_front();
        }
    }

    /// Drops samples older than a round trip, but keeps the last one.
    pub(super) fn forget(&mut self, now: Time, rtt: Duration) {
        while self.current.len() > 1 && self.current.front().is_some_and(|&(then, _)| now - then > rtt) {
            self.current.pop_front();
        }
    }

    pub(super) fn queuing(&self) -> Option<i64> {
        let current = self.current.iter().map(|&(_, delay)| delay).min()?;
        Some(current.saturating_sub(self.base.iter().copied().min()?).max(0))
    }
}
