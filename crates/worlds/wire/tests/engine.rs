//! Two endpoints in two threads, over this machine's loopback interface.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "real time")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::thread;

use ackclock_wire::udp::{Clock, Counters, Engine, Socket};
use quic::config::{Config, EndpointConfig};
use quic::connection::{Event, Settings, State};
use quic::crypto::tls::{Ciphers, ClientConfig, Identity, ServerConfig, Trust};
use quic::crypto::{ClientCrypto, ServerCrypto};
use quic::endpoint::{Endpoint, EndpointSettings, Handle, Program};
use quic::random::Random;
use quic::streams::{Read, StreamEvent, pattern};
use quic::wire::Direction;
use units::{Bytes, Time};

const BYTES: u64 = 5_000_000;
/// Timeout that is long enough on any machine.
const LONG: Time = Time::from_millis(120_000);
const ALPN: &[&[u8]] = &[b"hq-interop"];

/// Answers each stream with the pattern. Done when its only client is gone.
struct Giver {
    over: bool,
    until: Time,
    too_large: Vec<(IpAddr, usize)>,
    /// Packets that were retransmitted, or sent as probes.
    repeats: u64,
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

    fn run(&mut self, now: Time, endpoint: &mut Endpoint) {
        self.over |= now >= self.until;
        let stats = endpoint.handles().filter_map(|h| Some(endpoint.connection(h)?.sender().stats().clone()));
        let repeats = stats.map(|stats| stats.retransmissions + 2 * stats.timeouts).sum();
        self.repeats = self.repeats.max(repeats);
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

fn transfer(server: SocketAddr, client: IpAddr, to: IpAddr, bursts: bool) -> [Counters; 2] {
    transfer_of(server, client, to, bursts, 1200).0
}

/// Returns the counters of client and server, and the packets that the server has repeated.
fn transfer_of(
    server: SocketAddr,
    client: IpAddr,
    to: IpAddr,
    bursts: bool,
    datagram: u64,
) -> ([Counters; 2], u64) {
    let (at, counters, giver) = try_transfer(server, client, to, bursts, datagram, LONG);
    assert_eq!((at, giver.too_large), (BYTES, Vec::new()), "{datagram} {counters:?}");
    (counters, giver.repeats)
}

/// Returns the received bytes at time `until`, the counters of both ends, and the server's program.
fn try_transfer(
    server: SocketAddr,
    client: IpAddr,
    to: IpAddr,
    bursts: bool,
    datagram: u64,
    until: Time,
) -> (u64, [Counters; 2], Giver) {
    let identity = Identity::self_signed(&["server"]).unwrap();
    let trust = Trust::Exactly(identity.chain[0].clone());
    let crypto = ClientCrypto::Tls(ClientConfig::new(trust, ALPN, Ciphers::All).unwrap());
    let of_server = ServerCrypto::Tls(ServerConfig::new(identity, ALPN, Ciphers::All).unwrap());
    let socket = Socket::bind(server).unwrap();
    let port = socket.local_addr().unwrap().port();
    let given = thread::spawn(move || {
        let engine = Engine::new(socket, Clock::new(), endpoint(Some(of_server), datagram));
        let mut engine = if bursts { engine } else { engine.without_bursts() };
        let mut giver = Giver { over: false, until, too_large: Vec::new(), repeats: 0 };
        engine.run(&mut giver).unwrap();
        (*engine.counters(), giver)
    });
    let socket = Socket::bind(SocketAddr::new(client, 0)).unwrap();
    let local = socket.local_addr().unwrap();
    let mut engine = Engine::new(socket, Clock::new(), endpoint(None, datagram));
    let now = engine.clock().now();
    engine.endpoint.connect(now, &crypto, "server", (local, SocketAddr::new(to, port)), b"").unwrap();
    let mut taker = Taker::new(until);
    engine.run(&mut taker).unwrap();
    let (of_server, giver) = given.join().unwrap();
    (taker.at, [*engine.counters(), of_server], giver)
}

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// Reports whether this machine has IPv6, and says so if not.
fn has_ipv6() -> bool {
    let has = std::net::UdpSocket::bind((V6, 0)).is_ok();
    if !has {
        println!("skipped: this machine has no IPv6");
    }
    has
}

/// Reports whether an IPv6 socket receives IPv4, and says so if not.
fn is_dual() -> bool {
    let only = std::fs::read_to_string("/proc/sys/net/ipv6/bindv6only").is_ok_and(|text| text.trim() == "1");
    if only {
        println!("skipped: net.ipv6.bindv6only is set");
    }
    !only
}

/// Reports whether the loopback interface takes packets of 65 536 bytes, and says so if not.
fn takes_large() -> bool {
    let takes = std::fs::read_to_string("/sys/class/net/lo/mtu").is_ok_and(|text| text.trim() == "65536");
    if !takes {
        println!("skipped: the loopback interface has another MTU than 65536");
    }
    takes
}

/// Transfers every byte over IPv4, over IPv6, and with a dual-stack server.
#[test]
fn a_transfer() {
    let any = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    let mut ways = vec![(V4, V4, V4)];
    if has_ipv6() {
        ways.extend([(V6, V6, V6), (any, V6, V6)]);
        ways.extend(is_dual().then_some((any, V4, V4)));
    }
    for (server, client, to) in ways {
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

/// All segments of a burst are one payload for the kernel, which takes as many bytes of them as of
/// one datagram. No datagram is shorter than necessary.
#[test]
fn large_datagrams() {
    // Over IPv6 the loopback interface takes 65 536 bytes with the headers.
    if !takes_large() {
        return;
    }
    let mut sizes = vec![(V4, 9000), (V4, 40_000), (V4, 65_507)];
    if has_ipv6() {
        sizes.extend([(V6, 9000), (V6, 65_488)]);
    }
    for (ip, datagram) in sizes {
        let ([client, server], repeats) = transfer_of(SocketAddr::new(ip, 0), ip, ip, true, datagram);
        assert_eq!((client.refused, server.refused), (0, 0), "{ip} {datagram}");
        // Besides the data: handshake, acknowledgements, and datagrams that the client's window
        // limits.
        assert!(
            server.sent < BYTES / (datagram - 100) + 40 + repeats,
            "{ip} {datagram}: {server:?}, {repeats}"
        );
    }
}

/// Over IPv6 the loopback interface takes 65 488 bytes besides the headers. The program is told
/// once, and is not called in vain.
#[test]
fn larger_than_the_interface_takes() {
    if !has_ipv6() || !takes_large() {
        return;
    }
    let (at, [_, server], giver) =
        try_transfer(SocketAddr::new(V6, 0), V6, V6, true, 65_489, Time::from_millis(5000));
    assert_eq!((at, giver.too_large), (0, vec![(V6, 65_489)]));
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
}
