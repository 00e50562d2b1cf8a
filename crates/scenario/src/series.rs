//! Time series in compact columns, sampled at a fixed interval.

use std::collections::BTreeMap;

use units::{Duration, Time};

/// One flow's columns; one entry per sample of [`Series::times`], NaN where the flow did not run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSeries {
    /// Bytes.
    pub cwnd: Vec<f64>,
    /// Bytes.
    pub bytes_in_flight: Vec<f64>,
    /// Milliseconds.
    pub smoothed_rtt_ms: Vec<f64>,
    /// The newest sample, milliseconds.
    pub latest_rtt_ms: Vec<f64>,
    /// Stream bytes that arrived in the interval before the sample, Mbit/s.
    pub goodput_mbit_s: Vec<f64>,
    /// Video that the encoder made in the interval before the sample, Mbit/s; NaN without one.
    pub media_mbit_s: Vec<f64>,
    /// One-way delay of the last packet that arrived in the interval before the sample, milliseconds; NaN without one.
    pub owd_ms: Vec<f64>,
    /// The controller's own variables, by their paper's name.
    pub inner: BTreeMap<&'static str, Vec<f64>>,
    delivered: u64,
    made: u64,
}

/// All columns of a run.
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

impl Series {
    /// What is not of the flows.
    pub fn sample_path(&mut self, backlog: u64, drops: u64, answer: Option<Duration>, udp: f64) {
        self.backlog.push(backlog as f64);
        self.drops.push(drops as f64);
        self.probe_ms.push(answer.map_or(f64::NAN, Duration::as_millis_f64));
        self.udp_mbit_s.push(udp);
    }

    /// The time of a sample, before its flows'.
    pub fn sample_time(&mut self, now: Time, flows: usize) {
        self.times.push(now.as_secs_f64());
        self.flows.resize(flows, FlowSeries::default());
    }
}

/// One flow at the time of a sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowSample {
    /// It has begun and not ended.
    pub running: bool,
    /// Bytes.
    pub cwnd: Option<u64>,
    /// Bytes.
    pub bytes_in_flight: Option<u64>,
    /// `smoothed_rtt`.
    pub smoothed_rtt: Option<Duration>,
    /// The newest sample.
    pub latest_rtt: Option<Duration>,
    /// Stream bytes that have arrived, since the start.
    pub delivered: u64,
    /// Bytes of video that the encoder made, since the start, if it has one.
    pub made: Option<u64>,
    /// One-way delay of the last packet that arrived in the interval.
    pub owd: Option<Duration>,
}

impl FlowSeries {
    /// Adds a sample, the `length`th; `trace` tells the controller's own variables.
    pub fn sample(
        &mut self,
        length: usize,
        interval: Duration,
        flow: &FlowSample,
        trace: impl FnOnce(&mut dyn FnMut(&'static str, f64)),
    ) {
        let or_nan = |value: Option<f64>| value.filter(|_| flow.running).unwrap_or(f64::NAN);
        self.cwnd.push(or_nan(flow.cwnd.map(|bytes| bytes as f64)));
        self.bytes_in_flight.push(or_nan(flow.bytes_in_flight.map(|bytes| bytes as f64)));
        self.smoothed_rtt_ms.push(or_nan(flow.smoothed_rtt.map(Duration::as_millis_f64)));
        self.latest_rtt_ms.push(or_nan(flow.latest_rtt.map(Duration::as_millis_f64)));
        let fresh = flow.delivered - std::mem::replace(&mut self.delivered, flow.delivered);
        self.goodput_mbit_s.push(or_nan(Some(mbit_s(fresh, interval))));
        let media = flow.made.map(|made| mbit_s(made - std::mem::replace(&mut self.made, made), interval));
        self.media_mbit_s.push(or_nan(media));
        self.owd_ms.push(or_nan(flow.owd.map(Duration::as_millis_f64)));
        let inner = &mut self.inner;
        trace(&mut |name, value| {
            let column = inner.entry(name).or_default();
            column.resize(length - 1, f64::NAN);
            column.push(or_nan(Some(value)));
        });
        // A controller may leave out what it does not know yet.
        inner.values_mut().for_each(|column| column.resize(length, f64::NAN));
    }
}

/// Bytes in a span, as a rate.
pub fn mbit_s(bytes: u64, span: Duration) -> f64 {
    bytes as f64 * 8e-6 / span.as_secs_f64()
}
