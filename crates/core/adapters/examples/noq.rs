//! Runs BBRv3 in noq: two endpoints in memory transfer 1 MB from client to server.
//!
//!     cargo run --example noq --features noq
//!
//! With sockets the code is the same: a program that uses `noq` needs `transport()`, because
//! `noq::TransportConfig` is this type.

use std::error::Error;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ackclock_adapters::congestion::algorithms::bbr::v3;
use ackclock_adapters::noq::Factory;
use bytes::BytesMut;
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::rustls::{self, pki_types};
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, FourTuple,
    PathId, ServerConfig, TransportConfig,
};

const BYTES: usize = 1_000_000;
const ONE_WAY: Duration = Duration::from_millis(10);

/// Returns a configuration with Ackclock's BBRv3 as congestion controller.
fn transport() -> Result<TransportConfig, Box<dyn Error>> {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(Factory::new(v3::Params::default(), 1)?));
    Ok(transport)
}

fn configs() -> Result<(ClientConfig, ServerConfig), Box<dyn Error>> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
    let key = pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone())?;
    let server = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())?;
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(client)?));
    client.transport_config(Arc::new(transport()?));
    Ok((client, ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(server)?))))
}

/// An endpoint with its only connection.
struct End {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
}

impl End {
    fn handle(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) {
        let mut answer = Vec::new();
        match self.endpoint.handle(now, FourTuple::new(from, None), None, BytesMut::from(bytes), &mut answer)
        {
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.endpoint.accept(incoming, now, &mut answer, None).ok();
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            _ => {}
        }
    }

    /// Returns the datagrams to send now.
    fn datagrams(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let Some((handle, connection)) = &mut self.connection else { return Vec::new() };
        if connection.poll_timeout().is_some_and(|due| due <= now) {
            connection.handle_timeout(now);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        let mut all = Vec::new();
        let mut buffer = Vec::new();
        while connection.poll_transmit(now, NonZeroUsize::MIN, &mut buffer).is_some() {
            all.push(std::mem::take(&mut buffer));
        }
        all
    }
}

#[allow(clippy::disallowed_methods, reason = "the clock of a program, not of a simulation")]
fn main() -> Result<(), Box<dyn Error>> {
    let (client, server) = configs()?;
    let config = Arc::new(EndpointConfig::default());
    let addresses: [SocketAddr; 2] = ["10.0.0.1:4000".parse()?, "10.0.0.2:443".parse()?];
    let mut now = Instant::now();
    let begun = now;
    let mut sender = Endpoint::new(Arc::clone(&config), None, false);
    let connection = Some(sender.connect(now, client, addresses[1], "localhost")?);
    let receiver = End { endpoint: Endpoint::new(config, Some(Arc::new(server)), false), connection: None };
    let mut ends = [End { endpoint: sender, connection }, receiver];
    let mut flying: Vec<(Instant, usize, Vec<u8>)> = Vec::new();
    let (mut stream, mut written, mut read) = (None, 0, 0);
    while read < BYTES && now < begun + Duration::from_secs(60) {
        if let Some((_, connection)) = &mut ends[0].connection {
            if stream.is_none() && !connection.is_handshaking() {
                stream = connection.streams().open(Dir::Uni);
            }
            if let Some(id) = stream.filter(|_| written < BYTES) {
                written += connection.send_stream(id).write(&vec![7; BYTES - written]).unwrap_or(0);
            }
        }
        if let Some((_, connection)) = &mut ends[1].connection
            && let Some(id) = stream
        {
            // The server takes the stream ID from the client here. A real program would wait for
            // `StreamEvent::Opened`.
            let _ = connection.streams().accept(Dir::Uni);
            if let Ok(mut chunks) = connection.recv_stream(id).read(true) {
                while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                    read += chunk.bytes.len();
                }
                let _ = chunks.finalize();
            }
        }
        for (from, end) in ends.iter_mut().enumerate() {
            let left = end.datagrams(now);
            flying.extend(left.into_iter().map(|bytes| (now + ONE_WAY, from, bytes)));
        }
        now += Duration::from_micros(100);
        let (arrived, rest) = flying.into_iter().partition(|(due, ..)| *due <= now);
        flying = rest;
        let arrived: Vec<(Instant, usize, Vec<u8>)> = arrived;
        for (_, from, bytes) in arrived {
            ends[1 - from].handle(now, addresses[from], &bytes);
        }
    }
    let controller = ends[0].connection.as_ref().and_then(|(_, c)| c.congestion_state(PathId::ZERO));
    let window = controller.map_or(0, noq_proto::congestion::Controller::window);
    println!("{read} bytes in {:?}, a window of {window} bytes", now - begun);
    Ok(())
}
