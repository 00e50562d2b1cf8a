//! Congestion signals of versions 2 and 3: the bytes that the last round delivered and lost, and
//! the bytes in flight when the losses became too many.
//!
//! ```text
//! too high           lost > loss_thresh * tx_in_flight
//! inflight at loss   for a lost packet; `prev` are the values before it:
//!                    inflight_prev + (loss_thresh * inflight_prev - lost_prev) / (1 - loss_thresh)
//! ```

use super::rounds::NO_SAMPLE;
use crate::{Lost, LostPacket, RateSample};

#[derive(Clone, Debug, Default)]
pub(crate) struct Signals {
    /// Whether this ACK ends a round of the short-term bounds.
    pub(crate) loss_round_start: bool,
    loss_round_delivered: u64,
    pub(crate) loss_in_round: bool,
    /// Highest bandwidth of the round, in bits per second.
    pub(crate) bw_latest: u64,
    /// Most bytes delivered in the round.
    pub(crate) inflight_latest: u64,
    /// Non-contiguous ranges of packet numbers lost in the round.
    pub(crate) lost_ranges: u64,
    last_lost: Option<u64>,
    /// Bytes CE-marked in the round.
    ce_in_round: u64,
}

impl Signals {
    /// Implements `UpdateLatestDeliverySignals`.
    pub(crate) fn update_latest(&mut self, delivered: u64, rs: &RateSample) {
        self.loss_round_start = rs.delivered > 0 && rs.prior_delivered >= self.loss_round_delivered;
        self.bw_latest = self.bw_latest.max(rs.delivery_rate.map_or(0, |r| r.0));
        self.inflight_latest = self.inflight_latest.max(rs.delivered);
        if self.loss_round_start {
            self.loss_round_delivered = delivered;
        }
    }

    /// `AdvanceLatestDeliverySignals`, and the end of the round's counts.
    pub(crate) fn advance_latest(&mut self, rs: &RateSample) {
        if self.loss_round_start {
            self.bw_latest = rs.delivery_rate.map_or(0, |r| r.0);
            self.inflight_latest = rs.delivered;
            self.lost_ranges = 0;
            self.ce_in_round = 0;
        }
    }

    /// Implements `ResetCongestionSignals`.
    pub(crate) fn reset(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0;
        self.inflight_latest = 0;
    }

    /// Begins a round at its first loss (version 3).
    pub(crate) fn begin_loss_round(&mut self, delivered: u64) {
        if !self.loss_in_round {
            self.loss_round_delivered = delivered;
        }
    }

    pub(crate) fn note_loss(&mut self, pn: u64) {
        self.loss_in_round = true;
        let contiguous = self.last_lost.is_some_and(|last| last.checked_add(1) == Some(pn));
        self.lost_ranges += u64::from(!contiguous);
        self.last_lost = Some(pn);
    }

    /// Returns the sample with each CE mark counted as the loss of a packet. Does nothing without a
    /// sample to compare with.
    pub(crate) fn count_marks(&mut self, rs: RateSample, packets: u64, mds: u64) -> RateSample {
        let marked = self.note_ce(packets, mds);
        let lost = if rs.tx_in_flight > 0 { rs.lost.saturating_add(marked) } else { rs.lost };
        RateSample { lost, ..rs }
    }

    /// Counts a CE mark as the loss of a packet. Returns the bytes marked in the round.
    fn note_ce(&mut self, packets: u64, mds: u64) -> u64 {
        if packets > 0 {
            self.loss_in_round = true;
            self.lost_ranges += 1;
            self.ce_in_round = self.ce_in_round.saturating_add(packets.saturating_mul(mds));
        }
        self.ce_in_round
    }
}

/// Implements `IsInflightTooHigh`.
pub(crate) fn is_inflight_too_high(rs: &RateSample, loss_thresh: f64) -> bool {
    rs.lost as f64 > rs.tx_in_flight as f64 * loss_thresh
}

/// `InflightAtLoss`: the bytes in flight, up to some point in the lost packet, at which the losses
/// reached the threshold.
pub(crate) fn inflight_at_loss(rs: &RateSample, size: u64, loss_thresh: f64) -> u64 {
    let inflight_prev = rs.tx_in_flight.saturating_sub(size) as f64;
    let lost_prev = rs.lost.saturating_sub(size) as f64;
    let lost_prefix = (loss_thresh * inflight_prev - lost_prev) / (1.0 - loss_thresh);
    (inflight_prev + lost_prefix) as u64
}

/// Returns a sample for each packet of a batch, with the losses known up to that packet.
pub(crate) fn samples<'a>(lost: &'a Lost) -> impl Iterator<Item = (&'a LostPacket, RateSample)> {
    let batch: u64 = lost.packets.iter().map(|p| p.bytes).sum();
    let mut total = lost.total_lost.saturating_sub(batch);
    lost.packets.iter().map(move |p| {
        total += p.bytes;
        let lost = total.saturating_sub(p.lost_at_send);
        (p, RateSample { tx_in_flight: p.tx_in_flight, lost, app_limited: p.app_limited, ..NO_SAMPLE })
    })
}

#[cfg(test)]
mod tests {
    use super::super::script::{MDS, lost, sample};
    use super::*;

    /// Test vectors, in packets of one byte and aggregates of ten.
    #[test]
    fn vectors_of_inflight_at_loss() {
        for (tx_in_flight, lost, size, expected) in [(101, 3, 1, 100), (110, 11, 10, 101), (1000, 21, 1, 998)]
        {
            let rs = RateSample { tx_in_flight, lost, ..sample(0, 0) };
            assert_eq!(inflight_at_loss(&rs, size, 0.02), expected);
        }
    }

    /// Strictly more than 2 %.
    #[test]
    fn loss_threshold() {
        for (lost, too_high) in [(0, false), (2, false), (3, true)] {
            let rs = RateSample { tx_in_flight: 101, lost, ..sample(0, 0) };
            assert_eq!(is_inflight_too_high(&rs, 0.02), too_high, "{lost} of 101");
        }
    }

    #[test]
    fn ranges_are_discontiguous() {
        let mut s = Signals::default();
        for pn in [3, 4, 5, 7, 9, 10] {
            s.note_loss(pn);
        }
        assert_eq!(s.lost_ranges, 3);
        assert_eq!(s.note_ce(0, MDS), 0);
        assert_eq!((s.note_ce(2, MDS), s.lost_ranges), (2 * MDS, 4), "an ACK with marks is one more");
    }

    #[test]
    fn losses_up_to_itself() {
        let batch = lost(&[10, 20, 30], 100 * MDS);
        let sums: Vec<u64> = samples(&batch.batch()).map(|(_, rs)| rs.lost).collect();
        assert_eq!(sums, [MDS, 2 * MDS, 3 * MDS]);
    }
}
