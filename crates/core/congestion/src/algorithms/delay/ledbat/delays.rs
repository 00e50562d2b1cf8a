//! base_delays and current_delays, RFC 6817 section 2.4.2.

use crate::AckedPacket;
use alloc::collections::VecDeque;
use units::{Duration, Time};

/// base_delays and current_delays. Delays are in nanoseconds. One-way delays include the clock
/// offset.
#[derive(Clone, Debug)]
pub(crate) struct Delays {
    base_history: usize,
    base_interval: Duration,
    current_filter: usize,
    pub(super) base: VecDeque<i64>,
    /// Number of the interval of the last base delay.
    interval: u64,
    current: VecDeque<(Time, i64)>,
}

impl Delays {
    pub(crate) fn new(base_history: usize, base_interval: Duration, current_filter: usize) -> Self {
        let (base, current) = (VecDeque::new(), VecDeque::new());
        Self { base_history, base_interval, current_filter, base, interval: 0, current }
    }

    pub(super) fn on_packet(&mut self, now: Time, packet: &AckedPacket) {
        let Some(received) = packet.received else { return };
        self.add(now, received.saturating_sub(i64::try_from(packet.sent.0).unwrap_or(i64::MAX)));
    }

    /// Adds a delay.
    pub(crate) fn add(&mut self, now: Time, delay: i64) {
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
    pub(crate) fn forget(&mut self, now: Time, rtt: Duration) {
        while self.current.len() > 1 && self.current.front().is_some_and(|&(then, _)| now - then > rtt) {
            self.current.pop_front();
        }
    }

    pub(crate) fn queuing(&self) -> Option<i64> {
        let current = self.current.iter().map(|&(_, delay)| delay).min()?;
        Some(current.saturating_sub(self.base_delay()?).max(0))
    }

    /// Returns the smallest of base_delays.
    pub(crate) fn base_delay(&self) -> Option<i64> {
        self.base.iter().copied().min()
    }
}
