//! Metrics that the logs do not tell, with the reasons.

use std::collections::BTreeMap;

use super::way::{Losses, Way};
use crate::event::Source;

/// Ends at which a connection was logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The sender of most data.
    Sender,
    /// The receiver.
    Receiver,
    /// Both.
    Both,
    /// A point of the path that is near neither end, or is not known.
    Between,
}

/// Metric that the logs do not tell, by its word in files, and the reason as a clause: `the log is
/// of the receiver`.
pub type Unknown = BTreeMap<&'static str, String>;

/// Uses what one end knows of the other.
pub(super) fn at_one_end(seen: Seen, unknown: &mut Unknown) {
    let mut hide = |words: &[&'static str], why: &str| {
        words.iter().for_each(|word| {
            unknown.insert(word, why.to_owned());
        });
    };
    if seen == Seen::Receiver {
        hide(&RTT, "the log is of the receiver");
        hide(&SENDER_ONLY, "the log is of the receiver");
        hide(&BOTH_ONLY, "it takes the logs of both ends");
        return;
    }
    hide(&RECEIVER_ONLY, "the log is not of the receiver");
    hide(&BOTH_ONLY, "it takes the logs of both ends");
    if seen == Seen::Between {
        hide(&RTT, "it is not known at which end the log was written");
    }
}

/// Metrics of round trips.
const RTT: [&str; 10] = [
    "rtt_mean",
    "rtt_std",
    "rtt_flow_std",
    "rtt_p25",
    "rtt_p50",
    "rtt_p75",
    "rtt_p95",
    "rtt_p99",
    "rtt_max",
    "power",
];
/// Metrics of a sender alone, beside [`RTT`].
const SENDER_ONLY: [&str; 10] = [
    "retransmissions",
    "declared_lost",
    "lost_by_packet_threshold",
    "lost_by_time_threshold",
    "time_threshold_share",
    "lost_by_timeout",
    "spurious_losses",
    "reductions",
    "throughput",
    "wire_throughput",
];
/// Metrics of a receiver alone.
const RECEIVER_ONLY: [&str; 4] = ["acks_sent", "ce_marks", "delivery_delay_mean", "delivery_delay_p95"];
/// Metrics that take both ends.
const BOTH_ONLY: [&str; 7] =
    ["owd_mean", "owd_std", "owd_p95", "loss", "loss_flow_std", "spurious_retransmissions", "ack_loss"];
/// Smallest number of RTT samples from the spin bit.
const LEAST_SPINS: u64 = 3;
/// Metrics that no log has.
const NEVER: [(&str, &str); 10] = [
    ("queue_delay", "a log does not show queues"),
    ("queue_wait", "a log does not show queues"),
    ("utilization", "the log does not tell the link"),
    ("pto_mean", "the log does not tell it"),
    ("rto_mean", "the log does not tell it"),
    ("reo_wnd_mean", "the log does not tell it"),
    ("rtt_variation", "the log does not tell it after each sample"),
    ("receive_times", "the log does not tell it"),
    ("ecn_failures", "the log does not tell it"),
    ("link_loss", "a log does not show queues"),
];

/// Adds the metrics that the kind of log does not tell.
pub(super) fn not_told(
    unknown: &mut Unknown,
    way: &Way,
    (is_own, source): (bool, Source),
    inferred: bool,
    losses: Losses,
) {
    let mut hide = |word: &'static str, why: &str| {
        unknown.entry(word).or_insert_with(|| why.to_owned());
    };
    NEVER.iter().for_each(|(word, why)| hide(word, why));
    if way.is_tcp && source == Source::Qlog {
        hide("spurious_losses", "TCP's acknowledgements do not tell which transmission arrived");
    }
    if way.wires == 0 {
        hide("wire_throughput", "the log has no sizes on the wire");
    }
    if !way.has_ecn && !is_own {
        hide("ce_marks", "the log does not tell ECN codepoints");
    }
    if way.stream_bytes == 0 && way.packets > 0 && source == Source::Qlog {
        ["goodput", "throughput", "retransmissions"]
            .iter()
            .for_each(|word| hide(word, "the log has no stream frames"));
    }
    if way.packets == 0 && way.windows > 0 && source == Source::Qlog {
        let words = ["goodput", "throughput", "retransmissions", "wire_throughput", "ack_loss", "acks_sent"];
        words.iter().for_each(|word| hide(word, "the log has no packets"));
        if way.told_samples == 0 {
            RTT.iter().for_each(|word| hide(word, "the log has smoothed RTTs only"));
        }
    }
    if way.largest_window == 0 || way.sent.slow_start_window == 0 {
        hide("slow_start_window", "the log does not tell slow start");
    }
    if way.windows == 0 {
        hide("slow_start_window", "the log has no congestion window");
        hide("least_window", "the log has no congestion window");
        hide("reductions", "the log has no congestion window");
    }
    if losses.unnamed > 0 {
        let why = format!("the log names no rule for {} losses", losses.unnamed);
        ["lost_by_packet_threshold", "lost_by_time_threshold", "lost_by_timeout", "time_threshold_share"]
            .iter()
            .for_each(|word| hide(word, &why));
    }
    if inferred && source == Source::Capture {
        hide("declared_lost", "a capture shows repeats, not what the sender declares lost");
    }
    if source == Source::Encrypted {
        const WHY: &str = "the packets are encrypted and there are no keys";
        let words = SENDER_ONLY
            .iter()
            .chain(&RECEIVER_ONLY)
            .chain(&BOTH_ONLY)
            .filter(|word| **word != "wire_throughput");
        words.for_each(|word| hide(word, WHY));
        hide("goodput", WHY);
        // A spin bit that changes nearly never is not that of an endpoint that takes part.
        if way.spins < LEAST_SPINS {
            RTT.iter()
                .for_each(|word| hide(word, "the packets are encrypted and their spin bit does not spin"));
        }
    }
    if source == Source::Intervals {
        if way.stream_bytes == 0 {
            ["goodput", "throughput", "retransmissions"]
                .iter()
                .for_each(|word| hide(word, "a ping carries no data"));
        }
        for word in [
            "declared_lost",
            "lost_by_packet_threshold",
            "lost_by_time_threshold",
            "lost_by_timeout",
            "time_threshold_share",
            "spurious_losses",
            "acks_sent",
        ] {
            hide(word, "the file has measurements at intervals only");
        }
        if way.interval_rtt == 0 {
            RTT.iter().for_each(|word| hide(word, "the file has no RTT"));
        }
        if way.interval_repeats == 0 {
            hide("retransmissions", "the file does not count them");
        }
    }
}
