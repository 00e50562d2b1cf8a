//! Reads a log file of any format.

use std::path::Path;

use quic::passive::KeyLog;

use crate::event::Sink;
use crate::{Error, capture, flent, iperf3, qlog};

/// Largest key log, in bytes.
const MOST_KEYS: u64 = 64 << 20;

/// Reads a log file. Its contents tell the format; gzip is unwrapped.
///
/// # Errors
/// A file that cannot be read, or is in no known format. What was read before reached the sink.
pub fn read(path: &Path, keys: Option<&KeyLog>, sink: &mut dyn Sink) -> Result<(), Error> {
    let name = path.display().to_string();
    let input = crate::input::open(path)?;
    let first = input.first();
    if qlog::looks_like(first) {
        return qlog::read(input, &name, sink);
    }
    if capture::looks_like(first) {
        return capture::read(input, &name, keys, sink);
    }
    if flent::looks_like(first) {
        return flent::read(input, &name, sink);
    }
    if iperf3::looks_like(first) {
        return iperf3::read(input, &name, sink);
    }
    let message = "it is in no known format: give qlog, pcap, pcapng, a data file of flent or JSON of iperf3";
    Err(Error { file: name, at: None, message: message.to_owned() })
}

/// Reads TLS keys, as programs write them to the file named by `SSLKEYLOGFILE`.
///
/// # Errors
/// A file that cannot be read, or has no key.
pub fn read_keys(path: &Path) -> Result<KeyLog, Error> {
    use std::io::Read;
    let wrong = |message: String| Error { file: path.display().to_string(), at: None, message };
    let mut text = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| wrong(e.to_string()))?;
    file.take(MOST_KEYS).read_to_end(&mut text).map_err(|e| wrong(e.to_string()))?;
    let keys = KeyLog::parse(&String::from_utf8_lossy(&text));
    match keys.is_empty() {
        true => Err(wrong("it has no TLS secret; give the file that SSLKEYLOGFILE names".to_owned())),
        false => Ok(keys),
    }
}
