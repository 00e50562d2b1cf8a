//! Counters of one sender.

use congestion::{Cause, Detection};

/// Since the start of the connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets sent.
    pub sent: u64,
    /// Bytes sent, as the window counts them.
    pub sent_bytes: u64,
    /// Packets sent with a payload sent before.
    pub retransmissions: u64,
    /// Packets sent that were not in flight, not part of `sent`.
    pub bare: u64,
    /// Packets that left the flight without a verdict: their packet number space was discarded.
    pub discarded: u64,
    /// Packets acknowledged.
    pub acked: u64,
    /// Packets declared lost by packet threshold.
    pub lost_by_packet_threshold: u64,
    /// Packets declared lost by time threshold.
    pub lost_by_time_threshold: u64,
    /// Packets declared lost by timeout.
    pub lost_by_timeout: u64,
    /// Packets declared lost that arrived after all.
    pub spurious: u64,
    /// Probe and retransmission timeouts.
    pub timeouts: u64,
    /// Reductions for loss.
    pub loss_events: u64,
    /// Reductions for CE marks.
    pub ecn_events: u64,
    /// Reductions that the controller asked for.
    pub delay_events: u64,
    /// Collapses for persistent congestion or timeout.
    pub collapses: u64,
    /// Reductions undone.
    pub undone: u64,
    /// Packets acknowledged, with an endpoint, whose receive time came with it.
    pub used_stamps: u64,
    /// Receive times, with an endpoint, of packets that were acknowledged before.
    pub unused_stamps: u64,
}

impl Stats {
    /// Packets declared lost, whatever the rule.
    pub fn lost(&self) -> u64 {
        self.lost_by_packet_threshold + self.lost_by_time_threshold + self.lost_by_timeout
    }

    /// Packets in flight.
    pub(crate) fn in_flight(&self) -> u64 {
        self.sent - self.acked - self.lost() - self.discarded
    }

    pub(crate) fn count_loss(&mut self, detection: Detection) {
        *match detection {
            Detection::PacketThreshold => &mut self.lost_by_packet_threshold,
            Detection::TimeThreshold => &mut self.lost_by_time_threshold,
            // No later packet found it: a timeout, and what a later version of the contract adds.
            _ => &mut self.lost_by_timeout,
        } += 1;
    }

    pub(crate) fn count_reduction(&mut self, cause: Cause) {
        *match cause {
            Cause::Loss => &mut self.loss_events,
            Cause::Ecn => &mut self.ecn_events,
            Cause::Delay => &mut self.delay_events,
            // Persistent congestion, a timeout, and what a later version of the contract adds.
            _ => &mut self.collapses,
        } += 1;
    }
}

/// Two connections together.
impl std::ops::AddAssign<&Self> for Stats {
    fn add_assign(&mut self, other: &Self) {
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        self.retransmissions += other.retransmissions;
        self.bare += other.bare;
        self.discarded += other.discarded;
        self.acked += other.acked;
        self.lost_by_packet_threshold += other.lost_by_packet_threshold;
        self.lost_by_time_threshold += other.lost_by_time_threshold;
        self.lost_by_timeout += other.lost_by_timeout;
        self.spurious += other.spurious;
        self.timeouts += other.timeouts;
        self.loss_events += other.loss_events;
        self.ecn_events += other.ecn_events;
        self.delay_events += other.delay_events;
        self.collapses += other.collapses;
        self.undone += other.undone;
        self.used_stamps += other.used_stamps;
        self.unused_stamps += other.unused_stamps;
    }
}
