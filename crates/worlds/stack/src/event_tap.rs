//! Buffers the events that the endpoints report, until the record is available.

use std::cell::Cell;
use std::mem;

use congestion::{Cause, Control, Detection};
use quic::Level;
use quic::connection::{Observation, SentFrame, Tap};
use quic::wire::Frame;
use units::{Duration, Ecn, Time};

use crate::message;
use crate::stream_chunks::{Chunk, Chunks, is_pattern};

/// Kind of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// In flight: stream data, or other ACK-eliciting frames.
    Data,
    /// Carries a message.
    #[cfg_attr(not(any(feature = "noq", feature = "quinn")), allow(dead_code, reason = "others have none"))]
    Message,
    /// Part of the handshake.
    Handshake,
    /// Nothing but ACK frames.
    Bare,
}

/// An event reported to the sender's controller, or the controller's reaction.
#[cfg_attr(
    not(any(feature = "noq", feature = "quinn")),
    allow(dead_code, reason = "others take no reduction back")
)]
#[derive(Clone, Copy, Debug)]
pub(crate) enum ControllerEvent {
    /// An ACK gave an RTT sample.
    Rtt(Duration),
    /// The window was reduced to this size, in bytes.
    Reduced(Cause, u64),
    /// The last reduction was undone.
    Undone,
    /// An ACK was processed.
    AckProcessed(Control),
}

/// An event reported by an endpoint. Endpoints of `ackclock-quic` report packets, those of other
/// stacks what they know.
#[derive(Clone, Debug)]
pub(crate) enum TapEvent {
    /// Another stack sent a datagram.
    Datagram(Kind),
    /// A datagram with stream data or messages reached another stack, which has read these chunks.
    Arrived(Vec<Chunk>),
    /// Number of packets that another stack has declared lost so far.
    LostSoFar(u64),
    /// Another stack called its controller.
    Controller(ControllerEvent),
    /// A packet was sent. `messages` is the number of messages in it.
    Sent { level: Level, number: u64, bytes: u64, in_flight: bool, chunks: Chunks, messages: usize },
    /// A packet arrived.
    Received { level: Level, number: u64, bytes: u64, ecn: Ecn, chunks: Chunks },
    /// The next packet sent carries this ACK. Only reported for traces.
    Acknowledges { ranges: Vec<(u64, u64)>, delay: u64 },
    /// An ACK arrived. Its ranges are in ascending order, and only listed for traces.
    Ack { ranges: Vec<(u64, u64)>, delay: u64 },
    /// A packet was declared lost.
    Lost { number: u64, by: Detection },
    /// The controller was told of a congestion event.
    Congestion(Cause),
    /// An ACK or a timer was processed. An ACK may give an RTT sample.
    Metrics { latest_rtt: Option<Duration> },
}

/// Collects the events of one connection, which owns it. The endpoint takes them between its calls
/// through a shared reference, because a mutable one to the connection makes it due.
pub(crate) struct EventTap {
    events: Cell<Vec<TapEvent>>,
    /// ACK ranges are listed.
    tracing: bool,
    /// Stream data counts only if its bytes are those of the pattern.
    compares: bool,
    /// Stream data of the packet being processed.
    chunks: Chunks,
}

impl EventTap {
    pub(crate) fn new(tracing: bool, compares: bool) -> Self {
        Self { events: Cell::default(), tracing, compares, chunks: Chunks::None }
    }

    /// Moves the events since the last call to an empty buffer.
    pub(crate) fn take(&self, buffer: &mut Vec<TapEvent>) {
        *buffer = self.events.replace(mem::take(buffer));
    }

    /// Returns the event to report, if any.
    fn event(&mut self, what: &Observation<'_>) -> Option<TapEvent> {
        Some(match *what {
            Observation::Sent { level, number, bytes, in_flight, items, .. } => {
                let chunks = items.iter().filter_map(chunk).collect();
                let messages = items.iter().filter(|item| matches!(item, SentFrame::Datagram(_))).count();
                TapEvent::Sent { level, number, bytes, in_flight, chunks, messages }
            }
            Observation::Frame(Frame::Stream(stream)) => {
                if !self.compares || is_pattern(stream.offset, stream.data) {
                    self.chunks.push((stream.offset, stream.data.len() as u64));
                }
                return None;
            }
            Observation::Frame(Frame::Datagram { data, .. }) => {
                self.chunks.extend(message::decode(data));
                return None;
            }
            Observation::Frame(Frame::Ack(ack)) => {
                let list = |range: std::ops::RangeInclusive<u64>| (*range.start(), *range.end());
                let mut ranges: Vec<_> =
                    ack.ranges().take(if self.tracing { usize::MAX } else { 0 }).map(list).collect();
                ranges.reverse();
                TapEvent::Ack { ranges, delay: ack.delay }
            }
            Observation::Received { level, number, bytes, ecn } => {
                TapEvent::Received { level, number, bytes, ecn, chunks: mem::take(&mut self.chunks) }
            }
            Observation::Acknowledges { ranges, delay } if self.tracing => {
                TapEvent::Acknowledges { ranges: ranges.to_vec(), delay }
            }
            Observation::Lost { number, by, .. } => TapEvent::Lost { number, by },
            Observation::Congestion(cause) => TapEvent::Congestion(cause),
            Observation::Metrics { latest_rtt, .. } => TapEvent::Metrics { latest_rtt },
            _ => return None,
        })
    }
}

impl Tap for EventTap {
    fn on(&mut self, _: Time, what: &Observation<'_>) {
        let event = self.event(what);
        self.events.get_mut().extend(event);
    }
}

fn chunk(item: &SentFrame) -> Option<Chunk> {
    match item {
        SentFrame::Stream(_, chunk) => Some((chunk.offset, chunk.len as u64)),
        _ => None,
    }
}
