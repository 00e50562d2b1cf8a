//! Results of a run.

use std::sync::atomic::{AtomicBool, AtomicU64};

use link::Counters;
use units::Time;

use crate::record::{FlowInWindow, Histogram, QueueDelay, Record};
use crate::seconds::Seconds;
use crate::series::Series;
use crate::topology::Scenario;

/// Results of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Record of each flow, in the scenario's order.
    pub flows: Vec<Record>,
    /// Answers to the ping, if there was one.
    pub probe: Option<ProbeRecord>,
    /// Record of each UDP source, in the scenario's order.
    pub udp: Vec<UdpRecord>,
    /// Counters of the bottleneck, or of the first link of the chain.
    pub link: Counters,
    /// Counters of the links behind it.
    pub beyond: Vec<Counters>,
    /// Counters of the links in the other direction.
    pub reverse: Vec<Counters>,
    /// Bytes that left each link inside the measuring window, forward links first.
    pub carried: Vec<u64>,
    /// Results in the scenario's other windows, in their order.
    pub windows: Vec<WindowOutcome>,
    /// Time series, empty unless requested. Samples taken by a [`Recorder`](crate::Recorder) are
    /// not included.
    pub series: Series,
    /// Goodput of each flow in each second, from the samples of the series.
    pub seconds: Seconds,
    /// Virtual time at the end.
    pub end: Time,
    /// Number of events processed.
    pub events: u64,
}

impl Outcome {
    /// Returns the flows whose connection ended early, and why. Such a run says nothing about their
    /// controllers.
    pub fn broken(&self, scenario: &Scenario) -> Vec<String> {
        let flows = scenario.flows.iter().zip(&self.flows);
        flows.filter_map(|(flow, record)| record.why_broken(&flow.label)).collect()
    }
}

/// Results in one additional window of the scenario.
#[derive(Clone, Debug)]
pub struct WindowOutcome {
    /// Results of each flow, in the scenario's order.
    pub flows: Vec<FlowInWindow>,
    /// Bytes that left each link inside the window, forward links first.
    pub carried: Vec<u64>,
    /// Answers to the ping, if there was one.
    pub probe: Option<ProbeRecord>,
    /// Record of each UDP source.
    pub udp: Vec<UdpRecord>,
}

/// Results of the ping inside a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeRecord {
    pub sent: u64,
    /// Number of packets dropped by the path.
    pub dropped: u64,
    /// Round-trip times of the answers.
    pub rtt: Histogram,
}

/// Results of one UDP source inside a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UdpRecord {
    pub sent: u64,
    /// Number of packets dropped by the path.
    pub dropped: u64,
    /// Bytes that arrived, as on the wire.
    pub delivered: u64,
    /// Time of each packet in the queues of its links and in transmission.
    pub queue_delay: QueueDelay,
}

/// Progress of a run, and a switch to stop it, for other threads.
#[derive(Debug, Default)]
pub struct Watch {
    /// Virtual time reached, in nanoseconds.
    pub reached: AtomicU64,
    /// Ends the run early when set.
    pub stop: AtomicBool,
}
