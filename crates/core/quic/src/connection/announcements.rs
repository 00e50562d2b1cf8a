//! Frames of a connection that are sent until they are acknowledged: HANDSHAKE_DONE,
//! NEW_CONNECTION_ID, RETIRE_CONNECTION_ID, ACK_FREQUENCY, NEW_TOKEN.

use std::collections::BTreeSet;

use crate::connection::ids::LocalIds;
use crate::connection::sent_frames::SentFrame;
use crate::wire::codec::Writer;
use crate::wire::frame::Frame;

/// Maximum number of tokens that a connection gives its peer.
const MAX_TOKENS: usize = 4;

/// A token for NEW_TOKEN, and whether it must be sent.
struct TokenToSend {
    token: Vec<u8>,
    pending: bool,
}

/// Announcements that wait to be sent, for the first time or again.
#[derive(Default)]
pub(super) struct Announcements {
    handshake_done: bool,
    /// Sequence numbers of this end's IDs.
    new_ids: BTreeSet<u64>,
    /// Sequence numbers of the peer's IDs.
    retire: BTreeSet<u64>,
    ack_frequency: bool,
    tokens: Vec<TokenToSend>,
}

impl Announcements {
    /// Reports whether one waits.
    pub(super) fn is_pending(&self) -> bool {
        self.handshake_done
            || !self.new_ids.is_empty()
            || !self.retire.is_empty()
            || self.ack_frequency
            || self.tokens.iter().any(|token| token.pending)
    }

    /// Sends HANDSHAKE_DONE.
    pub(super) fn announce_handshake_done(&mut self) {
        self.handshake_done = true;
    }

    /// Sends the ID of this end with this sequence number.
    pub(super) fn announce_id(&mut self, sequence: u64) {
        self.new_ids.insert(sequence);
    }

    /// Retires the peer's ID with this sequence number.
    pub(super) fn retire_id(&mut self, sequence: u64) {
        self.retire.insert(sequence);
    }

    /// Sets whether ACK_FREQUENCY must be sent.
    pub(super) fn ask_frequency(&mut self, asks: bool) {
        self.ack_frequency = asks;
    }

    /// Reports whether ACK_FREQUENCY must be sent.
    pub(super) fn asks_frequency(&self) -> bool {
        self.ack_frequency
    }

    /// Sends a token; at most four, and none that is empty.
    pub(super) fn give_token(&mut self, token: Vec<u8>) {
        if self.tokens.len() < MAX_TOKENS && !token.is_empty() {
            self.tokens.push(TokenToSend { token, pending: true });
        }
    }

    /// Writes what fits of HANDSHAKE_DONE and changes of connection IDs.
    pub(super) fn write(&mut self, ids: &LocalIds, items: &mut Vec<SentFrame>, w: &mut Writer<'_>) {
        let mut put = |frame: Frame<'_>, item| {
            let fits = frame.encode(w).is_ok();
            items.extend(fits.then_some(item));
            fits
        };
        if self.handshake_done && put(Frame::HandshakeDone, SentFrame::HandshakeDone) {
            self.handshake_done = false;
        }
        while let Some(&sequence) = self.new_ids.first() {
            let frame = ids.frame(sequence);
            if frame.is_some_and(|frame| !put(frame, SentFrame::NewConnectionId(sequence))) {
                break;
            }
            self.new_ids.pop_first();
        }
        while let Some(&sequence) = self.retire.first() {
            if !put(Frame::RetireConnectionId(sequence), SentFrame::RetireConnectionId(sequence)) {
                break;
            }
            self.retire.pop_first();
        }
    }

    /// Writes the tokens that fit.
    pub(super) fn write_tokens(&mut self, items: &mut Vec<SentFrame>, w: &mut Writer<'_>) {
        for (at, token) in self.tokens.iter_mut().enumerate() {
            if token.pending && Frame::NewToken(&token.token).encode(w).is_ok() {
                token.pending = false;
                items.push(SentFrame::NewToken(at));
            }
        }
    }

    /// Records that a frame has arrived. It need not be sent again, even if it counted as lost.
    pub(super) fn on_acked(&mut self, item: SentFrame) {
        match item {
            SentFrame::HandshakeDone => self.handshake_done = false,
            SentFrame::NewConnectionId(sequence) => drop(self.new_ids.remove(&sequence)),
            SentFrame::RetireConnectionId(sequence) => drop(self.retire.remove(&sequence)),
            _ => {}
        }
    }

    /// Records that a frame is lost and must be sent again.
    pub(super) fn on_lost(&mut self, item: SentFrame) {
        match item {
            SentFrame::HandshakeDone => self.handshake_done = true,
            SentFrame::NewConnectionId(sequence) => drop(self.new_ids.insert(sequence)),
            SentFrame::RetireConnectionId(sequence) => drop(self.retire.insert(sequence)),
            SentFrame::AckFrequency => self.ack_frequency = true,
            SentFrame::NewToken(at) => {
                self.tokens.get_mut(at).into_iter().for_each(|token| token.pending = true);
            }
            _ => {}
        }
    }
}
