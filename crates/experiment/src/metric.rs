//! Metric words, defined once; `goodput of BBR` is the goodput of the flows with that label, `goodput of BBR @ before` that in
//! the window `before`. Without `@` rates, losses, RTTs, queue delays, frames and objects count inside the measuring window, what
//! the ledger counts (retransmissions, losses by rule, reductions) and `utilization` in the whole run; with it, all of them in that
//! window. [`is_of_whole_run`] says what has none.

/// A metric of a flow or a run.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// The word in experiment files, tables and JSON.
    pub name: &'static str,
    /// Unit; empty for a ratio.
    pub unit: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Decimals worth printing; of short times more, see [`decimals`].
    pub decimals: usize,
}

/// Every metric.
pub const METRICS: &[Metric] = &[
    metric(
        "goodput",
        "Mbit/s",
        "stream bytes that arrived for the first time, per second; mean over flows",
        2,
    ),
    metric(
        "total_goodput",
        "Mbit/s",
        "stream bytes of all the flows that arrived for the first time, per second of the window, whenever each of them ran",
        2,
    ),
    metric("throughput", "Mbit/s", "stream bytes sent, repeats included, per second; mean over flows", 2),
    metric(
        "wire_throughput",
        "Mbit/s",
        "bytes sent as they are on the wire, headers and repeats included, per second; mean over flows",
        3,
    ),
    metric("loss", "%", "packets that the path dropped, of those sent", 3),
    metric("ack_loss", "%", "feedback packets that the links of the way back dropped, of those sent", 3),
    metric("rtt_mean", "ms", "mean of the RTT samples, one per acknowledgement; mean over flows", 2),
    metric("rtt_std", "ms", "standard deviation of a flow's RTT samples; mean over flows", 2),
    metric(
        "rtt_variation",
        "ms",
        "mean of the estimator's rttvar after each RTT sample, qlog's `rtt_variance` (RFC 9002 section 5.3); mean over flows",
        2,
    ),
    metric("rtt_p25", "ms", "lower quartile of the RTT samples of all flows", 1),
    metric("rtt_p50", "ms", "median of the RTT samples of all flows", 1),
    metric("rtt_p75", "ms", "upper quartile of the RTT samples of all flows", 1),
    metric("rtt_p95", "ms", "95th percentile of the RTT samples of all flows", 1),
    metric("rtt_p99", "ms", "99th percentile of the RTT samples of all flows", 1),
    metric("rtt_max", "ms", "largest RTT sample of all flows", 1),
    metric("owd_mean", "ms", "mean one-way delay, from departure to arrival of a packet; mean over flows", 2),
    metric("owd_std", "ms", "standard deviation of a flow's one-way delays; mean over flows", 2),
    metric("owd_p95", "ms", "95th percentile of the one-way delays of all flows", 1),
    metric("rtt_flow_std", "ms", "sample standard deviation (n - 1) of the flows' mean RTTs", 2),
    metric("goodput_flow_std", "Mbit/s", "sample standard deviation (n - 1) of the flows' goodputs", 2),
    metric("loss_flow_std", "%", "sample standard deviation (n - 1) of the flows' losses", 3),
    metric(
        "goodput_time_std",
        "Mbit/s",
        "sample standard deviation of a flow's goodput from second to second; mean over flows; needs a series",
        3,
    ),
    metric(
        "pto_mean",
        "ms",
        "QUIC's probe timeout, TCP's wait for a tail loss probe, without backoff: mean over the ACKs that a sender heard",
        1,
    ),
    metric("rto_mean", "ms", "TCP's retransmission timeout, without backoff; mean as of `pto_mean`", 1),
    metric(
        "reo_wnd_mean",
        "ms",
        "what a missing packet may be late: RACK's reordering window, or the time threshold beyond an RTT; mean as of `pto_mean`",
        2,
    ),
    metric(
        "queue_delay",
        "ms",
        "mean time in a link's queue and on its wire, added up over the flow's links",
        2,
    ),
    metric(
        "queue_wait",
        "ms",
        "the same without the packet's own time on the wire: until its transmission begins (q of source 003, equation 2)",
        2,
    ),
    metric(
        "delivery_delay_mean",
        "ms",
        "mean time from a packet's arrival until all bytes before it have arrived too and it is handed over in order; mean over flows",
        2,
    ),
    metric("delivery_delay_p95", "ms", "95th percentile of that time, the packets of all flows together", 1),
    metric(
        "utilization",
        "%",
        "bytes that left the bottleneck, or the first of several, of what it could carry",
        2,
    ),
    metric(
        "share",
        "%",
        "of the stream bytes of all flows that arrived for the first time; only `share of X`",
        1,
    ),
    metric("jain", "", "Jain's fairness index of the flows' goodputs", 3),
    metric("rate_ratio", "", "smallest goodput of the flows over the largest", 3),
    metric(
        "jain_1s",
        "",
        "Jain's index of the goodputs in each second, mean over the seconds; needs a series",
        3,
    ),
    metric("retransmissions", "packets", "packets with a payload sent before", 0),
    metric(
        "spurious_retransmissions",
        "packets",
        "packets declared lost that arrived after all, repeated or not",
        0,
    ),
    metric(
        "redundant_retransmissions",
        "packets",
        "repeats that left after all of their payload had arrived; what is acknowledged before it is repeated is not repeated",
        0,
    ),
    metric("declared_lost", "packets", "declared lost, whatever the rule", 0),
    metric("lost_by_packet_threshold", "packets", "declared lost by packet threshold", 0),
    metric("lost_by_time_threshold", "packets", "declared lost by time threshold", 0),
    metric("time_threshold_share", "%", "of the packets declared lost, those by time threshold", 0),
    metric("lost_by_timeout", "packets", "declared lost by timeout", 0),
    metric("reductions", "events", "window reductions of any cause, per flow", 1),
    metric("slow_start_window", "kB", "largest window of a flow's first slow start; mean over flows", 1),
    metric("least_window", "kB", "smallest window that a reduction left; mean over flows", 1),
    metric("separate_acks", "packets", "packets sent that hold an ACK alone, for a PING of the receiver", 0),
    metric("separate_acks_lost", "packets", "of those, dropped by the first link", 0),
    metric("power", "Mbit/s per ms", "goodput over mean RTT (Kleinrock), never to be read alone", 4),
    metric("ping_mean", "ms", "mean round-trip time of the probe's answers", 2),
    metric("ping_p50", "ms", "median round-trip time of the probe's answers", 1),
    metric("ping_p95", "ms", "95th percentile of the probe's answers", 1),
    metric("ping_p99", "ms", "99th percentile of the probe's answers", 1),
    metric("ping_loss", "%", "probes that the path dropped, of those sent", 3),
    metric(
        "udp_throughput",
        "Mbit/s",
        "bytes of UDP on the wire that arrived, per second of the run; sum",
        2,
    ),
    metric("udp_loss", "%", "UDP packets that the path dropped, of those sent", 3),
    metric(
        "udp_queue_delay",
        "ms",
        "mean time of UDP packets in a link's queue and on its wire, added up over its links",
        2,
    ),
    metric(
        "media_rate",
        "Mbit/s",
        "video that the encoder made, without headers and audio; mean over the media flows",
        3,
    ),
    metric(
        "frame_delay_mean",
        "ms",
        "mean time from a frame's capture to the arrival of its last packet; mean over flows",
        2,
    ),
    metric("frame_delay_p95", "ms", "95th percentile of that time, the frames of all flows together", 1),
    metric(
        "frame_loss",
        "%",
        "frames that waited too long to be sent or lost a packet, of those whose fate is known",
        3,
    ),
    metric("objects", "objects", "short transfers completed; sum over the on-off flows", 0),
    metric(
        "object_time_mean",
        "ms",
        "mean time from an object's first byte offered to its last byte arrived; mean over flows",
        1,
    ),
    metric("object_time_p95", "ms", "95th percentile of that time, the objects of all flows together", 1),
    metric("completion", "s", "from the first packet to the last byte; mean over flows", 2),
];

const fn metric(name: &'static str, unit: &'static str, doc: &'static str, decimals: usize) -> Metric {
    Metric { name, unit, doc, decimals }
}

/// The metric of this name, also when it is one of some flows alone, or of another window: `goodput of BBR @ before`.
pub fn find(name: &str) -> Option<&'static Metric> {
    let (word, _) = scope(name);
    METRICS.iter().find(|m| m.name == word)
}

/// Decimals worth printing of this value. Times below a millisecond have more, three digits below a tenth of one: in a data
/// centre 30 us are an RTT, not 0.0 ms.
pub fn decimals(name: &str, value: f64) -> usize {
    const SHORT: [(f64, usize); 4] = [(1.0, 0), (0.1, 2), (0.01, 4), (0.001, 5)];
    let Some(metric) = find(name) else { return 3 };
    if metric.unit != "ms" || value == 0.0 || !value.is_finite() {
        return metric.decimals;
    }
    let worth = SHORT.iter().find(|(least, _)| value.abs() >= *least).map_or(6, |(_, decimals)| *decimals);
    worth.max(metric.decimals)
}

/// A metric's word and the label of the flows that it is of: `goodput of BBR`.
pub fn scope(name: &str) -> (&str, Option<&str>) {
    let (name, _) = window(name);
    match name.split_once(" of ") {
        Some((word, label)) => (word, Some(label)),
        None => (name, None),
    }
}

/// A metric and the window that it is of: `goodput @ before`.
pub fn window(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once(" @ ") {
        Some((metric, window)) => (metric, Some(window)),
        None => (name, None),
    }
}

/// The largest value that a metric can have, if there is one: a share is at most 100 %, an index at most 1.
pub fn most(name: &str) -> Option<f64> {
    match find(name)?.name {
        "jain" | "jain_1s" | "rate_ratio" => Some(1.0),
        word => find(word).filter(|m| m.unit == "%").map(|_| 100.0),
    }
}

/// What says something of a run as a whole, and of no window.
pub fn is_of_whole_run(word: &str) -> bool {
    matches!(word, "slow_start_window" | "least_window" | "completion")
}

/// Metrics of the link, the probe, UDP or all flows together, which some flows have not alone.
pub fn is_of_run(word: &str) -> bool {
    matches!(word, "utilization" | "jain_1s") || word.starts_with("ping_") || word.starts_with("udp_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_times_keep_their_digits() {
        let shown = |name, value: f64| format!("{value:.*}", decimals(name, value));
        for (value, text) in
            [(0.030_17, "0.0302"), (0.001_26, "0.00126"), (0.5, "0.50"), (50.123, "50.1"), (0.0, "0.0")]
        {
            assert_eq!(shown("rtt_p50", value), text);
        }
        assert_eq!(shown("rtt_mean of BBR", 0.030_17), "0.0302");
        assert_eq!([shown("goodput", 0.001), shown("no such", 0.001)], ["0.00", "0.001"]);
    }
}
