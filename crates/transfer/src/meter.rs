//! What one end of a connection can say of the path: round trips, one-way delays, losses.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use quic::Level;
use quic::config::{Config, TimestampConfig};
use quic::connection::{Observation, Tap};
use quic::wire::{Frame, StampFormat};
use units::{Duration, Ecn, Time};

/// Values that are kept for percentiles; of more every second one goes, and so on.
const KEPT: usize = 1 << 16;
/// Packets whose time of departure is remembered for their receive times.
const FLYING: usize = 1 << 16;

/// Receive times in one ACK at most.
const STAMPS: u64 = 32;

/// Values in bounded memory: exact smallest, mean and count; percentiles of an even sample.
#[derive(Clone, Debug)]
struct Samples {
    count: u64,
    sum: f64,
    least: i64,
    kept: Vec<i64>,
    every: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Self { count: 0, sum: 0.0, least: i64::MAX, kept: Vec::new(), every: 1 }
    }
}

impl Samples {
    fn put(&mut self, value: i64) {
        if self.count.is_multiple_of(self.every) {
            self.kept.push(value);
            if self.kept.len() >= KEPT {
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
        self.least = self.least.min(value);
    }

    /// Above `base`; none without a value.
    fn spread(&self, base: i64) -> Option<Spread> {
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        let at = (sorted.len() * 95).div_ceil(100).checked_sub(1)?;
        let above = |value: i64| Duration(u64::try_from(value.saturating_sub(base)).unwrap_or(0));
        let mean = self.sum / self.count as f64 - base as f64;
        Some(Spread {
            least: above(self.least),
            mean: Duration(mean.max(0.0) as u64),
            p95: above(sorted[at]),
        })
    }
}

/// How values lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The smallest.
    pub least: Duration,
    /// Their mean.
    pub mean: Duration,
    /// Of twenty, nineteen are at most so large.
    pub p95: Duration,
}

/// What was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Round-trip times of packets that this end has sent.
    pub rtt: Option<Spread>,
    /// One-way delays of packets that this end has sent, above the smallest of them, by receive
    /// times in the peer's ACKs (draft-ietf-quic-receive-ts): clocks of two hosts have no common
    /// zero.
    pub one_way: Option<Spread>,
    /// Packets of 1-RTT that this end has sent.
    pub sent: u64,
    /// Those of them that were declared lost, and did not come late.
    pub lost: u64,
    /// Packets of 1-RTT that came.
    pub received: u64,
    /// Numbers below the largest that came and never did: lost on the way, still on it, or left out
    /// by the peer on purpose (RFC 9000 section 21.4).
    pub missing: u64,
    /// Packets that came with ECT or CE.
    pub ect: u64,
    /// Packets that came with CE.
    pub marked: u64,
    /// How often the keys of 1-RTT packets were updated.
    pub key_updates: u64,
}

#[derive(Debug, Default)]
struct State {
    rtt: Samples,
    one_way: Samples,
    flying: VecDeque<(u64, Time)>,
    sent: u64,
    lost: u64,
    spurious: u64,
    received: u64,
    /// One more than the largest number that came.
    next: u64,
    ect: u64,
    marked: u64,
    key_updates: u64,
}

/// Listens to one connection. Copies are the same meter.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Mutex<State>>);

impl Meter {
    /// For the connection.
    pub fn tap(&self) -> Box<dyn Tap> {
        Box::new(self.clone())
    }

    /// What was seen until now.
    pub fn summary(&self) -> Summary {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Summary {
            rtt: state.rtt.spread(0),
            one_way: state.one_way.spread(state.one_way.least),
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

/// Two that listen.
pub struct Pair(pub Box<dyn Tap>, pub Box<dyn Tap>);

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pair")
    }
}

impl Tap for Pair {
    fn on(&mut self, now: Time, what: &Observation<'_>) {
        self.0.on(now, what);
        self.1.on(now, what);
    }
}

impl Tap for Meter {
    fn on(&mut self, now: Time, what: &Observation<'_>) {
        // Nobody panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).on(now, what);
    }
}

impl State {
    fn on(&mut self, now: Time, what: &Observation<'_>) {
        match *what {
            Observation::Sent { level: Level::OneRtt, number, .. } => {
                self.sent += 1;
                self.flying.push_back((number, now));
                if self.flying.len() > FLYING {
                    self.flying.pop_front();
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

    /// A stamp is repeated until the peer knows that it came: each counts once.
    fn stamped(&mut self, number: u64, micros: u64) {
        let Ok(at) = self.flying.binary_search_by_key(&number, |(number, _)| *number) else { return };
        let (_, left) = self.flying[at];
        if left == Time::NEVER {
            return;
        }
        self.flying[at].1 = Time::NEVER;
        let came = i64::try_from(micros).ok().and_then(|micros| micros.checked_mul(1000));
        let left = i64::try_from(left.0).ok();
        if let Some((came, left)) = came.zip(left) {
            self.one_way.put(came.saturating_sub(left));
        }
    }
}

/// Receive times both ways, where the peer knows of them, for one-way delays; whatever else is
/// configured stays.
pub(crate) fn with_receive_times(config: &Config) -> Config {
    let wanted = config.timestamps.wanted.unwrap_or(StampFormat { max: STAMPS, exponent: 0 });
    let timestamps = TimestampConfig { wanted: Some(wanted), offered: true };
    Config { timestamps, ..config.clone() }
}

/// Names of a summary's counts, as one end tells the other.
const COUNTS: [&str; 7] = ["sent", "lost", "received", "missing", "ect", "marked", "key-updates"];

impl Summary {
    fn counts(&mut self) -> [&mut u64; 7] {
        let Self { sent, lost, received, missing, ect, marked, key_updates, .. } = self;
        [sent, lost, received, missing, ect, marked, key_updates]
    }

    /// As text: a name and its numbers on each line; delays in nanoseconds: smallest, mean, 95th
    /// percentile.
    pub fn to_text(mut self) -> String {
        let mut text = String::new();
        for (name, spread) in [("rtt", self.rtt), ("one-way", self.one_way)] {
            if let Some(Spread { least, mean, p95 }) = spread {
                // Writing into a String does not fail.
                let _ = writeln!(text, "{name} {} {} {}", least.0, mean.0, p95.0);
            }
        }
        for (name, count) in COUNTS.into_iter().zip(self.counts()) {
            let _ = writeln!(text, "{name} {count}");
        }
        text
    }

    /// What [`to_text`](Self::to_text) has written; lines that mean nothing are left out.
    pub fn from_text(text: &str) -> Self {
        let mut summary = Self::default();
        for line in text.lines() {
            let mut words = line.split(' ');
            let Some(name) = words.next() else { continue };
            let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
            match (name, &numbers[..]) {
                ("rtt" | "one-way", &[least, mean, p95]) => {
                    let spread = Spread { least: Duration(least), mean: Duration(mean), p95: Duration(p95) };
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
        let spread = |least, mean, p95| {
            Some(Spread { least: Duration(least), mean: Duration(mean), p95: Duration(p95) })
        };
        assert_eq!(samples.spread(0), spread(1, 50, 95));
        assert_eq!(samples.spread(1), spread(0, 49, 94));
        // However many there are, memory is bounded and the percentile is near.
        let mut samples = Samples::default();
        (0..1_000_000).for_each(|value| samples.put(value));
        assert!(samples.kept.len() < KEPT);
        let p95 = samples.spread(0).unwrap().p95.0;
        assert!(p95.abs_diff(950_000) < 100, "{p95}");
    }

    #[test]
    fn there_and_back_as_text() {
        let spread = Spread { least: Duration(1), mean: Duration(2), p95: Duration(3) };
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

    /// A stamp that is repeated counts once; one of a packet that nobody remembers not at all.
    #[test]
    fn one_way_delays() {
        let mut state = State::default();
        for (number, ms) in [(3, 10), (4, 20), (7, 30)] {
            state.flying.push_back((number, Time::from_millis(ms)));
        }
        // The peer's clock is behind by an unknown time; the second waits for 5 ms.
        for (number, micros) in [(3, 2000), (4, 17_000), (3, 2000), (5, 1), (7, 22_000)] {
            state.stamped(number, micros);
        }
        let spread = state.one_way.spread(state.one_way.least).unwrap();
        assert_eq!((spread.least, spread.p95), (Duration::ZERO, Duration::from_millis(5)));
        assert_eq!(state.one_way.count, 3);
    }
}
