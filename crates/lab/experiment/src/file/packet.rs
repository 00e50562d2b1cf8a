//! Reads `transport` and `packet` of a flow: the sizes of its packets.

use scenario::{Back, Transport};
use units::Bytes;

use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};
use crate::file::tables::flow::Packet;

/// Typical size of an ACK frame with one or two ranges and ECN counts (RFC 9000 section 19.3).
const ACK_FRAME: u32 = 20;

/// IP and TCP headers without options.
const TCP_HEADERS: u32 = 40;

/// Reports whether `transport` is TCP.
pub(crate) fn is_tcp(fields: &Fields<'_>) -> Result<bool, Diagnostic> {
    let transports = [("quic", false), ("tcp", true)];
    fields.get("transport").map_or(Ok(false), |cursor| cursor.word("transport", &transports))
}

/// Reads the sizes in `packet`, with the others as in `default`.
pub(crate) fn read(fields: &Fields<'_>, default: Transport) -> Result<Transport, Diagnostic> {
    let Some(packet) = fields.get("packet") else { return Ok(default) };
    let known: &[&str] = match default {
        Transport::Quic { .. } => &["datagram", "header", "overhead", "ack"],
        Transport::Tcp { .. } => &["mss", "overhead", "ack"],
    };
    refuse_other_transport(&packet, known)?;
    let sizes = packet.table(known)?;
    let size = |key, default| sizes.get(key).map_or(Ok(default), |c| read_size(&c));
    let transport = match default {
        Transport::Quic { datagram, header, overhead } => Transport::Quic {
            datagram: size("datagram", datagram)?,
            header: size("header", header)?,
            overhead: size("overhead", overhead)?,
        },
        Transport::Tcp { mss, overhead } => {
            Transport::Tcp { mss: size("mss", mss)?, overhead: size("overhead", overhead)? }
        }
    };
    match transport {
        Transport::Quic { datagram, header, .. } if datagram <= header => Err(packet
            .problem("the header leaves no room in the datagram", "datagram must be larger than header")),
        Transport::Tcp { mss: 0, .. } => Err(packet.problem("the segment is empty", "mss must be above 0")),
        _ => Ok(transport),
    }
}

/// Refuses keys of the other transport, which are known keys at the wrong place.
fn refuse_other_transport(packet: &Cursor<'_>, known: &[&str]) -> Result<(), Diagnostic> {
    let (other, keys) = match known.contains(&"mss") {
        true => ("quic", &["datagram", "header"][..]),
        false => ("tcp", &["mss"][..]),
    };
    let own = if other == "tcp" { "QUIC" } else { "TCP" };
    match keys.iter().find_map(|key| packet.get(key)) {
        Some(at) => {
            let wrong = format!("only for transport = \"{other}\"");
            Err(at.invalid(wrong, format!("{own} has {}", known.join(", "))))
        }
        None => Ok(()),
    }
}

/// Returns the size of a feedback packet on the wire and its place in the file, if given. [`read`]
/// has already checked the keys.
pub(crate) fn read_ack<'a>(fields: &Fields<'a>) -> Result<Option<(u32, Cursor<'a>)>, Diagnostic> {
    let Some((_, at)) = fields
        .get("packet")
        .and_then(|packet| packet.entries().ok()?.into_iter().find(|(entry, _)| entry.key == "ack"))
    else {
        return Ok(None);
    };
    match read_size(&at)? {
        0 => Err(at.invalid("the packet is empty", "must be between 1 and 65 535 bytes")),
        size => Ok(Some((size, at))),
    }
}

/// Returns the default size of a feedback packet: QUIC's headers and an ACK frame, or a TCP segment
/// without payload.
pub(crate) fn ack(transport: Transport) -> u32 {
    match transport {
        Transport::Quic { header, overhead, .. } => header + ACK_FRAME + overhead,
        Transport::Tcp { overhead, .. } => overhead.max(TCP_HEADERS),
    }
}

fn read_size(cursor: &Cursor<'_>) -> Result<u32, Diagnostic> {
    let Bytes(bytes) = cursor.read()?;
    let size = u32::try_from(bytes).ok().filter(|size| *size <= 65_535);
    size.ok_or_else(|| {
        cursor.invalid(format!("a packet of {bytes} bytes is too large"), "must be at most 65 535 bytes")
    })
}

/// Returns the name of the transport, and the keys with these sizes.
pub(crate) fn table(transport: Transport, back: Option<Back>) -> (&'static str, Packet) {
    let size = |bytes: u32| Bytes(u64::from(bytes));
    let common = Packet { ack: back.map(|back| size(back.size)), ..Packet::default() };
    match transport {
        Transport::Quic { datagram, header, overhead } => {
            let (datagram, header) = (Some(size(datagram)), Some(size(header)));
            ("quic", Packet { datagram, header, overhead: size(overhead), ..common })
        }
        Transport::Tcp { mss, overhead } => {
            ("tcp", Packet { mss: Some(size(mss)), overhead: size(overhead), ..common })
        }
    }
}
