//! What can be measured, defined once: the words of metrics. Without a window ([`crate::metric`]) rates, losses, RTTs, queue delays,
//! frames and objects count inside the measuring window, what the sender counts (retransmissions, losses by rule, reductions)
//! and `utilization` in the whole run; with one, all of them in that window, but for those that [`Quantity::has_windows`] says no of.

/// What can be measured of a flow or a run.
#[derive(Debug)]
pub struct Quantity {
    /// The word in experiment files, tables and JSON.
    pub name: &'static str,
    /// Unit; empty for a ratio.
    pub unit: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Decimals worth printing; of short times more, see [`Quantity::decimals`].
    pub decimals: usize,
    /// What it can be of.
    pub subject: Subject,
    /// Whether it can be of a window; `slow_start_window` is of the run as a whole.
    pub has_windows: bool,
    /// The largest value that it can have, if there is one: a share is at most 100 %, an index at most 1.
    pub most: Option<f64>,
}

/// What a quantity can be of: whom the label behind `of` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// All flows, or those of one label.
    Flows,
    /// The flows of one label, of all: it says nothing without the label.
    SomeFlows,
    /// The bottleneck, or the link of a name.
    Links,
    /// All sources of UDP, or those of one label.
    Udp,
    /// The probe, or all flows together: some flows have it not alone.
    Run,
}

/// Every quantity.
pub static QUANTITIES: &[Quantity] = &[
    quantity(
        "goodput",
        "Mbit/s",
        "stream bytes that arrived for the first time, per second; mean over flows",
        2,
    ),
    quantity(
        "total_goodput",
        "Mbit/s",
        "stream bytes of all the flows that arrived for the first time, per second of the window, whenever each of them ran",
        2,
    ),
    quantity("throughput", "Mbit/s", "stream bytes sent, repeats included, per second; mean over flows", 2),
    quantity(
        "wire_throughput",
        "Mbit/s",
        "bytes sent as they are on the wire, headers and repeats included, per second; mean over flows",
        3,
    ),
    quantity("loss", "%", "packets that the path dropped, of those sent", 3),
    quantity("ack_loss", "%", "feedback packets that the links of the way back dropped, of those sent", 3),
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
        "QUIC's probe timeout, TCP's wait for a tail loss probe, without backoff: mean over the ACKs that a sender heard",
        1,
    ),
    quantity("rto_mean", "ms", "TCP's retransmission timeout, without backoff; mean as of `pto_mean`", 1),
    quantity(
        "reo_wnd_mean",
        "ms",
        "what a missing packet may be late: RACK's reordering window, or the time threshold beyond an RTT; mean as of `pto_mean`",
        2,
    ),
    quantity(
        "queue_delay",
        "ms",
        "mean time in a link's queue and on its wire, added up over the flow's links",
        2,
    ),
    quantity(
        "queue_wait",
        "ms",
        "the same without the packet's own time on the wire: until its transmission begins (q of source 003, equation 2)",
        2,
    ),
    quantity(
        "delivery_delay_mean",
        "ms",
        "mean time from a packet's arrival until all bytes before it have arrived too and it is handed over in order; mean over flows",
        2,
    ),
    quantity(
        "delivery_delay_p95",
        "ms",
        "95th percentile of that time, the packets of all flows together",
        1,
    ),
    quantity(
        "utilization",
        "%",
        "bytes that left the bottleneck, or the first of several, of what it could carry",
        2,
    )
    .of(Subject::Links),
    quantity(
        "share",
        "%",
        "of the stream bytes of all flows that arrived for the first time; only `share of X`",
        1,
    )
    .of(Subject::SomeFlows),
    quantity("jain", "", "Jain's fairness index of the flows' goodputs", 3).at_most(1.0),
    quantity("rate_ratio", "", "smallest goodput of the flows over the largest", 3).at_most(1.0),
    quantity(
        "jain_1s",
        "",
        "Jain's index of the goodputs in each second, mean over the seconds; needs a series",
        3,
    )
    .of(Subject::Run)
    .at_most(1.0),
    quantity("retransmissions", "packets", "packets with a payload sent before", 0),
    quantity(
        "spurious_retransmissions",
        "packets",
        "packets declared lost that arrived after all, repeated or not",
        0,
    ),
    quantity(
        "redundant_retransmissions",
        "packets",
        "repeats that left after all of their payload had arrived; what is acknowledged before it is repeated is not repeated",
        0,
    ),
    quantity("declared_lost", "packets", "declared lost, whatever the rule", 0),
    quantity("lost_by_packet_threshold", "packets", "declared lost by packet threshold", 0),
    quantity("lost_by_time_threshold", "packets", "declared lost by time threshold", 0),
    quantity("time_threshold_share", "%", "of the packets declared lost, those by time threshold", 0),
    quantity("lost_by_timeout", "packets", "declared lost by timeout", 0),
    quantity(
        "receive_times",
        "%",
        "of the packets acknowledged, those whose receive time came in an ACK frame; real endpoints alone: where there are none, a controller of one-way delay goes on without",
        1,
    ),
    quantity("reductions", "events", "window reductions of any cause, per flow", 1),
    quantity("slow_start_window", "kB", "largest window of a flow's first slow start; mean over flows", 1)
        .of_whole_run(),
    quantity("least_window", "kB", "smallest window that a reduction left; mean over flows", 1)
        .of_whole_run(),
    quantity(
        "separate_acks",
        "packets",
        "packets sent that hold an ACK alone, for a PING of the receiver",
        0,
    ),
    quantity("separate_acks_lost", "packets", "of those, dropped by the first link", 0),
    quantity("power", "Mbit/s per ms", "goodput over mean RTT (Kleinrock), never to be read alone", 4),
    quantity("ping_mean", "ms", "mean round-trip time of the probe's answers", 2).of(Subject::Run),
    quantity("ping_p50", "ms", "median round-trip time of the probe's answers", 1).of(Subject::Run),
    quantity("ping_p95", "ms", "95th percentile of the probe's answers", 1).of(Subject::Run),
    quantity("ping_p99", "ms", "99th percentile of the probe's answers", 1).of(Subject::Run),
    quantity("ping_loss", "%", "probes that the path dropped, of those sent", 3).of(Subject::Run),
    quantity(
        "udp_throughput",
        "Mbit/s",
        "bytes of UDP on the wire that arrived, per second of the run; sum",
        2,
    )
    .of(Subject::Udp),
    quantity("udp_loss", "%", "UDP packets that the path dropped, of those sent", 3).of(Subject::Udp),
    quantity(
        "udp_queue_delay",
        "ms",
        "mean time of UDP packets in a link's queue and on its wire, added up over its links",
        2,
    )
    .of(Subject::Udp),
    quantity(
        "media_rate",
        "Mbit/s",
        "video that the encoder made, without headers and audio; mean over the media flows",
        3,
    ),
    quantity(
        "frame_delay_mean",
        "ms",
        "mean time from a frame's capture to the arrival of its last packet; mean over flows",
        2,
    ),
    quantity("frame_delay_p95", "ms", "95th percentile of that time, the frames of all flows together", 1),
    quantity(
        "frame_loss",
        "%",
        "frames that waited too long to be sent or lost a packet, of those whose fate is known",
        3,
    ),
    quantity("objects", "objects", "short transfers completed; sum over the on-off flows", 0),
    quantity(
        "object_time_mean",
        "ms",
        "mean time from an object's first byte offered to its last byte arrived; mean over flows",
        1,
    ),
    quantity("object_time_p95", "ms", "95th percentile of that time, the objects of all flows together", 1),
    quantity("completion", "s", "from the first packet to the last byte; mean over flows", 2).of_whole_run(),
];

const fn quantity(name: &'static str, unit: &'static str, doc: &'static str, decimals: usize) -> Quantity {
    let most = if matches!(unit.as_bytes(), b"%") { Some(100.0) } else { None };
    Quantity { name, unit, doc, decimals, subject: Subject::Flows, has_windows: true, most }
}

impl Quantity {
    const fn of(self, subject: Subject) -> Self {
        Self { subject, ..self }
    }

    const fn of_whole_run(self) -> Self {
        Self { has_windows: false, ..self }
    }

    const fn at_most(self, most: f64) -> Self {
        Self { most: Some(most), ..self }
    }

    /// The quantity of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        QUANTITIES.iter().find(|quantity| quantity.name == name)
    }

    /// Whether it counts things: of one flow it is a whole number.
    pub fn counts(&self) -> bool {
        matches!(self.unit, "packets" | "events" | "objects")
    }

    /// Decimals worth printing of this value. Times below a millisecond have more, three digits below a tenth of one: in a data
    /// centre 30 us are an RTT, not 0.0 ms.
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
