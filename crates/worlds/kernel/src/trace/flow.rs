//! Turns the records of a connection into events for qlog.

use congestion::{Cause, Detection};
use scenario::trace::{Event, Inner, Metrics, Trace};
use units::{Duration, Time};

use super::record::{TraceRecord, kind, socket};
use crate::record::state;

/// `TCP_INFINITE_SSTHRESH`.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// Most losses that one record adds to the log. The rest is only counted.
const MAX_LOSSES: u32 = 1 << 14;
/// The first remark of a log.
const BY_RECORDS: &str = "values are from the kernel's tracepoints; those of tcp_probe have the time of \
     the event before; packet_lost counts packets that the kernel declares lost, without their numbers";
const BY_POLLS: &str = "values are polled by inet_diag, and changes between two samples are not seen; each \
     retransmission counts as a loss";
/// Remark at the sender's close. From then on the kernel calls tcp_probe no more.
const CLOSING: &str = "the sender has closed; until the socket is gone, its values are polled";
const GONE: &str = "the socket is gone";
/// Remark at another controller than that of the record before.
const CHANGED: &str = "the connection has changed its controller";

/// Reason of a loss, as far as the kernel tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Short name.
    pub name: &'static str,
    detection: Detection,
    /// Source of the rule: an observation, or an inference.
    pub basis: &'static str,
}

/// Reasons of losses, in the order of [`Summary::losses`].
pub const LABELS: [Label; 6] = [
    Label {
        name: "RACK",
        detection: Detection::TimeThreshold,
        basis: "by rule: with SACK, Linux declares losses by RACK alone",
    },
    Label {
        name: "duplicate ACKs",
        detection: Detection::PacketThreshold,
        basis: "by rule: without SACK, Linux declares losses by duplicate ACKs",
    },
    Label {
        name: "timeout",
        detection: Detection::Timeout,
        basis: "observed: declared when recovery entered the state Loss",
    },
    Label {
        name: "tail loss probe",
        detection: Detection::Timeout,
        basis: "observed: tlp_high_seq, an ACK ended a tail loss probe and the window was reduced",
    },
    Label {
        name: "retransmitted in the state Loss",
        detection: Detection::Timeout,
        basis: "by rule: retransmitted while recovery was in the state Loss",
    },
    Label {
        name: "retransmitted",
        detection: Detection::TimeThreshold,
        basis: "by rule: retransmitted outside the state Loss, by RACK or as a tail loss probe",
    },
];
const RACK: usize = 0;
const DUPLICATE_ACKS: usize = 1;
const TIMEOUT: usize = 2;
/// Index in [`LABELS`] of losses that a tail loss probe repaired.
pub const TAIL_LOSS_PROBE: usize = 3;
const POLLED_TIMEOUT: usize = 4;
const POLLED: usize = 5;

/// Counts of a connection while it was traced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Time of the first record.
    pub started: Time,
    /// Time of the newest record.
    pub ended: Time,
    /// Acknowledged payload in bytes, as the kernel counts: SYN and FIN are a byte each.
    pub bytes: u64,
    /// Smallest RTT.
    pub min_rtt: Option<Duration>,
    /// Sum of the smoothed RTT in us, and the number of records with one.
    rtts: (u64, u64),
    /// Retransmitted packets, as the kernel counts them (`total_retrans`).
    pub retransmissions: u64,
    /// Packets declared lost, by [`LABELS`].
    pub losses: [u64; LABELS.len()],
    /// Tail loss probes that were seen.
    pub tail_probes: u64,
    /// Entries into the state Loss.
    pub timeouts: u64,
}

impl Summary {
    /// Returns the mean of the smoothed RTT over all records.
    pub fn mean_rtt(&self) -> Option<Duration> {
        let (sum, count) = self.rtts;
        sum.checked_div(count).map(Duration::from_micros)
    }
}

/// A traced connection.
#[derive(Debug)]
pub struct Flow {
    last: TraceRecord,
    /// The source is inet_diag alone.
    polled: bool,
    /// State of loss recovery.
    state: u8,
    closing: bool,
    /// Time of the newest event.
    newest: Time,
    inner: Inner,
    summary: Summary,
}

impl Flow {
    /// Starts with the first record of a connection. If nothing was acknowledged before, the counts
    /// begin at zero, otherwise at those of the record.
    pub fn new(first: &TraceRecord, out: &mut Trace) -> Self {
        let polled = first.kind == kind::POLLED;
        out.push((first.time(), Event::Remark(if polled { BY_POLLS } else { BY_RECORDS })));
        let mut last = *first;
        // The kernel counts the SYN as a byte.
        if first.bytes_acked <= 1 {
            (last.lost, last.total_retrans, last.bytes_acked) = (0, 0, 0);
        }
        let summary = Summary { started: first.time(), ..Summary::default() };
        Self {
            last,
            polled,
            state: state::OPEN,
            closing: false,
            newest: first.time(),
            inner: Vec::new(),
            summary,
        }
    }

    /// Returns the newest record.
    pub fn last(&self) -> &TraceRecord {
        &self.last
    }

    /// Reports whether the sender has closed, so that its values must be polled.
    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// Reports whether inet_diag alone tells its state, so that timeouts and probes are not seen.
    pub fn is_polled(&self) -> bool {
        self.polled
    }

    /// Reports whether it repairs losses, in fast recovery or after a timeout.
    pub fn is_in_recovery(&self) -> bool {
        self.state >= state::RECOVERY
    }

    /// Returns what was counted.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Sets the controller's variables for the records from now on.
    pub fn set_inner(&mut self, inner: Inner) {
        self.inner = inner;
    }

    /// Adds the events of a record.
    pub fn on_record(&mut self, record: &TraceRecord, out: &mut Trace) {
        let mut record = *record;
        if record.kind == kind::POLLED && !self.polled {
            // A sample does not have it.
            record.lost = self.last.lost;
        }
        // The segment of a tcp_probe is not processed yet.
        let at = if record.kind == kind::PROBE { self.last.time() } else { record.time() };
        self.newest = self.newest.max(at);
        self.count(&record);
        self.add_losses(&record, out);
        self.add_state(&record, out);
        if record.kind != kind::CLOSED {
            out.push((self.newest, Event::Metrics(self.metrics(&record))));
        }
        if record.algorithm != self.last.algorithm {
            out.push((self.newest, Event::Remark(CHANGED)));
        }
        let is_closing = matches!(record.state, socket::FIN_WAIT1 | socket::LAST_ACK | socket::CLOSING);
        if record.kind == kind::SOCKET && is_closing && !self.closing {
            self.closing = true;
            out.push((self.newest, Event::Remark(CLOSING)));
        } else if record.kind == kind::CLOSED {
            out.push((self.newest, Event::Remark(GONE)));
        }
        self.last = record;
    }

    fn count(&mut self, record: &TraceRecord) {
        let Self { last, summary, .. } = self;
        summary.ended = summary.ended.max(record.time());
        let acked = record.bytes_acked.saturating_sub(last.bytes_acked);
        summary.bytes = summary.bytes.saturating_add(acked);
        summary.retransmissions += u64::from(rise(last.total_retrans, record.total_retrans));
        summary.tail_probes += u64::from(last.tlp_high_seq == 0 && record.tlp_high_seq != 0);
        if record.srtt_us > 0 {
            summary.rtts.0 += u64::from(record.srtt_us);
            summary.rtts.1 += 1;
        }
        if record.min_rtt_us > 0 && record.min_rtt_us < u32::MAX {
            let rtt = Duration::from_micros(record.min_rtt_us.into());
            summary.min_rtt = Some(summary.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
    }

    fn add_losses(&mut self, record: &TraceRecord, out: &mut Trace) {
        let label = match record {
            _ if self.polled && record.ca_state == state::LOSS => POLLED_TIMEOUT,
            _ if self.polled => POLLED,
            // A smaller path MTU leads to this state, too.
            TraceRecord { kind: kind::STATE, state: state::LOSS, .. } => TIMEOUT,
            _ if record.has_sack() => RACK,
            _ => DUPLICATE_ACKS,
        };
        self.lose(label, rise(self.last.lost, record.lost), out);
    }

    fn lose(&mut self, label: usize, packets: u32, out: &mut Trace) {
        self.summary.losses[label] += u64::from(packets);
        let Label { detection, basis, .. } = LABELS[label];
        let lost = (self.newest, Event::LostObserved { pn: None, detection, basis });
        out.extend(std::iter::repeat_n(lost, packets.min(MAX_LOSSES) as usize));
    }

    fn add_state(&mut self, record: &TraceRecord, out: &mut Trace) {
        let is_new = record.kind == kind::STATE;
        let new = if is_new { record.state } else { record.ca_state };
        let repeats = is_new && new == state::LOSS;
        self.summary.timeouts += u64::from(new == state::LOSS && (repeats || self.state != new));
        if new == self.state && !repeats {
            return;
        }
        let is_marked = record.delivered_ce != self.last.delivered_ce;
        let ends_probe = self.last.repeats_tail() && record.tlp_high_seq == 0;
        if new == state::CWR && ends_probe && !is_marked {
            self.lose(TAIL_LOSS_PROBE, 1, out);
        }
        let cause = match new {
            state::CWR if is_marked => Some(Cause::Ecn),
            state::CWR | state::RECOVERY => Some(Cause::Loss),
            state::LOSS => Some(Cause::Timeout),
            _ => None,
        };
        match cause {
            Some(cause) => out.push((self.newest, Event::Reduced(cause))),
            None if self.state >= state::CWR => out.push((self.newest, Event::Recovered)),
            None => {}
        }
        self.state = new;
    }

    fn metrics(&self, record: &TraceRecord) -> Metrics {
        let bytes = |packets: u32| u64::from(packets) * u64::from(record.mss);
        let us = |us: u32| {
            if us == 0 || us == u32::MAX { Duration::MAX } else { Duration::from_micros(us.into()) }
        };
        // No log can hold infinity, but it tells slow start.
        let ssthresh = match record.ssthresh {
            INFINITE_SSTHRESH.. => f64::INFINITY,
            packets => bytes(packets) as f64,
        };
        let mut inner = Vec::with_capacity(3 + self.inner.len());
        inner.push(("ssthresh", ssthresh));
        inner.push(("app_limited", f64::from(u8::from(record.is_app_limited()))));
        inner.push(("retransmitted", self.summary.retransmissions as f64));
        inner.extend(&self.inner);
        Metrics {
            cwnd: bytes(record.cwnd),
            bytes_in_flight: bytes(record.in_flight()),
            latest_rtt: None,
            smoothed_rtt: us(record.srtt_us),
            min_rtt: us(record.min_rtt_us),
            rttvar: us(record.rttvar_us),
            pacing_rate: Some(record.pacing_rate)
                .filter(|rate| *rate < u64::MAX)
                .map(|rate| rate.saturating_mul(8)),
            inner,
        }
    }
}

/// Returns the increase of a counter that wraps. A decrease is none.
fn rise(before: u32, now: u32) -> u32 {
    u32::try_from(now.wrapping_sub(before).cast_signed()).unwrap_or(0)
}
