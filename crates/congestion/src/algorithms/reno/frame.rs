//! What the controllers with Reno's window share: slow start, congestion avoidance, undo, timeout, idle restart. What an event leaves
//! of the window is their own.

use crate::algorithms::reno::window::{Growth, Window};
use crate::components::count::Counting;
use crate::components::slow_start::{Kind, SlowStart};
use crate::components::undo::Undo;
use crate::{Ack, Cause, Idle, PathInfo};

/// A window, how it grows, and what an undo restores.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) counting: Counting,
    growth: Growth,
    /// Bytes.
    initial: u64,
    /// Packets.
    min_window: u64,
    pub(crate) state: Window,
    undo: Undo<Window>,
}

/// What the causes of a congestion event leave, bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// Loss, mark and delay; and `ssthresh` after a timeout.
    pub(crate) reduced: u64,
    /// Persistent congestion.
    pub(crate) collapsed: u64,
    /// A retransmission timeout.
    pub(crate) loss_window: u64,
}

impl Frame {
    /// In slow start, with the initial window in bytes and the smallest in packets.
    pub(crate) fn new(
        counting: Counting,
        growth: Growth,
        [initial, min_window]: [u64; 2],
        kind: Kind,
        path: PathInfo,
    ) -> Self {
        let state = Window::new(initial, SlowStart::new(kind, path));
        Self { counting, growth, initial, min_window, state, undo: Undo::new() }
    }

    /// Bytes of a packet.
    pub(crate) fn mds(&self) -> u64 {
        self.counting.mds
    }

    /// Bytes.
    pub(crate) fn initial(&self) -> u64 {
        self.initial
    }

    /// Bytes.
    pub(crate) fn min_window(&self) -> u64 {
        self.min_window * self.mds()
    }

    pub(crate) fn on_ack(&mut self, ack: &Ack) {
        self.undo.on_ack(ack);
        self.state.grow(ack, &self.counting, self.growth);
    }

    /// An event is to be answered now. True for a timeout that follows another one: see [`Undo::on_congestion`].
    pub(crate) fn save(&mut self, cause: Cause) -> bool {
        self.undo.on_congestion(cause, &self.state)
    }

    /// Never opens the window: after a timeout it may be below every floor.
    pub(crate) fn on_congestion(&mut self, cause: Cause, answer: Answer) {
        let repeated = self.save(cause);
        let Answer { reduced, collapsed, loss_window } = answer;
        let ssthresh = self.state.ssthresh;
        match cause {
            Cause::Loss | Cause::Ecn | Cause::Delay => self.state.shrink(reduced, reduced),
            // RFC 9002 section 7.6.2 lowers the window alone; ssthresh stays.
            Cause::PersistentCongestion => self.state.shrink(collapsed, ssthresh),
            // RFC 5681 section 3.1.
            Cause::Timeout => {
                self.state.timed_out = true;
                self.state.shrink(loss_window, if repeated { ssthresh } else { reduced });
            }
        }
    }

    pub(crate) fn on_spurious(&mut self) {
        self.undo.restore(&mut self.state, |window| window.cwnd);
    }

    pub(crate) fn on_idle(&mut self, idle: &Idle) {
        self.state.restart(idle, self.initial);
    }

    /// With the initial window of the new size, bytes.
    pub(crate) fn on_path_change(&mut self, path: PathInfo, initial: u64) {
        let before = core::mem::replace(&mut self.counting.mds, path.max_datagram_size);
        self.initial = initial;
        self.each_window(|window, min| window.on_path_change(before, path, min));
    }

    /// The window and what an undo would restore; with the smallest one, packets.
    pub(crate) fn each_window(&mut self, change: impl Fn(&mut Window, u64)) {
        self.undo.each(&mut self.state, |window| change(window, self.min_window));
    }
}
