//! The handshake: CRYPTO data, keys, the peer's parameters, completion and confirmation (RFC 9001
//! section 4, RFC 9000 section 7).
//!
//! Includes Retry and version negotiation at a client.

use recovery::{AckConfig, SpaceId};
use units::{Duration, Rng, Time};

use crate::connection::close::State;
use crate::connection::event::{Ended, Event};
use crate::connection::ids::RemoteIds;
use crate::connection::spaces::receiver;
use crate::connection::state::Connection;
use crate::crypto::session::Event as SessionEvent;
use crate::crypto::update::OneRtt;
use crate::error::{Code, Error};
use crate::level::{Level, Side, Space};
use crate::wire::header::{Retry, VersionNegotiation};
use crate::wire::transport_parameters::TransportParameters;

/// Maximum number of receive timestamps that wait to be reported, whatever the peer requests.
const MAX_STAMPS: u64 = 256;
/// Minimum distance between skipped packet numbers. The maximum is 16 times as many.
const SKIP_EVERY: usize = 256;

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
                    self.spaces[Space::Handshake as usize].keys = Some(keys);
                    self.sender.on_handshake_keys();
                }
                SessionEvent::OneRtt { keys, next } => {
                    let one_rtt = OneRtt::new(keys, next);
                    self.one_rtt = Some(match self.settings.key_limits {
                        Some(limits) => one_rtt.with_limits(limits),
                        None => one_rtt,
                    });
                }
            }
        }
        self.events.extend(self.session.take_secrets().into_iter().map(Event::Secret));
        self.read_parameters()?;
        if !self.complete && self.session.is_complete() {
            self.on_complete(now);
        }
        Ok(())
    }

    /// Applies the peer's parameters once there are 1-RTT keys, for which they are needed.
    fn read_parameters(&mut self) -> Result<(), Error> {
        if self.peer.is_some() || self.one_rtt.is_none() {
            return Ok(());
        }
        let Some(peer) = self.session.peer_parameters().cloned() else { return Ok(()) };
        self.ids.check(&peer)?;
        let mut remote_ids = RemoteIds::new(self.ids.remote(), self.config.active_connection_id_limit);
        if let Some(token) = peer.stateless_reset_token {
            remote_ids.set_reset_token(token);
        }
        if let Some(address) = &peer.preferred_address {
            remote_ids.on_preferred_address(address);
        }
        self.remote_ids = Some(remote_ids);
        self.reset_tokens_changed = true;
        self.local_ids.set_limit(peer.active_connection_id_limit);
        let idle = peer.max_idle_timeout;
        self.idle.on_peer((idle > 0).then(|| Duration(idle.saturating_mul(1_000_000))));
        self.streams.on_parameters(&peer);
        self.sender.set_max_ack_delay(Duration::from_millis(peer.max_ack_delay));
        self.compute_pto();
        if peer.max_udp_payload_size < self.path_info.max_datagram_size {
            self.path_info.max_datagram_size = peer.max_udp_payload_size;
            self.sender.set_max_datagram_size(peer.max_udp_payload_size);
        }
        self.spaces[Space::Application as usize].receiver =
            receiver(self.ack_config(&peer), self.settings.base_rtt);
        let asks = self.config.ack_frequency.request.is_some() && peer.min_ack_delay.is_some();
        self.announcements.ask_frequency(asks);
        self.peer = Some(peer);
        Ok(())
    }

    /// Returns the configuration by which this end acknowledges 1-RTT packets.
    pub(super) fn ack_config(&self, peer: &TransportParameters) -> AckConfig {
        let format = peer.stamp_format();
        let stamps = if self.config.timestamps.offered { format.max.min(MAX_STAMPS) } else { 0 };
        AckConfig {
            max_ack_delay: self.settings.ack.max_ack_delay.min(self.config.max_ack_delay),
            timestamps: stamps as usize,
            timestamp_exponent: format.exponent.into(),
            ping_every: self.settings.ack.ping_every.or(self.config.ping_every),
            ..self.settings.ack.clone()
        }
    }

    fn on_complete(&mut self, now: Time) {
        self.complete = true;
        self.events.push_back(Event::Connected);
        if self.side == Side::Server {
            self.announcements.announce_handshake_done();
            self.on_confirmed(now);
        }
    }

    /// Confirms the handshake: at a server when it is complete, at a client with HANDSHAKE_DONE
    /// (RFC 9001 section 4.1.2).
    pub(super) fn on_confirmed(&mut self, now: Time) {
        if std::mem::replace(&mut self.confirmed, true) {
            return;
        }
        self.discard(now, Space::Initial);
        self.discard(now, Space::Handshake);
        if let Some(one_rtt) = &mut self.one_rtt {
            one_rtt.on_confirmed();
        }
        self.sender.on_handshake_confirmed(now);
        self.paths.confirm();
        if !self.config.fixed_sizes {
            self.skip_later(false);
        }
        self.events.push_back(Event::Confirmed);
    }

    /// Schedules the next skipped packet number. `again` is set after an earlier one.
    pub(super) fn skip_later(&mut self, again: bool) {
        let distance = match self.settings.recovery.skip_numbers {
            None => (SKIP_EVERY + self.random.below(15 * SKIP_EVERY)) as u64,
            Some(every) => {
                let mut rng = Rng::stream(u64::from_be_bytes(self.random.bytes()), "skipped numbers");
                recovery::packets_until_skip(every, &mut rng, again)
            }
        };
        self.skip_at = self.sender.next_number(SpaceId::Application).saturating_add(distance);
    }

    /// Discards keys, and everything that waits for packets of this space (RFC 9001 section 4.9).
    pub(super) fn discard(&mut self, now: Time, space: Space) {
        let state = &mut self.spaces[space as usize];
        if state.keys.is_some() {
            state.discard();
            self.sender.discard(now, super::spaces::space_id(space));
        }
    }

    /// Processes a Retry: the client starts again, with the token (RFC 9000 section 17.2.5).
    pub(super) fn on_retry(&mut self, now: Time, retry: &Retry<'_>) {
        let Some(token) = self.ids.on_retry(retry) else {
            self.counts.packets_dropped += 1;
            return;
        };
        self.token = token.to_vec();
        self.install_initial_keys();
        self.spaces[Space::Initial as usize].crypto.resend();
        self.sender.discard(now, SpaceId::Initial);
    }

    /// Processes a Version Negotiation. It ends the attempt if the server supports no common
    /// version (section 6.2).
    pub(super) fn on_version_negotiation(&mut self, answer: &VersionNegotiation<'_>) {
        if self.lifecycle.state() == State::Open && self.ids.is_version_refused(answer) {
            self.give_up(Ended::Version);
        } else {
            self.counts.packets_dropped += 1;
        }
    }
}
