//! The server: accepts connections, bounds their memory, and shuts down.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use quic::Side;
use quic::config::{Config, EndpointConfig, RetryPolicy};
use quic::connection::{Event, State, Tap};
use quic::endpoint::{Endpoint, Handle, Program};
use quic::streams::WindowConfig;
use units::{Bytes, Duration, Time};

use crate::h3::server as http3;
use crate::hq;
use crate::job::{Job, Log};
use crate::meter::{Meter, TapPair, with_receive_times};
use crate::root::Root;
use crate::session::Session;
use crate::tasks::{Pool, Signal};

/// Interval between two checks for a shutdown request.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Smallest share of unacknowledged data per connection, in bytes, for any number of connections.
const MIN_SHARE: usize = 128 << 10;

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// Largest number of connections. Further clients are refused.
    pub connections: usize,
    /// Policy for Retry packets. [`RetryPolicy::From`] counts incomplete handshakes.
    pub retry: RetryPolicy,
    /// Unacknowledged file data that all connections together may hold. Each may hold at least 128
    /// KiB. In addition, up to 96 KiB wait on each stream, with at most a hundred streams per
    /// connection.
    pub memory: Bytes,
    /// Time after which a connection without progress is closed, even if its client is alive.
    pub patience: Duration,
    /// Time that running requests have to finish after a shutdown request.
    pub grace: Duration,
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            connections: 100,
            retry: RetryPolicy::From(25),
            memory: Bytes(256 << 20),
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
        EndpointConfig {
            connection: Config {
                data_window: window(1 << 20, 1 << 20),
                stream_window: window(64 << 10, 64 << 10),
                ..with_receive_times(connection)
            },
            alpn: vec![http3::ALPN.to_vec(), hq::ALPN.to_vec()],
            accepts: true,
            retry: self.retry,
            connections: Some(self.connections),
            unaccepted: self.connections.clamp(1, 1 << 16),
            ..EndpointConfig::default()
        }
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

/// Constructor of a tap for the connection of a peer.
type MakeTap = Box<dyn Fn(SocketAddr) -> Box<dyn Tap>>;

struct Client {
    session: Session,
    running: Rc<Cell<usize>>,
    /// Time at which data was last read, written or acknowledged.
    moved: Time,
    /// Amount of unacknowledged data at that time, in bytes.
    held: usize,
    /// Error code for a close without an error.
    no_error: u64,
}

/// Serves files, as a [`Program`] over an endpoint that accepts connections.
pub struct Server {
    config: ServeConfig,
    root: Rc<Root>,
    pool: Pool,
    clients: BTreeMap<Handle, Client>,
    /// Meters of connections whose handshake is incomplete. They count from the first packet.
    handshakes: BTreeMap<Handle, Meter>,
    stop: Signal,
    shutdown: ShutdownHandle,
    /// Deadline of running requests, after a shutdown request.
    deadline: Option<Time>,
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
            config,
            root: Rc::new(root),
            pool: Pool::default(),
            clients: BTreeMap::new(),
            handshakes: BTreeMap::new(),
            stop: Signal::default(),
            shutdown: ShutdownHandle::default(),
            deadline: None,
            log: Log::default(),
            tap: None,
            due: Time::ZERO,
        }
    }

    /// Adds a tap to every connection, from the completion of its handshake.
    #[must_use]
    pub fn with_tap(mut self, tap: impl Fn(SocketAddr) -> Box<dyn Tap> + 'static) -> Self {
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

    fn connected(&mut self, now: Time, endpoint: &mut Endpoint, handle: Handle) {
        endpoint.accept(handle);
        let Some(connection) = endpoint.connection_mut(handle) else { return };
        let (_, peer) = connection.addresses();
        let http3 = connection.session().alpn() != Some(hq::ALPN);
        let (no_error, abandoned) =
            if http3 { (http3::NO_ERROR, http3::CANCELLED) } else { (hq::NO_ERROR, hq::NO_ERROR) };
        let session = Session::new(Side::Server, abandoned, Some(http3::MAX_REQUEST));
        let running = Rc::new(Cell::new(0));
        let meter = self.handshakes.remove(&handle).unwrap_or_default();
        if let Some(tap) = &self.tap {
            connection.set_tap(Box::new(TapPair(meter.tap(), tap(peer))));
        }
        let job = Job {
            session: session.clone(),
            peer,
            root: Rc::clone(&self.root),
            stop: self.stop.clone(),
            spawner: self.pool.spawner(),
            log: self.log.clone(),
            meter: meter.clone(),
            running: Rc::clone(&running),
        };
        match http3 {
            true => job.task(http3::serve(job.clone())),
            false => job.task(hq::serve(job.clone())),
        }
        self.clients.insert(handle, Client { session, running, moved: now, held: 0, no_error });
    }

    /// Runs tasks and pumps connections until none can proceed. Each connection gets an equal share
    /// of the memory.
    fn move_all(&mut self, now: Time, endpoint: &mut Endpoint) {
        let share = usize::try_from(self.config.memory.0).unwrap_or(usize::MAX) / self.clients.len().max(1);
        loop {
            self.pool.run();
            let mut moved = false;
            self.clients.retain(|handle, client| match endpoint.connection_mut(*handle) {
                Some(connection) => {
                    let news = client.session.pump(now, connection, share.max(MIN_SHARE));
                    let held = connection.streams().unacknowledged();
                    // On a slow link, data written long ago may still be in flight.
                    if news || std::mem::replace(&mut client.held, held) != held {
                        client.moved = now;
                    } else if now >= client.moved + self.config.patience {
                        client.session.close(client.no_error, b"nothing moves");
                    }
                    moved |= news;
                    true
                }
                None => {
                    client.session.on_gone();
                    moved = true;
                    false
                }
            });
            if !moved {
                return;
            }
        }
    }

    /// Performs a requested shutdown: running requests may finish, and new connections are closed.
    fn shut_down(&mut self, now: Time, endpoint: &mut Endpoint) {
        if self.shutdown.times() > 0 && self.deadline.is_none() {
            self.deadline = Some(now + self.config.grace);
            self.stop.send();
        }
        let Some(deadline) = self.deadline else { return };
        let hurry = now >= deadline || self.shutdown.times() > 1;
        for client in self.clients.values() {
            if hurry || (client.running.get() == 0 && client.session.sending() == 0) {
                client.session.close(client.no_error, b"the server ends");
            }
        }
        // Incomplete handshakes.
        let handshakes: Vec<Handle> =
            endpoint.handles().filter(|handle| !self.clients.contains_key(handle)).collect();
        for handle in handshakes {
            if let Some(connection) = endpoint.connection_mut(handle) {
                connection.close(now, 0, b"");
            }
        }
    }
}

impl Program for Server {
    fn on_event(&mut self, now: Time, endpoint: &mut Endpoint, handle: Handle, event: Event) {
        if event == Event::Incoming {
            let meter = Meter::default();
            if let Some(connection) = endpoint.connection_mut(handle) {
                connection.set_tap(meter.tap());
            }
            self.handshakes.insert(handle, meter);
        } else if event == Event::Connected {
            self.connected(now, endpoint, handle);
        } else if let Some(client) = self.clients.get(&handle) {
            client.session.on_event(&event);
        }
    }

    fn run(&mut self, now: Time, endpoint: &mut Endpoint) {
        self.handshakes.retain(|handle, _| endpoint.connection(*handle).is_some());
        self.shut_down(now, endpoint);
        self.move_all(now, endpoint);
        self.due = now + POLL_INTERVAL;
    }

    fn deadline(&self) -> Time {
        self.due
    }

    fn is_done(&self, endpoint: &Endpoint) -> bool {
        let is_open = |handle| endpoint.connection(handle).is_some_and(|c| c.state() == State::Open);
        self.deadline.is_some() && !endpoint.handles().any(is_open)
    }
}
