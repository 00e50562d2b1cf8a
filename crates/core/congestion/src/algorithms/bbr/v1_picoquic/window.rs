//! Control parameters derived from the model: pacing rate, send quantum, window.

use super::{Bbr1Picoquic, State};
use crate::Ack;
use crate::algorithms::bbr::common::window::paced;
use units::Duration;

impl Bbr1Picoquic {
    pub(super) fn floor(&self) -> u64 {
        self.params.min_window.0.max(self.mds)
    }

    pub(super) fn min_pipe_cwnd(&self) -> u64 {
        self.params.min_pipe_cwnd.saturating_mul(self.mds)
    }

    /// Implements `BBRInflight`.
    pub(super) fn inflight(&self, gain: f64) -> u64 {
        let bdp = self.window.bdp_multiple(self.bw(), self.rt_prop, gain);
        match self.rt_prop {
            Duration::MAX => bdp,
            _ => bdp.saturating_add(self.window.send_quantum.saturating_mul(self.params.offload_quanta)),
        }
    }

    /// Implements `BBRUpdateControlParameters`.
    pub(super) fn update_control_parameters(&mut self, ack: &Ack) {
        let rate = paced(self.bw(), self.pacing_gain(), 0.0);
        self.window.set_pacing_rate(rate, self.filled_pipe);
        self.set_send_quantum();
        let (target, least) = (self.inflight(self.cwnd_gain()), self.min_pipe_cwnd());
        self.window.grow(ack, target, self.filled_pipe, least);
        if self.state == State::ProbeRtt {
            self.window.cwnd = self.window.cwnd.min(least);
        }
    }

    /// Implements `BBRSetSendQuantum`.
    pub(super) fn set_send_quantum(&mut self) {
        let (p, rate) = (&self.params, self.window.pacing_rate);
        self.window.send_quantum = if rate < p.send_quantum_low_rate {
            self.mds
        } else if rate < p.send_quantum_medium_rate {
            2 * self.mds
        } else {
            rate.bytes_in(p.send_quantum_time).min(p.send_quantum_max.0)
        };
    }
}
