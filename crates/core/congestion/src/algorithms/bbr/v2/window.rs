//! Control parameters derived from the model, draft section 4.6: pacing rate, send quantum,
//! congestion window, recovery.

use super::{Bbr2, State};
use crate::{Ack, RateSample};

impl Bbr2 {
    /// Implements `BBRUpdateControlParameters`.
    pub(super) fn update_control_parameters(&mut self, ack: &Ack, rs: &RateSample) {
        self.bbr.set_pacing_rate_with_gain(self.bbr.pacing_gain());
        self.set_send_quantum();
        if !self.has_recovery_window() {
            self.bbr.window.leave_recovery(ack, rs);
        }
        self.set_cwnd(ack);
    }

    /// `BBRSetSendQuantum`. A slow flow has a smaller minimum.
    pub(super) fn set_send_quantum(&mut self) {
        let p = &self.params;
        let slow = self.bbr.window.pacing_rate < p.send_quantum_low_rate;
        self.bbr.set_send_quantum(if slow { p.send_quantum_low_packets } else { p.send_quantum_packets });
    }

    /// Returns the most bytes that may be sent at once.
    pub(super) fn pacing_burst(&self) -> u64 {
        let packets = self.params.pacing_burst.max(self.unpaced);
        self.bbr.window.send_quantum.max(packets.saturating_mul(self.bbr.mds))
    }

    /// Implements `BBRUpdateMaxInflight`.
    fn max_inflight(&self) -> u64 {
        let aggregates = self.bbr.filled_pipe || self.params.extra_acked_in_startup;
        let extra = if aggregates { self.bbr.model.aggregation.extra_acked() } else { 0 };
        self.bbr.max_inflight(self.cwnd_gain(), extra)
    }

    /// Implements `BBRSetCwnd`.
    pub(super) fn set_cwnd(&mut self, ack: &Ack) {
        let max_inflight = self.max_inflight();
        if !self.has_recovery_window() {
            self.bbr.window.modulate_for_recovery(ack);
        }
        if !self.bbr.window.packet_conservation {
            let (filled_pipe, least) = (self.bbr.filled_pipe, self.bbr.min_pipe_cwnd());
            self.bbr.window.grow(ack, max_inflight, filled_pipe, least);
        }
        if self.has_recovery_window() {
            self.bound_cwnd_for_recovery();
        }
        self.bbr.bound_cwnd_for_probe_rtt();
        self.bound_cwnd_for_model();
    }

    /// `BBRBoundCwndForModel`. Unlike in the later draft, there is no long-term bound in Drain.
    fn bound_cwnd_for_model(&mut self) {
        self.bbr.bound_cwnd_for_model(matches!(self.bbr.state, State::Startup | State::Drain));
    }

    /// Enters recovery, section 4.6.4.4, after a loss (`packet_conservation` is true) or a timeout
    /// (false).
    pub(super) fn enter_recovery(&mut self, packet_conservation: bool) {
        self.bbr.enter_recovery();
        self.bbr.window.packet_conservation = packet_conservation;
        self.bbr.window.cut_to_inflight();
    }
}

#[cfg(test)]
mod tests {

    use super::super::script::{MDS, bbr, bbr_with, known, known_with, sample};
    use super::*;
    use crate::testing::fixtures::{acked, congestion};
    use crate::{Cause, Controller};
    use units::Rate;

    /// 12 000 bytes per ms times 2.77, and with the first RTT 12 000 bytes per 100 ms.
    #[test]
    fn initial_pacing_rate() {
        let mut cc = bbr();
        assert_eq!(cc.control().pacing_rate, Some(Rate(265_920_000)));
        cc.on_ack(&acked(MDS));
        assert_eq!(cc.control().pacing_rate, Some(Rate(2_659_200)));
    }

    /// 1 % below the estimate. Until the pipe has been full, the rate only rises.
    #[test]
    fn pacing_margin() {
        let mut cc = known(10, 100);
        cc.bbr.set_pacing_rate_with_gain(1.25);
        assert_eq!(cc.bbr.window.pacing_rate, Rate(12_375_000));
        cc.bbr.filled_pipe = false;
        cc.bbr.set_pacing_rate_with_gain(1.0);
        assert_eq!(cc.bbr.window.pacing_rate, Rate(12_375_000));
        cc.bbr.set_pacing_rate_with_gain(2.0);
        assert_eq!(cc.bbr.window.pacing_rate, Rate(19_800_000));
    }

    #[test]
    fn send_quantum() {
        let mut cc = bbr();
        for (rate, quantum) in
            [(1_000_000, MDS), (1_200_000, 2 * MDS), (100_000_000, 12_500), (1 << 40, 65_536)]
        {
            cc.bbr.window.pacing_rate = Rate(rate);
            cc.set_send_quantum();
            assert_eq!(cc.control().send_quantum, Some(quantum));
        }
    }

    /// mvfst: 200 us at the rate, 2 packets to 64 KiB. The pacer releases 5 packets at once, 10 at
    /// the start.
    #[test]
    fn bursts_of_mvfst() {
        let mut cc = bbr_with(super::super::params::mvfst_values());
        for (unpaced, rate, quantum, burst) in [
            (10, 1_000, 2 * MDS, 10 * MDS),
            (0, 1_000, 2 * MDS, 5 * MDS),
            (0, 400_000_000, 10_000, 10_000),
            (0, 1 << 40, 65_536, 65_536),
        ] {
            (cc.unpaced, cc.bbr.window.pacing_rate) = (unpaced, Rate(rate));
            cc.set_send_quantum();
            assert_eq!((cc.bbr.window.send_quantum, cc.control().send_quantum), (quantum, Some(burst)));
        }
    }

    /// mvfst: no margin, and aggregation counts only once the pipe has been full. 10 Mbit/s, 100
    /// ms, 50 000 bytes of aggregation: 2.885 BDP are 360 625 bytes.
    #[test]
    fn aggregation_after_the_pipe_was_full() {
        let mut cc = known_with(super::super::params::mvfst_values(), 10, 100);
        cc.bbr.set_pacing_rate_with_gain(1.25);
        assert_eq!(cc.bbr.window.pacing_rate, Rate(12_500_000));
        cc.bbr.model.update_ack_aggregation(&acked(50_000), 1 << 40);
        for (filled, target) in [(true, 410_625), (false, 360_625)] {
            cc.bbr.filled_pipe = filled;
            assert_eq!(cc.max_inflight(), target);
        }
    }

    /// 2 BDP and the aggregation, reached by growth by the acknowledged bytes.
    #[test]
    fn window_is_two_bdp() {
        let mut cc = known(10, 100);
        cc.bbr.state = State::ProbeBwCruise;
        for (cwnd, expected) in [(100_000, 101_200), (249_000, 250_000), (400_000, 250_000)] {
            cc.bbr.window.cwnd = cwnd;
            cc.set_cwnd(&acked(MDS));
            assert_eq!(cc.bbr.window.cwnd, expected);
        }
        cc.bbr.state = State::ProbeBwUp;
        cc.bbr.window.cwnd = 400_000;
        cc.set_cwnd(&acked(MDS));
        assert_eq!(cc.bbr.window.cwnd, 250_000 + 2 * MDS);
    }

    #[test]
    fn at_least_four_packets() {
        let mut cc = known(1, 1);
        cc.bbr.state = State::ProbeBwCruise;
        (cc.bbr.window.cwnd, cc.bbr.window.send_quantum) = (0, MDS);
        cc.bbr.model.bounds.inflight_lo = 1;
        cc.set_cwnd(&acked(1));
        assert_eq!(cc.bbr.window.cwnd, 4 * MDS);
    }

    #[test]
    fn bounds_cap_the_window() {
        for (state, cap) in [
            (State::Startup, 300_000),
            (State::Drain, 300_000),
            (State::ProbeBwDown, 200_000),
            (State::ProbeBwCruise, 170_000),
            (State::ProbeBwRefill, 200_000),
            (State::ProbeBwUp, 200_000),
            (State::ProbeRtt, 170_000),
        ] {
            let mut cc = known(10, 100);
            cc.bbr.state = state;
            cc.bbr.model.bounds.inflight_hi = 200_000;
            cc.bbr.window.cwnd = 300_000;
            cc.bound_cwnd_for_model();
            assert_eq!(cc.bbr.window.cwnd, cap, "{state:?}");
            cc.bbr.model.bounds.inflight_lo = 150_000;
            cc.bound_cwnd_for_model();
            assert_eq!(cc.bbr.window.cwnd, 150_000, "{state:?}");
        }
    }

    fn recovering(cause: Cause) -> Bbr2 {
        let mut cc = known(10, 100);
        cc.bbr.state = State::ProbeBwCruise;
        cc.bbr.model.rounds.delivered = 1_000_000;
        (cc.bbr.window.cwnd, cc.bbr.window.inflight) = (240_000, 100_000);
        cc.on_congestion(&congestion(cause, 103_600));
        cc
    }

    fn ack(cc: &mut Bbr2, prior_delivered: u64, in_recovery: bool, lost: u64) -> u64 {
        let rs = sample(10, prior_delivered);
        let ack = Ack { bytes_in_flight: 98_800, in_recovery, lost, delivered: 1_100_000, ..acked(MDS) };
        cc.bbr.window.leave_recovery(&ack, &rs);
        cc.set_cwnd(&ack);
        cc.bbr.window.cwnd
    }

    /// One round of conservation, then growth by the acknowledged bytes, then the old window.
    #[test]
    fn packet_conservation() {
        let mut cc = recovering(Cause::Loss);
        assert_eq!(cc.bbr.window.cwnd, 101_200);
        assert_eq!(ack(&mut cc, 900_000, true, 2 * MDS), 100_000, "in flight and acknowledged");
        assert_eq!(ack(&mut cc, 900_000, true, 0), 100_000);
        cc.on_congestion(&congestion(Cause::Loss, 100_000));
        assert_eq!(ack(&mut cc, 1_000_000, true, 0), 101_200, "a second event prolongs, no more");
        assert!(!cc.bbr.window.packet_conservation && cc.bbr.window.in_recovery);
        assert_eq!(ack(&mut cc, 1_000_000, false, 0), 241_200);
        assert!(!cc.bbr.window.in_recovery);
    }

    /// Inflight and a packet. The ACK that reports the timeout does not end it, one for a packet
    /// sent since does.
    #[test]
    fn timeout() {
        for cause in [Cause::Timeout, Cause::PersistentCongestion] {
            let mut cc = recovering(cause);
            assert_eq!(cc.bbr.window.cwnd, 101_200);
            assert_eq!(ack(&mut cc, 900_000, false, 0), 102_400);
            assert_eq!(ack(&mut cc, 1_000_000, false, 0), 241_200);
            assert_eq!(cc.bbr.model.max_bw(), Rate(10_000_000), "the model stays");
        }
        let mut cc = bbr();
        cc.on_congestion(&congestion(Cause::Timeout, 12_000));
        assert_eq!(cc.bbr.window.cwnd, MDS, "everything is gone: one packet");
    }

    #[test]
    fn marks_and_delay_do_not_move_the_window_by_themselves() {
        for cause in [Cause::Ecn, Cause::Delay] {
            assert_eq!(recovering(cause).bbr.window.cwnd, 240_000);
        }
    }
}
