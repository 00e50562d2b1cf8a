//! Events of a log before they have a dialect, and the parts that all dialects write alike.

use std::borrow::Cow;

use congestion::Cause;
use scenario::trace::Handshake;
use units::Duration;

use super::json::Json;

/// Content of a record.
pub(super) enum Record<'a> {
    Sent(Packet<'a>),
    Received(Packet<'a>),
    Lost(Packet<'a>),
    /// Loss of a packet without a number: its rule, and the source of the rule.
    Unnumbered {
        trigger: &'static str,
        basis: &'static str,
    },
    Remark(&'static str),
    Metrics(Metrics<'a>),
    State(StateChange),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    OneRtt,
    /// Packet of a handshake: `initial`.
    Initial,
}

pub(super) struct Packet<'a> {
    pub(super) kind: Kind,
    pub(super) number: u64,
    /// Size in bytes, if known.
    pub(super) length: Option<u32>,
    pub(super) frame: Option<Frame<'a>>,
    /// The packet arrived with a CE mark.
    pub(super) marked: bool,
    /// Rule that declared it lost.
    pub(super) trigger: Option<&'static str>,
    /// Source of this rule, if others observe the stack.
    pub(super) basis: Option<&'static str>,
}

impl<'a> Packet<'a> {
    pub(super) fn new(number: u64, length: Option<u32>) -> Self {
        Self { kind: Kind::OneRtt, number, length, frame: None, marked: false, trigger: None, basis: None }
    }

    pub(super) fn with_frame(frame: Frame<'a>, number: u64, length: Option<u32>) -> Self {
        Self { frame: Some(frame), ..Self::new(number, length) }
    }

    pub(super) fn handshake(packet: &Handshake) -> Self {
        Self { kind: Kind::Initial, ..Self::new(packet.number, Some(packet.bytes)) }
    }
}

pub(super) enum Frame<'a> {
    Stream { offset: u64, length: u32, more: &'a [(u64, u32)] },
    Ack { delay: Option<Duration>, ranges: &'a [(u64, u64)], cumulative: Option<u64> },
}

pub(super) struct StateChange {
    pub(super) old: Option<State>,
    pub(super) new: State,
    pub(super) cause: Option<Cause>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    SlowStart,
    CongestionAvoidance,
    Recovery,
    /// A state of the controller, by its name.
    Own(&'static str),
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SlowStart => "slow_start",
            Self::CongestionAvoidance => "congestion_avoidance",
            Self::Recovery => "recovery",
            Self::Own(name) => name,
        }
    }
}

/// Returns the word for the cause of a reduction.
pub(super) fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Loss => "loss",
        Cause::Ecn => "ecn",
        Cause::Delay => "delay",
        Cause::PersistentCongestion => "persistent_congestion",
        _ => "timeout",
    }
}

/// Changed metrics: their indices in `all`.
pub(super) struct Metrics<'a> {
    pub(super) all: &'a [Metric],
    pub(super) changed: &'a [usize],
}

impl Metrics<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.changed.is_empty()
    }

    pub(super) fn write(&self, out: &mut Json) {
        let begin = out.len();
        for Metric { key, kind, bits, .. } in self.changed.iter().map(|i| &self.all[*i]) {
            let Some(bits) = *bits else { continue };
            out.put(key);
            match kind {
                Number::Whole => out.whole(bits),
                Number::Ms => out.ms(Duration(bits)),
                Number::Real => out.real(f64::from_bits(bits)),
            }
        }
        if out.len() == begin {
            out.put(b"{");
        } else {
            // Replaces the first comma.
            out.patch(begin, b'{');
        }
        out.put(b"}");
    }
}

/// A metric with its last written value.
#[derive(Debug)]
pub(super) struct Metric {
    /// Name in the log.
    pub(super) name: Cow<'static, str>,
    /// Name in quotes, between a comma and a colon.
    pub(super) key: Vec<u8>,
    pub(super) kind: Number,
    /// Last written value; `None` before the first.
    pub(super) bits: Option<u64>,
}

impl Metric {
    /// Creates a metric that was never written.
    pub(super) fn new(name: Cow<'static, str>, kind: Number) -> Self {
        let mut key = Json::default();
        key.put(b",");
        key.string(&name);
        key.put(b":");
        Self { name, key: key.take(), kind, bits: None }
    }
}

/// Meaning of a metric's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Whole,
    /// Nanoseconds, written as milliseconds.
    Ms,
    /// Bits of an `f64`.
    Real,
}

impl StateChange {
    /// Writes the members of its data. `trigger` is the cause that the dialect writes as a trigger.
    pub(super) fn write(&self, out: &mut Json, trigger: Option<Cause>) {
        out.put(b"{");
        if let Some(old) = self.old {
            out.put(b"\"old\":");
            out.string(old.name());
            out.put(b",");
        }
        out.put(b"\"new\":");
        out.string(self.new.name());
        if let Some(cause) = trigger {
            out.put(b",\"trigger\":");
            out.string(cause_name(cause));
        }
        out.put(b"}");
    }
}

/// Converts ascending numbers to ranges. Existing ranges are replaced.
pub(super) fn ranges(numbers: impl IntoIterator<Item = u64>, ranges: &mut Vec<(u64, u64)>) {
    ranges.clear();
    for number in numbers {
        match ranges.last_mut() {
            Some(last) if last.1.checked_add(1) == Some(number) => last.1 = number,
            _ => ranges.push((number, number)),
        }
    }
}
