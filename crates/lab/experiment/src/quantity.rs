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

/// Defines the quantities: each with its description, name, unit and decimals. The other fields of
/// [`Quantity`] have the defaults of [`quantity`], unless they follow.
macro_rules! quantities {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident: $unit:literal, $decimals:literal $(, $field:ident = $value:expr)*;
    )*) => {
        /// All quantities.
        pub static QUANTITIES: &[Quantity] = &[$(Quantity {
            $($field: $value,)*
            ..quantity(stringify!($name), $unit, concat!($($doc),+).trim_ascii_start(), $decimals)
        }),*];
    };
}

quantities! {
    /// rate of stream bytes that arrived for the first time; mean over flows
    goodput: "Mbit/s", 2;
    /// sum of the rates of stream bytes that arrived for the first time, over the whole window,
    /// including time when a flow was not running
    total_goodput: "Mbit/s", 2;
    /// rate of stream bytes sent, including retransmissions; mean over flows
    throughput: "Mbit/s", 2;
    /// rate of bytes sent on the wire, including headers and retransmissions; mean over flows
    wire_throughput: "Mbit/s", 3;
    /// share of sent packets that the path dropped
    loss: "%", 3;
    /// share of sent feedback packets that links of the return path dropped
    ack_loss: "%", 3;
    /// mean of the RTT samples, one per acknowledgement; mean over flows
    rtt_mean: "ms", 2;
    /// standard deviation of a flow's RTT samples; mean over flows
    rtt_std: "ms", 2;
    /// mean of the estimator's rttvar after each RTT sample, qlog's `rtt_variance` (RFC 9002
    /// section 5.3); mean over flows
    rtt_variation: "ms", 2;
    /// lower quartile of the RTT samples of all flows
    rtt_p25: "ms", 1;
    /// median of the RTT samples of all flows
    rtt_p50: "ms", 1;
    /// upper quartile of the RTT samples of all flows
    rtt_p75: "ms", 1;
    /// 95th percentile of the RTT samples of all flows
    rtt_p95: "ms", 1;
    /// 99th percentile of the RTT samples of all flows
    rtt_p99: "ms", 1;
    /// largest RTT sample of all flows
    rtt_max: "ms", 1;
    /// mean one-way delay, from departure to arrival of a packet; mean over flows
    owd_mean: "ms", 2;
    /// standard deviation of a flow's one-way delays; mean over flows
    owd_std: "ms", 2;
    /// 95th percentile of the one-way delays of all flows
    owd_p95: "ms", 1;
    /// sample standard deviation (n - 1) of the flows' mean RTTs
    rtt_flow_std: "ms", 2;
    /// sample standard deviation (n - 1) of the flows' goodputs
    goodput_flow_std: "Mbit/s", 2;
    /// sample standard deviation (n - 1) of the flows' losses
    loss_flow_std: "%", 3;
    /// sample standard deviation of a flow's goodput from second to second; mean over flows; needs
    /// a series
    goodput_time_std: "Mbit/s", 3;
    /// probe timeout of QUIC, or the tail loss probe timer of TCP, without backoff; mean over the
    /// ACKs received
    pto_mean: "ms", 1;
    /// retransmission timeout of TCP, without backoff; mean over the ACKs received
    rto_mean: "ms", 1;
    /// RACK's reordering window, or the part of the time threshold above one RTT; mean over the
    /// ACKs received
    reo_wnd_mean: "ms", 2;
    /// mean time in a link's queue and in transmission, summed over the flow's links
    queue_delay: "ms", 2;
    /// mean time in a link's queue until transmission begins, summed over the flow's links (q in
    /// equation 2 of arXiv 1506.02799)
    queue_wait: "ms", 2;
    /// mean time from a packet's arrival to its in-order delivery, when all bytes before it have
    /// arrived; mean over flows
    delivery_delay_mean: "ms", 2;
    /// 95th percentile of the time from a packet's arrival to its in-order delivery, over the
    /// packets of all flows
    delivery_delay_p95: "ms", 1;
    /// share of the bottleneck's capacity that was used; of the first link if there are several
    utilization: "%", 2, subject = Subject::Links;
    /// share of all newly arrived stream bytes that belongs to the flows with label X; only as
    /// `share of X`
    share: "%", 1, subject = Subject::SomeFlows;
    /// Jain's fairness index of the flows' goodputs
    jain: "", 3, max = Some(1.0);
    /// smallest goodput of a flow divided by the largest
    rate_ratio: "", 3, max = Some(1.0);
    /// Jain's fairness index of the flows' goodputs in each second; mean over the seconds; needs a
    /// series
    jain_1s: "", 3, subject = Subject::Run, max = Some(1.0);
    /// packets that carry data sent before
    retransmissions: "packets", 0;
    /// packets that were declared lost but arrived, whether or not they were retransmitted
    spurious_retransmissions: "packets", 0;
    /// retransmissions sent after all of their data had already arrived; data acknowledged in time
    /// is not retransmitted
    redundant_retransmissions: "packets", 0;
    /// packets declared lost by any rule
    declared_lost: "packets", 0;
    /// packets declared lost by packet threshold
    lost_by_packet_threshold: "packets", 0;
    /// packets declared lost by time threshold
    lost_by_time_threshold: "packets", 0;
    /// share of packets declared lost that were found by time threshold
    time_threshold_share: "%", 0;
    /// packets declared lost by timeout
    lost_by_timeout: "packets", 0;
    /// share of acknowledged packets whose receive time was reported in an ACK frame; only with
    /// `--on stack`
    receive_times: "%", 1;
    /// window reductions of any cause, per flow
    reductions: "events", 1;
    /// largest window of a flow's first slow start; mean over flows
    slow_start_window: "kB", 1, has_windows = false;
    /// smallest window after a reduction; mean over flows
    least_window: "kB", 1, has_windows = false;
    /// ACK-only packets sent in response to a PING from the receiver
    separate_acks: "packets", 0;
    /// ACK-only packets dropped by the first link
    separate_acks_lost: "packets", 0;
    /// goodput divided by mean RTT (Kleinrock); absent if either is missing
    power: "Mbit/s per ms", 4;
    /// mean RTT of the probe
    ping_mean: "ms", 2, subject = Subject::Run;
    /// median RTT of the probe
    ping_p50: "ms", 1, subject = Subject::Run;
    /// 95th percentile of the probe's RTT
    ping_p95: "ms", 1, subject = Subject::Run;
    /// 99th percentile of the probe's RTT
    ping_p99: "ms", 1, subject = Subject::Run;
    /// share of sent probes that the path dropped
    ping_loss: "%", 3, subject = Subject::Run;
    /// rate of UDP bytes on the wire that arrived, over the whole run; sum over sources
    udp_throughput: "Mbit/s", 2, subject = Subject::Udp;
    /// share of sent UDP packets that the path dropped
    udp_loss: "%", 3, subject = Subject::Udp;
    /// mean time of UDP packets in a link's queue and in transmission, summed over their links
    udp_queue_delay: "ms", 2, subject = Subject::Udp;
    /// rate of the video that the encoder produced, without headers and audio; mean over the media
    /// flows
    media_rate: "Mbit/s", 3;
    /// mean time from a frame's capture to the arrival of its last packet; mean over flows
    frame_delay_mean: "ms", 2;
    /// 95th percentile of the time from a frame's capture to the arrival of its last packet, over
    /// the frames of all flows
    frame_delay_p95: "ms", 1;
    /// share of frames that were skipped after waiting too long or that lost a packet; frames still
    /// in transit are not counted
    frame_loss: "%", 3;
    /// short transfers completed; sum over the on-off flows
    objects: "objects", 0;
    /// mean object completion time (first byte offered to last byte received); mean over flows
    object_time_mean: "ms", 1;
    /// 95th percentile of object completion times (first byte offered to last byte received), over
    /// all objects
    object_time_p95: "ms", 1;
    /// time from the first packet to the last byte; mean over flows
    completion: "s", 2, has_windows = false;
}

const fn quantity(name: &'static str, unit: &'static str, doc: &'static str, decimals: usize) -> Quantity {
    let max = if matches!(unit.as_bytes(), b"%") { Some(100.0) } else { None };
    Quantity { name, unit, doc, decimals, subject: Subject::Flows, has_windows: true, max }
}

impl Quantity {
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
