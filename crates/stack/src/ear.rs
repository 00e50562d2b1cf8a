//! What the ends of a connection say of their packets, until the record is at hand.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use congestion::{Cause, Detection};
use quic::Level;
use quic::connection::{Item, Observation, Tap};
use quic::wire::Frame;
use units::{Duration, Ecn, Time};

use crate::message;
use crate::pieces::{Piece, Pieces};

/// One thing that an end said.
#[derive(Clone, Debug)]
pub(crate) enum Heard {
    /// A packet left, also with so many messages.
    Sent { level: Level, number: u64, bytes: u64, in_flight: bool, pieces: Pieces, messages: usize },
    /// A packet arrived.
    Received { level: Level, number: u64, bytes: u64, ecn: Ecn, pieces: Pieces },
    /// An ACK leaves in the packet that is sent next; for a trace alone.
    Acknowledges { ranges: Vec<(u64, u64)>, delay: u64 },
    /// An ACK arrived: its ranges, ascending, which are listed for a trace alone.
    Ack { ranges: Vec<(u64, u64)>, delay: u64 },
    /// A packet was declared lost.
    Lost { number: u64, by: Detection },
    /// The controller was told of congestion.
    Congestion(Cause),
    /// An ACK or a timer was processed, and brought a sample.
    Metrics { latest_rtt: Option<Duration> },
}

/// Keeps what one end says. Boxed by the connection, and asked by the guest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ear {
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Ear {
    /// For the connection. `tracing`: someone wants the ranges of ACKs.
    pub(crate) fn tap(&self, tracing: bool) -> Box<dyn Tap> {
        Box::new(Listener { ear: self.clone(), tracing, pieces: Pieces::None })
    }

    /// What was said since the last time; `before` is memory that is used again.
    pub(crate) fn take(&self, mut before: Vec<Heard>) -> Vec<Heard> {
        before.clear();
        // Nobody panics while it is held.
        mem::replace(&mut *self.heard.lock().unwrap_or_else(PoisonError::into_inner), before)
    }

    fn put(&self, heard: Heard) {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).push(heard);
    }
}

struct Listener {
    ear: Ear,
    tracing: bool,
    /// Of the packet that is being processed.
    pieces: Pieces,
}

impl Tap for Listener {
    fn on(&mut self, _: Time, what: &Observation<'_>) {
        match *what {
            Observation::Sent { level, number, bytes, in_flight, items, .. } => {
                let pieces = items.iter().filter_map(piece).collect();
                let messages = items.iter().filter(|item| matches!(item, Item::Datagram(_))).count();
                self.ear.put(Heard::Sent { level, number, bytes, in_flight, pieces, messages });
            }
            Observation::Frame(Frame::Stream(stream)) => {
                self.pieces.push((stream.offset, stream.data.len() as u64));
            }
            Observation::Frame(Frame::Datagram { data, .. }) => self.pieces.extend(message::decode(data)),
            Observation::Frame(Frame::Ack(ack)) => {
                let list = |range: std::ops::RangeInclusive<u64>| (*range.start(), *range.end());
                let mut ranges: Vec<_> =
                    ack.ranges().take(if self.tracing { usize::MAX } else { 0 }).map(list).collect();
                ranges.reverse();
                self.ear.put(Heard::Ack { ranges, delay: ack.delay });
            }
            Observation::Received { level, number, bytes, ecn } => {
                let pieces = mem::take(&mut self.pieces);
                self.ear.put(Heard::Received { level, number, bytes, ecn, pieces });
            }
            Observation::Acknowledges { ranges, delay } if self.tracing => {
                self.ear.put(Heard::Acknowledges { ranges: ranges.to_vec(), delay });
            }
            Observation::Lost { number, by, .. } => self.ear.put(Heard::Lost { number, by }),
            Observation::Congestion(cause) => self.ear.put(Heard::Congestion(cause)),
            Observation::Metrics { latest_rtt, .. } => self.ear.put(Heard::Metrics { latest_rtt }),
            _ => {}
        }
    }
}

fn piece(item: &Item) -> Option<Piece> {
    match item {
        Item::Stream(_, chunk) => Some((chunk.offset, chunk.len as u64)),
        _ => None,
    }
}
