//! Between a stack's trait and [`ControllerFeed`], what both stacks have in common.
//!
//! Both say that an ACK is complete before they say which losses and marks it revealed, with the same time; a controller is to hear of those
//! first. So an ACK stays open until the stack asks for the window, sends, or goes on to something else.

use std::time::Instant;

use recovery::congestion::{Cause, Control, Controller, Detection, PathInfo};
use recovery::feed::{ControllerFeed, RttEstimate};
use recovery::units::{Duration, Time};

use crate::flying::{Flying, Packet};

/// What both stacks have in common.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    feed: ControllerFeed,
    path: PathInfo,
    /// When the controller's time began.
    epoch: Instant,
    flying: Flying,
    /// The newest packet known to have arrived, by its serial.
    newest: Option<u64>,
    rtt: RttEstimate,
    open: Option<Open>,
}

/// An ACK whose losses and marks may come yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    now: Time,
    marked: bool,
}

impl Ledger {
    /// Nothing sent yet.
    pub(crate) fn new(controller: Box<dyn Controller>, path: PathInfo, epoch: Instant) -> Self {
        Self {
            feed: ControllerFeed::new(controller),
            path,
            epoch,
            flying: Flying::default(),
            newest: None,
            rtt: RttEstimate { latest: None, min: Duration::MAX, smoothed: Duration::ZERO },
            open: None,
        }
    }

    /// For another path that begins where this one is (a peer's address that changed): nothing of it in flight.
    pub(crate) fn for_another_path(&self) -> Self {
        let mut other = self.clone();
        other.settle();
        let Self { feed, flying, .. } = &mut other;
        flying.clear().for_each(|serial| feed.discarded(serial));
        other
    }

    /// The stack's time as the controller's; before its first it is that.
    pub(crate) fn time(&self, at: Instant) -> Time {
        let since = at.saturating_duration_since(self.epoch).as_nanos();
        Time(u64::try_from(since).unwrap_or(u64::MAX - 1))
    }

    /// Bytes of a full packet.
    pub(crate) fn mtu(&self) -> u64 {
        self.path.max_datagram_size
    }

    /// A packet that counts towards the window leaves.
    pub(crate) fn sent(&mut self, now: Time, key: u64, bytes: u64) {
        self.settle();
        self.tick(now);
        let serial = self.flying.put(key, Packet { sent: now, bytes });
        self.feed.sent(now, serial, bytes);
    }

    /// The window keeps the next packet from leaving.
    pub(crate) fn window_full(&mut self) {
        self.feed.window_full();
    }

    /// Whether another full packet has no room in the window.
    pub(crate) fn is_full(&self) -> bool {
        self.feed.bytes_in_flight() + self.mtu() >= self.feed.control().cwnd
    }

    /// The ACK at hand acknowledges the packet of this key that fits. `smoothed`: the stack's smoothed RTT before this ACK.
    pub(crate) fn acked(
        &mut self,
        now: Time,
        key: u64,
        fits: impl Fn(&Packet) -> bool,
        smoothed: std::time::Duration,
    ) {
        self.settle();
        let Some((serial, packet)) = self.flying.take(key, fits) else { return };
        self.feed.acked(serial, None);
        if self.newest.is_none_or(|newest| serial > newest) {
            self.newest = Some(serial);
            self.sample(now - packet.sent, smoothed);
        }
    }

    /// The stacks' `min` begins with their initial RTT, which may be less than any sample.
    fn sample(&mut self, latest: Duration, smoothed: std::time::Duration) {
        let first = self.rtt.min == Duration::MAX;
        let known = Duration(u64::try_from(smoothed.as_nanos()).unwrap_or(u64::MAX));
        self.rtt = RttEstimate {
            latest: Some(latest),
            min: self.rtt.min.min(latest),
            smoothed: if first { latest } else { known },
        };
    }

    /// The packets of the ACK are complete, `in_flight` bytes are left. What the stack has taken out of flight without a word (keys
    /// discarded, packets that were never in flight) goes in the order of `first`.
    pub(crate) fn end_of_packets<K: Ord>(
        &mut self,
        now: Time,
        in_flight: u64,
        app_limited: bool,
        first: impl Fn(u64, &Packet) -> K,
    ) {
        self.settle();
        self.feed.rtt(now, self.rtt);
        self.rtt.latest = None;
        let excess = self.feed.bytes_in_flight().saturating_sub(in_flight);
        if excess > 0 {
            let gone = self.flying.forget(excess, first);
            gone.into_iter().for_each(|serial| self.feed.discarded(serial));
        }
        if app_limited {
            self.feed.app_limited();
        }
        self.open = Some(Open { now, marked: false });
    }

    /// The packet of this key that fits is lost. The stacks do not say by which rule.
    pub(crate) fn lost(&mut self, now: Time, key: u64, fits: impl Fn(&Packet) -> bool) {
        self.settle_before(now);
        if let Some((serial, _)) = self.flying.take(key, fits) {
            self.feed.lost(serial, Detection::PacketThreshold);
        }
    }

    /// So many bytes are lost, the oldest up to this key.
    pub(crate) fn lost_up_to(&mut self, now: Time, key: u64, bytes: u64) {
        self.settle_before(now);
        for serial in self.flying.take_up_to(key, bytes) {
            self.feed.lost(serial, Detection::PacketThreshold);
        }
    }

    /// The losses are complete.
    pub(crate) fn end_of_losses(&mut self, now: Time, persistent: bool) {
        self.settle_before(now);
        if persistent {
            self.feed.event(now, Cause::PersistentCongestion);
        }
        if self.open.is_none() {
            self.feed.end_of_losses(now);
        }
    }

    /// Some packets were marked CE.
    pub(crate) fn marked(&mut self, now: Time) {
        self.settle_before(now);
        match &mut self.open {
            Some(open) => open.marked = true,
            None => {
                self.feed.event(now, Cause::Ecn);
                self.feed.end_of_losses(now);
            }
        }
    }

    /// The stack found the last reduction spurious.
    pub(crate) fn spurious(&mut self) {
        self.settle();
        self.feed.spurious();
    }

    /// Datagrams have another size from now on.
    pub(crate) fn on_mtu(&mut self, mtu: u16) {
        self.settle();
        self.path.max_datagram_size = mtu.into();
        self.feed.controller_mut().on_path_change(self.path);
    }

    /// How much and how fast may be sent.
    pub(crate) fn control(&mut self) -> Control {
        self.settle();
        self.feed.control()
    }

    /// An open ACK is complete.
    fn settle(&mut self) {
        if let Some(Open { now, marked }) = self.open.take() {
            self.feed.end_of_ack(now, Duration::ZERO, u64::from(marked));
            self.tick(now);
        }
    }

    /// One from before this time is.
    fn settle_before(&mut self, now: Time) {
        if self.open.is_some_and(|open| open.now < now) {
            self.settle();
        }
    }

    /// The stacks have no timer for a controller: it is called at the next event.
    fn tick(&mut self, now: Time) {
        if self.feed.next_timer().is_some_and(|due| due <= now) {
            self.feed.on_timer(now);
        }
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
