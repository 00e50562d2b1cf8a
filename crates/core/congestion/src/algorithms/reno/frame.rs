//! Code shared by the controllers with Reno's window: slow start, congestion avoidance, undo,
//! timeout, idle restart.
//!
//! Each controller decides what window remains after an event.

use crate::algorithms::reno::window::{Growth, Window};
use crate::components::count::Counting;
use crate::components::slow_start::{Kind, SlowStart};
use crate::components::undo::Undo;
use crate::{Ack, Cause, Idle, PathInfo};

/// A window with its growth, and the state that an undo restores.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) counting: Counting,
    growth: Growth,
    /// Initial window, in bytes.
    initial: u64,
    /// Smallest window, in packets.
    min_window: u64,
    pub(crate) state: Window,
    undo: Undo<Window>,
}

/// Window after each cause of a congestion event, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// Window after a loss, a mark or a delay event, and `ssthresh` after a timeout.
    pub(crate) reduced: u64,
    /// Window after persistent congestion.
    pub(crate) collapsed: u64,
    /// Window after a retransmission timeout.
    pub(crate) loss_window: u64,
}

impl Frame {
    /// Creates a window in slow start. `initial` is in bytes, `min_window` in packets.
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

    /// Returns the size of a packet in bytes.
    pub(crate) fn mds(&self) -> u64 {
        self.counting.mds
    }

    /// Returns the initial window in bytes.
    pub(crate) fn initial(&self) -> u64 {
        self.initial
    }

    /// Returns the smallest window in bytes.
    pub(crate) fn min_window(&self) -> u64 {
        self.min_window * self.mds()
    }

    pub(crate) fn on_ack(&mut self, ack: &Ack) {
        self.undo.on_ack(ack);
        self.state.grow(ack, &self.counting, self.growth);
    }

    /// Saves the state before an event. Returns true for a repeated timeout, see
    /// [`Undo::on_congestion`].
    pub(crate) fn save(&mut self, cause: Cause) -> bool {
        self.undo.on_congestion(cause, &self.state)
    }

    /// Applies an event. Never enlarges the window: after a timeout it may be below every minimum.
    pub(crate) fn on_congestion(&mut self, cause: Cause, answer: Answer) {
        let repeated = self.save(cause);
        let Answer { reduced, collapsed, loss_window } = answer;
        let ssthresh = self.state.ssthresh;
        match cause {
            Cause::Loss | Cause::Ecn | Cause::Delay => self.state.shrink(reduced, reduced),
            // RFC 9002 section 7.6.2 lowers only the window; ssthresh stays.
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

    /// Reports a new datagram size and its initial window in bytes.
    pub(crate) fn on_path_change(&mut self, path: PathInfo, initial: u64) {
        let before = core::mem::replace(&mut self.counting.mds, path.max_datagram_size);
        self.initial = initial;
        self.each_window(|window, min| window.on_path_change(before, path, min));
    }

    /// Changes the window and the state that an undo would restore. `change` also receives the
    /// smallest window in packets.
    pub(crate) fn each_window(&mut self, change: impl Fn(&mut Window, u64)) {
        self.undo.each(&mut self.state, |window| change(window, self.min_window));
    }
}
