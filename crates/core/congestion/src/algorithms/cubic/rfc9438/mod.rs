//! CUBIC, RFC 9438 (August 2023). RFC 8312's `K` and `W_est`, which some stacks use, are
//! `curve = "rfc8312"`.
//!
//! ```text
//! W_cubic(t) = C * (t - K)^3 + W_max            segments; t, K in seconds          (4.2)
//! K          = cbrt((W_max - cwnd_epoch) / C)   seconds                            (4.2)
//! target     = clamp(W_cubic(t + RTT), cwnd, 1.5 * cwnd)                           (4.2)
//! W_est     += alpha * segments_acked / cwnd    from cwnd_epoch                    (4.3)
//! alpha      = 3 (1 - beta) / (1 + beta), and 1 once W_est >= cwnd_prior           (4.3)
//! cwnd       = W_est  if W_cubic(t) < W_est                                        (4.3)
//! cwnd      += segments_acked * (target - cwnd) / cwnd   otherwise                 (4.4, 4.5)
//! event:  W_max = cwnd * (1 + beta) / 2 if cwnd < W_max (fast convergence), else cwnd   (4.7)
//!         ssthresh = beta * cwnd; cwnd = max(ssthresh, floor of loss or of ECN)         (4.6)
//! after a timeout, and after a slow start that ended without loss: K = 0, W_max = cwnd   (4.8, 4.10)
//! before the first loss: cwnd += at least initial_growth * segments_acked              (Linux bictcp_update, off)
//! RFC 8312:  K = cbrt(W_max (1 - beta) / C), W_est = beta W_max + alpha t / RTT              (8312: 4.1, 4.2)
//! spurious event: everything restored, if cwnd < cwnd_prior                             (4.9.2)
//! ```
//!
//! Windows are in segments and `t` in seconds, as in the RFC. Bytes appear only at the interface.
//! `t` starts with the first growth after the reduction, which is the end of recovery. It pauses
//! while the sender leaves the window unused (4.2, 5.8). That is the time between two ACKs of which
//! the later causes no growth, and the time in which nothing is in flight.
//!
//! Deviations: the reduction is based on `cwnd`, not FlightSize (RFC 9002 section 7.3.2, Linux).
//! Section 4.6 allows it, because the sender allows no growth of an unused window. The smallest
//! window after an ECN mark is RFC 9002's 2 packets, see `min-window-ecn`. Persistent congestion
//! (RFC 9002 section 7.6.2) follows 4.8 with `ssthresh` as set by the loss. The standard slow start
//! is the default; 4.10 prefers HyStart++. A second timeout without an ACK in between keeps
//! `ssthresh` (RFC 5681 section 3.1). A spurious timeout is undone like a spurious loss (4.9.1
//! refers to RFC 4015). Idle time restarts the window if the sender asks for it (see `idle`), and a
//! new curve begins after it. `count` applies only to slow start and the Reno-friendly part,
//! because the curve is a function of time.

mod curve;
mod params;
#[cfg(test)]
mod tests;

pub use params::{Curve, Params};

use super::curve::k_after;
use crate::components::window::Memory;
use crate::components::window_rule::{Framed, Options, WindowController, WindowRule, options};
use crate::{Ack, Cause, Congestion, Sent};
use curve::Epoch;
use units::Time;

/// State that an undo restores with the window.
#[derive(Clone, Debug)]
pub struct State {
    /// W_max, or 0 while undefined (4.10).
    w_max: f64,
    cwnd_prior: f64,
    /// Whether no loss has occurred since the start or a timeout, so that the capacity of the path
    /// is unknown.
    searching: bool,
    /// Current stage. `None` in slow start and until the first growth after a congestion event.
    epoch: Option<Epoch>,
}

/// A reduced or restarted window begins a new stage.
impl Memory for State {
    fn forget(&mut self) {
        self.epoch = None;
    }
}

impl State {
    /// Converts windows to a new segment size. `ratio` is the old size over the new one.
    fn rescale(&mut self, ratio: f64, last_ack: Time) {
        self.w_max *= ratio;
        self.cwnd_prior *= ratio;
        if let Some(epoch) = &mut self.epoch {
            epoch.w_est *= ratio;
            epoch.k = k_after((last_ack - epoch.start).as_secs_f64(), epoch.k, ratio);
        }
    }
}

crate::variables! {
    /// Slow-start threshold, infinite until slow start has ended. RFC 9438 section 4.6.
    ssthresh: "bytes",
    /// Window before the last reduction, W_max, or a lower value after fast convergence; 0 while
    /// undefined. RFC 9438 sections 4.7, 4.10.
    w_max: "bytes",
    /// Reno-friendly window, W_est, in congestion avoidance. RFC 9438 section 4.3.
    w_est: "bytes"; later,
}

/// The controller. All windows are in segments.
pub type Cubic = WindowController<Rule>;

type Frame = Framed<Rule>;

/// The rule.
#[derive(Clone, Debug)]
pub struct Rule {
    params: Params,
    /// Additive increase from the parameter or [`curve::alpha`], used while the estimate is below
    /// the prior window.
    alpha: f64,
    /// Time of the last ACK, from which unused time is measured.
    last_ack: Time,
}

impl From<Params> for Rule {
    fn from(params: Params) -> Self {
        let alpha = params.alpha.unwrap_or_else(|| curve::alpha(params.beta));
        Self { params, alpha, last_ack: Time::ZERO }
    }
}

impl Rule {
    fn after_loss(&self, frame: &mut Frame, floor: f64, ssthresh: f64) {
        let Params { beta, fast_convergence, .. } = self.params;
        let (cwnd, s) = (frame.window.cwnd, &mut frame.window.memory);
        let shrinking = fast_convergence && cwnd < s.w_max;
        s.w_max = if shrinking { cwnd * (1.0 + beta) / 2.0 } else { cwnd };
        (s.cwnd_prior, s.searching) = (cwnd, false);
        frame.window.shrink((cwnd * beta).max(floor), ssthresh);
    }
}

/// Section 4.8: slow start up to `ssthresh`, then a curve with K = 0.
fn collapse(frame: &mut Frame, cwnd: f64, ssthresh: f64) {
    let s = &mut frame.window.memory;
    (s.w_max, s.searching) = (0.0, true);
    frame.window.shrink(cwnd, ssthresh);
}

impl WindowRule for Rule {
    type Unit = f64;
    type Memory = State;

    fn begin(&self) -> (Options, State) {
        let state = State { w_max: 0.0, cwnd_prior: 0.0, searching: true, epoch: None };
        (Options { resume: self.params.careful_resume.saved(), ..options!(self.params) }, state)
    }

    fn on_sent(&mut self, frame: &mut Frame, sent: &Sent) {
        let idle = sent.bytes_in_flight <= sent.bytes;
        if idle {
            self.stand_still(frame, sent.now);
        }
    }

    fn slow_start(&mut self, frame: &mut Frame, ack: &Ack) {
        // An ACK only of late packets says nothing about the use of the window.
        if ack.acked > 0 {
            frame.slow_start(ack, |grown| grown);
            self.last_ack = ack.now;
        }
    }

    fn grow(&mut self, frame: &mut Frame, ack: &Ack) {
        if ack.growth > 0 {
            self.congestion_avoidance(frame, ack);
            self.last_ack = ack.now;
        } else if ack.acked > 0 {
            self.stand_still(frame, ack.now);
        }
    }

    /// The time of the curve excludes windows that are not used.
    fn stands_still(&self) -> bool {
        true
    }

    fn reduce(&mut self, frame: &mut Frame, _: &Congestion) -> f64 {
        (frame.window.cwnd * self.params.beta).max(frame.min_window())
    }

    fn on_congestion(&mut self, frame: &mut Frame, event: &Congestion, repeated: bool) {
        let (reduced, least) = (self.reduce(frame, event), frame.min_window());
        let ssthresh = frame.window.ssthresh;
        match event.cause {
            Cause::Loss | Cause::Delay => self.after_loss(frame, least, reduced),
            Cause::Ecn => self.after_loss(frame, self.params.min_window_ecn as f64, reduced),
            Cause::PersistentCongestion => collapse(frame, least, ssthresh),
            Cause::Timeout if repeated => collapse(frame, frame.loss_window(), ssthresh),
            Cause::Timeout => {
                frame.window.memory.cwnd_prior = frame.window.cwnd;
                collapse(frame, frame.loss_window(), reduced);
            }
        }
    }

    fn on_resize(&mut self, frame: &mut Frame, ratio: f64) {
        frame.each_window(|window| window.memory.rescale(ratio, self.last_ack));
    }

    /// Reports the variables. Windows are in bytes, like [`Control::cwnd`](crate::Control::cwnd).
    fn trace(&self, frame: &Frame, put: &mut dyn FnMut(&'static str, f64)) {
        let (size, s) = (frame.mds() as f64, &frame.window.memory);
        put("w_max", s.w_max * size);
        if let Some(epoch) = &s.epoch {
            put("w_est", epoch.w_est * size);
        }
    }
}
