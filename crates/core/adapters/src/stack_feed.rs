//! The parts that both adapters share, between a stack's trait and [`ControllerFeed`].
//!
//! Both stacks report that an ACK is complete before they report, with the same time, the losses
//! and marks it revealed. A controller must learn of those first. Therefore an ACK stays open until
//! the stack asks for the window, sends a packet, or reports a later event.

use std::time::Instant;

use recovery::congestion::{Cause, Control, Controller, Detection, PathInfo};
use recovery::feed::{ControllerFeed, RttEstimate};
use recovery::units::{Duration, Time};

use crate::in_flight::{InFlight, Packet};

/// Translates a stack's reports for a [`ControllerFeed`].
#[derive(Clone, Debug)]
pub(crate) struct StackFeed {
    feed: ControllerFeed,
    path: PathInfo,
    /// Zero of the controller's time.
    epoch: Instant,
    packets: InFlight,
    /// Serial of the newest packet known to have arrived.
    newest: Option<u64>,
    rtt: RttEstimate,
    open: Option<OpenAck>,
}

/// An ACK whose losses and marks may still be reported.
#[derive(Clone, Copy, Debug)]
struct OpenAck {
    now: Time,
    marked: bool,
}

impl StackFeed {
    pub(crate) fn new(controller: Box<dyn Controller>, path: PathInfo, epoch: Instant) -> Self {
        Self {
            feed: ControllerFeed::new(controller),
            path,
            epoch,
            packets: InFlight::default(),
            newest: None,
            rtt: RttEstimate { latest: None, min: Duration::MAX, smoothed: Duration::ZERO },
            open: None,
        }
    }

    /// Returns a copy for a path that continues this one (the peer's address changed), with nothing
    /// in flight.
    pub(crate) fn for_new_path(&self) -> Self {
        let mut other = self.clone();
        other.finish_ack();
        let Self { feed, packets, .. } = &mut other;
        packets.clear().for_each(|serial| feed.discarded(serial));
        other
    }

    /// Converts the stack's time to the controller's. Times before the epoch become zero.
    pub(crate) fn time(&self, at: Instant) -> Time {
        let since = at.saturating_duration_since(self.epoch).as_nanos();
        Time(u64::try_from(since).unwrap_or(u64::MAX - 1))
    }

    /// Returns the size of a full packet, in bytes.
    pub(crate) fn mtu(&self) -> u64 {
        self.path.max_datagram_size
    }

    /// Records a sent packet that counts towards the window.
    pub(crate) fn sent(&mut self, now: Time, key: u64, bytes: u64) {
        self.finish_ack();
        self.poll_timer(now);
        let serial = self.packets.insert(key, Packet { sent: now, bytes });
        self.feed.sent(now, serial, bytes);
    }

    /// Records that the window blocks the next packet.
    pub(crate) fn window_full(&mut self) {
        self.feed.window_full();
    }

    /// Reports whether the window has no room for another full packet.
    pub(crate) fn is_full(&self) -> bool {
        self.feed.bytes_in_flight() + self.mtu() >= self.feed.control().cwnd
    }

    /// Records that the current ACK acknowledges the packet with this key that `fits`. `smoothed`
    /// is the stack's smoothed RTT before this ACK.
    pub(crate) fn acked(
        &mut self,
        now: Time,
        key: u64,
        fits: impl Fn(&Packet) -> bool,
        smoothed: std::time::Duration,
    ) {
        self.finish_ack();
        let Some((serial, packet)) = self.packets.remove(key, fits) else { return };
        self.feed.acked(serial, None);
        if self.newest.is_none_or(|newest| serial > newest) {
            self.newest = Some(serial);
            self.sample(now - packet.sent, smoothed);
        }
    }

    /// Takes an RTT sample. The stacks' own minimum starts at their initial RTT, which can be below
    /// every sample.
    fn sample(&mut self, latest: Duration, smoothed: std::time::Duration) {
        let first = self.rtt.min == Duration::MAX;
        let known = Duration(u64::try_from(smoothed.as_nanos()).unwrap_or(u64::MAX));
        self.rtt = RttEstimate {
            latest: Some(latest),
            min: self.rtt.min.min(latest),
            smoothed: if first { latest } else { known },
        };
    }

    /// Ends the list of acknowledged packets, with `in_flight` bytes left.
    ///
    /// The stack may have removed packets from flight silently: keys were discarded, or a packet
    /// was never in flight. These are removed in the order of `first`.
    pub(crate) fn end_of_packets<K: Ord>(
        &mut self,
        now: Time,
        in_flight: u64,
        app_limited: bool,
        first: impl Fn(u64, &Packet) -> K,
    ) {
        self.finish_ack();
        self.feed.rtt(now, self.rtt);
        self.rtt.latest = None;
        let excess = self.feed.bytes_in_flight().saturating_sub(in_flight);
        if excess > 0 {
            let gone = self.packets.remove_at_most(excess, first);
            gone.into_iter().for_each(|serial| self.feed.discarded(serial));
        }
        if app_limited {
            self.feed.app_limited();
        }
        self.open = Some(OpenAck { now, marked: false });
    }

    /// Records the loss of the packet with this key that `fits`. The stacks do not name the rule.
    pub(crate) fn lost(&mut self, now: Time, key: u64, fits: impl Fn(&Packet) -> bool) {
        self.finish_ack_before(now);
        if let Some((serial, _)) = self.packets.remove(key, fits) {
            self.feed.lost(serial, Detection::PacketThreshold);
        }
    }

    /// Records the loss of `bytes` bytes, the oldest packets up to this key.
    pub(crate) fn lost_up_to(&mut self, now: Time, key: u64, bytes: u64) {
        self.finish_ack_before(now);
        for serial in self.packets.remove_up_to(key, bytes) {
            self.feed.lost(serial, Detection::PacketThreshold);
        }
    }

    /// Ends the list of losses.
    pub(crate) fn end_of_losses(&mut self, now: Time, persistent: bool) {
        self.finish_ack_before(now);
        if persistent {
            self.feed.event(now, Cause::PersistentCongestion);
        }
        if self.open.is_none() {
            self.feed.end_of_losses(now);
        }
    }

    /// Records that some packets were marked CE.
    pub(crate) fn marked(&mut self, now: Time) {
        self.finish_ack_before(now);
        match &mut self.open {
            Some(open) => open.marked = true,
            None => {
                self.feed.event(now, Cause::Ecn);
                self.feed.end_of_losses(now);
            }
        }
    }

    /// Undoes the last reduction, which the stack found to be spurious.
    pub(crate) fn spurious(&mut self) {
        self.finish_ack();
        self.feed.spurious();
    }

    /// Changes the datagram size.
    pub(crate) fn on_mtu(&mut self, mtu: u16) {
        self.finish_ack();
        self.path.max_datagram_size = mtu.into();
        self.feed.controller_mut().on_path_change(self.path);
    }

    /// Returns the window and the pacing rate.
    pub(crate) fn control(&mut self) -> Control {
        self.finish_ack();
        self.feed.control()
    }

    /// Completes the open ACK, if there is one.
    fn finish_ack(&mut self) {
        if let Some(OpenAck { now, marked }) = self.open.take() {
            self.feed.end_of_ack(now, Duration::ZERO, u64::from(marked));
            self.poll_timer(now);
        }
    }

    /// Completes the open ACK if it is from before `now`.
    fn finish_ack_before(&mut self, now: Time) {
        if self.open.is_some_and(|open| open.now < now) {
            self.finish_ack();
        }
    }

    /// Calls the controller if its timer is due. The stacks have no timer for a controller, so this
    /// happens at the next event.
    fn poll_timer(&mut self, now: Time) {
        if self.feed.next_timer().is_some_and(|due| due <= now) {
            self.feed.on_timer(now);
        }
    }
}

#[cfg(test)]
#[path = "stack_feed_tests.rs"]
mod tests;
