//! Extracts what is measured from a decrypted packet: its stream data and its acknowledgements.

use crate::Level;
use crate::wire::receive_timestamps::StampFormat;
use crate::wire::{ConnectionId, Extensions, Frame, Frames};

/// Range of stream data in a STREAM frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Stream ID.
    pub stream: u64,
    /// Offset in the stream, in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
    /// FIN bit: the stream ends with it.
    pub fin: bool,
}

impl Piece {
    /// Returns the offset of the first byte after it.
    pub const fn end(&self) -> u64 {
        self.offset.saturating_add(self.len)
    }
}

/// An ACK frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// First and last packet number of each range, in descending order.
    pub ranges: Vec<(u64, u64)>,
    /// ACK Delay field. Its unit depends on the peer's `ack_delay_exponent`.
    pub delay: u64,
}

impl Ack {
    /// Returns the largest acknowledged packet number.
    pub fn largest(&self) -> Option<u64> {
        self.ranges.first().map(|range| range.1)
    }
}

/// A decrypted packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Encryption level.
    pub level: Level,
    /// Packet number.
    pub number: u64,
    /// Size with header and tag, in bytes.
    pub bytes: u32,
    /// True for an ACK-eliciting packet (RFC 9002 section 2).
    pub ack_eliciting: bool,
    /// True for a packet that counts as in flight (RFC 9002 section 2).
    pub in_flight: bool,
    /// STREAM frames.
    pub pieces: Vec<Piece>,
    /// ACK frames.
    pub acks: Vec<Ack>,
    /// True if it has a HANDSHAKE_DONE frame.
    pub handshake_done: bool,
    /// True if it has a CONNECTION_CLOSE frame of either type.
    pub connection_close: bool,
    /// Largest limit of its MAX_DATA frames.
    pub max_data: Option<u64>,
    /// NEW_CONNECTION_ID frames: ID and stateless reset token.
    pub new_ids: Vec<(ConnectionId, [u8; 16])>,
    /// CRYPTO frames: offset and data.
    pub(crate) crypto: Vec<(u64, Vec<u8>)>,
    /// True if it has an unknown frame. The rest of the packet after such a frame is not read.
    pub unread: bool,
}

/// Extensions whose frames are parsed: all of them, because the reader negotiates nothing.
const ALL: Extensions = Extensions {
    max_datagram_frame_size: u64::MAX,
    ack_frequency: true,
    receive_timestamps: StampFormat { max: u64::MAX, exponent: 0 },
};

impl Packet {
    /// Reads the frames of a payload. Stops at an invalid frame; that is the stack's error and not
    /// ours.
    pub fn read(level: Level, number: u64, bytes: u32, payload: &[u8]) -> Self {
        let mut packet = Self {
            level,
            number,
            bytes,
            ack_eliciting: false,
            in_flight: false,
            pieces: Vec::new(),
            acks: Vec::new(),
            handshake_done: false,
            connection_close: false,
            max_data: None,
            new_ids: Vec::new(),
            crypto: Vec::new(),
            unread: payload.is_empty(),
        };
        for frame in Frames::new(payload, level, ALL).into_iter().flatten() {
            match frame {
                Ok(frame) => packet.take(&frame),
                // It is probably a frame of an extension. Only ACK frames do not elicit ACKs.
                Err(_) => (packet.unread, packet.ack_eliciting, packet.in_flight) = (true, true, true),
            }
        }
        packet
    }

    fn take(&mut self, frame: &Frame<'_>) {
        let kind = frame.frame_type();
        self.ack_eliciting |= kind.is_ack_eliciting();
        self.in_flight |= kind.counts_in_flight();
        match frame {
            Frame::Stream(stream) => self.pieces.push(Piece {
                stream: stream.id,
                offset: stream.offset,
                len: stream.data.len() as u64,
                fin: stream.fin,
            }),
            Frame::Ack(ack) => {
                let ranges = ack.ranges().map(|range| (*range.start(), *range.end())).collect();
                self.acks.push(Ack { ranges, delay: ack.delay });
            }
            Frame::Crypto { offset, data } => self.crypto.push((*offset, data.to_vec())),
            Frame::MaxData(limit) => self.max_data = self.max_data.max(Some(*limit)),
            Frame::NewConnectionId { id, reset_token, .. } => self.new_ids.push((*id, *reset_token)),
            Frame::HandshakeDone => self.handshake_done = true,
            Frame::ConnectionClose { .. } | Frame::ApplicationClose { .. } => self.connection_close = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9000 sections 19.3 and 19.8: an ACK of packets 7 and 3 to 4, and the last ten bytes of
    /// stream 4 at offset 5.
    #[test]
    fn frames_that_count() {
        let mut payload = vec![0x02, 7, 9, 1, 0, 1, 1];
        payload.extend([0x0f, 4, 5, 10]);
        payload.extend([0xaa; 10]);
        let packet = Packet::read(Level::OneRtt, 3, 60, &payload);
        assert_eq!(packet.acks, [Ack { ranges: vec![(7, 7), (3, 4)], delay: 9 }]);
        assert_eq!(packet.acks[0].largest(), Some(7));
        assert_eq!(packet.pieces, [Piece { stream: 4, offset: 5, len: 10, fin: true }]);
        assert_eq!(packet.pieces[0].end(), 15);
        assert_eq!((packet.ack_eliciting, packet.in_flight, packet.unread), (true, true, false));
    }

    /// RFC 9000 sections 19.9 and 19.15.
    #[test]
    fn limits_and_connection_ids() {
        let mut payload = vec![0x10, 0x41, 0x00, 0x10, 5, 0x18, 1, 0, 2, 0xab, 0xcd];
        payload.extend([7; 16]);
        let packet = Packet::read(Level::OneRtt, 0, 60, &payload);
        assert_eq!(packet.max_data, Some(256));
        assert_eq!(packet.new_ids, [(ConnectionId::new(&[0xab, 0xcd]).unwrap(), [7; 16])]);
    }

    #[test]
    fn acks_and_padding_alone() {
        let ack = Packet::read(Level::OneRtt, 0, 30, &[0x02, 0, 0, 0, 0]);
        assert_eq!((ack.ack_eliciting, ack.in_flight), (false, false));
        let padded = Packet::read(Level::OneRtt, 0, 30, &[0x02, 0, 0, 0, 0, 0, 0]);
        assert_eq!((padded.ack_eliciting, padded.in_flight), (false, true));
    }

    #[test]
    fn frames_of_extensions_elicit_acks_and_end_the_reading() {
        let packet = Packet::read(Level::OneRtt, 0, 30, &[0x1e, 0x80, 0x9f, 0x81, 0xa6, 1, 2, 3]);
        assert_eq!((packet.handshake_done, packet.ack_eliciting, packet.unread), (true, true, true));
        assert!(Packet::read(Level::OneRtt, 0, 30, &[]).unread);
    }
}
