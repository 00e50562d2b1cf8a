//! Means of the timeouts of loss recovery, sampled at every ACK that reaches the sender.

use recovery::Timers;

use super::mean::Mean;

/// Mean timeouts of a flow, inside a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimerMeans {
    /// Probe timeout, without backoff.
    pub pto: Mean,
    /// Retransmission timeout, without backoff.
    pub rto: Mean,
    /// Reordering window: how late a packet may arrive.
    pub reo_wnd: Mean,
}

impl TimerMeans {
    /// Adds a sample.
    #[inline]
    pub fn add(&mut self, timers: &Timers) {
        self.pto.add(timers.pto);
        timers.rto.into_iter().for_each(|rto| self.rto.add(rto));
        timers.reo_wnd.into_iter().for_each(|window| self.reo_wnd.add(window));
    }
}
