//! A server: which connections there are, and when it is time to end.

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
use crate::meter::{Meter, Pair, with_receive_times};
use crate::root::Root;
use crate::session::Session;
use crate::tasks::{Pool, Signal};

/// How often it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// What a connection may hold of what was written at least, in bytes, however many there are.
const LEAST: usize = 128 << 10;

/// What a server is told.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// How many connections there may be; clients beyond are refused.
    pub connections: usize,
    /// When clients have to prove their address. [`RetryPolicy::From`] counts handshakes that are
    /// not complete.
    pub retry: RetryPolicy,
    /// What all connections together hold of files until it is acknowledged; at least 128 KiB each.
    /// Besides it up to 96 KiB wait on each of at most a hundred streams of a connection.
    pub memory: Bytes,
    /// A connection on which nothing has moved for so long is closed, though its client says that
    /// it is there.
    pub patience: Duration,
    /// How long requests that run may go on when it ends.
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
    /// What the endpoint is told: both protocols, small windows, since requests are short.
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

/// Whoever has it can end the server: the first time gracefully, the second time at once.
#[derive(Clone, Debug, Default)]
pub struct Ender(Arc<AtomicU32>);

impl Ender {
    /// Ends it.
    pub fn end(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn times(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Makes who listens to the connection of a peer.
type Listener = Box<dyn Fn(SocketAddr) -> Box<dyn Tap>>;

struct Client {
    session: Session,
    running: Rc<Cell<usize>>,
    /// When something was read, written or acknowledged last.
    moved: Time,
    /// How much was not acknowledged then.
    held: usize,
    /// The error code that says that nothing was wrong.
    no_error: u64,
}

/// Hands out files: a [`Program`] over an endpoint that accepts.
pub struct Server {
    config: ServeConfig,
    root: Rc<Root>,
    pool: Pool,
    clients: BTreeMap<Handle, Client>,
    /// Whose handshake is not complete: what they have sent counts from the beginning.
    strangers: BTreeMap<Handle, Meter>,
    stop: Signal,
    ender: Ender,
    /// Until when requests may go on.
    until: Option<Time>,
    log: Log,
    listener: Option<Listener>,
    due: Time,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("clients", &self.clients.len()).finish_non_exhaustive()
    }
}

impl Server {
    /// Of the files under this folder.
    pub fn new(config: ServeConfig, root: Root) -> Self {
        Self {
            config,
            root: Rc::new(root),
            pool: Pool::default(),
            clients: BTreeMap::new(),
            strangers: BTreeMap::new(),
            stop: Signal::default(),
            ender: Ender::default(),
            until: None,
            log: Log::default(),
            listener: None,
            due: Time::ZERO,
        }
    }

    /// Someone else listens to every connection too, from when its handshake is complete.
    #[must_use]
    pub fn with_listener(mut self, listener: impl Fn(SocketAddr) -> Box<dyn Tap> + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// What ends it.
    pub fn ender(&self) -> Ender {
        self.ender.clone()
    }

    /// What was answered.
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
        let meter = self.strangers.remove(&handle).unwrap_or_default();
        if let Some(listener) = &self.listener {
            connection.set_tap(Box::new(Pair(meter.tap(), listener(peer))));
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

    /// Everything that can move moves, and nobody holds more than its share.
    fn move_all(&mut self, now: Time, endpoint: &mut Endpoint) {
        let share = usize::try_from(self.config.memory.0).unwrap_or(usize::MAX) / self.clients.len().max(1);
        loop {
            self.pool.run();
            let mut moved = false;
            self.clients.retain(|handle, client| match endpoint.connection_mut(*handle) {
                Some(connection) => {
                    let news = client.session.pump(now, connection, share.max(LEAST));
                    let held = connection.streams().unacknowledged();
                    // What was written long ago may still be on its way, over a slow link.
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

    /// What runs is finished, what waits is refused, and then it is over.
    fn end(&mut self, now: Time, endpoint: &mut Endpoint) {
        if self.ender.times() > 0 && self.until.is_none() {
            self.until = Some(now + self.config.grace);
            self.stop.give();
        }
        let Some(until) = self.until else { return };
        let hurry = now >= until || self.ender.times() > 1;
        for client in self.clients.values() {
            if hurry || (client.running.get() == 0 && client.session.sending() == 0) {
                client.session.close(client.no_error, b"the server ends");
            }
        }
        // Handshakes that are not complete.
        let strangers: Vec<Handle> =
            endpoint.handles().filter(|handle| !self.clients.contains_key(handle)).collect();
        for handle in strangers {
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
            self.strangers.insert(handle, meter);
        } else if event == Event::Connected {
            self.connected(now, endpoint, handle);
        } else if let Some(client) = self.clients.get(&handle) {
            client.session.on_event(&event);
        }
    }

    fn run(&mut self, now: Time, endpoint: &mut Endpoint) {
        self.strangers.retain(|handle, _| endpoint.connection(*handle).is_some());
        self.end(now, endpoint);
        self.move_all(now, endpoint);
        self.due = now + LOOK;
    }

    fn deadline(&self) -> Time {
        self.due
    }

    fn is_done(&self, endpoint: &Endpoint) -> bool {
        let is_open = |handle| endpoint.connection(handle).is_some_and(|c| c.state() == State::Open);
        self.until.is_some() && !endpoint.handles().any(is_open)
    }
}
