//! Control parameters derived from the model, draft section 5.6: pacing rate, send quantum,
//! congestion window.

use super::{Bbr3, State};
use crate::{Ack, RateSample};

impl Bbr3 {
    /// Implements `UpdateControlParameters`.
    pub(super) fn update_control_parameters(&mut self, ack: &Ack, rs: &RateSample) {
        self.bbr.set_pacing_rate_with_gain(self.bbr.pacing_gain());
        self.bbr.set_send_quantum(self.params.send_quantum_packets);
        self.bbr.window.leave_recovery(ack, rs);
        self.set_cwnd(ack);
    }

    /// Implements `UpdateMaxInflight`.
    fn max_inflight(&self) -> u64 {
        self.bbr.max_inflight(self.cwnd_gain(), self.bbr.model.aggregation.extra_acked())
    }

    /// Implements `SetCwnd`.
    pub(super) fn set_cwnd(&mut self, ack: &Ack) {
        let (filled_pipe, least) = (self.bbr.filled_pipe, self.bbr.min_pipe_cwnd());
        self.bbr.window.grow(ack, self.max_inflight(), filled_pipe, least);
        self.bbr.bound_cwnd_for_probe_rtt();
        self.bound_cwnd_for_model();
    }

    /// `BoundCwndForModel`, following the table of section 5.6.1 (deviation 3).
    fn bound_cwnd_for_model(&mut self) {
        self.bbr.bound_cwnd_for_model(self.bbr.state == State::Startup);
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{MDS, bbr, known, sample};
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

    /// 2 BDP, in UP 2.25 BDP and two packets; at least four packets and a quantum.
    #[test]
    fn max_inflight() {
        for (state, expected) in
            [(State::ProbeBwCruise, 250_000), (State::ProbeBwUp, 281_250 + 2 * MDS), (State::Drain, 250_000)]
        {
            let mut cc = known(10, 100);
            cc.bbr.state = state;
            assert_eq!(cc.max_inflight(), expected, "{state:?}");
        }
        let mut cc = known(1, 1);
        cc.bbr.window.send_quantum = 2 * MDS;
        assert_eq!(cc.max_inflight(), 4 * MDS);
        cc.bbr.window.send_quantum = 65_536;
        assert_eq!(cc.max_inflight(), 65_536, "one quantum in QUIC");
    }

    /// 1 ms at the rate, from two packets to 64 KB. The first one follows from the initial rate of
    /// 10 packets per ms times 2.77.
    #[test]
    fn send_quantum() {
        let mut cc = bbr();
        assert_eq!(cc.control().send_quantum, Some(33_240));
        for (mbit, quantum) in [(1, 2 * MDS), (19, 2 * MDS), (20, 2500), (100, 12_500), (1000, 65_536)] {
            cc.bbr.window.pacing_rate = Rate(mbit * 1_000_000);
            cc.bbr.set_send_quantum(2);
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

    /// A loss does not change the window, a timeout leaves one packet. The old window returns after
    /// a round.
    #[test]
    fn recovery() {
        for (cause, left) in
            [(Cause::Loss, 240_000), (Cause::Timeout, MDS), (Cause::PersistentCongestion, MDS)]
        {
            let mut cc = known(10, 100);
            cc.bbr.state = State::ProbeBwCruise;
            (cc.bbr.window.cwnd, cc.bbr.model.rounds.delivered) = (240_000, 1_000_000);
            cc.on_congestion(&congestion(cause, 120_000));
            assert_eq!(cc.bbr.window.cwnd, left, "{cause:?}");
            cc.bbr.window.leave_recovery(&acked(MDS), &sample(10, 999_999));
            assert!(cc.bbr.window.in_recovery);
            cc.bbr.window.leave_recovery(&acked(MDS), &sample(10, 1_000_000));
            assert_eq!((cc.bbr.window.cwnd, cc.bbr.window.in_recovery), (240_000, false));
        }
    }
}
