//! Parts shared by the programs of all Rust stacks: their command line, and `hq-interop`. A client
//! sends one line as its request, and a stream carries the response.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, BufRead};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Component, Path, PathBuf};

pub type Failure = Box<dyn Error + Send + Sync>;

/// ALPN of the QUIC interop runner's HTTP/0.9.
pub const ALPN: &[u8] = b"hq-interop";
/// Flow control credit in bytes, large enough that only the network limits a transfer.
pub const CREDIT: u32 = 64 << 20;
/// Size of a read or write, in bytes.
pub const PIECE: usize = 64 << 10;

/// Command line options: `PROGRAM client|server --name value ...`.
pub struct Arguments(BTreeMap<String, String>);

impl Arguments {
    /// Parses this process's command line. Returns true for a server, and the options.
    pub fn read() -> Result<(bool, Self), Failure> {
        let mut given = std::env::args().skip(1);
        let role = given.next().unwrap_or_default();
        let mut all = BTreeMap::new();
        while let Some(name) = given.next() {
            let name = name.strip_prefix("--").ok_or_else(|| format!("unexpected argument `{name}`"))?.to_owned();
            let value = given.next().ok_or_else(|| format!("--{name} needs a value"))?;
            all.insert(name, value);
        }
        match role.as_str() {
            "server" => Ok((true, Self(all))),
            "client" => Ok((false, Self(all))),
            _ => Err("the first argument must be `client` or `server`".into()),
        }
    }

    pub fn text(&self, name: &str) -> Result<&str, Failure> {
        self.0.get(name).map(String::as_str).ok_or_else(|| format!("--{name} is missing").into())
    }

    pub fn path(&self, name: &str) -> Result<PathBuf, Failure> {
        self.text(name).map(PathBuf::from)
    }

    pub fn number(&self, name: &str) -> Result<u16, Failure> {
        Ok(self.text(name)?.parse()?)
    }

    /// Returns the server's address, which is the same at both ends.
    pub fn address(&self) -> Result<SocketAddr, Failure> {
        Ok(SocketAddr::new(self.text("address")?.parse()?, self.number("port")?))
    }
}

/// Any local address and port.
pub const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// Waits for the start signal, a line on standard input. The end of input means that nobody needs
/// this process any more.
pub fn wait_for_start() -> Result<(), Failure> {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line)? {
        0 => Err("standard input ended before the start signal".into()),
        _ => Ok(()),
    }
}

/// Returns the path of the requested file.
pub fn requested(root: &Path, request: &[u8]) -> Result<PathBuf, Failure> {
    let request = std::str::from_utf8(request)?.trim_end();
    let path = request.strip_prefix("GET /").ok_or("not an HTTP/0.9 request")?;
    let path = Path::new(path);
    // Serves only files below the root.
    match path.components().all(|part| matches!(part, Component::Normal(_))) {
        true => Ok(root.join(path)),
        false => Err("the path is outside of the root".into()),
    }
}

/// Prints an error, and returns the exit status of the process.
pub fn finish(result: Result<(), Failure>) -> std::process::ExitCode {
    match result {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}
