//! Connects a flow's application to a connection. The simulator's sources decide how much data
//! there is and when. This module turns it into stream bytes or messages.
//!
//! ```text
//! bulk           one stream with all bytes and an end, opened once the connection is established
//! with pauses    a stream that grows as the source offers data; in a pause only lost bytes are sent
//! on-off         the same; a new connection for each object, or the same stream for all
//! media          a DATAGRAM frame for each packet of a frame (RFC 9221); nothing is retransmitted
//! ```
//!
//! At most one message waits in the connection, so that frames wait in the source. The source skips
//! frames that have waited too long, and the message of a skipped frame is withdrawn. Other stacks
//! cannot withdraw a message, so there it is sent all the same.

use quic::connection::DATAGRAM_OVERHEAD;
use scenario::Source;
use scenario::{Application as Kind, FlowConfig, Record, Scenario, Transport};
use units::Time;

use crate::endpoint::Endpoint;
use crate::message;
use crate::stream_chunks::Chunk;

/// Length of an endless transfer: never reached in a run, and a legal length (RFC 9000 section
/// 4.5).
pub(crate) const ENDLESS: u64 = 1 << 60;
/// Bytes of a packet with a message besides stream data: a header with an 8-byte connection ID and
/// a 1-byte packet number, type and length of the frame, the message's header, and the tag.
const HEADER: u32 = 1 + 8 + 1 + 3 + message::HEADER as u32 + 16;

/// Way in which data crosses a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrier {
    /// A stream of this many bytes with an end.
    Whole(u64),
    /// A stream that grows, and the offset up to which it was offered.
    Growing { offered: u64 },
    /// Messages with at most `payload` bytes of the source, and the offset of the next one.
    Messages { payload: u32, next: u64 },
}

/// Data offered to a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offer {
    /// The stream extends up to this offset.
    UpTo(u64),
    /// Message that replaces the waiting one. Length 0 removes it.
    Message(Chunk),
}

/// The application of a flow at both endpoints of its connection.
#[derive(Debug)]
pub(crate) struct Application {
    source: Source,
    carrier: Carrier,
}

impl Application {
    /// Creates the application of flow `number` of the scenario.
    pub(crate) fn new(flow: &FlowConfig, number: usize, scenario: &Scenario) -> Self {
        let id = u32::try_from(number).unwrap_or(u32::MAX);
        if !matches!(flow.application, Kind::Media(_)) {
            let carrier = match flow.application {
                Kind::Bulk if flow.pauses.is_empty() => Carrier::Whole(flow.transfer.unwrap_or(ENDLESS)),
                _ => Carrier::Growing { offered: 0 },
            };
            return Self { source: Source::new(id, flow, scenario), carrier };
        }
        let payload = payload(flow);
        let overhead = match flow.transport {
            Transport::Quic { overhead, .. } | Transport::Tcp { overhead, .. } => overhead,
        };
        // The encoder must know the size of its packets here.
        let transport = Transport::Quic { datagram: payload + HEADER, header: HEADER, overhead };
        let source = Source::new(id, &FlowConfig { transport, ..flow.clone() }, scenario);
        Self { source, carrier: Carrier::Messages { payload, next: 0 } }
    }

    /// Returns the time at which [`on_time`](Self::on_time) is due.
    pub(crate) fn next(&self) -> Time {
        self.source.next()
    }

    /// Runs the timers that are due. Reports whether a new connection is needed. `allowed` returns
    /// the rate that the controller allows, in bytes per second, if it is known.
    pub(crate) fn on_time(
        &mut self,
        now: Time,
        sent: u64,
        allowed: impl FnOnce() -> Option<f64>,
        record: &mut Record,
    ) -> bool {
        if self.source.next() > now {
            return false;
        }
        let fresh = self.fresh(sent);
        let reconnects = self.source.on_time(now, fresh, allowed, record);
        if reconnects && let Carrier::Growing { offered } = &mut self.carrier {
            *offered = 0;
        }
        reconnects
    }

    /// Returns the offset of the next unsent byte. `sent` is the number of stream bytes sent.
    fn fresh(&self, sent: u64) -> u64 {
        match self.carrier {
            Carrier::Messages { next, .. } => next,
            Carrier::Whole(_) | Carrier::Growing { .. } => sent,
        }
    }

    /// Reports whether there is data to send, so that a connection is needed.
    pub(crate) fn wants(&mut self, now: Time, record: &mut Record) -> bool {
        matches!(self.carrier, Carrier::Whole(_)) || self.source.offered(now, self.fresh(0), record) > 0
    }

    /// Returns the length of a stream that is offered all at once.
    pub(crate) fn whole(&self) -> Option<u64> {
        match self.carrier {
            Carrier::Whole(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Reports whether more data may be offered after the start.
    pub(crate) const fn may_offer_more(&self) -> bool {
        !matches!(self.carrier, Carrier::Whole(_))
    }

    /// Returns what to offer to the connection after `sent` bytes of the stream were sent.
    /// `accepts`: the connection accepts more. `waiting`: the message that waits in it.
    pub(crate) fn next_offer(
        &mut self,
        now: Time,
        sent: u64,
        (accepts, waiting): (bool, Option<Chunk>),
        record: &mut Record,
    ) -> Option<Offer> {
        match self.carrier {
            Carrier::Growing { offered } if accepts => {
                let end = sent.saturating_add(self.source.offered(now, sent, record)).min(ENDLESS);
                (end != offered).then_some(Offer::UpTo(end))
            }
            Carrier::Messages { payload, next } if accepts => {
                let at = waiting.map_or(next, |waiting| waiting.0);
                let len = self.source.offered(now, at, record).min(payload.into());
                let is_news = waiting.map_or(0, |waiting| waiting.1) != len;
                is_news.then_some(Offer::Message((at, len)))
            }
            _ => None,
        }
    }

    /// Passes an offer to the client. Returns the message that now waits in it. A message that is
    /// not accepted remains the next one.
    pub(crate) fn hand_over(&mut self, offer: Offer, client: &mut dyn Endpoint) -> Option<Chunk> {
        match (offer, &mut self.carrier) {
            (Offer::UpTo(end), Carrier::Growing { offered }) => {
                *offered = end;
                client.offer(end);
                None
            }
            (Offer::Message((at, len)), Carrier::Messages { next, .. }) => {
                let message = if len > 0 { message::encode(at, len as usize) } else { Vec::new() };
                let is_sent = client.send_message(message);
                *next = if is_sent { at + len } else { at };
                is_sent.then_some((at, len))
            }
            _ => None,
        }
    }

    /// Reports whether lost data is retransmitted.
    pub(crate) fn is_reliable(&self) -> bool {
        self.source.is_reliable()
    }

    /// Records received bytes. All bytes below `contiguous` have arrived.
    pub(crate) fn on_received(
        &mut self,
        now: Time,
        (start, end): (u64, u64),
        contiguous: u64,
        record: &mut Record,
    ) {
        self.source.on_received(now, (start, end), contiguous, record);
    }

    /// Records that the message at offset `start` counts as lost.
    pub(crate) fn on_lost(&mut self, now: Time, start: u64, record: &mut Record) {
        self.source.on_lost(now, start, record);
    }
}

/// Returns the number of the source's bytes that fit into a message.
fn payload(flow: &FlowConfig) -> u32 {
    let most = u64::from(flow.transport.mds()).saturating_sub(DATAGRAM_OVERHEAD + message::HEADER as u64);
    u32::try_from(most).unwrap_or(u32::MAX).max(1)
}
