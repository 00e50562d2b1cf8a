//! ProbeRTT, draft section 4.3.4: the queue is drained now and then, so that the minimum RTT can be seen.

use super::probe_bw::AckPhase;
use super::{Bbr2, State};
use crate::{Ack, Time};

#[derive(Debug, Default)]
pub(super) struct ProbeRtt {
    /// When the low inflight has lasted long enough; nothing before it is reached.
    done_stamp: Option<Time>,
    round_done: bool,
    /// Packets sent at these values of `C.delivered`, both included, are limited by ProbeRTT, not by the path.
    limited: Option<(u64, u64)>,
}

impl ProbeRtt {
    /// Was a packet with this `P.delivered` sent in ProbeRTT's shade?
    pub(super) fn limits(&self, prior_delivered: u64) -> bool {
        self.limited.is_some_and(|(from, to)| from <= prior_delivered && prior_delivered <= to)
    }
}

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
            self.save_cwnd();
            self.probe_rtt = ProbeRtt::default();
            self.probe.ack_phase = AckPhase::ProbeStopping;
            self.model.rounds.begin();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(ack);
        }
        self.idle_restart &= ack.acked == 0;
    }

    /// `BBRHandleProbeRTT`: at least `probe_rtt_duration`, and one round, with little in flight.
    fn handle_probe_rtt(&mut self, ack: &Ack) {
        self.mark_connection_app_limited(ack);
        if self.probe_rtt.done_stamp.is_none() {
            if ack.bytes_in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt.done_stamp = Some(ack.now + self.params.probe_rtt_duration);
                self.probe_rtt.round_done = false;
                self.model.rounds.begin();
            }
            return;
        }
        self.probe_rtt.round_done |= self.model.rounds.start;
        if self.probe_rtt.round_done {
            self.check_probe_rtt_done(ack.now);
        }
    }

    /// `MarkConnectionAppLimited`. The mark stays in here: that ProbeRTT limits is no business of the ledger.
    fn mark_connection_app_limited(&mut self, ack: &Ack) {
        let from = self.probe_rtt.limited.map_or(ack.delivered, |(from, _)| from);
        self.probe_rtt.limited = Some((from, ack.delivered.saturating_add(ack.bytes_in_flight)));
    }

    /// `BBRCheckProbeRTTDone`.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt.done_stamp.is_some_and(|done| now > done) {
            self.model.min_rtt.schedule_next_probe(now);
            self.restore_cwnd();
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
    use crate::{Controller, Duration, script::acked};

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

    /// Exactly the packets sent from the first mark to one flight after the last.
    #[test]
    fn its_own_packets_are_limited() {
        let mut cc = known(10, 100);
        for (delivered, bytes_in_flight) in [(10_000, 60_000), (30_000, 50_000)] {
            cc.mark_connection_app_limited(&Ack { delivered, bytes_in_flight, ..acked(MDS) });
        }
        for (prior, limited) in [(9_999, false), (10_000, true), (80_000, true), (80_001, false)] {
            assert_eq!(cc.probe_rtt.limits(prior), limited, "{prior}");
        }
    }
}
