//! LEDBAT++: draft-irtf-iccrg-ledbat-plus-plus-01 (August 2020). LEDBAT with RTTs that increases by
//! less than Reno, decreases multiplicatively, and slows down periodically.
//!
//! ```text
//! w in packets, times in seconds; RTTs in place of one-way delays                                  (4.5)
//! base  = smallest RTT of the last 10 minutes, current = smallest of the last 4 RTTs, delay = current - base
//! GAIN  = 1 / min(16, ceil(2 TARGET / base)),  TARGET = 60 ms                                      (4.2)
//! slow start   from 2 packets; each packet acknowledged  w += GAIN                                 (4.1)
//!              the first one ends when delay > 3/4 TARGET
//! avoidance    each round trip  w += GAIN                                    delay <= TARGET       (4.2)
//!                               w += max(GAIN - w (delay / TARGET - 1), -w / 2)  above             (4.3)
//! slowdown     ssthresh = w,  w = 2 for two RTTs, then slow start up to ssthresh                   (4.4)
//!              two RTTs after the first slow start, then 9 times the last slowdown's duration after its end
//! loss, mark   w = ssthresh = w / 2, at least 2
//! timeout      ssthresh likewise, w = 1, then a first slow start again
//! ```
//!
//! A slowdown lets the queue drain, so that all flows measure the same base. This cures the
//! latecomer's advantage, and costs at most a tenth of the link. Slowdowns of several flows become
//! synchronous. A flow alone oscillates between TARGET and slightly less.
//!
//! The draft's text was read in quotations of version 01 only, and its rules in two implementations
//! that name it: Apple's (tcp_ledbat.c, 2021) and one of uTP in Go. Version 06 (January 2026) could
//! not be read. Section 4.4 ramps by "the slow start algorithm". Apple's ramp has the gain; without
//! it (`gain-in-ramp = false`) the ramp doubles each round trip. Base and filter are those of RFC
//! 6817. Apple also moves the next slowdown by 30 s at each decrease, and ends a ramp at TARGET.
//!
//! Deviations: a loss during a freeze halves the window that the slowdown found, because the frozen
//! window says nothing about the loss. Changes per round trip are spread over its ACKs. Only bytes
//! for which the sender allows growth make the window grow; a decrease counts every byte. A
//! slowdown cannot be undone. Persistent congestion leaves the smallest window, and then slow
//! start begins anew.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::algorithms::delay::ledbat::delays::Delays;
use crate::components::window_rule::{Frame, Options, WindowController, WindowRule};
use crate::{Ack, Cause, Congestion, STATE};
use units::{Duration, Time};

crate::states! {
    /// Phase of the window.
    enum Phase {
        SlowStart = "slow start",
        Avoidance = "avoidance",
        Freeze = "freeze",
        Ramp = "ramp",
    }
}

/// Names of the states, indexed by state number.
pub const STATES: &[&str] = Phase::NAMES;

crate::variables! {
    /// Slow-start threshold, infinite until slow start has ended. Section 4.4.
    ssthresh: "bytes",
    /// Current RTT minus the base RTT, from the first sample on. RFC 6817 section 2.4.2.
    queuing_delay: "s"; later,
    /// Packets by which a round trip grows the window, GAIN. Section 4.2.
    gain: ""; later,
}

/// The controller. Windows are in packets.
pub type LedbatPlusPlusController = WindowController<LedbatPlusPlus>;

/// The rule, with its measurements.
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    params: Params,
    delays: Delays,
    phase: Phase,
    /// Time at which the phase ends, if it ends by time.
    until: Time,
    /// Time at which the slowdown began.
    began: Time,
}

impl From<Params> for LedbatPlusPlus {
    fn from(params: Params) -> Self {
        Self {
            delays: Delays::new(params.base_history, params.base_interval, params.current_filter),
            phase: Phase::SlowStart,
            until: Time::NEVER,
            began: Time::ZERO,
            params,
        }
    }
}

impl LedbatPlusPlus {
    /// Returns GAIN.
    fn gain(&self) -> f64 {
        let base = self.delays.base_delay().unwrap_or(0).max(1) as f64;
        1.0 / libm::ceil(2.0 * self.params.target.0 as f64 / base).clamp(1.0, self.params.max_divisor)
    }

    /// Returns the queuing delay over TARGET.
    fn ratio(&self) -> f64 {
        self.delays.queuing().unwrap_or(0) as f64 / self.params.target.0.max(1) as f64
    }

    /// Returns the change of a window in a round trip of congestion avoidance.
    fn change(&self, w: f64) -> f64 {
        let excess = (self.ratio() - 1.0).max(0.0);
        (self.gain() - self.params.decrease * w * excess).max(-0.5 * w)
    }

    fn enter(&mut self, phase: Phase, until: Time) {
        (self.phase, self.until) = (phase, until);
    }

    /// Moves on to the next phase when its time has come.
    fn advance(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        let freeze = ack.smoothed_rtt.mul_f64(self.params.freeze_rounds);
        let (now, grown) = (ack.now, !frame.window.in_slow_start());
        match self.phase {
            Phase::SlowStart if grown => self.avoid(now, freeze),
            Phase::Avoidance if now >= self.until => {
                self.began = now;
                self.enter(Phase::Freeze, now + freeze);
                let (found, least) = (frame.window.cwnd, frame.min_window());
                // An undo would end the slowdown.
                frame.each_window(|window| window.cwnd = window.cwnd.min(least));
                frame.window.ssthresh = found;
            }
            Phase::Freeze if now >= self.until => self.enter(Phase::Ramp, Time::NEVER),
            Phase::Ramp if grown => {
                let period = self.params.slowdown_period.unwrap_or(0.0);
                self.avoid(now, (now - self.began).mul_f64(period));
            }
            _ => {}
        }
    }

    /// Begins congestion avoidance, with a slowdown after a time.
    fn avoid(&mut self, now: Time, time: Duration) {
        let until = self.params.slowdown_period.map_or(Time::NEVER, |_| now + time);
        self.enter(Phase::Avoidance, until);
    }
}

impl WindowRule for LedbatPlusPlus {
    type Unit = f64;
    type Memory = ();

    fn begin(&self) -> (Options, ()) {
        let Params { initial_window, min_window, .. } = self.params;
        let options = Options { initial_window: Some(initial_window), min_window, ..Options::default() };
        (options, ())
    }

    fn on_ack(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        if let Some(rtt) = ack.latest_rtt {
            self.delays.add(ack.now, i64::try_from(rtt.0).unwrap_or(i64::MAX));
        }
        self.delays.forget(ack.now, ack.smoothed_rtt);
        if self.phase == Phase::SlowStart && self.ratio() > self.params.slow_start_exit {
            frame.window.ssthresh = frame.window.ssthresh.min(frame.window.cwnd);
        }
        self.advance(frame, ack);
    }

    fn slow_start(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        let doubles = self.phase == Phase::Ramp && !self.params.gain_in_ramp;
        let gain = if doubles { 1.0 } else { self.gain() };
        if self.phase != Phase::Freeze {
            frame.slow_start(ack, |grown| gain * grown);
        }
    }

    fn grow(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        if self.phase == Phase::Freeze {
            return;
        }
        let w = frame.window.cwnd;
        let change = self.change(w);
        let packets = if change > 0.0 { frame.counted(ack) } else { ack.acked as f64 / frame.mds() as f64 };
        let least = frame.min_window().min(w);
        frame.window.cwnd = (w + change * (packets / w).min(1.0)).max(least);
        // Slow start would undo the decrease otherwise.
        frame.window.ssthresh = frame.window.ssthresh.min(frame.window.cwnd);
    }

    fn reduce(&mut self, frame: &mut Frame<f64>, event: &Congestion) -> f64 {
        let frozen = self.phase == Phase::Freeze;
        let found = if frozen { frame.window.ssthresh } else { frame.window.cwnd };
        if matches!(event.cause, Cause::Timeout | Cause::PersistentCongestion) {
            self.enter(Phase::SlowStart, Time::NEVER);
        }
        (self.params.reduction * found).max(frame.min_window())
    }

    fn on_restart(&mut self, _: &mut Frame<f64>) {
        self.enter(Phase::SlowStart, Time::NEVER);
    }

    /// Reports the queuing delay in seconds, the gain in packets, and the phase.
    fn trace(&self, _: &Frame<f64>, put: &mut dyn FnMut(&'static str, f64)) {
        if let Some(queuing) = self.delays.queuing() {
            put("queuing_delay", queuing as f64 * 1e-9);
            put("gain", self.gain());
        }
        put(STATE, self.phase.number());
    }
}
