//! What of an opened packet counts for measurements: which data it carries, what it acknowledges.

use quic::Level;
use quic::wire::receive_timestamps::StampFormat;
use quic::wire::{Extensions, Frame, Frames};

/// Data of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The stream.
    pub stream: u64,
    /// Where it begins in the stream, bytes.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
    /// The stream ends with it.
    pub fin: bool,
}

impl Piece {
    /// The first byte behind it.
    pub const fn end(&self) -> u64 {
        self.offset.saturating_add(self.len)
    }
}

/// An ACK frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// First and last number of each range, the largest first.
    pub ranges: Vec<(u64, u64)>,
    /// ACK Delay as written: see the peer's `ack_delay_exponent`.
    pub delay: u64,
}

impl Ack {
    /// The largest number that it acknowledges.
    pub fn largest(&self) -> Option<u64> {
        self.ranges.first().map(|range| range.1)
    }
}

/// A packet, opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its type.
    pub level: Level,
    /// Its number.
    pub number: u64,
    /// Its bytes, with header and tag.
    pub bytes: u32,
    /// The peer acknowledges it (RFC 9002 section 2).
    pub elicits: bool,
    /// It counts as bytes in flight (RFC 9002 section 2).
    pub in_flight: bool,
    /// Its STREAM frames.
    pub pieces: Vec<Piece>,
    /// Its ACK frames.
    pub acks: Vec<Ack>,
    /// HANDSHAKE_DONE is in it.
    pub confirms: bool,
    /// CONNECTION_CLOSE is in it, in one of its two forms.
    pub closes: bool,
    /// CRYPTO frames: where each begins, and its data.
    pub(crate) crypto: Vec<(u64, Vec<u8>)>,
    /// There is a frame in it that nobody here knows, and what stands behind it is not read.
    pub unread: bool,
}

/// Whatever extension a stack has, its frames are welcome: this end has asked for nothing and answers nothing.
const ALL: Extensions = Extensions {
    max_datagram_frame_size: u64::MAX,
    ack_frequency: true,
    receive_timestamps: StampFormat { max: u64::MAX, exponent: 0 },
};

impl Packet {
    /// Reads the frames of a payload. What no rule allows ends the reading and is no error here: it is the stack's.
    pub(crate) fn read(level: Level, number: u64, bytes: u32, payload: &[u8]) -> Self {
        let mut packet = Self {
            level,
            number,
            bytes,
            elicits: false,
            in_flight: false,
            pieces: Vec::new(),
            acks: Vec::new(),
            confirms: false,
            closes: false,
            crypto: Vec::new(),
            unread: payload.is_empty(),
        };
        for frame in Frames::new(payload, level, ALL).into_iter().flatten() {
            match frame {
                Ok(frame) => packet.take(&frame),
                // A frame of an extension: all of them but those of acknowledgements elicit ACKs.
                Err(_) => (packet.unread, packet.elicits, packet.in_flight) = (true, true, true),
            }
        }
        packet
    }

    fn take(&mut self, frame: &Frame<'_>) {
        let kind = frame.frame_type();
        self.elicits |= kind.is_ack_eliciting();
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
            Frame::HandshakeDone => self.confirms = true,
            Frame::ConnectionClose { .. } | Frame::ApplicationClose { .. } => self.closes = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9000 sections 19.3 and 19.8: an ACK of 7 and 3 to 4, and ten bytes at offset 5 of stream 4 that end it.
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
        assert_eq!((packet.elicits, packet.in_flight, packet.unread), (true, true, false));
    }

    #[test]
    fn acks_and_padding_alone() {
        let ack = Packet::read(Level::OneRtt, 0, 30, &[0x02, 0, 0, 0, 0]);
        assert_eq!((ack.elicits, ack.in_flight), (false, false));
        let padded = Packet::read(Level::OneRtt, 0, 30, &[0x02, 0, 0, 0, 0, 0, 0]);
        assert_eq!((padded.elicits, padded.in_flight), (false, true));
    }

    #[test]
    fn frames_of_extensions_elicit_acks_and_end_the_reading() {
        let packet = Packet::read(Level::OneRtt, 0, 30, &[0x1e, 0x80, 0x9f, 0x81, 0xa6, 1, 2, 3]);
        assert_eq!((packet.confirms, packet.elicits, packet.unread), (true, true, true));
        assert!(Packet::read(Level::OneRtt, 0, 30, &[]).unread);
    }
}
