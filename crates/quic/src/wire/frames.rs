//! The frames of a packet, one after the other, with the rules that hold for all of them (RFC 9000 section 12.4).

use super::codec::Reader;
use super::frame::Frame;
use super::frame_type::FrameType;
use super::receive_timestamps::StampFormat;
use crate::error::{Code, Error};
use crate::level::Level;

/// Which extensions this end has announced in its transport parameters: frames of others are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// `max_datagram_frame_size`: how many bytes a DATAGRAM frame may have, type and length with it; 0: none is welcome.
    pub max_datagram_frame_size: u64,
    /// `min_ack_delay` was sent: ACK_FREQUENCY and IMMEDIATE_ACK may come.
    pub ack_frequency: bool,
    /// Receive times: how many per frame, and their unit.
    pub receive_timestamps: StampFormat,
}

/// Reads the frames of a packet whose protection is removed.
///
/// After an error nothing more comes.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    r: Reader<'a>,
    level: Level,
    extensions: Extensions,
}

impl<'a> Frames<'a> {
    /// The frames of a payload.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION when there is none (section 12.4).
    pub fn new(payload: &'a [u8], level: Level, extensions: Extensions) -> Result<Self, Error> {
        if payload.is_empty() {
            return Err(Error::new(Code::PROTOCOL_VIOLATION, "a packet without frames"));
        }
        Ok(Self { r: Reader::new(payload), level, extensions })
    }

    fn frame(&mut self) -> Result<Frame<'a>, Error> {
        let before = self.r.position();
        let frame = Frame::decode(&mut self.r, self.extensions.receive_timestamps)?;
        let kind = frame.frame_type();
        if !self.is_negotiated(kind) {
            return Err(Error::new(Code::FRAME_ENCODING_ERROR, "unknown frame").in_frame(kind.0));
        }
        if !kind.is_allowed_in(self.level) {
            let misplaced = Error::new(Code::PROTOCOL_VIOLATION, "a frame in a packet that must not have it");
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
