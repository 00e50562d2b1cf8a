//! The window of every controller that grows as Reno does: `new-reno`, `tcp-reno`, `westwood-plus` and what stands on them.
//!
//! ```text
//! slow start            cwnd += n                     n bytes of an ACK count: see `count`; its end: see `hystart`
//! congestion avoidance  cwnd += mds once cwnd bytes have counted          (RFC 3465 section 2.1: growth = "window")
//!                       cwnd += mds * n / cwnd at each ACK                (RFC 9002 appendix B.5: growth = "ack")
//! ```

use serde::{Deserialize, Serialize};

use crate::count::Counting;
use crate::hystart::SlowStart;
use crate::{Ack, Control, Idle, idle};

/// How the window grows in congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// By a packet once a window has been acknowledged.
    Window,
    /// By a fraction of a packet at each acknowledgement.
    Ack,
}

/// A window, in bytes; also what an undo restores.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
    /// Bytes acknowledged towards the next growth by one packet.
    pub(crate) bytes_acked: u64,
    slow_start: SlowStart,
}

impl Window {
    /// In slow start.
    pub(crate) fn new(cwnd: u64, slow_start: SlowStart) -> Self {
        Self { cwnd, ssthresh: u64::MAX, bytes_acked: 0, slow_start }
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    pub(crate) fn grow(&mut self, ack: &Ack, counting: &Counting, growth: Growth) {
        if !self.in_slow_start() {
            return self.avoid_congestion(counting.of(ack), growth, counting.mds);
        }
        self.cwnd += self.slow_start.growth(counting.of_slow_start(ack));
        if self.slow_start.ended(ack, self.cwnd) {
            self.ssthresh = self.cwnd;
        }
    }

    fn avoid_congestion(&mut self, counted: u64, growth: Growth, mds: u64) {
        if growth == Growth::Ack {
            self.cwnd += mds * counted / self.cwnd;
            return;
        }
        self.bytes_acked += counted;
        // An ACK larger than the window leaves a remainder that an ACK without growth must not spend.
        if counted > 0 && self.bytes_acked >= self.cwnd {
            self.bytes_acked -= self.cwnd;
            self.cwnd += mds;
        }
    }

    /// A congestion event. It never opens the window: after a timeout `cwnd` may be below every floor.
    pub(crate) fn shrink(&mut self, cwnd: u64, ssthresh: u64) {
        self.set(cwnd.min(self.cwnd), ssthresh);
    }

    /// A congestion event that decides what the window is, even if that is more.
    pub(crate) fn set(&mut self, cwnd: u64, ssthresh: u64) {
        self.slow_start.leave();
        (self.cwnd, self.ssthresh, self.bytes_acked) = (cwnd, ssthresh, 0);
    }

    /// The events since were a mistake; a window that has outgrown what it was stays.
    pub(crate) fn undo(&mut self, before: Option<Self>) {
        if let Some(before) = before.filter(|b| b.cwnd > self.cwnd) {
            *self = before;
        }
    }

    /// See `idle`.
    pub(crate) fn restart(&mut self, event: &Idle, initial: u64) {
        let (cwnd, ssthresh) = idle::restart(event, self.cwnd as f64, self.ssthresh as f64, initial as f64);
        (self.cwnd, self.ssthresh, self.bytes_acked) = (cwnd as u64, ssthresh as u64, 0);
    }

    pub(crate) fn control(&self) -> Control {
        Control { cwnd: self.cwnd, pacing_rate: None, ssthresh: self.ssthresh, send_quantum: None }
    }

    pub(crate) fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("ssthresh", if self.ssthresh == u64::MAX { f64::INFINITY } else { self.ssthresh as f64 });
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::hystart::Kind;
    use crate::script::path;

    /// In congestion avoidance.
    pub(crate) fn avoiding(cwnd: u64) -> Window {
        let slow_start = SlowStart::new(Kind::Standard, path(1200));
        Window { cwnd, ssthresh: cwnd, bytes_acked: 0, slow_start }
    }
}
