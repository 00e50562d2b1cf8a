//! CUBIC, RFC 9438 (August 2023). Not RFC 8312: `K` and `W_est` differ.
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
//! after a timeout, and after a slow start left without loss: K = 0, W_max = cwnd        (4.8, 4.10)
//! before the first loss cwnd += at least initial_growth * segments_acked               (Linux bictcp_update, off)
//! spurious event: everything back, if cwnd < cwnd_prior                                 (4.9.2)
//! ```
//!
//! Windows are in segments and `t` in seconds, as in the RFC; bytes appear only at the edge. `t` starts with the
//! first growth after the reduction, which is the end of recovery, and stands still while the sender leaves the
//! window unused (4.2, 5.8): between two ACKs of which the later grows nothing, and while nothing is in flight.
//!
//! Deviations: the reduction takes `cwnd`, not FlightSize (RFC 9002 section 7.3.2, Linux; 4.6 allows it, because the
//! sender grants no growth to an unused window). The ECN floor is RFC 9002's 2 packets, see `min-window-ecn`.
//! Persistent congestion (RFC 9002 section 7.6.2) follows 4.8 with `ssthresh` as the loss left it. The standard slow
//! start is the default; 4.10 prefers HyStart++. A second timeout without an ACK in between keeps `ssthresh`
//! (RFC 5681 section 3.1). A spurious timeout is undone as a spurious loss (4.9.1 points to RFC 4015). Idle time restarts the
//! window where the sender asks for it (see `idle`), and a new curve begins after it. `count` is about slow start and the
//! Reno-friendly part alone: the curve is a function of time.

mod curve;
mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use super::curve::k_after;
use crate::components::count::Counting;
use crate::components::datagram_size::rescaled;
use crate::components::idle;
use crate::components::slow_start::SlowStart;
use crate::components::undo::Undo;
use crate::{Ack, Cause, Congestion, Control, Controller, Idle, PathInfo, Sent, initial_window_of};
use curve::Epoch;
use units::Time;

/// What a spurious congestion event must bring back.
#[derive(Clone, Debug)]
struct Window {
    cwnd: f64,
    ssthresh: f64,
    slow_start: SlowStart,
    /// 0 while undefined (4.10).
    w_max: f64,
    cwnd_prior: f64,
    /// No loss since the start, or since a timeout: how much the path carries is unknown.
    searching: bool,
    /// `None` in slow start and until the first growth after a congestion event.
    epoch: Option<Epoch>,
}

impl Window {
    /// Segments were larger by this factor.
    fn rescale(&mut self, ratio: f64, min: f64, last_ack: Time) {
        self.cwnd = rescaled(self.cwnd, min, ratio);
        for w in [&mut self.ssthresh, &mut self.w_max, &mut self.cwnd_prior] {
            *w *= ratio;
        }
        if let Some(epoch) = &mut self.epoch {
            epoch.w_est *= ratio;
            epoch.k = k_after((last_ack - epoch.start).as_secs_f64(), epoch.k, ratio);
        }
    }
}

/// The controller. Every window is in segments.
#[derive(Clone, Debug)]
pub struct Cubic {
    params: Params,
    counting: Counting,
    mds: f64,
    initial: f64,
    state: Window,
    undo: Undo<Window>,
    /// The last ACK, from which an unused time is measured.
    last_ack: Time,
}

impl Cubic {
    /// In slow start.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let mds = path.max_datagram_size.max(1);
        let cwnd = initial_window_of(params.initial_window, mds) as f64 / mds as f64;
        let state = Window {
            cwnd,
            ssthresh: f64::INFINITY,
            slow_start: SlowStart::new(params.slow_start, path),
            w_max: 0.0,
            cwnd_prior: 0.0,
            searching: true,
            epoch: None,
        };
        let counting = Counting { count: params.count, limit: params.abc_limit, mds };
        let (mds, undo) = (mds as f64, Undo::new());
        Self { params, counting, mds, initial: cwnd, state, undo, last_ack: Time::ZERO }
    }

    fn slow_start(&mut self, ack: &Ack) {
        self.state.cwnd += self.state.slow_start.growth(self.counting.of_slow_start(ack)) as f64 / self.mds;
        let cwnd = self.cwnd_bytes();
        if self.state.slow_start.ended(ack, cwnd) {
            self.state.ssthresh = self.state.cwnd;
        }
    }

    fn reduce(&mut self, floor: f64) {
        let Params { beta, fast_convergence, .. } = self.params;
        let ssthresh = self.reduced();
        let w = &mut self.state;
        let shrinking = fast_convergence && w.cwnd < w.w_max;
        w.w_max = if shrinking { w.cwnd * (1.0 + beta) / 2.0 } else { w.cwnd };
        w.cwnd_prior = w.cwnd;
        w.searching = false;
        w.ssthresh = ssthresh;
        // The floor must not lift a window that a timeout left below it.
        w.cwnd = (w.cwnd * beta).max(floor).min(w.cwnd);
        w.epoch = None;
    }

    /// Section 4.8: slow start up to `ssthresh`, then a curve with K = 0.
    fn collapse(&mut self, cwnd: f64, ssthresh: f64) {
        let w = &mut self.state;
        (w.cwnd, w.ssthresh) = (cwnd.min(w.cwnd), ssthresh);
        (w.w_max, w.searching, w.epoch) = (0.0, true, None);
    }

    fn reduced(&self) -> f64 {
        (self.state.cwnd * self.params.beta).max(self.params.min_window as f64)
    }

    fn on_timeout(&mut self, repeated: bool) {
        let ssthresh = if repeated { self.state.ssthresh } else { self.reduced() };
        self.state.cwnd_prior = if repeated { self.state.cwnd_prior } else { self.state.cwnd };
        // RFC 5681 section 3.1: the loss window is one segment.
        self.collapse(1.0, ssthresh);
    }

    fn cwnd_bytes(&self) -> u64 {
        (self.state.cwnd * self.mds + 0.5) as u64
    }
}

impl Controller for Cubic {
    fn on_sent(&mut self, sent: &Sent) {
        let idle = sent.bytes_in_flight <= sent.bytes;
        if idle {
            self.stand_still(sent.now);
        }
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.undo.on_ack(ack);
        // An ACK of nothing but late packets says nothing of the use of the window.
        if ack.acked == 0 {
            return None;
        }
        if self.state.cwnd < self.state.ssthresh {
            self.slow_start(ack);
        } else if ack.growth == 0 {
            self.stand_still(ack.now);
        } else {
            self.congestion_avoidance(ack);
        }
        self.last_ack = ack.now;
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let repeated = self.undo.on_congestion(event.cause, &self.state);
        self.state.slow_start.leave();
        match event.cause {
            Cause::Loss | Cause::Delay => self.reduce(self.params.min_window as f64),
            Cause::Ecn => self.reduce(self.params.min_window_ecn as f64),
            Cause::PersistentCongestion => {
                self.collapse(self.params.min_window as f64, self.state.ssthresh);
            }
            Cause::Timeout => self.on_timeout(repeated),
        }
    }

    fn on_spurious(&mut self) {
        if let Some(before) = self.undo.take().filter(|b| b.cwnd > self.state.cwnd) {
            self.state = before;
        }
    }

    /// The congestion avoidance that follows is a new stage.
    fn on_idle(&mut self, event: &Idle) {
        let w = &mut self.state;
        (w.cwnd, w.ssthresh) = idle::restart(event, w.cwnd, w.ssthresh, self.initial);
        w.epoch = None;
    }

    fn on_path_change(&mut self, path: PathInfo) {
        let mds = path.max_datagram_size.max(1);
        let ratio = self.mds / mds as f64;
        (self.mds, self.counting.mds) = (mds as f64, mds);
        self.initial = initial_window_of(self.params.initial_window, mds) as f64 / self.mds;
        for window in self.undo.saved().into_iter().chain([&mut self.state]) {
            window.rescale(ratio, self.params.min_window as f64, self.last_ack);
            window.slow_start.on_path_change(path);
        }
    }

    fn control(&self) -> Control {
        let ssthresh = (self.state.ssthresh * self.mds) as u64;
        Control {
            cwnd: self.cwnd_bytes(),
            pacing_rate: None,
            ssthresh,
            send_quantum: None,
            wake: Time::NEVER,
        }
    }

    /// Windows in bytes, as [`Control::cwnd`].
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("ssthresh", self.state.ssthresh * self.mds);
        put("w_max", self.state.w_max * self.mds);
        if let Some(epoch) = &self.state.epoch {
            put("w_est", epoch.w_est * self.mds);
        }
    }
}
