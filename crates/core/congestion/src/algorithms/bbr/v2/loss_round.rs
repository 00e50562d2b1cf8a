//! Bytes sent and lost in a loss round, for the options that judge whole rounds (mvfst
//! Bbr2.cpp:553-574, 718-748).
//!
//! ```text
//! a loss round ends:   share = lost / sent, ranges as counted; both counts restart
//! other ACKs:          lost += bytes lost in the ACK
//! ```
//!
//! The order is mvfst's: losses of the ACK that ends a round count in no round.

#[derive(Clone, Debug, Default)]
pub(super) struct LossRound {
    /// Bytes sent in this round.
    pub(super) sent: u64,
    /// Bytes lost in this round.
    pub(super) lost: u64,
    /// Share of lost bytes in the previous round. The next field counts its non-contiguous ranges.
    last_share: f64,
    last_ranges: u64,
}

impl LossRound {
    /// Counts the lost bytes of an ACK.
    pub(super) fn on_ack(&mut self, lost: u64, ends: bool, ranges: u64) {
        if ends {
            let last_share = self.lost as f64 / self.sent.max(1) as f64;
            *self = Self { sent: 0, lost: 0, last_share, last_ranges: ranges };
        } else {
            self.lost = self.lost.saturating_add(lost);
        }
    }

    /// Reports whether the last complete round lost too much.
    pub(super) fn was_too_much(&self, loss_thresh: f64, ranges: u64) -> bool {
        self.last_share > loss_thresh && self.last_ranges >= ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 packets sent: 2 losses are not more than 2 %, 3 are. Losses of the last ACK do not
    /// count.
    #[test]
    fn share_of_a_round() {
        for (lost, ranges, too_much) in [(2, 6, false), (3, 6, true), (3, 5, false)] {
            let mut round = LossRound { sent: 100, ..LossRound::default() };
            round.on_ack(1, false, 9);
            round.on_ack(lost - 1, false, 9);
            round.on_ack(50, true, ranges);
            assert_eq!(round.was_too_much(0.02, 6), too_much, "{lost} in {ranges}");
            assert_eq!((round.sent, round.lost), (0, 0));
            round.on_ack(0, true, 0);
            assert!(!round.was_too_much(0.02, 6), "one round only");
        }
    }
}
