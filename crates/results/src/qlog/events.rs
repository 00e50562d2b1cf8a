//! The events of a log before they have a dialect, and what all dialects write alike.

use std::borrow::Cow;

use congestion::Cause;
use scenario::trace::Handshake;
use serde::{Serialize, Serializer};
use units::Duration;

/// What a record tells.
pub(super) enum Record<'a> {
    Sent(Packet<'a>),
    Received(Packet<'a>),
    Lost(Packet<'a>),
    Metrics(Metrics<'a>),
    State(StateChange),
}

pub(super) struct Packet<'a> {
    pub(super) header: PacketHeader,
    pub(super) raw: Option<Raw>,
    pub(super) frame: Option<Frame<'a>>,
    /// It arrived with a CE mark.
    pub(super) marked: bool,
    /// Which rule found it lost.
    pub(super) trigger: Option<&'static str>,
}

impl<'a> Packet<'a> {
    pub(super) fn new(packet_number: u64, length: Option<u32>) -> Self {
        let header = PacketHeader { packet_type: "1RTT", packet_number };
        Self { header, raw: length.map(|length| Raw { length }), frame: None, marked: false, trigger: None }
    }

    pub(super) fn with(frame: Frame<'a>, packet_number: u64, length: Option<u32>) -> Self {
        Self { frame: Some(frame), ..Self::new(packet_number, length) }
    }

    pub(super) fn of_handshake(packet: &Handshake) -> Self {
        let header = PacketHeader { packet_type: "initial", packet_number: packet.number };
        Self { header, ..Self::new(packet.number, Some(packet.bytes)) }
    }
}

#[derive(Serialize)]
pub(super) struct PacketHeader {
    packet_type: &'static str,
    packet_number: u64,
}

#[derive(Serialize)]
pub(super) struct Raw {
    pub(super) length: u32,
}

pub(super) enum Frame<'a> {
    Stream {
        offset: u64,
        length: u32,
    },
    Ack {
        /// Milliseconds.
        delay: Option<f64>,
        ranges: Cow<'a, [(u64, u64)]>,
        cumulative: Option<u64>,
    },
}

/// The only stream there is.
pub(super) const STREAM: u64 = 0;

pub(super) struct StateChange {
    pub(super) old: Option<State>,
    pub(super) new: State,
    pub(super) cause: Option<Cause>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    SlowStart,
    CongestionAvoidance,
    Recovery,
    /// One of the controller's, by its name.
    #[serde(untagged)]
    Own(&'static str),
}

/// What made a controller reduce.
pub(super) fn word(cause: Cause) -> &'static str {
    match cause {
        Cause::Loss => "loss",
        Cause::Ecn => "ecn",
        Cause::Delay => "delay",
        Cause::PersistentCongestion => "persistent_congestion",
        _ => "timeout",
    }
}

/// Metrics that have changed, in a JSON object: their places in `all`.
pub(super) struct Metrics<'a> {
    pub(super) all: &'a [Metric],
    pub(super) changed: &'a [usize],
}

impl Metrics<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.changed.is_empty()
    }
}

/// A metric as last written.
#[derive(Debug)]
pub(super) struct Metric {
    /// As the log calls it.
    pub(super) name: Cow<'static, str>,
    pub(super) value: Option<Value>,
}

/// A number in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Value {
    Whole(u64),
    Real(f64),
}

impl Serialize for Metrics<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let metrics = self.changed.iter().map(|i| &self.all[*i]);
        serializer.collect_map(metrics.map(|metric| (&*metric.name, metric.value)))
    }
}

/// Milliseconds, the float nearest to the exact decimal, so that it prints with six decimals at most.
pub(super) fn ms(duration: Duration) -> f64 {
    duration.0 as f64 / 1e6
}

/// Ascending numbers as ranges.
pub(super) fn ranges(numbers: impl IntoIterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(last) if last.1.checked_add(1) == Some(number) => last.1 = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges
}
