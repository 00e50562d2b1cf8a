//! `ackclock serve`: serves files over QUIC.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use congestion::Algorithm;
use experiment::printable::printable;
use quic::config::EndpointConfig;
use quic::connection::{Event, Tap};
use quic::crypto::ServerCrypto;
use quic::crypto::tls::{Ciphers, Identity, ServerConfig, fingerprint};
use quic::endpoint::{Endpoint, EndpointSettings, Handle, Program};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use transfer::root::MAX_OPEN;
use transfer::{Download, LogEntry, Root, ServeConfig, Server};
use units::{Bytes, Time};

use super::arguments::integer;
use super::files::controller::{ControllerArgs, settings};
use super::files::endpoint::DatagramArgs;
use super::files::listeners::{End, KeyLog, Qlog, QlogLimit};
use super::files::{endpoint, keys, listeners};
use crate::interrupt::on_interrupt;
use crate::output::{Background, tell};
use crate::status::{Error, HOLDS, complain, print};

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Set the address and UDP port to listen on.
    ///
    /// Port 0 picks a free port.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:4433", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// Serve the regular files below this folder.
    ///
    /// No path leads out of the folder. Folders and special files are refused.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: PathBuf,
    #[command(flatten)]
    pub(crate) controller: ControllerArgs,
    #[command(flatten)]
    pub(crate) datagram: DatagramArgs,
    /// Use these certificates (PEM), the server's own first.
    ///
    /// Without them, the server creates a certificate and prints its fingerprint.
    #[arg(long, value_name = "PEM", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Use this key (PEM) with the first certificate.
    #[arg(long, value_name = "PEM", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Write the fingerprint of the certificate to this file, for scripts.
    ///
    /// The file is complete before the server listens. A regular file is replaced; symbolic links,
    /// devices and pipes are refused.
    #[arg(long, value_name = "FILE")]
    pub(crate) fingerprint_file: Option<PathBuf>,
    /// Validate the address of every client with a Retry packet.
    ///
    /// Without this flag, the server does so only while handshakes in progress take a quarter of
    /// all connections, or of those of the client's host.
    #[arg(long)]
    pub(crate) retry: bool,
    /// Write a qlog file for each connection to this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) qlog: Option<PathBuf>,
    /// Set the maximum size of all qlog files together.
    ///
    /// When it is reached, the logs end and transfers go on.
    #[arg(long, value_name = "SIZE", default_value = QLOG_LIMIT, requires = "qlog")]
    pub(crate) qlog_limit: Bytes,
    /// Set the maximum number of connections; further clients are refused.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = integer(1_u32, 65_536))]
    pub(crate) max_connections: u32,
    /// Set the maximum number of connections of one host: an IPv4 address, or a /64 of IPv6.
    ///
    /// The default is half of all connections.
    #[arg(long, value_name = "N", value_parser = integer(1_u32, 65_536))]
    pub(crate) max_per_host: Option<u32>,
    /// Print only errors and warnings, without a line for each request.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "write address and port, like 0.0.0.0:4433 or [::]:4433".to_owned())
}

/// Default limit of all qlog files.
pub(crate) const QLOG_LIMIT: &str = "1 GB";
/// Open files besides logs and served files: standard ones, those of signals, the socket, the
/// folder and its parts, and some that the shell leaves open.
const OWN_FILES: usize = 16;
/// Largest number of characters of a path in a line about a request.
const MAX_SHOWN: usize = 200;

/// Names in a certificate that the server creates.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Serves until Ctrl-C. Transfers under way are finished then, for up to 10 s. A second Ctrl-C ends
/// them at once.
pub(crate) fn run(args: &ServeArgs) -> Result<u8, Error> {
    serve(args, Ciphers::All)
}

/// Serves with these ciphers only.
pub(crate) fn serve(args: &ServeArgs, ciphers: Ciphers) -> Result<u8, Error> {
    let files = open_files(args)?;
    let algorithm = args.controller.algorithm()?;
    let root = Root::open(&args.root, files)
        .map_err(|error| Error::bad(format!("cannot serve {}: {error}", args.root.display())))?;
    if let Some(folder) = &args.qlog {
        // Report the error now, not when the first client connects.
        listeners::check(folder).map_err(|error| Error::bad(no_qlog(folder, &error)))?;
    }
    let (identity, made) = match (&args.cert, &args.key) {
        (Some(cert), Some(key)) => (keys::identity(cert, key)?, false),
        _ => (Identity::self_signed(&NAMES).map_err(Error::bad)?, true),
    };
    let certificate = identity.chain.first().map(|own| keys::hex(&fingerprint(own)));
    let config = serve_config(args);
    let mut secrets = KeyLog::from_environment()?;
    let (endpoint, bounds) = (config.endpoint(&args.datagram.config()), bounds(&config, files));
    let settings = endpoint_settings(endpoint, identity, &algorithm, ciphers, secrets.is_some())?;
    // Before the socket listens: `ackclock link` starts the client as soon as it does.
    if let (Some(file), Some(certificate)) = (&args.fingerprint_file, &certificate) {
        write_line(file, certificate)?;
    }
    let (mut engine, local) = endpoint::bind(args.listen, settings, args.datagram)?;
    let mut server = Server::new(config, root);
    if let Some(folder) = &args.qlog {
        server = server.with_tap(listener(folder.clone(), algorithm, args.qlog_limit));
    }
    let shutdown = server.shutdown_handle();
    on_interrupt(move || shutdown.shut_down())?;
    print(&format!("serving {} at {local}\n", args.root.display()));
    if let Some(certificate) = certificate.filter(|_| made) {
        print(&format!("SHA-256 fingerprint of its certificate: {certificate}\n"));
        print(&how_to_fetch(local, &certificate));
    }
    print(&bounds);
    // A stranger chooses when lines are printed. They must not hold up the server.
    let _background = Background::start();
    let mut program = ServerProgram { server, secrets: secrets.take(), quiet: args.quiet };
    engine.run(&mut program).map_err(|error| Error::bad(format!("the socket failed: {error}")))?;
    Ok(HOLDS)
}

/// Raises the limit of open files to what is allowed. Returns how many served files may be open.
fn open_files(args: &ServeArgs) -> Result<usize, Error> {
    let limit = getrlimit(Resource::Nofile);
    // Never refused: the hard limit stays.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let most = limit.maximum.map_or(usize::MAX, |most| most as usize);
    let logs = args.qlog.as_ref().map_or(0, |_| args.max_connections as usize);
    let needed = OWN_FILES + logs + 1;
    if most < needed {
        return Err(Error::bad(format!(
            "the server needs {needed} open files ({logs} for --qlog) and may have {most}: run `ulimit -n {needed}` first, or lower --max-connections"
        )));
    }
    Ok((most - needed + 1).min(MAX_OPEN))
}

/// Returns a line with the bounds of what clients can take.
fn bounds(config: &ServeConfig, files: usize) -> String {
    let megabytes = config.memory_bound().0.div_ceil(1_000_000);
    format!(
        "at most {} connections, {} of them from one host, {megabytes} MB of memory, {files} open files\n",
        config.connections, config.connections_per_host
    )
}

/// Writes a line to a file, in one step. Refuses to replace anything but a regular file.
fn write_line(file: &Path, line: &str) -> Result<(), Error> {
    let written = Download::begin(file).and_then(|mut draft| {
        draft.write(format!("{line}\n").as_bytes())?;
        draft.commit()
    });
    written.map_err(Error::bad)
}

/// Returns the command that fetches a file from this server. A server that listens on every address
/// is reached at the loopback address.
fn how_to_fetch(local: SocketAddr, certificate: &str) -> String {
    let (host, note) = match local.ip() {
        ip if !ip.is_unspecified() => (ip, String::new()),
        ip => {
            let loopback: IpAddr =
                if ip.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
            let note = format!("on another machine, replace {loopback} with the address of this one\n");
            (loopback, note)
        }
    };
    let address = SocketAddr::new(host, local.port());
    format!(
        "fetch a file with: ackclock fetch https://{address}/FILE --insecure-accept {certificate}\n{note}"
    )
}

fn serve_config(args: &ServeArgs) -> ServeConfig {
    let connections = args.max_connections as usize;
    let connections_per_host = args.max_per_host.map_or(connections.div_ceil(2), |most| most as usize);
    ServeConfig { connections, connections_per_host, retry: args.retry, ..ServeConfig::default() }
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
        .map_err(|error| Error::bad(format!("cannot use the certificate and its key: {}", error.reason)))?;
    let crypto = Some(ServerCrypto::Tls(tls));
    let endpoint = EndpointConfig { key_log, ..endpoint };
    Ok(EndpointSettings { config: endpoint, connection: settings(algorithm), crypto })
}

fn no_qlog(folder: &Path, error: &std::io::Error) -> String {
    format!("cannot write qlog files to {}: {error}", folder.display())
}

/// Returns a function that creates a qlog file for each connection, named by its peer and a number,
/// until all files together reach the limit.
fn listener(
    folder: PathBuf,
    algorithm: Algorithm,
    limit: Bytes,
) -> impl Fn(SocketAddr) -> Option<Box<dyn Tap>> {
    let (number, limit) = (std::cell::Cell::new(0_u64), Arc::new(QlogLimit::new(limit)));
    move |peer| {
        if limit.is_reached() {
            return None;
        }
        number.set(number.get() + 1);
        let made = Qlog::create(&folder, (number.get(), peer), &algorithm, End::Sender, Some(&limit));
        let qlog = made.inspect_err(|error| complain(&no_qlog(&folder, error))).ok()?;
        Some(Box::new(qlog))
    }
}

/// Returns the line about a request. Its path is cut, since a stranger chooses it.
fn shown(line: &LogEntry) -> String {
    let end = line.path.char_indices().nth(MAX_SHOWN);
    let cut = end.map_or(line.path.clone(), |(end, _)| format!("{}...", &line.path[..end]));
    format!("{} {} {} {} bytes", line.peer, line.status, printable(&cut), line.bytes)
}

/// The server, with a line for each request.
struct ServerProgram {
    server: Server,
    secrets: Option<KeyLog>,
    quiet: bool,
}

impl Program for ServerProgram {
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
                tell(&shown(&line));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port() {
        assert!(address("[::1]:4433").is_ok() && address("127.0.0.1:0").is_ok());
        for wrong in ["foo", "127.0.0.1", "localhost:4433"] {
            assert!(address(wrong).unwrap_err().contains("like 0.0.0.0:4433"), "{wrong}");
        }
    }

    /// A long path is cut between characters.
    #[test]
    fn long_paths_are_cut() {
        let line = |path: String| {
            shown(&LogEntry { peer: "192.0.2.1:1".parse().unwrap(), path, status: 404, bytes: 0 })
        };
        assert_eq!(line("/a".to_owned()), "192.0.2.1:1 404 /a 0 bytes");
        let cut = format!("192.0.2.1:1 404 {}... 0 bytes", "é".repeat(200));
        assert_eq!((line("é".repeat(201)), line("é".repeat(4000))), (cut.clone(), cut));
        assert!(!line("é".repeat(200)).contains("..."));
    }

    #[test]
    fn the_command_reaches_the_server() {
        let line = |local: &str| how_to_fetch(local.parse().unwrap(), "aa:bb");
        assert_eq!(
            line("192.0.2.1:4433"),
            "fetch a file with: ackclock fetch https://192.0.2.1:4433/FILE --insecure-accept aa:bb\n"
        );
        assert!(line("[2001:db8::1]:443").contains("https://[2001:db8::1]:443/FILE "));
        let any = line("0.0.0.0:4433");
        assert!(
            any.contains("https://127.0.0.1:4433/FILE ") && any.contains("replace 127.0.0.1 with"),
            "{any}"
        );
        assert!(line("[::]:4433").contains("https://[::1]:4433/FILE "));
    }
}
