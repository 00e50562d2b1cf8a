//! Control parameters derived from the model: pacing rate, send quantum, congestion window,
//! recovery. Windows are in bytes.

use super::newly_acked;
use crate::components::datagram_size::resized;
use crate::{Ack, Control, Lost, RateSample, Sent};
use units::{Bytes, Duration, Rate, Time};

/// `InitPacingRate`: the initial window, spread over an assumed RTT or over the first sample.
pub(crate) fn initial_pacing_rate(gain: f64, cwnd: u64, rtt: Duration) -> Rate {
    Rate::from_bytes_per_sec(Rate::from_delivery(cwnd, rtt).bytes_per_sec() * gain)
}

/// The rate of `SetPacingRateWithGain`: slightly below the estimate, so that queues drain.
pub(crate) fn paced(bw: Rate, gain: f64, margin: f64) -> Rate {
    Rate::from_bytes_per_sec(gain * bw.bytes_per_sec() * (1.0 - margin))
}

/// `SetSendQuantum`: bytes sent in `time` at this rate, limited to between `floor` and `max` bytes.
pub(crate) fn send_quantum(rate: Rate, time: Duration, floor: u64, max: Bytes) -> u64 {
    rate.bytes_in(time).min(max.0).max(floor)
}

/// `HandleRestartFromIdle`: reports whether nothing was in flight because of the application.
pub(crate) fn restarts_from_idle(sent: &Sent) -> bool {
    sent.app_limited && sent.bytes_in_flight <= sent.bytes
}

#[derive(Clone, Debug)]
pub(crate) struct Window {
    mds: u64,
    /// `C.InitialCwnd`.
    initial: u64,
    pub(crate) cwnd: u64,
    /// Window to restore after recovery or ProbeRTT.
    pub(crate) prior_cwnd: u64,
    pub(crate) pacing_rate: Rate,
    pub(crate) send_quantum: u64,
    /// Bytes in flight, as reported by the last signal.
    pub(crate) inflight: u64,
    pub(crate) in_recovery: bool,
    /// Whether each delivered packet allows one packet: the first round of recovery (versions 1 and
    /// 2).
    pub(crate) packet_conservation: bool,
    /// Value of `C.delivered` when recovery began.
    recovery_begin: u64,
    /// Value of `C.delivered` at its last loss. Packets sent before may still be missing.
    recovery_end: u64,
}

impl Window {
    /// Creates an initial window of `initial` bytes, paced as if the RTT were `initial_rtt`.
    pub(crate) fn new(initial: u64, mds: u64, startup_gain: f64, initial_rtt: Duration) -> Self {
        Self {
            mds,
            initial,
            cwnd: initial,
            prior_cwnd: 0,
            pacing_rate: initial_pacing_rate(startup_gain, initial, initial_rtt),
            send_quantum: 0,
            inflight: 0,
            in_recovery: false,
            packet_conservation: false,
            recovery_begin: 0,
            recovery_end: 0,
        }
    }

    /// Reports a new datagram size and initial window, which is the target before the first RTT
    /// sample. `min` is in packets.
    pub(crate) fn on_path_change(&mut self, mds: u64, initial: u64, min: u64) {
        let before = core::mem::replace(&mut self.mds, mds);
        self.initial = initial;
        self.cwnd = resized(self.cwnd, min, before, mds);
    }

    /// Returns the control of every version. Startup is its slow start, whose end is not known in
    /// advance.
    pub(crate) fn control(&self, in_startup: bool, send_quantum: u64) -> Control {
        Control {
            cwnd: self.cwnd,
            pacing_rate: Some(self.pacing_rate),
            ssthresh: if in_startup { u64::MAX } else { 0 },
            send_quantum: Some(send_quantum),
            wake: Time::NEVER,
        }
    }

    /// Replaces the first pacing rate, based on an assumed RTT, at the first RTT sample.
    ///
    /// Until the pipe is full the rate only rises, so it would keep a value that is too high.
    pub(crate) fn init_pacing_rate(&mut self, startup_gain: f64, first_rtt: Option<Duration>) {
        if let Some(rtt) = first_rtt.filter(|&rtt| rtt > Duration::ZERO) {
            self.pacing_rate = initial_pacing_rate(startup_gain, self.initial, rtt);
        }
    }

    /// `BDPMultiple`. Returns the initial window while there is no RTT.
    pub(crate) fn bdp_multiple(&self, bw: Rate, min_rtt: Duration, gain: f64) -> u64 {
        match min_rtt {
            Duration::MAX => self.initial,
            min_rtt => (gain * bw.bytes_per_sec() * min_rtt.as_secs_f64() + 0.5) as u64,
        }
    }

    /// `SetPacingRate`: does not lower the rate before the pipe has been full.
    pub(crate) fn set_pacing_rate(&mut self, rate: Rate, filled_pipe: bool) {
        if rate > self.pacing_rate || (filled_pipe && rate > Rate(0)) {
            self.pacing_rate = rate;
        }
    }

    /// `SetCwnd`: grows towards the target by the acknowledged bytes. Exceeds it only until the
    /// pipe has been full.
    pub(crate) fn grow(&mut self, ack: &Ack, target: u64, filled_pipe: bool, min_pipe_cwnd: u64) {
        let grown = self.cwnd.saturating_add(newly_acked(ack));
        if filled_pipe {
            self.cwnd = grown.min(target);
        } else if self.cwnd < target || ack.delivered < self.initial {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(min_pipe_cwnd);
    }

    /// Implements `ModulateCwndForRecovery`.
    pub(crate) fn modulate_for_recovery(&mut self, ack: &Ack) {
        if ack.lost > 0 {
            self.cwnd = self.cwnd.saturating_sub(ack.lost).max(self.mds);
        }
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(ack.bytes_in_flight.saturating_add(newly_acked(ack)));
        }
    }

    /// `SaveCwnd`: a window already reduced by recovery or ProbeRTT is not worth restoring.
    pub(crate) fn save_cwnd(&mut self, in_probe_rtt: bool) {
        let cut = self.in_recovery || in_probe_rtt;
        self.prior_cwnd = if cut { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// Implements `RestoreCwnd`.
    pub(crate) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// Reports losses: other packets sent before them may be missing too.
    pub(crate) fn on_lost(&mut self, lost: &Lost) {
        self.inflight = lost.bytes_in_flight;
        self.recovery_end = lost.delivered;
    }

    /// Enters recovery at this value of `C.delivered`. The caller sets the window.
    pub(crate) fn enter_recovery(&mut self, delivered: u64, in_probe_rtt: bool) {
        self.save_cwnd(in_probe_rtt);
        self.in_recovery = true;
        self.recovery_begin = delivered;
        self.recovery_end = delivered;
    }

    /// Cuts the window to inflight plus one packet, after a timeout and at the start of packet
    /// conservation.
    pub(crate) fn cut_to_inflight(&mut self) {
        self.cwnd = self.inflight.saturating_add(self.mds);
    }

    /// Reports whether recovery began at least a round ago.
    pub(crate) fn has_recovered_for_a_round(&self, rs: &RateSample) -> bool {
        self.in_recovery && rs.delivered > 0 && rs.prior_delivered >= self.recovery_begin
    }

    /// Leaves recovery. Packet conservation ends after a round, recovery after a round without a
    /// loss if the sender's period is over too.
    ///
    /// A period of RFC 9002 ends after a round whatever else is lost. If each period were a
    /// separate recovery, random loss would keep the sender in packet conservation. Inflight would
    /// then shrink every round.
    pub(crate) fn leave_recovery(&mut self, ack: &Ack, rs: &RateSample) {
        if !self.has_recovered_for_a_round(rs) {
            return;
        }
        self.packet_conservation = false;
        if !ack.in_recovery && rs.prior_delivered >= self.recovery_end {
            self.in_recovery = false;
            self.restore_cwnd();
        }
    }

    /// Undoes recovery, because there was no loss.
    pub(crate) fn undo_recovery(&mut self) {
        self.in_recovery = false;
        self.packet_conservation = false;
        self.restore_cwnd();
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{MDS, lost, sample};
    use super::*;
    use crate::testing::fixtures::acked;

    /// RFC 9002's initial window, at most 14 720 bytes but at least two packets, or a number of
    /// packets. The first rate follows from it.
    #[test]
    fn initial_windows() {
        for (packets, mds, expected) in
            [(None, 1200, 12_000), (None, 9000, 18_000), (Some(10), 9000, 90_000), (Some(1), 1200, 1200)]
        {
            let w = Window::new(
                crate::initial_window_or_default(packets, mds),
                mds,
                2.0,
                Duration::from_millis(1),
            );
            assert_eq!((w.cwnd, w.pacing_rate), (expected, Rate(expected * 16_000)), "{packets:?} of {mds}");
        }
    }

    fn window() -> Window {
        Window::new(10 * MDS, MDS, 2.0, Duration::from_millis(1))
    }

    /// Continuing losses, each found one round after the previous one: conservation lasts for the
    /// first round.
    ///
    /// Recovery lasts until a packet is acknowledged that was sent after the last loss was found.
    #[test]
    fn recovery_goes_on_with_its_losses() {
        let mut w = window();
        w.cwnd = 100 * MDS;
        w.enter_recovery(10_000, false);
        (w.packet_conservation, w.cwnd) = (true, 50 * MDS);
        let ack = |w: &mut Window, loss: Option<u64>, prior_delivered| {
            if let Some(delivered) = loss {
                w.on_lost(&Lost { delivered, ..lost(&[1], MDS).batch() });
            }
            w.leave_recovery(&acked(MDS), &sample(10, prior_delivered));
            (w.packet_conservation, w.in_recovery)
        };
        assert_eq!(ack(&mut w, Some(15_000), 9_999), (true, true));
        assert_eq!(ack(&mut w, Some(20_000), 10_000), (false, true));
        assert_eq!(ack(&mut w, Some(30_000), 20_000), (false, true));
        assert_eq!(ack(&mut w, None, 29_999), (false, true));
        assert_eq!(w.cwnd, 50 * MDS);
        assert_eq!(ack(&mut w, None, 30_000), (false, false));
        assert_eq!(w.cwnd, 100 * MDS, "restored");
    }

    /// Packets that arrive late grow the window like others, and count in conservation.
    #[test]
    fn late_packets_count() {
        let late = Ack { late: 3 * MDS, bytes_in_flight: 40 * MDS, ..acked(0) };
        let mut w = window();
        w.grow(&late, 100 * MDS, true, 4 * MDS);
        assert_eq!(w.cwnd, 13 * MDS);
        w.packet_conservation = true;
        w.modulate_for_recovery(&late);
        assert_eq!(w.cwnd, 43 * MDS);
    }
}
