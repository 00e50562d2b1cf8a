//! An endpoint of `ackclock-quic`, connected to one of another stack.

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
use scenario::guest::Snapshot;
use units::{Ecn, Time};

use crate::endpoint::{ControllerEvent, Kind, Outgoing, SessionEndpoint};
use crate::endpoint_spec::EndpointSpec;
use crate::event_tap::{EventTap, TapEvent};
use crate::own_session::{addresses, snapshot};
use crate::profile::Profile;
use crate::refusal::Refusal;
use crate::settings::{self, SERVER_NAME, Seed};
use crate::stream_chunks::Chunk;

/// Buffer for any datagram, and for one read, in bytes.
const BUFFER: usize = 1 << 16;

/// An endpoint with one connection.
pub(crate) struct OwnEndpoint {
    endpoint: Endpoint,
    /// Own address, and address of the other endpoint.
    addresses: (SocketAddr, SocketAddr),
    /// Destination of the last datagram.
    destination: SocketAddr,
    /// Present until the client has connected.
    crypto: Option<ClientCrypto>,
    connection: Option<Handle>,
    is_client: bool,
    transfer: u64,
    tap: EventTap,
    /// Receiving stream, and the offset up to which it has been read and compared.
    reading: Option<(StreamId, u64)>,
    arrived: Vec<Chunk>,
    /// Reason for which the connection ended.
    ended: Option<String>,
    buffer: Vec<u8>,
}

impl OwnEndpoint {
    /// Creates the sending endpoint.
    pub(crate) fn client(spec: &EndpointSpec<'_>, identity: &Identity) -> Result<Self, Refusal> {
        let trust = identity.chain.first().cloned().map_or(Trust::Anyone, Trust::Exactly);
        let names = EndpointConfig::default().alpn;
        let alpn: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let crypto = ClientConfig::new(trust, &alpn, Ciphers::All).map_err(Refusal::Tls)?;
        let (flow, scenario) = (spec.flow, spec.scenario);
        let connection = settings::sending(flow, scenario, &Profile::default());
        let endpoint = EndpointSettings {
            config: EndpointConfig { connection, ..EndpointConfig::default() },
            connection: settings::sender(flow, &Profile::default(), Seed::new(spec.seed(false))),
            crypto: None,
        };
        let endpoint = Endpoint::new(endpoint, spec.seed(false))?;
        let crypto = Some(ClientCrypto::Tls(crypto));
        Ok(Self { crypto, is_client: true, ..Self::new(spec, endpoint, addresses()) })
    }

    /// Creates the receiving endpoint.
    pub(crate) fn server(spec: &EndpointSpec<'_>, identity: Identity) -> Result<Self, Refusal> {
        let names = EndpointConfig::default().alpn;
        let alpn: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let crypto = ServerConfig::new(identity, &alpn, Ciphers::All).map_err(Refusal::Tls)?;
        let connection = settings::receiving(spec.flow, &Profile::default());
        let retry = if spec.retry { RetryPolicy::Always } else { RetryPolicy::Never };
        let endpoint = EndpointSettings {
            config: EndpointConfig { connection, accepts: true, retry, ..EndpointConfig::default() },
            connection: quic::connection::Settings { keep: Keep::All, ..settings::receiver(spec.flow) },
            crypto: Some(ServerCrypto::Tls(crypto)),
        };
        let endpoint = Endpoint::new(endpoint, spec.seed(true))?;
        let (client, server) = addresses();
        Ok(Self::new(spec, endpoint, (server, client)))
    }

    fn new(spec: &EndpointSpec<'_>, endpoint: Endpoint, addresses: (SocketAddr, SocketAddr)) -> Self {
        Self {
            endpoint,
            addresses,
            destination: addresses.1,
            crypto: None,
            connection: None,
            is_client: false,
            transfer: spec.whole.unwrap_or(0),
            tap: EventTap::default(),
            reading: None,
            arrived: Vec::new(),
            ended: None,
            buffer: vec![0; BUFFER],
        }
    }

    fn connection(&self) -> Option<&Connection> {
        self.endpoint.connection(self.connection?)
    }

    fn attach_tap(&mut self, handle: Handle) {
        self.connection = Some(handle);
        let tap = self.tap.listener(false);
        if let Some(connection) = self.endpoint.connection_mut(handle) {
            connection.set_tap(tap);
        }
    }

    fn serve(&mut self, now: Time) {
        while let Some((handle, event)) = self.endpoint.poll_event() {
            match event {
                Event::Incoming => {
                    self.endpoint.accept(handle);
                    self.attach_tap(handle);
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

    /// Reads the stream in order, until its bytes differ from the pattern.
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
        for event in self.tap.take(Vec::new()) {
            let TapEvent::Sent { level, in_flight, chunks, .. } = event else { continue };
            if !chunks.is_empty() || (level == Level::OneRtt && in_flight && kind == Kind::Bare) {
                kind = Kind::Data;
            } else if level != Level::OneRtt && kind == Kind::Bare {
                kind = Kind::Handshake;
            }
        }
        kind
    }
}

impl SessionEndpoint for OwnEndpoint {
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
            self.attach_tap(handle);
        }
        self.endpoint.handle_timeout(now);
        self.serve(now);
    }

    fn transmit(&mut self, now: Time) -> Option<Outgoing> {
        let transmit = self.endpoint.poll_transmit(now, &mut self.buffer)?;
        let bytes = self.buffer.get(..transmit.len)?.to_vec();
        self.destination = transmit.to;
        Some(Outgoing { bytes, ecn: transmit.ecn, kind: self.kind() })
    }

    fn take_arrived(&mut self) -> Option<Vec<Chunk>> {
        let arrived = std::mem::take(&mut self.arrived);
        (!arrived.is_empty()).then_some(arrived)
    }

    fn take_controller_events(&mut self) -> Vec<ControllerEvent> {
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
