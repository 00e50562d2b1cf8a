//! Rate sample of an ACK, and counters that only some options need.

use super::{BandwidthSample, Bbr2};
use crate::{Ack, RateSample, Sent};

impl Bbr2 {
    /// Returns the sender's sample with ProbeRTT's limit and with marks that count as losses.
    pub(super) fn sample(&mut self, ack: &Ack) -> RateSample {
        let mut rs = self.bbr.probe_rtt.mark(ack.rate);
        if self.params.bandwidth_sample == BandwidthSample::Best {
            rs = self.best.select(ack, rs);
        }
        self.app_limited = rs.app_limited;
        self.bbr.count_marks(rs, ack)
    }

    /// Counts sent packets for the options that need it.
    pub(super) fn count_sent(&mut self, sent: &Sent) {
        self.unpaced = self.unpaced.saturating_sub(1);
        self.loss_round.sent = self.loss_round.sent.saturating_add(sent.bytes);
        if self.params.bandwidth_sample == BandwidthSample::Best {
            self.best.on_sent(sent);
        }
        let used = |share: f64| sent.bytes_in_flight as f64 > share * self.bbr.window.cwnd as f64;
        self.limited_in_round |= self.params.cwnd_limited_share.is_some_and(used);
    }
}
