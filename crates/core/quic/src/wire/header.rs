//! Packet headers (RFC 9000 section 17, RFC 8999): parsing before header protection is removed, and
//! encoding.

use std::ops::Range;

use super::codec::{Full, Reader, Truncated, Writer, prefixed_size};
use super::connection_id::ConnectionId;
use super::{packet_number, varint};
use crate::level::Level;

/// QUIC version 1.
pub const VERSION_1: u32 = 1;
/// Minimum size of a datagram with an Initial, in bytes. It applies to all Initials of clients, and
/// to ACK-eliciting ones of servers (section 14.1).
pub const MIN_INITIAL_DATAGRAM: usize = 1200;

/// Header form bit: set in long headers (RFC 8999 section 5.1).
const LONG: u8 = 0x80;
/// Fixed bit: set in every packet of version 1 except Version Negotiation.
const FIXED: u8 = 0x40;
/// Reserved bits of long headers, after removal of header protection (section 17.2).
pub const RESERVED_LONG: u8 = 0x0c;
/// Reserved bits of short headers, after removal of header protection (section 17.3.1).
pub const RESERVED_SHORT: u8 = 0x18;
/// Key Phase bit of short headers (section 17.3.1).
pub const KEY_PHASE: u8 = 0x04;
/// Spin bit of short headers (section 17.4). It is not covered by header protection.
pub const SPIN: u8 = 0x20;
/// Size of the Length field in long headers, in bytes. It is filled in last, so its size is fixed.
/// It limits the packet size to [`MAX_LENGTH`].
const LENGTH_BYTES: usize = 2;
const MAX_LENGTH: usize = (1 << 14) - 1;

/// Reason for silently dropping a datagram or its remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// The packet ends within its header, or is shorter than its Length.
    Truncated,
    /// The fixed bit is 0, so it is not a packet of version 1 (section 17.2).
    FixedBit,
    /// A connection ID has more than 20 bytes in version 1.
    ConnectionId,
    /// A Version Negotiation has no versions, or a truncated one.
    Versions,
}

impl From<Truncated> for Dropped {
    fn from(_: Truncated) -> Self {
        Self::Truncated
    }
}

/// A parsed packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed<'a> {
    /// A protected packet: Initial, 0-RTT, Handshake or 1-RTT.
    Protected(Protected),
    /// Retry. It extends to the end of the datagram.
    Retry(Retry<'a>),
    /// Version Negotiation. It extends to the end of the datagram.
    VersionNegotiation(VersionNegotiation<'a>),
    /// A long header of another version. A server answers with Version Negotiation (section 6.1).
    OtherVersion(OtherVersion<'a>),
}

/// A packet with frames, before removal of its protection. Positions count from its first byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protected {
    /// Packet type and encryption level.
    pub level: Level,
    /// Destination Connection ID.
    pub destination: ConnectionId,
    /// Source Connection ID; empty for short headers, which have none.
    pub source: ConnectionId,
    /// Range of the token of an Initial; empty if there is none.
    pub token: Range<usize>,
    /// Position of the packet number.
    pub pn_offset: usize,
    /// End of the packet, where the next packet of a coalesced datagram starts.
    pub end: usize,
}

/// A Retry packet (section 17.2.5). Check its integrity tag with [`super::retry::is_genuine`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry<'a> {
    /// Destination Connection ID.
    pub destination: ConnectionId,
    /// Source Connection ID, which is the destination of the client's next Initial.
    pub source: ConnectionId,
    /// Token for the next Initial. A client drops a Retry without a token.
    pub token: &'a [u8],
    /// Integrity tag.
    pub tag: [u8; 16],
    /// All bytes before the tag.
    pub before_tag: &'a [u8],
}

/// A Version Negotiation packet (section 17.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionNegotiation<'a> {
    /// Destination Connection ID, up to 255 bytes.
    pub destination: &'a [u8],
    /// Source Connection ID, up to 255 bytes.
    pub source: &'a [u8],
    versions: &'a [u8],
}

impl<'a> VersionNegotiation<'a> {
    /// Returns the versions that the server supports.
    pub fn versions(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.versions.chunks_exact(4).map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
    }

    /// Returns the number of bytes that [`encode`](Self::encode) writes.
    pub const fn size(destination: &[u8], source: &[u8], versions: &[u32]) -> usize {
        7 + destination.len() + source.len() + 4 * versions.len()
    }

    /// Encodes a Version Negotiation packet. The IDs are those of the client's packet, exchanged.
    /// `unused` fills the seven unused bits.
    pub fn encode(
        w: &mut Writer<'_>,
        unused: u8,
        destination: &[u8],
        source: &[u8],
        versions: &[u32],
    ) -> Result<(), Full> {
        w.room(Self::size(destination, source, versions))?;
        // Section 17.2.1: the fixed bit should be 1 here too, for demultiplexing on a shared port.
        w.u8(LONG | FIXED | unused);
        w.bytes(&0_u32.to_be_bytes());
        for id in [destination, source] {
            w.u8(id.len() as u8);
            w.bytes(id);
        }
        versions.iter().for_each(|version| w.bytes(&version.to_be_bytes()));
        Ok(())
    }
}

/// A long header of an unsupported version (RFC 8999 section 5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherVersion<'a> {
    /// Version number.
    pub version: u32,
    /// Destination Connection ID, up to 255 bytes.
    pub destination: &'a [u8],
    /// Source Connection ID, up to 255 bytes.
    pub source: &'a [u8],
}

/// Parses the first packet of a datagram or of its remainder.
///
/// `local_id_len` is the length of this end's connection IDs, which short headers do not contain.
/// Parse a coalesced datagram (section 12.2) packet by packet, each from the `end` of the previous
/// one:
///
/// ```
/// use ackclock_quic::wire::header::{Parsed, parse};
///
/// fn receive(mut datagram: &mut [u8]) {
///     while !datagram.is_empty() {
///         let Ok(Parsed::Protected(packet)) = parse(datagram, 8) else { return };
///         let (this, rest) = datagram.split_at_mut(packet.end);
///         let _ = this; // Protection is removed in place.
///         datagram = rest;
///     }
/// }
/// # receive(&mut [0x40; 30]);
/// ```
///
/// # Errors
/// The reason why this cannot be a QUIC packet. The caller drops it and the rest of the datagram.
pub fn parse(datagram: &[u8], local_id_len: usize) -> Result<Parsed<'_>, Dropped> {
    let mut r = Reader::new(datagram);
    let first = r.u8()?;
    if first & LONG == 0 {
        return short(first, r, local_id_len).map(Parsed::Protected);
    }
    let version = r.u32()?;
    let destination = id_bytes(&mut r)?;
    let source = id_bytes(&mut r)?;
    match version {
        0 => version_negotiation(destination, source, r.rest()).map(Parsed::VersionNegotiation),
        VERSION_1 if first & FIXED == 0 => Err(Dropped::FixedBit),
        VERSION_1 => {
            let id = |bytes| ConnectionId::new(bytes).ok_or(Dropped::ConnectionId);
            long(first, id(destination)?, id(source)?, r)
        }
        version => Ok(Parsed::OtherVersion(OtherVersion { version, destination, source })),
    }
}

fn id_bytes<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Truncated> {
    let length = r.u8()?;
    r.bytes(usize::from(length))
}

fn short(first: u8, mut r: Reader<'_>, local_id_len: usize) -> Result<Protected, Dropped> {
    if first & FIXED == 0 {
        return Err(Dropped::FixedBit);
    }
    let destination = ConnectionId::new(r.bytes(local_id_len)?).ok_or(Dropped::ConnectionId)?;
    let pn_offset = r.position();
    Ok(Protected {
        level: Level::OneRtt,
        destination,
        source: ConnectionId::EMPTY,
        token: 0..0,
        pn_offset,
        end: pn_offset + r.rest().len(),
    })
}

fn version_negotiation<'a>(
    destination: &'a [u8],
    source: &'a [u8],
    versions: &'a [u8],
) -> Result<VersionNegotiation<'a>, Dropped> {
    match versions.len() {
        0 => Err(Dropped::Versions),
        n if n % 4 != 0 => Err(Dropped::Versions),
        _ => Ok(VersionNegotiation { destination, source, versions }),
    }
}

fn long(
    first: u8,
    destination: ConnectionId,
    source: ConnectionId,
    mut r: Reader<'_>,
) -> Result<Parsed<'_>, Dropped> {
    let level = match first >> 4 & 3 {
        0 => Level::Initial,
        1 => Level::ZeroRtt,
        2 => Level::Handshake,
        _ => return retry(destination, source, r).map(Parsed::Retry),
    };
    let mut token = 0..0;
    if level == Level::Initial {
        let length = r.prefixed()?.len();
        token = r.position() - length..r.position();
    }
    let length = usize::try_from(r.varint()?).map_err(|_| Dropped::Truncated)?;
    let pn_offset = r.position();
    r.bytes(length)?;
    Ok(Parsed::Protected(Protected { level, destination, source, token, pn_offset, end: r.position() }))
}

fn retry(destination: ConnectionId, source: ConnectionId, mut r: Reader<'_>) -> Result<Retry<'_>, Dropped> {
    let token = r.rest().len().checked_sub(16).ok_or(Dropped::Truncated)?;
    let token = r.bytes(token)?;
    let before_tag = r.since(0);
    Ok(Retry { destination, source, token, tag: r.array()?, before_tag })
}

/// Returns the first byte of a Retry, with four unused bits (section 17.2.5).
pub(crate) const fn retry_first(unused: u8) -> u8 {
    LONG | FIXED | 0x30 | (unused & 0x0f)
}

/// Header of a packet with frames, to be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing<'a> {
    /// Packet type and encryption level.
    pub level: Level,
    /// Destination Connection ID.
    pub destination: ConnectionId,
    /// Source Connection ID; omitted in short headers.
    pub source: ConnectionId,
    /// Token of an Initial; omitted in other packets.
    pub token: &'a [u8],
    /// Full packet number.
    pub number: u64,
    /// Length of the encoded packet number, 1 to 4 bytes: [`packet_number::length`].
    pub number_len: usize,
    /// Key Phase bit of short headers.
    pub key_phase: bool,
    /// Spin bit of short headers.
    pub spin: bool,
}

/// Positions in a packet that is being written, counted from its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Encryption level.
    pub level: Level,
    /// Start of the packet in the writer's buffer.
    pub start: usize,
    /// Position of the two-byte Length field, to be filled when the packet is complete; `None` for
    /// short headers.
    pub length_at: Option<usize>,
    /// Position of the packet number.
    pub pn_offset: usize,
    /// Length of the packet number in bytes. The frames start at `pn_offset + number_len`.
    pub number_len: usize,
    /// Full packet number.
    pub number: u64,
}

impl Placed {
    /// Fills in the Length field of a packet that has `len` bytes including its tag.
    ///
    /// # Errors
    /// Fails above 16 383 bytes, which two bytes cannot express.
    pub fn set_length(&self, packet: &mut [u8], len: usize) -> Result<(), Full> {
        let Some(at) = self.length_at else { return Ok(()) };
        let length = len - self.pn_offset;
        if length > MAX_LENGTH {
            return Err(Full);
        }
        packet[at..at + LENGTH_BYTES]
            .copy_from_slice(&varint::encoded(length as u64, LENGTH_BYTES)[..LENGTH_BYTES]);
        Ok(())
    }
}

impl Outgoing<'_> {
    /// Returns the size of the header in bytes, including the packet number.
    pub fn size(&self) -> usize {
        let number = self.number_len;
        match self.level {
            Level::OneRtt => 1 + self.destination.len() + number,
            level => {
                let token = if level == Level::Initial { prefixed_size(self.token) } else { 0 };
                7 + self.destination.len() + self.source.len() + token + LENGTH_BYTES + number
            }
        }
    }

    /// Encodes the header. Frames, space for the tag, and protection follow.
    ///
    /// # Errors
    /// Fails if the header does not fit. Nothing is written then.
    pub fn encode(&self, w: &mut Writer<'_>) -> Result<Placed, Full> {
        w.room(self.size())?;
        let start = w.position();
        let length_at = match self.level {
            Level::OneRtt => {
                self.write_short(w);
                None
            }
            level => {
                self.write_long(level, w);
                w.bytes(&[0; LENGTH_BYTES]);
                Some(w.position() - LENGTH_BYTES - start)
            }
        };
        let pn_offset = w.position() - start;
        w.bytes(&packet_number::truncated(self.number)[4 - self.number_len..]);
        let Self { level, number, number_len, .. } = *self;
        Ok(Placed { level, start, length_at, pn_offset, number_len, number })
    }

    fn write_short(&self, w: &mut Writer<'_>) {
        let flag = |on, bit| if on { bit } else { 0 };
        w.u8(FIXED | flag(self.spin, SPIN) | flag(self.key_phase, KEY_PHASE) | (self.number_len - 1) as u8);
        w.bytes(&self.destination);
    }

    fn write_long(&self, level: Level, w: &mut Writer<'_>) {
        let kind = match level {
            Level::Initial => 0,
            Level::ZeroRtt => 1,
            _ => 2,
        };
        w.u8(LONG | FIXED | kind << 4 | (self.number_len - 1) as u8);
        w.bytes(&VERSION_1.to_be_bytes());
        for id in [self.destination, self.source] {
            w.u8(id.len() as u8);
            w.bytes(&id);
        }
        if level == Level::Initial {
            w.prefixed(self.token);
        }
    }
}
