//! Buffers the events that the endpoints report through their taps, until the record is available.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use congestion::{Cause, Detection};
use quic::Level;
use quic::connection::{Observation, SentFrame, Tap};
use quic::wire::Frame;
use units::{Duration, Ecn, Time};

use crate::message;
use crate::stream_chunks::{Chunk, Chunks};

/// An event reported by an endpoint.
#[derive(Clone, Debug)]
pub(crate) enum TapEvent {
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

/// Collects the events of one endpoint. The connection owns the tap, and the guest reads the
/// events.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventTap {
    events: Arc<Mutex<Vec<TapEvent>>>,
}

impl EventTap {
    /// Creates the tap for the connection. With `tracing`, ACK ranges are listed.
    pub(crate) fn listener(&self, tracing: bool) -> Box<dyn Tap> {
        Box::new(Listener { tap: self.clone(), tracing, chunks: Chunks::None })
    }

    /// Takes the events since the last call. `before` is a buffer to reuse.
    pub(crate) fn take(&self, mut before: Vec<TapEvent>) -> Vec<TapEvent> {
        before.clear();
        // No code panics while the lock is held.
        mem::replace(&mut *self.events.lock().unwrap_or_else(PoisonError::into_inner), before)
    }

    fn push(&self, event: TapEvent) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

struct Listener {
    tap: EventTap,
    tracing: bool,
    /// Stream data of the packet being processed.
    chunks: Chunks,
}

impl Tap for Listener {
    fn on(&mut self, _: Time, what: &Observation<'_>) {
        match *what {
            Observation::Sent { level, number, bytes, in_flight, items, .. } => {
                let chunks = items.iter().filter_map(chunk).collect();
                let messages = items.iter().filter(|item| matches!(item, SentFrame::Datagram(_))).count();
                self.tap.push(TapEvent::Sent { level, number, bytes, in_flight, chunks, messages });
            }
            Observation::Frame(Frame::Stream(stream)) => {
                self.chunks.push((stream.offset, stream.data.len() as u64));
            }
            Observation::Frame(Frame::Datagram { data, .. }) => self.chunks.extend(message::decode(data)),
            Observation::Frame(Frame::Ack(ack)) => {
                let list = |range: std::ops::RangeInclusive<u64>| (*range.start(), *range.end());
                let mut ranges: Vec<_> =
                    ack.ranges().take(if self.tracing { usize::MAX } else { 0 }).map(list).collect();
                ranges.reverse();
                self.tap.push(TapEvent::Ack { ranges, delay: ack.delay });
            }
            Observation::Received { level, number, bytes, ecn } => {
                let chunks = mem::take(&mut self.chunks);
                self.tap.push(TapEvent::Received { level, number, bytes, ecn, chunks });
            }
            Observation::Acknowledges { ranges, delay } if self.tracing => {
                self.tap.push(TapEvent::Acknowledges { ranges: ranges.to_vec(), delay });
            }
            Observation::Lost { number, by, .. } => self.tap.push(TapEvent::Lost { number, by }),
            Observation::Congestion(cause) => self.tap.push(TapEvent::Congestion(cause)),
            Observation::Metrics { latest_rtt, .. } => self.tap.push(TapEvent::Metrics { latest_rtt }),
            _ => {}
        }
    }
}

fn chunk(item: &SentFrame) -> Option<Chunk> {
    match item {
        SentFrame::Stream(_, chunk) => Some((chunk.offset, chunk.len as u64)),
        _ => None,
    }
}
