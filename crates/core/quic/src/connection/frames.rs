//! Processing of received frames (RFC 9000 section 19).

use units::{Duration, Time};

use crate::connection::close::Close;
use crate::connection::event::{Ended, Event};
use crate::connection::state::Connection;
use crate::error::{Code, Error};
use crate::level::{Level, Side, Space};
use crate::wire::connection_id::ConnectionId;
use crate::wire::frame::Frame;
use crate::wire::frame_type::FrameType;

/// Maximum number of challenges in one packet that are answered.
const MAX_CHALLENGES: usize = 4;
/// Maximum number of tokens passed to the application.
const MAX_TOKENS: usize = 16;

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
            Frame::NewToken(token) => self.on_token(token)?,
            Frame::HandshakeDone => self.on_handshake_done(now)?,
            Frame::NewConnectionId { sequence, retire_prior_to, id, reset_token } => {
                self.on_new_id((sequence, retire_prior_to), id, reset_token)?;
            }
            Frame::RetireConnectionId(sequence) => {
                let retired = self.local_ids.on_retire(sequence, &seen.destination)?;
                self.retired.extend(retired);
            }
            Frame::PathChallenge(data) => {
                seen.challenges.truncate(MAX_CHALLENGES - 1);
                seen.challenges.push(data);
            }
            Frame::PathResponse(data) => self.on_path_response(now, &data),
            Frame::ConnectionClose { .. } | Frame::ApplicationClose { .. } => self.on_close_frame(now, frame),
            Frame::Datagram { data, .. } => self.on_datagram_frame(data),
            Frame::AckFrequency { sequence, threshold, max_ack_delay, reordering_threshold } => {
                self.on_ack_frequency(sequence, threshold, max_ack_delay, reordering_threshold)?;
            }
            Frame::ImmediateAck => seen.immediate = true,
            _ => {}
        }
        Ok(())
    }

    /// Processes NEW_TOKEN, which only servers may send (section 19.7).
    fn on_token(&mut self, token: &[u8]) -> Result<(), Error> {
        if self.side == Side::Server {
            let wrong = Error::new(Code::PROTOCOL_VIOLATION, "NEW_TOKEN from a client");
            return Err(wrong.in_frame(FrameType::NEW_TOKEN.0));
        }
        if self.tokens_taken < MAX_TOKENS {
            self.tokens_taken += 1;
            self.events.push_back(Event::Token(token.to_vec()));
        }
        Ok(())
    }

    /// Processes HANDSHAKE_DONE, which only servers may send (section 19.20).
    fn on_handshake_done(&mut self, now: Time) -> Result<(), Error> {
        if self.side == Side::Server || !self.complete {
            let wrong = Error::new(Code::PROTOCOL_VIOLATION, "unexpected HANDSHAKE_DONE");
            return Err(wrong.in_frame(FrameType::HANDSHAKE_DONE.0));
        }
        self.on_confirmed(now);
        Ok(())
    }

    fn on_new_id(
        &mut self,
        (sequence, retire_prior_to): (u64, u64),
        id: ConnectionId,
        reset_token: [u8; 16],
    ) -> Result<(), Error> {
        if let Some(remote_ids) = &mut self.remote_ids {
            remote_ids.on_new(sequence, retire_prior_to, id, reset_token)?;
            self.reset_tokens_changed = true;
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
        let pto = self.pto();
        self.lifecycle.on_peer_close(now, pto);
        self.events.push_back(Event::Ended(Ended::Peer(close)));
    }

    fn on_datagram_frame(&mut self, data: &[u8]) {
        self.datagrams_in.push(data.to_vec());
        if !self.datagrams_in.is_empty() && !std::mem::replace(&mut self.told_datagram, true) {
            self.events.push_back(Event::Datagram);
        }
    }

    /// Processes ACK_FREQUENCY. The newest frame applies (draft-ietf-quic-ack-frequency section 4).
    fn on_ack_frequency(
        &mut self,
        sequence: u64,
        threshold: u64,
        max_ack_delay: u64,
        reordering_threshold: u64,
    ) -> Result<(), Error> {
        let delay = Duration(max_ack_delay.saturating_mul(1000));
        let least = self.config.ack_frequency.min_ack_delay.unwrap_or_default();
        if delay < least {
            let wrong = Error::new(Code::PROTOCOL_VIOLATION, "requested max_ack_delay below min_ack_delay");
            return Err(wrong.in_frame(FrameType::ACK_FREQUENCY.0));
        }
        let Some(peer) = self.peer.as_ref().filter(|_| self.frequency.is_none_or(|known| sequence > known))
        else {
            return Ok(());
        };
        let mut config = self.ack_config(peer);
        config.ack_every = threshold.saturating_add(1).into();
        // Limits the delay to the maximum of the transport parameter, even if the peer asks for an
        // hour.
        config.max_ack_delay = delay.min(Duration::from_millis((1 << 14) - 1));
        if reordering_threshold == 0 {
            config.immediate_on_gap = recovery::OnGap::Off;
        }
        self.frequency = Some(sequence);
        self.spaces[Space::Application as usize].receiver.set_config(config);
        Ok(())
    }
}
