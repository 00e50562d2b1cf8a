//! Counts of one flow inside a window.

use recovery::Stats;
use units::Duration;

use super::histogram::Histogram;
use super::mean::Mean;
use super::queue_delay::QueueDelay;
use super::timers::TimerMeans;

/// Totals of one flow.
#[derive(Clone, Debug, Default, PartialEq)]
#[repr(C)] // in this order: fields used by every packet are adjacent and come first
pub struct Totals {
    pub packets: u64,
    /// Stream bytes sent, retransmissions included.
    pub sent: u64,
    /// Bytes sent, as on the wire.
    pub wire: u64,
    /// Stream bytes that arrived for the first time.
    pub delivered: u64,
    /// Packets that the receiver sent to report what arrived.
    pub feedback: u64,
    /// Time of each packet in the queues of its links and in transmission.
    pub queue_delay: QueueDelay,
    /// One-way delay: from departure at the sender to arrival at the receiver, by the simulator's
    /// clock.
    pub owd: Histogram,
    /// Time from a packet's arrival until its payload is delivered in order.
    pub delivery: Delivery,
    pub rtt: Histogram,
    /// The estimator's `rttvar` after each RTT sample (RFC 9002 section 5.3).
    pub rtt_variation: Mean,
    /// Timeouts of loss recovery.
    pub timers: TimerMeans,
    /// Packets sent that held only an ACK, in reply to a PING of the receiver.
    pub acks: u64,
    /// Packets with only an ACK that the first link dropped.
    pub acks_dropped: u64,
    /// Packets dropped by the path.
    pub dropped: u64,
    /// Packets that arrived with a CE mark.
    pub ce: u64,
    /// Feedback packets dropped by the path.
    pub feedback_dropped: u64,
    /// Retransmissions whose whole payload had already arrived when they were sent, unknown to the
    /// sender.
    pub redundant: u64,
    /// Reductions of the window.
    pub reductions: u64,
}

/// Delay of in-order delivery: how long data that had arrived waited for all bytes before it.
/// Packets whose payload had arrived before do not count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delivery {
    /// Packets that arrived in order.
    pub at_once: u64,
    /// Waiting times of the other packets.
    pub waits: Histogram,
}

impl Delivery {
    /// Returns the times of all packets.
    pub fn times(&self) -> Histogram {
        let mut times = self.waits.clone();
        times.add_many(Duration::ZERO, self.at_once);
        times
    }
}

/// Frames of a media source inside a window. Each counts when its outcome is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MediaTotals {
    /// Bytes of video encoded.
    pub made: u64,
    /// Frames that arrived.
    pub complete: u64,
    /// Frames that waited too long to be sent.
    pub skipped: u64,
    /// Frames of which a packet was lost.
    pub lost: u64,
    /// Delay from capture to the arrival of the last packet.
    pub delay: Histogram,
}

/// Short transfers completed inside a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectTotals {
    /// Duration from the first byte offered to the last byte arrived.
    pub time: Histogram,
}

/// Results of one flow in a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowInWindow {
    /// Counts inside the window.
    pub totals: Totals,
    /// Counts of a media source.
    pub media: Option<MediaTotals>,
    /// Counts of an on-off source.
    pub objects: Option<ObjectTotals>,
    /// Counters of loss recovery at the start of the window.
    pub before: Stats,
    /// Counters of loss recovery at the end of the window.
    pub after: Stats,
    /// Time that the flow ran inside the window.
    pub measured: Duration,
}
