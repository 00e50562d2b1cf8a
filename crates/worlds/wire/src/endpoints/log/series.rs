//! The time series of a run, from the packet log and the kernel's samples.

use scenario::guest::Snapshot;
use scenario::{FlowSeries, Series, mbit_s};
use units::{Duration, Rate, Time};

use super::background::UdpLog;
use crate::endpoints::ping::Answers;
use crate::endpoints::samples::{self, Samples};
use crate::log::{Log, Ticks, newest};

/// Returns the series of a run, from those of its flows.
pub(crate) fn build(
    ticks: &Ticks,
    pings: Option<&Answers>,
    log: &Log,
    flows: Vec<FlowSeries>,
    udp: &[UdpLog],
) -> Series {
    let mut series = ticks.series(log, flows);
    if let Some(pings) = pings {
        series.probe_ms = probe(pings, ticks);
    }
    if !udp.is_empty() {
        let mut arrivals: Vec<(Time, u64)> = udp.iter().flat_map(|s| s.arrivals.iter().copied()).collect();
        arrivals.sort_unstable();
        let sums = ticks.sums(&arrivals, |arrival| *arrival).into_iter();
        series.udp_mbit_s = sums.map(|bytes| mbit_s(bytes, ticks.interval)).collect();
    }
    series
}

/// Returns the newest RTT of the ping in each interval, in milliseconds.
fn probe(pings: &[(Time, Duration)], ticks: &Ticks) -> Vec<f64> {
    let rtt = |tick: &Time| {
        let newest = newest(pings, *tick, |ping| ping.0).filter(|ping| ping.0 + ticks.interval > *tick);
        newest.map_or(f64::NAN, |(_, rtt)| rtt.as_millis_f64())
    };
    ticks.times.iter().map(rtt).collect()
}

/// Returns the kernel's state of a connection.
pub(crate) fn kernel_state(samples: &Samples, tick: Time) -> (Snapshot, Option<(&'static str, f64)>) {
    let info = samples.at(tick);
    let state = info.map_or_else(Snapshot::default, |info| Snapshot {
        cwnd: Some(samples::bytes(info, info.cwnd)),
        bytes_in_flight: Some(samples::bytes(info, info.in_flight())),
        smoothed_rtt: Some(info.smoothed_rtt.into()),
        pacing_rate: info.pacing_rate.map(|bytes| Rate(bytes.saturating_mul(8))),
        latest_rtt: None,
    });
    let ssthresh = info.and_then(|info| Some(samples::bytes(info, info.ssthresh?) as f64));
    (state, Some(("ssthresh", ssthresh.unwrap_or(f64::NAN))))
}
