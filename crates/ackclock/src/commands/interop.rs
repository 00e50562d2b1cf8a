//! `ackclock interop`: the environment of the QUIC interop runner (<https://github.com/quic-interop/quic-interop-runner>, quic.md).

use std::env;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use experiment::printable::printable;
use quic::crypto::tls::Ciphers;
use units::Duration;

use super::fetch::{FetchArgs, Habits, fetch};
use super::files::controller::ControllerArgs;
use super::files::endpoint::DatagramArgs;
use super::files::trust::TrustArgs;
use super::serve::{ServeArgs, serve};
use crate::status::{Error, HOLDS, MISS, complain};

/// What the runner takes for "this endpoint cannot do that".
const UNSUPPORTED: u8 = 127;
/// A client's handshake on a link that loses three of ten datagrams, in bursts.
const PATIENCE: Duration = Duration::from_secs(60);
/// Of a server: connections at a time.
const CONNECTIONS: u32 = 1000;
/// Where the runner puts things, and the variables that say otherwise.
const FOLDERS: [(&str, &str); 3] = [("WWW", "/www"), ("DOWNLOADS", "/downloads"), ("CERTS", "/certs")];

/// The test cases that can be done.
const CASES: [&str; 8] =
    ["handshake", "transfer", "multiconnect", "chacha20", "retry", "keyupdate", "ecn", "http3"];

/// A test case, as this end sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Case {
    /// HTTP/3; otherwise `hq-interop`.
    http3: bool,
    /// The server sends a Retry to everyone.
    retry: bool,
    /// A connection for each file.
    many: bool,
    ciphers: Ciphers,
    /// The client updates the keys.
    update_keys: bool,
}

impl Case {
    /// Of the variable TESTCASE; none for what cannot be done: resumption, 0-RTT, version 2, migration on purpose, and what is not known.
    ///
    /// Several of the runner's cases have one name here: `handshake` is also that of `longrtt`; `transfer` of `multiplexing`,
    /// `amplificationlimit`, `transferloss`, `transfercorruption`, `blackhole`, `rebind-port`, `rebind-addr`, `ipv6`, `goodput`,
    /// `crosstraffic`; `multiconnect` of `handshakeloss` and `handshakecorruption`.
    fn named(name: &str) -> Option<Self> {
        let plain = Self::default();
        Some(match name {
            "handshake" | "transfer" | "ecn" => plain,
            "retry" => Self { retry: true, ..plain },
            "chacha20" => Self { ciphers: Ciphers::ChaCha20Poly1305, ..plain },
            "keyupdate" => Self { update_keys: true, ..plain },
            "http3" => Self { http3: true, ..plain },
            "multiconnect" => Self { many: true, ..plain },
            _ => return None,
        })
    }
}

/// What SERVER_PARAMS and CLIENT_PARAMS may say.
#[derive(Debug, Parser)]
#[command(name = "interop", no_binary_name = true)]
struct Params {
    #[command(flatten)]
    controller: ControllerArgs,
    #[command(flatten)]
    datagram: DatagramArgs,
}

/// It has none: all is in the environment.
#[derive(Debug, clap::Args)]
pub(crate) struct InteropArgs {}

/// Reads ROLE, TESTCASE, REQUESTS, QLOGDIR, SSLKEYLOGFILE, SERVER_PARAMS and CLIENT_PARAMS, and is that client or server.
///
/// # Errors
/// One sentence.
pub(crate) fn run(_: &InteropArgs) -> Result<u8, Error> {
    let name = variable("TESTCASE").unwrap_or_default();
    let Some(case) = Case::named(&name) else {
        complain(&unsupported(&name));
        return Ok(UNSUPPORTED);
    };
    match variable("ROLE").as_deref() {
        Some("server") => server(case),
        Some("client") => client(case),
        _ => Err(Error::bad("ROLE must be client or server: this command is for the QUIC interop runner")),
    }
}

fn unsupported(case: &str) -> String {
    let known = CASES.join(", ");
    match printable(case) {
        case if case.is_empty() => {
            format!("TESTCASE is not set: this command is for the QUIC interop runner, and knows {known}")
        }
        case => format!("TESTCASE {case} is none of {known}"),
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn folder(name: &str) -> PathBuf {
    let usual = FOLDERS.iter().find(|(known, _)| *known == name).map_or("", |(_, usual)| usual);
    variable(name).unwrap_or_else(|| usual.to_owned()).into()
}

fn more(params: &str) -> Result<Params, Error> {
    let words = variable(params).unwrap_or_default();
    let read = Params::try_parse_from(words.split_whitespace());
    read.map_err(|error| Error::bad(format!("{params}: {error}")))
}

fn server(case: Case) -> Result<u8, Error> {
    let port = match variable("PORT") {
        Some(port) => port.parse().map_err(|_| Error::bad(format!("PORT {port}: no port")))?,
        None => 443,
    };
    let certs = folder("CERTS");
    let Params { controller, datagram } = more("SERVER_PARAMS")?;
    let args = ServeArgs {
        listen: SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
        root: folder("WWW"),
        controller,
        datagram,
        cert: Some(certs.join("cert.pem")),
        key: Some(certs.join("priv.key")),
        retry: case.retry,
        qlog: variable("QLOGDIR").map(PathBuf::from),
        max_connections: CONNECTIONS,
        quiet: false,
    };
    serve(&args, case.ciphers)
}

fn client(case: Case) -> Result<u8, Error> {
    let requests = variable("REQUESTS").ok_or_else(|| Error::bad("REQUESTS: nothing is asked for"))?;
    let urls: Vec<String> = requests.split_whitespace().map(str::to_owned).collect();
    let habits = Habits { ciphers: case.ciphers, update_keys: case.update_keys, anyone: true };
    let stop = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&stop);
    ctrlc::set_handler(move || handler.store(true, Ordering::Relaxed)).map_err(Error::bad)?;
    let batches: Vec<Vec<String>> =
        if case.many { urls.into_iter().map(|url| vec![url]).collect() } else { vec![urls] };
    let many = batches.len() > 1;
    for (number, urls) in batches.into_iter().enumerate() {
        // A log each.
        let qlog = variable("QLOGDIR").map(PathBuf::from);
        let qlog = qlog.map(|folder| if many { folder.join(number.to_string()) } else { folder });
        let Params { controller, datagram } = more("CLIENT_PARAMS")?;
        let args = FetchArgs {
            urls,
            out: Some(folder("DOWNLOADS")),
            range: None,
            qlog,
            controller,
            datagram,
            trust: TrustArgs::default(),
            hq: !case.http3,
            patience: PATIENCE,
            quiet: false,
        };
        if fetch(&args, habits, &stop)? != HOLDS {
            return Ok(MISS);
        }
    }
    Ok(HOLDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_can_be_done() {
        assert!(CASES.iter().all(|case| Case::named(case).is_some()));
        assert!(unsupported("v2").starts_with("TESTCASE v2 is none of handshake, "));
        assert!(unsupported("").starts_with("TESTCASE is not set"));
    }
}
