//! Packets that the packet threshold declares lost: by numbers (RFC 9002 section 6.1.1) or by
//! TCP's scoreboard (RFC 6675 section 4), with the lower threshold of Early Retransmit (RFC 5827).
//!
//! ```text
//! IsLost(S)          if  DupThresh discontiguous sequences above S are SACKed
//!                    or  more than (DupThresh - 1) * SMSS bytes above S are SACKed
//! Early Retransmit   DupThresh = outstanding - 1    if fewer than 4 packets are outstanding
//!                                                   and the application has no more data
//! ```
//!
//! Deviations: the sizes of packets in the window stand for bytes. A repeat is never lost by
//! `IsLost`, as in RFC 6675, and a SACKed repeat does not count for it.

use crate::sender::config::PacketCount;
use crate::sender::loss_detection::Overtaken;
use crate::sender::sending::Sender;
use crate::sender::sent_packets::{Payload, Status};

/// RFC 5827 section 2: Early Retransmit applies to fewer packets than this.
const EARLY_RETRANSMIT_BELOW: usize = 4;

impl<T: Payload> Sender<T> {
    /// Returns the packets that enough later ones have overtaken.
    pub(super) fn overtaken(&self, largest_acked: u64) -> Overtaken {
        let Some(threshold) = self.packet_threshold() else { return Overtaken::NONE };
        match self.config.packet_count {
            PacketCount::Numbers => Overtaken::Numbers((largest_acked + 1).saturating_sub(threshold)),
            PacketCount::Sacked => Overtaken::Sacked(self.sacked_beyond(threshold, largest_acked)),
        }
    }

    /// Returns the packet threshold in packets.
    pub(super) fn packet_threshold(&self) -> Option<u64> {
        let threshold = self.reordering.packet_threshold(&self.config)?;
        if !self.config.early_retransmit || !self.accounting.sampler.is_app_limited() {
            return Some(threshold);
        }
        let unresolved = self.space.sent.iter().filter(|(_, p)| p.status != Status::Lost);
        let outstanding = unresolved.take(EARLY_RETRANSMIT_BELOW).count();
        if !(2..EARLY_RETRANSMIT_BELOW).contains(&outstanding) {
            return Some(threshold);
        }
        Some(threshold.min(outstanding as u64 - 1))
    }

    /// Returns the highest offset below which `IsLost` holds, or 0.
    fn sacked_beyond(&self, threshold: u64, largest_acked: u64) -> u64 {
        let limit = threshold.saturating_sub(1).saturating_mul(self.path.max_datagram_size);
        let (mut bytes, mut sequences, mut start) = (0, 0, None);
        let before = self.space.sent.iter_before(largest_acked.saturating_add(1));
        for packet in before.filter(|p| p.status == Status::Acked && !p.is_repeat()) {
            let range = packet.data.range();
            bytes += u64::from(packet.bytes);
            sequences += u64::from(start != Some(range.end));
            start = Some(range.start);
            if bytes > limit || sequences >= threshold {
                return range.start;
            }
        }
        0
    }
}
