//! Time series of a run, from its packets and from what is known of its senders.

use scenario::guest::Snapshot;
use scenario::{FlowSample, FlowSampler, FlowSeries, Record, Series};
use units::{Duration, Time};

use super::packets::Log;

/// Measurements of one flow, on the run's clock.
#[derive(Debug)]
pub(crate) struct FlowLog {
    pub(crate) record: Record,
    /// RTT samples.
    pub(crate) rtts: Vec<(Time, Duration)>,
    /// Arrival times, new bytes and one-way delays of data packets.
    pub(crate) arrivals: Vec<(Time, u64, Duration)>,
}

impl FlowLog {
    /// Creates the log of a flow that has not sent anything yet.
    pub(crate) fn new(record: Record) -> Self {
        Self { record, rtts: Vec::new(), arrivals: Vec::new() }
    }
}

/// The times of the samples: one at the end of each interval.
#[derive(Debug)]
pub(crate) struct Ticks {
    pub(crate) interval: Duration,
    pub(crate) times: Vec<Time>,
}

impl Ticks {
    /// Creates the ticks up to `end`.
    pub(crate) fn new(interval: Duration, end: Time) -> Self {
        let times = (1..).map(|k| Time::ZERO + interval * k).take_while(|tick| *tick <= end).collect();
        Self { interval, times }
    }

    /// Returns the series of a run without probe and UDP sources.
    pub(crate) fn series(&self, log: &Log, flows: Vec<FlowSeries>) -> Series {
        let (backlog, drops) = self.queue(log);
        Series {
            times: self.times.iter().map(|tick| tick.as_secs_f64()).collect(),
            backlog,
            drops,
            probe_ms: vec![f64::NAN; self.times.len()],
            udp_mbit_s: vec![f64::NAN; self.times.len()],
            flows,
        }
    }

    /// Returns two values per tick: the bytes queued or in transmission at the bottleneck, and the
    /// number of packets dropped so far.
    fn queue(&self, log: &Log) -> (Vec<f64>, Vec<f64>) {
        let mut steps: Vec<(Time, i64, u64)> = Vec::new();
        for packet in log.bottleneck() {
            let size = i64::from(packet.row.size);
            steps.push((packet.sent, size, 0));
            steps.push((packet.released, -size, u64::from(packet.dropped)));
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
        self.times.iter().map(&mut at_tick).unzip()
    }

    /// Returns the series of one flow. `sender` returns the sender's state at a tick, and a
    /// variable of its controller.
    pub(crate) fn flow(
        &self,
        flow: &FlowLog,
        sender: impl Fn(Time) -> (Snapshot, Option<(&'static str, f64)>),
    ) -> FlowSeries {
        let mut sampler = FlowSampler::default();
        let fresh = self.sums(&flow.arrivals, |(at, fresh, _)| (*at, *fresh));
        let mut delivered = 0;
        for ((&tick, fresh), before) in self.times.iter().zip(fresh).zip(0..) {
            delivered += fresh;
            let (Snapshot { cwnd, bytes_in_flight, pacing_rate, smoothed_rtt, .. }, variable) = sender(tick);
            let arrival = newest(&flow.arrivals, tick, |arrival| arrival.0);
            let sample = FlowSample {
                running: flow.record.started <= tick && flow.record.finished.is_none_or(|end| end > tick),
                cwnd,
                bytes_in_flight,
                pacing_rate,
                smoothed_rtt,
                latest_rtt: newest(&flow.rtts, tick, |rtt| rtt.0).map(|(_, rtt)| rtt),
                delivered,
                made: None,
                lost: None,
                repeated: None,
                ce: None,
                owd: arrival.filter(|arrival| arrival.0 + self.interval > tick).map(|(.., owd)| owd),
            };
            sampler.sample(before, self.interval, &sample, |put| {
                variable.into_iter().for_each(|(name, value)| put(name, value));
            });
        }
        sampler.take(self.times.len() as u32)
    }

    /// Returns the sum over each interval.
    pub(crate) fn sums<T>(&self, entries: &[T], entry: impl Fn(&T) -> (Time, u64)) -> Vec<u64> {
        let mut entries = entries.iter().map(entry).peekable();
        let mut sum = |tick: &Time| {
            let mut sum = 0;
            while let Some((_, bytes)) = entries.next_if(|e| e.0 <= *tick) {
                sum += bytes;
            }
            sum
        };
        self.times.iter().map(&mut sum).collect()
    }
}

/// Returns the last entry up to `tick`. Entries are sorted by time.
pub(crate) fn newest<T: Copy>(entries: &[T], tick: Time, time: impl Fn(&T) -> Time) -> Option<T> {
    let after = entries.partition_point(|entry| time(entry) <= tick);
    entries.get(after.checked_sub(1)?).copied()
}
