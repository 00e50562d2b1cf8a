//! What travels.

use std::ops::Range;

use recovery::{AckFrame, EcnCounts, Payload, TcpAck};
use scenario::trace::{Ack, Event, Handshake, Ranges};
use units::{Duration, Ecn, Time};

use crate::endpoints::brief::{BriefFrame, BriefTcp};

/// A piece of a flow's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
}

impl Payload for Chunk {
    fn range(&self) -> Range<u64> {
        self.offset..self.offset + u64::from(self.len)
    }
}

/// Of a packet that holds an ACK alone, of a packet that acknowledged all below its number.
pub(crate) const ACK_ALONE: Chunk = Chunk { offset: u64::MAX - 1, len: 0 };

/// What a link has done to a packet that it must not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// Damaged, with random bits that say where; 0: whole.
    pub damage: u32,
    /// There are two of it.
    pub doubled: bool,
    /// It is the second, or the damaged one of two: the other is the one that counts.
    pub copy: bool,
}

impl Fault {
    /// None.
    pub const NONE: Self = Self { damage: 0, doubled: false, copy: false };
}

/// A data packet on its way to the receiver.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// Which flow.
    pub flow: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// Behind this link it has crossed all of its route.
    pub last_link: u16,
    /// Which connection of its flow, from 0: an old one's packets arrive at nobody.
    pub connection: u32,
    /// Packet number; for TCP the number of the transmission.
    pub pn: u64,
    /// When it left its sender.
    pub sent: Time,
    /// What it carries.
    pub chunk: Chunk,
    /// Its mark.
    pub ecn: Ecn,
    /// What a link has done to it that it must not.
    pub fault: Fault,
    /// The sender cares for no acknowledgement below this one. Stands in for acknowledgements of ACK frames
    /// (RFC 9000 section 13.2.4), which let a real receiver forget old ranges; with a PING the answer to that does so too, mostly before.
    pub least_unacked: u64,
}

impl Data {
    /// A packet of no stream.
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
    /// Its arrival, in the words of a trace; it counts `bytes` in the window.
    pub(crate) fn arrival(&self, bytes: u32) -> Event {
        let Self { pn, chunk: Chunk { offset, len }, ecn, .. } = *self;
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
    fn is_copy(&self) -> bool {
        self.fault.copy
    }
    fn damage_beside(&mut self, copy: &mut Self, random: u64) {
        std::mem::swap(&mut self.fault.copy, &mut copy.fault.copy);
        self.damage(random);
    }
    fn flow(&self) -> u32 {
        self.flow
    }
}

/// What comes back: an acknowledgement, or the reply of a handshake.
#[derive(Clone, Debug)]
pub struct Feedback {
    /// Of the acknowledgement, from 0 on each connection; of the Initial or SYN that is answered.
    pub number: u64,
    /// What it says.
    pub says: Says,
}

/// What feedback says. Boxed where it is not brief: it passes several queues, and moving 150 bytes each time took
/// 3 % of a run.
#[derive(Clone, Debug)]
pub enum Says {
    /// An ACK of a QUIC receiver.
    Quic(Box<AckFrame>),
    /// The same without marks, and without gaps or, where all are read in order, with the gaps that follow from those before.
    BriefQuic(BriefFrame),
    /// An ACK of a TCP receiver.
    Tcp(Box<TcpAck>),
    /// The same without SACK blocks and marks.
    BriefTcp(BriefTcp),
    /// The connection is open.
    Open,
}

impl Feedback {
    /// The ACK, if it is one.
    #[cold]
    pub(crate) fn ack(&self) -> Option<Ack> {
        let one = |range| Ranges::from_buf([range]);
        let (ranges, delay) = match &self.says {
            Says::Quic(frame) => (Ranges::from_slice(&frame.ranges), frame.ack_delay),
            Says::BriefQuic(frame) => {
                debug_assert!(frame.is_whole(), "a log has each in full");
                (one(frame.range()), frame.ack_delay())
            }
            Says::Tcp(ack) => (one((0, ack.cumulative)), Duration::ZERO),
            Says::BriefTcp(ack) => (one((0, ack.cumulative())), Duration::ZERO),
            Says::Open => return None,
        };
        Some(Ack { number: self.number, ranges, delay })
    }

    /// Its arrival, in the words of a trace; the reply of a handshake has so many bytes.
    #[cold]
    pub(crate) fn event(&self, handshake: u32) -> Event {
        match self.ack() {
            Some(ack) => Event::Acked(ack),
            None => Event::Opened(Handshake { number: self.number, bytes: handshake }),
        }
    }

    /// The marks it reports, none if it says nothing of them.
    pub fn ecn(&self) -> EcnCounts {
        let reported = match &self.says {
            Says::Quic(frame) => frame.ecn,
            Says::Tcp(ack) => ack.ecn,
            Says::BriefQuic(_) | Says::BriefTcp(_) | Says::Open => None,
        };
        reported.unwrap_or_default()
    }
}
