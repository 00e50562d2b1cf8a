//! Extracts the packets of one connection from its datagrams and its secrets (RFC 9001 section 5).

use std::borrow::Cow;

use crate::crypto::keys::{self, DirectionalKeys, Refused};
use crate::wire::header::{self, Parsed, Protected};
use crate::{Level, Side, Space};
use units::Time;

use super::hello::Hello;
use super::key_log::{KeyLog, Secrets};
use super::keys::Suite;
use super::packet::Packet;

/// The fixed bit (RFC 9000 sections 17.2 and 17.3).
const FIXED: u8 = 0x40;

/// Place at which a datagram was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At its sender.
    Leaving,
    /// At its receiver.
    Arriving,
}

/// A datagram captured at an interface of the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Time of the capture.
    pub at: Time,
    /// Sending end.
    pub from: Side,
    /// End at which it was captured.
    pub place: Place,
    /// UDP payload.
    pub payload: &'a [u8],
}

/// Keys of 1-RTT packets across key updates (RFC 9001 section 6).
struct Phases {
    suite: Suite,
    first: Vec<u8>,
    secret: Vec<u8>,
    current: DirectionalKeys,
    next: DirectionalKeys,
    previous: Option<DirectionalKeys>,
}

impl Phases {
    fn new(suite: Suite, secret: &[u8]) -> Option<Self> {
        Some(Self {
            suite,
            first: secret.to_vec(),
            secret: secret.to_vec(),
            current: suite.keys(secret, secret)?,
            next: suite.keys(secret, &suite.next(secret)?)?,
            previous: None,
        })
    }

    fn rotate(&mut self) -> Option<()> {
        self.secret = self.suite.next(&self.secret)?;
        let next = self.suite.keys(&self.first, &self.suite.next(&self.secret)?)?;
        let new = std::mem::replace(&mut self.next, next);
        self.previous = Some(std::mem::replace(&mut self.current, new));
        Some(())
    }

    /// Returns the number and payload of a packet. If the current keys fail and the next keys fit,
    /// the peer has updated its keys.
    fn open(&mut self, packet: &[u8], at: &Protected, largest: Option<u64>) -> Option<(u64, Vec<u8>)> {
        if let Some(opened) = open(&self.current, packet, at, largest) {
            return Some(opened);
        }
        if let Some(opened) = open(&self.next, packet, at, largest) {
            self.rotate()?;
            return Some(opened);
        }
        open(self.previous.as_ref()?, packet, at, largest)
    }
}

fn open(
    keys: &DirectionalKeys,
    packet: &[u8],
    at: &Protected,
    largest: Option<u64>,
) -> Option<(u64, Vec<u8>)> {
    let mut copy = packet.to_vec();
    match keys::open(keys, &mut copy, at, largest) {
        Ok(opened) => Some((opened.number, opened.payload.to_vec())),
        Err(Refused::Short | Refused::Forged | Refused::Old | Refused::Fatal(_)) => None,
    }
}

/// Returns the packet with its fixed bit set, as the parser requires. Endpoints that have agreed to
/// (RFC 9287) choose the bit at random. The original bytes are still needed for decryption, because
/// the packet is authenticated as it was sent.
fn with_fixed_bit(bytes: &[u8]) -> Cow<'_, [u8]> {
    match bytes.first() {
        Some(first) if first & FIXED == 0 => {
            let mut usual = bytes.to_vec();
            usual[0] |= FIXED;
            usual.into()
        }
        _ => bytes.into(),
    }
}

/// State needed to read the packets that one end sends.
#[derive(Default)]
struct Direction {
    initial: Option<DirectionalKeys>,
    handshake: Option<DirectionalKeys>,
    one_rtt: Option<Phases>,
    hello: Hello,
    /// Length of the connection IDs that the end has chosen for itself, in bytes. Packets sent to
    /// this end carry them.
    id_len: usize,
    /// Largest packet number of each space, as captured at the sender and at the receiver.
    largest: [[Option<u64>; 3]; 2],
}

/// Reads the datagrams of one connection, in order of time, captured at both ends.
///
/// The reader is passive: it sends no response, checks nothing and refuses nothing. Packets that it
/// cannot decrypt are counted. It does not read 0-RTT packets and versions other than 1.
#[derive(Default)]
pub struct Reader {
    log: KeyLog,
    sides: [Direction; 2],
    /// True once the client's random and the cipher suite are known, and so the secrets.
    keyed: bool,
    opened: u64,
    unopened: u64,
}

impl Reader {
    /// Creates a reader for a connection whose secrets are in `log`.
    pub fn new(log: KeyLog) -> Self {
        Self { log, ..Self::default() }
    }

    /// Returns the number of decrypted packets. A packet captured at both ends counts twice.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Returns the number of packets that could not be decrypted. They are damaged, have no secret
    /// in the log, or are not packets of version 1.
    pub fn unopened(&self) -> u64 {
        self.unopened
    }

    /// Returns the number of the cipher suite in the ServerHello, once that was captured.
    pub fn suite(&self) -> Option<u16> {
        self.sides[Side::Server as usize].hello.suite()
    }

    /// Decrypts the packets of a datagram. Returns them in their order.
    pub fn read(&mut self, datagram: &Datagram<'_>) -> Vec<Packet> {
        let mut packets = Vec::new();
        let mut rest = datagram.payload;
        // Some stacks pad a datagram after its last packet with zeros, outside of any packet. Zeros
        // have no fixed bit.
        while rest.iter().any(|byte| *byte != 0) {
            let id_len = self.sides[datagram.from.peer() as usize].id_len;
            let usual = with_fixed_bit(rest);
            let at = match header::parse(&usual, id_len) {
                Ok(Parsed::Protected(at)) => at,
                Ok(Parsed::Retry(retry)) => {
                    self.derive_initial(&retry.source);
                    return packets;
                }
                Ok(Parsed::VersionNegotiation(_) | Parsed::OtherVersion(_)) | Err(_) => {
                    self.unopened += 1;
                    return packets;
                }
            };
            let (packet, behind) = rest.split_at(at.end);
            rest = behind;
            match self.open(datagram, packet, &at) {
                Some(packet) => {
                    self.opened += 1;
                    packets.push(packet);
                }
                None => self.unopened += 1,
            }
        }
        packets
    }

    /// Derives the Initial keys (RFC 9001 section 5.2).
    fn derive_initial(&mut self, client_destination: &[u8]) {
        let keys = keys::initial(client_destination, Side::Client);
        self.sides[Side::Client as usize].initial = Some(keys.local);
        self.sides[Side::Server as usize].initial = Some(keys.remote);
    }

    fn open(&mut self, datagram: &Datagram<'_>, bytes: &[u8], at: &Protected) -> Option<Packet> {
        let from = datagram.from as usize;
        if at.level == Level::Initial && datagram.from == Side::Client && self.sides[from].initial.is_none() {
            self.derive_initial(&at.destination);
        }
        let space = at.level.space();
        let side = &mut self.sides[from];
        let largest = &mut side.largest[datagram.place as usize][space as usize];
        let (number, payload) = match at.level {
            Level::Initial => open(side.initial.as_ref()?, bytes, at, *largest)?,
            Level::Handshake => open(side.handshake.as_ref()?, bytes, at, *largest)?,
            Level::OneRtt => side.one_rtt.as_mut()?.open(bytes, at, *largest)?,
            Level::ZeroRtt => return None,
        };
        *largest = Some(largest.map_or(number, |before| before.max(number)));
        if at.level != Level::OneRtt {
            side.id_len = at.source.len();
        }
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let packet = Packet::read(at.level, number, length, &payload);
        if at.level.space() == Space::Initial && !self.keyed {
            packet.crypto.iter().for_each(|(offset, data)| side.hello.take(*offset, data));
            self.keyed = self.derive().is_some();
        }
        Some(packet)
    }

    /// Derives the keys of all later packets, once both hellos were captured.
    fn derive(&mut self) -> Option<()> {
        let random = self.sides[Side::Client as usize].hello.random()?;
        let suite = self.sides[Side::Server as usize].hello.known_suite()?;
        let secrets: Secrets = self.log.secrets(&random)?.clone();
        for side in [Side::Client, Side::Server] {
            let direction = &mut self.sides[side as usize];
            direction.handshake = secrets.handshake(side).and_then(|secret| suite.keys(secret, secret));
            direction.one_rtt = secrets.application(side).and_then(|secret| Phases::new(suite, secret));
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9287: the bit may have any value. It is set only for the parser.
    #[test]
    fn the_fixed_bit_is_for_the_parser() {
        assert_eq!(with_fixed_bit(&[0x80, 1])[..], [0xc0, 1]);
        assert_eq!(with_fixed_bit(&[0x1d])[..], [0x5d]);
        assert!(matches!(with_fixed_bit(&[0x40, 7]), Cow::Borrowed([0x40, 7])));
        assert!(with_fixed_bit(&[]).is_empty());
    }

    /// Zeros after the last packet are not a packet. Anything else that cannot be decrypted is
    /// counted.
    #[test]
    fn what_fills_a_datagram_up_is_not_counted() {
        let mut reader = Reader::default();
        let mut read = |payload: &[u8]| {
            let datagram = Datagram { at: Time::ZERO, from: Side::Client, place: Place::Leaving, payload };
            assert_eq!(reader.read(&datagram), []);
            reader.unopened()
        };
        assert_eq!(read(&[0; 100]), 0);
        assert_eq!(read(&[0x41; 100]), 1);
        assert_eq!(read(&[0xc0; 3]), 2);
    }
}
