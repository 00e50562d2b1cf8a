//! The receiving end of a flow, of QUIC or TCP.

use std::sync::Arc;

use recovery::{
    AckFrame, DEFAULT_ACK_DELAY_EXPONENT, Payload, Reassembly, Receiver as QuicReceiver, TcpAck, TcpReceiver,
};
use scenario::Transport;
use units::Time;

use crate::endpoints::brief::{BriefFrame, BriefTcp};
use crate::endpoints::setup::Setup;
use crate::packet::{Chunk, Data, Says};

/// The receiving end.
#[derive(Debug)]
pub(crate) enum Receiver {
    Quic {
        receiver: QuicReceiver,
        stream: Reassembly,
        /// The ranges of the latest ACK, if there were several.
        told: Vec<(u64, u64)>,
    },
    Tcp(TcpReceiver),
}

impl Receiver {
    pub(crate) fn new(Setup { config, ack, .. }: &Setup) -> Self {
        let ack = Arc::clone(ack);
        match config.transport {
            Transport::Quic { .. } => Self::Quic {
                receiver: QuicReceiver::new(ack, config.clock, config.rtt),
                stream: Reassembly::default(),
                told: Vec::new(),
            },
            Transport::Tcp { mss, .. } => Self::Tcp(TcpReceiver::new(ack, config.clock, mss, config.rtt)),
        }
    }

    /// When a delayed acknowledgement is due.
    #[inline]
    pub(crate) fn timer(&self) -> Option<Time> {
        match self {
            Self::Quic { receiver, .. } => receiver.timer(),
            Self::Tcp(receiver) => receiver.timer(),
        }
    }

    /// Whether all of it has arrived.
    pub(crate) fn holds(&self, chunk: &Chunk) -> bool {
        let range = chunk.range();
        match self {
            Self::Quic { stream, .. } => stream.holds(range.start, range.end),
            Self::Tcp(receiver) => receiver.holds(range.start, range.end),
        }
    }

    /// A packet arrives: its bytes that are new, whether it is to be acknowledged now, and before which byte everything has arrived.
    #[inline]
    pub(crate) fn on_packet(&mut self, now: Time, data: &Data) -> (u64, bool, u64) {
        let (start, end) = (data.chunk.offset, data.chunk.offset + u64::from(data.chunk.len));
        match self {
            Self::Quic { receiver, stream, .. } => {
                let fresh = stream.insert(start, end);
                (fresh, receiver.on_packet(now, data.pn, data.ecn, data.least_unacked), stream.contiguous())
            }
            Self::Tcp(receiver) => {
                let (fresh, must_ack) = receiver.on_packet(now, data.pn, data.ecn, start, end);
                (fresh, must_ack, receiver.contiguous())
            }
        }
    }

    /// QUIC: the peer has acknowledged an ACK of what is below this number (RFC 9000 section 13.2.4).
    pub(crate) fn forget_below(&mut self, pn: u64) {
        if let Self::Quic { receiver, .. } = self {
            receiver.forget_below(pn);
        }
    }

    /// Writes an acknowledgement, in memory of one that has been read. `in_order`: all of them are read, each after the one before.
    #[inline]
    pub(crate) fn acknowledge(
        &mut self,
        now: Time,
        spent: &mut Spent,
        in_order: impl FnOnce() -> bool,
    ) -> Says {
        match self {
            Self::Quic { receiver, told, .. } => {
                let frame = &mut spent.frame;
                receiver.write_ack(now, frame);
                // Nobody is told more than the field says.
                let field = AckFrame::delay_field(frame.ack_delay, DEFAULT_ACK_DELAY_EXPONENT);
                frame.ack_delay = AckFrame::delay_of(field, DEFAULT_ACK_DELAY_EXPONENT);
                let brief = BriefFrame::of(frame, told);
                if frame.ranges.len() > 1 || !told.is_empty() {
                    note(told, &frame.ranges, in_order());
                }
                match brief {
                    Some(brief) => Says::BriefQuic(brief),
                    None => spent.boxed_frame(),
                }
            }
            Self::Tcp(receiver) => {
                let ack = receiver.ack(now);
                BriefTcp::of(&ack).map_or_else(|| spent.boxed_tcp(ack), Says::BriefTcp)
            }
        }
    }
}

/// Remembers what an ACK told, for the next one.
fn note(told: &mut Vec<(u64, u64)>, ranges: &[(u64, u64)], in_order: bool) {
    told.clear();
    if in_order && ranges.len() > 1 {
        told.extend_from_slice(ranges);
    }
}

/// Acknowledgements that have been read.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "they are handed on in their boxes")]
pub(crate) struct Spent {
    quic: Vec<Box<AckFrame>>,
    tcp: Vec<Box<TcpAck>>,
    /// The one that is being written or read.
    frame: AckFrame,
}

impl Spent {
    fn boxed_frame(&mut self) -> Says {
        let mut boxed = self.quic.pop().unwrap_or_default();
        std::mem::swap(&mut *boxed, &mut self.frame);
        Says::Quic(boxed)
    }

    fn boxed_tcp(&mut self, ack: TcpAck) -> Says {
        let mut boxed = self.tcp.pop().unwrap_or_default();
        *boxed = ack;
        Says::Tcp(boxed)
    }

    /// The frame that this one stands for; the one before it had the ranges `before`.
    #[inline]
    pub(crate) fn read(&mut self, brief: &BriefFrame, before: &[(u64, u64)]) -> &AckFrame {
        brief.write(before, &mut self.frame);
        &self.frame
    }

    #[inline]
    pub(crate) fn take(&mut self, says: Says) {
        match says {
            Says::Quic(frame) => self.quic.push(frame),
            Says::Tcp(ack) => self.tcp.push(ack),
            Says::BriefQuic(_) | Says::BriefTcp(_) | Says::Open => {}
        }
    }
}
