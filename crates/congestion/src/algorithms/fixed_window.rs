//! A window that never moves: the judge of the simulator and the emulator.
//!
//! ```text
//! cwnd = window                       throughput = min(rate, cwnd / RTT)     (Little's law)
//! ```
//!
//! Deviations: none; no document defines it. Losses and marks do not move it.

use crate::interface::params::{Range, params};
use crate::{Ack, Cause, Congestion, Control, Controller, Path};

params! {
    /// Bytes that may be in flight, packets of `mds` each.
    window: u64 = 10 => Range::PACKETS,
}

/// The controller.
#[derive(Debug)]
pub struct FixedWindow {
    cwnd: u64,
}

impl FixedWindow {
    /// With `window` full packets.
    pub fn new(params: &Params, path: Path) -> Self {
        Self { cwnd: params.window.max(1) * path.mds }
    }
}

impl Controller for FixedWindow {
    fn on_ack(&mut self, _: &Ack) -> Option<Cause> {
        None
    }
    fn on_congestion(&mut self, _: &Congestion) {}
    fn control(&self) -> Control {
        Control { cwnd: self.cwnd, pacing_rate: None, ssthresh: 0, send_quantum: None }
    }
}
