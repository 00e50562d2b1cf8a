//! What is counted of one flow inside a window.

use recovery::Stats;
use units::Duration;

use super::histogram::Histogram;
use super::mean::Mean;
use super::queue_delay::QueueDelay;
use super::timers::TimerMeans;

/// Totals of one flow.
#[derive(Clone, Debug, Default, PartialEq)]
#[repr(C)] // in this order: what every packet touches lies together, before what few do
pub struct Totals {
    /// Packets sent.
    pub packets: u64,
    /// Stream bytes sent, repeats included.
    pub sent: u64,
    /// Bytes sent, as they are on the wire.
    pub wire: u64,
    /// Stream bytes that arrived for the first time.
    pub delivered: u64,
    /// Time each packet spent in the queues of its links and on their wires.
    pub queue_delay: QueueDelay,
    /// From a packet's departure at the sender to its arrival at the receiver, by the simulator's clock.
    pub owd: Histogram,
    /// From a packet's arrival until its payload is handed over in order.
    pub delivery: Delivery,
    /// RTT samples.
    pub rtt: Histogram,
    /// The estimator's `rttvar` after each of them (RFC 9002 section 5.3).
    pub rtt_variation: Mean,
    /// Timers of loss recovery.
    pub timers: TimerMeans,
    /// Those of them that held an ACK alone, for a PING of the receiver.
    pub acks: u64,
    /// Those of these that the first link dropped.
    pub acks_dropped: u64,
    /// Packets that the path dropped.
    pub dropped: u64,
    /// Feedback packets that entered the links of the way back.
    pub feedback: u64,
    /// Those that the path dropped.
    pub feedback_dropped: u64,
    /// Packets with a repeated payload, all of which had arrived when they left: the sender did not know it.
    pub redundant: u64,
}

/// How long what had arrived was held back until all bytes before it had; a packet whose payload had arrived before does not
/// count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delivery {
    /// Packets in order.
    pub at_once: u64,
    /// The others.
    pub waits: Histogram,
}

impl Delivery {
    /// Of all of them.
    pub fn times(&self) -> Histogram {
        let mut times = self.waits.clone();
        times.add_many(Duration::ZERO, self.at_once);
        times
    }
}

/// What became of the frames of a media source inside the measuring window; each counts when its fate is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MediaTotals {
    /// Bytes of video that the encoder made.
    pub made: u64,
    /// Frames that arrived.
    pub complete: u64,
    /// Frames that waited too long to be sent.
    pub skipped: u64,
    /// Frames of which a packet was lost.
    pub lost: u64,
    /// From capture to the arrival of the last packet.
    pub delay: Histogram,
}

/// Short transfers that were completed inside the measuring window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectTotals {
    /// From the first byte offered to the last byte arrived.
    pub time: Histogram,
}

/// One flow in a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowInside {
    /// What is counted inside it.
    pub totals: Totals,
    /// Of a media source.
    pub media: Option<MediaTotals>,
    /// Of an on-off source.
    pub objects: Option<ObjectTotals>,
    /// The ledger where the window begins.
    pub before: Stats,
    /// The ledger where it ends.
    pub after: Stats,
    /// How long the flow ran inside it.
    pub measured: Duration,
}
