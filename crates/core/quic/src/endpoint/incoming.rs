//! Datagrams received by an endpoint: delivered to a connection, to a new connection, or answered
//! without one.

use std::net::IpAddr;

use units::{Ecn, Time};

use crate::connection::{Arrival, Connection, ConnectionInit, HandshakeIds, Transmit};
use crate::endpoint::admission::{self, Admission, First};
use crate::endpoint::driver::Endpoint;
use crate::endpoint::members::{Member, host};
use crate::endpoint::routing::{Handle, Routed};
use crate::level::Side;
use crate::random::Random;

/// Maximum number of queued answers that belong to no connection: those to the datagrams that a
/// server reads before it sends.
const MAX_ANSWERS: usize = 1024;

/// Outcome of a datagram, without its bytes.
enum Outcome {
    To(Handle),
    Reset(Handle),
    New(Handle),
    Answer(Vec<u8>),
    Dropped,
}

impl Endpoint {
    /// Processes a received datagram. Its contents cannot make this fail.
    pub fn handle(&mut self, now: Time, arrival: Arrival<'_>) {
        self.now = self.now.max(now);
        let routed = self.routing.route(now, arrival.from, arrival.bytes, &mut self.random);
        let outcome = match routed {
            Routed::To(handle) => Outcome::To(handle),
            Routed::Reset(handle) => Outcome::Reset(handle),
            Routed::Answer(bytes) => Outcome::Answer(bytes),
            Routed::Dropped(_) => Outcome::Dropped,
            Routed::First(first) => self.on_first(now, &first, &arrival),
        };
        match outcome {
            Outcome::To(handle) => self.deliver(now, handle, arrival),
            Outcome::New(handle) => self.deliver_first(now, handle, arrival),
            Outcome::Answer(bytes) => self.answer(&arrival, bytes),
            Outcome::Dropped => self.dropped.dropped += 1,
            Outcome::Reset(handle) => {
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

    /// Delivers a first datagram. If nothing in it could be opened, no state is kept, since anybody
    /// could have sent it.
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

    fn on_first(&mut self, now: Time, first: &First<'_>, arrival: &Arrival<'_>) -> Outcome {
        if self.settings.config.connections.is_some() {
            // The datagram before this one may have closed a connection.
            self.process_touched();
        }
        let config = &self.settings.config;
        let of_host = self.hosts.get(&host(first.from)).copied().unwrap_or_default();
        let place = self.place(host(first.from), of_host.all);
        // If the endpoint is full, no client may wait either.
        let (retry, most) = (config.retry, if place.is_none() { 0 } else { config.unaccepted });
        let unaccepted = (self.routing.unaccepted(), of_host.unaccepted);
        match admission::decide(retry, unaccepted, most, &mut self.tokens, now, first) {
            Admission::Refuse(code) => {
                let source = self.draw_server_id();
                Outcome::Answer(admission::write_refusal(first, source, code))
            }
            Admission::Retry => {
                let source = self.draw_server_id();
                Outcome::Answer(admission::write_retry(&self.tokens, now, first, source, &mut self.random))
            }
            Admission::Accept { original, retry, validated } => {
                if let Some(Some(leaving)) = place {
                    self.forget(leaving);
                }
                let handle = self.routing.admit(first, arrival.bytes.len());
                let id = self.draw_server_id();
                if !self.routing.add_id(handle, id) {
                    self.routing.forget(handle);
                    return Outcome::Dropped;
                }
                let init = ConnectionInit {
                    side: Side::Server,
                    addresses: (arrival.to, arrival.from),
                    ids: HandshakeIds::server(id, first.source, original, retry),
                    reset_token: self.reset_key.token(&id),
                    token: Vec::new(),
                    validated,
                    random: Random::new(&self.random.bytes()),
                };
                self.begin(now, handle, init)
            }
        }
    }

    /// Finds a place for a client of a host that has so many connections. Returns `None` if all are
    /// taken, and otherwise the connection whose place it is, if any.
    ///
    /// A connection that is closing keeps its state for three PTOs (RFC 9000 section 10.2), unless
    /// its place is needed. After that, late packets to it get a stateless reset.
    fn place(&self, host: IpAddr, of_host: usize) -> Option<Option<Handle>> {
        let config = &self.settings.config;
        let leaving = if config.connections_per_host.is_some_and(|most| of_host >= most) {
            self.leaving.range((host, Handle(0))..=(host, Handle(u64::MAX))).next()
        } else if config.connections.is_some_and(|most| self.connections.len() >= most) {
            self.leaving.first()
        } else {
            return Some(None);
        };
        leaving.map(|(_, handle)| Some(*handle))
    }

    fn draw_server_id(&mut self) -> crate::wire::connection_id::ConnectionId {
        self.draw_id(self.settings.config.connection.connection_id_len)
    }

    fn begin(&mut self, now: Time, handle: Handle, init: ConnectionInit) -> Outcome {
        let (alpn, crypto) = (&self.settings.config.alpn, &self.settings.crypto);
        let host = host(init.addresses.1);
        let Some(crypto) = crypto else { return Outcome::Dropped };
        let start = |parameters: &_| crypto.start(parameters, alpn);
        match Connection::new(now, &self.settings.connection, init, start) {
            Ok(connection) => {
                let clients = self.hosts.entry(host).or_default();
                (clients.all, clients.unaccepted) = (clients.all + 1, clients.unaccepted + 1);
                self.connections.insert(handle, Member { host: Some(host), ..Member::new(connection) });
                Outcome::New(handle)
            }
            Err(_) => {
                self.routing.forget(handle);
                Outcome::Dropped
            }
        }
    }
}
