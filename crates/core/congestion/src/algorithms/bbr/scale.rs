//! Control of ProbeBW and Startup by an outer controller (`ecn_gated`).

use crate::Controller;

/// Scaling of ProbeBW.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Factor on the pacing gain of each phase.
    pub pacing: f64,
    /// Factor on the window gain.
    pub cwnd: f64,
    /// Whether the scaled gain decides how a phase ends, not the cycle's own gain. Version 1 only.
    pub ends: bool,
}

impl Scale {
    /// No scaling.
    pub const NONE: Self = Self { pacing: 1.0, cwnd: 1.0, ends: false };
}

/// A version whose Startup and ProbeBW an outer controller controls.
pub trait Scaled: Controller + Clone + 'static {
    /// Returns the current phase of ProbeBW, numbered in the order of the cycle.
    fn phase(&self) -> Option<usize>;
    /// Scales ProbeBW from now on.
    fn scale_probe_bw(&mut self, scale: Scale);
    /// Ends Startup: the next ACK enters Drain.
    fn end_startup(&mut self);
}
