//! Measurable quantities: the names that metrics are made of.
//!
//! By default, rates, losses, RTTs, queue delays, `utilization`, frames and objects are measured
//! inside the measuring window. Counters of the sender (retransmissions, losses by rule,
//! reductions) cover the whole run. A window ends with the run. A metric with a window
//! ([`crate::metric`]) is measured in that window, unless [`Quantity::has_windows`] is false.

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
    /// rate of stream bytes that arrived for the first time, over the part of the window in which a
    /// flow ran; mean over flows
    goodput: "Mbit/s", 2;
    /// stream bytes of all flows that arrived for the first time, over the whole window, whether or
    /// not a flow ran
    total_goodput: "Mbit/s", 2;
    /// rate of stream bytes sent, including retransmissions, over the part of the window in which a
    /// flow ran; mean over flows
    throughput: "Mbit/s", 2;
    /// rate of bytes sent on the wire, including headers and retransmissions, over the part of the
    /// window in which a flow ran; mean over flows
    wire_throughput: "Mbit/s", 3;
    /// share of sent packets that the path dropped
    loss: "%", 3;
    /// share of the packets sent by receivers that links of the return path dropped
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
    /// share of the bottleneck's capacity that was used in the window; of the first link if there
    /// are several. The capacity is the integral of the rate over the window, and the packets are
    /// those whose transmission ended in it. The share may exceed 100 %: by a packet that leaves as
    /// the window begins, and by the tokens that a bucket holds then, which are not recorded
    utilization: "%", 2, subject = Subject::Links, max = None;
    /// share of all newly arrived stream bytes of the window that belongs to the flows with label
    /// X, whether or not they ran; only as `share of X`
    share: "%", 1, subject = Subject::SomeFlows;
    /// Jain's fairness index of the flows' goodputs, each over the part of the window in which the
    /// flow ran
    jain: "", 3, max = Some(1.0);
    /// smallest goodput of a flow divided by the largest, each over the part of the window in which
    /// the flow ran
    rate_ratio: "", 3, max = Some(1.0);
    /// Jain's fairness index of the goodputs of the flows that ran, in each second; mean over the
    /// seconds; needs a series
    jain_1s: "", 3, subject = Subject::Run, max = Some(1.0);
    /// packets that carry data sent before
    retransmissions: "packets", 0;
    /// packets declared lost that had arrived or arrived later (RFC 9002: spuriously declared
    /// lost), whether or not they were retransmitted
    spurious_losses: "packets", 0;
    /// retransmissions whose data had all arrived before they were sent (the thesis' spurious
    /// retransmissions)
    spurious_retransmissions: "packets", 0;
    /// packets that receivers sent: ACKs, and with real endpoints their handshake
    acks_sent: "packets", 0;
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
    /// packets that arrived with a CE mark
    ce_marks: "packets", 0;
    /// paths on which ECN validation failed, so that the sender stopped marking (RFC 9000 section
    /// 13.4.2)
    ecn_failures: "paths", 0;
    /// congestion events of any cause after which the window was smaller, per flow
    reductions: "events", 1;
    /// largest window of a flow's first slow start; mean over flows
    slow_start_window: "kB", 1, has_windows = false;
    /// smallest window after a reduction; mean over flows
    least_window: "kB", 1, has_windows = false;
    /// ACK-only packets that the sender of the data sent, each in response to a PING of the
    /// receiver
    sender_acks: "packets", 0;
    /// ACK-only packets of the sender of the data that the first link dropped
    sender_acks_lost: "packets", 0;
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
    /// rate of UDP bytes on the wire that arrived; sum over sources
    udp_throughput: "Mbit/s", 2, subject = Subject::Udp;
    /// share of sent UDP packets that the path dropped
    udp_loss: "%", 3, subject = Subject::Udp;
    /// mean time of UDP packets in a link's queue and in transmission, summed over their links
    udp_queue_delay: "ms", 2, subject = Subject::Udp;
    /// rate of the video that the encoder produced, without headers and audio, over the part of the
    /// window in which a flow ran; mean over the media flows
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
    /// mean time from first byte offered to last byte received of the objects completed; mean over
    /// flows
    object_time_mean: "ms", 1;
    /// 95th percentile of the times from first byte offered to last byte received, over all objects
    /// completed
    object_time_p95: "ms", 1;
    /// time from a transfer's first packet to its last byte; mean over flows; absent unless every
    /// transfer of every run finished
    completion: "s", 2, has_windows = false, needs_every_run = true;
    /// share of the transfers that were complete at the end of their flow
    finished: "%", 1, has_windows = false;
    /// time from a flow's first packet until its idle timeout closed the connection
    /// (`recovery.idle-timeout`); mean over the flows that it closed
    closed: "s", 2, has_windows = false;
    /// size of a flow's datagrams at its end, with a search for the MTU of the path
    /// (`recovery.mtu-search`); mean over the flows that search
    datagram_size: "B", 0, has_windows = false;
    /// probes sent for the MTU of the path; mean over the flows that search
    mtu_probes: "packets", 0, has_windows = false;
    /// time at which a run ended because every transfer was complete, if the window begins after it
    ended: "s", 1, subject = Subject::Run;
}

const fn quantity(name: &'static str, unit: &'static str, doc: &'static str, decimals: usize) -> Quantity {
    let max = if matches!(unit.as_bytes(), b"%") { Some(100.0) } else { None };
    let (subject, has_windows, needs_every_run) = (Subject::Flows, true, false);
    Quantity { name, unit, doc, decimals, subject, has_windows, max, needs_every_run }
}

impl Quantity {
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

    /// Returns why a run may have no value, unless it is for want of packets that arrived.
    pub fn why_absent(&self) -> Option<&'static str> {
        let word = |words: &[&str]| words.iter().any(|word| self.name.starts_with(word));
        Some(match self.name {
            "completion" => "a transfer did not finish (`finished` has the share), or there is none",
            "finished" => "no flow has a `transfer`",
            "closed" => "no connection was closed by an idle timeout",
            "datagram_size" | "mtu_probes" => "no flow searches for the MTU of the path",
            "ended" => "the run ended in the window or behind it",
            "jain_1s" => "needs `series`, and a whole second in which data arrived",
            "goodput_time_std" => "needs `series`, and at least two seconds",
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
            _ => return None,
        })
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
