//! ProbeRTT, draft section 4.3.4. Unlike in the later draft, mvfst's option ends the probe here.

use super::{Bbr2, State};
use crate::Ack;

impl Bbr2 {
    /// Implements `BBRUpdateMinRTT` and `BBRCheckProbeRTT`.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        if self.bbr.update_min_rtt(ack) {
            self.begin_cycle();
        }
        if self.bbr.state == State::ProbeRtt {
            self.stop_probing();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{MDS, known, sample};
    use super::*;
    use crate::Controller;
    use crate::testing::fixtures::acked;
    use units::{Duration, Time};

    /// Plays an ACK per round of 100 ms that delivers everything. `inflight` is constant.
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
        cc.bbr.state
    }

    /// No lower RTT for 5 s: 0.5 BDP for 200 ms and a round, then CRUISE, and again 5 s later.
    #[test]
    fn every_five_seconds() {
        let mut cc = known(10, 100);
        cc.bbr.state = State::ProbeBwCruise;
        cc.bbr.window.cwnd = 250_000;
        let mut now = 0;
        for _ in 0..3 {
            let mut begun = now + 5100;
            for at in (now + 100..=now + 5000).step_by(100) {
                assert_ne!(round(&mut cc, at, 125_000, 110), State::ProbeRtt, "{at}");
                assert!(cc.bbr.window.cwnd > 62_500);
            }
            assert_eq!(round(&mut cc, begun, 125_000, 110), State::ProbeRtt);
            assert_eq!(cc.control().cwnd, 62_500);
            begun += 100;
            round(&mut cc, begun, 62_501, 110);
            assert_eq!(cc.bbr.probe_rtt.done_stamp, None, "still more than half a BDP in flight");
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

    /// 0.1 Mbit/s and 100 ms are one packet, but four stay in flight.
    #[test]
    fn at_least_four_packets() {
        let mut cc = known(10, 1);
        cc.bbr.state = State::ProbeRtt;
        round(&mut cc, 100, 50_000, 1);
        assert_eq!(cc.control().cwnd, 4 * MDS);
    }

    #[test]
    fn not_after_idle() {
        let mut cc = known(10, 100);
        cc.bbr.state = State::ProbeBwCruise;
        cc.bbr.idle_restart = true;
        assert_ne!(round(&mut cc, 9000, 1200, 110), State::ProbeRtt);
    }

    #[test]
    fn an_empty_pipe_returns_to_startup() {
        let mut cc = known(10, 100);
        cc.bbr.filled_pipe = false;
        (cc.bbr.state, cc.bbr.probe_rtt.done_stamp) = (State::ProbeRtt, Some(Time::ZERO));
        assert!(!cc.bbr.check_probe_rtt_done(Time::from_millis(1)));
        assert_eq!(cc.bbr.state, State::Startup);
    }
}
