//! Extracts the packets of one connection from its datagrams and its secrets (RFC 9001 section 5).

use std::borrow::Cow;

use crate::crypto::keys::{self, DirectionalKeys, Refused};
use crate::wire::header::{self, Parsed, Protected, SPIN};
use crate::wire::{ConnectionId, TransportParameters};
use crate::{Level, Side, Space};
use units::Time;

use super::hello::Hello;
use super::key_log::{KeyLog, Random};
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
    early: Option<DirectionalKeys>,
    handshake: Option<DirectionalKeys>,
    one_rtt: Option<Phases>,
    hello: Hello,
    /// CRYPTO stream of the Handshake packets.
    extensions: Hello,
    parameters: Option<TransportParameters>,
    /// Length of the connection IDs that the end has chosen for itself, in bytes. Packets sent to
    /// this end carry them.
    id_len: usize,
    /// Largest packet number of each space, at each point of capture.
    largest: Vec<[Option<u64>; 3]>,
}

/// Part of a datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Packet with frames.
    Protected {
        /// Packet type.
        level: Level,
        /// Source Connection ID. Empty for short headers.
        source: ConnectionId,
        /// Size in bytes.
        bytes: u32,
        /// Spin bit of a short header.
        spin: Option<bool>,
        /// Contents, or `None` if the packet could not be decrypted.
        packet: Option<Packet>,
    },
    /// Retry packet, with its Source Connection ID.
    Retry(ConnectionId),
    /// Stateless reset (RFC 9000 section 10.3).
    Reset,
    /// Bytes that are no packet of version 1.
    Other,
}

/// Largest number of packets of a datagram. An endpoint joins one of each type.
const MAX_PARTS: usize = 16;
/// Largest number of stateless reset tokens that are kept.
const MAX_TOKENS: usize = 64;

/// Keys and handshake of one connection.
///
/// The reader is passive: it sends no response, checks nothing and refuses nothing. It does not
/// read versions other than 1.
#[derive(Default)]
pub struct Session {
    sides: [Direction; 2],
    tokens: Vec<[u8; 16]>,
    retry: Option<ConnectionId>,
    /// True once the client's random and the cipher suite are known, and so the secrets.
    keyed: bool,
}

impl Session {
    /// Returns the random of the ClientHello, once it was captured.
    pub fn random(&self) -> Option<Random> {
        self.sides[Side::Client as usize].hello.random()
    }

    /// Returns the transport parameters of an end, once they were captured and decrypted.
    pub fn parameters(&self, side: Side) -> Option<&TransportParameters> {
        self.sides[side as usize].parameters.as_ref()
    }

    /// Returns the length of the connection IDs in packets sent to an end, in bytes.
    pub fn id_len(&self, side: Side) -> usize {
        self.sides[side as usize].id_len
    }

    /// Returns the number of the cipher suite in the ServerHello, once that was captured.
    pub fn suite(&self) -> Option<u16> {
        self.sides[Side::Server as usize].hello.suite()
    }

    /// Decrypts the packets of a datagram. Returns them in their order. `point` numbers the place
    /// of the capture: packet numbers rise at each place by themselves.
    pub fn read(&mut self, log: &KeyLog, point: usize, from: Side, payload: &[u8]) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut rest = payload;
        // Some stacks pad a datagram after its last packet with zeros, outside of any packet. Zeros
        // have no fixed bit.
        while parts.len() < MAX_PARTS && rest.iter().any(|byte| *byte != 0) {
            let usual = with_fixed_bit(rest);
            let at = match header::parse(&usual, self.id_len(from.peer())) {
                Ok(Parsed::Protected(at)) => at,
                Ok(Parsed::Retry(retry)) => {
                    self.on_retry(retry.source);
                    parts.push(Part::Retry(retry.source));
                    break;
                }
                Ok(Parsed::VersionNegotiation(_) | Parsed::OtherVersion(_)) | Err(_) => {
                    parts.push(Part::Other);
                    break;
                }
            };
            let (bytes, behind) = rest.split_at(at.end);
            rest = behind;
            let packet = self.open(log, point, from, bytes, &at);
            if packet.is_none() && parts.is_empty() && self.is_reset(payload) {
                parts.push(Part::Reset);
                break;
            }
            let spin = (at.level == Level::OneRtt).then(|| bytes[0] & SPIN != 0);
            let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            parts.push(Part::Protected { level: at.level, source: at.source, bytes: length, spin, packet });
        }
        parts
    }

    /// Reports whether a datagram ends with a known stateless reset token.
    fn is_reset(&self, payload: &[u8]) -> bool {
        payload.last_chunk::<16>().is_some_and(|token| self.tokens.contains(token))
    }

    /// Begins again. A client accepts one Retry, which may be captured more than once. aioquic then
    /// sends a ClientHello with another random.
    fn on_retry(&mut self, source: ConnectionId) {
        if self.retry.is_none() {
            self.retry = Some(source);
            self.derive_initial(&source);
            self.sides[Side::Client as usize].hello = Hello::default();
        }
    }

    /// Derives the Initial keys (RFC 9001 section 5.2).
    fn derive_initial(&mut self, client_destination: &[u8]) {
        let keys = keys::initial(client_destination, Side::Client);
        self.sides[Side::Client as usize].initial = Some(keys.local);
        self.sides[Side::Server as usize].initial = Some(keys.remote);
    }

    fn open(
        &mut self,
        log: &KeyLog,
        point: usize,
        from: Side,
        bytes: &[u8],
        at: &Protected,
    ) -> Option<Packet> {
        let no_keys = self.sides[from as usize].initial.is_none();
        if at.level == Level::Initial && from == Side::Client && no_keys {
            self.derive_initial(&at.destination);
        }
        let random = self.random();
        let side = &mut self.sides[from as usize];
        if side.largest.len() <= point {
            side.largest.resize(point + 1, [None; 3]);
        }
        let space = at.level.space();
        let largest = side.largest[point][space as usize];
        let (number, payload) = match at.level {
            Level::Initial => open(side.initial.as_ref()?, bytes, at, largest)?,
            Level::Handshake => open(side.handshake.as_ref()?, bytes, at, largest)?,
            Level::OneRtt => side.one_rtt.as_mut()?.open(bytes, at, largest)?,
            Level::ZeroRtt => {
                let secret = log.secrets(&random?)?.early()?;
                open_early(&mut side.early, secret, bytes, at, largest)?
            }
        };
        side.largest[point][space as usize] = largest.max(Some(number));
        if at.level != Level::OneRtt {
            side.id_len = at.source.len();
        }
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let packet = Packet::read(at.level, number, length, &payload);
        self.take(log, from, &packet);
        Some(packet)
    }

    /// Learns from a packet what is needed to read later ones.
    fn take(&mut self, log: &KeyLog, from: Side, packet: &Packet) {
        let side = &mut self.sides[from as usize];
        match packet.level.space() {
            Space::Initial if !self.keyed || side.parameters.is_none() => {
                packet.crypto.iter().for_each(|(offset, data)| side.hello.take(*offset, data));
                if from == Side::Client && side.parameters.is_none() {
                    side.parameters = side.hello.parameters(from);
                }
                self.keyed = self.keyed || self.derive(log).is_some();
            }
            Space::Handshake if from == Side::Server && side.parameters.is_none() => {
                packet.crypto.iter().for_each(|(offset, data)| side.extensions.take(*offset, data));
                side.parameters = side.extensions.parameters(from);
                self.tokens.extend(side.parameters.as_ref().and_then(|all| all.stateless_reset_token));
            }
            _ => {}
        }
        let room = MAX_TOKENS.saturating_sub(self.tokens.len());
        self.tokens.extend(packet.new_ids.iter().take(room).map(|(_, token)| *token));
    }

    /// Derives the keys of all later packets, once both hellos were captured.
    fn derive(&mut self, log: &KeyLog) -> Option<()> {
        let suite = self.sides[Side::Server as usize].hello.known_suite()?;
        let secrets = log.secrets(&self.random()?)?;
        for side in [Side::Client, Side::Server] {
            let direction = &mut self.sides[side as usize];
            direction.handshake = secrets.handshake(side).and_then(|secret| suite.keys(secret, secret));
            direction.one_rtt = secrets.application(side).and_then(|secret| Phases::new(suite, secret));
        }
        Some(())
    }
}

/// Opens a 0-RTT packet. Its suite is that of an earlier session, so the first packet tells it.
fn open_early(
    known: &mut Option<DirectionalKeys>,
    secret: &[u8],
    packet: &[u8],
    at: &Protected,
    largest: Option<u64>,
) -> Option<(u64, Vec<u8>)> {
    if let Some(keys) = known {
        return open(keys, packet, at, largest);
    }
    Suite::with_secret_len(secret.len()).iter().find_map(|suite| {
        let keys = suite.keys(secret, secret)?;
        let opened = open(&keys, packet, at, largest)?;
        *known = Some(keys);
        Some(opened)
    })
}

/// Reads the datagrams of one connection, in order of time, captured at both ends. Packets that it
/// cannot decrypt are counted.
#[derive(Default)]
pub struct Reader {
    log: KeyLog,
    session: Session,
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
        self.session.suite()
    }

    /// Decrypts the packets of a datagram. Returns them in their order.
    pub fn read(&mut self, datagram: &Datagram<'_>) -> Vec<Packet> {
        let (point, from) = (datagram.place as usize, datagram.from);
        let mut packets = Vec::new();
        for part in self.session.read(&self.log, point, from, datagram.payload) {
            match part {
                Part::Protected { packet: Some(packet), .. } => packets.push(packet),
                Part::Retry(_) => continue,
                _ => self.unopened += 1,
            }
        }
        self.opened += packets.len() as u64;
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Writer;

    /// RFC 9287: the bit may have any value. It is set only for the parser.
    #[test]
    fn the_fixed_bit_is_for_the_parser() {
        assert_eq!(with_fixed_bit(&[0x80, 1])[..], [0xc0, 1]);
        assert_eq!(with_fixed_bit(&[0x1d])[..], [0x5d]);
        assert!(matches!(with_fixed_bit(&[0x40, 7]), Cow::Borrowed([0x40, 7])));
        assert!(with_fixed_bit(&[]).is_empty());
    }

    /// A 0-RTT packet of each suite: its secret is in the log, and its suite is tried.
    #[test]
    fn early_data() {
        let client = ConnectionId::new(&[1; 8]).unwrap();
        for (suite, length) in [(Suite::Aes128Gcm, 32), (Suite::Aes256Gcm, 48), (Suite::ChaCha20Poly1305, 32)]
        {
            let log = format!("CLIENT_EARLY_TRAFFIC_SECRET {} {}", "09".repeat(32), "0a".repeat(length));
            let outgoing = header::Outgoing {
                level: Level::ZeroRtt,
                destination: client,
                source: ConnectionId::EMPTY,
                token: &[],
                number: 2,
                number_len: 1,
                key_phase: false,
                spin: false,
            };
            let keys = suite.keys(&vec![10; length], &vec![10; length]).unwrap();
            let mut packet = vec![0; 80];
            let mut writer = Writer::new(&mut packet);
            let placed = outgoing.encode(&mut writer).unwrap();
            // STREAM frame with a length: 10 bytes of stream 4.
            writer.bytes(&[0x0a, 4, 10]);
            writer.bytes(&[0; 42]);
            keys::seal(&*keys.header, &*keys.packet, &mut packet, &placed).unwrap();

            let mut session = Session::default();
            let log = KeyLog::parse(&log);
            let level = |parts: &[Part]| match parts {
                [Part::Protected { level, packet, .. }] => {
                    (*level, packet.as_ref().map(|p| p.pieces.clone()))
                }
                other => panic!("{other:?}"),
            };
            let parts = session.read(&log, 0, Side::Client, &packet);
            assert_eq!(level(&parts), (Level::ZeroRtt, None), "no ClientHello yet");
            let mut hello = vec![1, 0, 0, 90, 3, 3];
            hello.extend([9; 80]);
            session.sides[0].hello.take(0, &hello);
            for _ in 0..2 {
                let parts = session.read(&log, 0, Side::Client, &packet);
                let piece = super::super::packet::Piece { stream: 4, offset: 0, len: 10, fin: false };
                assert_eq!(level(&parts), (Level::ZeroRtt, Some(vec![piece])));
            }
        }
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
