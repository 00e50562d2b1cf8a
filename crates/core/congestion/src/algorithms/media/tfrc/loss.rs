//! Loss events, RFC 5348 sections 5.1 to 5.4.

use crate::components::loss_intervals::LossIntervals;
use units::{Duration, Time};

/// Loss events of one connection, found at the sender.
#[derive(Clone, Debug, Default)]
pub(super) struct LossEvents {
    /// Packet number and sending time of the first packet of the last event.
    last: Option<(u64, Time)>,
    /// Largest acknowledged packet number.
    newest: u64,
    closed: LossIntervals,
    /// Whether an event has begun since the last feedback.
    pub(super) fresh: bool,
}

impl LossEvents {
    pub(super) fn on_acked(&mut self, pn: u64) {
        self.newest = self.newest.max(pn);
    }

    /// Reports whether the last event covers a packet sent at this time.
    pub(super) fn covers(&self, sent: Time, rtt: Duration) -> bool {
        self.last.is_some_and(|(_, begin)| sent <= begin + rtt)
    }

    /// Begins an event with this packet. `first` is the interval before the first event, in
    /// packets.
    pub(super) fn begin(&mut self, pn: u64, sent: Time, first: f64) {
        let closed = self.last.map_or(first, |(begin, _)| pn.saturating_sub(begin) as f64);
        self.closed.push(closed.max(1.0));
        (self.last, self.fresh) = (Some((pn, sent)), true);
    }

    /// Returns the loss event rate p, 0 before the first event.
    pub(super) fn rate(&self) -> f64 {
        let open = self.last.map_or(0, |(begin, _)| (self.newest + 1).saturating_sub(begin));
        self.closed.mean(open as f64).map_or(0.0, |mean| 1.0 / mean.max(1.0))
    }
}
