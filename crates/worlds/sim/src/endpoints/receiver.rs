//! The receiving end of a flow, of QUIC or TCP.

use std::sync::Arc;

use recovery::{
    AckFrame, DEFAULT_ACK_DELAY_EXPONENT, Payload, Reassembly, Receiver as QuicReceiver, TcpAck, TcpReceiver,
};
use scenario::Transport;
use units::Time;

use crate::endpoints::inline_ack::{InlineFrame, InlineTcp};
use crate::endpoints::setup::Setup;
use crate::packet::{Chunk, Content, Data};

/// Receiving end of a flow.
#[derive(Debug)]
pub(crate) enum Receiver {
    Quic {
        receiver: QuicReceiver,
        stream: Reassembly,
        /// Ranges of the latest ACK, if there were several.
        last_ranges: Vec<(u64, u64)>,
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
                last_ranges: Vec::new(),
            },
            Transport::Tcp { mss, .. } => {
                let receiver = TcpReceiver::new(ack, config.clock, mss, config.rtt);
                Self::Tcp(if config.recovery.sack { receiver } else { receiver.without_sack() })
            }
        }
    }

    /// Returns the time at which a delayed acknowledgement is due.
    #[inline]
    pub(crate) fn timer(&self) -> Option<Time> {
        match self {
            Self::Quic { receiver, .. } => receiver.timer(),
            Self::Tcp(receiver) => receiver.timer(),
        }
    }

    /// Reports whether the whole chunk has arrived.
    pub(crate) fn holds(&self, chunk: &Chunk) -> bool {
        let range = chunk.range();
        match self {
            Self::Quic { stream, .. } => stream.holds(range.start, range.end),
            Self::Tcp(receiver) => receiver.holds(range.start, range.end),
        }
    }

    /// Takes an arriving packet. Returns its number of new bytes, whether to acknowledge it now,
    /// and the offset below which everything has arrived.
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

    /// Forgets packets below `pn`, since the peer has acknowledged an ACK of them (QUIC; RFC 9000
    /// section 13.2.4).
    pub(crate) fn forget_below(&mut self, pn: u64) {
        if let Self::Quic { receiver, .. } = self {
            receiver.forget_below(pn);
        }
    }

    /// Writes an acknowledgement, reusing the memory of one that has been read. `in_order` reports
    /// whether all of them are read, in order.
    #[inline]
    pub(crate) fn acknowledge(
        &mut self,
        now: Time,
        pool: &mut AckPool,
        in_order: impl FnOnce() -> bool,
    ) -> Content {
        match self {
            Self::Quic { receiver, last_ranges, .. } => {
                let frame = &mut pool.frame;
                receiver.write_ack(now, frame);
                // The sender sees the delay only as precisely as the field encodes it.
                let field = AckFrame::encode_delay(frame.ack_delay, DEFAULT_ACK_DELAY_EXPONENT);
                frame.ack_delay = AckFrame::decode_delay(field, DEFAULT_ACK_DELAY_EXPONENT);
                let inline = InlineFrame::new(frame, last_ranges);
                if frame.ranges.len() > 1 || !last_ranges.is_empty() {
                    note(last_ranges, &frame.ranges, in_order());
                }
                match inline {
                    Some(inline) => Content::InlineQuic(inline),
                    None => pool.boxed_frame(),
                }
            }
            Self::Tcp(receiver) => {
                let ack = receiver.ack(now);
                InlineTcp::new(&ack).map_or_else(|| pool.boxed_tcp(ack), Content::InlineTcp)
            }
        }
    }
}

/// Remembers the ranges of an ACK for the next one.
fn note(last_ranges: &mut Vec<(u64, u64)>, ranges: &[(u64, u64)], in_order: bool) {
    last_ranges.clear();
    if in_order && ranges.len() > 1 {
        last_ranges.extend_from_slice(ranges);
    }
}

/// Acknowledgements that have been read, for reuse of their memory.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "the boxes themselves are reused")]
pub(crate) struct AckPool {
    quic: Vec<Box<AckFrame>>,
    tcp: Vec<Box<TcpAck>>,
    /// Frame that is being written or read.
    frame: AckFrame,
}

impl AckPool {
    fn boxed_frame(&mut self) -> Content {
        let mut boxed = self.quic.pop().unwrap_or_default();
        std::mem::swap(&mut *boxed, &mut self.frame);
        Content::Quic(boxed)
    }

    fn boxed_tcp(&mut self, ack: TcpAck) -> Content {
        let mut boxed = self.tcp.pop().unwrap_or_default();
        *boxed = ack;
        Content::Tcp(boxed)
    }

    /// Restores the frame from its inline form. `before` are the ranges of the previous frame.
    #[inline]
    pub(crate) fn read(&mut self, inline: &InlineFrame, before: &[(u64, u64)]) -> &AckFrame {
        inline.write(before, &mut self.frame);
        &self.frame
    }

    #[inline]
    pub(crate) fn take(&mut self, content: Content) {
        match content {
            Content::Quic(frame) => self.quic.push(frame),
            Content::Tcp(ack) => self.tcp.push(ack),
            Content::InlineQuic(_) | Content::InlineTcp(_) | Content::Open => {}
        }
    }
}
