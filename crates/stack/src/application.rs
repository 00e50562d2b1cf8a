//! What a flow carries, brought to a connection. The simulator's sources say what there is to send and when; here it becomes bytes of a
//! stream, or messages.
//!
//! ```text
//! bulk           a stream of all its bytes, opened as the connection stands, and finished
//! with pauses    a stream of which so much is offered as the source offers: during a pause nothing new leaves, lost bytes do
//! on-off         the same; a new connection for each object, or the same stream goes on
//! media          a DATAGRAM for each packet of a frame (RFC 9221): nothing is sent again
//! ```
//!
//! Of messages one at a time waits in the connection, so that frames wait in the source, which skips those that waited too long: a message that
//! waits is taken back as its frame is skipped. Other stacks give none back: there the one that waits leaves all the same.

use quic::connection::{Connection, DATAGRAM_OVERHEAD};
use quic::streams::StreamId;
use quic::wire::Direction;
use scenario::{Application as Kind, FlowConfig, Record, Scenario, Transport};
use sim::Source;
use units::Time;

use crate::message;
use crate::peer::Peer;
use crate::pieces::Piece;

/// A transfer without end: nobody lives to see it, and it is a legal length (RFC 9000 section 4.5).
pub(crate) const ENDLESS: u64 = 1 << 60;
/// What a packet with a message has besides the bytes of the stream, as it is sent: a header with an ID of 8 bytes and a number of one, type and
/// length of the frame, the message's own header, a tag. In bytes.
const HEADER: u32 = 1 + 8 + 1 + 3 + message::HEADER as u32 + 16;

/// How it goes over a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrier {
    /// A stream with so many bytes and an end.
    Whole(u64),
    /// A stream that grows, once it is open; up to where it was offered.
    Growing { is_open: bool, offered: u64 },
    /// Messages with so many bytes of the source at most; where the next begins.
    Messages { payload: u32, next: u64 },
}

/// What a connection is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offer {
    /// The stream goes up to here.
    UpTo(u64),
    /// This message is to wait instead of the one that does; of length 0: none.
    Message(Piece),
}

/// The application of a flow at both ends of its connection.
#[derive(Debug)]
pub(crate) struct Application {
    source: Source,
    carrier: Carrier,
    /// Of our connections: the stream that grows.
    stream: Option<StreamId>,
}

impl Application {
    /// Of the scenario's flow of this number.
    pub(crate) fn new(flow: &FlowConfig, number: usize, scenario: &Scenario) -> Self {
        let id = u32::try_from(number).unwrap_or(u32::MAX);
        if !matches!(flow.application, Kind::Media(_)) {
            let carrier = match flow.application {
                Kind::Bulk if flow.pauses.is_empty() => Carrier::Whole(flow.transfer.unwrap_or(ENDLESS)),
                _ => Carrier::Growing { is_open: false, offered: 0 },
            };
            return Self { source: Source::new(id, flow, scenario), carrier, stream: None };
        }
        let payload = payload(flow);
        let overhead = match flow.transport {
            Transport::Quic { overhead, .. } | Transport::Tcp { overhead, .. } => overhead,
        };
        // The encoder knows what its packets are here.
        let transport = Transport::Quic { datagram: payload + HEADER, header: HEADER, overhead };
        let source = Source::new(id, &FlowConfig { transport, ..flow.clone() }, scenario);
        Self { source, carrier: Carrier::Messages { payload, next: 0 }, stream: None }
    }

    /// When it has something to do.
    pub(crate) fn next(&self) -> Time {
        self.source.next()
    }

    /// Does what is due; true if that asks for a new connection. `allowed` is what the controller lets it send, bytes per second, if that is
    /// known.
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
        if reconnects && let Carrier::Growing { is_open, offered } = &mut self.carrier {
            (*is_open, *offered) = (false, 0);
        }
        reconnects
    }

    /// The next byte that has not left; `sent`: of the stream that many have.
    fn fresh(&self, sent: u64) -> u64 {
        match self.carrier {
            Carrier::Messages { next, .. } => next,
            Carrier::Whole(_) | Carrier::Growing { .. } => sent,
        }
    }

    /// It has something to send, and a connection is wanted.
    pub(crate) fn wants(&mut self, now: Time, record: &mut Record) -> bool {
        matches!(self.carrier, Carrier::Whole(_)) || self.source.offered(now, self.fresh(0), record) > 0
    }

    /// The connection, which is ours, stands.
    pub(crate) fn begin(&mut self, connection: &mut Connection) {
        match self.carrier {
            Carrier::Whole(bytes) => {
                connection.streams().open_pattern(Direction::Unidirectional, bytes);
            }
            Carrier::Growing { .. } => {
                self.stream = connection.streams().open_growing_pattern(Direction::Unidirectional);
                self.open(self.stream.is_some());
            }
            Carrier::Messages { .. } => {}
        }
    }

    /// A connection of another stack begins, which opens a stream by itself.
    pub(crate) fn begin_elsewhere(&mut self) {
        self.open(true);
    }

    fn open(&mut self, opened: bool) {
        if let Carrier::Growing { is_open, offered } = &mut self.carrier {
            (*is_open, *offered) = (opened, 0);
        }
    }

    /// The bytes of a stream that is whole as it begins.
    pub(crate) fn whole(&self) -> Option<u64> {
        match self.carrier {
            Carrier::Whole(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// It may have something to tell the connection after it has begun.
    pub(crate) const fn goes_on(&self) -> bool {
        !matches!(self.carrier, Carrier::Whole(_))
    }

    /// What the connection is to be told, if there is anything, after so much of the stream has left. `stands`: it takes messages; `waiting`: the
    /// one that waits in it.
    pub(crate) fn offers(
        &mut self,
        now: Time,
        sent: u64,
        (stands, waiting): (bool, Option<Piece>),
        record: &mut Record,
    ) -> Option<Offer> {
        match self.carrier {
            Carrier::Growing { is_open: true, offered } => {
                let end = sent.saturating_add(self.source.offered(now, sent, record)).min(ENDLESS);
                (end != offered).then_some(Offer::UpTo(end))
            }
            Carrier::Messages { payload, next } if stands => {
                let at = waiting.map_or(next, |waiting| waiting.0);
                let len = self.source.offered(now, at, record).min(payload.into());
                let is_news = waiting.map_or(0, |waiting| waiting.1) != len;
                is_news.then_some(Offer::Message((at, len)))
            }
            _ => None,
        }
    }

    /// Tells the connection, which is ours; the message that waits in it now.
    pub(crate) fn hand_over(&mut self, offer: Offer, connection: &mut Connection) -> Option<Piece> {
        match offer {
            Offer::UpTo(end) => {
                self.offered(end);
                // An error: the peer wants no more, and gets no more.
                let _ = connection.streams().offer(self.stream?, end);
                None
            }
            Offer::Message(piece) => {
                connection.withdraw_datagrams();
                // An error: there is room for less than the path carried at first; it stays in the source.
                self.send(piece, |message| connection.send_datagram(&message).is_ok())
            }
        }
    }

    /// Tells an end of any stack; the message that waits in it now.
    pub(crate) fn hand_over_to(&mut self, offer: Offer, peer: &mut dyn Peer) -> Option<Piece> {
        match offer {
            Offer::UpTo(end) => {
                self.offered(end);
                peer.offer(end);
                None
            }
            Offer::Message(piece) => self.send(piece, |message| peer.send_message(message)),
        }
    }

    fn offered(&mut self, end: u64) {
        if let Carrier::Growing { offered, .. } = &mut self.carrier {
            *offered = end;
        }
    }

    /// The message, if `send` has taken it; or else it is the next.
    fn send(&mut self, (at, len): Piece, send: impl FnOnce(Vec<u8>) -> bool) -> Option<Piece> {
        let Carrier::Messages { next, .. } = &mut self.carrier else { return None };
        *next = at;
        let is_sent = len > 0 && send(message::encode(at, len as usize));
        is_sent.then(|| {
            *next = at + len;
            (at, len)
        })
    }

    /// What is lost is sent again.
    pub(crate) fn is_reliable(&self) -> bool {
        self.source.is_reliable()
    }

    /// Bytes have arrived; before `contiguous` all have.
    pub(crate) fn on_received(
        &mut self,
        now: Time,
        (start, end): (u64, u64),
        contiguous: u64,
        record: &mut Record,
    ) {
        self.source.on_received(now, (start, end), contiguous, record);
    }

    /// A message that begins there counts as lost.
    pub(crate) fn on_lost(&mut self, now: Time, start: u64, record: &mut Record) {
        self.source.on_lost(now, start, record);
    }
}

/// Bytes of the source that fit into a message.
fn payload(flow: &FlowConfig) -> u32 {
    let most = u64::from(flow.transport.mds()).saturating_sub(DATAGRAM_OVERHEAD + message::HEADER as u64);
    u32::try_from(most).unwrap_or(u32::MAX).max(1)
}
