//! `ackclock fetch`: fetches files over QUIC. A file is written completely or not at all.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use congestion::Algorithm;
use experiment::printable::printable;
use indicatif::{ProgressBar, ProgressStyle};
use quic::config::EndpointConfig;
use quic::connection::Event;
use quic::crypto::ClientCrypto;
use quic::crypto::tls::{Ciphers, ClientConfig};
use quic::endpoint::{Endpoint, EndpointSettings, Handle, Program};
use transfer::{Download, Fetch, FetchConfig, FetchError, FetchRequest, Protocol, Stage, Url};
use units::{Duration, Time};

use super::files::controller::{ControllerArgs, settings};
use super::files::endpoint::{self, DatagramArgs};
use super::files::listeners::{End, KeyLog, Qlog};
use super::files::table::{Measured, lines};
use super::files::trust::TrustArgs;
use crate::interrupt::on_interrupt;
use crate::status::{BAD, Error, HOLDS, INTERRUPTED, MISS, complain, print};

/// Interval between updates of the progress bar and checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(crate) struct FetchArgs {
    /// Fetch these URLs over one connection: `https://host:port/path`, all on the same host.
    #[arg(required = true, value_name = "URL")]
    pub(crate) urls: Vec<String>,
    /// Write to this file, or into this existing folder.
    ///
    /// The default is the current folder, with the last part of the URL as the name. A regular file
    /// is replaced; symbolic links, devices and pipes are refused.
    #[arg(long, short, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Fetch only this byte range, as in `bytes=0-999`.
    ///
    /// A server that does not support ranges sends the whole file; a message says so.
    #[arg(long, value_name = "RANGE", conflicts_with = "hq", value_parser = range)]
    pub(crate) range: Option<String>,
    /// Write a qlog file of the connection to this folder.
    ///
    /// Files of earlier connections are kept.
    #[arg(long, value_name = "DIR")]
    pub(crate) qlog: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) controller: ControllerArgs,
    #[command(flatten)]
    pub(crate) datagram: DatagramArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    /// Use `hq-interop` instead of HTTP/3.
    #[arg(long)]
    pub(crate) hq: bool,
    /// Set how long to wait for the handshake.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) patience: Duration,
    /// Print only errors and warnings, without progress and measurements.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

fn range(text: &str) -> Result<String, String> {
    transfer::h3::range::check(text).map(|()| text.to_owned())
}

/// Options of the client that only `ackclock interop` sets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClientOptions {
    /// Ciphers to offer.
    pub(crate) ciphers: Ciphers,
    /// Whether to update the keys as soon as possible.
    pub(crate) update_keys: bool,
    /// Whether to trust any server: the certificates of the interop runner change with each run.
    pub(crate) trust_anyone: bool,
}

/// Fetches the files until Ctrl-C.
pub(crate) fn run(args: &FetchArgs) -> Result<u8, Error> {
    let stop = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&stop);
    on_interrupt(move || handler.store(true, Ordering::Relaxed))?;
    fetch(args, ClientOptions::default(), &stop)
}

/// Fetches the files with these options, until `stop` is set.
pub(crate) fn fetch(args: &FetchArgs, options: ClientOptions, stop: &Arc<AtomicBool>) -> Result<u8, Error> {
    let urls: Vec<Url> = args.urls.iter().map(|url| Url::parse(url)).collect::<Result<_, _>>()?;
    let algorithm = args.controller.algorithm()?;
    let requests = requests(args, &urls)?;
    let url = urls.first().ok_or_else(|| Error::bad("no URL"))?;
    let mut last = None;
    for remote in endpoint::resolve(url)? {
        let mut program = once(args, options, (&algorithm, url, remote), requests.clone(), stop)?;
        let (connected, _) = program.fetch.times();
        let error = program.fetch.error().cloned();
        if connected.is_none() && !stop.load(Ordering::Relaxed) {
            // No answer: try the next address of the host.
            let why = error.map_or_else(|| "no connection".to_owned(), |error| error.to_string());
            let named = remote.ip().to_string() != url.host;
            let of = if named { format!("{}: ", url.host) } else { String::new() };
            last = Some(format!("{of}{remote}: {}", printable(&why)));
            continue;
        }
        return Ok(program.report(args, error.as_ref(), stop));
    }
    Err(Error::bad(last.unwrap_or_else(|| format!("{}: no connection", url.host))))
}

/// Fetches the files from one address of the host.
fn once(
    args: &FetchArgs,
    options: ClientOptions,
    (algorithm, url, remote): (&Algorithm, &Url, std::net::SocketAddr),
    requests: Vec<FetchRequest>,
    stop: &Arc<AtomicBool>,
) -> Result<ClientProgram, Error> {
    let protocol = if args.hq { Protocol::Hq } else { Protocol::Http3 };
    let trust = if options.trust_anyone { quic::crypto::tls::Trust::Anyone } else { args.trust.trust()? };
    let tls = ClientConfig::new(trust, &[protocol.alpn()], options.ciphers)
        .map_err(|error| Error::bad(format!("cannot use the root certificates: {error}")))?;
    let secrets = KeyLog::from_environment()?;
    let config = EndpointConfig {
        key_log: secrets.is_some(),
        ..FetchConfig::endpoint(protocol, &args.datagram.config())
    };
    let settings = EndpointSettings { config, connection: settings(algorithm), crypto: None };
    let (mut engine, local) = endpoint::bind(endpoint::towards(remote)?, settings, args.datagram)?;
    let config = FetchConfig {
        protocol,
        crypto: ClientCrypto::Tls(tls),
        server_name: url.host.clone(),
        addresses: (local, remote),
        patience: args.patience,
    };
    let now = engine.clock().now();
    let fetch = Fetch::begin(now, &mut engine.endpoint, config, requests).map_err(Error::bad)?;
    if let Some(folder) = &args.qlog {
        let cannot = |error| Error::bad(format!("cannot write qlog files to {}: {error}", folder.display()));
        let qlog = Qlog::create(folder, (1, remote), algorithm, End::Receiver, None).map_err(cannot)?;
        fetch.add_tap(&mut engine.endpoint, Box::new(qlog));
    }
    let bar = if args.quiet { ProgressBar::hidden() } else { bar() };
    let (stop, update_keys) = (Arc::clone(stop), options.update_keys);
    let mut program = ClientProgram { fetch, secrets, bar, stop, due: now, update_keys };
    let ran = engine.run(&mut program);
    program.bar.finish_and_clear();
    ran.map_err(|error| Error::bad(format!("the socket failed: {error}")))?;
    Ok(program)
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:24} [{bar:24}] {bytes} of {total_bytes}  {eta} left");
    ProgressBar::new(0)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "))
}

/// Returns the path of each file.
fn requests(args: &FetchArgs, urls: &[Url]) -> Result<Vec<FetchRequest>, Error> {
    let first = urls.first().ok_or_else(|| Error::bad("no URL"))?;
    if let Some(other) = urls.iter().find(|url| (&url.host, url.port) != (&first.host, first.port)) {
        let (a, b) = (&first.authority, &other.authority);
        return Err(Error::bad(format!("{a} and {b} are two servers; fetch from one at a time")));
    }
    if args.out.as_deref().is_some_and(|out| out.as_os_str() == "-") {
        return Err(Error::bad(
            "--out -: cannot write to standard output, because files are written whole or not at all; write ./- for a file of that name",
        ));
    }
    let is_folder = args.out.as_deref().is_none_or(Path::is_dir);
    if urls.len() > 1 && !is_folder {
        return Err(Error::bad("--out must be an existing folder if there are several files"));
    }
    let mut all: Vec<FetchRequest> = Vec::new();
    for (number, url) in urls.iter().enumerate() {
        let out = match (&args.out, is_folder) {
            (Some(file), false) => file.clone(),
            (folder, _) => {
                let name = url.file_name().ok_or_else(|| {
                    Error::bad(format!(
                        "{}: the path ends without a file name; give one with --out",
                        url.path
                    ))
                })?;
                folder.clone().unwrap_or_default().join(name)
            }
        };
        if all.iter().any(|other| other.out == out) {
            return Err(Error::bad(format!("two files would be written to {}", out.display())));
        }
        Download::check(&out).map_err(Error::bad)?;
        let (authority, path, range) = (url.authority.clone(), url.path.clone(), args.range.clone());
        all.push(FetchRequest { number, authority, path, range, out });
    }
    Ok(all)
}

/// The transfer, with its progress bar.
struct ClientProgram {
    fetch: Fetch,
    secrets: Option<KeyLog>,
    bar: ProgressBar,
    stop: Arc<AtomicBool>,
    due: Time,
    update_keys: bool,
}

impl ClientProgram {
    fn show_progress(&mut self) {
        let (bytes, expected) = self.fetch.progress().with_items(|items| {
            let expected = items.iter().map(|item| item.expected.unwrap_or(item.bytes)).sum();
            (items.iter().map(|item| item.bytes).sum(), expected)
        });
        self.bar.set_length(expected);
        self.bar.set_position(bytes);
    }

    /// Prints failures and measurements. Returns the exit status.
    fn report(&mut self, args: &FetchArgs, error: Option<&FetchError>, stop: &AtomicBool) -> u8 {
        let mut missing = 0;
        let why = error.map(ToString::to_string);
        self.fetch.progress().with_items(|items| {
            for (item, url) in items.iter().zip(&args.urls) {
                if matches!(item.stage, Stage::Done) && item.whole {
                    complain(&printable(&format!("{url}: the server sent the whole file, not the range")));
                }
                let Stage::Failed(failure) = &item.stage else { continue };
                missing += 1;
                let more = match (failure, &why) {
                    (transfer::Failure::Lost, Some(why)) => format!(": {why}"),
                    _ => String::new(),
                };
                complain(&printable(&format!("{url}: {failure}{more}")));
            }
        });
        if stop.load(Ordering::Relaxed) {
            complain("interrupted; no incomplete files are left");
            return INTERRUPTED;
        }
        let (begun, ended) = self.fetch.times();
        let nothing = missing == args.urls.len();
        if let (false, Some((begun, ended))) = (args.quiet || nothing, begun.zip(ended)) {
            let measured = Measured {
                bytes: self.fetch.progress().bytes(),
                took: ended - begun,
                own: self.fetch.meter().summary(),
                servers: self.fetch.progress().seen_by_server(),
            };
            print(&lines(&measured));
        }
        match missing {
            0 => HOLDS,
            _ if error.is_some() => BAD,
            _ => MISS,
        }
    }
}

impl Program for ClientProgram {
    fn on_event(&mut self, now: Time, endpoint: &mut Endpoint, handle: Handle, event: Event) {
        if let (Event::Secret(line), Some(secrets)) = (&event, &mut self.secrets) {
            secrets.put(line);
        }
        if event == Event::Confirmed
            && self.update_keys
            && let Some(connection) = endpoint.connection_mut(handle)
        {
            connection.request_key_update();
        }
        self.fetch.on_event(now, endpoint, handle, event);
    }

    fn run(&mut self, now: Time, endpoint: &mut Endpoint) {
        if self.stop.load(Ordering::Relaxed) {
            self.fetch.cancel();
        }
        self.fetch.run(now, endpoint);
        if now >= self.due {
            self.due = now + LOOK;
            self.show_progress();
        }
    }

    fn deadline(&self) -> Time {
        self.fetch.deadline().min(self.due)
    }

    fn is_done(&self, endpoint: &Endpoint) -> bool {
        self.fetch.is_done(endpoint)
    }

    fn on_unreachable(&mut self, now: Time, endpoint: &mut Endpoint, host: std::net::IpAddr) {
        self.fetch.on_unreachable(now, endpoint, host);
    }

    fn on_too_large(&mut self, _: Time, _: &mut Endpoint, host: std::net::IpAddr, bytes: usize) {
        complain(&endpoint::too_large(host, bytes));
    }
}
