//! CUBIC of facebook/mvfst at commit b48045620d4a (31 May 2025), the stack in the testbed of
//! QUIC-DC (arXiv 2507.00896). It differs from RFC 9438. Line numbers without a file name refer to
//! `QuicCubic.cpp`.
//!
//! ```text
//! Hystart       cwnd += acked, until ssthresh or the exit of `hystart-mvfst`; then ssthresh = cwnd, W_max and epoch unknown
//! Steady        W_max unknown:  W_max = W_est = cwnd, K = 0, epoch = now                                bytes     611-642
//!               W(t)   = W_max + floor(C * mds * (t - K)^3)          t = now - epoch, rounded up to ms   208-308
//!               W_est += alpha * acked * mds / W_est                 alpha = 3 (1 - beta) / (1 + beta)   661-674
//!               cwnd   = max(cwnd, W(t), W_est)                      no look-ahead, no limit, never falls
//! loss          W_max  = 0.85 cwnd if cwnd < W_max, else cwnd;  epoch = now                              310-318
//!               ssthresh = W_est = cwnd = beta * cwnd, in slow start too;  FastRecovery                  128-138
//! FastRecovery  no growth; at the first ACK of a packet sent after the loss                            353-363
//!               K = cbrt((W_max - cwnd) / (C * mds)), 0 if W_max <= cwnd;  cwnd = W(t);  Steady          685-700
//! persistent congestion   ssthresh = max(cwnd / 2, 2 packets);  cwnd = 2 packets;  Hystart               78-100
//! pacing        gain * cwnd / srtt at each ACK that counts and at each loss: 2.0 in Hystart, 1.25 in FastRecovery, 1.0 in
//!               Steady; starts with the first ACK; bursts of at most 5 packets         375-378, 417-428; QuicCubic.h:18-19
//! application idle        Steady pauses: epoch moves on by that time                               175-192, 582
//! ```
//!
//! Every window is at least 2 packets. The initial window is 10 packets. All acknowledged bytes
//! count in Hystart, whether or not the window was used, because mvfst's CUBIC only detects an idle
//! application. There is no undo. Marks do not count: mvfst responds to them only with validated
//! L4S, and its servers do not mark.
//!
//! Deviations: the sender decides which losses are new and which packets were sent before the
//! epoch. A packet sent at the time of a reduction counts as sent before it; mvfst's clock has
//! moved on by then. An application is idle while it limits the sender and the window is not full,
//! and while nothing is in flight. In mvfst the stream layer reports this. `W_est` keeps fractions
//! of bytes. A retransmission timeout, which QUIC does not have, is treated as persistent
//! congestion. A restart after idle, which mvfst does not have, is ignored. The burst size is an
//! upper limit, and in between packets are sent one by one. mvfst's pacer never releases fewer. The
//! largest window (860 000 packets) is not implemented.

mod curve;
mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use super::curve::k_after;
use crate::components::datagram_size::resized;
use crate::components::slow_start::SlowStart;
use crate::{Ack, Cause, Congestion, Control, Controller, PathInfo, STATE, Sent, initial_window_or_default};
use curve::{Curve, in_ms};
use units::{Duration, Rate, Time};

crate::states! {
    /// `CubicStates`.
    enum State {
        Hystart = "HyStart",
        FastRecovery = "Fast Recovery",
        Steady = "Steady",
    }
}

/// Names of the states, indexed by state number.
pub const STATES: &[&str] = State::NAMES;

crate::variables! {
    /// Slow-start threshold, infinite until slow start has ended. mvfst QuicCubic.cpp:128-138.
    ssthresh: "bytes",
    /// Reno-friendly window, W_est. mvfst QuicCubic.cpp:661.
    w_est: "bytes",
    /// Window at the last loss, W_max, or a lower value if the window had not returned to its
    /// maximum, once known. mvfst QuicCubic.cpp:310.
    w_max: "bytes"; later,
}

/// The controller. Windows are in bytes.
#[derive(Clone, Debug)]
pub struct CubicMvfst {
    params: Params,
    path: PathInfo,
    floor: u64,
    state: State,
    cwnd: u64,
    ssthresh: u64,
    /// `estRenoCwnd`.
    w_est: f64,
    curve: Option<Curve>,
    slow_start: SlowStart,
    pacing_rate: Option<Rate>,
    /// Time of the last ACK, from which idle time is measured.
    last_ack: Time,
}

impl CubicMvfst {
    /// Creates a controller in slow start.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let floor = params.min_window.saturating_mul(path.max_datagram_size);
        let cwnd = initial_window_or_default(params.initial_window, path.max_datagram_size).max(floor);
        Self {
            floor,
            state: State::Hystart,
            cwnd,
            ssthresh: u64::MAX,
            w_est: cwnd as f64,
            curve: None,
            slow_start: SlowStart::new(params.slow_start, path),
            pacing_rate: None,
            last_ack: Time::ZERO,
            params,
            path,
        }
    }

    /// Implements `pacingGain`.
    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Hystart => self.params.pacing_gain_hystart,
            State::FastRecovery => self.params.pacing_gain_recovery,
            State::Steady => self.params.pacing_gain_steady,
        }
    }

    fn refresh_pacing_rate(&mut self, smoothed_rtt: Duration) {
        if smoothed_rtt > Duration::ZERO {
            let rate = self.pacing_gain() * self.cwnd as f64 / smoothed_rtt.as_secs_f64();
            self.pacing_rate = Some(Rate::from_bytes_per_sec(rate.max(1.0)));
        }
    }

    /// Implements `onPacketAckedInHystart`.
    fn slow_start(&mut self, ack: &Ack) {
        self.cwnd += self.slow_start.growth(ack.acked);
        self.cwnd = self.slow_start.drain(ack, self.cwnd);
        if self.cwnd >= self.ssthresh {
            self.slow_start = SlowStart::new(self.params.slow_start, self.path);
        } else if !self.slow_start.ended(ack, self.cwnd) {
            return;
        }
        (self.ssthresh, self.curve, self.state) = (self.cwnd, None, State::Steady);
    }

    /// Implements `cubicReduction`.
    fn reduce(&mut self, now: Time) {
        let before = self.cwnd as f64;
        let shrinking = self.curve.is_some_and(|curve| self.cwnd < curve.w_max);
        let w_max = if shrinking { (before * self.params.last_max_reduction) as u64 } else { self.cwnd };
        self.curve = Some(Curve { w_max, k: 0.0, epoch: now });
        self.cwnd = ((before * self.params.beta) as u64).max(self.floor);
        (self.ssthresh, self.w_est, self.state) = (self.cwnd, self.cwnd as f64, State::FastRecovery);
        self.slow_start.leave();
    }

    /// Implements `onPersistentCongestion`.
    fn collapse(&mut self) {
        self.ssthresh = (self.cwnd / 2).max(self.floor);
        (self.cwnd, self.curve, self.state) = (self.floor, None, State::Hystart);
        self.slow_start.leave();
    }

    /// Excludes the time since the last ACK from t, because the application had nothing to send.
    fn stand_still(&mut self, now: Time) {
        if let Some(curve) = &mut self.curve {
            curve.epoch += in_ms(now - self.last_ack);
        }
        self.last_ack = now;
    }
}

impl Controller for CubicMvfst {
    fn on_sent(&mut self, sent: &Sent) {
        self.slow_start.on_sent(sent);
        let nothing_in_flight = sent.bytes_in_flight <= sent.bytes;
        if nothing_in_flight {
            self.stand_still(sent.now);
        }
    }

    /// Implements `onPacketAcked`.
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        // mvfst ignores an ACK only of late packets, and one whose newest packet was sent before
        // the epoch.
        if ack.packets.last().is_none_or(|newest| newest.before_reduction) {
            return None;
        }
        match self.state {
            State::Hystart => self.slow_start(ack),
            State::FastRecovery => self.recovered(ack.now),
            State::Steady => self.climb(ack),
        }
        self.last_ack = ack.now;
        self.refresh_pacing_rate(ack.smoothed_rtt);
        None
    }

    /// Implements `onPacketLoss`.
    fn on_congestion(&mut self, event: &Congestion) {
        match event.cause {
            Cause::Loss => {
                self.reduce(event.now);
                if self.pacing_rate.is_some() {
                    self.refresh_pacing_rate(event.smoothed_rtt);
                }
            }
            Cause::PersistentCongestion | Cause::Timeout => self.collapse(),
            Cause::Ecn | Cause::Delay => {}
        }
    }

    fn on_path_change(&mut self, path: PathInfo) {
        let (before, after) = (self.path.max_datagram_size.max(1), path.max_datagram_size.max(1));
        let ratio = before as f64 / after as f64;
        self.path = path;
        self.cwnd = resized(self.cwnd, self.params.min_window, before, after);
        self.floor = self.params.min_window.saturating_mul(after);
        self.slow_start.on_path_change(path);
        // In recovery, K is not yet known.
        if let (State::Steady, Some(curve)) = (self.state, &mut self.curve) {
            curve.k = k_after(in_ms(self.last_ack - curve.epoch).as_secs_f64(), curve.k, ratio);
        }
    }

    fn control(&self) -> Control {
        Control {
            cwnd: self.cwnd,
            pacing_rate: self.pacing_rate,
            ssthresh: if self.state == State::Hystart { self.ssthresh } else { 0 },
            send_quantum: Some(self.params.pacing_burst.saturating_mul(self.path.max_datagram_size)),
            wake: Time::NEVER,
        }
    }

    /// Reports the variables. Windows are in bytes, like [`Control::cwnd`].
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put(STATE, self.state.number());
        put("ssthresh", if self.ssthresh == u64::MAX { f64::INFINITY } else { self.ssthresh as f64 });
        put("w_est", self.w_est);
        if let Some(curve) = &self.curve {
            put("w_max", curve.w_max as f64);
        }
    }
}
