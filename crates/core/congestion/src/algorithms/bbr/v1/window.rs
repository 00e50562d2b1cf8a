//! Pacing rate, send quantum, congestion window (draft section 4.2).

use super::Bbr1;
use super::cycle::Mode;
use crate::algorithms::bbr::common::window::{paced, send_quantum};
use crate::{Ack, RateSample};
use units::Duration;

impl Bbr1 {
    /// Computes the initial pacing rate until there is an RTT sample (deviation 7).
    pub(super) fn init_pacing_rate(&mut self, ack: &Ack) {
        if self.min_rtt.min_rtt == Duration::MAX {
            self.window.init_pacing_rate(self.params.high_gain, ack.latest_rtt);
        }
    }

    pub(super) fn update_control_parameters(&mut self, ack: &Ack, rs: &RateSample) {
        self.set_pacing_rate(self.pacing_gain());
        self.set_send_quantum();
        self.window.leave_recovery(ack, rs);
        self.set_cwnd(ack);
    }

    /// Implements `bbr_set_pacing_rate`.
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = paced(self.bw(), gain, self.params.pacing_margin);
        self.window.set_pacing_rate(rate, self.full_bw_reached);
    }

    /// `bbr_tso_segs_goal`, in whole packets.
    pub(super) fn set_send_quantum(&mut self) {
        let (p, rate) = (&self.params, self.window.pacing_rate);
        let slow = rate < p.send_quantum_low_rate;
        let floor = if slow { self.mds } else { self.mds.saturating_mul(p.send_quantum_packets) };
        let quantum = send_quantum(rate, p.send_quantum_time, floor, p.send_quantum_max);
        self.window.send_quantum = quantum - quantum % self.mds.max(1);
    }

    pub(super) fn min_pipe_cwnd(&self) -> u64 {
        self.params.min_pipe_cwnd.saturating_mul(self.mds)
    }

    /// `bbr_quantization_budget`: raises inflight for senders and receivers that send and
    /// acknowledge in bursts.
    fn quantization_budget(&self, inflight: u64) -> u64 {
        let p = &self.params;
        let budget = inflight.saturating_add(self.window.send_quantum.saturating_mul(p.offload_quanta));
        let unit = p.round_up_packets.saturating_mul(self.mds).max(1);
        let budget = budget.div_ceil(unit).saturating_mul(unit);
        let probes = self.mode == Mode::ProbeBw && p.pacing_gain_cycle[self.cycle.idx] > 1.0;
        let extra = if probes { p.probe_up_extra.saturating_mul(self.mds) } else { 0 };
        budget.saturating_add(extra)
    }

    /// `bbr_inflight`, computed from the windowed maximum even while a policer's rate is used.
    pub(super) fn inflight(&self, gain: f64) -> u64 {
        self.quantization_budget(self.window.bdp_multiple(self.max_bw(), self.min_rtt.min_rtt, gain))
    }

    /// Implements `bbr_ack_aggregation_cwnd`.
    pub(super) fn ack_aggregation_cwnd(&self) -> u64 {
        if !self.full_bw_reached {
            return 0;
        }
        let extra = self.params.extra_acked_gain * self.aggregation.extra_acked() as f64;
        (extra as u64).min(self.bw().bytes_in(self.params.extra_acked_max))
    }

    /// Implements `bbr_set_cwnd`.
    pub(super) fn set_cwnd(&mut self, ack: &Ack) {
        self.window.modulate_for_recovery(ack);
        if !self.window.packet_conservation {
            let bdp = self.window.bdp_multiple(self.bw(), self.min_rtt.min_rtt, self.cwnd_gain());
            let target = self.quantization_budget(bdp.saturating_add(self.ack_aggregation_cwnd()));
            self.window.grow(ack, target, self.full_bw_reached, self.min_pipe_cwnd());
        }
        if self.mode == Mode::ProbeRtt {
            self.window.cwnd = self.window.cwnd.min(self.min_pipe_cwnd());
        }
    }

    /// Enters recovery after a loss (`packet_conservation` is true) or a timeout (false). Draft
    /// section 4.2.3.4.
    pub(super) fn enter_recovery(&mut self, packet_conservation: bool) {
        self.window.enter_recovery(self.rounds.delivered, self.mode == Mode::ProbeRtt);
        self.window.packet_conservation = packet_conservation;
        self.window.cut_to_inflight();
        self.conservation_begins = packet_conservation;
    }
}
