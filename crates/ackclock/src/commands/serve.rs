//! `ackclock serve`: files over QUIC.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Args;
use congestion::Algorithm;
use experiment::printable::printable;
use quic::config::{EndpointConfig, RetryPolicy};
use quic::connection::{Event, Tap};
use quic::crypto::ServerCrypto;
use quic::crypto::tls::{Ciphers, Identity, ServerConfig, fingerprint};
use quic::endpoint::{Endpoint, EndpointSettings, Handle, Program};
use transfer::{Root, ServeConfig, Server};
use units::Time;

use super::files::controller::{ControllerArgs, settings};
use super::files::endpoint::DatagramArgs;
use super::files::listeners::{End, KeyLog, Qlog};
use super::files::{endpoint, keys, listeners};
use crate::output::tell;
use crate::status::{Error, HOLDS, complain, print};

/// The arguments of `ackclock serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The address and UDP port; port 0 is any.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:4433")]
    pub(crate) listen: SocketAddr,
    /// The folder whose files are served, and nothing else: no way leads out of it, folders and special files are refused.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: PathBuf,
    #[command(flatten)]
    pub(crate) controller: ControllerArgs,
    #[command(flatten)]
    pub(crate) datagram: DatagramArgs,
    /// The server's certificates in PEM, its own first; without them one is made, and its fingerprint printed.
    #[arg(long, value_name = "PEM", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// The key of the first certificate, in PEM.
    #[arg(long, value_name = "PEM", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Have every client prove its address (Retry); without it, when many handshakes are under way.
    #[arg(long)]
    pub(crate) retry: bool,
    /// Write a qlog file of each connection into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) qlog: Option<PathBuf>,
    /// How many connections there may be; clients beyond are refused.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) max_connections: u32,
    /// No lines of requests; problems only.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Names in a certificate that is made.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Serves until Ctrl-C: what runs is finished then, for up to 10 s; at the second one at once.
///
/// # Errors
/// One sentence.
pub(crate) fn run(args: &ServeArgs) -> Result<u8, Error> {
    serve(args, Ciphers::All)
}

/// The same with these ciphers alone.
pub(crate) fn serve(args: &ServeArgs, ciphers: Ciphers) -> Result<u8, Error> {
    let algorithm = args.controller.algorithm()?;
    let root = Root::open(&args.root)
        .map_err(|error| Error::bad(format!("cannot serve {}: {error}", args.root.display())))?;
    if let Some(folder) = &args.qlog {
        // Now, and not when the first client is there.
        listeners::check(folder).map_err(|error| Error::bad(no_qlog(folder, &error)))?;
    }
    let (identity, made) = match (&args.cert, &args.key) {
        (Some(cert), Some(key)) => (keys::identity(cert, key)?, false),
        _ => (Identity::self_signed(&NAMES).map_err(Error::bad)?, true),
    };
    let print_of = identity.chain.first().map(|own| keys::hex(&fingerprint(own)));
    let config = serve_config(args);
    let mut secrets = KeyLog::of_environment()?;
    let of_all = config.endpoint(&args.datagram.config());
    let settings = endpoint_settings(of_all, identity, &algorithm, ciphers, secrets.is_some())?;
    let (mut engine, local) = endpoint::bind(args.listen, settings, args.datagram)?;
    let mut server = Server::new(config, root);
    if let Some(folder) = &args.qlog {
        server = server.with_listener(listener(folder.clone(), algorithm));
    }
    let ender = server.ender();
    ctrlc::set_handler(move || ender.end()).map_err(Error::bad)?;
    print(&format!("serving {} at {local}\n", args.root.display()));
    if let Some(print_of) = print_of.filter(|_| made) {
        print(&format!("SHA-256 fingerprint of its certificate: {print_of}\n"));
    }
    let mut shown = Shown { server, secrets: secrets.take(), quiet: args.quiet };
    engine.run(&mut shown).map_err(|error| Error::bad(format!("the socket failed: {error}")))?;
    Ok(HOLDS)
}

fn serve_config(args: &ServeArgs) -> ServeConfig {
    let connections = args.max_connections as usize;
    // A quarter of them may be strangers before everyone has to prove where it is.
    let some = (connections / 4).max(1);
    let retry = if args.retry { RetryPolicy::Always } else { RetryPolicy::From(some) };
    ServeConfig { connections, retry, ..ServeConfig::default() }
}

fn endpoint_settings(
    endpoint: EndpointConfig,
    identity: Identity,
    algorithm: &Algorithm,
    ciphers: Ciphers,
    key_log: bool,
) -> Result<EndpointSettings, Error> {
    let alpn: Vec<&[u8]> = endpoint.alpn.iter().map(Vec::as_slice).collect();
    let tls = ServerConfig::new(identity, &alpn, ciphers)
        .map_err(|error| Error::bad(format!("the certificate and its key cannot be used: {error}")))?;
    let crypto = Some(ServerCrypto::Tls(tls));
    let endpoint = EndpointConfig { key_log, ..endpoint };
    Ok(EndpointSettings { config: endpoint, connection: settings(algorithm), crypto })
}

fn no_qlog(folder: &Path, error: &std::io::Error) -> String {
    format!("cannot write qlog into {}: {error}", folder.display())
}

/// A qlog file for each connection, by its peer and a number.
fn listener(folder: PathBuf, algorithm: Algorithm) -> impl Fn(SocketAddr) -> Box<dyn Tap> {
    let number = std::cell::Cell::new(0_u64);
    move |peer| {
        number.set(number.get() + 1);
        match Qlog::create(&folder, (number.get(), peer), &algorithm, End::Sender) {
            Ok(qlog) => Box::new(qlog),
            Err(error) => {
                complain(&no_qlog(&folder, &error));
                Box::new(Deaf)
            }
        }
    }
}

/// Hears nothing.
struct Deaf;

impl Tap for Deaf {
    fn on(&mut self, _: Time, _: &quic::connection::Observation<'_>) {}
}

/// The server, and its lines.
struct Shown {
    server: Server,
    secrets: Option<KeyLog>,
    quiet: bool,
}

impl Program for Shown {
    fn on_event(&mut self, now: Time, endpoint: &mut Endpoint, handle: Handle, event: Event) {
        if let (Event::Secret(line), Some(secrets)) = (&event, &mut self.secrets) {
            secrets.put(line);
        }
        self.server.on_event(now, endpoint, handle, event);
    }

    fn run(&mut self, now: Time, endpoint: &mut Endpoint) {
        self.server.run(now, endpoint);
        while let Some(line) = self.server.log().take() {
            if !self.quiet {
                let path = printable(&line.path).into_owned();
                tell(&format!("{} {} {path} {} bytes", line.peer, line.status, line.bytes));
            }
        }
    }

    fn deadline(&self) -> Time {
        self.server.deadline()
    }

    fn is_done(&self, endpoint: &Endpoint) -> bool {
        self.server.is_done(endpoint)
    }

    fn on_too_large(&mut self, _: Time, _: &mut Endpoint, host: IpAddr, bytes: usize) {
        complain(&endpoint::too_large(host, bytes));
    }
}
