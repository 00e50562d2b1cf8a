//! Processing of received frames (RFC 9000 section 19).

use units::Time;

use crate::connection::close::Close;
use crate::connection::event::{Ended, Event};
use crate::connection::state::Connection;
use crate::error::Error;
use crate::level::{Level, Space};
use crate::wire::connection_id::ConnectionId;
use crate::wire::frame::Frame;
use crate::wire::frame_type::FrameType;

/// Maximum number of challenges in one packet that are answered.
const MAX_CHALLENGES: usize = 4;

/// State collected while the frames of a packet are processed.
pub(super) struct Seen {
    pub(super) eliciting: bool,
    /// Whether there are only probing frames (section 9.1).
    pub(super) probing: bool,
    /// Whether there is an IMMEDIATE_ACK.
    pub(super) immediate: bool,
    pub(super) challenges: Vec<[u8; 8]>,
    generation: u64,
    destination: ConnectionId,
}

impl Seen {
    pub(super) const fn new(generation: u64, destination: ConnectionId) -> Self {
        let challenges = Vec::new();
        Self { eliciting: false, probing: true, immediate: false, challenges, generation, destination }
    }

    pub(super) const fn note(&mut self, kind: FrameType) {
        self.eliciting |= kind.is_ack_eliciting();
        self.probing &= kind.is_probing();
    }
}

impl Connection {
    /// Processes one frame.
    ///
    /// # Errors
    /// The error that closes the connection.
    pub(super) fn on_frame(
        &mut self,
        now: Time,
        level: Level,
        frame: &Frame<'_>,
        seen: &mut Seen,
    ) -> Result<(), Error> {
        if self.streams.on_frame(now, frame)? {
            return Ok(());
        }
        match *frame {
            Frame::Ack(ack) => self.on_ack(now, level, &ack, seen.generation)?,
            Frame::Crypto { offset, data } => self.on_crypto(now, level, offset, data)?,
            Frame::NewToken(token) => {
                self.events.extend(self.server_frames.on_token(token)?.map(Event::Token));
            }
            Frame::HandshakeDone => {
                self.server_frames.on_done(self.is_connected())?;
                self.on_confirmed(now);
            }
            Frame::NewConnectionId { sequence, retire_prior_to, id, reset_token } => {
                self.ids.remote.on_new(sequence, retire_prior_to, id, reset_token)?;
                self.ids.resets_changed = true;
            }
            Frame::RetireConnectionId(sequence) => {
                self.ids.retired.extend(self.ids.local.on_retire(sequence, &seen.destination)?);
            }
            Frame::PathChallenge(data) => {
                seen.challenges.truncate(MAX_CHALLENGES - 1);
                seen.challenges.push(data);
            }
            Frame::PathResponse(data) => {
                self.paths.on_response(now, self.loss.pto(), &data);
            }
            Frame::ConnectionClose { .. } | Frame::ApplicationClose { .. } => self.on_close_frame(now, frame),
            Frame::Datagram { data, .. } => {
                self.events.extend(self.messages.on_frame(data).then_some(Event::Datagram));
            }
            Frame::AckFrequency { .. } => {
                let rules = self.settings.ack_rules(self.acks.format);
                if let Some(rules) = self.ack_frequency.on_frame(frame, rules)? {
                    self.spaces[Space::Application as usize].receiver.set_config(rules);
                }
            }
            Frame::ImmediateAck => seen.immediate = true,
            _ => {}
        }
        Ok(())
    }

    fn on_close_frame(&mut self, now: Time, frame: &Frame<'_>) {
        let close = match *frame {
            Frame::ConnectionClose { code, frame_type, reason } => {
                Close::Transport { code, frame: frame_type, reason: reason.to_vec() }
            }
            Frame::ApplicationClose { error, reason } => {
                Close::Application { error, reason: reason.to_vec() }
            }
            _ => return,
        };
        self.tell_end(Ended::Peer(close));
        self.lifecycle.on_peer_close(now, self.loss.pto());
    }
}
