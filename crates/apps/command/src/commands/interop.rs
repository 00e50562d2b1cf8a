//! `ackclock interop`: client and server for the QUIC interop runner
//! (<https://github.com/quic-interop/quic-interop-runner>).

use std::env;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use experiment::printable::printable;
use quic::crypto::tls::Ciphers;
use units::{Bytes, Duration};

use super::fetch::{ClientOptions, FetchArgs, fetch};
use super::files::controller::ControllerArgs;
use super::files::endpoint::DatagramArgs;
use super::files::trust::TrustArgs;
use super::serve::{ServeArgs, serve};
use crate::interrupt::on_interrupt;
use crate::status::{Error, HOLDS, MISS, complain};

/// Exit status for a test case that the endpoint does not support.
const UNSUPPORTED: u8 = 127;
/// Timeout of a client's handshake. The runner has links that lose three of ten datagrams, in
/// bursts.
const PATIENCE: Duration = Duration::from_secs(60);
/// Largest number of connections of a server.
const CONNECTIONS: u32 = 1000;
/// Folders of the runner, and the variables that override them.
const FOLDERS: [(&str, &str); 3] = [("WWW", "/www"), ("DOWNLOADS", "/downloads"), ("CERTS", "/certs")];

/// Supported test cases.
const CASES: [&str; 8] =
    ["handshake", "transfer", "multiconnect", "chacha20", "retry", "keyupdate", "ecn", "http3"];

/// A test case, as this end sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Case {
    /// Whether to use HTTP/3 instead of `hq-interop`.
    http3: bool,
    /// Whether the server sends a Retry packet to every client.
    retry: bool,
    /// Whether each file has its own connection.
    many: bool,
    ciphers: Ciphers,
    /// Whether the client updates the keys.
    update_keys: bool,
}

impl Case {
    /// Returns the case with this value of TESTCASE. Returns `None` for unsupported ones:
    /// resumption, 0-RTT, version 2, deliberate migration, and unknown names.
    ///
    /// Some names stand for several cases of the runner. `handshake` is also used for `longrtt`;
    /// `transfer` for `multiplexing`, `amplificationlimit`, `transferloss`, `transfercorruption`,
    /// `blackhole`, `rebind-port`, `rebind-addr`, `ipv6`, `goodput` and `crosstraffic`;
    /// `multiconnect` for `handshakeloss` and `handshakecorruption`.
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

/// Flags in SERVER_PARAMS and CLIENT_PARAMS.
#[derive(Debug, Parser)]
#[command(name = "interop", no_binary_name = true)]
struct Params {
    #[command(flatten)]
    controller: ControllerArgs,
    #[command(flatten)]
    datagram: DatagramArgs,
}

/// No arguments: everything is in the environment.
#[derive(Debug, clap::Args)]
pub(crate) struct InteropArgs {}

/// Reads ROLE, TESTCASE, REQUESTS, QLOGDIR, SSLKEYLOGFILE, SERVER_PARAMS and CLIENT_PARAMS, and
/// runs that client or server.
pub(crate) fn run(_: &InteropArgs) -> Result<u8, Error> {
    let name = variable("TESTCASE").unwrap_or_default();
    let Some(case) = Case::named(&name) else {
        complain(&unsupported(&name));
        return Ok(UNSUPPORTED);
    };
    match variable("ROLE").as_deref() {
        Some("server") => server(case),
        Some("client") => client(case),
        _ => Err(Error::bad("ROLE must be client or server; this command is for the QUIC interop runner")),
    }
}

fn unsupported(case: &str) -> String {
    let known = CASES.join(", ");
    match printable(case) {
        case if case.is_empty() => {
            format!("TESTCASE is not set; this command is for the QUIC interop runner and supports {known}")
        }
        case => format!("TESTCASE {case} is not supported; supported: {known}"),
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
        Some(port) => port.parse().map_err(|_| Error::bad(format!("PORT {port}: not a port number")))?,
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
        fingerprint_file: None,
        retry: case.retry,
        qlog: variable("QLOGDIR").map(PathBuf::from),
        qlog_limit: Bytes(u64::MAX),
        max_connections: CONNECTIONS,
        // All clients of the runner have one address.
        max_per_host: Some(CONNECTIONS),
        quiet: false,
    };
    serve(&args, case.ciphers)
}

fn client(case: Case) -> Result<u8, Error> {
    let requests =
        variable("REQUESTS").ok_or_else(|| Error::bad("REQUESTS is not set; it has the URLs to fetch"))?;
    let urls: Vec<String> = requests.split_whitespace().map(str::to_owned).collect();
    let options = ClientOptions { ciphers: case.ciphers, update_keys: case.update_keys, trust_anyone: true };
    let stop = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&stop);
    on_interrupt(move || handler.store(true, Ordering::Relaxed))?;
    let batches: Vec<Vec<String>> =
        if case.many { urls.into_iter().map(|url| vec![url]).collect() } else { vec![urls] };
    let many = batches.len() > 1;
    for (number, urls) in batches.into_iter().enumerate() {
        // Each connection has its own folder of logs.
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
        if fetch(&args, options, &stop)? != HOLDS {
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
        assert!(unsupported("v2").starts_with("TESTCASE v2 is not supported; supported: handshake, "));
        assert!(unsupported("").starts_with("TESTCASE is not set"));
    }
}
