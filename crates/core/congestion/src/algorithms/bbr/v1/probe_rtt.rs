//! ProbeRTT, draft section 4.3.5: the queue is drained from time to time to measure the minimum
//! RTT.

use super::Bbr1;
use super::cycle::Mode;
use crate::algorithms::bbr::common::newly_acked;
use crate::algorithms::bbr::common::probe_rtt::ProbeRtt;
use crate::{Ack, RateSample};
use units::{Duration, Time};

impl Bbr1 {
    /// First half of `bbr_update_min_rtt`.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack, rs: &RateSample) {
        // The only packet of a round: the peer may have delayed its ACK to wait for a second one.
        let maybe_delayed = ack.packets.len() == 1 && rs.delivered == ack.acked;
        let rtt = ack.latest_rtt.filter(|&rtt| !maybe_delayed || rtt < self.min_rtt.min_rtt);
        let (len, keeps_young) = (self.params.min_rtt_filter_len, self.keeps_young(ack.latest_rtt));
        self.min_rtt.update(ack.now, rtt, len, len);
        if keeps_young {
            self.min_rtt.schedule_next_probe(ack.now);
        }
    }

    /// Reports whether a sample renews the minimum's age. In picoquic, a sample below 1.05 of it
    /// does.
    fn keeps_young(&self, rtt: Option<Duration>) -> bool {
        let min = self.min_rtt.min_rtt;
        let Some((slack, rtt)) = self.params.min_rtt_slack.zip(rtt).filter(|_| min < Duration::MAX) else {
            return false;
        };
        rtt <= min || rtt < min + min.mul_f64(slack)
    }

    /// Second half of `bbr_update_min_rtt`.
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack) {
        let due = self.params.probe_rtt && self.min_rtt.probe_rtt_expired && !self.idle_restart;
        if self.mode != Mode::ProbeRtt && due {
            self.mode = Mode::ProbeRtt;
            self.window.save_cwnd(true);
            self.probe_rtt = ProbeRtt::default();
        }
        if self.mode == Mode::ProbeRtt {
            let (cwnd, duration) = (self.min_pipe_cwnd(), self.params.probe_rtt_duration);
            if self.probe_rtt.advance(ack, &mut self.rounds, cwnd, duration) {
                self.check_probe_rtt_done(ack.now);
            }
        }
        self.idle_restart &= newly_acked(ack) == 0;
    }

    /// Implements `bbr_check_probe_rtt_done`.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if !self.probe_rtt.is_done(now) {
            return;
        }
        self.min_rtt.schedule_next_probe(now);
        self.window.restore_cwnd();
        if self.full_bw_reached {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
