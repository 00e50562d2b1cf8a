//! Frames that only servers send: HANDSHAKE_DONE and NEW_TOKEN (RFC 9000 sections 19.7, 19.20).

use crate::connection::sent_frames::{FrameWriter, SentFrame};
use crate::error::{Code, Error};
use crate::level::Side;
use crate::wire::frame::Frame;
use crate::wire::frame_type::FrameType;

/// Maximum number of tokens that a connection gives its peer.
const MAX_GIVEN: usize = 4;
/// Maximum number of tokens passed to the application.
const MAX_TAKEN: usize = 16;

/// The frames of one end: what a server sends until it is acknowledged, and what a client has
/// received.
pub(super) struct ServerFrames {
    side: Side,
    /// Whether HANDSHAKE_DONE must be sent.
    pub(super) done: bool,
    /// Tokens for NEW_TOKEN, and whether each must be sent.
    tokens: Vec<(Vec<u8>, bool)>,
    /// Number of tokens received.
    taken: usize,
}

impl ServerFrames {
    /// Starts without any frame.
    pub(super) const fn new(side: Side) -> Self {
        Self { side, done: false, tokens: Vec::new(), taken: 0 }
    }

    /// Sends a token; at most four, and none that is empty. Has no effect on clients.
    pub(super) fn give_token(&mut self, token: Vec<u8>) {
        if self.side == Side::Server && self.tokens.len() < MAX_GIVEN && !token.is_empty() {
            self.tokens.push((token, true));
        }
    }

    /// Processes NEW_TOKEN. Returns the token for the application, except after too many.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION at a server.
    pub(super) fn on_token(&mut self, token: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        if self.side == Side::Server {
            let wrong = Error::new(Code::PROTOCOL_VIOLATION, "NEW_TOKEN from a client");
            return Err(wrong.in_frame(FrameType::NEW_TOKEN.0));
        }
        self.taken += 1;
        Ok((self.taken <= MAX_TAKEN).then(|| token.to_vec()))
    }

    /// Processes HANDSHAKE_DONE.
    ///
    /// # Errors
    /// PROTOCOL_VIOLATION at a server, and before the handshake is complete.
    pub(super) fn on_done(&self, is_complete: bool) -> Result<(), Error> {
        if self.side == Side::Server || !is_complete {
            let wrong = Error::new(Code::PROTOCOL_VIOLATION, "unexpected HANDSHAKE_DONE");
            return Err(wrong.in_frame(FrameType::HANDSHAKE_DONE.0));
        }
        Ok(())
    }

    /// Reports whether a frame waits to be sent.
    pub(super) fn is_pending(&self) -> bool {
        self.done || self.tokens.iter().any(|(_, pending)| *pending)
    }

    /// Writes HANDSHAKE_DONE if it waits and fits.
    pub(super) fn write_done(&mut self, out: &mut FrameWriter<'_>) {
        self.done = self.done && !out.put(Frame::HandshakeDone, SentFrame::HandshakeDone);
    }

    /// Writes the tokens that fit.
    pub(super) fn write_tokens(&mut self, out: &mut FrameWriter<'_>) {
        for (at, (token, pending)) in self.tokens.iter_mut().enumerate() {
            *pending = *pending && !out.put(Frame::NewToken(token), SentFrame::NewToken(at));
        }
    }

    /// Records that the token at this index is lost and must be sent again.
    pub(super) fn on_token_lost(&mut self, at: usize) {
        self.tokens.get_mut(at).into_iter().for_each(|(_, pending)| *pending = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::codec::Writer;

    fn write(frames: &mut ServerFrames, room: usize) -> Vec<SentFrame> {
        let (mut buf, mut items) = (vec![0; room], Vec::new());
        let mut out = FrameWriter { w: Writer::new(&mut buf), items: &mut items };
        frames.write_done(&mut out);
        frames.write_tokens(&mut out);
        items
    }

    #[test]
    fn a_server_repeats_what_is_lost() {
        let mut server = ServerFrames::new(Side::Server);
        (0..5).for_each(|n| server.give_token(vec![n; usize::from(n)]));
        server.done = true;
        assert!(server.is_pending() && write(&mut server, 0).is_empty());
        let tokens = |all: &[usize]| all.iter().map(|at| SentFrame::NewToken(*at)).collect::<Vec<_>>();
        assert_eq!(write(&mut server, 100), [vec![SentFrame::HandshakeDone], tokens(&[0, 1, 2, 3])].concat());
        assert!(!server.is_pending());
        [2, 9].into_iter().for_each(|at| server.on_token_lost(at));
        assert_eq!((write(&mut server, 100), server.is_pending()), (tokens(&[2]), false));
        assert_eq!(server.on_token(b"a").unwrap_err().code, Code::PROTOCOL_VIOLATION);
        assert!(server.on_done(true).is_err());
    }

    #[test]
    fn a_client_takes_some_tokens() {
        let mut client = ServerFrames::new(Side::Client);
        client.give_token(b"none".to_vec());
        let taken = (0..100).filter(|_| client.on_token(b"t").unwrap().is_some()).count();
        assert_eq!((taken, client.is_pending()), (MAX_TAKEN, false));
        assert!(client.on_done(false).is_err() && client.on_done(true).is_ok());
    }
}
