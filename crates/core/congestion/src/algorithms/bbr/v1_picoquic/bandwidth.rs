//! Bandwidth estimate: the maximum of the last rounds, and the peak between two ACKs.

use super::{Bbr1Picoquic, State};
use crate::{Ack, RateSample};
use alloc::collections::VecDeque;
use units::{Duration, Rate, Time};

/// `btl_bw_filter`: the maximum of each of the last rounds, the current one first. Bits per second.
#[derive(Clone, Debug)]
pub(super) struct BtlBw {
    pub(super) len: usize,
    pub(super) rounds: VecDeque<u64>,
    /// `bandwidth_estimate`, the last sample.
    pub(super) estimate: u64,
    /// Whether there has been a new maximum since the cycle last checked.
    pub(super) increased: bool,
}

impl BtlBw {
    pub(super) fn max(&self) -> u64 {
        self.rounds.iter().copied().max().unwrap_or(0)
    }

    /// Adds a sample. An application-limited one counts if it exceeds the last
    /// (`picoquic_estimate_path_bandwidth`).
    pub(super) fn sample(&mut self, rs: &RateSample) {
        let taken = rs.delivery_rate.filter(|r| !rs.app_limited || r.0 > self.estimate);
        self.estimate = taken.map_or(self.estimate, |r| r.0);
    }

    pub(super) fn update(&mut self, round_start: bool, least: u64) {
        if round_start || self.rounds.is_empty() {
            self.rounds.push_front(0);
            self.rounds.truncate(self.len);
        }
        let bw = self.estimate.max(least);
        self.increased |= bw > self.max();
        self.rounds[0] = self.rounds[0].max(bw);
    }
}

/// `picoquic_estimate_max_path_bandwidth`: the rate between two ACKs.
#[derive(Clone, Debug, Default)]
pub(super) struct Peak {
    /// Delivered bytes, time of the ACK, and send time.
    pub(super) last: Option<(u64, Time, Time)>,
    pub(super) rate: Rate,
}

impl Peak {
    pub(super) fn update(&mut self, ack: &Ack, least: Duration) {
        let Some(sent) = ack.packets.last().map(|p| p.sent) else { return };
        let (delivered, acked, before) = *self.last.get_or_insert((ack.delivered, ack.now, sent));
        if sent >= before && ack.now - acked > least {
            let interval = (ack.now - acked).max(sent - before);
            self.rate = self.rate.max(Rate::from_delivery(ack.delivered - delivered, interval));
            self.last = Some((ack.delivered, ack.now, sent));
        }
    }
}

impl Bbr1Picoquic {
    /// Implements `BBRUpdateBtlBw`.
    pub(super) fn update_btl_bw(&mut self, ack: &Ack, rs: &RateSample) {
        self.rounds.update(ack.delivered, rs);
        self.peak.update(ack, self.params.peak_interval);
        self.btl_bw.sample(rs);
        let seed = if self.state == State::Startup { self.params.peak_share } else { 0.0 };
        let slowest = match self.rt_prop {
            Duration::MAX => Rate(0),
            rt_prop => Rate::from_delivery(self.params.min_window.0, rt_prop),
        };
        let least = slowest.0.max((self.peak.rate.0 as f64 * seed) as u64);
        self.btl_bw.update(self.rounds.start, least);
    }
}
