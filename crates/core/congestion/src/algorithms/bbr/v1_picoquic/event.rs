//! Congestion events: `picoquic_bbr_notify_congestion`.

use super::{Bbr1Picoquic, State};
use units::Time;

impl Bbr1Picoquic {
    /// Implements `picoquic_bbr_notify_congestion`.
    pub(super) fn congestion(&mut self, now: Time, timeout: bool) {
        let soon = |at: Time| now < at + self.srtt;
        let repeated = self.cycle.on_loss || self.last_event.is_some_and(|(at, _)| soon(at));
        if repeated && (!timeout || self.last_event.is_some_and(|(_, timeout)| timeout)) {
            return;
        }
        let left = if timeout { 0 } else { self.window.cwnd / 2 };
        self.window.cwnd = left.max(self.floor());
        self.last_event = Some((now, timeout));
        self.congestion_pn = self.next_pn;
        if self.state == State::Startup {
            (self.filled_pipe, self.state) = (true, State::Drain);
        } else {
            self.cycle.on_loss = true;
        }
    }
}
