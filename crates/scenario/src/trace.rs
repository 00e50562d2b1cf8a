//! Packet events in compact form; qlog is written from them after the run.

use congestion::{Cause, Detection};
use recovery::{Payload, Sender};
use smallvec::SmallVec;
use units::{Duration, Time};

/// One thing that happened to a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A packet left.
    Sent {
        /// Packet number.
        pn: u64,
        /// Bytes in the window.
        bytes: u32,
        /// Stream offset and length.
        offset: u64,
        /// Stream bytes.
        len: u32,
    },
    /// An ACK arrived, at the sender's end.
    Acked(Ack),
    /// A packet was declared lost.
    Lost {
        /// Packet number.
        pn: u64,
        /// The rule that found it.
        detection: Detection,
    },
    /// The window was reduced.
    Reduced(Cause),
    /// State after an ACK.
    Metrics(Metrics),
    /// A packet of a handshake left.
    Opens(Handshake),
    /// A packet of the peer's handshake arrived.
    Opened(Handshake),
    /// A packet arrived, at the receiver's end.
    Received {
        /// Packet number.
        pn: u64,
        /// Bytes in the window.
        bytes: u32,
        /// Stream offset and length.
        offset: u64,
        /// Stream bytes.
        len: u32,
        /// It came with a CE mark.
        marked: bool,
    },
    /// An ACK left, at the receiver's end.
    Acks(Ack),
}

impl Event {
    /// The memory of a controller's variables, if it has some.
    pub(crate) fn into_spare(self) -> Option<Inner> {
        let Self::Metrics(Metrics { mut inner, .. }) = self else { return None };
        inner.clear();
        Some(inner)
    }
}

/// Ranges of numbers: mostly one, which takes no memory of its own.
pub type Ranges = SmallVec<[(u64, u64); 1]>;

/// What an ACK says.
#[derive(Clone, Debug, PartialEq)]
pub struct Ack {
    /// Of the ACK, from 0 on each connection.
    pub number: u64,
    /// Acknowledged packet numbers (QUIC), ascending; for TCP `(0, byte)`, all bytes before which have arrived.
    pub ranges: Ranges,
    /// The receiver's ACK delay.
    pub delay: Duration,
}

/// A packet of a handshake: an Initial or a SYN, or the reply to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// Of the Initial or SYN, from 0; its reply has the same.
    pub number: u64,
    /// Its payload beyond IP and UDP or TCP.
    pub bytes: u32,
}

/// qlog's `recovery:metrics_updated`, and the controller's own variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// Bytes.
    pub cwnd: u64,
    /// Bytes.
    pub bytes_in_flight: u64,
    /// This ACK's sample, if it gave one.
    pub latest_rtt: Option<Duration>,
    /// RFC 9002.
    pub smoothed_rtt: Duration,
    /// Smallest.
    pub min_rtt: Duration,
    /// RFC 9002.
    pub rttvar: Duration,
    /// Bits per second, if the controller sets it.
    pub pacing_rate: Option<u64>,
    /// The controller's own variables.
    pub inner: Inner,
}

/// A controller's own variables, with their names.
pub type Inner = Vec<(&'static str, f64)>;

impl Metrics {
    /// Of this sender, after an ACK that gave this sample; `inner` is empty.
    #[cold]
    pub fn of<T: Payload>(sender: &Sender<T>, latest_rtt: Option<Duration>, mut inner: Inner) -> Self {
        let control = sender.control();
        // As many as most controllers tell, so that it does not grow again and again.
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

/// Which rule found a loss, in qlog's words (`recovery:packet_lost`, field `trigger`).
pub fn trigger(detection: Detection) -> &'static str {
    match detection {
        Detection::PacketThreshold => "reordering_threshold",
        Detection::TimeThreshold => "time_threshold",
        _ => "pto_expired",
    }
}

/// Events with their times.
pub type Trace = Vec<(Time, Event)>;
