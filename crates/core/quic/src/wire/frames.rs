//! The frames of a packet in sequence, with the rules that apply to all frames (RFC 9000 section
//! 12.4).

use super::codec::Reader;
use super::frame::Frame;
use super::frame_type::FrameType;
use super::receive_timestamps::StampFormat;
use crate::error::{Code, Error};
use crate::level::Level;

/// Extensions that this end announced in its transport parameters. Frames of other extensions are
/// refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// `max_datagram_frame_size`: maximum size of a DATAGRAM frame, including type and length. 0
    /// allows none.
    pub max_datagram_frame_size: u64,
    /// Whether `min_ack_delay` was sent, which allows ACK_FREQUENCY and IMMEDIATE_ACK.
    pub ack_frequency: bool,
    /// Receive timestamps: maximum per frame, and their unit.
    pub receive_timestamps: StampFormat,
}

/// Iterator over the frames of an unprotected packet.
///
/// After an error it yields nothing more.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    r: Reader<'a>,
    level: Level,
    extensions: Extensions,
}

impl<'a> Frames<'a> {
    /// Creates an iterator over the frames of a payload.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION if there are no frames (section 12.4).
    pub fn new(payload: &'a [u8], level: Level, extensions: Extensions) -> Result<Self, Error> {
        if payload.is_empty() {
            return Err(Error::new(Code::PROTOCOL_VIOLATION, "packet without frames"));
        }
        Ok(Self { r: Reader::new(payload), level, extensions })
    }

    fn frame(&mut self) -> Result<Frame<'a>, Error> {
        let before = self.r.position();
        let frame = Frame::decode(&mut self.r, self.extensions.receive_timestamps)?;
        let kind = frame.frame_type();
        if !self.is_negotiated(kind) {
            return Err(Error::new(Code::FRAME_ENCODING_ERROR, "unknown frame type").in_frame(kind.0));
        }
        if !kind.is_allowed_in(self.level) {
            let misplaced = Error::new(Code::PROTOCOL_VIOLATION, "frame not allowed in this packet type");
            return Err(misplaced.in_frame(kind.0));
        }
        let size = (self.r.position() - before) as u64;
        if matches!(frame, Frame::Datagram { .. }) && size > self.extensions.max_datagram_frame_size {
            // RFC 9221 section 3.
            let long = Error::new(Code::PROTOCOL_VIOLATION, "DATAGRAM above max_datagram_frame_size");
            return Err(long.in_frame(kind.0));
        }
        Ok(frame)
    }

    fn is_negotiated(&self, kind: FrameType) -> bool {
        match kind {
            FrameType::ACK_FREQUENCY | FrameType::IMMEDIATE_ACK => self.extensions.ack_frequency,
            FrameType::ACK_RECEIVE_TIMESTAMPS | FrameType::ACK_RECEIVE_TIMESTAMPS_ECN => {
                self.extensions.receive_timestamps.max > 0
            }
            _ => true,
        }
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.r.is_empty() {
            return None;
        }
        let frame = self.frame();
        if frame.is_err() {
            self.r = Reader::new(&[]);
        }
        Some(frame)
    }
}
