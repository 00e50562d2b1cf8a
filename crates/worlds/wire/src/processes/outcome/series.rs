//! Time series of a run, from its packets. Congestion windows come from the sender's qlog and are
//! absent without it.

use crate::emu::capture::row::{End, Row};
use scenario::{FlowSample, FlowSampler, FlowSeries, Scenario, Series};
use units::{Duration, Time};

use super::record::{FlowRecord, Span};

/// Returns series with one entry per interval up to the end of the run.
pub(crate) fn build(scenario: &Scenario, rows: &[Row], flows: &[FlowRecord], span: Span) -> Series {
    let Some(interval) = scenario.series else { return Series::default() };
    let ticks: Vec<Time> =
        (1..).map(|k| Time::ZERO + interval * k).take_while(|tick| *tick <= span.end).collect();
    let (backlog, drops) = queue(rows, &ticks, span);
    Series {
        times: ticks.iter().map(|tick| tick.as_secs_f64()).collect(),
        backlog,
        drops,
        probe_ms: vec![f64::NAN; ticks.len()],
        udp_mbit_s: vec![f64::NAN; ticks.len()],
        flows: flows.iter().map(|flow| flow_series(flow, &ticks, interval)).collect(),
    }
}

/// Returns two values per tick: bytes in the bottleneck queue and in transmission, and packets
/// dropped so far.
fn queue(rows: &[Row], ticks: &[Time], span: Span) -> (Vec<f64>, Vec<f64>) {
    let mut steps: Vec<(Time, i64, u64)> = Vec::new();
    for row in rows.iter().filter(|row| row.from == 1) {
        let (end, dropped) = match row.end {
            End::Delivered { at, .. } | End::Held { at } => (at, false),
            End::Dropped { at, .. } | End::Overflow { at } => (at, true),
        };
        let left = if dropped { end } else { row.departure.unwrap_or(end) };
        let Some(sent) = span.to_run_time(row.arrival) else { continue };
        steps.push((sent, i64::from(row.size), 0));
        if let Some(left) = span.to_run_time(left) {
            steps.push((left, -i64::from(row.size), u64::from(dropped)));
        }
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

fn flow_series(flow: &FlowRecord, ticks: &[Time], interval: Duration) -> FlowSeries {
    let mut sampler = FlowSampler::default();
    let (mut delivered, mut counted) = (0, 0);
    for (tick, before) in ticks.iter().zip(0..) {
        let until = flow.arrivals.partition_point(|arrival| arrival.0 <= *tick);
        delivered += flow.arrivals[counted..until].iter().map(|arrival| arrival.1).sum::<u64>();
        counted = until;
        let newest = newest(&flow.arrivals, *tick, |arrival| arrival.0);
        let sample = FlowSample {
            running: flow.record.started <= *tick && flow.record.finished.is_none_or(|end| end > *tick),
            cwnd: self::newest(&flow.windows, *tick, |entry| entry.0).map(|(_, bytes)| bytes),
            bytes_in_flight: self::newest(&flow.in_flight, *tick, |entry| entry.0).map(|(_, bytes)| bytes),
            smoothed_rtt: None,
            latest_rtt: self::newest(&flow.rtts, *tick, |rtt| rtt.0).map(|(_, rtt)| rtt),
            delivered,
            made: None,
            owd: newest.filter(|arrival| arrival.0 + interval > *tick).map(|(.., owd)| owd),
        };
        sampler.sample(before, interval, &sample, |_| {});
    }
    sampler.take(ticks.len() as u32)
}

/// Returns the last entry up to `tick`. Entries are in order of time.
fn newest<T: Copy>(entries: &[T], tick: Time, time: impl Fn(&T) -> Time) -> Option<T> {
    let after = entries.partition_point(|entry| time(entry) <= tick);
    entries.get(after.checked_sub(1)?).copied()
}
