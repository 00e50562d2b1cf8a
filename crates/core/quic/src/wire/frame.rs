//! Encoding and decoding of single frames (RFC 9000 section 19, RFC 9221 section 4,
//! draft-ietf-quic-ack-frequency).

use super::ack::Ack;
use super::codec::{Full, Reader, Truncated, Writer, prefixed_size};
use super::connection_id::ConnectionId;
use super::frame_type::{FrameType, STREAM_FIN, STREAM_LEN, STREAM_OFF};
use super::receive_timestamps::StampFormat;
use super::varint;
use crate::error::{Code, Error};

/// Direction of a stream (RFC 9000 section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Both ends send data.
    Bidirectional,
    /// Only the end that opened the stream sends data.
    Unidirectional,
}

/// A STREAM frame (section 19.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamFrame<'a> {
    /// Stream ID.
    pub id: u64,
    /// Offset of the data in the stream.
    pub offset: u64,
    /// Stream data.
    pub data: &'a [u8],
    /// Whether the stream ends with this data.
    pub fin: bool,
    /// Whether the frame has a Length field. Without it, the data extends to the end of the packet.
    pub length: bool,
}

/// Size of a STREAM header whose fields all have their maximum size: type, stream ID, offset, and a
/// length in two bytes.
///
/// For runs that are compared with a model packet by packet. The payload size does not depend on
/// the progress of the stream.
pub const FIXED_STREAM_HEADER: usize = 1 + 8 + 8 + 2;

impl StreamFrame<'_> {
    /// Returns the number of bytes before the data.
    pub const fn header_size(id: u64, offset: u64, length: Option<usize>) -> usize {
        let offset = if offset == 0 { 0 } else { varint::size(offset) };
        let length = match length {
            Some(length) => varint::size(length as u64),
            None => 0,
        };
        1 + varint::size(id) + offset + length
    }

    fn size(&self) -> usize {
        Self::header_size(self.id, self.offset, self.length.then_some(self.data.len())) + self.data.len()
    }

    const fn frame_type(&self) -> FrameType {
        let mut bits = FrameType::STREAM.0;
        bits |= if self.offset == 0 { 0 } else { STREAM_OFF };
        bits |= if self.length { STREAM_LEN } else { 0 };
        bits |= if self.fin { STREAM_FIN } else { 0 };
        FrameType(bits)
    }

    fn encode(&self, w: &mut Writer<'_>) {
        self.encode_header(w, self.length.then_some(self.data.len()));
        w.bytes(self.data);
    }

    /// Writes the header of a frame, and returns the space for its data, which the caller fills.
    ///
    /// With `fixed`, the header has [`FIXED_STREAM_HEADER`] bytes. `self.data` is ignored;
    /// `data_len` gives the length of the data.
    ///
    /// # Errors
    /// Fails if header and data do not fit. Nothing is written then.
    pub fn reserve<'w>(
        &self,
        w: &'w mut Writer<'_>,
        data_len: usize,
        fixed: bool,
    ) -> Result<&'w mut [u8], Full> {
        let length = (self.length || fixed).then_some(data_len);
        let header =
            if fixed { FIXED_STREAM_HEADER } else { Self::header_size(self.id, self.offset, length) };
        w.room(header + data_len)?;
        if fixed {
            let bits = STREAM_OFF | STREAM_LEN | self.frame_type().0;
            w.varint(bits);
            w.varint_in(self.id, 8);
            w.varint_in(self.offset, 8);
            w.varint_in(data_len as u64, 2);
        } else {
            self.encode_header(w, length);
        }
        Ok(w.claim(data_len))
    }

    fn encode_header(&self, w: &mut Writer<'_>, length: Option<usize>) {
        w.varint(self.frame_type().0);
        w.varint(self.id);
        if self.offset != 0 {
            w.varint(self.offset);
        }
        if let Some(length) = length {
            w.varint(length as u64);
        }
    }
}

/// A frame. It borrows data from the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A sequence of this many PADDING frames (19.1).
    Padding(usize),
    /// PING (19.2).
    Ping,
    /// ACK, in its four forms (19.3).
    Ack(Ack<'a>),
    /// RESET_STREAM (19.4).
    ResetStream {
        /// Stream ID.
        id: u64,
        /// Error code of the application.
        error: u64,
        /// Final size of the stream, in bytes.
        final_size: u64,
    },
    /// STOP_SENDING (19.5).
    StopSending {
        /// Stream ID.
        id: u64,
        /// Error code of the application.
        error: u64,
    },
    /// CRYPTO (19.6).
    Crypto {
        /// Offset of the data in the CRYPTO stream of this level.
        offset: u64,
        /// Handshake data.
        data: &'a [u8],
    },
    /// NEW_TOKEN (19.7). The token is never empty.
    NewToken(&'a [u8]),
    /// STREAM (19.8).
    Stream(StreamFrame<'a>),
    /// MAX_DATA (19.9): limit of data on all streams, in bytes.
    MaxData(u64),
    /// MAX_STREAM_DATA (19.10).
    MaxStreamData {
        /// Stream ID.
        id: u64,
        /// Limit of data on the stream, in bytes.
        max: u64,
    },
    /// MAX_STREAMS (19.11): cumulative number of streams that may be opened, at most 2^60.
    MaxStreams(Direction, u64),
    /// DATA_BLOCKED (19.12): the limit that was reached, in bytes.
    DataBlocked(u64),
    /// STREAM_DATA_BLOCKED (19.13).
    StreamDataBlocked {
        /// Stream ID.
        id: u64,
        /// Limit that was reached, in bytes.
        limit: u64,
    },
    /// STREAMS_BLOCKED (19.14): the limit that was reached, at most 2^60.
    StreamsBlocked(Direction, u64),
    /// NEW_CONNECTION_ID (19.15).
    NewConnectionId {
        /// Sequence number of the ID.
        sequence: u64,
        /// IDs with lower sequence numbers must be retired; at most `sequence`.
        retire_prior_to: u64,
        /// Connection ID, 1 to 20 bytes.
        id: ConnectionId,
        /// Stateless reset token of the ID.
        reset_token: [u8; 16],
    },
    /// RETIRE_CONNECTION_ID (19.16): sequence number of the ID.
    RetireConnectionId(u64),
    /// PATH_CHALLENGE (19.17).
    PathChallenge([u8; 8]),
    /// PATH_RESPONSE (19.18).
    PathResponse([u8; 8]),
    /// CONNECTION_CLOSE of type 0x1c (19.19).
    ConnectionClose {
        /// Error code.
        code: Code,
        /// Type of the frame that caused the error, or 0.
        frame_type: u64,
        /// Reason for human readers. UTF-8 if the peer follows the rules.
        reason: &'a [u8],
    },
    /// CONNECTION_CLOSE of type 0x1d (19.19).
    ApplicationClose {
        /// Error code of the application.
        error: u64,
        /// Reason for human readers.
        reason: &'a [u8],
    },
    /// HANDSHAKE_DONE (19.20).
    HandshakeDone,
    /// DATAGRAM (RFC 9221 section 4).
    Datagram {
        /// Message.
        data: &'a [u8],
        /// Whether the frame has a Length field. Without it, the message extends to the end of the
        /// packet.
        length: bool,
    },
    /// ACK_FREQUENCY (draft-ietf-quic-ack-frequency section 4).
    AckFrequency {
        /// Sequence number. A frame with a lower number than an earlier one is ignored.
        sequence: u64,
        /// Ack-Eliciting Threshold: an ACK is sent once more than this many ACK-eliciting packets
        /// are unacknowledged.
        threshold: u64,
        /// New `max_ack_delay` of the receiver, in microseconds.
        max_ack_delay: u64,
        /// Reordering, in packets, that triggers an immediate ACK. 0 disables this, 1 is the
        /// behaviour of RFC 9000.
        reordering_threshold: u64,
    },
    /// IMMEDIATE_ACK (draft-ietf-quic-ack-frequency section 5).
    ImmediateAck,
}

impl<'a> Frame<'a> {
    /// Returns the type of the frame.
    pub const fn frame_type(&self) -> FrameType {
        match self {
            Self::Padding(_) => FrameType::PADDING,
            Self::Ping => FrameType::PING,
            Self::Ack(ack) => ack.frame_type(),
            Self::ResetStream { .. } => FrameType::RESET_STREAM,
            Self::StopSending { .. } => FrameType::STOP_SENDING,
            Self::Crypto { .. } => FrameType::CRYPTO,
            Self::NewToken(_) => FrameType::NEW_TOKEN,
            Self::Stream(stream) => stream.frame_type(),
            Self::MaxData(_) => FrameType::MAX_DATA,
            Self::MaxStreamData { .. } => FrameType::MAX_STREAM_DATA,
            Self::MaxStreams(Direction::Bidirectional, _) => FrameType::MAX_STREAMS_BIDI,
            Self::MaxStreams(Direction::Unidirectional, _) => FrameType::MAX_STREAMS_UNI,
            Self::DataBlocked(_) => FrameType::DATA_BLOCKED,
            Self::StreamDataBlocked { .. } => FrameType::STREAM_DATA_BLOCKED,
            Self::StreamsBlocked(Direction::Bidirectional, _) => FrameType::STREAMS_BLOCKED_BIDI,
            Self::StreamsBlocked(Direction::Unidirectional, _) => FrameType::STREAMS_BLOCKED_UNI,
            Self::NewConnectionId { .. } => FrameType::NEW_CONNECTION_ID,
            Self::RetireConnectionId(_) => FrameType::RETIRE_CONNECTION_ID,
            Self::PathChallenge(_) => FrameType::PATH_CHALLENGE,
            Self::PathResponse(_) => FrameType::PATH_RESPONSE,
            Self::ConnectionClose { .. } => FrameType::CONNECTION_CLOSE,
            Self::ApplicationClose { .. } => FrameType::APPLICATION_CLOSE,
            Self::HandshakeDone => FrameType::HANDSHAKE_DONE,
            Self::Datagram { length: false, .. } => FrameType::DATAGRAM,
            Self::Datagram { length: true, .. } => FrameType::DATAGRAM_LEN,
            Self::AckFrequency { .. } => FrameType::ACK_FREQUENCY,
            Self::ImmediateAck => FrameType::IMMEDIATE_ACK,
        }
    }

    /// Returns the number of bytes that [`encode`](Self::encode) writes.
    pub fn size(&self) -> usize {
        if let Some(numbers) = self.numbers() {
            let numbers = numbers.iter().flatten().map(|number| varint::size(*number)).sum::<usize>();
            return varint::size(self.frame_type().0) + numbers;
        }
        match self {
            Self::Padding(n) => *n,
            Self::Ack(ack) => ack.size(),
            Self::Stream(stream) => stream.size(),
            Self::Crypto { offset, data } => 1 + varint::size(*offset) + prefixed_size(data),
            Self::NewToken(token) => 1 + prefixed_size(token),
            Self::NewConnectionId { sequence, retire_prior_to, id, .. } => {
                1 + varint::size(*sequence) + varint::size(*retire_prior_to) + 1 + id.len() + 16
            }
            Self::PathChallenge(_) | Self::PathResponse(_) => 9,
            Self::ConnectionClose { code, frame_type, reason } => {
                1 + varint::size(code.0) + varint::size(*frame_type) + prefixed_size(reason)
            }
            Self::ApplicationClose { error, reason } => 1 + varint::size(*error) + prefixed_size(reason),
            Self::Datagram { data, length: true } => 1 + prefixed_size(data),
            Self::Datagram { data, length: false } => 1 + data.len(),
            _ => 1,
        }
    }

    /// Returns the fields, in order, of frames that hold only integers.
    fn numbers(&self) -> Option<[Option<u64>; 4]> {
        let (one, two) = (|a| [Some(a), None, None, None], |a, b| [Some(a), Some(b), None, None]);
        Some(match *self {
            Self::Ping | Self::HandshakeDone | Self::ImmediateAck => [None; 4],
            Self::MaxData(n)
            | Self::DataBlocked(n)
            | Self::RetireConnectionId(n)
            | Self::MaxStreams(_, n)
            | Self::StreamsBlocked(_, n) => one(n),
            Self::StopSending { id, error } => two(id, error),
            Self::MaxStreamData { id, max } => two(id, max),
            Self::StreamDataBlocked { id, limit } => two(id, limit),
            Self::ResetStream { id, error, final_size } => [Some(id), Some(error), Some(final_size), None],
            Self::AckFrequency { sequence, threshold, max_ack_delay, reordering_threshold } => {
                [Some(sequence), Some(threshold), Some(max_ack_delay), Some(reordering_threshold)]
            }
            _ => return None,
        })
    }

    /// Encodes the frame.
    ///
    /// # Errors
    /// Fails if the frame does not fit. Nothing is written then.
    ///
    /// # Panics
    /// On integers above 2^62 - 1.
    pub fn encode(&self, w: &mut Writer<'_>) -> Result<(), Full> {
        w.room(self.size())?;
        if let Some(numbers) = self.numbers() {
            w.varint(self.frame_type().0);
            numbers.into_iter().flatten().for_each(|number| w.varint(number));
            return Ok(());
        }
        match self {
            Self::Padding(n) => w.claim(*n).fill(0),
            Self::Ack(ack) => ack.encode(w),
            Self::Stream(stream) => stream.encode(w),
            _ => {
                w.varint(self.frame_type().0);
                self.encode_body(w);
            }
        }
        Ok(())
    }

    fn encode_body(&self, w: &mut Writer<'_>) {
        match self {
            Self::Crypto { offset, data } => {
                w.varint(*offset);
                w.prefixed(data);
            }
            Self::NewToken(token) => w.prefixed(token),
            Self::NewConnectionId { sequence, retire_prior_to, id, reset_token } => {
                w.varint(*sequence);
                w.varint(*retire_prior_to);
                w.u8(id.len() as u8);
                w.bytes(id);
                w.bytes(reset_token);
            }
            Self::PathChallenge(data) | Self::PathResponse(data) => w.bytes(data),
            Self::ConnectionClose { code, frame_type, reason } => {
                w.varint(code.0);
                w.varint(*frame_type);
                w.prefixed(reason);
            }
            Self::ApplicationClose { error, reason } => {
                w.varint(*error);
                w.prefixed(reason);
            }
            Self::Datagram { data, length: true } => w.prefixed(data),
            Self::Datagram { data, length: false } => w.bytes(data),
            _ => {}
        }
    }

    /// Decodes the frame at the reader's position. `stamps` is the timestamp format that this end
    /// requested.
    ///
    /// # Errors
    /// FRAME_ENCODING_ERROR as section 19 requires for each frame, and for unknown types (section
    /// 12.4). PROTOCOL_VIOLATION if the type is not in its shortest encoding.
    pub fn decode(r: &mut Reader<'a>, stamps: StampFormat) -> Result<Self, Error> {
        let start = r.position();
        let broken = |kind: u64, reason| Error::new(Code::FRAME_ENCODING_ERROR, reason).in_frame(kind);
        let kind = r.varint().map_err(|_| broken(0, "packet ends within a frame type"))?;
        if r.position() - start != varint::size(kind) {
            let longer = Error::new(Code::PROTOCOL_VIOLATION, "frame type not in its shortest encoding");
            return Err(longer.in_frame(kind));
        }
        let kind = FrameType(kind);
        if kind.is_ack() {
            return Ack::read(r, kind, stamps).map(Self::Ack);
        }
        let frame = decode_body(r, kind).map_err(|_| broken(kind.0, "packet ends within a frame"))?;
        let frame = frame.ok_or_else(|| broken(kind.0, "unknown frame type"))?;
        frame.check().map_err(|reason| broken(kind.0, reason))?;
        Ok(frame)
    }

    /// Checks field values that section 19 forbids.
    fn check(&self) -> Result<(), &'static str> {
        const STREAMS: u64 = 1 << 60;
        match *self {
            Self::NewToken([]) => Err("empty token"),
            Self::Stream(StreamFrame { offset, data, .. }) | Self::Crypto { offset, data }
                if offset + data.len() as u64 > varint::MAX =>
            {
                Err("data beyond 2^62 - 1")
            }
            Self::MaxStreams(_, n) | Self::StreamsBlocked(_, n) if n > STREAMS => {
                Err("more than 2^60 streams")
            }
            Self::NewConnectionId { id, .. } if id.is_empty() => Err("connection ID of invalid length"),
            Self::NewConnectionId { sequence, retire_prior_to, .. } if retire_prior_to > sequence => {
                Err("Retire Prior To above the sequence number")
            }
            _ => Ok(()),
        }
    }
}

fn decode_body<'a>(r: &mut Reader<'a>, kind: FrameType) -> Result<Option<Frame<'a>>, Truncated> {
    use Direction::{Bidirectional, Unidirectional};
    Ok(Some(match kind {
        FrameType::PADDING => padding(r),
        FrameType::PING => Frame::Ping,
        FrameType::RESET_STREAM => {
            Frame::ResetStream { id: r.varint()?, error: r.varint()?, final_size: r.varint()? }
        }
        FrameType::STOP_SENDING => Frame::StopSending { id: r.varint()?, error: r.varint()? },
        FrameType::CRYPTO => Frame::Crypto { offset: r.varint()?, data: r.prefixed()? },
        FrameType::NEW_TOKEN => Frame::NewToken(r.prefixed()?),
        kind if kind.is_stream() => stream(r, kind.0)?,
        FrameType::MAX_DATA => Frame::MaxData(r.varint()?),
        FrameType::MAX_STREAM_DATA => Frame::MaxStreamData { id: r.varint()?, max: r.varint()? },
        FrameType::MAX_STREAMS_BIDI => Frame::MaxStreams(Bidirectional, r.varint()?),
        FrameType::MAX_STREAMS_UNI => Frame::MaxStreams(Unidirectional, r.varint()?),
        FrameType::DATA_BLOCKED => Frame::DataBlocked(r.varint()?),
        FrameType::STREAM_DATA_BLOCKED => Frame::StreamDataBlocked { id: r.varint()?, limit: r.varint()? },
        FrameType::STREAMS_BLOCKED_BIDI => Frame::StreamsBlocked(Bidirectional, r.varint()?),
        FrameType::STREAMS_BLOCKED_UNI => Frame::StreamsBlocked(Unidirectional, r.varint()?),
        FrameType::NEW_CONNECTION_ID => return new_connection_id(r),
        FrameType::RETIRE_CONNECTION_ID => Frame::RetireConnectionId(r.varint()?),
        FrameType::PATH_CHALLENGE => Frame::PathChallenge(r.array()?),
        FrameType::PATH_RESPONSE => Frame::PathResponse(r.array()?),
        FrameType::CONNECTION_CLOSE => {
            Frame::ConnectionClose { code: Code(r.varint()?), frame_type: r.varint()?, reason: r.prefixed()? }
        }
        FrameType::APPLICATION_CLOSE => Frame::ApplicationClose { error: r.varint()?, reason: r.prefixed()? },
        FrameType::HANDSHAKE_DONE => Frame::HandshakeDone,
        FrameType::DATAGRAM => Frame::Datagram { data: all(r)?, length: false },
        FrameType::DATAGRAM_LEN => Frame::Datagram { data: r.prefixed()?, length: true },
        FrameType::ACK_FREQUENCY => Frame::AckFrequency {
            sequence: r.varint()?,
            threshold: r.varint()?,
            max_ack_delay: r.varint()?,
            reordering_threshold: r.varint()?,
        },
        FrameType::IMMEDIATE_ACK => Frame::ImmediateAck,
        _ => return Ok(None),
    }))
}

fn all<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Truncated> {
    r.bytes(r.rest().len())
}

/// Reads consecutive PADDING frames as one. An Initial has a thousand of them.
fn padding<'a>(r: &mut Reader<'a>) -> Frame<'a> {
    let further = r.rest().iter().take_while(|byte| **byte == 0).count();
    let _ = r.bytes(further);
    Frame::Padding(1 + further)
}

fn stream<'a>(r: &mut Reader<'a>, bits: u64) -> Result<Frame<'a>, Truncated> {
    let id = r.varint()?;
    let offset = if bits & STREAM_OFF == 0 { 0 } else { r.varint()? };
    let length = bits & STREAM_LEN != 0;
    let data = if length { r.prefixed()? } else { all(r)? };
    Ok(Frame::Stream(StreamFrame { id, offset, data, fin: bits & STREAM_FIN != 0, length }))
}

/// Reads NEW_CONNECTION_ID. An ID of more than 20 bytes becomes empty, and is refused like an empty
/// one.
fn new_connection_id<'a>(r: &mut Reader<'a>) -> Result<Option<Frame<'a>>, Truncated> {
    let (sequence, retire_prior_to) = (r.varint()?, r.varint()?);
    let length = r.u8()?;
    let id = ConnectionId::new(r.bytes(usize::from(length))?).unwrap_or_default();
    Ok(Some(Frame::NewConnectionId { sequence, retire_prior_to, id, reset_token: r.array()? }))
}
