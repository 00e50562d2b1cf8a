//! A constant window, the reference for tests of the simulator and the emulator.
//!
//! ```text
//! cwnd = window                       throughput = min(rate, cwnd / RTT)     (Little's law)
//! ```
//!
//! Deviations: none; no document defines it. Losses and marks do not change the window.

use crate::{Ack, Cause, Congestion, Control, Controller, PathInfo};
use crate::{Range, params};

params! {
    /// Window, in packets of `max_datagram_size` bytes.
    window: u64 = 10 => Range::PACKETS,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct FixedWindow {
    cwnd: u64,
}

impl FixedWindow {
    /// Creates a controller with a window of `window` full packets, at least one.
    pub fn packets(window: u64, path: PathInfo) -> Self {
        Self { cwnd: window.max(1) * path.max_datagram_size }
    }
}

impl Controller for FixedWindow {
    fn on_ack(&mut self, _: &Ack) -> Option<Cause> {
        None
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    /// Keeps the window in bytes, but raises it to one packet if needed.
    fn on_path_change(&mut self, path: PathInfo) {
        self.cwnd = self.cwnd.max(path.max_datagram_size);
    }
    fn control(&self) -> Control {
        Control::window(self.cwnd)
    }
}
