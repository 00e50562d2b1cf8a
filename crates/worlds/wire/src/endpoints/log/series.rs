//! The time series of a run, from the packet log and the kernel's samples.

use scenario::{FlowSample, FlowSampler, FlowSeries, Scenario, Series, mbit_s};
use units::{Duration, Time};

use super::background::UdpLog;
use super::flow::FlowLog;
use super::guest;
use super::logged::Logged;
use super::packets::Packet;
use crate::endpoints::samples::{self, Samples};
use crate::endpoints::traffic::Seen;

/// Returns the series, with one entry per interval up to `end`.
pub(crate) fn build(
    scenario: &Scenario,
    seen: &Seen,
    packets: &[Packet],
    flows: &[Logged],
    udp: &[UdpLog],
    end: Time,
) -> Series {
    let Some(interval) = scenario.series else { return Series::default() };
    let ticks: Vec<Time> = (1..).map(|k| Time::ZERO + interval * k).take_while(|tick| *tick <= end).collect();
    let (backlog, drops) = queue(packets, &ticks);
    let mut udp_arrivals: Vec<(Time, u64)> = udp.iter().flat_map(|s| s.arrivals.iter().copied()).collect();
    udp_arrivals.sort_unstable();
    let answers = seen.pings.as_deref().unwrap_or_default();
    let in_interval = |tick: Time| move |at: Time| at <= tick && at + interval > tick;
    Series {
        times: ticks.iter().map(|t| t.as_secs_f64()).collect(),
        backlog,
        drops,
        probe_ms: ticks
            .iter()
            .map(|tick| newest(answers, *tick, |a| a.0).filter(|a| in_interval(*tick)(a.0)))
            .map(|answer| answer.map_or(f64::NAN, |(_, rtt)| rtt.as_millis_f64()))
            .collect(),
        udp_mbit_s: match udp.is_empty() {
            true => vec![f64::NAN; ticks.len()],
            false => {
                sums(&udp_arrivals, &ticks, |a| *a).into_iter().map(|bytes| mbit_s(bytes, interval)).collect()
            }
        },
        flows: flows
            .iter()
            .zip(&seen.samples)
            .map(|(flow, samples)| match flow {
                Logged::Kernel(log) => flow_series(log, samples, &ticks, interval),
                Logged::Guest(result) => guest::series(result, ticks.len(), interval),
            })
            .collect(),
    }
}

/// Returns, for each tick, the bytes queued or in transmission at the bottleneck, and the number of
/// packets dropped so far.
fn queue(packets: &[Packet], ticks: &[Time]) -> (Vec<f64>, Vec<f64>) {
    let mut steps: Vec<(Time, i64, u64)> = Vec::new();
    for packet in packets.iter().filter(|packet| packet.row.from == 0) {
        let size = i64::from(packet.row.size);
        let left = if packet.dropped { packet.end } else { packet.departed.unwrap_or(packet.end) };
        steps.push((packet.sent, size, 0));
        steps.push((left, -size, u64::from(packet.dropped)));
    }
    steps.sort_unstable_by_key(|step| step.0);
    let mut steps = steps.into_iter().peekable();
    let (mut held, mut drops) = (0_i64, 0_u64);
    let mut at_tick = |tick: &Time| {
        while let Some((_, bytes, dropped)) = steps.next_if(|step| step.0 <= *tick) {
            held += bytes;
            drops += dropped;
        }
        (held.max(0) as f64, drops as f64)
    };
    ticks.iter().map(&mut at_tick).unzip()
}

fn flow_series(flow: &FlowLog, samples: &Samples, ticks: &[Time], interval: Duration) -> FlowSeries {
    let mut sampler = FlowSampler::default();
    let fresh = sums(&flow.arrivals, ticks, |(at, fresh, _)| (*at, *fresh));
    let mut delivered = 0;
    for ((tick, fresh), before) in ticks.iter().zip(fresh).zip(0..) {
        delivered += fresh;
        let info = samples.at(*tick);
        let sample = FlowSample {
            running: flow.record.started <= *tick && flow.record.finished.is_none_or(|end| end > *tick),
            cwnd: info.map(|i| samples::bytes(i, i.cwnd)),
            bytes_in_flight: info.map(|i| samples::bytes(i, i.in_flight())),
            smoothed_rtt: info.map(|i| i.smoothed_rtt.into()),
            latest_rtt: newest(&flow.rtts, *tick, |rtt| rtt.0).map(|(_, rtt)| rtt),
            delivered,
            made: None,
            owd: newest(&flow.arrivals, *tick, |a| a.0)
                .filter(|a| a.0 + interval > *tick)
                .map(|(.., owd)| owd),
        };
        let ssthresh = info.and_then(|i| Some(samples::bytes(i, i.ssthresh?) as f64));
        sampler.sample(before, interval, &sample, |put| put("ssthresh", ssthresh.unwrap_or(f64::NAN)));
    }
    sampler.take(ticks.len() as u32)
}

/// Returns the last entry up to `tick`. Entries are sorted by time.
fn newest<T: Copy>(entries: &[T], tick: Time, time: impl Fn(&T) -> Time) -> Option<T> {
    let after = entries.partition_point(|entry| time(entry) <= tick);
    entries.get(after.checked_sub(1)?).copied()
}

/// Returns the sum over each interval that ends at a tick.
fn sums<T>(entries: &[T], ticks: &[Time], entry: impl Fn(&T) -> (Time, u64)) -> Vec<u64> {
    let mut entries = entries.iter().map(entry).peekable();
    let mut sum = |tick: &Time| {
        let mut sum = 0;
        while let Some((_, bytes)) = entries.next_if(|e| e.0 <= *tick) {
            sum += bytes;
        }
        sum
    };
    ticks.iter().map(&mut sum).collect()
}
