//! Two endpoints in two threads, over this machine's loopback interface.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "real time")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::thread;

use kneepoint_udp::{Clock, Engine, Socket};
use quic::config::EndpointConfig;
use quic::connection::{Event, Settings, State};
use quic::crypto::tls::{Ciphers, ClientConfig, Identity, ServerConfig, Trust};
use quic::crypto::{ClientCrypto, ServerCrypto};
use quic::endpoint::{Endpoint, EndpointSettings, Handle, Program};
use quic::random::Random;
use quic::streams::{Read, StreamEvent, pattern};
use quic::wire::Direction;
use units::{Duration, Time};

const BYTES: u64 = 5_000_000;
const ALPN: &[&[u8]] = &[b"hq-interop"];

/// Answers each stream with the pattern; done when its only client is gone.
struct Giver {
    over: bool,
}

impl Program for Giver {
    fn on_event(&mut self, _: Time, endpoint: &mut Endpoint, handle: Handle, event: Event) {
        match event {
            Event::Incoming => endpoint.accept(handle),
            Event::Stream(StreamEvent::Opened(direction)) => {
                let connection = endpoint.connection_mut(handle).unwrap();
                while let Some(id) = connection.accept_stream(direction) {
                    connection.streams().write_pattern(id, BYTES).unwrap();
                }
            }
            Event::Ended(_) => self.over = true,
            _ => {}
        }
    }

    fn run(&mut self, _: Time, _: &mut Endpoint) {}

    fn deadline(&self) -> Time {
        Time::NEVER
    }

    fn is_done(&self, _: &Endpoint) -> bool {
        self.over
    }
}

struct Taker {
    at: u64,
    until: Time,
    ended: bool,
    refused: Option<IpAddr>,
}

impl Taker {
    const fn new() -> Self {
        Self { at: 0, until: Time::from_millis(20_000), ended: false, refused: None }
    }
}

impl Program for Taker {
    fn on_event(&mut self, now: Time, endpoint: &mut Endpoint, handle: Handle, event: Event) {
        let Some(connection) = endpoint.connection_mut(handle) else { return };
        match event {
            Event::Connected => {
                let id = connection.open(Direction::Bidirectional).unwrap();
                connection.finish(id).unwrap();
            }
            Event::Stream(StreamEvent::Readable(id)) => {
                let (mut buf, mut expected) = (vec![0; 100_000], vec![0; 100_000]);
                loop {
                    match connection.read(now, id, &mut buf) {
                        Ok(Read::Data(len)) => {
                            pattern::fill(self.at, &mut expected[..len]);
                            assert!(buf[..len] == expected[..len]);
                            self.at += len as u64;
                        }
                        Ok(Read::End) => return connection.close(now, 0, b""),
                        _ => return,
                    }
                }
            }
            Event::Ended(_) => self.ended = true,
            _ => {}
        }
    }

    fn run(&mut self, now: Time, _: &mut Endpoint) {
        self.ended |= now >= self.until;
    }

    fn deadline(&self) -> Time {
        self.until
    }

    fn is_done(&self, endpoint: &Endpoint) -> bool {
        self.ended && !endpoint.handles().any(|h| endpoint.connection(h).unwrap().state() == State::Open)
            || self.refused.is_some()
    }

    fn on_unreachable(&mut self, _: Time, _: &mut Endpoint, host: IpAddr) {
        self.refused = Some(host);
    }
}

fn endpoint(crypto: Option<ServerCrypto>) -> Endpoint {
    let config = EndpointConfig { accepts: crypto.is_some(), ..EndpointConfig::default() };
    let settings = EndpointSettings { config, connection: Settings::default(), crypto };
    Endpoint::with_random(settings, Random::stream(1, "test")).unwrap()
}

fn transfer(server: SocketAddr, client: IpAddr, to: IpAddr, bursts: bool) -> [kneepoint_udp::Tally; 2] {
    let identity = Identity::self_signed(&["server"]).unwrap();
    let trust = Trust::Exactly(identity.chain[0].clone());
    let crypto = ClientCrypto::Tls(ClientConfig::new(trust, ALPN, Ciphers::All).unwrap());
    let of_server = ServerCrypto::Tls(ServerConfig::new(identity, ALPN, Ciphers::All).unwrap());
    let socket = Socket::bind(server).unwrap();
    let port = socket.local_addr().unwrap().port();
    let given = thread::spawn(move || {
        let engine = Engine::new(socket, Clock::new(), endpoint(Some(of_server)));
        let mut engine = if bursts { engine } else { engine.without_bursts() };
        engine.run(&mut Giver { over: false }).unwrap();
        *engine.tally()
    });
    let socket = Socket::bind(SocketAddr::new(client, 0)).unwrap();
    let local = socket.local_addr().unwrap();
    let mut engine = Engine::new(socket, Clock::new(), endpoint(None));
    let now = engine.clock().now();
    engine.endpoint.connect(now, &crypto, "server", (local, SocketAddr::new(to, port)), b"").unwrap();
    let mut taker = Taker::new();
    engine.run(&mut taker).unwrap();
    assert_eq!(taker.at, BYTES);
    [*engine.tally(), given.join().unwrap()]
}

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// IPv4, IPv6, and a server of both at once: every byte.
#[test]
fn a_transfer() {
    let any = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    for (server, client, to) in [(V4, V4, V4), (V6, V6, V6), (any, V4, V4), (any, V6, V6)] {
        let [client, server] = transfer(SocketAddr::new(server, 0), client, to, true);
        assert_eq!((client.refused, server.refused), (0, 0));
        assert!(server.sent >= BYTES / 1200 && client.received >= BYTES / 1200 / 2);
        assert!(server.calls <= server.sent);
    }
}

#[test]
fn without_bursts() {
    let [_, server] = transfer(SocketAddr::new(V4, 0), V4, V4, false);
    assert_eq!(server.calls, server.sent + server.full);
}

/// The kernel's ICMP message reaches the program.
#[test]
fn a_closed_port() {
    let closed = Socket::bind(SocketAddr::new(V4, 0)).unwrap().local_addr().unwrap();
    let socket = Socket::bind(SocketAddr::new(V4, 0)).unwrap();
    let local = socket.local_addr().unwrap();
    let mut engine = Engine::new(socket, Clock::new(), endpoint(None));
    let crypto = ClientCrypto::Plain { tag_len: 16 };
    let now = engine.clock().now();
    engine.endpoint.connect(now, &crypto, "server", (local, closed), b"").unwrap();
    let mut taker = Taker::new();
    engine.run(&mut taker).unwrap();
    assert_eq!(taker.refused, Some(V4));
    assert!(engine.clock().now() < Time::ZERO + Duration::from_secs(5));
}
