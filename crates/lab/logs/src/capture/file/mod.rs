//! Reads the records of capture files.

mod input;
mod pcap;
mod pcapng;
mod record;

use std::io::{self, Read};

use input::Input;
pub(super) use record::{Frame, Records};

/// Reports whether a file begins as a capture does.
pub(super) fn looks_like(first_bytes: &[u8]) -> bool {
    pcapng::looks_like(first_bytes) || pcap::Format::detect(first_bytes).is_some()
}

/// Reads a file. Returns false if it is no capture.
pub(super) fn read(from: impl Read, records: &mut dyn Records) -> io::Result<bool> {
    let mut input = Input::new(from);
    input.need(24)?;
    if pcapng::looks_like(input.data()) {
        pcapng::read(&mut input, records)?;
        return Ok(true);
    }
    match pcap::Format::detect(input.data()) {
        Some(format) => pcap::read(&mut input, format, records).map(|()| true),
        None => Ok(false),
    }
}
