//! The client: fetches several files over one connection.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use quic::Side;
use quic::config::{Config, EndpointConfig};
use quic::connection::{Close, Ended, Event, State, Tap};
use quic::crypto::ClientCrypto;
use quic::crypto::tls::NOT_VALID_YET;
use quic::endpoint::{ConnectError, Endpoint, Handle, Program};
use units::{Duration, Time};

use crate::h3::{client as http3, server};
use crate::hq;
use crate::meter::{Meter, TapPair, with_receive_times};
use crate::progress::{FetchRequest, Progress};
use crate::session::Session;
use crate::tasks::Pool;

/// An application protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/3 (RFC 9114).
    #[default]
    Http3,
    /// `hq-interop`, HTTP/0.9 over streams.
    Hq,
}

impl Protocol {
    /// Returns its ALPN name in the handshake.
    pub const fn alpn(self) -> &'static [u8] {
        match self {
            Self::Http3 => server::ALPN,
            Self::Hq => hq::ALPN,
        }
    }
}

/// Reason why the connection failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchError {
    /// No server at the address, as reported by an ICMP error.
    Unreachable,
    /// No handshake within this time.
    NoAnswer(Duration),
    /// The server's certificate has this fingerprint, not the accepted one.
    OtherFingerprint([u8; 32]),
    /// Another end of the connection.
    Ended(Ended),
}

/// Descriptions of TLS alerts that a client can meet (RFC 8446 section 6).
const ALERTS: [(u8, &str); 8] = [
    (40, "no cryptographic parameters in common"),
    (42, "the server's certificate is invalid or for another name"),
    (43, "the server's certificate is of an unsupported kind, or not for servers"),
    (45, "the server's certificate has expired"),
    (46, "the server's certificate is not accepted"),
    (48, "this machine does not trust the issuer of the server's certificate"),
    (51, "the server does not have the key of its certificate"),
    (120, "no application protocol in common"),
];

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable => f.write_str("no server is listening there"),
            Self::NoAnswer(after) => write!(f, "no answer for {} s", after.0 / 1_000_000_000),
            Self::OtherFingerprint(found) => {
                let found = found.map(|byte| format!("{byte:02x}")).join(":");
                write!(f, "the server's certificate has another fingerprint: {found}")
            }
            Self::Ended(Ended::Idle) => f.write_str("the server stopped responding"),
            Self::Ended(Ended::Reset) => {
                f.write_str("the server lost the state of the connection (stateless reset)")
            }
            Self::Ended(Ended::Version) => f.write_str("the server does not speak QUIC version 1"),
            Self::Ended(Ended::NoPath) => f.write_str("no path to the server works any more"),
            Self::Ended(Ended::KeysUsedUp) => f.write_str("the keys have reached their usage limit"),
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
            let words = if reason == NOT_VALID_YET { &reason } else { known.unwrap_or(&reason) };
            write!(f, "{who} closed the connection: {code}")?;
            if words.is_empty() { Ok(()) } else { write!(f, ", {words}") }
        }
        Close::Application { error, reason } => {
            write!(f, "{who} closed the connection with error 0x{error:x}")?;
            if reason.is_empty() { Ok(()) } else { write!(f, ": {}", String::from_utf8_lossy(reason)) }
        }
    }
}

impl std::error::Error for FetchError {}

/// Longest wait for the server's measurements after the last transfer, which need no more than a
/// round trip.
const SUMMARY_PATIENCE: Duration = Duration::from_secs(5);

/// Settings of a client.
#[derive(Clone)]
pub struct FetchConfig {
    /// Application protocol.
    pub protocol: Protocol,
    /// Cryptography of the handshake.
    pub crypto: ClientCrypto,
    /// Name to expect in the server's certificate.
    pub server_name: String,
    /// Addresses of this end and of the server.
    pub addresses: (SocketAddr, SocketAddr),
    /// Longest time for the handshake.
    pub patience: Duration,
}

impl FetchConfig {
    /// Returns the endpoint's settings: large windows, and no bidirectional streams from the
    /// server.
    pub fn endpoint(protocol: Protocol, connection: &Config) -> EndpointConfig {
        let connection = Config { bidirectional_streams: 0, ..with_receive_times(connection) };
        EndpointConfig { connection, alpn: vec![protocol.alpn().to_vec()], ..EndpointConfig::default() }
    }
}

/// Fetches files, as a [`Program`] over an endpoint.
pub struct Fetch {
    config: FetchConfig,
    pool: Pool,
    session: Session,
    progress: Progress,
    meter: Meter,
    /// Requests that wait for the handshake.
    requests: Vec<FetchRequest>,
    handle: Handle,
    begun: Time,
    connected: Option<Time>,
    ended: Option<Time>,
    error: Option<FetchError>,
}

impl fmt::Debug for Fetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetch").field("progress", &self.progress).finish_non_exhaustive()
    }
}

impl Fetch {
    /// Opens a connection for the given requests, which are numbered from 0.
    ///
    /// # Errors
    /// [`ConnectError`] if the endpoint cannot open a connection.
    pub fn begin(
        now: Time,
        endpoint: &mut Endpoint,
        config: FetchConfig,
        requests: Vec<FetchRequest>,
    ) -> Result<Self, ConnectError> {
        let pool = Pool::default();
        let progress = Progress::new(requests.len(), pool.spawner());
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
            progress,
            meter,
            requests,
            handle,
            begun: now,
            connected: None,
            ended: None,
            error: None,
        })
    }

    /// Returns the progress of all transfers.
    pub const fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Returns the meter of this end.
    pub const fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Adds a tap to the connection.
    pub fn add_tap(&self, endpoint: &mut Endpoint, tap: Box<dyn Tap>) {
        if let Some(connection) = endpoint.connection_mut(self.handle) {
            connection.set_tap(Box::new(TapPair(self.meter.tap(), tap)));
        }
    }

    /// Returns the handle of the connection.
    pub const fn handle(&self) -> Handle {
        self.handle
    }

    /// Returns the times at which the handshake completed and at which the last transfer ended.
    pub const fn times(&self) -> (Option<Time>, Option<Time>) {
        (self.connected, self.ended)
    }

    /// Returns the reason why the connection ended before the transfers did.
    pub const fn error(&self) -> Option<&FetchError> {
        self.error.as_ref()
    }

    /// Marks all unfinished transfers as failed.
    pub fn cancel(&mut self) {
        self.progress.lost();
    }

    fn give_up(&mut self, now: Time, endpoint: &mut Endpoint, error: FetchError) {
        self.error.get_or_insert(error);
        self.progress.lost();
        if let Some(connection) = endpoint.connection_mut(self.handle) {
            connection.close(now, hq::NO_ERROR, b"");
        }
    }

    fn ask(&mut self, now: Time) {
        self.connected = Some(now);
        let requests = std::mem::take(&mut self.requests);
        match self.config.protocol {
            Protocol::Http3 => http3::fetch(&self.session, requests, &self.progress),
            Protocol::Hq => hq::fetch(&self.session, requests, &self.progress),
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
            Event::Ended(ended) if !self.progress.is_over() => {
                let other = endpoint.connection_mut(handle).and_then(|c| c.session().other_fingerprint());
                let error =
                    other.map_or_else(|| FetchError::Ended(ended.clone()), FetchError::OtherFingerprint);
                self.error.get_or_insert(error);
            }
            _ => {}
        }
        self.session.on_event(&event);
    }

    fn run(&mut self, now: Time, endpoint: &mut Endpoint) {
        if self.connected.is_none() && now >= self.begun + self.config.patience {
            self.give_up(now, endpoint, FetchError::NoAnswer(self.config.patience));
        }
        loop {
            self.pool.run();
            if self.progress.is_over() && now >= *self.ended.get_or_insert(now) + SUMMARY_PATIENCE {
                self.progress.release();
            }
            if self.progress.is_idle() {
                let hq = self.config.protocol == Protocol::Hq;
                self.session.close(if hq { hq::NO_ERROR } else { server::NO_ERROR }, b"");
            }
            let connection = endpoint.connection_mut(self.handle);
            let is_open = connection.as_ref().is_some_and(|connection| connection.state() == State::Open);
            if connection.is_some_and(|connection| self.session.pump(now, connection, true)) {
                continue;
            }
            if is_open || self.progress.is_idle() && self.ended.is_some() {
                return;
            }
            // All data received before the end has been read, and no more can arrive.
            self.session.on_gone();
            self.pool.run();
            self.progress.lost();
        }
    }

    fn deadline(&self) -> Time {
        match self.ended {
            Some(ended) if !self.progress.is_idle() => ended + SUMMARY_PATIENCE,
            None if self.connected.is_none() => self.begun + self.config.patience,
            _ => Time::NEVER,
        }
    }

    fn is_done(&self, endpoint: &Endpoint) -> bool {
        let is_open = endpoint.connection(self.handle).is_some_and(|c| c.state() == State::Open);
        self.ended.is_some() && !is_open
    }

    fn on_unreachable(&mut self, now: Time, endpoint: &mut Endpoint, host: IpAddr) {
        // ICMP errors are not authenticated. Later, a forged one could end a working connection.
        if self.connected.is_none() && host == self.config.addresses.1.ip() {
            self.give_up(now, endpoint, FetchError::Unreachable);
        }
    }
}

#[cfg(test)]
mod tests {
    use quic::Code;

    use super::*;

    /// The same alert has two meanings, which the reason tells apart.
    #[test]
    fn faults_of_certificates() {
        let said = |alert, reason: &str| {
            let (code, reason) = (Code::crypto(alert), reason.as_bytes().to_vec());
            FetchError::Ended(Ended::Local(Close::Transport { code, frame: 0, reason })).to_string()
        };
        assert!(said(45, NOT_VALID_YET).ends_with("the certificate is not valid yet"));
        assert!(said(45, "TLS failed").ends_with("the server's certificate has expired"));
        assert!(said(43, "TLS failed").ends_with("of an unsupported kind, or not for servers"));
    }
}
