//! What the model makes of the sender, draft section 5.6: pacing rate, send quantum, congestion window, recovery.

use super::{Bbr3, State};
use crate::algorithms::bbr::common::model::INFINITE;
use crate::algorithms::bbr::common::window::{paced, send_quantum};
use crate::{Ack, RateSample};
use units::{Duration, Rate};

impl Bbr3 {
    /// Until there is a first RTT sample (deviation 9).
    pub(super) fn init_pacing_rate(&mut self, ack: &Ack) {
        if self.model.min_rtt.min_rtt == Duration::MAX {
            self.window.init_pacing_rate(self.params.startup_pacing_gain, ack.latest_rtt);
        }
    }

    /// `UpdateControlParameters`.
    pub(super) fn update_control_parameters(&mut self, ack: &Ack, rs: &RateSample) {
        self.set_pacing_rate_with_gain(self.pacing_gain());
        self.set_send_quantum();
        self.window.leave_recovery(ack, rs);
        self.set_cwnd(ack);
    }

    /// `SetPacingRateWithGain`.
    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = paced(self.model.bw, gain, self.params.pacing_margin);
        self.window.set_pacing_rate(rate, self.full_pipe.full_bw_reached);
    }

    /// `SetSendQuantum`.
    pub(super) fn set_send_quantum(&mut self) {
        let (p, rate) = (&self.params, self.window.pacing_rate);
        let floor = p.send_quantum_packets.saturating_mul(self.mds);
        self.window.send_quantum = send_quantum(rate, p.send_quantum_time, floor, p.send_quantum_max);
    }

    pub(super) fn min_pipe_cwnd(&self) -> u64 {
        self.params.min_pipe_cwnd.saturating_mul(self.mds)
    }

    /// `BDPMultiple`.
    pub(super) fn bdp_multiple(&self, bw: Rate, gain: f64) -> u64 {
        self.window.bdp_multiple(bw, self.model.min_rtt.min_rtt, gain)
    }

    /// `QuantizationBudget`: enough for the machinery that sends and acknowledges in lumps.
    fn quantization_budget(&self, inflight: u64) -> u64 {
        let offload_budget = self.window.send_quantum.saturating_mul(self.params.offload_quanta);
        let budget = inflight.max(offload_budget).max(self.min_pipe_cwnd());
        let extra = if self.state == State::ProbeBwUp { self.params.probe_up_extra } else { 0 };
        budget.saturating_add(extra.saturating_mul(self.mds))
    }

    /// `Inflight`.
    pub(super) fn inflight(&self, bw: Rate, gain: f64) -> u64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// `TargetInflight`.
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp_multiple(self.model.bw, 1.0).min(self.window.cwnd)
    }

    /// What ProbeRTT leaves in flight.
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp_multiple(self.model.bw, self.params.probe_rtt_cwnd_gain).max(self.min_pipe_cwnd())
    }

    /// `UpdateMaxInflight`.
    fn max_inflight(&self) -> u64 {
        let bdp = self.bdp_multiple(self.model.bw, self.cwnd_gain());
        self.quantization_budget(bdp.saturating_add(self.model.aggregation.extra_acked()))
    }

    /// `SetCwnd`.
    pub(super) fn set_cwnd(&mut self, ack: &Ack) {
        let (filled_pipe, least) = (self.full_pipe.full_bw_reached, self.min_pipe_cwnd());
        self.window.grow(ack, self.max_inflight(), filled_pipe, least);
        if self.state == State::ProbeRtt {
            self.window.cwnd = self.window.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    /// `BoundCwndForModel`, after the table of section 5.6.1 (deviation 3).
    fn bound_cwnd_for_model(&mut self) {
        let long_term = match self.state {
            State::Startup => INFINITE,
            State::ProbeBwCruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Drain | State::ProbeBwDown | State::ProbeBwRefill | State::ProbeBwUp => {
                self.model.bounds.inflight_hi
            }
        };
        let cap = long_term.min(self.model.bounds.inflight_lo).max(self.min_pipe_cwnd());
        self.window.cwnd = self.window.cwnd.min(cap);
    }

    /// `OnEnterFastRecovery`, section 5.6.4.4.
    pub(super) fn enter_recovery(&mut self) {
        self.window.enter_recovery(self.model.rounds.delivered, self.state == State::ProbeRtt);
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{MDS, bbr, known, sample};
    use super::*;
    use crate::testing::fixtures::{acked, congestion};
    use crate::{Cause, Controller};

    /// 12 000 bytes per ms times 2.77; then, with the first RTT, per 100 ms.
    #[test]
    fn initial_pacing_rate() {
        let mut cc = bbr();
        assert_eq!(cc.control().pacing_rate, Some(Rate(265_920_000)));
        cc.on_ack(&acked(MDS));
        assert_eq!(cc.control().pacing_rate, Some(Rate(2_659_200)));
    }

    /// 2 BDP, in UP 2.25 BDP and two packets; not less than four packets and a quantum.
    #[test]
    fn max_inflight() {
        for (state, expected) in
            [(State::ProbeBwCruise, 250_000), (State::ProbeBwUp, 281_250 + 2 * MDS), (State::Drain, 250_000)]
        {
            let mut cc = known(10, 100);
            cc.state = state;
            assert_eq!(cc.max_inflight(), expected, "{state:?}");
        }
        let mut cc = known(1, 1);
        cc.window.send_quantum = 2 * MDS;
        assert_eq!(cc.max_inflight(), 4 * MDS);
        cc.window.send_quantum = 65_536;
        assert_eq!(cc.max_inflight(), 65_536, "one quantum in QUIC");
    }

    /// 1 ms of the rate, from two packets to 64 KB; the first from the initial rate of 10 packets per ms times 2.77.
    #[test]
    fn send_quantum() {
        let mut cc = bbr();
        assert_eq!(cc.control().send_quantum, Some(33_240));
        for (mbit, quantum) in [(1, 2 * MDS), (19, 2 * MDS), (20, 2500), (100, 12_500), (1000, 65_536)] {
            cc.window.pacing_rate = Rate(mbit * 1_000_000);
            cc.set_send_quantum();
            assert_eq!(cc.control().send_quantum, Some(quantum), "{mbit}");
        }
    }

    #[test]
    fn bounds_cap_the_window() {
        for (state, cap) in [
            (State::Startup, 300_000),
            (State::Drain, 200_000),
            (State::ProbeBwDown, 200_000),
            (State::ProbeBwCruise, 170_000),
            (State::ProbeBwRefill, 200_000),
            (State::ProbeBwUp, 200_000),
            (State::ProbeRtt, 170_000),
        ] {
            let mut cc = known(10, 100);
            cc.state = state;
            cc.model.bounds.inflight_hi = 200_000;
            cc.window.cwnd = 300_000;
            cc.bound_cwnd_for_model();
            assert_eq!(cc.window.cwnd, cap, "{state:?}");
            cc.model.bounds.inflight_lo = 150_000;
            cc.bound_cwnd_for_model();
            assert_eq!(cc.window.cwnd, 150_000, "{state:?}");
        }
    }

    /// A loss by itself leaves the window, a timeout one packet; the old window is back after a round.
    #[test]
    fn recovery() {
        for (cause, left) in
            [(Cause::Loss, 240_000), (Cause::Timeout, MDS), (Cause::PersistentCongestion, MDS)]
        {
            let mut cc = known(10, 100);
            cc.state = State::ProbeBwCruise;
            (cc.window.cwnd, cc.model.rounds.delivered) = (240_000, 1_000_000);
            cc.on_congestion(&congestion(cause, 120_000));
            assert_eq!(cc.window.cwnd, left, "{cause:?}");
            cc.window.leave_recovery(&acked(MDS), &sample(10, 999_999));
            assert!(cc.window.in_recovery);
            cc.window.leave_recovery(&acked(MDS), &sample(10, 1_000_000));
            assert_eq!((cc.window.cwnd, cc.window.in_recovery), (240_000, false));
        }
    }
}
