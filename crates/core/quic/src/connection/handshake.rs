//! The handshake: CRYPTO data, keys, the peer's parameters, completion and confirmation (RFC 9001
//! section 4, RFC 9000 section 7).
//!
//! Includes Retry and version negotiation at a client.

use recovery::SpaceId;
use units::{Duration, Time};

use crate::connection::close::State;
use crate::connection::event::{Ended, Event};
use crate::connection::spaces::{receiver, space_id};
use crate::connection::state::{Connection, Stage};
use crate::crypto::session::Event as SessionEvent;
use crate::crypto::update::OneRtt;
use crate::error::{Code, Error};
use crate::level::{Level, Side, Space};
use crate::wire::header::{Retry, VersionNegotiation};

impl Connection {
    /// Processes a CRYPTO frame.
    ///
    /// # Errors
    /// Data too far ahead, or an error of the session.
    pub(super) fn on_crypto(
        &mut self,
        now: Time,
        level: Level,
        offset: u64,
        data: &[u8],
    ) -> Result<(), Error> {
        let crypto = &mut self.spaces[level.space() as usize].crypto;
        crypto.on_crypto(offset, data)?;
        let data = crypto.read();
        if data.is_empty() {
            return Ok(());
        }
        self.session.read(level, &data)?;
        self.drive_session(now)
    }

    /// Processes the output of the session.
    pub(super) fn drive_session(&mut self, now: Time) -> Result<(), Error> {
        let mut keyed = false;
        while let Some(event) = self.session.poll() {
            match event {
                SessionEvent::Crypto { level, data } => {
                    self.spaces[level.space() as usize].crypto.write(&data);
                }
                SessionEvent::Handshake(keys) => {
                    if self.spaces[Space::Initial as usize].crypto.has_leftovers() {
                        return Err(Error::new(
                            Code::PROTOCOL_VIOLATION,
                            "CRYPTO data left at a finished encryption level",
                        ));
                    }
                    self.keys.install(Space::Handshake, keys);
                    self.loss.sender.on_handshake_keys();
                }
                SessionEvent::OneRtt { keys, next } => {
                    keyed = true;
                    let one_rtt = OneRtt::new(keys, next);
                    self.keys.one_rtt = Some(match self.settings.key_limits {
                        Some(limits) => one_rtt.with_limits(limits),
                        None => one_rtt,
                    });
                }
            }
        }
        self.events.extend(self.session.take_secrets().into_iter().map(Event::Secret));
        if keyed {
            self.read_parameters()?;
        }
        if !self.is_connected() && self.session.is_complete() {
            self.on_complete(now);
        }
        Ok(())
    }

    /// Applies the peer's parameters, which were read before the 1-RTT keys.
    fn read_parameters(&mut self) -> Result<(), Error> {
        let Some(peer) = self.session.peer_parameters() else { return Ok(()) };
        self.ids.on_parameters(peer, self.settings.config.active_connection_id_limit)?;
        let idle = peer.max_idle_timeout;
        self.idle.on_peer((idle > 0).then(|| Duration(idle.saturating_mul(1_000_000))));
        self.streams.on_parameters(peer);
        self.loss.on_parameters(peer);
        self.acks.on_parameters(peer);
        self.ack_frequency.on_parameters(peer);
        self.messages.max_frame = peer.max_datagram_frame_size;
        self.spaces[Space::Application as usize].receiver =
            receiver(self.settings.ack_rules(self.acks.format), self.settings.base_rtt);
        Ok(())
    }

    fn on_complete(&mut self, now: Time) {
        self.stage = Stage::Complete;
        self.events.push_back(Event::Connected);
        if self.side == Side::Server {
            self.server_frames.done = true;
            self.on_confirmed(now);
        }
    }

    /// Confirms the handshake: at a server when it is complete, at a client with HANDSHAKE_DONE
    /// (RFC 9001 section 4.1.2).
    pub(super) fn on_confirmed(&mut self, now: Time) {
        if self.is_confirmed() {
            return;
        }
        self.stage = Stage::Confirmed;
        self.discard(now, Space::Initial);
        self.discard(now, Space::Handshake);
        if let Some(one_rtt) = &mut self.keys.one_rtt {
            one_rtt.on_confirmed();
        }
        self.loss.sender.on_handshake_confirmed(now);
        self.paths.confirm();
        if !self.settings.config.fixed_sizes {
            self.loss.skip_later(&mut self.random, false);
        }
        self.events.push_back(Event::Confirmed);
    }

    /// Discards keys, and everything that waits for packets of this space (RFC 9001 section 4.9).
    pub(super) fn discard(&mut self, now: Time, space: Space) {
        if self.keys.discard(space) {
            self.spaces[space as usize].discard();
            self.loss.sender.discard(now, space_id(space));
        }
    }

    /// Processes a Retry: the client starts again, with the token (RFC 9000 section 17.2.5).
    pub(super) fn on_retry(&mut self, now: Time, retry: &Retry<'_>) {
        if !self.ids.on_retry(retry) {
            self.counts.packets_dropped += 1;
            return;
        }
        self.install_initial_keys();
        self.spaces[Space::Initial as usize].crypto.resend();
        self.loss.sender.discard(now, SpaceId::Initial);
    }

    /// Processes a Version Negotiation. It ends the attempt if the server supports no common
    /// version (section 6.2).
    pub(super) fn on_version_negotiation(&mut self, answer: &VersionNegotiation<'_>) {
        if self.lifecycle.state() == State::Open && self.ids.handshake.is_version_refused(answer) {
            self.give_up(Ended::Version);
        } else {
            self.counts.packets_dropped += 1;
        }
    }
}
