//! Time series in compact columns, sampled at a fixed interval.

use std::collections::BTreeMap;

use units::{Duration, Time};

use crate::flow::Flow;

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
    pub(crate) fn sample_path(&mut self, backlog: u64, drops: u64, answer: Option<Duration>, udp: f64) {
        self.backlog.push(backlog as f64);
        self.drops.push(drops as f64);
        self.probe_ms.push(answer.map_or(f64::NAN, Duration::as_millis_f64));
        self.udp_mbit_s.push(udp);
    }

    pub(crate) fn sample_flows(&mut self, now: Time, interval: Duration, flows: &mut [Flow]) {
        self.times.push(now.as_secs_f64());
        self.flows.resize(flows.len(), FlowSeries::default());
        for (series, flow) in self.flows.iter_mut().zip(flows) {
            series.sample(self.times.len(), now, interval, flow);
        }
    }
}

impl FlowSeries {
    fn sample(&mut self, length: usize, now: Time, interval: Duration, flow: &mut Flow) {
        let owd = flow.record.take_owd();
        let sender = flow.sender();
        let running = flow.record.started <= now && !flow.is_done();
        let or_nan = |value: f64| if running { value } else { f64::NAN };
        let sampled = sender.rtt().is_sampled();
        self.cwnd.push(or_nan(sender.controller().control().cwnd as f64));
        self.bytes_in_flight.push(or_nan(sender.bytes_in_flight() as f64));
        let rtt_or_nan = |rtt: Duration| or_nan(if sampled { rtt.as_millis_f64() } else { f64::NAN });
        self.smoothed_rtt_ms.push(rtt_or_nan(sender.rtt().smoothed()));
        self.latest_rtt_ms.push(rtt_or_nan(sender.rtt().latest()));
        let fresh = flow.record.delivered - std::mem::replace(&mut self.delivered, flow.record.delivered);
        self.goodput_mbit_s.push(or_nan(mbit_s(fresh, interval)));
        let made = flow.record.made - std::mem::replace(&mut self.made, flow.record.made);
        let media = flow.record.media.as_ref().map_or(f64::NAN, |_| mbit_s(made, interval));
        self.media_mbit_s.push(or_nan(media));
        self.owd_ms.push(or_nan(owd.map_or(f64::NAN, Duration::as_millis_f64)));
        let inner = &mut self.inner;
        sender.controller().trace(&mut |name, value| {
            let column = inner.entry(name).or_default();
            column.resize(length - 1, f64::NAN);
            column.push(or_nan(value));
        });
        // A controller may leave out what it does not know yet.
        inner.values_mut().for_each(|column| column.resize(length, f64::NAN));
    }
}

/// Bytes in a span, as a rate.
pub(crate) fn mbit_s(bytes: u64, span: Duration) -> f64 {
    bytes as f64 * 8e-6 / span.as_secs_f64()
}
