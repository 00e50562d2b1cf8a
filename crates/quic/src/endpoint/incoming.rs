//! Datagrams that come to an endpoint: to their connections, to a new one, or answered without one.

use units::{Ecn, Time};

use crate::connection::{Arrival, Birth, Connection, HandshakeIds, Transmit};
use crate::endpoint::admission::{self, Admission, First};
use crate::endpoint::driver::Endpoint;
use crate::endpoint::members::Member;
use crate::endpoint::routing::{Handle, Routed};
use crate::level::Side;
use crate::random::Random;

/// How many answers that belong to no connection wait to be sent.
const MAX_ANSWERS: usize = 64;

/// What became of a datagram, without its bytes.
enum Fate {
    To(Handle),
    Reset(Handle),
    New(Handle),
    Answer(Vec<u8>),
    Dropped,
}

impl Endpoint {
    /// A datagram came. Nothing in it can fail.
    pub fn handle(&mut self, now: Time, arrival: Arrival<'_>) {
        self.now = self.now.max(now);
        let routed = self.routing.route(now, arrival.from, arrival.bytes, &mut self.random);
        let fate = match routed {
            Routed::To(handle) => Fate::To(handle),
            Routed::Reset(handle) => Fate::Reset(handle),
            Routed::Answer(bytes) => Fate::Answer(bytes),
            Routed::Dropped(_) => Fate::Dropped,
            Routed::First(first) => self.on_first(now, &first, &arrival),
        };
        match fate {
            Fate::To(handle) => self.deliver(now, handle, arrival),
            Fate::New(handle) => self.deliver_first(now, handle, arrival),
            Fate::Answer(bytes) => self.answer(&arrival, bytes),
            Fate::Dropped => self.dropped.dropped += 1,
            Fate::Reset(handle) => {
                if let Some(member) = self.connections.get_mut(handle) {
                    member.connection.on_stateless_reset(now);
                    self.touch(handle);
                }
            }
        }
    }

    fn deliver(&mut self, now: Time, handle: Handle, arrival: Arrival<'_>) {
        if let Some(member) = self.connections.get_mut(handle) {
            member.connection.handle(now, arrival);
            self.touch(handle);
        }
    }

    /// Of a first datagram in which nothing could be opened nothing is kept: anybody could have sent it.
    fn deliver_first(&mut self, now: Time, handle: Handle, arrival: Arrival<'_>) {
        let Some(Member { connection, .. }) = self.connections.get_mut(handle) else { return };
        connection.handle(now, arrival);
        if connection.counts().packets_received == 0 {
            self.dropped.forged += 1;
            return self.forget(handle);
        }
        connection.announce();
        self.touch(handle);
    }

    fn answer(&mut self, arrival: &Arrival<'_>, bytes: Vec<u8>) {
        if self.answers.len() >= MAX_ANSWERS {
            self.dropped.dropped += 1;
            return;
        }
        self.dropped.answered += 1;
        let transmit = Transmit {
            from: arrival.to,
            to: arrival.from,
            ecn: Ecn::NotEct,
            len: bytes.len(),
            segment_size: None,
        };
        self.answers.push_back((transmit, bytes));
    }

    fn on_first(&mut self, now: Time, first: &First<'_>, arrival: &Arrival<'_>) -> Fate {
        let config = &self.settings.config;
        let full = config.connections.is_some_and(|most| self.connections.len() >= most);
        // Where there is no room at all, nobody may wait either.
        let (retry, most) = (config.retry, if full { 0 } else { config.unaccepted });
        let unaccepted = self.routing.unaccepted();
        match admission::decide(retry, unaccepted, most, &mut self.tokens, now, first) {
            Admission::Refuse(code) => {
                let source = self.draw_server_id();
                Fate::Answer(admission::write_refusal(first, source, code))
            }
            Admission::Retry => {
                let source = self.draw_server_id();
                Fate::Answer(admission::write_retry(&self.tokens, now, first, source, &mut self.random))
            }
            Admission::Accept { original, retry, validated } => {
                let handle = self.routing.admit(first, arrival.bytes.len());
                let id = self.draw_server_id();
                if !self.routing.add_id(handle, id) {
                    self.routing.forget(handle);
                    return Fate::Dropped;
                }
                let birth = Birth {
                    side: Side::Server,
                    addresses: (arrival.to, arrival.from),
                    ids: HandshakeIds::server(id, first.source, original, retry),
                    reset_token: self.reset_key.token(&id),
                    token: Vec::new(),
                    validated,
                    random: Random::new(&self.random.bytes()),
                };
                self.begin(now, handle, birth)
            }
        }
    }

    fn draw_server_id(&mut self) -> crate::wire::connection_id::ConnectionId {
        self.draw_id(self.settings.config.connection.connection_id_len)
    }

    fn begin(&mut self, now: Time, handle: Handle, birth: Birth) -> Fate {
        let (alpn, crypto) = (&self.settings.config.alpn, &self.settings.crypto);
        let Some(crypto) = crypto else { return Fate::Dropped };
        let start = |parameters: &_| crypto.start(parameters, alpn);
        match Connection::new(now, &self.settings.connection, birth, start) {
            Ok(connection) => {
                self.connections.insert(handle, Member::new(connection));
                Fate::New(handle)
            }
            Err(_) => {
                self.routing.forget(handle);
                Fate::Dropped
            }
        }
    }
}
