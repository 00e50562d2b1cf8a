//! Packet events in compact form. qlog files are written from them after the run.

use congestion::{Cause, Detection};
use recovery::{Payload, Sender};
use smallvec::SmallVec;
use units::{Duration, Time};

use crate::signal::Call;

/// Packet event of a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Packet sent.
    Sent {
        pn: u64,
        /// Bytes that the packet counts in the window.
        bytes: u32,
        /// Stream offset.
        offset: u64,
        /// Stream bytes.
        len: u32,
    },
    /// Further stream data of the next packet that is sent or received, behind the data that the
    /// packet itself lists: offset and bytes of each piece.
    More(Box<[(u64, u32)]>),
    /// ACK received at the sender's end.
    Acked(Ack),
    /// Packet declared lost.
    Lost {
        pn: u64,
        /// Rule that detected the loss.
        detection: Detection,
    },
    /// Packet declared lost by a stack that others observe.
    LostObserved {
        /// Number of the packet, if the stack says which it is.
        pn: Option<u64>,
        /// Rule that detected the loss.
        detection: Detection,
        /// Source of the rule: an observation, or an inference.
        basis: &'static str,
    },
    /// Reduction of the window.
    Reduced(Cause),
    /// End of the recovery period, if the stack reports it.
    Recovered,
    /// Remark about the log.
    Remark(&'static str),
    /// State after an ACK.
    Metrics(Metrics),
    /// Call of the controller.
    Call(Call),
    /// Handshake packet sent.
    Opens(Handshake),
    /// Handshake packet of the peer received.
    Opened(Handshake),
    /// Packet received at the receiver's end.
    Received {
        pn: u64,
        /// Bytes that the packet counts in the window.
        bytes: u32,
        /// Stream offset.
        offset: u64,
        /// Stream bytes.
        len: u32,
        /// Whether the packet arrived with a CE mark.
        marked: bool,
    },
    /// ACK sent at the receiver's end.
    Acks(Ack),
}

impl Event {
    /// Returns the memory of the controller's variables, if it has any.
    pub(crate) fn into_spare(self) -> Option<Inner> {
        let Self::Metrics(Metrics { mut inner, .. }) = self else { return None };
        inner.clear();
        Some(inner)
    }
}

/// Ranges of numbers; a single one, the usual case, is stored inline.
pub type Ranges = SmallVec<[(u64, u64); 1]>;

/// Contents of an ACK.
#[derive(Clone, Debug, PartialEq)]
pub struct Ack {
    /// Number of the ACK, from 0 on each connection.
    pub number: u64,
    /// Acknowledged packet numbers (QUIC), ascending. For TCP `(0, byte)`: all bytes before `byte`
    /// have arrived.
    pub ranges: Ranges,
    /// The receiver's ACK delay.
    pub delay: Duration,
}

/// Handshake packet: an Initial or a SYN, or the reply to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// Number of the Initial or SYN, from 0. Its reply has the same number.
    pub number: u64,
    /// UDP or TCP payload, in bytes.
    pub bytes: u32,
}

/// State in qlog's `recovery:metrics_updated`, and the controller's own variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Congestion window, in bytes.
    pub cwnd: u64,
    pub bytes_in_flight: u64,
    /// RTT sample of this ACK, if it gave one.
    pub latest_rtt: Option<Duration>,
    /// Smoothed RTT (RFC 9002 section 5.3).
    pub smoothed_rtt: Duration,
    /// Smallest RTT sample.
    pub min_rtt: Duration,
    /// RTT variation (RFC 9002 section 5.3).
    pub rttvar: Duration,
    /// Pacing rate in bits per second, if the controller sets it.
    pub pacing_rate: Option<u64>,
    /// The controller's own variables.
    pub inner: Inner,
}

/// A controller's own variables, with their names.
pub type Inner = Vec<(&'static str, f64)>;

impl Metrics {
    /// Reads the state of a sender after an ACK with this RTT sample. `inner` must be empty; its
    /// memory is reused.
    #[cold]
    pub fn new<T: Payload>(sender: &Sender<T>, latest_rtt: Option<Duration>, mut inner: Inner) -> Self {
        let control = sender.control();
        // Most controllers report at most this many, so the vector does not grow repeatedly.
        inner.reserve(8);
        sender.controller().trace(&mut |name, value| inner.push((name, value)));
        Self {
            cwnd: control.cwnd,
            bytes_in_flight: sender.bytes_in_flight(),
            latest_rtt,
            smoothed_rtt: sender.rtt().smoothed(),
            min_rtt: sender.rtt().min(),
            rttvar: sender.rtt().variation(),
            pacing_rate: control.pacing_rate.map(|rate| rate.0),
            inner,
        }
    }
}

/// Returns the rule that detected a loss, in qlog's terms (`recovery:packet_lost`, field
/// `trigger`).
pub fn trigger(detection: Detection) -> &'static str {
    match detection {
        Detection::PacketThreshold => "reordering_threshold",
        Detection::TimeThreshold => "time_threshold",
        _ => "pto_expired",
    }
}

/// Events with their times.
pub type Trace = Vec<(Time, Event)>;
