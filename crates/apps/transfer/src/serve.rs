//! The server: accepts connections, bounds their memory, and shuts down.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use quic::Side;
use quic::config::{Config, EndpointConfig, RetryPolicy};
use quic::connection::{Connection, Event, State, Tap};
use quic::endpoint::{Endpoint, Handle, Program};
use quic::streams::WindowConfig;
use units::{Bytes, Duration, Time};

use crate::h3::server as http3;
use crate::hq;
use crate::job::{Job, Log};
use crate::memory::Memory;
use crate::meter::{Meter, TapPair, with_receive_times};
use crate::root::Root;
use crate::session::{Ringing, Session};
use crate::tasks::{Pool, Signal};

/// Interval between two checks for a shutdown request.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Window of a connection for received data, in bytes. Requests are short.
const WINDOW: u64 = 128 << 10;
/// Largest number of unidirectional streams of a client. HTTP/3 needs three, and more for tests of
/// unknown types (RFC 9114 section 6.2).
const UNIDIRECTIONAL: u64 = 8;
/// Largest memory of a connection besides requests and file data, in bytes: received data (128
/// KiB, and a page of 4 KiB for each of 108 streams), control frames of HTTP/3 (256 KiB),
/// measurements of the path (320 KiB), and the state of QUIC, of TLS and of each stream.
const PER_CONNECTION: u64 = 2 << 20;

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// Largest number of connections. Further clients are refused.
    pub connections: usize,
    /// Largest number of connections of one host: an IPv4 address, or a /64 of IPv6. Further ones
    /// are refused.
    pub connections_per_host: usize,
    /// True to validate the address of every client with a Retry packet. Otherwise the server does
    /// so while incomplete handshakes take a quarter of all connections, or of a host's.
    pub retry: bool,
    /// Memory that all connections together may use for requests and for file data that is not
    /// acknowledged. Each connection may use at least 4 KiB.
    pub memory: Bytes,
    /// Time after which a handshake that is not complete is given up.
    pub handshake: Duration,
    /// Time after which a connection without progress is closed, even if its client is alive.
    pub patience: Duration,
    /// Time that running requests have to finish after a shutdown request.
    pub grace: Duration,
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            connections: 100,
            connections_per_host: 50,
            retry: false,
            memory: Bytes(256 << 20),
            handshake: Duration::from_secs(10),
            patience: Duration::from_secs(60),
            grace: Duration::from_secs(10),
        }
    }
}

impl ServeConfig {
    /// Returns the endpoint's settings: both protocols, and small windows because requests are
    /// short.
    pub fn endpoint(&self, connection: &Config) -> EndpointConfig {
        let window = |initial, max| WindowConfig { initial, max };
        // Anybody can send first packets in the name of a host. They take at most a quarter of its
        // places, and the others are for clients that answer a Retry. A quarter of fewer than four
        // is none.
        let busy = RetryPolicy::From { all: self.connections / 4, of_host: self.connections_per_host / 4 };
        EndpointConfig {
            connection: Config {
                data_window: window(WINDOW, WINDOW),
                stream_window: window(64 << 10, 64 << 10),
                unidirectional_streams: UNIDIRECTIONAL,
                ..with_receive_times(connection)
            },
            alpn: vec![http3::ALPN.to_vec(), hq::ALPN.to_vec()],
            accepts: true,
            retry: if self.retry { RetryPolicy::Always } else { busy },
            connections: Some(self.connections),
            connections_per_host: Some(self.connections_per_host),
            unaccepted: self.connections.clamp(1, 1 << 16),
            ..EndpointConfig::default()
        }
    }

    /// Returns the largest amount of memory that all connections together use, even of hostile
    /// clients.
    pub fn memory_bound(&self) -> Bytes {
        let data = Memory::new(self.memory.0, self.connections).bound(self.connections);
        Bytes((data as u64).saturating_add(PER_CONNECTION.saturating_mul(self.connections as u64)))
    }
}

/// Handle that shuts the server down: gracefully on the first call, at once on the second.
#[derive(Clone, Debug, Default)]
pub struct ShutdownHandle(Arc<AtomicU32>);

impl ShutdownHandle {
    /// Requests the shutdown.
    pub fn shut_down(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn times(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Constructor of a tap for the connection of a peer, if it gets one.
type MakeTap = Box<dyn Fn(SocketAddr) -> Option<Box<dyn Tap>>>;

struct Client {
    session: Session,
    running: Rc<Cell<usize>>,
    stop: Signal,
    /// Time at which data was last read, written or acknowledged.
    moved: Time,
    /// Amount of unacknowledged data at that time, in bytes.
    unacknowledged: usize,
    /// Memory that counts for the connection, in bytes.
    held: usize,
    /// Error code for a close without an error.
    no_error: u64,
}

/// Stage of the server's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Serving,
    /// Running requests may finish until the given time.
    Finishing(Time),
    Over,
}

/// Serves files, as a [`Program`] over an endpoint that accepts connections.
///
/// A pass of the loop only looks at connections that have something to do: those with an event, an
/// ACK, a task that went on, or a time that has come.
pub struct Server {
    config: ServeConfig,
    root: Root,
    pool: Pool,
    clients: BTreeMap<Handle, Client>,
    /// Meters of connections whose handshake is incomplete. They count from the first packet.
    handshakes: BTreeMap<Handle, Meter>,
    /// Clients that have something to do.
    ringing: Ringing,
    /// Time at which a handshake must be complete, or a client must have moved. Those of
    /// connections that have ended stay until then.
    deadlines: BTreeSet<(Time, Handle)>,
    memory: Memory,
    /// Number of times that a client was looked at.
    looks: u64,
    shutdown: ShutdownHandle,
    stage: Stage,
    log: Log,
    tap: Option<MakeTap>,
    due: Time,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("clients", &self.clients.len()).finish_non_exhaustive()
    }
}

impl Server {
    /// Creates a server of the files below `root`.
    pub fn new(config: ServeConfig, root: Root) -> Self {
        Self {
            memory: Memory::new(config.memory.0, config.connections),
            config,
            root,
            pool: Pool::default(),
            clients: BTreeMap::new(),
            handshakes: BTreeMap::new(),
            ringing: Ringing::default(),
            deadlines: BTreeSet::new(),
            looks: 0,
            shutdown: ShutdownHandle::default(),
            stage: Stage::Serving,
            log: Log::default(),
            tap: None,
            due: Time::ZERO,
        }
    }

    /// Adds a tap to connections, from the completion of their handshakes.
    #[must_use]
    pub fn with_tap(mut self, tap: impl Fn(SocketAddr) -> Option<Box<dyn Tap>> + 'static) -> Self {
        self.tap = Some(Box::new(tap));
        self
    }

    /// Returns a handle that shuts the server down.
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        self.shutdown.clone()
    }

    /// Returns the log of answered requests.
    pub const fn log(&self) -> &Log {
        &self.log
    }

    /// Returns how often a client was looked at so far.
    pub const fn looks(&self) -> u64 {
        self.looks
    }

    /// Returns the memory that counts against [`ServeConfig::memory`], in bytes.
    pub const fn held(&self) -> usize {
        self.memory.held()
    }

    fn connected(&mut self, now: Time, endpoint: &mut Endpoint, handle: Handle) {
        endpoint.accept(handle);
        let Some(connection) = endpoint.connection_mut(handle) else { return };
        let (_, peer) = connection.addresses();
        let http3 = connection.session().alpn() != Some(hq::ALPN);
        let (no_error, abandoned) =
            if http3 { (http3::NO_ERROR, http3::CANCELLED) } else { (hq::NO_ERROR, hq::NO_ERROR) };
        let bell = self.ringing.bell(handle);
        let session = Session::new(Side::Server, abandoned, Some(http3::MAX_REQUEST)).with_bell(bell.clone());
        let (running, stop) = (Rc::new(Cell::new(0)), Signal::default());
        let meter = self.handshakes.remove(&handle).unwrap_or_default();
        let mut tap: Box<dyn Tap> = Box::new(TapPair(meter.tap(), Box::new(bell)));
        if let Some(more) = self.tap.as_ref().and_then(|make| make(peer)) {
            tap = Box::new(TapPair(tap, more));
        }
        connection.set_tap(tap);
        let job = Job {
            session: session.clone(),
            peer,
            root: self.root.clone(),
            stop: stop.clone(),
            spawner: self.pool.spawner(),
            log: self.log.clone(),
            meter: meter.clone(),
            running: Rc::clone(&running),
        };
        match http3 {
            true => job.task(http3::serve(job.clone())),
            false => job.task(hq::serve(job.clone())),
        }
        self.deadlines.insert((now + self.config.patience, handle));
        let (unacknowledged, held) = (0, 0);
        let client = Client { session, running, stop, moved: now, unacknowledged, held, no_error };
        self.clients.insert(handle, client);
        self.ringing.add(handle);
    }

    /// Runs tasks, and pumps connections that have something to do, until there are none.
    fn move_all(&mut self, now: Time, endpoint: &mut Endpoint) {
        loop {
            self.pool.run();
            let ringing = self.ringing.take();
            if ringing.is_empty() {
                return;
            }
            for handle in ringing {
                self.look_at(now, endpoint, handle);
            }
        }
    }

    fn look_at(&mut self, now: Time, endpoint: &mut Endpoint, handle: Handle) {
        let Some(client) = self.clients.get_mut(&handle) else { return };
        self.looks += 1;
        let mut connection = endpoint.connection_mut(handle);
        // The state of a closing connection stays for a while. Its data does not count any more.
        connection.iter_mut().for_each(|connection| connection.discard_streams());
        let Some(connection) = connection.filter(|connection| connection.state() == State::Open) else {
            client.session.on_gone();
            self.memory.change(client.held, 0);
            self.clients.remove(&handle);
            return;
        };
        let over = match self.stage {
            Stage::Serving => false,
            Stage::Finishing(_) => client.running.get() == 0 && client.session.sending() == 0,
            Stage::Over => true,
        };
        if over {
            client.session.close(client.no_error, b"the server ends");
            // It is looked at once more, and removed.
            self.ringing.add(handle);
        }
        client.pump(now, connection, &mut self.memory);
    }

    /// Closes connections whose time has come: incomplete handshakes, and clients that do not move.
    fn expire(&mut self, now: Time, endpoint: &mut Endpoint) {
        while let Some((_, handle)) = self.deadlines.first().copied().filter(|(due, _)| *due <= now) {
            self.deadlines.pop_first();
            if self.handshakes.contains_key(&handle) {
                close_handshake(now, endpoint, handle);
            }
            let Some(client) = self.clients.get_mut(&handle) else { continue };
            // On a slow link, data written long ago may still be in flight.
            let due = client.moved + self.config.patience;
            if due <= now {
                client.session.close(client.no_error, b"nothing moves");
            } else {
                self.deadlines.insert((due, handle));
            }
        }
    }

    /// Performs a requested shutdown: running requests may finish, and new connections are closed.
    fn shut_down(&mut self, now: Time, endpoint: &mut Endpoint) {
        let stage = match (self.shutdown.times(), self.stage) {
            (0, stage) => stage,
            (1, Stage::Serving) => Stage::Finishing(now + self.config.grace),
            (1, Stage::Finishing(deadline)) if now < deadline => Stage::Finishing(deadline),
            _ => Stage::Over,
        };
        if std::mem::replace(&mut self.stage, stage) == stage {
            return;
        }
        for (handle, client) in &self.clients {
            client.stop.send();
            self.ringing.add(*handle);
        }
        for handle in self.handshakes.keys() {
            close_handshake(now, endpoint, *handle);
        }
    }
}

impl Client {
    fn pump(&mut self, now: Time, connection: &mut Connection, memory: &mut Memory) {
        let news = self.session.pump(now, connection, memory.room(self.held) > 0);
        let unacknowledged = connection.streams().unacknowledged();
        if news || unacknowledged != self.unacknowledged {
            (self.moved, self.unacknowledged) = (now, unacknowledged);
        }
        let held = self.session.held(connection);
        memory.change(std::mem::replace(&mut self.held, held), held);
        self.session.grant(memory.room(held));
    }
}

fn close_handshake(now: Time, endpoint: &mut Endpoint, handle: Handle) {
    if let Some(connection) = endpoint.connection_mut(handle) {
        connection.close(now, 0, b"");
    }
}

impl Program for Server {
    fn on_event(&mut self, now: Time, endpoint: &mut Endpoint, handle: Handle, event: Event) {
        match event {
            Event::Incoming => {
                let meter = Meter::default();
                if let Some(connection) = endpoint.connection_mut(handle) {
                    connection.set_tap(meter.tap());
                }
                self.handshakes.insert(handle, meter);
                self.deadlines.insert((now + self.config.handshake, handle));
                if self.stage != Stage::Serving {
                    close_handshake(now, endpoint, handle);
                }
            }
            Event::Connected => self.connected(now, endpoint, handle),
            event => {
                if let Event::Ended(_) = event {
                    self.handshakes.remove(&handle);
                }
                if let Some(client) = self.clients.get(&handle) {
                    client.session.on_event(&event);
                    self.ringing.add(handle);
                }
            }
        }
    }

    fn run(&mut self, now: Time, endpoint: &mut Endpoint) {
        self.shut_down(now, endpoint);
        self.expire(now, endpoint);
        self.move_all(now, endpoint);
        self.due = now + POLL_INTERVAL;
    }

    fn deadline(&self) -> Time {
        self.due
    }

    fn is_done(&self, _: &Endpoint) -> bool {
        self.stage != Stage::Serving && self.clients.is_empty() && self.handshakes.is_empty()
    }
}
