//! One connection: its numbers, what is not known and why, its problems, and gaps in its logs.

use std::collections::BTreeMap;

use experiment::quantity::Quantity;
use logs::account::{Connection, Seen};
use logs::event::{Gap, Protocol, Source};
use quic::Side;
use results::measure;
use serde::Serialize;
use units::Time;

use crate::text::significant;

/// A number of a connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// Word for it in files.
    pub metric: &'static str,
    /// Unit, empty for a ratio.
    pub unit: &'static str,
    /// Value, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Reason why it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// A problem of a connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// Sentence with its numbers.
    pub text: String,
    /// First times at which it shows, in seconds since the start of the log.
    pub times: Vec<f64>,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysed {
    /// Name.
    pub label: String,
    /// Files that it was logged in.
    pub files: Vec<String>,
    /// `QUIC` or `TCP`.
    pub protocol: &'static str,
    /// Ends at which it was logged, in words.
    pub seen: &'static str,
    /// End that sent most data.
    pub sender: &'static str,
    /// Controller, if the log names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<String>,
    /// Program that wrote the log, if it names itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Length in seconds.
    pub seconds: f64,
    /// Stream bytes that arrived, or were acknowledged, or were sent, whichever is known first.
    pub bytes: u64,
    /// Stream bytes of the other direction.
    pub other_bytes: u64,
    /// Metrics, known and unknown.
    pub metrics: Vec<Metric>,
    /// Losses for which the log names no rule.
    pub unnamed_losses: u64,
    /// The rules of losses are inferred from repeats.
    pub losses_are_inferred: bool,
    /// Difference of the clocks of both ends and its bound, in ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_ms: Option<[f64; 2]>,
    /// Bytes on the wire, if the packets are encrypted and nothing else is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encrypted_bytes: Option<u64>,
    /// Bytes of packets, if the log has no stream frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_bytes: Option<u64>,
    /// True if it has round-trip times of a ping only.
    #[serde(skip)]
    pub is_ping: bool,
    /// The problem list could be checked.
    pub is_checked: bool,
    /// Problems, worst kinds first.
    pub problems: Vec<Problem>,
    /// Missing parts of the logs, and what they spoil.
    pub gaps: Vec<String>,
}

/// Metrics in the order of the table: word and name. The rest follows with `-v`.
pub(super) const MAIN: [(&str, &str); 17] = [
    ("wire_throughput", "on the wire, Mbit/s"),
    ("throughput", "throughput, Mbit/s"),
    ("goodput", "goodput, Mbit/s"),
    ("rtt_mean", "mean RTT, ms"),
    ("rtt_p50", "median RTT, ms"),
    ("rtt_p95", "95th percentile RTT, ms"),
    ("owd_mean", "one-way delay, ms"),
    ("loss", "dropped by the path, %"),
    ("retransmissions", "retransmissions"),
    ("spurious_retransmissions", "of these spurious"),
    ("declared_lost", "declared lost"),
    ("lost_by_packet_threshold", "  by packet threshold"),
    ("lost_by_time_threshold", "  by time threshold"),
    ("lost_by_timeout", "  by timeout"),
    ("spurious_losses", "  wrongly"),
    ("reductions", "window reductions"),
    ("ce_marks", "CE marks"),
];

/// Formats a metric's value.
pub(super) fn number(word: &str, value: f64) -> String {
    let counts =
        experiment::quantity::Quantity::find(word).is_some_and(experiment::quantity::Quantity::counts);
    if counts { format!("{value:.0}") } else { significant(value) }
}

/// Describes a connection with the metrics of its run.
pub(super) fn analysed(label: &str, connection: &Connection, values: &measure::Values) -> Analysed {
    let known: BTreeMap<&str, f64> = values.iter().map(|(metric, value)| (metric.word(), *value)).collect();
    let metrics = experiment::quantity::QUANTITIES.iter().filter_map(|quantity: &Quantity| {
        let unknown = connection.unknown.get(quantity.name).cloned();
        let value = known.get(quantity.name).copied().filter(|_| unknown.is_none());
        let is_told = value.is_some() || unknown.is_some();
        is_told.then_some(Metric { metric: quantity.name, unit: quantity.unit, value, unknown })
    });
    let seconds = |at: &Time| (*at - connection.span.0).as_secs_f64();
    Analysed {
        label: label.to_owned(),
        files: connection.files.clone(),
        protocol: match connection.protocol {
            Protocol::Quic => "QUIC",
            Protocol::Tcp => "TCP",
        },
        seen: seen(connection),
        sender: if connection.from == Side::Client { "client" } else { "server" },
        controller: connection.controller.clone(),
        program: connection.program.clone(),
        seconds: (connection.span.1 - connection.span.0).as_secs_f64(),
        bytes: connection.bytes(),
        other_bytes: connection.other_bytes,
        metrics: metrics.collect(),
        unnamed_losses: connection.unnamed_losses,
        losses_are_inferred: connection.losses_are_inferred,
        clock_ms: connection.clock.map(|clock| [clock.offset as f64 * 1e-6, clock.bound.as_millis_f64()]),
        encrypted_bytes: Some(connection.record.totals.wire)
            .filter(|_| connection.source == Source::Encrypted),
        packet_bytes: Some(connection.record.stats.sent_bytes)
            .filter(|_| connection.source == Source::Qlog && connection.bytes() == 0),
        is_ping: connection.source == Source::Intervals && connection.bytes() == 0,
        is_checked: matches!(connection.seen, Seen::Sender | Seen::Both)
            && connection.record.stats.sent > 0
            && connection.source != Source::Intervals
            && connection.source != Source::Encrypted,
        problems: connection
            .findings
            .iter()
            .map(|finding| Problem {
                text: finding.text.clone(),
                times: finding.times.iter().map(seconds).collect(),
            })
            .collect(),
        gaps: gaps(&connection.gaps),
    }
}

fn seen(connection: &Connection) -> &'static str {
    match (connection.seen, connection.source) {
        (Seen::Sender, _) => "at the sender",
        (Seen::Receiver, _) => "at the receiver",
        (Seen::Both, _) => "at both ends",
        (Seen::Between, Source::Intervals) => "in intervals",
        (Seen::Between, _) => "at neither end, as far as it shows",
    }
}

/// Describes gaps, and what they spoil.
fn gaps(all: &[(String, Gap)]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let largest = |file: &String| {
        let sizes = all.iter().filter(|(other, _)| other == file).filter_map(|(_, gap)| match gap {
            Gap::Joined(bytes) => Some(*bytes),
            _ => None,
        });
        sizes.max()
    };
    for (file, gap) in all {
        if matches!(gap, Gap::Joined(bytes) if Some(*bytes) != largest(file)) {
            continue;
        }
        let text = format!("{file}: {}", gap_text(gap));
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

fn gap_text(gap: &Gap) -> String {
    match gap {
        Gap::BeginsLater => "begins after the connection did: totals are of the rest".to_owned(),
        Gap::Truncated => "ends inside a record, which is not counted".to_owned(),
        Gap::Unreadable(count, why) => format!("{count} records cannot be read and are not counted: {why}"),
        Gap::Missed(Some(bytes)) => {
            format!(
                "the capture missed packets with {bytes} bytes: sent and retransmitted packets are too few"
            )
        }
        Gap::Missed(None) => {
            "the capture missed packets: sent and retransmitted packets are too few".to_owned()
        }
        Gap::Cut(count) => format!("{count} packets are cut so short that they cannot be read"),
        Gap::Joined(bytes) => {
            format!("offload joined segments, up to {bytes} bytes: packets are too few, bursts too large")
        }
        Gap::Undecrypted(count) => format!("{count} packets could not be decrypted and are not counted"),
        Gap::Backwards(by) => {
            format!("times run backwards, by up to {} ms, and are corrected", by.as_millis_f64())
        }
        Gap::Other(text) => text.clone(),
    }
}

impl Analysed {
    /// Returns a metric that is known.
    pub(super) fn value(&self, word: &str) -> Option<f64> {
        self.metrics.iter().find(|metric| metric.metric == word)?.value
    }

    /// Returns the reason why a metric is not known.
    pub(super) fn why_unknown(&self, word: &str) -> Option<&str> {
        self.metrics.iter().find(|metric| metric.metric == word)?.unknown.as_deref()
    }
}
