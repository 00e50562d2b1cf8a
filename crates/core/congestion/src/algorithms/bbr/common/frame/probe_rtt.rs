//! ProbeRTT: the queue is drained from time to time to measure the minimum RTT.

use super::Frame;
use crate::Ack;
use crate::algorithms::bbr::common::newly_acked;
use crate::algorithms::bbr::common::probe::AckPhase;
use crate::algorithms::bbr::common::probe_rtt::ProbeRtt;
use crate::algorithms::bbr::common::state::State;
use units::Time;

impl Frame {
    /// `UpdateMinRTT`, then `CheckProbeRTT`. Returns the same as [`Frame::check_probe_rtt_done`].
    pub(crate) fn update_min_rtt(&mut self, ack: &Ack) -> bool {
        let (interval, len) = (self.rules.probe_rtt_interval, self.rules.min_rtt_filter_len);
        self.model.min_rtt.update(ack.now, ack.latest_rtt, interval, len);
        let due = self.model.min_rtt.probe_rtt_expired && !self.idle_restart;
        if self.state != State::ProbeRtt && due {
            self.enter_probe_rtt();
        }
        let over = self.state == State::ProbeRtt && self.handle_probe_rtt(ack);
        self.idle_restart &= newly_acked(ack) == 0;
        over
    }

    /// Implements `EnterProbeRTT`.
    fn enter_probe_rtt(&mut self) {
        self.state = State::ProbeRtt;
        self.window.save_cwnd(true);
        self.probe_rtt = ProbeRtt::default();
        self.probe.ack_phase = AckPhase::ProbeStopping;
        self.model.rounds.begin();
    }

    /// Implements `HandleProbeRTT`.
    fn handle_probe_rtt(&mut self, ack: &Ack) -> bool {
        let (cwnd, duration) = (self.probe_rtt_cwnd(), self.rules.probe_rtt_duration);
        self.probe_rtt.advance(ack, &mut self.model.rounds, cwnd, duration)
            && self.check_probe_rtt_done(ack.now)
    }

    /// `CheckProbeRTTDone` and `ExitProbeRTT`: inflight is already below the BDP, so DOWN has
    /// nothing to drain.
    ///
    /// Returns whether ProbeBW has begun. It begins with DOWN as usual.
    pub(crate) fn check_probe_rtt_done(&mut self, now: Time) -> bool {
        if !self.probe_rtt.is_done(now) {
            return false;
        }
        self.model.min_rtt.schedule_next_probe(now);
        self.window.restore_cwnd();
        self.model.bounds.reset_lower();
        self.state = State::Startup;
        if self.filled_pipe {
            self.start_probe_bw_down(now);
            self.state = State::ProbeBwCruise;
        }
        self.filled_pipe
    }
}
