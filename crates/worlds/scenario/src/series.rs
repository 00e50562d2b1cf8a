//! Time series in compact columns, sampled at a fixed interval.

use std::ops::Index;

use crate::run_length::RunLength;

/// Columns of one flow, with one entry per sample of [`Series::times`]; NaN where the flow did not
/// run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSeries {
    /// Congestion window, in bytes.
    pub cwnd: RunLength,
    pub bytes_in_flight: RunLength,
    /// Rate of the pacer, in Mbit/s; NaN while nothing is paced.
    pub pacing_rate_mbit_s: RunLength,
    /// Smoothed RTT, in milliseconds.
    pub smoothed_rtt_ms: RunLength,
    /// Newest RTT sample, in milliseconds.
    pub latest_rtt_ms: RunLength,
    /// Stream bytes that arrived in the interval before the sample, as a rate in Mbit/s.
    pub goodput_mbit_s: RunLength,
    /// Video encoded in the interval before the sample, as a rate in Mbit/s; NaN without an
    /// encoder.
    pub media_mbit_s: RunLength,
    /// One-way delay of the last packet that arrived in the interval before the sample, in
    /// milliseconds; NaN if none did.
    pub owd_ms: RunLength,
    /// Packets declared lost since the start; NaN where the sender's counters are unknown.
    pub lost_packets: RunLength,
    /// Packets sent with data that was sent before, since the start; NaN where unknown.
    pub repeated_packets: RunLength,
    /// Packets that arrived with a CE mark since the start; NaN where unknown.
    pub ce_packets: RunLength,
    /// The controller's own variables, by the name in its paper.
    pub inner: Variables,
}

/// Columns of a controller's own variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variables(Vec<(&'static str, RunLength)>);

impl Variables {
    /// Returns the column of this name.
    pub fn get(&self, name: &str) -> Option<&RunLength> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, values)| values)
    }
}

impl FromIterator<(&'static str, RunLength)> for Variables {
    fn from_iter<I: IntoIterator<Item = (&'static str, RunLength)>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}

impl IntoIterator for Variables {
    type Item = (&'static str, RunLength);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Index<&str> for Variables {
    type Output = RunLength;

    fn index(&self, name: &str) -> &RunLength {
        self.get(name).unwrap_or(const { &RunLength::EMPTY })
    }
}

/// All columns of a run, or consecutive samples of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Sample times, in seconds.
    pub times: Vec<f64>,
    /// Bytes in the bottleneck's queue and in transmission.
    pub backlog: Vec<f64>,
    /// Packets dropped at the bottleneck since the start.
    pub drops: Vec<f64>,
    /// Last answer to the ping in the interval before the sample, in milliseconds; NaN if there was
    /// none.
    pub probe_ms: Vec<f64>,
    /// UDP bytes that arrived in the interval before the sample, as a rate in Mbit/s; NaN without
    /// UDP sources.
    pub udp_mbit_s: Vec<f64>,
    /// Columns of each flow, in the scenario's order.
    pub flows: Vec<FlowSeries>,
}
