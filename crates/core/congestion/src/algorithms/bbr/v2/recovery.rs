//! `recovery = "window"`: a separate window for recovery, as in mvfst's BBRv1 (mvfst.md section 8;
//! Bbr2.cpp:235-304, 384).
//!
//! ```text
//! first loss    W = inflight;  a round begins
//! each loss     W -= lost;  begin = now
//! each ACK      of a packet sent at `begin` or later: recovery ends, cwnd is restored
//!               otherwise, after the first round, W += acked;  W = max(W, inflight + acked)
//! always        W >= 4 packets;  cwnd <= W
//! ```
//!
//! mvfst adds the bytes acknowledged by the ACK with the loss to the first W. Here the second
//! maximum has the same effect.

use super::params::Recovery;
use super::{Bbr2, State};
use crate::algorithms::bbr::common::newly_acked;
use crate::{Ack, Lost};
use units::Time;

/// Window during recovery. Without meaning outside of recovery.
#[derive(Clone, Debug, Default)]
pub(super) struct RecoveryWindow {
    window: u64,
    begin: Time,
    grows: bool,
}

impl Bbr2 {
    pub(super) fn has_recovery_window(&self) -> bool {
        self.params.recovery == Recovery::Window
    }

    pub(super) fn recovery_window_on_lost(&mut self, lost: &Lost) {
        self.bbr.window.save_cwnd(self.bbr.state == State::ProbeRtt);
        if !self.bbr.window.in_recovery {
            self.bbr.window.in_recovery = true;
            self.recovery = RecoveryWindow { window: lost.bytes_in_flight, ..RecoveryWindow::default() };
            self.bbr.model.rounds.begin();
        }
        let bytes = lost.packets.iter().map(|packet| packet.bytes).sum();
        self.recovery.begin = lost.now;
        self.recovery.window = self.recovery.window.saturating_sub(bytes).max(self.bbr.min_pipe_cwnd());
    }

    pub(super) fn recovery_window_on_persistent_congestion(&mut self) {
        self.recovery.window = self.bbr.min_pipe_cwnd();
    }

    /// Updates the window once this ACK's round is known.
    pub(super) fn recovery_window_on_ack(&mut self, ack: &Ack) {
        if !self.bbr.window.in_recovery {
            return;
        }
        if ack.packets.last().is_some_and(|newest| newest.sent >= self.recovery.begin) {
            return self.bbr.window.undo_recovery();
        }
        let (acked, least) = (newly_acked(ack), self.bbr.min_pipe_cwnd());
        let w = &mut self.recovery;
        w.grows |= self.bbr.model.rounds.start;
        w.window = w.window.saturating_add(if w.grows { acked } else { 0 });
        w.window = w.window.max(ack.bytes_in_flight.saturating_add(acked)).max(least);
    }

    pub(super) fn bound_cwnd_for_recovery(&mut self) {
        if self.bbr.window.in_recovery {
            self.bbr.window.cwnd = self.bbr.window.cwnd.min(self.recovery.window);
        }
    }
}

#[cfg(test)]
mod tests {

    use super::super::script::{MDS, known_with, lost};
    use super::*;
    use crate::testing::fixtures::{acked, congestion};
    use crate::{AckedPacket, Cause, Controller};
    use units::Rate;

    /// A flow at 10 Mbit/s and 100 ms with a window of 240 000 bytes, after the loss of two packets
    /// at 1 s. `inflight` bytes remain.
    fn recovering(inflight: u64) -> Bbr2 {
        let mut cc = known_with(super::super::params::mvfst_values(), 10, 100);
        (cc.bbr.state, cc.bbr.window.cwnd) = (State::ProbeBwCruise, 240_000);
        lose(&mut cc, 1000, inflight);
        cc
    }

    fn lose(cc: &mut Bbr2, ms: u64, bytes_in_flight: u64) {
        let (now, delivered) = (Time::from_millis(ms), 1_000_000);
        cc.on_lost(&Lost { now, bytes_in_flight, delivered, ..lost(&[7, 8], 100 * MDS).batch() });
        cc.on_congestion(&congestion(Cause::Loss, bytes_in_flight));
    }

    /// Acknowledges one packet sent at `sent` ms with 100 000 bytes still in flight. Returns the
    /// window.
    fn ack(cc: &mut Bbr2, sent: u64, round_start: bool) -> u64 {
        let sent = Time::from_millis(sent);
        let packet = AckedPacket { pn: 0, bytes: MDS, sent, received: None, before_reduction: false };
        cc.bbr.model.rounds.start = round_start;
        let ack = Ack { packets: &[packet], bytes_in_flight: 100_000, in_recovery: true, ..acked(MDS) };
        cc.recovery_window_on_ack(&ack);
        cc.set_cwnd(&ack);
        cc.bbr.window.cwnd
    }

    /// 100 000 bytes in flight: conservation gives 101 200. From the next round on, each ACK adds
    /// 1200 bytes. A second loss subtracts its bytes and delays the end. Then the window is
    /// restored.
    #[test]
    fn conservation_growth_and_end() {
        let mut cc = recovering(100_000);
        assert_eq!(cc.recovery.window, 100_000 - 2 * MDS);
        assert_eq!(ack(&mut cc, 950, false), 101_200);
        assert_eq!(ack(&mut cc, 960, false), 101_200, "what leaves is what arrives");
        assert_eq!(ack(&mut cc, 970, true), 102_400);
        assert_eq!(ack(&mut cc, 980, false), 103_600);
        lose(&mut cc, 1050, 100_000);
        assert_eq!(cc.recovery.window, 103_600 - 2 * MDS);
        assert_eq!(ack(&mut cc, 1049, false), 102_400, "the first loss is repaired, the second not");
        assert_eq!(ack(&mut cc, 1050, false), 241_200);
        assert!(!cc.bbr.window.in_recovery);
    }

    /// The bandwidth estimate does not change. Four packets remain with almost nothing in flight,
    /// and after persistent congestion.
    #[test]
    fn at_least_four_packets() {
        let cc = recovering(0);
        assert_eq!((cc.recovery.window, cc.bbr.model.max_bw()), (4 * MDS, Rate(10_000_000)));
        let mut cc = recovering(100_000);
        cc.on_congestion(&congestion(Cause::PersistentCongestion, 0));
        assert_eq!(cc.recovery.window, 4 * MDS);
    }

    /// The recovery window applies in every state, also in Startup. The draft's does not.
    #[test]
    fn every_state() {
        for state in [State::Startup, State::Drain, State::ProbeBwUp, State::ProbeRtt] {
            let mut cc = known_with(super::super::params::mvfst_values(), 10, 100);
            (cc.bbr.state, cc.bbr.window.cwnd) = (state, 240_000);
            lose(&mut cc, 1000, 50_000);
            assert!(cc.bbr.window.in_recovery && !cc.bbr.window.packet_conservation);
            assert_eq!((cc.bbr.window.cwnd, cc.recovery.window), (240_000, 50_000 - 2 * MDS), "{state:?}");
        }
    }
}
