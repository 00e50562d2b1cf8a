//! What the programs of all Rust stacks share: their command line, and `hq-interop`, which is a line that asks and a stream that answers.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, BufRead};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Component, Path, PathBuf};

pub type Failure = Box<dyn Error + Send + Sync>;

/// Of the interop runner: HTTP/0.9 over QUIC.
pub const ALPN: &[u8] = b"hq-interop";
/// Credit of flow control, bytes, so that the network limits and not this.
pub const CREDIT: u32 = 64 << 20;
/// Bytes read or written at a time.
pub const PIECE: usize = 64 << 10;

/// `PROGRAM client|server --name value ...`
pub struct Arguments(BTreeMap<String, String>);

impl Arguments {
    /// Those of this process, and whether it is the server.
    pub fn read() -> Result<(bool, Self), Failure> {
        let mut given = std::env::args().skip(1);
        let role = given.next().unwrap_or_default();
        let mut all = BTreeMap::new();
        while let Some(name) = given.next() {
            let name = name.strip_prefix("--").ok_or_else(|| format!("`{name}` is no option"))?.to_owned();
            let value = given.next().ok_or_else(|| format!("--{name} has no value"))?;
            all.insert(name, value);
        }
        match role.as_str() {
            "server" => Ok((true, Self(all))),
            "client" => Ok((false, Self(all))),
            _ => Err("first argument: client or server".into()),
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

    /// The server's address at its own end, and as the client knows it.
    pub fn address(&self) -> Result<SocketAddr, Failure> {
        Ok(SocketAddr::new(self.text("address")?.parse()?, self.number("port")?))
    }
}

/// Any address and port.
pub const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// Returns when whoever started this process says so: a line on standard input. Its end means that nobody waits for anything any more.
pub fn wait_for_the_word() -> Result<(), Failure> {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line)? {
        0 => Err("standard input ended before the word to begin".into()),
        _ => Ok(()),
    }
}

/// The file that a request asks for.
pub fn requested(root: &Path, request: &[u8]) -> Result<PathBuf, Failure> {
    let request = std::str::from_utf8(request)?.trim_end();
    let path = request.strip_prefix("GET /").ok_or("no request of HTTP/0.9")?;
    let path = Path::new(path);
    // Nothing but what is below the root.
    match path.components().all(|part| matches!(part, Component::Normal(_))) {
        true => Ok(root.join(path)),
        false => Err("a path that leaves the root".into()),
    }
}

/// Says why it could not, and with which status the process ends.
pub fn finish(result: Result<(), Failure>) -> std::process::ExitCode {
    match result {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}
