//! Measurable quantities: the names that metrics are made of.
//!
//! By default, rates, losses, RTTs, queue delays, frames and objects are measured inside the
//! measuring window. Counters of the sender (retransmissions, losses by rule, reductions) and
//! `utilization` cover the whole run. A metric with a window ([`crate::metric`]) is measured in
//! that window, unless [`Quantity::has_windows`] is false.

/// A quantity that can be measured for a flow or a run.
#[derive(Debug)]
pub struct Quantity {
    /// Name in experiment files, tables and JSON.
    pub name: &'static str,
    /// Unit, empty for a ratio.
    pub unit: &'static str,
    /// Description, shown to users.
    pub doc: &'static str,
    /// Decimals worth printing. Short times have more, see [`Quantity::decimals`].
    pub decimals: usize,
    /// Things that it can be measured for.
    pub subject: Subject,
    /// Whether it can be restricted to a window. `slow_start_window`, for example, always covers
    /// the whole run.
    pub has_windows: bool,
    /// Largest possible value, if it is bounded: 100 % for a share, 1 for an index.
    pub max: Option<f64>,
}

/// Things that a quantity can be measured for, named by the label after `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// All flows, or those with a label.
    Flows,
    /// The flows with a label, relative to all. The label is required.
    SomeFlows,
    /// The bottleneck, or the link with a name.
    Links,
    /// All UDP sources, or those with a label.
    Udp,
    /// The probe, or all flows together. It cannot be restricted to some flows.
    Run,
}

/// All quantities.
pub static QUANTITIES: &[Quantity] = &[
    quantity(
        "goodput",
        "Mbit/s",
        "rate of stream bytes that arrived for the first time; mean over flows",
        2,
    ),
    quantity(
        "total_goodput",
        "Mbit/s",
        "sum of the rates of stream bytes that arrived for the first time, over the whole window, including time when a flow was not running",
        2,
    ),
    quantity(
        "throughput",
        "Mbit/s",
        "rate of stream bytes sent, including retransmissions; mean over flows",
        2,
    ),
    quantity(
        "wire_throughput",
        "Mbit/s",
        "rate of bytes sent on the wire, including headers and retransmissions; mean over flows",
        3,
    ),
    quantity("loss", "%", "share of sent packets that the path dropped", 3),
    quantity("ack_loss", "%", "share of sent feedback packets that links of the return path dropped", 3),
    quantity("rtt_mean", "ms", "mean of the RTT samples, one per acknowledgement; mean over flows", 2),
    quantity("rtt_std", "ms", "standard deviation of a flow's RTT samples; mean over flows", 2),
    quantity(
        "rtt_variation",
        "ms",
        "mean of the estimator's rttvar after each RTT sample, qlog's `rtt_variance` (RFC 9002 section 5.3); mean over flows",
        2,
    ),
    quantity("rtt_p25", "ms", "lower quartile of the RTT samples of all flows", 1),
    quantity("rtt_p50", "ms", "median of the RTT samples of all flows", 1),
    quantity("rtt_p75", "ms", "upper quartile of the RTT samples of all flows", 1),
    quantity("rtt_p95", "ms", "95th percentile of the RTT samples of all flows", 1),
    quantity("rtt_p99", "ms", "99th percentile of the RTT samples of all flows", 1),
    quantity("rtt_max", "ms", "largest RTT sample of all flows", 1),
    quantity(
        "owd_mean",
        "ms",
        "mean one-way delay, from departure to arrival of a packet; mean over flows",
        2,
    ),
    quantity("owd_std", "ms", "standard deviation of a flow's one-way delays; mean over flows", 2),
    quantity("owd_p95", "ms", "95th percentile of the one-way delays of all flows", 1),
    quantity("rtt_flow_std", "ms", "sample standard deviation (n - 1) of the flows' mean RTTs", 2),
    quantity("goodput_flow_std", "Mbit/s", "sample standard deviation (n - 1) of the flows' goodputs", 2),
    quantity("loss_flow_std", "%", "sample standard deviation (n - 1) of the flows' losses", 3),
    quantity(
        "goodput_time_std",
        "Mbit/s",
        "sample standard deviation of a flow's goodput from second to second; mean over flows; needs a series",
        3,
    ),
    quantity(
        "pto_mean",
        "ms",
        "probe timeout of QUIC, or the tail loss probe timer of TCP, without backoff; mean over the ACKs received",
        1,
    ),
    quantity(
        "rto_mean",
        "ms",
        "retransmission timeout of TCP, without backoff; mean over the ACKs received",
        1,
    ),
    quantity(
        "reo_wnd_mean",
        "ms",
        "RACK's reordering window, or the part of the time threshold above one RTT; mean over the ACKs received",
        2,
    ),
    quantity(
        "queue_delay",
        "ms",
        "mean time in a link's queue and in transmission, summed over the flow's links",
        2,
    ),
    quantity(
        "queue_wait",
        "ms",
        "mean time in a link's queue until transmission begins, summed over the flow's links (q in equation 2 of arXiv 1506.02799)",
        2,
    ),
    quantity(
        "delivery_delay_mean",
        "ms",
        "mean time from a packet's arrival to its in-order delivery, when all bytes before it have arrived; mean over flows",
        2,
    ),
    quantity(
        "delivery_delay_p95",
        "ms",
        "95th percentile of the time from a packet's arrival to its in-order delivery, over the packets of all flows",
        1,
    ),
    quantity(
        "utilization",
        "%",
        "share of the bottleneck's capacity that was used; of the first link if there are several",
        2,
    )
    .with_subject(Subject::Links),
    quantity(
        "share",
        "%",
        "share of all newly arrived stream bytes that belongs to the flows with label X; only as `share of X`",
        1,
    )
    .with_subject(Subject::SomeFlows),
    quantity("jain", "", "Jain's fairness index of the flows' goodputs", 3).at_most(1.0),
    quantity("rate_ratio", "", "smallest goodput of a flow divided by the largest", 3).at_most(1.0),
    quantity(
        "jain_1s",
        "",
        "Jain's fairness index of the flows' goodputs in each second; mean over the seconds; needs a series",
        3,
    )
    .with_subject(Subject::Run)
    .at_most(1.0),
    quantity("retransmissions", "packets", "packets that carry data sent before", 0),
    quantity(
        "spurious_retransmissions",
        "packets",
        "packets that were declared lost but arrived, whether or not they were retransmitted",
        0,
    ),
    quantity(
        "redundant_retransmissions",
        "packets",
        "retransmissions sent after all of their data had already arrived; data acknowledged in time is not retransmitted",
        0,
    ),
    quantity("declared_lost", "packets", "packets declared lost by any rule", 0),
    quantity("lost_by_packet_threshold", "packets", "packets declared lost by packet threshold", 0),
    quantity("lost_by_time_threshold", "packets", "packets declared lost by time threshold", 0),
    quantity(
        "time_threshold_share",
        "%",
        "share of packets declared lost that were found by time threshold",
        0,
    ),
    quantity("lost_by_timeout", "packets", "packets declared lost by timeout", 0),
    quantity(
        "receive_times",
        "%",
        "share of acknowledged packets whose receive time was reported in an ACK frame; only with `--on stack`",
        1,
    ),
    quantity("reductions", "events", "window reductions of any cause, per flow", 1),
    quantity("slow_start_window", "kB", "largest window of a flow's first slow start; mean over flows", 1)
        .for_whole_run(),
    quantity("least_window", "kB", "smallest window after a reduction; mean over flows", 1).for_whole_run(),
    quantity(
        "separate_acks",
        "packets",
        "ACK-only packets sent in response to a PING from the receiver",
        0,
    ),
    quantity("separate_acks_lost", "packets", "ACK-only packets dropped by the first link", 0),
    quantity(
        "power",
        "Mbit/s per ms",
        "goodput divided by mean RTT (Kleinrock); absent if either is missing",
        4,
    ),
    quantity("ping_mean", "ms", "mean RTT of the probe", 2).with_subject(Subject::Run),
    quantity("ping_p50", "ms", "median RTT of the probe", 1).with_subject(Subject::Run),
    quantity("ping_p95", "ms", "95th percentile of the probe's RTT", 1).with_subject(Subject::Run),
    quantity("ping_p99", "ms", "99th percentile of the probe's RTT", 1).with_subject(Subject::Run),
    quantity("ping_loss", "%", "share of sent probes that the path dropped", 3).with_subject(Subject::Run),
    quantity(
        "udp_throughput",
        "Mbit/s",
        "rate of UDP bytes on the wire that arrived, over the whole run; sum over sources",
        2,
    )
    .with_subject(Subject::Udp),
    quantity("udp_loss", "%", "share of sent UDP packets that the path dropped", 3).with_subject(Subject::Udp),
    quantity(
        "udp_queue_delay",
        "ms",
        "mean time of UDP packets in a link's queue and in transmission, summed over their links",
        2,
    )
    .with_subject(Subject::Udp),
    quantity(
        "media_rate",
        "Mbit/s",
        "rate of the video that the encoder produced, without headers and audio; mean over the media flows",
        3,
    ),
    quantity(
        "frame_delay_mean",
        "ms",
        "mean time from a frame's capture to the arrival of its last packet; mean over flows",
        2,
    ),
    quantity(
        "frame_delay_p95",
        "ms",
        "95th percentile of the time from a frame's capture to the arrival of its last packet, over the frames of all flows",
        1,
    ),
    quantity(
        "frame_loss",
        "%",
        "share of frames that were skipped after waiting too long or that lost a packet; frames still in transit are not counted",
        3,
    ),
    quantity("objects", "objects", "short transfers completed; sum over the on-off flows", 0),
    quantity(
        "object_time_mean",
        "ms",
        "mean object completion time (first byte offered to last byte received); mean over flows",
        1,
    ),
    quantity(
        "object_time_p95",
        "ms",
        "95th percentile of object completion times (first byte offered to last byte received), over all objects",
        1,
    ),
    quantity("completion", "s", "time from the first packet to the last byte; mean over flows", 2)
        .for_whole_run(),
];

const fn quantity(name: &'static str, unit: &'static str, doc: &'static str, decimals: usize) -> Quantity {
    let max = if matches!(unit.as_bytes(), b"%") { Some(100.0) } else { None };
    Quantity { name, unit, doc, decimals, subject: Subject::Flows, has_windows: true, max }
}

impl Quantity {
    const fn with_subject(self, subject: Subject) -> Self {
        Self { subject, ..self }
    }

    const fn for_whole_run(self) -> Self {
        Self { has_windows: false, ..self }
    }

    const fn at_most(self, max: f64) -> Self {
        Self { max: Some(max), ..self }
    }

    /// Returns the quantity with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        QUANTITIES.iter().find(|quantity| quantity.name == name)
    }

    /// Reports whether the quantity is a count, so that it is a whole number for one flow.
    pub fn counts(&self) -> bool {
        matches!(self.unit, "packets" | "events" | "objects")
    }

    /// Returns the number of decimals worth printing for this value. Times below 1 ms have more,
    /// and times below 0.1 ms have three significant digits: an RTT of 30 us in a data centre must
    /// not become 0.0 ms.
    pub fn decimals(&self, value: f64) -> usize {
        const SHORT: [(f64, usize); 4] = [(1.0, 0), (0.1, 2), (0.01, 4), (0.001, 5)];
        if self.unit != "ms" || value == 0.0 || !value.is_finite() {
            return self.decimals;
        }
        let worth =
            SHORT.iter().find(|(least, _)| value.abs() >= *least).map_or(6, |(_, decimals)| *decimals);
        worth.max(self.decimals)
    }
}
