//! Means of what loss recovery would have waited, taken at every ACK that reaches the sender.

use recovery::Timers;

use super::mean::Mean;

/// The means of a flow, inside the measuring window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimerMeans {
    /// Probe timeout, without backoff.
    pub pto: Mean,
    /// Retransmission timeout, without backoff.
    pub rto: Mean,
    /// What a missing packet may be late.
    pub reo_wnd: Mean,
}

impl TimerMeans {
    /// One more look.
    #[inline]
    pub fn add(&mut self, timers: &Timers) {
        self.pto.add(timers.pto);
        timers.rto.into_iter().for_each(|rto| self.rto.add(rto));
        timers.reo_wnd.into_iter().for_each(|window| self.reo_wnd.add(window));
    }
}
