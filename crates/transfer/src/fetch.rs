//! A client: one connection, several files.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use quic::Side;
use quic::config::{Config, EndpointConfig};
use quic::connection::{Close, Ended, Event, State, Tap};
use quic::crypto::ClientCrypto;
use quic::endpoint::{ConnectError, Endpoint, Handle, Program};
use units::{Duration, Time};

use crate::board::{Board, Wanted};
use crate::h3::{client as http3, server};
use crate::hq;
use crate::meter::{Meter, Pair, with_receive_times};
use crate::session::Session;
use crate::tasks::Pool;

/// Which application protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/3.
    #[default]
    Http3,
    /// `hq-interop`.
    Hq,
}

impl Protocol {
    /// Its name in the handshake.
    pub const fn alpn(self) -> &'static [u8] {
        match self {
            Self::Http3 => server::ALPN,
            Self::Hq => hq::ALPN,
        }
    }
}

/// Why there is no connection any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nobody listens there: the system says so.
    Unreachable,
    /// No answer within the time for a handshake.
    NoAnswer(Duration),
    /// The server's certificate has this fingerprint, and another one is believed.
    OtherFingerprint([u8; 32]),
    /// It ended so.
    Ended(Ended),
}

/// Names of alerts of TLS (RFC 8446 section 6) that a client meets.
const ALERTS: [(u8, &str); 7] = [
    (40, "no way of encrypting in common"),
    (42, "its certificate is bad or for another name"),
    (45, "its certificate has expired"),
    (46, "its certificate is not accepted"),
    (48, "its certificate comes from nobody whom this machine trusts"),
    (51, "it has not the key of its certificate"),
    (120, "no application protocol in common"),
];

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable => f.write_str("nobody listens there"),
            Self::NoAnswer(after) => write!(f, "no answer for {} s", after.0 / 1_000_000_000),
            Self::OtherFingerprint(found) => {
                let found = found.map(|byte| format!("{byte:02x}")).join(":");
                write!(f, "its certificate has another fingerprint: {found}")
            }
            Self::Ended(Ended::Idle) => f.write_str("the server fell silent"),
            Self::Ended(Ended::Reset) => f.write_str("the server has forgotten the connection"),
            Self::Ended(Ended::Version) => f.write_str("the server does not speak QUIC version 1"),
            Self::Ended(Ended::NoPath) => f.write_str("no path to the server is left"),
            Self::Ended(Ended::KeysUsedUp) => f.write_str("the keys are used up"),
            Self::Ended(Ended::Local(close)) => ended(f, "this end", close),
            Self::Ended(Ended::Peer(close)) => ended(f, "the server", close),
        }
    }
}

fn ended(f: &mut fmt::Formatter<'_>, who: &str, close: &Close) -> fmt::Result {
    match close {
        Close::Transport { code, reason, .. } => {
            let known =
                ALERTS.iter().find(|(alert, _)| Some(*alert) == code.alert()).map(|(_, words)| *words);
            let reason = String::from_utf8_lossy(reason);
            let words = known.unwrap_or(&reason);
            write!(f, "{who} closed the connection: {code}")?;
            if words.is_empty() { Ok(()) } else { write!(f, ", {words}") }
        }
        Close::Application { error, reason } => {
            write!(f, "{who} closed the connection with error 0x{error:x}")?;
            if reason.is_empty() { Ok(()) } else { write!(f, ": {}", String::from_utf8_lossy(reason)) }
        }
    }
}

impl std::error::Error for Trouble {}

/// What a client is told.
#[derive(Clone)]
pub struct FetchConfig {
    /// How it speaks.
    pub protocol: Protocol,
    /// How its session begins.
    pub crypto: ClientCrypto,
    /// The name in the server's certificate.
    pub server_name: String,
    /// This end's address, and the server's.
    pub addresses: (SocketAddr, SocketAddr),
    /// How long a handshake may take.
    pub patience: Duration,
}

impl FetchConfig {
    /// What the endpoint is told: large windows, no requests of the server's.
    pub fn endpoint(protocol: Protocol, connection: &Config) -> EndpointConfig {
        let connection = Config { bidirectional_streams: 0, ..with_receive_times(connection) };
        EndpointConfig { connection, alpn: vec![protocol.alpn().to_vec()], ..EndpointConfig::default() }
    }
}

/// Fetches files: a [`Program`] over an endpoint.
pub struct Fetch {
    config: FetchConfig,
    pool: Pool,
    session: Session,
    board: Board,
    meter: Meter,
    /// Until the handshake is complete.
    wanted: Vec<Wanted>,
    handle: Handle,
    begun: Time,
    connected: Option<Time>,
    ended: Option<Time>,
    trouble: Option<Trouble>,
}

impl fmt::Debug for Fetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetch").field("board", &self.board).finish_non_exhaustive()
    }
}

impl Fetch {
    /// Begins a connection of the endpoint's for all that is wanted, numbered from 0.
    ///
    /// # Errors
    /// When it cannot begin.
    pub fn begin(
        now: Time,
        endpoint: &mut Endpoint,
        config: FetchConfig,
        wanted: Vec<Wanted>,
    ) -> Result<Self, ConnectError> {
        let pool = Pool::default();
        let board = Board::new(wanted.len(), pool.spawner());
        let abandoned = if config.protocol == Protocol::Hq { hq::NO_ERROR } else { server::CANCELLED };
        let handle = endpoint.connect(now, &config.crypto, &config.server_name, config.addresses, b"")?;
        let session = Session::new(Side::Client, abandoned, None);
        let meter = Meter::default();
        if let Some(connection) = endpoint.connection_mut(handle) {
            connection.set_tap(meter.tap());
        }
        Ok(Self {
            config,
            pool,
            session,
            board,
            meter,
            wanted,
            handle,
            begun: now,
            connected: None,
            ended: None,
            trouble: None,
        })
    }

    /// How far it is.
    pub const fn board(&self) -> &Board {
        &self.board
    }

    /// What it has seen of the path.
    pub const fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Someone else listens to the connection too.
    pub fn listen(&self, endpoint: &mut Endpoint, listener: Box<dyn Tap>) {
        if let Some(connection) = endpoint.connection_mut(self.handle) {
            connection.set_tap(Box::new(Pair(self.meter.tap(), listener)));
        }
    }

    /// Its connection.
    pub const fn handle(&self) -> Handle {
        self.handle
    }

    /// When the handshake was complete, and when the last file was whole or given up.
    pub const fn times(&self) -> (Option<Time>, Option<Time>) {
        (self.connected, self.ended)
    }

    /// Why the connection ended before the files did.
    pub const fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_ref()
    }

    /// Gives up what is not done.
    pub fn cancel(&mut self) {
        self.board.lost();
    }

    fn give_up(&mut self, now: Time, endpoint: &mut Endpoint, trouble: Trouble) {
        self.trouble.get_or_insert(trouble);
        self.board.lost();
        if let Some(connection) = endpoint.connection_mut(self.handle) {
            connection.close(now, hq::NO_ERROR, b"");
        }
    }

    fn ask(&mut self, now: Time) {
        self.connected = Some(now);
        let wanted = std::mem::take(&mut self.wanted);
        match self.config.protocol {
            Protocol::Http3 => http3::fetch(&self.session, wanted, &self.board),
            Protocol::Hq => hq::fetch(&self.session, wanted, &self.board),
        }
    }
}

impl Program for Fetch {
    fn on_event(&mut self, now: Time, endpoint: &mut Endpoint, handle: Handle, event: Event) {
        if handle != self.handle {
            return;
        }
        match &event {
            Event::Connected => self.ask(now),
            Event::Ended(ended) if !self.board.is_over() => {
                let other = endpoint.connection_mut(handle).and_then(|c| c.session().other_fingerprint());
                let trouble = other.map_or_else(|| Trouble::Ended(ended.clone()), Trouble::OtherFingerprint);
                self.trouble.get_or_insert(trouble);
            }
            _ => {}
        }
        self.session.on_event(&event);
    }

    fn run(&mut self, now: Time, endpoint: &mut Endpoint) {
        if self.connected.is_none() && now >= self.begun + self.config.patience {
            self.give_up(now, endpoint, Trouble::NoAnswer(self.config.patience));
        }
        loop {
            self.pool.run();
            if self.board.is_over() {
                self.ended.get_or_insert(now);
            }
            if self.board.is_idle() {
                let hq = self.config.protocol == Protocol::Hq;
                self.session.close(if hq { hq::NO_ERROR } else { server::NO_ERROR }, b"");
            }
            let connection = endpoint.connection_mut(self.handle);
            let is_open = connection.as_ref().is_some_and(|connection| connection.state() == State::Open);
            if connection.is_some_and(|connection| self.session.pump(now, connection, usize::MAX)) {
                continue;
            }
            if is_open || self.board.is_idle() && self.ended.is_some() {
                return;
            }
            // What came before the end was read, and no more can come.
            self.session.on_gone();
            self.pool.run();
            self.board.lost();
        }
    }

    fn deadline(&self) -> Time {
        if self.connected.is_none() && self.ended.is_none() {
            self.begun + self.config.patience
        } else {
            Time::NEVER
        }
    }

    fn is_done(&self, endpoint: &Endpoint) -> bool {
        let is_open = endpoint.connection(self.handle).is_some_and(|c| c.state() == State::Open);
        self.ended.is_some() && !is_open
    }

    fn on_unreachable(&mut self, now: Time, endpoint: &mut Endpoint, host: IpAddr) {
        // Later it would end a connection that works, at the word of whoever sent it.
        if self.connected.is_none() && host == self.config.addresses.1.ip() {
            self.give_up(now, endpoint, Trouble::Unreachable);
        }
    }
}
