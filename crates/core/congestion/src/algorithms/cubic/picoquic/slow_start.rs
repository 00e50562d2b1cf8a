//! Slow start and its exit, at ssthresh or by an RTT that stays high.

use super::event::Event;
use super::{CubicPicoquic, Params, Revision};
use crate::Ack;
use crate::components::picoquic::{packet_time, rtt_measurement};
use units::{Duration, Time};

impl CubicPicoquic {
    pub(super) fn slow_start(&mut self, ack: &Ack) {
        if let Some(rate) = ack.rate.and_then(|sample| sample.delivery_rate) {
            self.peak = self.peak.max(rate);
        }
        let seed = self.params.bandwidth_seed * self.peak.bytes_in(ack.smoothed_rtt) as f64;
        let blocked = ack.cwnd_limited || !self.params.is_new();
        self.cwin = self.cwin.max(seed as u64) + if blocked { ack.acked } else { 0 };
        if self.cwin >= self.ssthresh {
            self.curve.w_reno = self.cwin as f64 / 2.0;
            self.avoid(ack.now);
        }
    }

    pub(super) fn avoid(&mut self, epoch: Time) {
        self.slow_start = false;
        self.curve.start(&self.params, epoch);
    }

    /// Enters avoidance at its plateau, because the RTT has risen for good.
    pub(super) fn leave_slow_start(&mut self, now: Time) {
        let Params { target_rtt, satellite_rtt, .. } = self.params;
        let min = self.rtt_test.filtered_min;
        if min > target_rtt {
            let reference = if min > satellite_rtt { satellite_rtt } else { target_rtt };
            let kept = reference.as_secs_f64() / min.as_secs_f64();
            self.set(self.cwin as f64 * (1.0 + kept) / 2.0);
        } else if self.params.is_new() {
            // Takes back the growth since the packet was sent whose ACK reveals the queue.
            self.set(self.cwin as f64 / 2.0);
        }
        self.ssthresh = self.cwin;
        let cwin = self.cwin as f64;
        let w = &mut self.curve;
        (w.w_max, w.w_last_max, w.w_reno) = (cwin / self.mtu, cwin / self.mtu, cwin);
        if self.params.is_new() {
            self.event(now, Event::RisenRtt);
        } else {
            self.avoid(now);
        }
        if !self.slow_start {
            self.curve.enter_plateau(now);
        }
    }

    pub(super) fn test_rtt(&mut self, ack: &Ack) {
        if !self.slow_start || self.ssthresh != u64::MAX {
            return;
        }
        let least = match self.params.revision {
            Revision::B7bf3ded => Duration::ZERO,
            Revision::D199d45b => packet_time(ack.smoothed_rtt, self.cwin, self.mds),
        };
        if rtt_measurement(ack).is_some_and(|rtt| self.rtt_test.add(ack.now, rtt, least)) {
            self.leave_slow_start(ack.now);
        }
    }
}
