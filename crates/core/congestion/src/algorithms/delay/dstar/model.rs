//! Measurements: bdp, RTTmin, and the window that follows from them.

use super::{Dstar, Mode};
use crate::Ack;
use units::{Duration, Time};

/// Start of a measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// Bytes delivered at the start.
    pub(super) delivered: u64,
    pub(super) time: Time,
    /// Whether the application has limited the sender since.
    pub(super) app_limited: bool,
}

/// State that an undo restores. Windows are in packets.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) slow_start: bool,
    pub(super) min_rtt: Duration,
    pub(super) min_rtt_time: Time,
    pub(super) bdp: u64,
    pub(super) last_bdp: u64,
    pub(super) gain_cwnd: u64,
    pub(super) cwnd: u64,
}

impl Model {
    /// Rounds to the nearest numbers of packets of the new size.
    pub(super) fn rescale(&mut self, before: u64, after: u64) {
        let Self { bdp, last_bdp, gain_cwnd, cwnd, .. } = self;
        for packets in [bdp, last_bdp, gain_cwnd, cwnd] {
            let bytes = u128::from(*packets) * u128::from(before);
            let rounded = (bytes + u128::from(after / 2)) / u128::from(after);
            *packets = u64::try_from(rounded).unwrap_or(u64::MAX).min(u64::MAX / after);
        }
    }
}

impl Dstar {
    /// Reports whether the mode has lasted longer than its round trips.
    pub(super) fn is_over(&self, now: Time) -> bool {
        let rtts = match self.mode {
            Mode::Drain => self.params.drain_rtts,
            Mode::Gain1 => self.params.gain_1_rtts,
            Mode::Gain2 => self.params.gain_2_rtts,
        };
        let sampled = self.last_rtt > Duration::ZERO;
        sampled && self.trans_time.is_some_and(|since| now > since + self.last_rtt * rtts)
    }

    /// Returns bdp by equations 1 and 2, in packets. Returns the old estimate if no time has
    /// passed.
    pub(super) fn measure(&self, ack: &Ack) -> u64 {
        let interval = u128::from((ack.now - self.start.time).0);
        if interval == 0 || self.model.min_rtt == Duration::MAX {
            return self.model.bdp;
        }
        let bytes = u128::from(ack.delivered.saturating_sub(self.start.delivered));
        let packets = (bytes * u128::from(self.model.min_rtt.0)).div_ceil(interval * u128::from(self.mds));
        // Limit the window to what fits into 64 bits in bytes.
        u64::try_from(packets).unwrap_or(u64::MAX).min(u64::MAX / self.mds)
    }

    /// Section 3.3: continues slow start while bdp grows.
    pub(super) fn measured_in_slow_start(&mut self, now: Time, bdp: u64, limited: bool) {
        if limited && bdp <= self.model.last_bdp {
            return self.enter(Mode::Gain1, now, self.model.cwnd);
        }
        self.model.bdp = bdp;
        if bdp > self.model.last_bdp {
            self.model.last_bdp = bdp;
            self.enter(Mode::Gain1, now, (bdp as f64 * self.params.slow_start_gain) as u64);
        } else {
            self.end_slow_start(now);
        }
    }

    pub(super) fn measured(&mut self, now: Time, bdp: u64, limited: bool) {
        self.model.last_bdp = self.model.bdp;
        self.model.bdp = if limited { bdp.max(self.model.bdp) } else { bdp };
        let change = self.model.bdp.abs_diff(self.model.last_bdp) as f64 * self.params.gain;
        let most = self.model.bdp as f64 * self.params.max_gain;
        self.model.gain_cwnd = self.params.min_gain_cwnd.saturating_add(change.min(most) as u64);
        if now > self.model.min_rtt_time + self.params.rtt_timeout {
            (self.model.min_rtt, self.model.min_rtt_time) = (self.last_rtt, now);
            self.enter(Mode::Drain, now, self.params.min_cwnd);
        } else {
            self.enter(Mode::Gain1, now, self.model.bdp.saturating_add(self.model.gain_cwnd));
        }
    }

    pub(super) fn advance(&mut self, ack: &Ack) {
        match self.mode {
            Mode::Drain => {
                self.enter(Mode::Gain1, ack.now, self.model.bdp.saturating_add(self.model.gain_cwnd));
            }
            Mode::Gain1 => {
                self.enter(Mode::Gain2, ack.now, self.model.cwnd);
                self.start = Start { delivered: ack.delivered, time: ack.now, app_limited: false };
            }
            Mode::Gain2 => {
                let bdp = self.measure(ack);
                let limited = self.start.app_limited && self.params.ignore_app_limited;
                if self.model.slow_start {
                    self.measured_in_slow_start(ack.now, bdp, limited);
                } else {
                    self.measured(ack.now, bdp, limited);
                }
            }
        }
    }
}
