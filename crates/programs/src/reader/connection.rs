//! The packets of one connection, from its datagrams and its secrets (RFC 9001 section 5).

use std::borrow::Cow;

use quic::crypto::keys::{self, DirectionalKeys, Refused};
use quic::wire::header::{self, Parsed, Protected};
use quic::{Level, Side, Space};
use units::Time;

use super::hello::Hello;
use super::key_log::{KeyLog, Secrets};
use super::keys::Suite;
use super::packet::Packet;

/// The fixed bit (RFC 9000 sections 17.2 and 17.3).
const FIXED: u8 = 0x40;

/// Where a datagram was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At its sender.
    Leaving,
    /// At its receiver.
    Arriving,
}

/// A datagram as an interface of the emulator saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// When.
    pub at: Time,
    /// Who sent it.
    pub from: Side,
    /// At which end it was seen.
    pub place: Place,
    /// What UDP carries.
    pub payload: &'a [u8],
}

/// Keys of 1-RTT packets, one key phase after the other (RFC 9001 section 6).
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

    /// The packet's number and payload, by whichever keys it is of: an update shows in that the keys of now do not fit.
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

/// The bytes with the bit that is 1 in packets of version 1, unless both ends agreed to draw it (RFC 9287). It is authenticated as it was
/// sent: only the parser wants it so.
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

/// What one end sends is read with.
#[derive(Default)]
struct Direction {
    initial: Option<DirectionalKeys>,
    handshake: Option<DirectionalKeys>,
    one_rtt: Option<Phases>,
    hello: Hello,
    /// How long the IDs are that the end has chosen for itself: the packets to it have them.
    id_len: usize,
    /// The largest number of each space, as the sender has counted and as the receiver has got them.
    largest: [[Option<u64>; 3]; 2],
}

/// Reads the datagrams of one connection, in the order of time, seen at both ends.
///
/// It takes them as a bystander with the secrets does: nothing is answered, checked or refused, and what cannot be opened is counted.
/// 0-RTT packets and versions other than 1 are not read.
#[derive(Default)]
pub struct Reader {
    log: KeyLog,
    sides: [Direction; 2],
    /// The client's random and the suite are known, and so the secrets.
    keyed: bool,
    opened: u64,
    unopened: u64,
}

impl Reader {
    /// A connection whose secrets are in this log.
    pub fn new(log: KeyLog) -> Self {
        Self { log, ..Self::default() }
    }

    /// How many packets were opened; those seen at both ends count twice.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// How many could not be: damaged, without a secret, no packets of version 1.
    pub fn unopened(&self) -> u64 {
        self.unopened
    }

    /// The suite's number in the ServerHello, once it was seen.
    pub fn suite(&self) -> Option<u16> {
        self.sides[Side::Server as usize].hello.suite()
    }

    /// The packets of a datagram, in their order.
    pub fn read(&mut self, datagram: &Datagram<'_>) -> Vec<Packet> {
        let mut packets = Vec::new();
        let mut rest = datagram.payload;
        // Some stacks fill a datagram up behind its last packet, with bytes that are none: zeros have no fixed bit.
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

    /// RFC 9001 section 5.2.
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

    /// The keys of all later packets, as soon as both hellos were seen.
    fn derive(&mut self) -> Option<()> {
        let random = self.sides[Side::Client as usize].hello.random()?;
        let suite = self.sides[Side::Server as usize].hello.known_suite()?;
        let secrets: Secrets = self.log.of(&random)?.clone();
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

    /// RFC 9287: the bit may be anything, and only the parser is shown it set.
    #[test]
    fn the_fixed_bit_is_for_the_parser() {
        assert_eq!(with_fixed_bit(&[0x80, 1])[..], [0xc0, 1]);
        assert_eq!(with_fixed_bit(&[0x1d])[..], [0x5d]);
        assert!(matches!(with_fixed_bit(&[0x40, 7]), Cow::Borrowed([0x40, 7])));
        assert!(with_fixed_bit(&[]).is_empty());
    }

    /// Zeros behind the last packet are no packet; anything else that cannot be opened is counted.
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
