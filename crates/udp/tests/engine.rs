//! Two endpoints in two threads, over this machine's loopback interface.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "real time")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::thread;

use ackclock_udp::{Clock, Engine, Socket, Tally};
use quic::config::{Config, EndpointConfig};
use quic::connection::{Event, Settings, State};
use quic::crypto::tls::{Ciphers, ClientConfig, Identity, ServerConfig, Trust};
use quic::crypto::{ClientCrypto, ServerCrypto};
use quic::endpoint::{Endpoint, EndpointSettings, Handle, Program};
use quic::random::Random;
use quic::streams::{Read, StreamEvent, pattern};
use quic::wire::Direction;
use units::{Bytes, Duration, Time};

const BYTES: u64 = 5_000_000;
const LONG: Time = Time::from_millis(20_000);
const ALPN: &[&[u8]] = &[b"hq-interop"];

/// Answers each stream with the pattern; done when its only client is gone.
struct Giver {
    over: bool,
    until: Time,
    too_large: Vec<(IpAddr, usize)>,
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

    fn run(&mut self, now: Time, _: &mut Endpoint) {
        self.over |= now >= self.until;
    }

    fn deadline(&self) -> Time {
        self.until
    }

    fn is_done(&self, _: &Endpoint) -> bool {
        self.over
    }

    fn on_too_large(&mut self, _: Time, _: &mut Endpoint, host: IpAddr, bytes: usize) {
        self.too_large.push((host, bytes));
    }
}

struct Taker {
    at: u64,
    until: Time,
    ended: bool,
    late: bool,
    refused: Option<IpAddr>,
}

impl Taker {
    const fn new(until: Time) -> Self {
        Self { at: 0, until, ended: false, late: false, refused: None }
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
        self.late |= now >= self.until;
    }

    fn deadline(&self) -> Time {
        self.until
    }

    fn is_done(&self, endpoint: &Endpoint) -> bool {
        self.ended && !endpoint.handles().any(|h| endpoint.connection(h).unwrap().state() == State::Open)
            || self.refused.is_some()
            || self.late
    }

    fn on_unreachable(&mut self, _: Time, _: &mut Endpoint, host: IpAddr) {
        self.refused = Some(host);
    }
}

fn endpoint(crypto: Option<ServerCrypto>, datagram: u64) -> Endpoint {
    let connection = Config { initial_datagram_size: Bytes(datagram), ..Config::default() };
    let config = EndpointConfig { accepts: crypto.is_some(), connection, ..EndpointConfig::default() };
    let settings = EndpointSettings { config, connection: Settings::default(), crypto };
    Endpoint::with_random(settings, Random::stream(1, "test")).unwrap()
}

fn transfer(server: SocketAddr, client: IpAddr, to: IpAddr, bursts: bool) -> [Tally; 2] {
    transfer_of(server, client, to, bursts, 1200)
}

fn transfer_of(server: SocketAddr, client: IpAddr, to: IpAddr, bursts: bool, datagram: u64) -> [Tally; 2] {
    let (at, tallies, too_large) = try_transfer(server, client, to, bursts, datagram, LONG);
    assert_eq!((at, too_large), (BYTES, Vec::new()), "{datagram} {tallies:?}");
    tallies
}

/// How much has come until then, what both have seen, and what the server has heard of datagrams that are too large.
fn try_transfer(
    server: SocketAddr,
    client: IpAddr,
    to: IpAddr,
    bursts: bool,
    datagram: u64,
    until: Time,
) -> (u64, [Tally; 2], Vec<(IpAddr, usize)>) {
    let identity = Identity::self_signed(&["server"]).unwrap();
    let trust = Trust::Exactly(identity.chain[0].clone());
    let crypto = ClientCrypto::Tls(ClientConfig::new(trust, ALPN, Ciphers::All).unwrap());
    let of_server = ServerCrypto::Tls(ServerConfig::new(identity, ALPN, Ciphers::All).unwrap());
    let socket = Socket::bind(server).unwrap();
    let port = socket.local_addr().unwrap().port();
    let given = thread::spawn(move || {
        let engine = Engine::new(socket, Clock::new(), endpoint(Some(of_server), datagram));
        let mut engine = if bursts { engine } else { engine.without_bursts() };
        let mut giver = Giver { over: false, until, too_large: Vec::new() };
        engine.run(&mut giver).unwrap();
        (*engine.tally(), giver.too_large)
    });
    let socket = Socket::bind(SocketAddr::new(client, 0)).unwrap();
    let local = socket.local_addr().unwrap();
    let mut engine = Engine::new(socket, Clock::new(), endpoint(None, datagram));
    let now = engine.clock().now();
    engine.endpoint.connect(now, &crypto, "server", (local, SocketAddr::new(to, port)), b"").unwrap();
    let mut taker = Taker::new(until);
    engine.run(&mut taker).unwrap();
    let (of_server, too_large) = given.join().unwrap();
    (taker.at, [*engine.tally(), of_server], too_large)
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

/// All segments of a burst are one payload for the kernel, which takes as many bytes of them as a datagram has. None leaves shorter than it need be.
#[test]
fn large_datagrams() {
    // Over IPv6 what the loopback interface takes: 65 536 bytes with the headers.
    for (ip, datagram) in [(V4, 9000), (V6, 9000), (V4, 40_000), (V4, 65_507), (V6, 65_488)] {
        let [client, server] = transfer_of(SocketAddr::new(ip, 0), ip, ip, true, datagram);
        assert_eq!((client.refused, server.refused), (0, 0), "{ip} {datagram}");
        // Beside the data: handshake, acknowledgements, and what the client's window cuts.
        assert!(server.sent < BYTES / (datagram - 100) + 40, "{ip} {datagram}: {server:?}");
    }
}

/// Over IPv6 the loopback interface takes 65 488 bytes beside the headers. The program hears of it, once, and is not called for nothing.
#[test]
fn larger_than_the_interface_takes() {
    let (at, [_, server], too_large) =
        try_transfer(SocketAddr::new(V6, 0), V6, V6, true, 65_489, Time::from_millis(1000));
    assert_eq!((at, too_large), (0, vec![(V6, 65_489)]));
    assert!(server.refused > 1, "{server:?}");
}

/// The kernel's ICMP message reaches the program.
#[test]
fn a_closed_port() {
    let closed = Socket::bind(SocketAddr::new(V4, 0)).unwrap().local_addr().unwrap();
    let socket = Socket::bind(SocketAddr::new(V4, 0)).unwrap();
    let local = socket.local_addr().unwrap();
    let mut engine = Engine::new(socket, Clock::new(), endpoint(None, 1200));
    let crypto = ClientCrypto::Plain { tag_len: 16 };
    let now = engine.clock().now();
    engine.endpoint.connect(now, &crypto, "server", (local, closed), b"").unwrap();
    let mut taker = Taker::new(LONG);
    engine.run(&mut taker).unwrap();
    assert_eq!(taker.refused, Some(V4));
    assert!(engine.clock().now() < Time::ZERO + Duration::from_secs(5));
}
