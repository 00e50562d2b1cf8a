//! Two endpoints, a link between them, and a virtual clock.
//!
//! On each stream the client requests a number of bytes. The server sends them as the pattern, and
//! the client compares every byte.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use ackclock_quic::config::EndpointConfig;
use ackclock_quic::connection::{Arrival, Connection, Ended, Event, Settings};
use ackclock_quic::crypto::tls::{Ciphers, ClientConfig, Identity, ServerConfig, Trust};
use ackclock_quic::crypto::{ClientCrypto, ServerCrypto};
use ackclock_quic::endpoint::{Endpoint, EndpointSettings, Handle};
use ackclock_quic::streams::{Read, StreamEvent, StreamId, pattern};
use ackclock_quic::units::{Duration, Rng, Time};
use ackclock_quic::wire::Direction;

use crate::link::Lane;
pub use crate::link::{Flying, Link};

pub const CLIENT: &str = "10.0.0.1:4000";
pub const SERVER: &str = "10.0.0.2:443";

pub fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

pub struct Request {
    pub bytes: u64,
    pub received: u64,
    pub done: bool,
}

pub struct World {
    pub now: Time,
    pub link: Link,
    pub client: Endpoint,
    pub server: Endpoint,
    pub handle: Option<Handle>,
    pub accepted: Option<Handle>,
    pub requests: BTreeMap<StreamId, Request>,
    pub wanted: Vec<u64>,
    pub client_events: Vec<Event>,
    pub server_events: Vec<Event>,
    pub tokens: Vec<Vec<u8>>,
    /// The client's address behind a NAT.
    pub nat: Option<SocketAddr>,
    /// Whether both ends are honest and the cipher is sound, so that every byte must be correct.
    pub checks: bool,
    /// Maximum number of datagrams in a burst, and the number in the longest one.
    pub bursts: (usize, usize),
    /// Processing delay of an endpoint, from an event to the packets sent for it.
    pub late: Duration,
    /// SHA-256 of streams whose bytes are only hashed.
    pub hashes: BTreeMap<StreamId, [u8; 32]>,
    /// The latest datagram of the client, and of the server.
    pub last: Vec<u8>,
    pub last_of_server: Vec<u8>,
    /// Hash of everything that was sent: time, direction, bytes.
    pub trace: u64,
    pub sent: [u64; 2],
    /// Sender, first byte and size of every datagram.
    pub datagrams: Vec<(usize, u8, usize)>,
    /// Datagrams and bytes that reached the server, and that left it.
    pub crossed: [u64; 2],
    pub flying: BTreeMap<(Time, u64), Flying>,
    pub lanes: [Lane; 2],
    pub serial: u64,
    pub rng: Rng,
    crypto: ClientCrypto,
    /// Data received as messages.
    pub messages: [Vec<Vec<u8>>; 2],
}

pub fn plain() -> (ClientCrypto, ServerCrypto) {
    (ClientCrypto::Plain { tag_len: 16 }, ServerCrypto::Plain { tag_len: 16 })
}

pub fn tls(ciphers: Ciphers) -> (ClientCrypto, ServerCrypto) {
    let identity = Identity::self_signed(&["server"]).unwrap();
    let alpn: &[&[u8]] = &[b"hq-interop"];
    let trust = Trust::Exactly(identity.chain[0].clone());
    let client = ClientConfig::new(trust, alpn, ciphers).unwrap();
    let server = ServerConfig::new(identity, alpn, ciphers).unwrap();
    (ClientCrypto::Tls(client), ServerCrypto::Tls(server))
}

/// Configuration of a world.
pub struct Plan {
    pub seed: u64,
    pub link: Link,
    pub crypto: (ClientCrypto, ServerCrypto),
    pub client: EndpointConfig,
    pub server: EndpointConfig,
    pub settings: [Settings; 2],
}

impl Default for Plan {
    fn default() -> Self {
        let server = EndpointConfig { accepts: true, ..EndpointConfig::default() };
        Self {
            seed: 1,
            link: Link::default(),
            crypto: plain(),
            client: EndpointConfig::default(),
            server,
            settings: [Settings::default(), Settings::default()],
        }
    }
}

impl World {
    pub fn new(plan: Plan) -> Self {
        let Plan { seed, link, crypto, client, server, settings: [of_client, of_server] } = plan;
        let client = EndpointSettings { config: client, connection: of_client, crypto: None };
        let server = EndpointSettings { config: server, connection: of_server, crypto: Some(crypto.1) };
        Self {
            now: Time::ZERO,
            link,
            client: Endpoint::new(client, seed).unwrap(),
            server: Endpoint::new(server, seed + 1000).unwrap(),
            handle: None,
            accepted: None,
            requests: BTreeMap::new(),
            wanted: Vec::new(),
            client_events: Vec::new(),
            server_events: Vec::new(),
            tokens: Vec::new(),
            nat: None,
            checks: true,
            bursts: (1, 1),
            late: Duration::ZERO,
            hashes: BTreeMap::new(),
            last: Vec::new(),
            last_of_server: Vec::new(),
            trace: 0,
            sent: [0; 2],
            datagrams: Vec::new(),
            crossed: [0; 2],
            flying: BTreeMap::new(),
            lanes: [Lane::default(), Lane::default()],
            serial: 0,
            rng: Rng::stream(seed, "link"),
            crypto: crypto.0,
            messages: [Vec::new(), Vec::new()],
        }
    }

    /// Connects the client, which requests streams of these sizes.
    pub fn connect(&mut self, wanted: &[u64]) {
        let ends = (CLIENT.parse().unwrap(), SERVER.parse().unwrap());
        let token = self.tokens.pop().unwrap_or_default();
        let handle = self.client.connect(self.now, &self.crypto, "server", ends, &token);
        self.handle = Some(handle.unwrap());
        self.wanted = wanted.to_vec();
    }

    pub fn client_connection(&mut self) -> &mut Connection {
        self.client.connection_mut(self.handle.unwrap()).unwrap()
    }

    pub fn server_connection(&mut self) -> &mut Connection {
        self.server.connection_mut(self.accepted.unwrap()).unwrap()
    }

    pub fn is_done(&self) -> bool {
        self.wanted.is_empty() && !self.requests.is_empty() && self.requests.values().all(|r| r.done)
    }

    /// Returns the reasons why the connection ended at the client and at the server.
    pub fn ended(&self) -> [Option<&Ended>; 2] {
        [&self.client_events, &self.server_events].map(|events| {
            events.iter().find_map(|event| match event {
                Event::Ended(ended) => Some(ended),
                _ => None,
            })
        })
    }

    /// Runs until `done` or `end`. Returns whether it was done.
    pub fn run(&mut self, end: Time, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let (mut turns, mut last) = (0, self.now);
        loop {
            self.flush();
            self.applications();
            self.flush();
            if done(self) {
                return true;
            }
            let flying = self.flying.keys().next().map_or(Time::NEVER, |key| key.0);
            let next = flying.min(self.client.poll_timeout()).min(self.server.poll_timeout());
            if next > end {
                self.now = end;
                return false;
            }
            self.now = self.now.max(next);
            turns = if self.now == last { turns + 1 } else { 0 };
            last = self.now;
            assert!(turns < 1000, "nothing moves at {:?}", self.now);
            self.arrive();
            self.client.handle_timeout(self.now);
            self.server.handle_timeout(self.now);
        }
    }

    /// Runs until all requested data has arrived.
    pub fn finish(&mut self, end: Time) -> bool {
        self.run(end, |world| world.is_done())
    }

    fn arrive(&mut self) {
        while let Some(entry) = self.flying.first_entry() {
            if entry.key().0 > self.now {
                return;
            }
            let mut it = entry.remove();
            let server: SocketAddr = SERVER.parse().unwrap();
            let to_server = it.to == server;
            self.crossed[usize::from(!to_server)] += it.bytes.len() as u64;
            if !to_server {
                if it.to != self.nat.unwrap_or_else(|| CLIENT.parse().unwrap()) {
                    continue; // the NAT has forgotten this one
                }
                it.to = CLIENT.parse().unwrap();
            }
            let end = if to_server { &mut self.server } else { &mut self.client };
            let Flying { from, to, ecn, ref mut bytes } = it;
            end.handle(self.now, Arrival { from, to, ecn, arrived: self.now, bytes });
        }
    }

    pub fn flush(&mut self) {
        let mut buf = vec![0; 65_535];
        for n in 0..2 {
            loop {
                let end = if n == 0 { &mut self.client } else { &mut self.server };
                let Some(transmit) = end.poll_burst(self.now + self.late, &mut buf, self.bursts.0) else {
                    break;
                };
                let mut from = transmit.from;
                if n == 0 {
                    from = self.nat.unwrap_or(from);
                    self.last = buf[..transmit.len].to_vec();
                } else {
                    self.last_of_server = buf[..transmit.len].to_vec();
                }
                let size = transmit.segment_size.unwrap_or(transmit.len);
                self.bursts.1 = self.bursts.1.max(transmit.len.div_ceil(size));
                for bytes in buf[..transmit.len].chunks(size) {
                    self.sent[n] += 1;
                    self.datagrams.push((n, bytes[0], bytes.len()));
                    let bytes = bytes.to_vec();
                    self.send(n, Flying { from, to: transmit.to, ecn: transmit.ecn, bytes });
                }
            }
        }
    }

    fn applications(&mut self) {
        while let Some((handle, event)) = self.client.poll_event() {
            if Some(handle) == self.handle {
                if let Event::Token(token) = &event {
                    self.tokens.push(token.clone());
                }
                self.on_client_event(&event);
                self.client_events.push(event);
            }
        }
        while let Some((handle, event)) = self.server.poll_event() {
            if event == Event::Incoming {
                self.server.accept(handle);
                self.accepted = Some(handle);
            }
            self.on_server_event(handle, &event);
            self.server_events.push(event);
        }
        self.ask();
    }

    fn ask(&mut self) {
        let Some(connection) = self.handle.and_then(|handle| self.client.connection(handle)) else { return };
        if !connection.is_connected() || self.wanted.is_empty() {
            return;
        }
        while let Some(bytes) = self.wanted.pop() {
            let connection = self.client_connection();
            let Some(id) = connection.open(Direction::Bidirectional) else {
                self.wanted.push(bytes);
                return;
            };
            assert_eq!(connection.write(id, &bytes.to_be_bytes()), Ok(8));
            connection.finish(id).unwrap();
            self.requests.insert(id, Request { bytes, received: 0, done: false });
        }
    }

    fn on_client_event(&mut self, event: &Event) {
        match event {
            Event::Stream(StreamEvent::Readable(id)) => self.read(*id),
            Event::Datagram => {
                while let Some(message) = self.client_connection().receive_datagram() {
                    self.messages[0].push(message);
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, id: StreamId) {
        let now = self.now;
        let mut out = vec![0; 65_536];
        let mut expected = vec![0; 65_536];
        if let Ok((bytes, Some(hash))) = self.client_connection().streams().received(id) {
            // Reported only at its end: there is nothing to read.
            self.hashes.insert(id, hash);
            self.requests.entry(id).and_modify(|request| request.received = bytes);
        }
        loop {
            let Ok(read) = self.client_connection().read(now, id, &mut out) else { return };
            let Some(request) = self.requests.get_mut(&id) else { return };
            match read {
                Read::Data(n) => {
                    pattern::fill(request.received, &mut expected[..n]);
                    assert!(!self.checks || out[..n] == expected[..n], "other bytes");
                    request.received += n as u64;
                }
                Read::Blocked => return,
                Read::End => {
                    assert!(!self.checks || request.received == request.bytes, "too few bytes");
                    request.done = true;
                    return;
                }
                Read::Reset(error) => {
                    assert!(!self.checks, "reset with {error}");
                    request.done = true;
                    return;
                }
            }
        }
    }

    fn on_server_event(&mut self, handle: Handle, event: &Event) {
        let now = self.now;
        let Some(connection) = self.server.connection_mut(handle) else { return };
        match event {
            Event::Stream(StreamEvent::Opened(direction)) => {
                while connection.accept_stream(*direction).is_some() {}
            }
            Event::Stream(StreamEvent::Readable(id)) => {
                let mut out = [0; 8];
                // Requests arrive completely.
                if let Ok(Read::Data(8)) = connection.read(now, *id, &mut out) {
                    let end = connection.read(now, *id, &mut [0; 8]);
                    assert!(!self.checks || end == Ok(Read::End));
                    let written =
                        connection.streams().write_pattern(*id, u64::from_be_bytes(out) & 0xff_ffff);
                    assert!(!self.checks || written.is_ok());
                }
            }
            Event::Datagram => {
                while let Some(message) =
                    self.server.connection_mut(handle).and_then(Connection::receive_datagram)
                {
                    self.messages[1].push(message);
                }
            }
            _ => {}
        }
    }
}
