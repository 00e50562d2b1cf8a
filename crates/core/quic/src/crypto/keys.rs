//! Packet and header protection, in place (RFC 9001 section 5).
//!
//! Keys use the traits of rustls. So a null cipher ([`super::plain`]) can replace those of TLS.

use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::quic::Version;
pub use rustls::quic::{DirectionalKeys, HeaderProtectionKey, Keys, PacketKey, PacketKeySet, Tag};

use crate::error::{Code, Error};
use crate::level::Side;
use crate::wire::header::{KEY_PHASE, Placed, Protected, RESERVED_LONG, RESERVED_SHORT, SPIN};
use crate::wire::packet_number;

/// Distance from the packet number to the sample, which assumes a packet number of four bytes
/// (section 5.4.2).
const SAMPLE_AFTER: usize = 4;
/// Header form bit: set in long headers.
const LONG: u8 = 0x80;

/// Derives the keys of Initial packets from the Destination Connection ID of the client's first
/// Initial (section 5.2). A Retry changes this ID.
pub fn initial(client_destination: &[u8], side: Side) -> Keys {
    let suite = TLS13_AES_128_GCM_SHA256.tls13().and_then(rustls::Tls13CipherSuite::quic_suite);
    let side = match side {
        Side::Client => rustls::Side::Client,
        Side::Server => rustls::Side::Server,
    };
    suite.expect("ring has QUIC keys for AES-128-GCM").keys(client_destination, side, Version::V1)
}

/// Reason for not opening a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The packet is too short for a sample. It is dropped (section 5.4.2).
    Short,
    /// The packet is not protected by these keys. It is dropped and counted (section 6.6).
    Forged,
    /// The packet is protected by keys that were discarded. It is dropped (section 6.5).
    Old,
    /// The packet is authentic but invalid. The connection is closed.
    Fatal(Error),
}

/// A packet after removal of its protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// Full packet number.
    pub number: u64,
    /// Spin bit; false in long headers.
    pub spin: bool,
    /// Number of key updates before the keys that opened the packet; 0 in long headers.
    pub generation: u64,
    /// Payload: the frames.
    pub payload: &'a [u8],
}

/// Returns the minimum number of payload bytes that allows a sample to be taken (section 5.4.2).
/// The sender adds PADDING up to this.
pub fn min_payload(keys: &DirectionalKeys, number_len: usize) -> usize {
    // A packet has at least one frame (RFC 9000 section 12.4).
    sample_end(&*keys.header).saturating_sub(number_len + keys.packet.tag_len()).max(1)
}

/// Protects a packet. `packet` is the whole packet from `placed.start` in the writer's buffer,
/// including space for the tag.
///
/// # Errors
/// INTERNAL_ERROR if the packet is shorter than [`min_payload`] requires, or longer than its header
/// can express.
pub fn seal(
    header: &dyn HeaderProtectionKey,
    key: &dyn PacketKey,
    packet: &mut [u8],
    placed: &Placed,
) -> Result<(), Error> {
    let cannot = |reason| Error::new(Code::INTERNAL_ERROR, reason);
    let body = placed.pn_offset + placed.number_len;
    let sampled = placed.pn_offset + sample_end(header);
    if packet.len() < sampled || packet.len() < body + key.tag_len() {
        return Err(cannot("packet too short for header protection"));
    }
    placed.set_length(packet, packet.len()).map_err(|_| cannot("packet too long for its header"))?;
    let (head, body) = packet.split_at_mut(body);
    let (payload, room) = body.split_at_mut(body.len() - key.tag_len());
    let tag = key.encrypt_in_place(placed.number, head, payload).map_err(|_| cannot("AEAD failed"))?;
    room.copy_from_slice(&tag.as_ref()[..room.len()]);
    let masked = mask(packet, placed.pn_offset, header.sample_len(), |sample, first, number| {
        header.encrypt_in_place(sample, first, number)
    });
    masked.map_err(|_| cannot("header protection failed"))
}

/// Returns the minimum packet length from the packet number on. A cipher without a sample needs
/// none.
pub(super) fn sample_end(header: &dyn HeaderProtectionKey) -> usize {
    match header.sample_len() {
        0 => 0,
        sample => SAMPLE_AFTER + sample,
    }
}

/// Calls `apply` with the sample, the first byte, and the four bytes from the packet number on.
/// Without a sample, fewer bytes may follow. `apply` changes only the bytes of the packet number.
fn mask<T>(
    packet: &mut [u8],
    pn_offset: usize,
    sample_len: usize,
    apply: impl FnOnce(&[u8], &mut u8, &mut [u8]) -> T,
) -> T {
    let (head, sample) = packet.split_at_mut((pn_offset + SAMPLE_AFTER).min(packet.len()));
    let (first, rest) = head.split_at_mut(1);
    apply(&sample[..sample_len], &mut first[0], &mut rest[pn_offset - 1..])
}

/// A header after removal of header protection, not yet authenticated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unmasked {
    first: u8,
    pub(super) number: u64,
    number_len: usize,
}

impl Unmasked {
    pub(super) const fn key_phase(&self) -> bool {
        self.first & KEY_PHASE != 0
    }
}

/// Removes header protection. `packet` holds one packet; `largest` is the largest number received
/// in its space.
pub(super) fn unmask(
    header: &dyn HeaderProtectionKey,
    packet: &mut [u8],
    at: &Protected,
    largest: Option<u64>,
) -> Result<Unmasked, Refused> {
    let sample_len = header.sample_len();
    if packet.len() < at.pn_offset + sample_end(header).max(1) {
        return Err(Refused::Short);
    }
    let unmasked = mask(packet, at.pn_offset, sample_len, |sample, first, rest| {
        header.decrypt_in_place(sample, first, rest)
    });
    unmasked.map_err(|_| Refused::Short)?;
    let first = packet[0];
    let number_len = usize::from(first & 3) + 1;
    let bytes = packet.get(at.pn_offset..at.pn_offset + number_len).ok_or(Refused::Short)?;
    let truncated = bytes.iter().fold(0, |all, byte| all << 8 | u32::from(*byte));
    Ok(Unmasked { first, number: packet_number::decode(truncated, number_len, largest), number_len })
}

/// Removes packet protection, and checks the reserved bits, which are known only now (RFC 9000
/// sections 17.2 and 17.3).
pub(super) fn open_payload<'a>(
    key: &dyn PacketKey,
    packet: &'a mut [u8],
    at: &Protected,
    unmasked: Unmasked,
    generation: u64,
) -> Result<Opened<'a>, Refused> {
    let (head, body) = packet.split_at_mut(at.pn_offset + unmasked.number_len);
    let payload = key.decrypt_in_place(unmasked.number, head, body).map_err(|_| Refused::Forged)?;
    let long = unmasked.first & LONG != 0;
    let reserved = if long { RESERVED_LONG } else { RESERVED_SHORT };
    if unmasked.first & reserved != 0 {
        return Err(Refused::Fatal(Error::new(Code::PROTOCOL_VIOLATION, "reserved bits are set")));
    }
    let spin = !long && unmasked.first & SPIN != 0;
    Ok(Opened { number: unmasked.number, spin, generation, payload })
}

/// Opens an Initial, 0-RTT or Handshake packet. 1-RTT packets are opened by
/// [`super::OneRtt::open`].
///
/// `packet` holds one packet, from its first byte to `at.end`. `largest` is the largest number
/// received in its space so far. The contents of `packet` are overwritten, whatever the result.
///
/// # Errors
/// Packets that must be dropped, and errors that close the connection: reserved bits that are not
/// 0.
pub fn open<'a>(
    keys: &DirectionalKeys,
    packet: &'a mut [u8],
    at: &Protected,
    largest: Option<u64>,
) -> Result<Opened<'a>, Refused> {
    let unmasked = unmask(&*keys.header, packet, at, largest)?;
    open_payload(&*keys.packet, packet, at, unmasked, 0)
}
