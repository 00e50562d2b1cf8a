//! Peers that exceed limits.

use std::cell::RefCell;
use std::rc::Rc;

use ackclock_transfer::{FetchRequest, Protocol, ServeConfig};
use quic::config::{Config, EndpointConfig};
use quic::connection::{Close, Ended, Event};
use quic::connection::{Settings, State};
use quic::crypto::ClientCrypto;
use quic::endpoint::EndpointSettings;
use quic::endpoint::{Endpoint, Handle, Program};
use quic::streams::WindowConfig;
use quic::streams::{StreamEvent, StreamId};
use quic::wire::Direction;
use units::{Bytes, Duration, Time};

use crate::world::*;

/// Clients beyond the largest number of connections are refused.
#[test]
fn a_full_server() {
    let config = ServeConfig { connections: 2, ..ServeConfig::default() };
    let mut world = World::new(&[("a", &noise(3_000_000, 1))], config);
    let clients = [(); 3].map(|()| world.fetch(Protocol::Http3, &["/a"]));
    assert!(world.finish(ms(20_000)));
    let done = clients.iter().filter(|client| world.ends_of(**client) == ["done"]).count();
    assert_eq!(done, 2);
    let trouble = clients.iter().find_map(|client| world.clients[*client].error()).unwrap();
    assert!(trouble.to_string().contains("CONNECTION_REFUSED"), "{trouble}");
}

/// A host has at most its number of connections, whatever the others leave free.
#[test]
fn a_host_with_many_connections() {
    let config = ServeConfig { connections_per_host: 2, ..ServeConfig::default() };
    let mut world = World::new(&[("a", &noise(3_000_000, 1))], config);
    let clients = [(); 3].map(|()| world.fetch(Protocol::Http3, &["/a"]));
    assert!(world.finish(ms(20_000)));
    let done = |world: &World| clients.iter().filter(|client| world.ends_of(**client) == ["done"]).count();
    assert_eq!(done(&world), 2);
    let trouble = clients.iter().find_map(|client| world.clients[*client].error()).unwrap();
    assert!(trouble.to_string().contains("CONNECTION_REFUSED"), "{trouble}");
    // Their places are free at once, though the state of closing connections stays for a while.
    for _ in 0..5 {
        assert!((1..=2).contains(&world.ends[1].len()));
        let later = world.fetch(Protocol::Http3, &["/a"]);
        assert!(world.finish(world.now + Duration::from_secs(5)));
        assert_eq!(world.ends_of(later), ["done"]);
    }
    assert!(world.run(ms(60_000), |world| world.ends[1].is_empty()));
}

fn connect(world: &mut World) -> Handle {
    let ends = ("10.0.0.1:4000".parse().unwrap(), "10.0.0.2:443".parse().unwrap());
    let crypto = ClientCrypto::Plain { tag_len: 16 };
    world.ends[0].connect(world.now, &crypto, "server", ends, b"").unwrap()
}

/// Each of many clients at once is served or refused. No answer is lost.
#[test]
fn a_crowd() {
    let config = ServeConfig { connections: 50, connections_per_host: 50, ..ServeConfig::default() };
    let mut world = World::new(&[("a", b"alpha")], config);
    let clients: Vec<usize> = (0..200).map(|_| world.fetch(Protocol::Hq, &["/a"])).collect();
    assert!(world.finish(ms(5000)));
    assert_eq!(world.ends[1].dropped().dropped, 0);
    let done = clients.iter().filter(|client| world.ends_of(**client) == ["done"]).count();
    assert!((50..200).contains(&done), "{done}");
    let errors = clients.iter().filter_map(|client| world.clients[*client].error());
    let errors: Vec<String> = errors.map(ToString::to_string).collect();
    assert_eq!(done + errors.len(), 200);
    assert!(errors.iter().all(|error| error.contains("CONNECTION_REFUSED")), "{errors:?}");
}

/// A first datagram that closes its connection leaves nothing behind. The server can end.
#[test]
fn a_close_in_the_first_datagram() {
    let mut world = World::new(&[("a", b"alpha")], ServeConfig::default());
    for _ in 0..30 {
        let (handle, now) = (connect(&mut world), world.now);
        world.ends[0].connection_mut(handle).unwrap().close(now, 0, b"");
    }
    world.run(ms(100), |_| false);
    assert!(!world.ends[1].is_empty());
    world.server.shutdown_handle().shut_down();
    assert!(world.run(ms(12_000), |world| world.server.is_done(&world.ends[1])));
}

/// A handshake that does not end loses its place after ten seconds, though its client is alive.
#[test]
fn a_handshake_without_end() {
    let mut world = World::new(&[], ServeConfig::default());
    connect(&mut world);
    assert!(world.run(ms(1000), |world| world.ends[1].len() == 1));
    world.loss = 1.0;
    let open = |world: &World| {
        let handle = world.ends[1].handles().next();
        let connection = handle.and_then(|handle| world.ends[1].connection(handle));
        connection.is_some_and(|connection| connection.state() == State::Open)
    };
    world.run(ms(9900), |_| false);
    assert!(open(&world));
    world.run(ms(10_200), |_| false);
    assert!(!open(&world));
}

/// The server looks at a client as often whether it is alone or beside idle ones.
#[test]
fn idle_clients_cost_nothing() {
    let looks = |idle: usize| {
        let config = ServeConfig { connections: 200, connections_per_host: 200, ..ServeConfig::default() };
        let mut world = World::new(&[("a", &noise(300_000, 1))], config);
        (0..idle).for_each(|_| {
            connect(&mut world);
        });
        world.run(ms(2000), |_| false);
        let before = world.server.looks();
        let client = world.fetch(Protocol::Http3, &["/a"]);
        assert!(world.finish(ms(10_000)));
        assert_eq!(world.ends_of(client), ["done"]);
        assert_eq!(world.ends[1].len(), idle + 1);
        world.server.looks() - before
    };
    assert_eq!(looks(0), looks(100));
}

/// Requests many files on each connection, and allows one byte of each.
struct Staller {
    requests: usize,
}

impl Program for Staller {
    fn on_event(&mut self, _: Time, endpoint: &mut Endpoint, handle: Handle, event: Event) {
        if event != Event::Connected {
            return;
        }
        let Some(connection) = endpoint.connection_mut(handle) else { return };
        for _ in 0..self.requests {
            let id = connection.open(Direction::Bidirectional).unwrap();
            connection.write(id, b"GET /a\r\n").unwrap();
            connection.finish(id).unwrap();
        }
    }

    fn run(&mut self, _: Time, _: &mut Endpoint) {}

    fn deadline(&self) -> Time {
        Time::NEVER
    }

    fn is_done(&self, _: &Endpoint) -> bool {
        false
    }
}

/// Clients that stall their requests, one after another, do not hold more than the memory of all
/// together. A client that comes later is served.
#[test]
fn memory_of_many_who_stall() {
    const MEMORY: usize = 1 << 20;
    let config = ServeConfig { memory: Bytes(MEMORY as u64), connections: 9, ..ServeConfig::default() };
    let mut world = World::new(&[("a", &noise(600_000, 1)), ("b", &noise(100_000, 2))], config);
    let window = WindowConfig { initial: 1, max: 1 };
    let connection = Config { stream_window: window, ..Config::default() };
    let settings = EndpointSettings {
        config: EndpointConfig { connection, ..EndpointConfig::default() },
        connection: Settings::default(),
        crypto: None,
    };
    world.ends[0] = Endpoint::new(settings, 1).unwrap();
    world.others[0] = Some(Box::new(Staller { requests: 10 }));
    for _ in 0..8 {
        connect(&mut world);
        let until = world.now + Duration::from_millis(200);
        world.run(until, |_| false);
    }
    let handles: Vec<Handle> = world.ends[1].handles().collect();
    let mut held = |handle| world.ends[1].connection_mut(handle).map_or(0, |c| c.streams().unacknowledged());
    let held: usize = handles.into_iter().map(&mut held).sum();
    assert!((MEMORY / 2..=MEMORY).contains(&held), "{held}");
    assert!((held..=MEMORY).contains(&world.server.held()), "{}", world.server.held());
    // Those that close keep no data, though their state stays for a while.
    let now = world.now;
    let closing: Vec<Handle> = world.ends[0].handles().collect();
    closing[..4].iter().for_each(|client| world.ends[0].connection_mut(*client).unwrap().close(now, 0, b""));
    world.run(now + Duration::from_millis(50), |_| false);
    let handles: Vec<Handle> = world.ends[1].handles().collect();
    let of_one = |handle| world.ends[1].connection_mut(handle).unwrap().streams().memory_to_send();
    let held: Vec<usize> = handles.into_iter().map(of_one).collect();
    assert_eq!((held.len(), held.iter().filter(|held| **held == 0).count()), (8, 4), "{held:?}");
    assert!(held.iter().sum::<usize>() <= world.server.held());
    world.ends[0] = client_endpoint(Protocol::Http3);
    world.others[0] = None;
    let client = world.fetch(Protocol::Http3, &["/b"]);
    assert!(world.finish(world.now + Duration::from_secs(10)));
    assert_eq!(world.ends_of(client), ["done"]);
    // All goes with the connections.
    assert!(world.run(ms(200_000), |world| world.ends[1].is_empty()));
    assert_eq!(world.server.held(), 0);
}

/// Retry for every client, and for every client beyond a quarter of all connections or of a host's.
#[test]
fn retry() {
    let config = ServeConfig::default;
    for (config, expected) in [
        (ServeConfig { retry: true, ..config() }, 3),
        (ServeConfig { connections: 7, ..config() }, 2),
        (ServeConfig { connections_per_host: 7, ..config() }, 2),
        (ServeConfig { connections_per_host: 3, ..config() }, 3),
        (config(), 0),
    ] {
        let mut world = World::new(&[("a", b"alpha")], config);
        let clients = [(); 3].map(|()| world.fetch(Protocol::Hq, &["/a"]));
        assert!(world.finish(ms(20_000)));
        assert!(clients.iter().all(|client| world.ends_of(*client) == ["done"]));
        let answered = world.ends[1].dropped().answered;
        assert_eq!(answered, expected);
    }
}

/// A client that requests many files and goes silent costs no more memory than its share.
#[test]
fn memory_of_who_does_not_read() {
    let bytes = noise(600_000, 1);
    let config = ServeConfig { memory: Bytes(1 << 20), ..ServeConfig::default() };
    let mut world = World::new(&[("a", &bytes)], config);
    let paths = ["/a"; 50];
    let client = world.fetch(Protocol::Http3, &paths);
    assert!(world.run(ms(10_000), |world| world.clients[client].progress().bytes() > 100_000));
    world.loss = 1.0;
    world.run(ms(12_000), |_| false);
    let handle = world.ends[1].handles().next().unwrap();
    let held = world.ends[1].connection_mut(handle).unwrap().streams().unacknowledged();
    assert!(held <= 1 << 20, "{held}");
    world.loss = 0.0;
    assert!(world.finish(ms(120_000)), "{:?}", world.ends_of(client));
    assert!(world.ends_of(client).iter().all(|end| end == "done"));
}

/// Writes a beginning on a stream, and then either zeros without end or the end of the stream.
struct Talker {
    begins: Vec<u8>,
    /// Streams in use.
    on: Vec<(Handle, StreamId)>,
    said: Rc<RefCell<(usize, Option<Ended>)>>,
    opens: bool,
    ends: bool,
}

impl Talker {
    fn talk(&mut self, endpoint: &mut Endpoint) {
        for (handle, id) in &self.on {
            let Some(connection) = endpoint.connection_mut(*handle) else { continue };
            if self.ends {
                let _ = connection.finish(*id);
                continue;
            }
            while let Ok(len @ 1..) = connection.write(*id, &[0; 10_000]) {
                self.said.borrow_mut().0 += len;
            }
        }
    }
}

impl Program for Talker {
    fn on_event(&mut self, _: Time, endpoint: &mut Endpoint, handle: Handle, event: Event) {
        let Some(connection) = endpoint.connection_mut(handle) else { return };
        let stream = match &event {
            Event::Incoming => {
                endpoint.accept(handle);
                None
            }
            Event::Connected if self.opens => connection.open(Direction::Bidirectional),
            Event::Stream(StreamEvent::Opened(Direction::Bidirectional)) => {
                connection.accept_stream(Direction::Bidirectional)
            }
            _ => None,
        };
        if let (Some(id), Some(connection)) = (stream, endpoint.connection_mut(handle)) {
            connection.write(id, &self.begins).unwrap();
            self.on.push((handle, id));
        }
        if let Event::Ended(ended) = event {
            self.said.borrow_mut().1.get_or_insert(ended);
        }
        self.talk(endpoint);
    }

    fn run(&mut self, _: Time, _: &mut Endpoint) {}

    fn deadline(&self) -> Time {
        Time::NEVER
    }

    fn is_done(&self, _: &Endpoint) -> bool {
        false
    }
}

/// A HEADERS frame of a gigabyte (RFC 9114 section 7.2.2).
const FIELDS: [u8; 9] = [1, 0xc0, 0, 0, 0, 0x40, 0, 0, 0];
/// Head of a response: a HEADERS frame with QPACK's static `:status 200` (RFC 9204, appendix A).
const ANSWER: [u8; 5] = [1, 3, 0, 0, 0xc0 | 25];

const EXCESSIVE_LOAD: u64 = 0x107;

/// A client whose request does not end is stopped early, in both protocols.
#[test]
fn an_endless_request() {
    for (protocol, begins) in [(Protocol::Http3, &FIELDS[..]), (Protocol::Hq, b"GET /")] {
        let mut world = World::new(&[], ServeConfig::default());
        world.ends[0] = client_endpoint(protocol);
        let said = Rc::default();
        let (on, said_too) = (Vec::new(), Rc::clone(&said));
        let talker = Talker { begins: begins.to_vec(), on, said: said_too, opens: true, ends: false };
        world.others[0] = Some(Box::new(talker));
        let ends = ("10.0.0.1:4000".parse().unwrap(), "10.0.0.2:443".parse().unwrap());
        let crypto = ClientCrypto::Plain { tag_len: 16 };
        world.ends[0].connect(world.now, &crypto, "server", ends, b"").unwrap();
        world.run(ms(5000), |_| false);
        let (_, ended) = said.borrow().clone();
        match protocol {
            Protocol::Http3 => {
                let over = |ended| {
                    matches!(ended, Some(Ended::Peer(Close::Application { error: EXCESSIVE_LOAD, .. })))
                };
                assert!(over(ended.clone()), "{ended:?}");
            }
            // Only the stream is reset.
            Protocol::Hq => assert!(ended.is_none(), "{ended:?}"),
        }
        let handle = world.ends[1].handles().next();
        let memory = handle
            .and_then(|handle| world.ends[1].connection(handle))
            .map_or(0, quic::connection::Connection::memory);
        assert!(memory < 200_000, "{memory}");
    }
}

/// A server sends a field section without end, before the body or after it.
#[test]
fn an_endless_answer() {
    let data: Vec<u8> = [&ANSWER[..], &[0, 4, 1, 2, 3, 4], &FIELDS].concat();
    for (begins, most) in [(FIELDS.to_vec(), 1_000_000), (data, 3_000_000)] {
        let mut world = World::new(&[], ServeConfig::default());
        let said = Rc::default();
        let (on, said_too) = (Vec::new(), Rc::clone(&said));
        let talker = Talker { begins, on, said: said_too, opens: false, ends: false };
        world.others[1] = Some(Box::new(talker));
        let client = world.fetch(Protocol::Http3, &["/a"]);
        assert!(world.finish(ms(20_000)));
        assert_ne!(world.ends_of(client), ["done"]);
        let handle = world.ends[0].handles().next().unwrap();
        let received = world.ends[0].connection(handle).unwrap().counts().bytes_received;
        assert!(received < most, "{received}");
        assert!(world.names().is_empty());
        let until = world.now + units::Duration::from_secs(1);
        world.run(until, |_| false);
        let (_, ended) = said.borrow().clone();
        let over = matches!(ended, Some(Ended::Peer(Close::Application { error: EXCESSIVE_LOAD, .. })));
        assert!(over, "{ended:?} {:?}", world.ends_of(client));
    }
}

/// A server need not support ranges (RFC 9110 section 14.2). The client notices that the file is
/// whole.
#[test]
fn a_server_without_ranges() {
    for range in [None, Some("bytes=1-1".to_owned())] {
        let mut world = World::new(&[], ServeConfig::default());
        let begins = [&ANSWER[..], &[0, 3], b"abc"].concat();
        let talker = Talker { begins, on: Vec::new(), said: Rc::default(), opens: false, ends: true };
        world.others[1] = Some(Box::new(talker));
        let (out, asked) = (world.out("a"), range.is_some());
        let (authority, path) = ("server".to_owned(), "/a".to_owned());
        let wanted = FetchRequest { number: 0, authority, path, range, out };
        let client = world.fetch_all(Protocol::Http3, vec![wanted]);
        assert!(world.finish(ms(20_000)));
        assert_eq!(world.ends_of(client), ["done"]);
        assert_eq!(std::fs::read(world.out("a")).unwrap(), b"abc");
        world.clients[client].progress().with_items(|items| assert_eq!(items[0].whole, asked));
    }
}

/// A client that requests nothing, or does not read the response, but sends PING every second. Its
/// connection is closed nevertheless.
struct Holder {
    asks: bool,
    /// Bytes to read per second.
    reads: usize,
    stream: Option<StreamId>,
    ended: Rc<RefCell<Option<Time>>>,
    next: Time,
    handle: Option<Handle>,
}

impl Program for Holder {
    fn on_event(&mut self, now: Time, endpoint: &mut Endpoint, handle: Handle, event: Event) {
        match event {
            Event::Connected => {
                let connection = endpoint.connection_mut(handle).unwrap();
                self.handle = Some(handle);
                if self.asks {
                    let id = connection.open(Direction::Bidirectional).unwrap();
                    connection.write(id, b"GET /a\r\n").unwrap();
                    connection.finish(id).unwrap();
                    self.stream = Some(id);
                }
            }
            Event::Ended(_) => *self.ended.borrow_mut() = Some(now),
            _ => {}
        }
    }

    fn run(&mut self, now: Time, endpoint: &mut Endpoint) {
        if now >= self.next {
            self.next = now + units::Duration::from_secs(1);
            if let Some(connection) = self.handle.and_then(|handle| endpoint.connection_mut(handle)) {
                connection.ping();
                if let Some(id) = self.stream.filter(|_| self.reads > 0) {
                    let _ = connection.read(now, id, &mut vec![0; self.reads]);
                }
            }
        }
    }

    fn deadline(&self) -> Time {
        self.next
    }

    fn is_done(&self, _: &Endpoint) -> bool {
        false
    }
}

#[test]
fn a_client_that_holds_on() {
    // The last client is slow but makes progress.
    for (asks, reads) in [(false, 0), (true, 0), (true, 30_000)] {
        let mut world = World::new(&[("a", &noise(3_000_000, 1))], ServeConfig::default());
        world.ends[0] = client_endpoint(Protocol::Hq);
        let ended = Rc::default();
        let holder =
            Holder { asks, reads, stream: None, ended: Rc::clone(&ended), next: Time::ZERO, handle: None };
        world.others[0] = Some(Box::new(holder));
        let ends = ("10.0.0.1:4000".parse().unwrap(), "10.0.0.2:443".parse().unwrap());
        let crypto = ClientCrypto::Plain { tag_len: 16 };
        world.ends[0].connect(world.now, &crypto, "server", ends, b"").unwrap();
        world.run(ms(80_000), |_| false);
        match *ended.borrow() {
            Some(ended) => assert!(reads == 0 && (ms(60_000)..ms(62_000)).contains(&ended), "{ended:?}"),
            None => assert!(reads > 0, "{asks}"),
        }
    }
}
