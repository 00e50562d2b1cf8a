//! Minimum RTT, and ProbeRTT.

use super::{Bbr1Picoquic, State};
use crate::Ack;
use crate::algorithms::bbr::common::probe_rtt::ProbeRtt;
use crate::components::picoquic::rtt_measurement;
use units::Duration;

impl Bbr1Picoquic {
    /// `BBRUpdateRTprop`. Returns whether the minimum had expired.
    pub(super) fn update_rt_prop(&mut self, ack: &Ack) -> bool {
        let Some(rtt) = rtt_measurement(ack) else { return false };
        let (p, min) = (&self.params, self.rt_prop);
        let age = ack.now - self.rt_prop_stamp;
        let expired =
            min < Duration::MAX && age > p.probe_rtt_interval && age > min.mul_f64(p.probe_rtt_rtts);
        if rtt <= min || expired {
            self.rt_prop = rtt;
        }
        if rtt <= min || expired || rtt < min + min.mul_f64(p.rtt_slack) {
            self.rt_prop_stamp = ack.now;
        }
        expired
    }

    /// Implements `BBRCheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack, expired: bool) {
        if self.state != State::ProbeRtt && expired {
            self.state = State::ProbeRtt;
            self.window.prior_cwnd = self.window.cwnd;
            self.probe_rtt = ProbeRtt::default();
        }
        let (cwnd, duration) = (self.min_pipe_cwnd(), self.params.probe_rtt_duration);
        let over = self.state == State::ProbeRtt
            && self.probe_rtt.advance(ack, &mut self.rounds, cwnd, duration)
            && self.probe_rtt.is_done(ack.now);
        if !over {
            return;
        }
        self.rt_prop_stamp = ack.now;
        self.window.restore_cwnd();
        if self.filled_pipe {
            self.enter_probe_bw(ack.now);
        } else {
            self.state = State::Startup;
        }
    }
}
