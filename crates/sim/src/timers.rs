//! Means of what loss recovery would have waited, taken at every ACK that reaches the sender.

use congestion::Duration;
use recovery::Timers;

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
    #[inline]
    pub(crate) fn add(&mut self, timers: &Timers) {
        self.pto.add(Some(timers.pto));
        self.rto.add(timers.rto);
        self.reo_wnd.add(timers.reo_wnd);
    }
}

/// A mean of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    count: u64,
    sum: u128,
}

impl Mean {
    #[inline]
    fn add(&mut self, value: Option<Duration>) {
        if let Some(value) = value {
            self.count += 1;
            self.sum += u128::from(value.0);
        }
    }

    /// Milliseconds; NaN when empty.
    pub fn ms(&self) -> f64 {
        self.sum as f64 * 1e-6 / self.count as f64
    }
}
