//! What a run leaves behind.

use std::sync::atomic::{AtomicBool, AtomicU64};

use link::Counters;
use units::Time;

use crate::record::{FlowInside, Histogram, QueueDelay, Record};
use crate::seconds::Seconds;
use crate::series::Series;

/// What a run leaves behind.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Per flow, in the scenario's order.
    pub flows: Vec<Record>,
    /// The probe's answers, if there was one.
    pub probe: Option<ProbeRecord>,
    /// Per source of UDP, in the scenario's order.
    pub udp: Vec<UdpRecord>,
    /// The counters of the bottleneck, or of the chain's first link.
    pub link: Counters,
    /// Those of the links behind it.
    pub beyond: Vec<Counters>,
    /// Those of the links of the other direction.
    pub reverse: Vec<Counters>,
    /// What happened in the scenario's other windows, in their order.
    pub windows: Vec<Inside>,
    /// Time series, empty unless asked for; what a [`Recorder`](crate::Recorder) has taken is not here.
    pub series: Series,
    /// Each flow's goodput by the second, from the samples of the series.
    pub seconds: Seconds,
    /// Virtual time at the end.
    pub end: Time,
    /// Events processed.
    pub events: u64,
}

/// What happened in a window of the scenario's.
#[derive(Clone, Debug)]
pub struct Inside {
    /// Per flow, in the scenario's order.
    pub flows: Vec<FlowInside>,
    /// Bytes that left each link inside it, forward ones first.
    pub delivered: Vec<u64>,
    /// The probe's answers, if there was one.
    pub probe: Option<ProbeRecord>,
    /// Per source of UDP.
    pub udp: Vec<UdpRecord>,
}

/// What the probe saw inside the measuring window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeRecord {
    /// Packets sent.
    pub sent: u64,
    /// Packets that the path dropped.
    pub dropped: u64,
    /// Round-trip times of the answers.
    pub rtt: Histogram,
}

/// What became of one source's packets inside the measuring window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UdpRecord {
    /// Packets sent.
    pub sent: u64,
    /// Packets that the path dropped.
    pub dropped: u64,
    /// Bytes that arrived, as they are on the wire.
    pub delivered: u64,
    /// Time each packet spent in the queues of its links and on their wires.
    pub queue_delay: QueueDelay,
}

/// Seen from outside while a run goes on.
#[derive(Debug, Default)]
pub struct Watch {
    /// Virtual time reached, nanoseconds.
    pub reached: AtomicU64,
    /// Set it to end the run early.
    pub stop: AtomicBool,
}
