//! TCP D* ("Davis"): T. Lynn and D. Ghosal, arXiv 2012.14996 (December 2020), with the rules of the
//! authors' Linux module tcp_davis.c at commit 86c3ada (8 May 2020), the version that agrees with
//! every statement of the paper.
//!
//! ```text
//! r         = dD / dt over GAIN 2                        packets/s   (equation 1)
//! bdp       = ceil(r * RTTmin)                           packets     (equation 2)
//! gain_cwnd = 4 + min(2 |bdp - last_bdp|, bdp)           packets     (section 3.2.4)
//! cwnd      = bdp + gain_cwnd                            packets     (section 3.2.2)
//!             limited to between 4 and 32 767                         (tcp_davis.c: MAX_TCP_WINDOW)
//!
//! GAIN 1    settle, longer than 2 RTT; then GAIN 2                                (3.2.2)
//! GAIN 2    measure, longer than 1 RTT; then bdp, gain_cwnd, cwnd and GAIN 1, or  (3.2.3)
//!           DRAIN if RTTmin is older than 10 s: cwnd = 4, RTTmin = RTT            (3.2.1)
//! DRAIN     longer than 2 RTT; then cwnd = bdp + gain_cwnd and GAIN 1
//!
//! slow start (3.3): GAIN 1 and 2 as above, but cwnd = 3/2 bdp (equation 6) while bdp grows;
//!           if bdp did not grow, or on loss or mark: DRAIN, and slow start ends
//!           entered at the start, and again when the flow sends after an idle RTO (RFC 2861): bdp, RTTmin reset
//! ```
//!
//! RTT is the latest sample and includes the ACK delay, as in the module. It is used for r, for
//! RTTmin and for the duration of the modes. Every "longer" is strict and is tested when an ACK
//! arrives: there is no timer. Outside of slow start neither losses nor marks change the window.
//!
//! Nothing is paced: the window is the only control. The controller leaves `pacing_rate` open. The
//! sender's `paced` decides whether the window is spread over the RTT. The paper's D* needs
//! `by-rate` (TCP's default) or `never`. With `always` (QUIC's default) it is a different algorithm
//! with shorter queues.
//!
//! Deviations: times are in nanoseconds, in Linux in microseconds. The product of bytes and RTT has
//! 128 bits; the module's 32 bits overflow at 43 000 packets and 100 ms. Slow start is a mode, not
//! `cwnd < ssthresh`. So one ACK of slow-start rules at a window of 1 after a timeout, as in Linux
//! by accident, does not occur. A loss ends slow start at once, as in the paper and its simulation.
//! The module learns of the loss late, and enters DRAIN where Linux undoes it. Here a spurious
//! event is undone: GAIN 1 follows with the previous window and estimates. Parameters set the
//! response to persistent congestion (not in the paper), to a timeout and to idle time. The
//! module's hook for idle time is not connected, and Linux would not call it;
//! `idle-restart = "off"` corresponds to this. The paper's simulation has a limit of 33 554 432
//! packets. As in the paper, application-limited time counts and lowers `bdp`, unless
//! `ignore-app-limited` is set. So the window may change although the sender allows no growth.

mod model;
mod params;
#[cfg(test)]
mod tests;

pub use params::{IdleRestart, Params, Restart};

use crate::components::undo::Undo;
use crate::{Ack, Cause, Congestion, Control, Controller, Idle, PathInfo, STATE, Sent};
use model::{Model, Start};
use units::{Duration, Time};

crate::states! {
    enum Mode {
        Drain = "Drain",
        Gain1 = "Gain 1",
        Gain2 = "Gain 2",
    }
}

/// Names of the states, indexed by state number.
pub const STATES: &[&str] = Mode::NAMES;

crate::variables! {
    /// Last estimate of the bandwidth-delay product, bdp. Equation 2.
    bdp: "bytes",
    /// Part of the window beyond the bandwidth-delay product, gain_cwnd. Paper section 3.2.4.
    gain_cwnd: "bytes",
    /// Smallest RTT, RTTmin, infinite before the first sample. Paper section 3.2.1.
    min_rtt: "s",
}

/// The controller. Windows are in packets.
#[derive(Clone, Debug)]
pub struct Dstar {
    params: Params,
    mds: u64,
    mode: Mode,
    /// Start of the mode. `None` before the first packet.
    trans_time: Option<Time>,
    start: Start,
    last_rtt: Duration,
    model: Model,
    undo: Undo<Model>,
    last_sent: Time,
    /// Time of the last signal, because `on_spurious` carries none.
    now: Time,
}

impl Dstar {
    /// Creates a controller in slow start.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let cwnd = params.min_cwnd;
        Self {
            mds: path.max_datagram_size.max(1),
            mode: Mode::Gain1,
            trans_time: None,
            start: Start { delivered: 0, time: Time::ZERO, app_limited: false },
            last_rtt: Duration::ZERO,
            model: Model {
                slow_start: true,
                min_rtt: Duration::MAX,
                min_rtt_time: Time::ZERO,
                bdp: cwnd,
                last_bdp: 0,
                gain_cwnd: params.min_gain_cwnd,
                cwnd,
            },
            undo: Undo::new(),
            last_sent: Time::ZERO,
            now: Time::ZERO,
            params,
        }
    }

    fn enter(&mut self, mode: Mode, now: Time, cwnd: u64) {
        (self.mode, self.trans_time) = (mode, Some(now));
        self.model.cwnd = cwnd.max(self.params.min_cwnd).min(self.params.max_cwnd);
    }

    fn restart(&mut self, now: Time) {
        self.model.slow_start = true;
        (self.model.bdp, self.model.last_bdp) = (self.params.min_cwnd, 0);
        if self.last_rtt > Duration::ZERO {
            (self.model.min_rtt, self.model.min_rtt_time) = (self.last_rtt, now);
        }
        self.enter(Mode::Gain1, now, self.params.min_cwnd);
    }

    /// Sends after an idle time. A flow that has measured nothing yet has nothing to reset.
    fn wake(&mut self, now: Time, restart: bool) {
        if restart && self.model.min_rtt != Duration::MAX {
            self.restart(now);
        }
    }

    fn end_slow_start(&mut self, now: Time) {
        self.model.slow_start = false;
        self.enter(Mode::Drain, now, self.params.min_cwnd);
    }

    fn take_rtt(&mut self, now: Time, rtt: Duration) {
        self.last_rtt = rtt;
        // Strictly lower, so that RTTmin becomes old when a queue persists.
        if rtt < self.model.min_rtt {
            (self.model.min_rtt, self.model.min_rtt_time) = (rtt, now);
        }
    }

    fn collapse(&mut self, now: Time, answer: Restart) {
        match answer {
            Restart::SlowStart => self.restart(now),
            Restart::Window if !self.model.slow_start => self.model.cwnd = self.params.min_cwnd,
            // In slow start a timeout is treated as a loss.
            Restart::Window | Restart::Drain => self.end_slow_start(now),
        }
    }
}

impl Controller for Dstar {
    fn on_sent(&mut self, sent: &Sent) {
        self.now = sent.now;
        if self.trans_time.is_none() {
            (self.trans_time, self.model.min_rtt_time) = (Some(sent.now), sent.now);
        }
        let idle = sent.bytes_in_flight <= sent.bytes;
        if let (true, IdleRestart::After(limit)) = (idle, self.params.idle_restart) {
            self.wake(sent.now, sent.now - self.last_sent > limit);
        }
        self.last_sent = sent.now;
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.now = ack.now;
        self.undo.on_ack(ack);
        if let Some(rtt) = ack.latest_rtt.filter(|rtt| *rtt > Duration::ZERO) {
            self.take_rtt(ack.now, rtt);
        }
        self.start.app_limited |= ack.app_limited;
        if self.is_over(ack.now) {
            self.advance(ack);
        }
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.now = event.now;
        self.undo.on_congestion(event.cause, &self.model);
        match event.cause {
            Cause::Loss | Cause::Ecn if self.model.slow_start => self.end_slow_start(event.now),
            // This event changes nothing, so its undo must not either.
            Cause::Loss | Cause::Ecn | Cause::Delay => _ = self.undo.take(),
            Cause::PersistentCongestion => self.collapse(event.now, self.params.persistent_congestion),
            Cause::Timeout => self.collapse(event.now, self.params.timeout),
        }
    }

    fn on_spurious(&mut self) {
        if let Some(before) = self.undo.take() {
            let cwnd = before.cwnd;
            self.model = before;
            self.enter(Mode::Gain1, self.now, cwnd);
        }
    }

    fn on_idle(&mut self, idle: &Idle) {
        self.wake(idle.now, self.params.idle_restart == IdleRestart::Rto);
    }

    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        let before = core::mem::replace(&mut self.mds, path.max_datagram_size.max(1));
        let Params { min_cwnd, max_cwnd, .. } = self.params;
        self.undo.each(&mut self.model, |model| {
            model.rescale(before, self.mds);
            model.cwnd = model.cwnd.max(min_cwnd).min(max_cwnd);
        });
    }

    fn control(&self) -> Control {
        let cwnd = self.model.cwnd.saturating_mul(self.mds);
        let ssthresh = if self.model.slow_start { u64::MAX } else { 0 };
        Control { ssthresh, ..Control::window(cwnd) }
    }

    /// Reports the variables. Windows are in bytes, like [`Control::cwnd`].
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put(STATE, self.mode.number());
        put("bdp", self.model.bdp as f64 * self.mds as f64);
        put("gain_cwnd", self.model.gain_cwnd as f64 * self.mds as f64);
        put("min_rtt", self.model.min_rtt.as_secs_or_infinite());
    }
}
