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
    /// Decimals worth printing. Small numbers have more, see [`Quantity::decimals`].
    pub decimals: usize,
    /// Things that it can be measured for.
    pub subject: Subject,
    /// Whether it can be restricted to a window. `slow_start_window`, for example, always covers
    /// the whole run.
    pub has_windows: bool,
    /// Largest possible value, if it is bounded: 100 % for a share, 1 for an index.
    pub max: Option<f64>,
    /// Whether a row has a value only if each of its runs has one. Otherwise the mean would be that
    /// of the runs that went well.
    pub needs_every_run: bool,
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
        "rate of stream bytes that arrived for the first time, over the part of the window in which a flow ran; mean over flows",
        2,
    ),
    quantity(
        "total_goodput",
        "Mbit/s",
        "stream bytes of all flows that arrived for the first time, over the whole window, whether or not a flow ran",
        2,
    ),
    quantity(
        "throughput",
        "Mbit/s",
        "rate of stream bytes sent, including retransmissions, over the part of the window in which a flow ran; mean over flows",
        2,
    ),
    quantity(
        "wire_throughput",
        "Mbit/s",
        "rate of bytes sent on the wire, including headers and retransmissions, over the part of the window in which a flow ran; mean over flows",
        3,
    ),
    quantity("loss", "%", "share of sent packets that the path dropped", 3),
    quantity("ack_loss", "%", "share of the packets sent by receivers that links of the return path dropped", 3),
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
        "share of the bottleneck's capacity that was used; of the first link if there are several. The capacity is the integral of the rate over the window",
        2,
    )
    .with_subject(Subject::Links),
    quantity(
        "share",
        "%",
        "share of all newly arrived stream bytes of the window that belongs to the flows with label X, whether or not they ran; only as `share of X`",
        1,
    )
    .with_subject(Subject::SomeFlows),
    quantity("jain", "", "Jain's fairness index of the flows' goodputs, each over the part of the window in which the flow ran", 3).at_most(1.0),
    quantity("rate_ratio", "", "smallest goodput of a flow divided by the largest, each over the part of the window in which the flow ran", 3).at_most(1.0),
    quantity(
        "jain_1s",
        "",
        "Jain's fairness index of the goodputs of the flows that ran, in each second; mean over the seconds; needs a series",
        3,
    )
    .with_subject(Subject::Run)
    .at_most(1.0),
    quantity("retransmissions", "packets", "packets that carry data sent before", 0),
    quantity(
        "spurious_losses",
        "packets",
        "packets declared lost that had arrived or arrived later (RFC 9002: spuriously declared lost), whether or not they were retransmitted",
        0,
    ),
    quantity(
        "spurious_retransmissions",
        "packets",
        "retransmissions whose data had all arrived before they were sent (the thesis' spurious retransmissions)",
        0,
    ),
    quantity(
        "acks_sent",
        "packets",
        "packets that receivers sent: ACKs, and with real endpoints their handshake",
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
    quantity(
        "ce_marks",
        "packets",
        "packets that arrived with a CE mark",
        0,
    ),
    quantity(
        "ecn_failures",
        "paths",
        "paths on which ECN validation failed, so that the sender stopped marking (RFC 9000 section 13.4.2)",
        0,
    ),
    quantity("reductions", "events", "window reductions of any cause, per flow", 1),
    quantity("slow_start_window", "kB", "largest window of a flow's first slow start; mean over flows", 1)
        .for_whole_run(),
    quantity("least_window", "kB", "smallest window after a reduction; mean over flows", 1).for_whole_run(),
    quantity(
        "sender_acks",
        "packets",
        "ACK-only packets that the sender of the data sent, each in response to a PING of the receiver",
        0,
    ),
    quantity("sender_acks_lost", "packets", "ACK-only packets of the sender of the data that the first link dropped", 0),
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
        "rate of the video that the encoder produced, without headers and audio, over the part of the window in which a flow ran; mean over the media flows",
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
        "mean time from first byte offered to last byte received of the objects completed; mean over flows",
        1,
    ),
    quantity(
        "object_time_p95",
        "ms",
        "95th percentile of the times from first byte offered to last byte received, over all objects completed",
        1,
    ),
    quantity(
        "completion",
        "s",
        "time from a transfer's first packet to its last byte; mean over flows; absent unless every transfer of every run finished",
        2,
    )
    .for_whole_run()
    .of_every_run(),
    quantity("finished", "%", "share of the transfers that were complete at the end of their flow", 1)
        .for_whole_run(),
];

const fn quantity(name: &'static str, unit: &'static str, doc: &'static str, decimals: usize) -> Quantity {
    let max = if matches!(unit.as_bytes(), b"%") { Some(100.0) } else { None };
    let (subject, has_windows, needs_every_run) = (Subject::Flows, true, false);
    Quantity { name, unit, doc, decimals, subject, has_windows, max, needs_every_run }
}

impl Quantity {
    const fn with_subject(self, subject: Subject) -> Self {
        Self { subject, ..self }
    }

    const fn for_whole_run(self) -> Self {
        Self { has_windows: false, ..self }
    }

    const fn of_every_run(self) -> Self {
        Self { needs_every_run: true, ..self }
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
        matches!(self.unit, "packets" | "events" | "objects" | "paths")
    }

    /// Returns the number of decimals worth printing for this value: at least those of the
    /// quantity, and those of three significant digits. A whole count has none.
    pub fn decimals(&self, value: f64) -> usize {
        if self.counts() && value.fract() == 0.0 {
            return self.decimals;
        }
        self.decimals.max(significant_decimals(value))
    }

    /// Returns why a run may have no value.
    pub fn why_absent(&self) -> &'static str {
        let word = |words: &[&str]| words.iter().any(|word| self.name.starts_with(word));
        match self.name {
            "completion" => "a transfer did not finish (`finished` has the share), or there is none",
            "finished" => "no flow has a `transfer`",
            "jain_1s" | "goodput_time_std" => "needs `series`, and at least two seconds",
            "time_threshold_share" => "nothing was declared lost",
            "least_window" => "the window was never reduced",
            "utilization" => "the link has rate 0",
            "power" => "no goodput or no RTT sample",
            "rto_mean" => "only TCP has it",
            "receive_times" => "only `--on stack` has it",
            _ if word(&["ping"]) => "no `[probe]`, or no answer",
            _ if word(&["udp"]) => "no `[[udp]]` source, or none of its packets",
            _ if word(&["media", "frame"]) => "no media flow, or no frame with a known outcome",
            _ if word(&["object"]) => "no on-off flow, or no object was completed",
            _ if self.name.ends_with("flow_std") => "needs at least two flows",
            _ if word(&["rtt", "pto", "reo"]) => "no ACK gave an RTT sample",
            _ => "no packet of these flows in the window",
        }
    }
}

/// Returns the decimals with which a number has three significant digits.
fn significant_decimals(value: f64) -> usize {
    const DIGITS: i32 = 3;
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    (DIGITS - 1 - libm::log10(value.abs()).floor() as i32).clamp(0, 300) as usize
}
