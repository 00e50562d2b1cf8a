//! Control parameters derived from the model: pacing rate, send quantum, congestion window,
//! recovery.

use super::Frame;
use crate::Ack;
use crate::algorithms::bbr::common::state::State;
use crate::algorithms::bbr::common::window::{paced, send_quantum};
use crate::algorithms::bbr::scale::Scale;
use units::{Duration, Rate};

impl Frame {
    pub(crate) fn pacing_gain(&self) -> f64 {
        self.rules.pacing_gains[self.state as usize] * self.scale().pacing
    }

    /// Returns the scaling of the current state. Only ProbeBW is scaled.
    pub(crate) fn scale(&self) -> Scale {
        if self.state.is_probe_bw() { self.scale } else { Scale::NONE }
    }

    /// Scales ProbeBW from now on.
    pub(crate) fn scale_probe_bw(&mut self, scale: Scale) {
        self.scale = scale;
        if self.state.is_probe_bw() {
            self.set_pacing_rate_with_gain(self.pacing_gain());
        }
    }

    /// Computes the initial pacing rate, and again with the first RTT sample (Linux).
    pub(crate) fn init_pacing_rate(&mut self, ack: &Ack) {
        if self.model.min_rtt.min_rtt == Duration::MAX {
            self.window.init_pacing_rate(self.rules.pacing_gains[State::Startup as usize], ack.latest_rtt);
        }
    }

    /// Implements `SetPacingRateWithGain`.
    pub(crate) fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = paced(self.model.bw, gain, self.rules.pacing_margin);
        self.window.set_pacing_rate(rate, self.filled_pipe);
    }

    /// `SetSendQuantum`, with a minimum of `least` packets.
    pub(crate) fn set_send_quantum(&mut self, least: u64) {
        let (time, max) = (self.rules.send_quantum_time, self.rules.send_quantum_max);
        let floor = least.saturating_mul(self.mds);
        self.window.send_quantum = send_quantum(self.window.pacing_rate, time, floor, max);
    }

    pub(crate) fn min_pipe_cwnd(&self) -> u64 {
        self.rules.min_pipe_cwnd.saturating_mul(self.mds)
    }

    /// Implements `BDPMultiple`.
    pub(crate) fn bdp_multiple(&self, bw: Rate, gain: f64) -> u64 {
        self.window.bdp_multiple(bw, self.model.min_rtt.min_rtt, gain)
    }

    /// `QuantizationBudget`: raises inflight for senders and receivers that send and acknowledge in
    /// bursts.
    fn quantization_budget(&self, inflight: u64) -> u64 {
        let offload_budget = self.window.send_quantum.saturating_mul(self.rules.offload_quanta);
        let budget = inflight.max(offload_budget).max(self.min_pipe_cwnd());
        let extra = if self.state == State::ProbeBwUp { self.rules.probe_up_extra } else { 0 };
        budget.saturating_add(extra.saturating_mul(self.mds))
    }

    /// Implements `Inflight`.
    pub(crate) fn inflight(&self, bw: Rate, gain: f64) -> u64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// Implements `TargetInflight`.
    pub(crate) fn target_inflight(&self) -> u64 {
        self.bdp_multiple(self.model.bw, 1.0).min(self.window.cwnd)
    }

    /// `UpdateMaxInflight`, including `extra_acked` bytes of aggregation.
    pub(crate) fn max_inflight(&self, cwnd_gain: f64, extra_acked: u64) -> u64 {
        self.quantization_budget(self.bdp_multiple(self.model.bw, cwnd_gain).saturating_add(extra_acked))
    }

    /// `ProbeRTTCwnd`: the bytes that ProbeRTT leaves in flight.
    pub(crate) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp_multiple(self.model.bw, self.rules.probe_rtt_cwnd_gain).max(self.min_pipe_cwnd())
    }

    /// Implements `BoundCwndForProbeRTT`.
    pub(crate) fn bound_cwnd_for_probe_rtt(&mut self) {
        if self.state == State::ProbeRtt {
            self.window.cwnd = self.window.cwnd.min(self.probe_rtt_cwnd());
        }
    }

    /// `BoundCwndForModel`. If `free`, the state has no long-term bound.
    pub(crate) fn bound_cwnd_for_model(&mut self, free: bool) {
        let long_term = match self.state {
            _ if free => u64::MAX,
            State::ProbeBwCruise | State::ProbeRtt => self.inflight_with_headroom(),
            _ => self.model.bounds.inflight_hi,
        };
        let cap = long_term.min(self.model.bounds.inflight_lo).max(self.min_pipe_cwnd());
        self.window.cwnd = self.window.cwnd.min(cap);
    }

    /// Enters recovery after a loss or a timeout. Each version sets the window itself.
    pub(crate) fn enter_recovery(&mut self) {
        self.window.enter_recovery(self.model.rounds.delivered, self.state == State::ProbeRtt);
    }
}
