//! NADA: Network-Assisted Dynamic Adaptation, RFC 8698 (February 2020), sections 4.1 to 4.3 with
//! the methods of 5.1 and 5.2.
//!
//! ```text
//! receiver (see `receiver`), reported every DELTA: x_curr, r_recv, and the mode (ramp-up or gradual)  section 4.2
//!
//! sender                                                                                            section 4.3
//!   ramp-up   gamma    = min(GAMMA_MAX, QBOUND / (rtt + DELTA + DFILT))                                     (3)
//!             r_ref    = max(r_ref, (1 + gamma) r_recv)                                      bit/s          (4)
//!   gradual   x_offset = x_curr - PRIO * XREF * RMAX / r_ref                                 seconds        (5)
//!             x_diff   = x_curr - x_prev                                                     seconds        (6)
//!             r_ref    = r_ref - KAPPA * delta / TAU * x_offset / TAU * r_ref
//!                              - KAPPA * ETA * x_diff / TAU * r_ref                          bit/s          (7)
//!   then      r_ref    = min(max(r_ref, RMIN), RMAX);  x_prev = x_curr
//!
//! shaping buffer of buffer_len bytes before the pacer                                             section 5.2.2
//!   r_vin     = max(RMIN, r_ref - min(0.05 r_ref, BETA_V * 8 * buffer_len * FPS))            bit/s    (11), (13)
//!   r_send    = min(RMAX, r_ref + min(0.05 r_ref, BETA_S * 8 * buffer_len * FPS))            bit/s    (12), (14)
//! ```
//!
//! At equilibrium x_curr = PRIO * XREF * RMAX / r_ref. Flows with the same x_curr share in
//! proportion to PRIO * RMAX.
//!
//! The receiver runs at the sender, see `receiver_report` for reports, bytes and window. Without
//! receive times there is no r_recv, so the rate stays at RMIN. The pacing rate is r_send.
//!
//! Deviations: losses are those detected by the sender, slightly later than gaps in the packet
//! numbers. p_loss and p_mark are smoothed once per report, as in Cisco's ns3-rmcat, not per
//! packet; the RFC can be read either way. Equation 2 as printed has no limit, so many losses raise
//! x_curr to seconds. Once they have left LOGWIN, p_loss falls by a tenth per report and x_curr by
//! 19 %. Equation 7 then adds KAPPA ETA 0.19 x_prev / TAU = 0.38 x_prev of r_ref (x in seconds),
//! while x_offset subtracts 0.16: the rate grows although the penalty persists. `x-max` limits it,
//! as ns3-rmcat does (500 ms). `delta` is at most `max-delta`, because equation 7 would jump after
//! a long time without ACKs. The level of the shaping buffer is a constant, because there is no
//! encoder before the sender. With 0, r_vin = r_send = r_ref. rtt is `smoothed_rtt`, without the
//! ACK delay; the delays are one-way. Before the first window of r_recv is full, the average covers
//! the time so far. Persistent congestion or a timeout sets the rate to RMIN.

mod params;
mod receiver;
#[cfg(test)]
mod tests;

pub use self::params::Params;
use self::receiver::{Feedback, Receiver};
use crate::components::receiver_report::{Reports, Window, bits};
use crate::{Ack, Cause, Congestion, Control, Controller, Lost, Needs, PathInfo};

crate::variables! {
    with receiver::VARIABLES;
    /// Reference rate. RFC 8698 section 4.3.
    r_ref: "bit/s",
    /// Rate of the encoder. RFC 8698 section 5.2.2, equation 11.
    r_vin: "bit/s",
    /// Pacing rate. RFC 8698 section 5.2.2, equation 12.
    r_send: "bit/s",
    /// Rate at the receiver; 0 before it is known. RFC 8698 section 4.2.
    r_recv: "bit/s",
    /// Aggregate congestion signal. RFC 8698 section 4.2, equation 2.
    x_curr: "s",
    /// Mode of the rate update: 0 accelerated ramp-up, 1 gradual. RFC 8698 section 4.3.
    rmode: "",
}

/// The controller: the RFC's sender together with its receiver.
#[derive(Clone, Debug)]
pub struct Nada {
    params: Params,
    receiver: Receiver,
    reports: Reports,
    window: Window,
    /// Reference rate, in bit/s.
    r_ref: f64,
    /// Previous aggregate congestion signal, in seconds.
    x_prev: f64,
    last: Feedback,
}

impl Nada {
    /// Creates a controller at RMIN.
    pub fn new(params: Params, path: PathInfo) -> Self {
        Self {
            receiver: Receiver::new(params.clone()),
            reports: Reports::new(params.delta),
            window: Window::new(path, params.delta, params.window, params.min_window),
            r_ref: bits(params.rmin),
            x_prev: 0.0,
            last: Feedback::default(),
            params,
        }
    }

    /// Updates the rate, section 4.3. `delta` is in seconds.
    fn update(&mut self, feedback: Feedback, delta: f64) {
        if feedback.ramp_up {
            let r_recv = feedback.r_recv.unwrap_or(0.0);
            self.r_ref = self.r_ref.max((1.0 + self.gamma()) * r_recv);
        } else {
            self.r_ref -= self.gradual(feedback.x_curr, delta);
        }
        self.clip();
        self.x_prev = feedback.x_curr;
        self.last = feedback;
    }

    /// Returns gamma by equation 3.
    fn gamma(&self) -> f64 {
        let Params { gamma_max, qbound, delta, dfilt, .. } = self.params;
        gamma_max.min(qbound.as_secs_f64() / (self.window.rtt() + (delta + dfilt).as_secs_f64()))
    }

    /// Returns the decrease of the rate by equations 5 to 7, in bit/s.
    fn gradual(&self, x_curr: f64, delta: f64) -> f64 {
        let Params { prio, kappa, eta, .. } = self.params;
        let tau = self.params.tau.as_secs_f64();
        let delta = delta.min(self.params.max_delta.as_secs_f64());
        let x_offset = x_curr - prio * self.params.xref.as_secs_f64() * bits(self.params.rmax) / self.r_ref;
        let x_diff = x_curr - self.x_prev;
        kappa * (delta / tau) * (x_offset / tau) * self.r_ref + kappa * eta * (x_diff / tau) * self.r_ref
    }

    fn clip(&mut self) {
        // In this order, RMIN above RMAX does not panic.
        self.r_ref = self.r_ref.min(bits(self.params.rmax)).max(bits(self.params.rmin)).max(1.0);
    }

    /// Equations 11 and 12: returns the effect of the buffer on the rate, in bit/s.
    fn shaping(&self, beta: f64) -> f64 {
        let drain = 8.0 * self.params.buffer_len.0 as f64 * self.params.fps;
        (self.params.shaping_max * self.r_ref).min(beta * drain)
    }

    /// Returns r_vin by equation 13.
    fn r_vin(&self) -> f64 {
        (self.r_ref - self.shaping(self.params.beta_v)).max(bits(self.params.rmin))
    }

    /// Returns r_send by equation 14.
    fn r_send(&self) -> f64 {
        (self.r_ref + self.shaping(self.params.beta_s)).min(bits(self.params.rmax)).max(1.0)
    }
}

impl Controller for Nada {
    fn needs(&self) -> Needs {
        Needs { receive_times: true, every_receive_time: true, ..Needs::default() }
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.window.on_ack(ack);
        for packet in ack.packets {
            self.receiver.on_packet(packet);
        }
        if let Some(report) = self.reports.on_ack(ack, false) {
            let feedback = self.receiver.report(&report);
            self.update(feedback, report.interval.as_secs_f64());
        }
        None
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.reports.on_lost(lost);
        self.receiver.on_lost(lost);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if matches!(event.cause, Cause::PersistentCongestion | Cause::Timeout) {
            self.r_ref = 0.0;
            self.clip();
        }
    }

    /// The rate controls the sender, so the window must not be changed in recovery.
    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.window.on_path_change(path);
    }

    fn control(&self) -> Control {
        self.window.control(self.r_send())
    }

    /// Reports the variables under the RFC's names. Rates are in bit/s, delays in seconds.
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("r_ref", self.r_ref);
        put("r_vin", self.r_vin());
        put("r_send", self.r_send());
        put("r_recv", self.last.r_recv.unwrap_or(0.0));
        put("x_curr", self.last.x_curr);
        put("rmode", f64::from(u8::from(!self.last.ramp_up)));
        self.receiver.trace(put);
    }
}
