//! State of a run at a pause, for programs that observe it or decide something in between.

use recovery::Stats;
use units::Time;

use crate::sampler::FlowSample;

/// State of a run at one time.
#[derive(Clone, Debug, Default)]
pub struct RunSnapshot {
    /// Virtual time.
    pub time: Time,
    /// Bytes in the queues of the forward links and in transmission.
    pub backlog: u64,
    /// Packets that the forward links have dropped since the start.
    pub drops: u64,
    /// State of each flow, in the scenario's order.
    pub flows: Vec<FlowSnapshot>,
}

/// State of one flow at one time.
#[derive(Clone, Debug, Default)]
pub struct FlowSnapshot {
    /// Window, RTT and delivered bytes. It has no one-way delay, which belongs to an interval.
    pub sample: FlowSample,
    /// Counters of the sending end, since the start.
    pub stats: Stats,
}
