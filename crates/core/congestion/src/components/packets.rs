//! Windows in packets, for specifications that count in packets. Bytes appear only at the
//! interface.

use crate::components::count::{Count, Counting};
use crate::components::datagram_size::rescaled;
use crate::components::idle;
use crate::components::slow_start::{Kind, SlowStart};
use crate::{Ack, Control, Idle, PathInfo, initial_window_or_default};

/// Unit of the windows, and the initial window.
#[derive(Clone, Debug)]
pub(crate) struct Packets {
    pub(crate) counting: Counting,
    /// IW, in packets.
    pub(crate) initial: f64,
}

impl Packets {
    /// Creates the unit with the rule for counting ACKs, its limit in slow start, and the initial
    /// window.
    ///
    /// `initial` is passed to [`initial_window_or_default`].
    pub(crate) fn new(count: Count, limit: Option<u64>, initial: Option<u64>, path: PathInfo) -> Self {
        let mds = path.max_datagram_size.max(1);
        let initial = initial_window_or_default(initial, mds) as f64 / mds as f64;
        Self { counting: Counting { count, limit, mds }, initial }
    }

    /// Returns the size of a packet in bytes.
    pub(crate) fn size(&self) -> f64 {
        self.counting.mds as f64
    }

    /// Returns the packets that an ACK counts for in congestion avoidance.
    pub(crate) fn in_avoidance(&self, ack: &Ack) -> f64 {
        self.counting.in_avoidance(ack) as f64 / self.size()
    }

    /// Changes the size of a packet. Returns the old size divided by the new one.
    pub(crate) fn on_path_change(&mut self, initial: Option<u64>, path: PathInfo) -> f64 {
        let Counting { count, limit, .. } = self.counting;
        let before = core::mem::replace(self, Self::new(count, limit, initial, path));
        before.size() / self.size()
    }
}

/// A window in packets.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) cwnd: f64,
    pub(crate) ssthresh: f64,
    pub(crate) slow_start: SlowStart,
}

impl Window {
    /// Creates a window in slow start.
    pub(crate) fn new(cwnd: f64, kind: Kind, path: PathInfo) -> Self {
        Self { cwnd, ssthresh: f64::INFINITY, slow_start: SlowStart::new(kind, path) }
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows by one packet for each `k` packets that count.
    pub(crate) fn slow_start(&mut self, ack: &Ack, packets: &Packets, k: f64) {
        let counted = packets.counting.in_slow_start(ack);
        self.cwnd += self.slow_start.growth(counted) as f64 / packets.size() / k;
        if self.slow_start.ended(ack, self.bytes(packets)) {
            self.ssthresh = self.cwnd;
        }
    }

    /// Reduces the window at a congestion event. Never enlarges it: after a timeout `cwnd` may be
    /// below every minimum.
    pub(crate) fn shrink(&mut self, cwnd: f64, ssthresh: f64) {
        self.slow_start.leave();
        (self.cwnd, self.ssthresh) = (cwnd.min(self.cwnd), ssthresh);
    }

    /// Restarts the window after an idle time, see `idle`.
    pub(crate) fn restart(&mut self, event: &Idle, packets: &Packets) {
        (self.cwnd, self.ssthresh) = idle::restart(event, self.cwnd, self.ssthresh, packets.initial);
    }

    /// Converts the window to packets of a new size. `ratio` is the old size over the new one,
    /// `min` the smallest window.
    pub(crate) fn on_path_change(&mut self, path: PathInfo, ratio: f64, min: u64) {
        self.cwnd = rescaled(self.cwnd, min as f64, ratio);
        self.ssthresh *= ratio;
        self.slow_start.on_path_change(path);
    }

    fn bytes(&self, packets: &Packets) -> u64 {
        (self.cwnd * packets.size() + 0.5) as u64
    }

    pub(crate) fn control(&self, packets: &Packets) -> Control {
        let ssthresh = (self.ssthresh * packets.size()) as u64;
        Control { ssthresh, ..Control::window(self.bytes(packets)) }
    }
}
