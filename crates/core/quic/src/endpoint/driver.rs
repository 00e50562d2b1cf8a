//! The endpoint: creation, connections, and their events.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::mem;
use std::net::{IpAddr, SocketAddr};

use units::Time;

use crate::config::{EndpointConfig, Invalid};
use crate::connection::{Connection, ConnectionInit, Event, HandshakeIds, Settings, State, Transmit};
use crate::crypto::start::{ClientCrypto, ServerCrypto};
use crate::endpoint::members::{Clients, Member, Members};
use crate::endpoint::reset::ResetKey;
use crate::endpoint::routing::{Handle, Routing};
use crate::endpoint::token::Tokens;
use crate::error::Error;
use crate::level::Side;
use crate::random::Random;
use crate::wire::connection_id::ConnectionId;

/// Length of the destination of a client's first packet, in bytes; at least 8 (RFC 9000 section
/// 7.2).
const FIRST_ID: usize = 8;
/// Number of attempts to draw an unused connection ID.
const DRAWS: usize = 16;

/// Settings of an endpoint.
#[derive(Clone)]
pub struct EndpointSettings {
    /// Protocol configuration of the endpoint and its connections.
    pub config: EndpointConfig,
    /// Settings of connections. Their `config` is replaced by [`EndpointConfig::connection`].
    pub connection: Settings,
    /// Factory of sessions for incoming clients. Required if the endpoint accepts clients.
    pub crypto: Option<ServerCrypto>,
}

/// Reason why a connection cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// No unused connection ID is left, because this end's IDs are too short. With zero-length IDs,
    /// a connection to this peer exists already.
    NoId,
    /// The session failed to start.
    Session(Error),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoId => f.write_str("no unused connection ID is left"),
            Self::Session(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ConnectError {}

/// Counts of datagrams that reached no connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Datagrams answered without a connection: version negotiation, Retry, refusal, stateless
    /// reset.
    pub answered: u64,
    /// Datagrams dropped without an answer.
    pub dropped: u64,
    /// First Initials that could not be opened.
    pub forged: u64,
}

/// An endpoint: many connections behind one address, and the handling of unknown senders.
pub struct Endpoint {
    pub(super) settings: EndpointSettings,
    pub(super) routing: Routing,
    pub(super) tokens: Tokens,
    pub(super) reset_key: ResetKey,
    pub(super) random: Random,
    pub(super) connections: Members,
    pub(super) hosts: BTreeMap<IpAddr, Clients>,
    /// Clients' connections that are draining, or are closing and have sent that. A new client may
    /// take their place.
    pub(super) leaving: BTreeSet<(IpAddr, Handle)>,
    pub(super) events: VecDeque<(Handle, Event)>,
    /// Answers that belong to no connection.
    pub(super) answers: VecDeque<(Transmit, Vec<u8>)>,
    /// Connections that may have something to send, in round-robin order.
    pub(super) sending: VecDeque<Handle>,
    /// Connections whose events and IDs must be processed.
    touched: Vec<Handle>,
    /// Connections whose timers must be queried. This happens only when the next timeout is asked
    /// for.
    stale: Vec<Handle>,
    pub(super) timers: BTreeSet<(Time, Handle)>,
    pub(super) dropped: Dropped,
    pub(super) now: Time,
}

impl Endpoint {
    /// Creates an endpoint without connections. All randomness follows from the seed, so use it for
    /// simulations only.
    ///
    /// # Errors
    /// The first rule of the configuration that does not hold.
    pub fn new(settings: EndpointSettings, seed: u64) -> Result<Self, Invalid> {
        Self::with_random(settings, Random::stream(seed, "quic endpoint"))
    }

    /// Creates an endpoint with a source of unpredictable bytes, for real networks.
    ///
    /// # Errors
    /// The first rule of the configuration that does not hold.
    pub fn with_random(mut settings: EndpointSettings, mut random: Random) -> Result<Self, Invalid> {
        settings.config.check()?;
        if settings.config.accepts && settings.crypto.is_none() {
            return Err(Invalid { field: "crypto", rule: "set if the endpoint accepts clients" });
        }
        settings.connection.config = settings.config.connection.clone();
        if settings.config.key_log {
            settings.crypto = settings.crypto.map(ServerCrypto::logging_secrets);
        }
        let reset_key = ResetKey::new(&random.bytes());
        Ok(Self {
            routing: Routing::new(&settings.config, reset_key.clone()),
            tokens: Tokens::new(&random.bytes(), &settings.config),
            reset_key,
            random,
            settings,
            connections: Members::default(),
            hosts: BTreeMap::new(),
            leaving: BTreeSet::new(),
            events: VecDeque::new(),
            answers: VecDeque::new(),
            sending: VecDeque::new(),
            touched: Vec::new(),
            stale: Vec::new(),
            timers: BTreeSet::new(),
            dropped: Dropped::default(),
            now: Time::ZERO,
        })
    }

    /// Connects to a server. `token` is from an earlier connection to it, or empty.
    ///
    /// # Errors
    /// Fails if no connection ID is left, or if the session cannot start.
    pub fn connect(
        &mut self,
        now: Time,
        crypto: &ClientCrypto,
        server_name: &str,
        (local, remote): (SocketAddr, SocketAddr),
        token: &[u8],
    ) -> Result<Handle, ConnectError> {
        self.now = self.now.max(now);
        let drawn = (0..DRAWS).find_map(|_| {
            let id = self.draw_id(self.settings.config.connection.connection_id_len);
            self.routing.connect(remote, id).map(|handle| (handle, id))
        });
        let (handle, id) = drawn.ok_or(ConnectError::NoId)?;
        let init = ConnectionInit {
            side: Side::Client,
            addresses: (local, remote),
            ids: HandshakeIds::client(id, self.draw_id(FIRST_ID)),
            reset_token: self.reset_key.token(&id),
            token: token.to_vec(),
            validated: true,
            random: Random::new(&self.random.bytes()),
        };
        let alpn = &self.settings.config.alpn;
        let logging = self.settings.config.key_log.then(|| crypto.clone().logging_secrets());
        let crypto = logging.as_ref().unwrap_or(crypto);
        let start = |parameters: &_| crypto.start(server_name, parameters, alpn);
        match Connection::new(now, &self.settings.connection, init, start) {
            Ok(connection) => {
                self.connections.insert(handle, Member::new(connection));
                self.touch(handle);
                Ok(handle)
            }
            Err(error) => {
                self.routing.forget(handle);
                Err(ConnectError::Session(error))
            }
        }
    }

    pub(super) fn draw_id(&mut self, len: usize) -> ConnectionId {
        let bytes: [u8; ConnectionId::MAX_LEN] = self.random.bytes();
        ConnectionId::new(&bytes[..len.min(ConnectionId::MAX_LEN)]).unwrap_or_default()
    }

    /// Returns a connection, or `None` once it is gone.
    pub fn connection(&self, handle: Handle) -> Option<&Connection> {
        self.connections.get(handle).map(|member| &member.connection)
    }

    /// Returns a connection for use. Call `poll_transmit`, `poll_timeout` and `poll_event`
    /// afterwards.
    pub fn connection_mut(&mut self, handle: Handle) -> Option<&mut Connection> {
        self.touch(handle);
        self.connections.get_mut(handle).map(|member| &mut member.connection)
    }

    /// Accepts the connection of a client. Its received datagrams are no longer bounded by the
    /// limit for unaccepted connections.
    pub fn accept(&mut self, handle: Handle) {
        let of_host = self.host_of(handle).filter(|_| self.routing.accept(handle));
        if let Some(clients) = of_host.and_then(|host| self.hosts.get_mut(&host)) {
            clients.unaccepted -= 1;
        }
    }

    fn host_of(&self, handle: Handle) -> Option<IpAddr> {
        self.connections.get(handle).and_then(|member| member.host)
    }

    /// Returns the handles of all connections.
    pub fn handles(&self) -> impl Iterator<Item = Handle> + '_ {
        self.connections.keys()
    }

    /// Returns the number of connections.
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// Reports whether there are no connections.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Returns the counts of datagrams that reached no connection.
    pub const fn dropped(&self) -> &Dropped {
        &self.dropped
    }

    /// Returns the next event and its connection.
    pub fn poll_event(&mut self) -> Option<(Handle, Event)> {
        self.process_touched();
        self.events.pop_front()
    }

    /// Notes that something happened to a connection.
    pub(super) fn touch(&mut self, handle: Handle) {
        self.mark_touched(handle);
        self.wake(handle);
    }

    /// Schedules a connection for processing.
    pub(super) fn mark_touched(&mut self, handle: Handle) {
        let Some(member) = self.connections.get_mut(handle) else { return };
        if !mem::replace(&mut member.touched, true) {
            self.touched.push(handle);
        }
    }

    /// Notes that a connection may have something to send.
    fn wake(&mut self, handle: Handle) {
        let Some(member) = self.connections.get_mut(handle) else { return };
        if !mem::replace(&mut member.sending, true) {
            self.sending.push_back(handle);
        }
    }

    /// Processes the connections that something happened to, in order: events, IDs, termination.
    #[inline]
    pub(super) fn process_touched(&mut self) {
        if !self.touched.is_empty() {
            self.process_all_touched();
        }
    }

    fn process_all_touched(&mut self) {
        let mut touched = mem::take(&mut self.touched);
        touched.sort_unstable();
        for handle in touched.drain(..) {
            self.process_one(handle);
        }
        // Keeps the allocation. Processing a connection never touches another one.
        self.touched = touched;
    }

    fn process_one(&mut self, handle: Handle) {
        let Some(member) = self.connections.get_mut(handle) else { return };
        member.touched = false;
        if !mem::replace(&mut member.stale, true) {
            self.stale.push(handle);
        }
        let connection = &mut member.connection;
        let mut connected = false;
        while let Some(event) = connection.poll_event() {
            if event == Event::Confirmed {
                connected = true;
                self.routing.drop_first(handle);
                for _ in 0..if connection.side() == Side::Server { self.settings.config.tokens } else { 0 } {
                    let (_, peer) = connection.addresses();
                    connection.send_token(self.tokens.for_later(self.now, peer, &mut self.random));
                }
            }
            // A peer can migrate as often as it likes. The event is not repeated until the
            // application has read it.
            let again = matches!(event, Event::Moved(_)) && self.events.contains(&(handle, event.clone()));
            if !again {
                self.events.push_back((handle, event));
            }
        }
        for id in connection.take_retired() {
            self.routing.remove_id(&id);
        }
        if let Some(tokens) = connection.take_reset_tokens() {
            let (_, peer) = connection.addresses();
            self.routing.set_resets(handle, peer, tokens.into_iter());
        }
        if connection.state() == State::Gone {
            return self.forget(handle);
        }
        let wanted = connection.ids_wanted();
        // Only a connection that closes has to send something.
        let (state, sent) = (connection.state(), !member.sending);
        let is_leaving = state == State::Draining || (state == State::Closing && sent);
        if let Some(host) = member.host.filter(|_| is_leaving) {
            self.accept(handle);
            self.leaving.insert((host, handle));
        }
        if connected {
            self.wake(handle);
        }
        self.issue_ids(handle, wanted);
    }

    fn issue_ids(&mut self, handle: Handle, wanted: usize) {
        for _ in 0..wanted {
            let len = self.settings.config.connection.connection_id_len;
            let id = (0..DRAWS).map(|_| self.draw_id(len)).collect::<Vec<_>>();
            let Some(id) = id.into_iter().find(|id| self.routing.add_id(handle, *id)) else { return };
            let token = self.reset_key.token(&id);
            if let Some(member) = self.connections.get_mut(handle) {
                member.connection.issue_id(id, token);
                self.wake(handle);
            }
        }
    }

    /// Queries the timers of connections where they may have changed.
    #[inline]
    pub(super) fn refresh_timers(&mut self) {
        while let Some(handle) = self.stale.pop() {
            let Some(member) = self.connections.get_mut(handle) else { continue };
            member.stale = false;
            let due = member.connection.poll_timeout();
            self.set_timer(handle, Some(due));
        }
    }

    pub(super) fn set_timer(&mut self, handle: Handle, due: Option<Time>) {
        let due = due.filter(|due| *due != Time::NEVER);
        let Some(member) = self.connections.get_mut(handle) else { return };
        let before = mem::replace(&mut member.due, due);
        if before != due {
            if let Some(before) = before {
                self.timers.remove(&(before, handle));
            }
            if let Some(due) = due {
                self.timers.insert((due, handle));
            }
        }
    }

    /// Removes a connection. Its unread events remain.
    pub(super) fn forget(&mut self, handle: Handle) {
        self.set_timer(handle, None);
        self.accept(handle);
        if let Some(host) = self.host_of(handle)
            && let Some(clients) = self.hosts.get_mut(&host)
        {
            self.leaving.remove(&(host, handle));
            clients.all -= 1;
            if clients.all == 0 {
                self.hosts.remove(&host);
            }
        }
        self.connections.remove(handle);
        self.routing.forget(handle);
    }
}
