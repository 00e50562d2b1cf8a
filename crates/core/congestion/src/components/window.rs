//! A congestion window with slow start, and what an undo restores with it.
//!
//! Windows are in the unit of the specification: bytes ([`u64`]) or packets with fractions
//! ([`f64`]). Bytes appear at the interface.

use core::fmt::Debug;
use core::ops::Add;

use crate::components::datagram_size::{rescaled, resized};
use crate::components::idle;
use crate::components::slow_start::{Kind, SlowStart};
use crate::{Control, Idle, PathInfo};

/// Unit of a window: bytes or packets.
pub trait Unit: Copy + PartialOrd + Add<Output = Self> + Debug + Send + Sync + 'static {
    /// Returns the size of one unit in bytes. `mds` is the size of a packet.
    fn size(mds: u64) -> f64;
    /// Converts a number of units. Bytes are rounded down.
    fn from_f64(units: f64) -> Self;
    /// Converts whole bytes.
    fn from_bytes(bytes: u64, mds: u64) -> Self;
    /// Converts to a number of units. The largest number of bytes is infinite.
    fn to_f64(self) -> f64;
    /// Converts to whole bytes, rounded to the nearest.
    fn to_bytes(self, mds: u64) -> u64;
    /// Converts a window after the packet size changed from `before` to `after` bytes. `min` is the
    /// smallest window in packets, see `datagram_size`.
    #[must_use]
    fn resized(self, min: u64, before: u64, after: u64) -> Self;
}

/// Bytes.
impl Unit for u64 {
    fn size(_: u64) -> f64 {
        1.0
    }
    fn from_f64(units: f64) -> Self {
        units as Self
    }
    fn from_bytes(bytes: u64, _: u64) -> Self {
        bytes
    }
    fn to_f64(self) -> f64 {
        if self == Self::MAX { f64::INFINITY } else { self as f64 }
    }
    fn to_bytes(self, _: u64) -> u64 {
        self
    }
    fn resized(self, min: u64, before: u64, after: u64) -> Self {
        resized(self, min, before, after)
    }
}

/// Packets.
impl Unit for f64 {
    fn size(mds: u64) -> f64 {
        mds as Self
    }
    fn from_f64(units: f64) -> Self {
        units
    }
    fn from_bytes(bytes: u64, mds: u64) -> Self {
        bytes as Self / mds as Self
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn to_bytes(self, mds: u64) -> u64 {
        (self * mds as Self + 0.5) as u64
    }
    fn resized(self, min: u64, before: u64, after: u64) -> Self {
        rescaled(self, min as Self, before as Self / after as Self)
    }
}

/// State of a rule besides the window. An undo restores both.
pub trait Memory: Clone + Debug + Send + Sync + 'static {
    /// Reports that the window was reduced, or restarted after an idle time.
    fn forget(&mut self) {}
}

impl Memory for () {}

/// A congestion window in bytes or packets, which an undo can restore.
#[derive(Clone, Debug)]
pub struct Window<U, M = ()> {
    /// The congestion window.
    pub cwnd: U,
    /// Slow-start threshold.
    pub ssthresh: U,
    pub(super) slow_start: SlowStart,
    /// Memory of the rule.
    pub memory: M,
}

impl<U: Unit, M: Memory> Window<U, M> {
    /// Creates a window in slow start.
    pub fn new(cwnd: U, kind: Kind, memory: M, path: PathInfo) -> Self {
        Self { cwnd, ssthresh: U::from_f64(f64::INFINITY), slow_start: SlowStart::new(kind, path), memory }
    }

    /// Reports whether the window is below the slow-start threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Reduces the window at a congestion event. Never enlarges it: after a timeout `cwnd` may be
    /// below every minimum.
    pub fn shrink(&mut self, cwnd: U, ssthresh: U) {
        self.set(if cwnd < self.cwnd { cwnd } else { self.cwnd }, ssthresh);
    }

    /// Sets the window at a congestion event, also to a larger value.
    pub fn set(&mut self, cwnd: U, ssthresh: U) {
        self.slow_start.leave();
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
        self.memory.forget();
    }

    /// Restarts the window after an idle time, see `idle`.
    pub(super) fn restart(&mut self, event: &Idle, initial: U) {
        let (cwnd, ssthresh) =
            idle::restart(event, self.cwnd.to_f64(), self.ssthresh.to_f64(), initial.to_f64());
        (self.cwnd, self.ssthresh) = (U::from_f64(cwnd), U::from_f64(ssthresh));
        self.memory.forget();
    }

    /// Reports a change of the packet size from `before` bytes. `min` is the smallest window in
    /// packets.
    pub(super) fn on_path_change(&mut self, before: u64, path: PathInfo, min: u64) {
        let after = path.max_datagram_size.max(1);
        self.cwnd = self.cwnd.resized(min, before, after);
        self.ssthresh = U::from_f64(self.ssthresh.to_f64() * (U::size(before) / U::size(after)));
        self.slow_start.on_path_change(path);
    }

    pub(super) fn control(&self, mds: u64) -> Control {
        Control { ssthresh: self.ssthresh_bytes(mds) as u64, ..Control::window(self.cwnd.to_bytes(mds)) }
    }

    pub(super) fn ssthresh_bytes(&self, mds: u64) -> f64 {
        self.ssthresh.to_f64() * U::size(mds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes are rounded down, packets keep their fraction; both are whole bytes at the interface.
    #[test]
    fn units() {
        assert_eq!((u64::from_f64(2.9), u64::from_f64(f64::INFINITY)), (2, u64::MAX));
        assert_eq!((u64::MAX.to_f64(), u64::MAX.to_bytes(1200)), (f64::INFINITY, u64::MAX));
        let bytes = (1 << 53) + 1;
        assert_eq!(bytes.to_bytes(1200), bytes, "a window keeps every byte");
        assert_eq!((f64::from_f64(2.9), 2.5.to_bytes(1201)), (2.9, 3003));
        assert_eq!((u64::size(1200), f64::size(1200)), (1.0, 1200.0));
    }

    /// An event never enlarges the window, unless the rule sets it.
    #[test]
    fn events() {
        let path = PathInfo { max_datagram_size: 1200, ..PathInfo::default() };
        let mut window: Window<f64> = Window::new(10.0, Kind::Standard, (), path);
        assert!(window.in_slow_start());
        window.shrink(20.0, 5.0);
        assert_eq!((window.cwnd, window.ssthresh), (10.0, 5.0));
        window.set(20.0, 5.0);
        assert!(window.cwnd == 20.0 && !window.in_slow_start());
        window.on_path_change(1200, PathInfo { max_datagram_size: 600, ..path }, 2);
        assert_eq!((window.cwnd, window.ssthresh), (40.0, 10.0));
    }
}
