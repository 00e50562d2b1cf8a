//! Reads packet captures: pcap and pcapng with TCP and QUIC.
//!
//! ```text
//! file/       bytes -> packets with times, interfaces, TLS keys
//! link.rs     frames of a link layer -> IP packets
//! ip.rs       IP packets -> segments, datagrams
//! tcp/        segments -> events of connections
//! quic/       datagrams -> events of connections
//! origin.rs   origin of a packet: time, interface, ends
//! ranges.rs   what was captured of a stream, or of packet numbers
//! view.rs     a connection at one interface: its times and gaps
//! vantage.rs  the end nearest to the capture
//! ```
//!
//! Each interface has connections of its own. If a file holds both ends of a connection, as those
//! of the emulator do, they share an identity.

mod file;
mod ip;
mod link;
mod origin;
mod quic;
mod ranges;
mod tcp;
mod vantage;
mod view;

use std::collections::BTreeMap;
use std::io;

use ::quic::passive::KeyLog;

use crate::error::{At, Error};
use crate::event::Sink;
use origin::Origin;
use view::File;

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Largest number of connections of each protocol that are followed at a time.
const MOST: usize = 4096;
/// Number of bytes between two questions whether to stop.
const PAUSE: u64 = 1 << 19;
/// Largest number of characters of an interface's name that are kept.
const NAME: usize = 64;
/// Largest number of interfaces whose names are kept.
const NAMES: usize = 1024;

/// Reports whether a file begins as a packet capture does: pcap in any form, or pcapng.
/// `first_bytes` are the first 12 bytes or more.
pub fn looks_like(first_bytes: &[u8]) -> bool {
    file::looks_like(first_bytes)
}

/// Reads a packet capture and tells its events to `sink`. `name` is the name of the file, for
/// messages. `keys` are TLS secrets for QUIC; those in the file are used as well. Packets that are
/// neither TCP nor QUIC are ignored.
///
/// # Errors
/// A file that is no capture or has no connection of TCP or QUIC, and failures to read it. Damage
/// further on is no error: a [`Gap`](crate::event::Gap) tells it.
pub fn read(
    input: impl io::Read,
    name: &str,
    keys: Option<&KeyLog>,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let mut capture = Capture::new(keys.cloned().unwrap_or_default(), MOST, sink);
    let result = file::read(input, &mut capture);
    // As a truncated gzip file ends.
    let is_short = matches!(&result, Err(problem) if problem.kind() == io::ErrorKind::UnexpectedEof);
    capture.file.truncated |= is_short;
    capture.close();
    let error = |at, message| Error { file: name.to_owned(), at, message };
    match result {
        Err(_) if is_short && capture.used > 0 => Ok(()),
        Err(problem) => Err(error(Some(At::Byte(capture.offset)), format!("it cannot be read: {problem}"))),
        Ok(false) => Err(error(Some(At::Byte(0)), "it is no packet capture: give pcap or pcapng".to_owned())),
        Ok(true) if capture.used == 0 && !capture.stopped => Err(error(None, capture.ignored.message())),
        Ok(true) => Ok(()),
    }
}

/// Numbers of packets that are of no connection.
#[derive(Debug, Default)]
struct Ignored {
    /// Link layers that are not known.
    links: BTreeMap<u32, u64>,
    /// Frames that hold no IP packet.
    not_ip: u64,
    fragments: u64,
    udp: u64,
    other: u64,
}

impl Ignored {
    fn message(&self) -> String {
        if let Some((link, frames)) = self.links.first_key_value() {
            return format!(
                "{frames} frames are of link type {link}, which cannot be read: capture at an Ethernet or \
                 cooked interface"
            );
        }
        let counts = [
            (self.udp, "UDP datagrams that are not QUIC"),
            (self.other, "IP packets of other protocols or cut short"),
            (self.fragments, "fragments of IP packets"),
            (self.not_ip, "frames without an IP packet"),
        ];
        let counts = counts.iter().filter(|count| count.0 > 0);
        let counts: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
        match counts.is_empty() {
            true => "it has no packets".to_owned(),
            false => format!("it has no connection of TCP or QUIC, only {}", counts.join(", ")),
        }
    }
}

/// State of reading.
struct Capture<'a> {
    log: KeyLog,
    most: usize,
    sink: &'a mut dyn Sink,
    file: File,
    names: BTreeMap<u32, String>,
    tcp: tcp::Tcp,
    quic: quic::Quic,
    ignored: Ignored,
    /// Number of packets of connections.
    used: u64,
    /// Position in the file.
    offset: u64,
    /// Position at which the sink is asked next whether to stop.
    pause: u64,
    stopped: bool,
}

impl<'a> Capture<'a> {
    fn new(log: KeyLog, most: usize, sink: &'a mut dyn Sink) -> Self {
        Self {
            log,
            most,
            sink,
            file: File::default(),
            names: BTreeMap::new(),
            tcp: tcp::Tcp::default(),
            quic: quic::Quic::default(),
            ignored: Ignored::default(),
            used: 0,
            offset: 0,
            pause: PAUSE,
            stopped: false,
        }
    }

    fn packet(&mut self, frame: &file::Frame<'_>) {
        if !link::is_known(frame.link) {
            if self.ignored.links.len() < NAMES || self.ignored.links.contains_key(&frame.link) {
                *self.ignored.links.entry(frame.link).or_default() += 1;
            }
            return;
        }
        let Some(inner) = link::find(frame.link, frame.data) else {
            self.ignored.not_ip += 1;
            return;
        };
        let Some(packet) = ip::parse(inner.ip, frame.length.saturating_sub(inner.before)) else {
            self.ignored.other += 1;
            return;
        };
        if packet.fragment == ip::Fragment::Later {
            self.ignored.fragments += 1;
            return;
        }
        let origin = Origin {
            at: frame.at,
            interface: frame.interface,
            device: inner.device,
            is_loopback: link::is_loopback(frame.link),
            name: self.names.get(&frame.interface).filter(|_| self.names.len() > 1).map(String::as_str),
            file: &self.file,
        };
        let used = match packet.protocol {
            TCP => self.tcp.packet(&packet, &origin, self.most, self.sink),
            UDP => self.quic.packet(&packet, &origin, &self.log, self.most, self.sink),
            _ => false,
        };
        match (used, packet.protocol) {
            (true, _) => self.used += 1,
            (false, UDP) => self.ignored.udp += 1,
            (false, _) => self.ignored.other += 1,
        }
    }

    fn close(&mut self) {
        self.tcp.close(&self.file, self.sink);
        self.quic.close(&self.file, self.sink);
    }
}

impl file::Records for Capture<'_> {
    fn frame(&mut self, frame: &file::Frame<'_>, offset: u64) -> bool {
        self.offset = offset;
        self.file.last = frame.at.unwrap_or(self.file.last);
        self.packet(frame);
        self.goes_on(offset)
    }

    fn goes_on(&mut self, offset: u64) -> bool {
        if offset >= self.pause {
            self.pause = offset + PAUSE;
            self.stopped = self.sink.is_stopped();
        }
        !self.stopped
    }

    fn interface(&mut self, number: u32, name: Option<&str>) {
        if self.names.len() < NAMES {
            let name = name.map_or_else(|| number.to_string(), |name| name.chars().take(NAME).collect());
            self.names.insert(number, name);
        }
    }

    fn keys(&mut self, text: &str) {
        self.log.add(text);
    }

    fn damage(&mut self, offset: u64, reason: &str) {
        self.offset = offset;
        self.file.damage(format!("byte {offset}: {reason}"));
    }

    fn truncated(&mut self) {
        self.file.truncated = true;
    }
}
