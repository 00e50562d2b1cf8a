//! ProbeRTT, draft section 4.3.4: the queue is drained now and then, so that the minimum RTT can be seen.

use super::{Bbr2, State};
use crate::Ack;
use crate::algorithms::bbr::common::newly_acked;
use crate::algorithms::bbr::common::probe::AckPhase;
use crate::algorithms::bbr::common::probe_rtt::ProbeRtt;
use units::Time;

impl Bbr2 {
    /// `BBRUpdateMinRTT`.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let p = &self.params;
        self.model.min_rtt.update(ack.now, ack.latest_rtt, p.probe_rtt_interval, p.min_rtt_filter_len);
    }

    /// `BBRCheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack) {
        let due = self.model.min_rtt.probe_rtt_expired && !self.idle_restart;
        if self.state != State::ProbeRtt && due {
            self.state = State::ProbeRtt;
            self.window.save_cwnd(true);
            self.probe_rtt = ProbeRtt::default();
            self.probe.ack_phase = AckPhase::ProbeStopping;
            self.stop_probing();
            self.model.rounds.begin();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(ack);
        }
        self.idle_restart &= newly_acked(ack) == 0;
    }

    /// `BBRHandleProbeRTT`.
    fn handle_probe_rtt(&mut self, ack: &Ack) {
        let (cwnd, duration) = (self.probe_rtt_cwnd(), self.params.probe_rtt_duration);
        if self.probe_rtt.advance(ack, &mut self.model.rounds, cwnd, duration) {
            self.check_probe_rtt_done(ack.now);
        }
    }

    /// `BBRCheckProbeRTTDone`.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt.is_done(now) {
            self.model.min_rtt.schedule_next_probe(now);
            self.window.restore_cwnd();
            self.exit_probe_rtt(now);
        }
    }

    /// `BBRExitProbeRTT`: inflight is below the BDP already, so DOWN has nothing to do.
    fn exit_probe_rtt(&mut self, now: Time) {
        self.model.bounds.reset_lower();
        if self.full_pipe.filled_pipe {
            self.start_probe_bw_down(now);
            self.state = State::ProbeBwCruise;
        } else {
            self.state = State::Startup;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{MDS, known, sample};
    use super::*;
    use crate::Controller;
    use crate::testing::fixtures::acked;
    use units::Duration;

    /// An ACK each round of 100 ms, all of it delivered; `inflight` stays.
    fn round(cc: &mut Bbr2, now: u64, inflight: u64, rtt: u64) -> State {
        let delivered = now * 1250;
        let rs = sample(10, delivered.saturating_sub(125_000));
        cc.on_ack(&Ack {
            now: Time::from_millis(now),
            latest_rtt: Some(Duration::from_millis(rtt)),
            rate: Some(rs),
            delivered,
            bytes_in_flight: inflight,
            ..acked(MDS)
        });
        cc.state
    }

    /// Nothing lower for 5 s: 0.5 BDP for 200 ms and a round, then CRUISE; 5 s later again.
    #[test]
    fn every_five_seconds() {
        let mut cc = known(10, 100);
        cc.state = State::ProbeBwCruise;
        cc.window.cwnd = 250_000;
        let mut now = 0;
        for _ in 0..3 {
            let mut begun = now + 5100;
            for at in (now + 100..=now + 5000).step_by(100) {
                assert_ne!(round(&mut cc, at, 125_000, 110), State::ProbeRtt, "{at}");
                assert!(cc.window.cwnd > 62_500);
            }
            assert_eq!(round(&mut cc, begun, 125_000, 110), State::ProbeRtt);
            assert_eq!(cc.control().cwnd, 62_500);
            begun += 100;
            round(&mut cc, begun, 62_501, 110);
            assert_eq!(cc.probe_rtt.done_stamp, None, "still more than half a BDP in flight");
            begun += 100;
            round(&mut cc, begun, 62_500, 100);
            for after in [100, 200] {
                assert_eq!(round(&mut cc, begun + after, 62_500, 100), State::ProbeRtt);
            }
            now = begun + 300;
            assert_eq!(round(&mut cc, now, 62_500, 100), State::ProbeBwCruise);
            assert!(cc.control().cwnd > 125_000, "restored");
        }
    }

    /// 0.1 Mbit/s and 100 ms are one packet: four stay in flight.
    #[test]
    fn at_least_four_packets() {
        let mut cc = known(10, 1);
        cc.state = State::ProbeRtt;
        round(&mut cc, 100, 50_000, 1);
        assert_eq!(cc.control().cwnd, 4 * MDS);
    }

    #[test]
    fn not_after_idle() {
        let mut cc = known(10, 100);
        cc.state = State::ProbeBwCruise;
        cc.idle_restart = true;
        assert_ne!(round(&mut cc, 9000, 1200, 110), State::ProbeRtt);
    }

    #[test]
    fn an_empty_pipe_returns_to_startup() {
        let mut cc = known(10, 100);
        cc.full_pipe.filled_pipe = false;
        cc.exit_probe_rtt(Time::ZERO);
        assert_eq!(cc.state, State::Startup);
    }
}
