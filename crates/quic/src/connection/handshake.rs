//! The handshake: bytes to and from the session, keys, the peer's parameters, completed and confirmed (RFC 9001 section 4, RFC 9000
//! section 7), Retry and version negotiation at a client.

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

/// How many receive times wait to be told at most, whatever the peer asks for.
const MAX_STAMPS: u64 = 256;
/// Between two packet numbers that are left out there are at least so many, and at most 16 times as many.
const SKIP_EVERY: usize = 256;

impl Connection {
    /// A CRYPTO frame.
    ///
    /// # Errors
    /// Too far ahead, or whatever the session finds wrong.
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

    /// Takes what the session has brought forth.
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
                            "handshake bytes of a level that is over",
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

    /// The peer's parameters count from when there are 1-RTT keys, for which they are needed.
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
        self.ask_frequency = self.config.ack_frequency.request.is_some() && peer.min_ack_delay.is_some();
        self.peer = Some(peer);
        Ok(())
    }

    /// How this end acknowledges 1-RTT packets.
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
            self.handshake_done = true;
            self.on_confirmed(now);
        }
    }

    /// The handshake is confirmed: at a server with its completion, at a client with HANDSHAKE_DONE (RFC 9001 section 4.1.2).
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

    /// A packet number will be left out; `again`: as one was before.
    pub(super) fn skip_later(&mut self, again: bool) {
        let distance = match self.settings.recovery.skip_numbers {
            None => (SKIP_EVERY + self.random.below(15 * SKIP_EVERY)) as u64,
            Some(every) => {
                let mut rng = Rng::stream(u64::from_be_bytes(self.random.bytes()), "skipped numbers");
                recovery::skips_after(every, &mut rng, again)
            }
        };
        self.skip_at = self.sender.next_number(SpaceId::Application).saturating_add(distance);
    }

    /// Keys are discarded, and all that waits for their packets (RFC 9001 section 4.9).
    pub(super) fn discard(&mut self, now: Time, space: Space) {
        let state = &mut self.spaces[space as usize];
        if state.keys.is_some() {
            state.discard();
            self.sender.discard(now, super::spaces::id_of(space));
        }
    }

    /// A Retry: the client begins again, with the token (RFC 9000 section 17.2.5).
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

    /// A Version Negotiation: the attempt is over if the server speaks nothing else (section 6.2).
    pub(super) fn on_version_negotiation(&mut self, answer: &VersionNegotiation<'_>) {
        if self.lifecycle.state() == State::Open && self.ids.is_version_refused(answer) {
            self.give_up(Ended::Version);
        } else {
            self.counts.packets_dropped += 1;
        }
    }
}
