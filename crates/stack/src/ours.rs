//! An end of ours beside one of another stack.

use std::net::SocketAddr;

use congestion::Controller;
use quic::Level;
use quic::config::{EndpointConfig, RetryPolicy};
use quic::connection::{Arrival, Connection, Event};
use quic::crypto::tls::{Ciphers, ClientConfig, Identity, ServerConfig, Trust};
use quic::crypto::{ClientCrypto, ServerCrypto};
use quic::endpoint::{Endpoint, EndpointSettings, Handle};
use quic::streams::{Keep, Read, StreamEvent, StreamId, pattern};
use quic::wire::Direction;
use recovery::Stats;
use sim::guest::Snapshot;
use units::{Ecn, Time};

use crate::ear::{Ear, Heard};
use crate::pair::{addresses, snapshot};
use crate::peer::{Kind, Leaving, News, Peer, Piece};
use crate::profile::Profile;
use crate::refusal::Refusal;
use crate::settings::{self, SERVER_NAME, Seed};
use crate::wanted::Wanted;

/// Room for any datagram, and for what is read at once, in bytes.
const BUFFER: usize = 1 << 16;

/// An endpoint with one connection.
pub(crate) struct Ours {
    endpoint: Endpoint,
    /// Where it is, and where the other end.
    addresses: (SocketAddr, SocketAddr),
    /// Where the last datagram went.
    destination: SocketAddr,
    /// Until it has connected.
    crypto: Option<ClientCrypto>,
    connection: Option<Handle>,
    is_client: bool,
    transfer: u64,
    ear: Ear,
    /// What arrived, to be read and looked at.
    reading: Option<(StreamId, u64)>,
    arrived: Vec<Piece>,
    /// Why the connection is over.
    ended: Option<String>,
    buffer: Vec<u8>,
}

impl Ours {
    /// The end that sends.
    pub(crate) fn client(wanted: &Wanted<'_>, identity: &Identity) -> Result<Self, Refusal> {
        let trust = identity.chain.first().cloned().map_or(Trust::Anyone, Trust::Exactly);
        let names = EndpointConfig::default().alpn;
        let alpn: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let crypto = ClientConfig::new(trust, &alpn, Ciphers::All).map_err(Refusal::Tls)?;
        let (flow, scenario) = (wanted.flow, wanted.scenario);
        let connection = settings::sending(flow, scenario, &Profile::default());
        let endpoint = EndpointSettings {
            config: EndpointConfig { connection, ..EndpointConfig::default() },
            connection: settings::sender(flow, &Profile::default(), Seed::new(wanted.seed(false))),
            crypto: None,
        };
        let endpoint = Endpoint::new(endpoint, wanted.seed(false))?;
        let crypto = Some(ClientCrypto::Tls(crypto));
        Ok(Self { crypto, is_client: true, ..Self::of(wanted, endpoint, addresses()) })
    }

    /// The end that receives.
    pub(crate) fn server(wanted: &Wanted<'_>, identity: Identity) -> Result<Self, Refusal> {
        let names = EndpointConfig::default().alpn;
        let alpn: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let crypto = ServerConfig::new(identity, &alpn, Ciphers::All).map_err(Refusal::Tls)?;
        let connection = settings::receiving(wanted.flow, &Profile::default());
        let retry = if wanted.retry { RetryPolicy::Always } else { RetryPolicy::Never };
        let endpoint = EndpointSettings {
            config: EndpointConfig { connection, accepts: true, retry, ..EndpointConfig::default() },
            connection: quic::connection::Settings { keep: Keep::All, ..settings::receiver(wanted.flow) },
            crypto: Some(ServerCrypto::Tls(crypto)),
        };
        let endpoint = Endpoint::new(endpoint, wanted.seed(true))?;
        let (client, server) = addresses();
        Ok(Self::of(wanted, endpoint, (server, client)))
    }

    fn of(wanted: &Wanted<'_>, endpoint: Endpoint, addresses: (SocketAddr, SocketAddr)) -> Self {
        Self {
            endpoint,
            addresses,
            destination: addresses.1,
            crypto: None,
            connection: None,
            is_client: false,
            transfer: wanted.whole.unwrap_or(0),
            ear: Ear::default(),
            reading: None,
            arrived: Vec::new(),
            ended: None,
            buffer: vec![0; BUFFER],
        }
    }

    fn connection(&self) -> Option<&Connection> {
        self.endpoint.connection(self.connection?)
    }

    fn listen(&mut self, handle: Handle) {
        self.connection = Some(handle);
        let tap = self.ear.tap(false);
        if let Some(connection) = self.endpoint.connection_mut(handle) {
            connection.set_tap(tap);
        }
    }

    fn serve(&mut self, now: Time) {
        while let Some((handle, event)) = self.endpoint.poll_event() {
            match event {
                Event::Incoming => {
                    self.endpoint.accept(handle);
                    self.listen(handle);
                }
                Event::Connected if self.is_client => {
                    if let Some(connection) = self.endpoint.connection_mut(handle) {
                        connection.streams().open_pattern(Direction::Unidirectional, self.transfer);
                    }
                }
                Event::Stream(StreamEvent::Opened(direction)) => {
                    let accept = |connection: &mut Connection| connection.accept_stream(direction);
                    let id = self.endpoint.connection_mut(handle).and_then(accept);
                    self.reading = self.reading.or(id.map(|id| (id, 0)));
                }
                Event::Ended(why) => self.ended = Some(why.to_string()),
                _ => {}
            }
        }
        self.read(now);
    }

    /// In order: what is not the pattern ends it.
    fn read(&mut self, now: Time) {
        let Some((id, mut at)) = self.reading else { return };
        let Some(connection) = self.connection.and_then(|handle| self.endpoint.connection_mut(handle)) else {
            return;
        };
        let mut expected = Vec::new();
        while let Ok(Read::Data(len)) = connection.read(now, id, &mut self.buffer) {
            expected.resize(len, 0);
            pattern::fill(at, &mut expected);
            if self.buffer.get(..len) != Some(expected.as_slice()) {
                self.reading = None;
                return;
            }
            self.arrived.push((at, len as u64));
            at += len as u64;
        }
        self.reading = Some((id, at));
    }

    fn kind(&mut self) -> Kind {
        let mut kind = Kind::Bare;
        for heard in self.ear.take(Vec::new()) {
            let Heard::Sent { level, in_flight, pieces, .. } = heard else { continue };
            if !pieces.is_empty() || (level == Level::OneRtt && in_flight && kind == Kind::Bare) {
                kind = Kind::Data;
            } else if level != Level::OneRtt && kind == Kind::Bare {
                kind = Kind::Handshake;
            }
        }
        kind
    }
}

impl Peer for Ours {
    fn handle(&mut self, now: Time, ecn: Ecn, mut bytes: Vec<u8>) {
        let (to, from) = self.addresses;
        self.endpoint.handle(now, Arrival { from, to, ecn, arrived: now, bytes: bytes.as_mut_slice() });
        self.serve(now);
    }

    fn set_source(&mut self, source: SocketAddr) {
        self.addresses.1 = source;
    }

    fn destination(&self) -> SocketAddr {
        self.destination
    }

    fn next(&mut self) -> Time {
        self.endpoint.poll_timeout()
    }

    fn on_time(&mut self, now: Time) {
        if let Some(crypto) = self.crypto.take()
            && let Ok(handle) = self.endpoint.connect(now, &crypto, SERVER_NAME, self.addresses, b"")
        {
            self.listen(handle);
        }
        self.endpoint.handle_timeout(now);
        self.serve(now);
    }

    fn transmit(&mut self, now: Time) -> Option<Leaving> {
        let transmit = self.endpoint.poll_transmit(now, &mut self.buffer)?;
        let bytes = self.buffer.get(..transmit.len)?.to_vec();
        self.destination = transmit.to;
        Some(Leaving { bytes, ecn: transmit.ecn, kind: self.kind() })
    }

    fn take_arrived(&mut self) -> Option<Vec<Piece>> {
        let arrived = std::mem::take(&mut self.arrived);
        (!arrived.is_empty()).then_some(arrived)
    }

    fn take_news(&mut self) -> Vec<News> {
        Vec::new()
    }

    fn counts(&mut self) -> Stats {
        self.connection().map(|connection| connection.sender().stats().clone()).unwrap_or_default()
    }

    fn observe(&self) -> Snapshot {
        self.connection().map_or_else(Snapshot::default, snapshot)
    }

    fn ended(&self) -> Option<&str> {
        self.ended.as_deref()
    }

    fn controller(&self) -> Option<&dyn Controller> {
        self.connection().map(|connection| connection.sender().controller())
    }
}
