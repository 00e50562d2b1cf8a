//! Measures the path from one end of a connection: round-trip times, one-way delays, losses.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use quic::Level;
use quic::config::{Config, TimestampConfig};
use quic::connection::{Observation, Tap};
use quic::wire::{Frame, StampFormat};
use units::{Duration, Ecn, Time};

/// Largest number of values kept for percentiles. At this number, every second value is dropped.
const MAX_VALUES: usize = 1 << 12;
/// Largest number of packets whose departure times are kept for one-way delays.
const MAX_DEPARTURES: usize = 1 << 14;

/// Largest number of receive times in an ACK frame.
const MAX_STAMPS: u64 = 32;

/// Statistics of values in bounded memory. Minimum, mean and count are exact; percentiles come from
/// an evenly spaced sample.
#[derive(Clone, Debug)]
struct Samples {
    count: u64,
    sum: f64,
    min: i64,
    kept: Vec<i64>,
    every: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Self { count: 0, sum: 0.0, min: i64::MAX, kept: Vec::new(), every: 1 }
    }
}

impl Samples {
    fn put(&mut self, value: i64) {
        if self.count.is_multiple_of(self.every) {
            self.kept.push(value);
            if self.kept.len() >= MAX_VALUES {
                let mut number = 0;
                self.kept.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.every *= 2;
            }
        }
        self.count += 1;
        self.sum += value as f64;
        self.min = self.min.min(value);
    }

    /// Returns the spread of the values above `base`, or `None` without values.
    fn spread(&self, base: i64) -> Option<Spread> {
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        let at = (sorted.len() * 95).div_ceil(100).checked_sub(1)?;
        let above = |value: i64| Duration(u64::try_from(value.saturating_sub(base)).unwrap_or(0));
        let mean = self.sum / self.count as f64 - base as f64;
        Some(Spread { min: above(self.min), mean: Duration(mean.max(0.0) as u64), p95: above(sorted[at]) })
    }
}

/// Distribution of a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Minimum.
    pub min: Duration,
    /// Mean.
    pub mean: Duration,
    /// 95th percentile.
    pub p95: Duration,
}

/// Measurements of a path from one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Round-trip times of packets that this end sent.
    pub rtt: Option<Spread>,
    /// One-way delays of packets that this end sent, above the smallest of them. They come from
    /// receive times in the peer's ACKs (draft-ietf-quic-receive-ts). Only differences are known,
    /// because the two hosts' clocks have no common zero.
    pub one_way: Option<Spread>,
    /// Number of 1-RTT packets that this end sent and that are acknowledged or lost, thus without
    /// those that carry only an ACK.
    pub sent: u64,
    /// Number of those that were declared lost, without spurious losses.
    pub lost: u64,
    /// Number of 1-RTT packets received.
    pub received: u64,
    /// Number of packet numbers up to the largest received that did not arrive. Such packets are
    /// lost, still in flight, or were skipped by the peer on purpose (RFC 9000 section 21.4).
    pub missing: u64,
    /// Number of packets received with an ECT or CE codepoint.
    pub ect: u64,
    /// Number of packets received with CE.
    pub marked: u64,
    /// Number of key updates of 1-RTT packets.
    pub key_updates: u64,
}

#[derive(Debug, Default)]
struct State {
    rtt: Samples,
    one_way: Samples,
    departures: VecDeque<(u64, Time)>,
    sent: u64,
    lost: u64,
    spurious: u64,
    received: u64,
    /// Largest packet number received, plus 1.
    next: u64,
    ect: u64,
    marked: u64,
    key_updates: u64,
}

/// Measures one connection. Clones share the same state.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Mutex<State>>);

impl Meter {
    /// Returns a tap to set on the connection.
    pub fn tap(&self) -> Box<dyn Tap> {
        Box::new(self.clone())
    }

    /// Returns the measurements so far.
    pub fn summary(&self) -> Summary {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Summary {
            rtt: state.rtt.spread(0),
            one_way: state.one_way.spread(state.one_way.min),
            sent: state.sent,
            lost: state.lost.saturating_sub(state.spurious),
            received: state.received,
            missing: state.next.saturating_sub(state.received),
            ect: state.ect,
            marked: state.marked,
            key_updates: state.key_updates,
        }
    }
}

/// A tap that forwards to two others.
pub struct TapPair(pub Box<dyn Tap>, pub Box<dyn Tap>);

impl std::fmt::Debug for TapPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TapPair")
    }
}

impl Tap for TapPair {
    fn on(&mut self, now: Time, what: &Observation<'_>) {
        self.0.on(now, what);
        self.1.on(now, what);
    }
}

impl Tap for Meter {
    fn on(&mut self, now: Time, what: &Observation<'_>) {
        // No code panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).on(now, what);
    }
}

impl State {
    fn on(&mut self, now: Time, what: &Observation<'_>) {
        match *what {
            Observation::Sent { level: Level::OneRtt, number, in_flight, .. } => {
                // Nobody acknowledges the others, so their loss is not seen.
                self.sent += u64::from(in_flight);
                self.departures.push_back((number, now));
                if self.departures.len() > MAX_DEPARTURES {
                    self.departures.pop_front();
                }
            }
            Observation::Received { level: Level::OneRtt, number, ecn, .. } => {
                self.received += 1;
                self.next = self.next.max(number + 1);
                self.ect += u64::from(ecn != Ecn::NotEct);
                self.marked += u64::from(ecn == Ecn::Ce);
            }
            Observation::Frame(Frame::Ack(ack)) => {
                for stamp in ack.stamps.into_iter().flat_map(|stamps| stamps.iter()) {
                    self.stamped(stamp.number, stamp.micros);
                }
            }
            Observation::Keys(updates) => self.key_updates = updates,
            Observation::Lost { .. } => self.lost += 1,
            Observation::Spurious { .. } => self.spurious += 1,
            Observation::Metrics { latest_rtt: Some(rtt), .. } => {
                self.rtt.put(i64::try_from(rtt.0).unwrap_or(i64::MAX));
            }
            _ => {}
        }
    }

    /// Counts a receive time once. The peer repeats it until it knows that it arrived.
    fn stamped(&mut self, number: u64, micros: u64) {
        let Ok(at) = self.departures.binary_search_by_key(&number, |(number, _)| *number) else { return };
        let (_, left) = self.departures[at];
        if left == Time::NEVER {
            return;
        }
        self.departures[at].1 = Time::NEVER;
        let came = i64::try_from(micros).ok().and_then(|micros| micros.checked_mul(1000));
        let left = i64::try_from(left.0).ok();
        if let Some((came, left)) = came.zip(left) {
            self.one_way.put(came.saturating_sub(left));
        }
    }
}

/// Adds receive times in both directions to a configuration, for one-way delays. The peer may not
/// support them.
pub(crate) fn with_receive_times(config: &Config) -> Config {
    let wanted = config.timestamps.wanted.unwrap_or(StampFormat { max: MAX_STAMPS, exponent: 0 });
    let timestamps = TimestampConfig { wanted: Some(wanted), offered: true };
    Config { timestamps, ..config.clone() }
}

/// Names of the counts in the text form of a summary.
const COUNTS: [&str; 7] = ["sent", "lost", "received", "missing", "ect", "marked", "key-updates"];

impl Summary {
    fn counts(&mut self) -> [&mut u64; 7] {
        let Self { sent, lost, received, missing, ect, marked, key_updates, .. } = self;
        [sent, lost, received, missing, ect, marked, key_updates]
    }

    /// Formats the summary as text. Each line has a name and its numbers. Delays are minimum, mean
    /// and 95th percentile, in nanoseconds.
    pub fn to_text(mut self) -> String {
        let mut text = String::new();
        for (name, spread) in [("rtt", self.rtt), ("one-way", self.one_way)] {
            if let Some(Spread { min, mean, p95 }) = spread {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{name} {} {} {}", min.0, mean.0, p95.0);
            }
        }
        for (name, count) in COUNTS.into_iter().zip(self.counts()) {
            let _ = writeln!(text, "{name} {count}");
        }
        text
    }

    /// Parses the format of [`to_text`](Self::to_text). Unknown lines are ignored.
    pub fn from_text(text: &str) -> Self {
        let mut summary = Self::default();
        for line in text.lines() {
            let mut words = line.split(' ');
            let Some(name) = words.next() else { continue };
            let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
            match (name, &numbers[..]) {
                ("rtt" | "one-way", &[min, mean, p95]) => {
                    let spread = Spread { min: Duration(min), mean: Duration(mean), p95: Duration(p95) };
                    *(if name == "rtt" { &mut summary.rtt } else { &mut summary.one_way }) = Some(spread);
                }
                (name, &[count]) => {
                    let known = COUNTS.iter().position(|known| *known == name);
                    if let Some(at) = known {
                        *summary.counts()[at] = count;
                    }
                }
                _ => {}
            }
        }
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads() {
        let mut samples = Samples::default();
        assert_eq!(samples.spread(0), None);
        (1..=100).for_each(|value| samples.put(value));
        let spread =
            |min, mean, p95| Some(Spread { min: Duration(min), mean: Duration(mean), p95: Duration(p95) });
        assert_eq!(samples.spread(0), spread(1, 50, 95));
        assert_eq!(samples.spread(1), spread(0, 49, 94));
        // With many values, memory is bounded and the percentile is close.
        let mut samples = Samples::default();
        (0..1_000_000).for_each(|value| samples.put(value));
        assert!(samples.kept.len() < MAX_VALUES);
        let p95 = samples.spread(0).unwrap().p95.0;
        // Every 256th or 512th value is kept.
        assert!(p95.abs_diff(950_000) <= 512, "{p95}");
    }

    #[test]
    fn there_and_back_as_text() {
        let spread = Spread { min: Duration(1), mean: Duration(2), p95: Duration(3) };
        let full = Summary {
            rtt: Some(spread),
            one_way: Some(spread),
            sent: 4,
            lost: 5,
            received: 6,
            missing: 7,
            ect: 10,
            marked: 8,
            key_updates: 9,
        };
        for summary in [full, Summary::default(), Summary { rtt: None, ..full }] {
            assert_eq!(Summary::from_text(&summary.to_text()), summary);
        }
        assert_eq!(Summary::from_text("rtt 1\nsent x\nnews 3\n\nlost 5 6"), Summary::default());
    }

    /// A repeated receive time counts once. One for an unknown packet does not count.
    #[test]
    fn one_way_delays() {
        let mut state = State::default();
        for (number, ms) in [(3, 10), (4, 20), (7, 30)] {
            state.departures.push_back((number, Time::from_millis(ms)));
        }
        // The peer's clock is behind by an unknown time. The second packet is queued for 5 ms.
        for (number, micros) in [(3, 2000), (4, 17_000), (3, 2000), (5, 1), (7, 22_000)] {
            state.stamped(number, micros);
        }
        let spread = state.one_way.spread(state.one_way.min).unwrap();
        assert_eq!((spread.min, spread.p95), (Duration::ZERO, Duration::from_millis(5)));
        assert_eq!(state.one_way.count, 3);
    }
}
