//! TFRC, TCP-friendly rate control: RFC 5348 (September 2008). Sections refer to it. Rates are in
//! bytes per second, times in seconds.
//!
//! ```text
//! throughput   X_Bps = s / (R sqrt(2 b p / 3) + t_RTO 3 sqrt(3 b p / 8) p (1 + 32 p^2)),  t_RTO = 4 R          (3.1)
//!
//! feedback     once per R, and at each new loss event: X_recv, p
//!   R          = q R + (1 - q) R_sample;  t_RTO = max(4 R, 2 s / X)                                             (4.3)
//!   recv_limit = 2 max(X_recv_set): the rates of the last two R
//!                data-limited:  the largest rate so far; with a new event or a larger p: half of the old ones, 0.85 X_recv,
//!                and recv_limit = max(X_recv_set)
//!   p > 0:     X = max(min(X_Bps, recv_limit), s / t_mbi)
//!   p = 0:     X = max(min(2 X, recv_limit), W_init / R), once per R
//! no feedback for t_RTO: half of X, of X_recv_set or of X_Bps, not below s / t_mbi                              (4.4)
//! `damping`    X_inst = X R_sqmean / sqrt(R_sample),  R_sqmean = q2 R_sqmean + (1 - q2) sqrt(R_sample)          (4.5)
//!
//! loss event   the losses and marks of packets sent within R of its first one                                   (5.2)
//! interval     packets from the first lost one of an event to that of the next                                  (5.3)
//! p            = 1 / mean of the last 8 intervals, see `loss_intervals`                                         (5.4)
//! first one    1 / p for which X_Bps = X_recv                                                                   (6.3.1)
//! W_init       = min(4 s, max(2 s, 4380 bytes))                                                                 (4.2)
//! ```
//!
//! The RFC allows the sender to compute p itself (section 3). ACKs name every packet, so this code
//! does, and needs neither receive times nor a feedback packet. X_recv is the delivery-rate sample
//! of the ACK, which covers about an RTT as in section 6.2. It says too whether the application
//! limited the sender.
//!
//! Deviations: an event is bounded by sending times, not by interpolated arrival times. Losses are
//! those detected by the sender; a loss that proves spurious stays one. A mark is taken for the
//! newest packet of its ACK. s is the full packet size. Before the first sample, W_init is spread
//! over `initial-rtt`. History discounting (section 5.5, optional) is not implemented. The window
//! does not limit the rate, see `receiver_report`.

mod limits;
mod loss;
mod params;
mod rule;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::components::picoquic::rtt_measurement;
use crate::components::receiver_report::Window;
use crate::{Ack, Cause, Congestion, Control, Controller, Lost, Needs, PathInfo, Sent};
use loss::LossEvents;
use rule::{Feedback, Rule};
use units::{Duration, Time};

crate::variables! {
    /// Allowed sending rate, X. RFC 5348 section 4.3.
    x: "bytes/s",
    /// Receive rate of the last feedback, X_recv. RFC 5348 section 3.2.2.
    x_recv: "bytes/s"; later,
    /// Rate of the throughput equation, X_Bps, from the first loss on. RFC 5348 section 3.1.
    x_bps: "bytes/s"; later,
    /// Loss event rate, 0..1. RFC 5348 section 5.4.
    p: "",
    /// Round-trip time, R, from the first sample on. RFC 5348 section 4.3.
    r: "s"; later,
}

/// The controller: the RFC's sender, with the receiver's loss intervals.
#[derive(Clone, Debug)]
pub struct Tfrc {
    window: Window,
    events: LossEvents,
    rule: Rule,
}

impl Tfrc {
    /// Creates a controller in slow start.
    pub fn new(params: Params, path: PathInfo) -> Self {
        Self {
            window: Window::new(path, Duration::ZERO, params.window, params.min_window),
            events: LossEvents::default(),
            rule: Rule::new(params, path.max_datagram_size.max(1)),
        }
    }

    /// Reports a lost or marked packet.
    fn on_congested(&mut self, pn: u64, sent: Time) {
        if !self.events.covers(sent, self.rule.r()) {
            self.events.begin(pn, sent, self.rule.first_interval());
        }
    }
}

impl Controller for Tfrc {
    fn needs(&self) -> Needs {
        Needs { rate_samples: true, ..Needs::default() }
    }

    fn on_sent(&mut self, sent: &Sent) {
        if self.rule.nofeedback == Time::NEVER {
            self.rule.set_timer(sent.now);
        }
        self.rule.idle = false;
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.window.on_ack(ack);
        if let Some(newest) = ack.packets.last() {
            self.events.on_acked(newest.pn);
            if ack.ce > 0 {
                self.on_congested(newest.pn, newest.sent);
            }
        }
        let (Some(sample), Some(rate)) = (rtt_measurement(ack), ack.rate) else { return None };
        if let Some(delivered) = rate.delivery_rate {
            self.rule.x_recv = delivered.bytes_per_sec();
        }
        let due = self.rule.rtt.is_none()
            || self.events.fresh
            || ack.now - self.rule.last_feedback >= self.rule.r();
        if due && self.rule.x_recv > 0.0 {
            let feedback = Feedback { now: ack.now, sample, data_limited: rate.app_limited };
            let fresh = core::mem::take(&mut self.events.fresh);
            self.rule.on_feedback(feedback, self.events.rate(), fresh);
        }
        None
    }

    fn on_lost(&mut self, lost: &Lost) {
        for packet in lost.packets {
            self.on_congested(packet.pn, packet.sent);
        }
    }

    /// Losses act by p. The nofeedback timer replaces the timeout.
    fn on_congestion(&mut self, _: &Congestion) {}

    fn on_timer(&mut self, now: Time) {
        if now >= self.rule.nofeedback {
            self.rule.expire(now);
        }
    }

    /// The rate controls the sender, so the window must not be changed in recovery.
    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.rule.s = path.max_datagram_size.max(1);
        self.window.on_path_change(path);
    }

    fn control(&self) -> Control {
        Control { wake: self.rule.nofeedback, ..self.window.control(8.0 * self.rule.x_inst()) }
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("x", self.rule.x);
        put("p", self.rule.p);
        if let Some(r) = self.rule.rtt {
            put("r", r.as_secs_f64());
            put("x_recv", self.rule.x_recv);
        }
        if self.rule.p > 0.0 {
            put("x_bps", self.rule.x_bps);
        }
    }
}
