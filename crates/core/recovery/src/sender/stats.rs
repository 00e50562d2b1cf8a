//! Counters of one sender.

use congestion::{Cause, Detection};

/// Counters since the start of the connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets sent.
    pub sent: u64,
    /// Bytes sent, as counted in the window.
    pub sent_bytes: u64,
    /// Packets sent with a payload that was sent before.
    pub retransmissions: u64,
    /// Packets sent that were not in flight (ACK-only). Not part of `sent`.
    pub bare: u64,
    /// Packets removed from flight because their packet number space was discarded.
    pub discarded: u64,
    /// Packets acknowledged.
    pub acked: u64,
    /// Packets declared lost by the packet threshold.
    pub lost_by_packet_threshold: u64,
    /// Packets declared lost by the time threshold.
    pub lost_by_time_threshold: u64,
    /// Packets declared lost by a timeout.
    pub lost_by_timeout: u64,
    /// Packets declared lost that arrived later.
    pub spurious: u64,
    /// Probe timeouts and retransmission timeouts.
    pub timeouts: u64,
    /// Window reductions for losses.
    pub loss_events: u64,
    /// Window reductions for CE marks.
    pub ecn_events: u64,
    /// Paths on which ECN validation failed (RFC 9000 section 13.4.2).
    pub ecn_failures: u64,
    /// Window reductions that the controller asked for.
    pub delay_events: u64,
    /// Window collapses for persistent congestion or a timeout.
    pub collapses: u64,
    /// Window reductions that were undone.
    pub undone: u64,
    /// Probes sent for the MTU of the latest path. Part of `sent`, and of the losses if they are
    /// lost.
    pub mtu_probes: u64,
    /// Size of datagrams in bytes, with a search for the MTU of the path.
    pub datagram_size: Option<u64>,
    /// Packets acknowledged together with their receive time. Endpoints only.
    pub used_stamps: u64,
    /// Receive times of packets that were acknowledged earlier. Endpoints only.
    pub unused_stamps: u64,
}

impl Stats {
    /// Returns the number of packets declared lost, by any rule.
    pub fn lost(&self) -> u64 {
        self.lost_by_packet_threshold + self.lost_by_time_threshold + self.lost_by_timeout
    }

    /// Returns the number of packets in flight.
    pub(crate) fn in_flight(&self) -> u64 {
        self.sent - self.acked - self.lost() - self.discarded
    }

    pub(crate) fn count_loss(&mut self, detection: Detection) {
        *match detection {
            Detection::PacketThreshold => &mut self.lost_by_packet_threshold,
            Detection::TimeThreshold => &mut self.lost_by_time_threshold,
            // Timeouts, and rules that a later version of `Detection` adds.
            _ => &mut self.lost_by_timeout,
        } += 1;
    }

    pub(crate) fn count_reduction(&mut self, cause: Cause) {
        *match cause {
            Cause::Loss => &mut self.loss_events,
            Cause::Ecn => &mut self.ecn_events,
            Cause::Delay => &mut self.delay_events,
            // Persistent congestion, timeouts, and causes that a later version of `Cause` adds.
            _ => &mut self.collapses,
        } += 1;
    }
}

/// Adds the counters of another connection.
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
        self.ecn_failures += other.ecn_failures;
        self.delay_events += other.delay_events;
        self.collapses += other.collapses;
        self.undone += other.undone;
        self.mtu_probes += other.mtu_probes;
        // The latest connection that has sent anything.
        let size = if other.sent > 0 { other.datagram_size } else { None };
        self.datagram_size = size.or(self.datagram_size);
        self.used_stamps += other.used_stamps;
        self.unused_stamps += other.unused_stamps;
    }
}
