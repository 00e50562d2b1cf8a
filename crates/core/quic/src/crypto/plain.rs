//! A session without cryptography: keys that change nothing, and a handshake of four messages
//! without secrets.
//!
//! For tests, and for runs whose packets are compared with a model. Nothing in them is random, and
//! everything can be read. **Never use it on a real network.**

use std::collections::VecDeque;
use std::ops::Range;

use rustls::Error as TlsError;

use super::keys::{DirectionalKeys, HeaderProtectionKey, Keys, PacketKey, PacketKeySet, Tag};
use super::session::{Event, NextKeys, Session};
use crate::error::{Code, Error};
use crate::level::{Level, Side};
use crate::wire::codec::{Reader, Writer, prefixed_size};
use crate::wire::transport_parameters::TransportParameters;

/// TLS alert `no_application_protocol`.
const NO_ALPN: u8 = 120;
/// TLS alert `unexpected_message`.
const UNEXPECTED: u8 = 10;
/// TLS alert `decode_error`.
const DECODE: u8 = 50;
/// Length of an AEAD tag, in bytes.
const TAG_LEN: usize = 16;
/// Position of the packet number in the tag.
const NUMBER: Range<usize> = 8..16;

/// Leaves the header unprotected.
struct NoMask;

impl HeaderProtectionKey for NoMask {
    fn encrypt_in_place(&self, _: &[u8], _: &mut u8, _: &mut [u8]) -> Result<(), TlsError> {
        Ok(())
    }
    fn decrypt_in_place(&self, _: &[u8], _: &mut u8, _: &mut [u8]) -> Result<(), TlsError> {
        Ok(())
    }
    fn sample_len(&self) -> usize {
        0
    }
}

/// Leaves the payload unprotected. The tag, if there is one, holds the keys' identity (sender, and
/// level or phase) and the packet number.
///
/// A cipher's tag also depends on the packet number (RFC 9001 section 5.3), and a receiver relies
/// on that. The number of a very late packet is reconstructed wrongly, and the tag reveals it. A
/// tag of less than 16 bytes holds only part of the number.
struct NoCipher {
    tag: [u8; TAG_LEN],
    tag_len: usize,
}

impl NoCipher {
    fn tag(&self, number: u64) -> [u8; TAG_LEN] {
        let mut tag = self.tag;
        tag[NUMBER].copy_from_slice(&number.to_be_bytes());
        tag
    }
}

impl PacketKey for NoCipher {
    fn encrypt_in_place(&self, number: u64, _: &[u8], _: &mut [u8]) -> Result<Tag, TlsError> {
        Ok(Tag::from(&self.tag(number)[..]))
    }
    fn decrypt_in_place<'a>(
        &self,
        number: u64,
        _: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], TlsError> {
        let tag = payload.len().checked_sub(self.tag_len).ok_or(TlsError::DecryptError)?;
        match payload[tag..] == self.tag(number)[..self.tag_len] {
            true => Ok(&payload[..tag]),
            false => Err(TlsError::DecryptError),
        }
    }
    fn tag_len(&self) -> usize {
        self.tag_len
    }
    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }
    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

/// Creates a packet key. `number` identifies the level; the phases of 1-RTT keys follow the levels.
fn key(from: Side, number: u64, tag_len: usize) -> Box<dyn PacketKey> {
    let mut tag = [0; TAG_LEN];
    // Phases are counted in seven bytes: one per microsecond for two thousand years.
    tag[..NUMBER.start].copy_from_slice(&number.to_be_bytes());
    tag[0] = from as u8;
    Box::new(NoCipher { tag, tag_len })
}

fn directional(from: Side, level: Level, tag_len: usize) -> DirectionalKeys {
    DirectionalKeys { header: Box::new(NoMask), packet: key(from, level as u64, tag_len) }
}

/// Returns the keys of a level. With a `tag_len` of 16, packets have the same size as with TLS; it
/// is limited to 16.
pub fn keys(side: Side, level: Level, tag_len: usize) -> Keys {
    let tag_len = tag_len.min(TAG_LEN);
    Keys { local: directional(side, level, tag_len), remote: directional(side.peer(), level, tag_len) }
}

/// Counts key phases.
struct Phases {
    side: Side,
    number: u64,
    tag_len: usize,
}

impl NextKeys for Phases {
    fn next_keys(&mut self) -> PacketKeySet {
        self.number += 1;
        PacketKeySet {
            local: key(self.side, self.number, self.tag_len),
            remote: key(self.side.peer(), self.number, self.tag_len),
        }
    }
}

/// The four messages of the handshake.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    ClientHello = 1,
    ServerHello = 2,
    ServerFinished = 8,
    ClientFinished = 20,
}

/// A handshake with the flights of TLS 1.3 and none of its secrets.
///
/// A message has a type of one byte and a length of two bytes. Hellos carry the names of
/// application protocols and transport parameters.
pub struct Plain {
    side: Side,
    tag_len: usize,
    alpn: Vec<Vec<u8>>,
    chosen: Option<Vec<u8>>,
    parameters: Vec<u8>,
    peer: Option<TransportParameters>,
    /// Next message expected from the peer; `None` once the peer is done.
    expected: Option<Kind>,
    input: Vec<u8>,
    output: VecDeque<Event>,
}

impl Plain {
    /// Creates one end. `alpn` lists its protocols in order of preference; the server's order
    /// decides. For `tag_len` see [`keys`].
    pub fn new(side: Side, parameters: &TransportParameters, alpn: &[&[u8]], tag_len: usize) -> Self {
        let expected = match side {
            Side::Client => Kind::ServerHello,
            Side::Server => Kind::ClientHello,
        };
        let mut session = Self {
            side,
            tag_len: tag_len.min(TAG_LEN),
            alpn: alpn.iter().map(|name| name.to_vec()).collect(),
            chosen: None,
            parameters: parameters.to_vec(),
            peer: None,
            expected: Some(expected),
            input: Vec::new(),
            output: VecDeque::new(),
        };
        if side == Side::Client {
            let names = session.alpn.clone();
            session.send(Level::Initial, Kind::ClientHello, &names);
        }
        session
    }

    fn send(&mut self, level: Level, kind: Kind, names: &[Vec<u8>]) {
        let with_body = matches!(kind, Kind::ClientHello | Kind::ServerFinished);
        let names_size = names.iter().map(|name| prefixed_size(name)).sum::<usize>();
        let size = if with_body { 1 + names_size + self.parameters.len() } else { 0 };
        let mut data = vec![0; 3 + size];
        let mut w = Writer::new(&mut data);
        w.u8(kind as u8);
        w.bytes(&(size as u16).to_be_bytes());
        if with_body {
            w.u8(names.len() as u8);
            names.iter().for_each(|name| w.prefixed(name));
            w.bytes(&self.parameters);
        }
        self.output.push_back(Event::Crypto { level, data });
    }

    /// Takes the body of the next complete message, whose type must be `kind`.
    fn message(&mut self, kind: Kind) -> Result<Option<Vec<u8>>, Error> {
        let alert = |alert, reason| Error::new(Code::crypto(alert), reason);
        let mut r = Reader::new(&self.input);
        let (Ok(code), Ok(length)) = (r.u8(), r.u16()) else { return Ok(None) };
        if code != kind as u8 {
            return Err(alert(UNEXPECTED, "unexpected handshake message"));
        }
        let Ok(body) = r.bytes(usize::from(length)) else { return Ok(None) };
        let (body, taken) = (body.to_vec(), r.position());
        self.input.drain(..taken);
        Ok(Some(body))
    }

    fn read_hello(&mut self, body: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let short = |_| Error::new(Code::crypto(DECODE), "truncated handshake message");
        let mut r = Reader::new(body);
        let count = r.u8().map_err(short)?;
        let mut names = Vec::new();
        for _ in 0..count {
            names.push(r.prefixed().map_err(short)?.to_vec());
        }
        self.peer = Some(TransportParameters::decode(r.rest(), self.side.peer())?);
        Ok(names)
    }

    fn on_message(&mut self, kind: Kind, body: &[u8]) -> Result<(), Error> {
        match kind {
            Kind::ClientHello => self.on_client_hello(body)?,
            Kind::ServerHello => {
                self.output.push_back(Event::Handshake(keys(self.side, Level::Handshake, self.tag_len)));
                self.expected = Some(Kind::ServerFinished);
            }
            Kind::ServerFinished => {
                self.chosen = self.read_hello(body)?.pop();
                self.send(Level::Handshake, Kind::ClientFinished, &[]);
                self.one_rtt();
                self.expected = None;
            }
            Kind::ClientFinished => self.expected = None,
        }
        Ok(())
    }

    fn on_client_hello(&mut self, body: &[u8]) -> Result<(), Error> {
        let theirs = self.read_hello(body)?;
        let common = self.alpn.iter().find(|name| theirs.contains(name)).cloned();
        self.chosen =
            Some(common.ok_or(Error::new(Code::crypto(NO_ALPN), "no common application protocol"))?);
        self.send(Level::Initial, Kind::ServerHello, &[]);
        self.output.push_back(Event::Handshake(keys(self.side, Level::Handshake, self.tag_len)));
        let chosen = [self.chosen.clone().unwrap_or_default()];
        self.send(Level::Handshake, Kind::ServerFinished, &chosen);
        self.one_rtt();
        self.expected = Some(Kind::ClientFinished);
        Ok(())
    }

    fn one_rtt(&mut self) {
        let keys = keys(self.side, Level::OneRtt, self.tag_len);
        let next = Phases { side: self.side, number: Level::OneRtt as u64, tag_len: self.tag_len };
        self.output.push_back(Event::OneRtt { keys, next: Box::new(next) });
    }
}

impl Session for Plain {
    fn read(&mut self, level: Level, data: &[u8]) -> Result<(), Error> {
        self.input.extend_from_slice(data);
        while let Some(kind) = self.expected {
            let expected = match kind {
                Kind::ClientHello | Kind::ServerHello => Level::Initial,
                Kind::ServerFinished | Kind::ClientFinished => Level::Handshake,
            };
            if !self.input.is_empty() && level != expected {
                return Err(Error::new(
                    Code::PROTOCOL_VIOLATION,
                    "handshake data at the wrong encryption level",
                ));
            }
            let Some(body) = self.message(kind)? else { return Ok(()) };
            self.on_message(kind, &body)?;
        }
        match self.input.is_empty() {
            true => Ok(()),
            false => Err(Error::new(Code::crypto(UNEXPECTED), "data after the end of the handshake")),
        }
    }

    fn poll(&mut self) -> Option<Event> {
        self.output.pop_front()
    }

    fn is_complete(&self) -> bool {
        self.expected.is_none()
    }

    fn peer_parameters(&self) -> Option<&TransportParameters> {
        self.peer.as_ref()
    }

    fn alpn(&self) -> Option<&[u8]> {
        self.chosen.as_deref()
    }

    fn export(&self, _: &[u8], _: &[u8], _: &mut [u8]) -> Result<(), Error> {
        Err(Error::new(Code::INTERNAL_ERROR, "a session without cryptography has no secrets to export"))
    }
}
