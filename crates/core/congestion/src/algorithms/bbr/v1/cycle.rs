//! The modes, their gains, and the gain cycle of ProbeBW (draft section 4.3.4).

use super::Bbr1;
use crate::Ack;
use crate::algorithms::bbr::scale::{Scale, Scaled};
use units::Time;

crate::states! {
    /// `bbr->mode`.
    pub(super) enum Mode {
        /// Doubles the rate each round.
        Startup = "Startup",
        /// Drains the queue that Startup built.
        Drain = "Drain",
        /// Sends at the estimate on average. One phase in eight probes, the next one drains the
        /// queue it built.
        ProbeBw = "ProbeBW",
        /// Keeps very little in flight, to measure the path's own delay.
        ProbeRtt = "ProbeRTT",
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    /// Index of the phase, below the number of phases.
    pub(super) idx: usize,
    stamp: Time,
}

impl Scaled for Bbr1 {
    fn phase(&self) -> Option<usize> {
        (self.mode == Mode::ProbeBw).then_some(self.cycle.idx)
    }

    fn scale_probe_bw(&mut self, scale: Scale) {
        self.scale = scale;
        if self.mode == Mode::ProbeBw {
            self.set_pacing_rate(self.pacing_gain());
        }
    }

    fn end_startup(&mut self) {
        self.full_bw_reached = true;
    }
}

impl Bbr1 {
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => self.params.high_gain,
            Mode::Drain => self.params.drain_gain,
            // A policer drops what exceeds its rate, so do not probe.
            Mode::ProbeBw if self.policer.lt_use_bw => 1.0,
            Mode::ProbeBw => self.params.pacing_gain_cycle[self.cycle.idx] * self.scale.pacing,
            Mode::ProbeRtt => 1.0,
        }
    }

    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => self.params.high_gain,
            Mode::ProbeBw => self.params.cwnd_gain * self.scale.cwnd,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// `bbr_reset_probe_bw_mode`: starts at a random phase, so that flows do not probe at the same
    /// time. Never starts at the second phase, which drains the queue of the first.
    pub(super) fn enter_probe_bw(&mut self, now: Time) {
        let phases = self.params.pacing_gain_cycle.len();
        self.mode = Mode::ProbeBw;
        self.cycle.idx = phases - 1 - self.rng.below(phases as u64 - 1) as usize;
        self.advance_cycle_phase(now);
    }

    fn advance_cycle_phase(&mut self, now: Time) {
        let idx = (self.cycle.idx + 1) % self.params.pacing_gain_cycle.len();
        self.cycle = Cycle { idx, stamp: now };
    }

    /// Implements `bbr_update_cycle_phase`.
    pub(super) fn update_cycle_phase(&mut self, ack: &Ack) {
        if self.mode == Mode::ProbeBw && self.is_next_cycle_phase(ack) {
            self.advance_cycle_phase(ack.now);
        }
    }

    /// Implements `bbr_is_next_cycle_phase`.
    fn is_next_cycle_phase(&self, ack: &Ack) -> bool {
        let (gain, inflight) = (self.pacing_gain(), ack.prior_in_flight);
        let is_full_length = ack.now - self.cycle.stamp > self.min_rtt.min_rtt;
        let own = if self.policer.lt_use_bw { 1.0 } else { self.params.pacing_gain_cycle[self.cycle.idx] };
        let kind = if self.scale.ends { gain } else { own };
        if kind > 1.0 {
            // With a small min_rtt, reaching this inflight may take longer. With a small buffer, or
            // a gain scaled to at most 1, it is never reached.
            is_full_length && (gain <= 1.0 || ack.lost > 0 || inflight >= self.inflight(gain))
        } else if kind < 1.0 {
            is_full_length || inflight <= self.inflight(1.0)
        } else {
            is_full_length
        }
    }

    /// Implements `bbr_check_drain`.
    pub(super) fn check_drain(&mut self, ack: &Ack) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && ack.bytes_in_flight <= self.inflight(1.0) {
            self.enter_probe_bw(ack.now);
        }
    }
}
