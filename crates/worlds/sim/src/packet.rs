//! Packets of the simulator.

use std::ops::Range;

use recovery::{AckFrame, EcnCounts, Payload, TcpAck};
use scenario::Transport;
use scenario::trace::{Ack, Event, Handshake, Ranges};
use units::{Duration, Ecn, Time};

use crate::endpoints::inline_ack::{InlineFrame, InlineTcp};

/// Piece of a flow's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Offset of the first byte.
    pub offset: u64,
    /// Length in bytes.
    pub len: u32,
}

impl Payload for Chunk {
    fn range(&self) -> Range<u64> {
        self.offset..self.offset + u64::from(self.len)
    }
}

/// Chunk of a packet with only an ACK, which acknowledges a packet that acknowledged everything
/// below its number.
pub(crate) const ACK_ALONE: Chunk = Chunk { offset: u64::MAX - 1, len: 0 };

/// Chunk of a probe for the MTU of the path: no data. Only flows whose packets all carry data have
/// any.
pub(crate) const MTU_PROBE: Chunk = Chunk { offset: 0, len: 0 };

/// Faults that links have caused to a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// Random bits that choose the damage; 0 is intact.
    pub damage: u32,
    /// Whether there are two copies of the packet.
    pub doubled: bool,
    /// Whether this copy does not count: it is the second one, or the damaged one of two.
    pub copy: bool,
}

impl Fault {
    /// No fault.
    pub const NONE: Self = Self { damage: 0, doubled: false, copy: false };
}

/// Data packet in flight to the receiver.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// Number of the flow.
    pub flow: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// Last link of its route.
    pub last_link: u16,
    /// Connection of its flow, from 0. Packets of an old connection are discarded.
    pub connection: u32,
    /// Packet number; for TCP the number of the transmission.
    pub pn: u64,
    /// Departure from the sender.
    pub sent: Time,
    /// Stream data that it carries.
    pub chunk: Chunk,
    pub ecn: Ecn,
    /// Faults that links have caused.
    pub fault: Fault,
    /// Number below which the sender needs no acknowledgements. It stands in for acknowledgements
    /// of ACK frames (RFC 9000 section 13.2.4), which let a real receiver forget old ranges. With a
    /// PING the answer to it does the same, usually earlier.
    pub least_unacked: u64,
}

impl Data {
    /// Creates a packet without stream data.
    pub(crate) fn bare(flow: u32, size: u32, last_link: u16, pn: u64, sent: Time) -> Self {
        let chunk = Chunk { offset: 0, len: 0 };
        Self {
            flow,
            size,
            last_link,
            connection: 0,
            pn,
            sent,
            chunk,
            ecn: Ecn::NotEct,
            fault: Fault::NONE,
            least_unacked: 0,
        }
    }
}

impl Data {
    /// Returns the event of its arrival in a flow with these packets.
    #[cold]
    pub(crate) fn arrival(&self, transport: Transport) -> Event {
        let Self { pn, chunk: Chunk { offset, len }, ecn, .. } = *self;
        let bytes = match self.chunk {
            MTU_PROBE => self.size - (transport.wire_bytes(0) - transport.window_bytes(0)),
            _ => transport.window_bytes(len),
        };
        Event::Received { pn, bytes, offset, len, marked: ecn == Ecn::Ce }
    }
}

impl link::Packet for Data {
    fn size(&self) -> u32 {
        self.size
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
    fn damage(&mut self, random: u64) {
        self.fault.damage = random as u32 | 1;
    }
    fn copy(&mut self) -> Self {
        self.fault.doubled = true;
        Self { fault: Fault { copy: true, ..self.fault }, ..*self }
    }
    fn damage_with_copy(&mut self, copy: &mut Self, random: u64) {
        std::mem::swap(&mut self.fault.copy, &mut copy.fault.copy);
        self.damage(random);
    }
    fn flow(&self) -> u32 {
        self.flow
    }
}

/// Feedback to the sender: an acknowledgement, or the reply of a handshake.
#[derive(Clone, Debug)]
pub struct Feedback {
    /// Number of the acknowledgement, from 0 on each connection, or of the Initial or SYN that is
    /// answered.
    pub number: u64,
    /// Content of the feedback.
    pub content: Content,
}

/// Content of feedback. Boxed unless stored inline: it passes several queues, and moving 150 bytes
/// each time took 3 % of a run.
#[derive(Clone, Debug)]
pub enum Content {
    /// ACK of a QUIC receiver.
    Quic(Box<AckFrame>),
    /// Inline ACK of a QUIC receiver, without ECN counts and gaps. Where all ACKs are read in
    /// order, it may have gaps that follow from those of the previous one.
    InlineQuic(InlineFrame),
    /// ACK of a TCP receiver.
    Tcp(Box<TcpAck>),
    /// Inline ACK of a TCP receiver, without SACK blocks and ECN counts.
    InlineTcp(InlineTcp),
    /// Reply of a handshake: the connection is open.
    Open,
}

impl Feedback {
    /// Returns the contents of the ACK, if it is one.
    #[cold]
    pub(crate) fn ack(&self) -> Option<Ack> {
        let one = |range| Ranges::from_buf([range]);
        let (ranges, delay) = match &self.content {
            Content::Quic(frame) => (Ranges::from_slice(&frame.ranges), frame.ack_delay),
            Content::InlineQuic(frame) => {
                debug_assert!(frame.is_whole(), "a log contains each in full");
                (one(frame.range()), frame.ack_delay())
            }
            Content::Tcp(ack) => (one((0, ack.cumulative)), Duration::ZERO),
            Content::InlineTcp(ack) => (one((0, ack.cumulative())), Duration::ZERO),
            Content::Open => return None,
        };
        Some(Ack { number: self.number, ranges, delay })
    }

    /// Returns the event of its arrival. `handshake` is the number of bytes in the reply of a
    /// handshake.
    #[cold]
    pub(crate) fn event(&self, handshake: u32) -> Event {
        match self.ack() {
            Some(ack) => Event::Acked(ack),
            None => Event::Opened(Handshake { number: self.number, bytes: handshake }),
        }
    }

    /// Returns the ECN counts that it reports, zero if it reports none.
    pub fn ecn(&self) -> EcnCounts {
        let reported = match &self.content {
            Content::Quic(frame) => frame.ecn,
            Content::Tcp(ack) => ack.ecn,
            Content::InlineQuic(_) | Content::InlineTcp(_) | Content::Open => None,
        };
        reported.unwrap_or_default()
    }
}
