//! ProbeRTT, draft section 5.3.4: the queue is drained now and then, so that the minimum RTT can be seen.

use super::{Bbr3, State};
use crate::Ack;
use crate::algorithms::bbr::common::newly_acked;
use crate::algorithms::bbr::common::probe::AckPhase;
use crate::algorithms::bbr::common::probe_rtt::ProbeRtt;
use units::Time;

impl Bbr3 {
    /// `UpdateMinRTT`.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let p = &self.params;
        self.model.min_rtt.update(ack.now, ack.latest_rtt, p.probe_rtt_interval, p.min_rtt_filter_len);
    }

    /// `CheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack) {
        let due = self.model.min_rtt.probe_rtt_expired && !self.idle_restart;
        if self.state != State::ProbeRtt && due {
            self.enter_probe_rtt();
        }
        if self.state == State::ProbeRtt {
            let (cwnd, duration) = (self.probe_rtt_cwnd(), self.params.probe_rtt_duration);
            if self.probe_rtt.advance(ack, &mut self.model.rounds, cwnd, duration) {
                self.check_probe_rtt_done(ack.now);
            }
        }
        self.idle_restart &= newly_acked(ack) == 0;
    }

    fn enter_probe_rtt(&mut self) {
        self.state = State::ProbeRtt;
        self.window.save_cwnd(true);
        self.probe_rtt = ProbeRtt::default();
        self.probe.ack_phase = AckPhase::ProbeStopping;
        self.model.rounds.begin();
    }

    /// `CheckProbeRTTDone` and `ExitProbeRTT`: inflight is below the BDP already, so DOWN has nothing to do.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if !self.probe_rtt.is_done(now) {
            return;
        }
        self.model.min_rtt.schedule_next_probe(now);
        self.window.restore_cwnd();
        self.model.bounds.reset_lower();
        if self.full_pipe.full_bw_reached {
            self.start_probe_bw_down(now);
            self.state = State::ProbeBwCruise;
        } else {
            self.state = State::Startup;
        }
    }
}
