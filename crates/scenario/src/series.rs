//! Time series in compact columns, sampled at a fixed interval.

use std::ops::Index;

use crate::repeated::Repeated;

/// One flow's columns; one entry per sample of [`Series::times`], NaN where the flow did not run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSeries {
    /// Bytes.
    pub cwnd: Repeated,
    /// Bytes.
    pub bytes_in_flight: Repeated,
    /// Milliseconds.
    pub smoothed_rtt_ms: Repeated,
    /// The newest sample, milliseconds.
    pub latest_rtt_ms: Repeated,
    /// Stream bytes that arrived in the interval before the sample, Mbit/s.
    pub goodput_mbit_s: Repeated,
    /// Video that the encoder made in the interval before the sample, Mbit/s; NaN without one.
    pub media_mbit_s: Repeated,
    /// One-way delay of the last packet that arrived in the interval before the sample, milliseconds; NaN without one.
    pub owd_ms: Repeated,
    /// The controller's own variables, by their paper's name.
    pub inner: Variables,
}

/// Columns of a controller's own variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variables(Vec<(&'static str, Repeated)>);

impl Variables {
    /// The column of this name.
    pub fn get(&self, name: &str) -> Option<&Repeated> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, values)| values)
    }
}

impl FromIterator<(&'static str, Repeated)> for Variables {
    fn from_iter<I: IntoIterator<Item = (&'static str, Repeated)>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}

impl IntoIterator for Variables {
    type Item = (&'static str, Repeated);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Index<&str> for Variables {
    type Output = Repeated;

    fn index(&self, name: &str) -> &Repeated {
        self.get(name).unwrap_or(const { &Repeated::EMPTY })
    }
}

/// All columns of a run, or a part of them: some samples one after another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Sample times, seconds.
    pub times: Vec<f64>,
    /// Bytes in the bottleneck's queue and on its wire.
    pub backlog: Vec<f64>,
    /// Packets dropped at the bottleneck since the start.
    pub drops: Vec<f64>,
    /// The probe's last answer in the interval before the sample, milliseconds; NaN without one.
    pub probe_ms: Vec<f64>,
    /// Bytes of UDP that arrived in the interval before the sample, Mbit/s; NaN without any source of it.
    pub udp_mbit_s: Vec<f64>,
    /// Per flow, in the scenario's order.
    pub flows: Vec<FlowSeries>,
}
