//! What the model makes of the sender: pacing rate, send quantum, congestion window, recovery. Windows in bytes.

use crate::{Ack, Bytes, Duration, Rate, RateSample, Sent, initial_window};

/// `InitPacingRate`: the window of the first round, spread over a guess of the RTT or its first sample.
pub(crate) fn initial_pacing_rate(gain: f64, cwnd: u64, rtt: Duration) -> Rate {
    Rate::from_bytes_per_sec(Rate::from_delivery(cwnd, rtt).bytes_per_sec() * gain)
}

/// The rate of `SetPacingRateWithGain`: a little below the estimate, so that queues drain.
pub(crate) fn paced(bw: Rate, gain: f64, margin: f64) -> Rate {
    Rate::from_bytes_per_sec(gain * bw.bytes_per_sec() * (1.0 - margin))
}

/// `BDPMultiple`. The initial window while there is no RTT.
pub(crate) fn bdp_multiple(bw: Rate, min_rtt: Duration, gain: f64, mds: u64) -> u64 {
    match min_rtt {
        Duration::MAX => initial_window(mds),
        min_rtt => (gain * bw.bytes_per_sec() * min_rtt.as_secs_f64() + 0.5) as u64,
    }
}

/// `SetSendQuantum`: what leaves in `time` at this rate, between `floor` and `max` bytes.
pub(crate) fn send_quantum(rate: Rate, time: Duration, floor: u64, max: Bytes) -> u64 {
    rate.bytes_in(time).min(max.0).max(floor)
}

/// `HandleRestartFromIdle`: nothing was in flight, and the application was the reason.
pub(crate) fn restarts_from_idle(sent: &Sent) -> bool {
    sent.app_limited && sent.bytes_in_flight <= sent.bytes
}

#[derive(Debug)]
pub(crate) struct Window {
    mds: u64,
    pub(crate) cwnd: u64,
    /// To come back to after recovery or ProbeRTT.
    pub(crate) prior_cwnd: u64,
    pub(crate) pacing_rate: Rate,
    pub(crate) send_quantum: u64,
    /// Bytes in flight, as the last signal told.
    pub(crate) inflight: u64,
    pub(crate) in_recovery: bool,
    /// One packet out for one packet delivered: the first round of recovery (versions 1 and 2).
    pub(crate) packet_conservation: bool,
    /// `C.delivered` when recovery began.
    recovery_delivered: u64,
}

impl Window {
    /// The initial window of RFC 9002, paced as if the RTT were `initial_rtt`.
    pub(crate) fn new(mds: u64, startup_gain: f64, initial_rtt: Duration) -> Self {
        let cwnd = initial_window(mds);
        Self {
            mds,
            cwnd,
            prior_cwnd: 0,
            pacing_rate: initial_pacing_rate(startup_gain, cwnd, initial_rtt),
            send_quantum: mds,
            inflight: 0,
            in_recovery: false,
            packet_conservation: false,
            recovery_delivered: 0,
        }
    }

    /// The first RTT sample replaces the guess behind the first pacing rate: a rate that only rises until the pipe is
    /// full would never forget it.
    pub(crate) fn init_pacing_rate(&mut self, startup_gain: f64, first_rtt: Option<Duration>) {
        if let Some(rtt) = first_rtt.filter(|&rtt| rtt > Duration::ZERO) {
            self.pacing_rate = initial_pacing_rate(startup_gain, initial_window(self.mds), rtt);
        }
    }

    /// `SetPacingRate`: never down before the pipe has been full.
    pub(crate) fn set_pacing_rate(&mut self, rate: Rate, filled_pipe: bool) {
        if rate > self.pacing_rate || (filled_pipe && rate > Rate(0)) {
            self.pacing_rate = rate;
        }
    }

    /// `SetCwnd`: towards the target by what is acknowledged; beyond it only until the pipe has been full.
    pub(crate) fn grow(&mut self, ack: &Ack, target: u64, filled_pipe: bool, min_pipe_cwnd: u64) {
        let grown = self.cwnd.saturating_add(ack.acked);
        if filled_pipe {
            self.cwnd = grown.min(target);
        } else if self.cwnd < target || ack.delivered < initial_window(self.mds) {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(min_pipe_cwnd);
    }

    /// `ModulateCwndForRecovery`.
    pub(crate) fn modulate_for_recovery(&mut self, ack: &Ack) {
        if ack.lost > 0 {
            self.cwnd = self.cwnd.saturating_sub(ack.lost).max(self.mds);
        }
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(ack.bytes_in_flight.saturating_add(ack.acked));
        }
    }

    /// `SaveCwnd`: what recovery or ProbeRTT have cut already is not worth coming back to.
    pub(crate) fn save_cwnd(&mut self, in_probe_rtt: bool) {
        let cut = self.in_recovery || in_probe_rtt;
        self.prior_cwnd = if cut { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// `RestoreCwnd`.
    pub(crate) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// Recovery begins at this value of `C.delivered`. The window is the caller's.
    pub(crate) fn enter_recovery(&mut self, delivered: u64, in_probe_rtt: bool) {
        self.save_cwnd(in_probe_rtt);
        self.in_recovery = true;
        self.recovery_delivered = delivered;
    }

    /// What a timeout leaves, and what packet conservation starts from: one packet may leave.
    pub(crate) fn cut_to_inflight(&mut self) {
        self.cwnd = self.inflight.saturating_add(self.mds);
    }

    /// Recovery began a round ago, or earlier.
    pub(crate) fn has_recovered_for_a_round(&self, rs: &RateSample) -> bool {
        self.in_recovery && rs.delivered > 0 && rs.prior_delivered >= self.recovery_delivered
    }

    /// After a round conservation ends; recovery with it, unless the ledger goes on.
    pub(crate) fn leave_recovery(&mut self, ack: &Ack, rs: &RateSample) {
        if !self.has_recovered_for_a_round(rs) {
            return;
        }
        self.packet_conservation = false;
        if !ack.in_recovery {
            self.in_recovery = false;
            self.restore_cwnd();
        }
    }

    /// There was no loss: as if recovery had not been.
    pub(crate) fn undo_recovery(&mut self) {
        self.in_recovery = false;
        self.packet_conservation = false;
        self.restore_cwnd();
    }
}
