//! Reads `transport` and `packet` of a flow: the sizes of its packets.

use scenario::Transport;
use units::Bytes;

use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};
use crate::file::tables::define::{Needs, table};
use crate::file::values::within;

/// Typical size of an ACK frame with one or two ranges and ECN counts (RFC 9000 section 19.3).
const ACK_FRAME: u32 = 20;

/// IP and TCP headers without options.
const TCP_HEADERS: u32 = 40;

table! {
    /// `packet` of a flow.
    #[derive(Default)]
    #[schemars(rename = "packet", transform = Needs(""))]
    pub(crate) Packet(stack: Transport) {
        /// QUIC: UDP payload of a full packet, default 1252 bytes.
        datagram: Option<Bytes> = sizes(stack)[0], |at| size(at).map(Some);
        /// QUIC: bytes of the payload that carry no data (packet header, AEAD tag, frame header),
        /// default 37 bytes.
        header: Option<Bytes> = sizes(stack)[1], |at| size(at).map(Some);
        /// TCP: payload of a full segment, default 1448 bytes.
        mss: Option<Bytes> = sizes(stack)[2], |at| size(at).map(Some);
        /// Headers below the transport, default 42 bytes (UDP, IP and link) or 52 bytes (TCP, IP
        /// and link).
        overhead: Bytes = sizes(stack)[3].unwrap_or_default(), size;
        /// Size of an acknowledgement on the wire, if there is a `[reverse]`. Default 99 bytes for
        /// QUIC, 52 bytes for TCP.
        ack: Option<Bytes> = None, ack_size;
    }
}

/// Returns datagram, header, MSS and overhead.
fn sizes(transport: Transport) -> [Option<Bytes>; 4] {
    let size = |bytes: u32| Some(Bytes(u64::from(bytes)));
    match transport {
        Transport::Quic { datagram, header, overhead } => {
            [size(datagram), size(header), None, size(overhead)]
        }
        Transport::Tcp { mss, overhead } => [None, None, size(mss), size(overhead)],
    }
}

impl Packet {
    /// Returns the transport with these sizes.
    pub(crate) fn transport(&self) -> Transport {
        let size = |size: Option<Bytes>| size.unwrap_or_default().0 as u32;
        let (datagram, header, overhead) = (size(self.datagram), size(self.header), self.overhead.0 as u32);
        match self.mss {
            Some(_) => Transport::Tcp { mss: size(self.mss), overhead },
            None => Transport::Quic { datagram, header, overhead },
        }
    }
}

/// Reports whether `transport` is TCP.
pub(crate) fn is_tcp(fields: &Fields<'_>) -> Result<bool, Diagnostic> {
    let transports = [("quic", false), ("tcp", true)];
    fields.get("transport").map_or(Ok(false), |cursor| cursor.word("transport", &transports))
}

/// Reads the sizes in `packet`, with the others as in `stack`.
pub(crate) fn read(flow: &Fields<'_>, stack: Transport) -> Result<Packet, Diagnostic> {
    let (known, other, others): (&[&str], _, &[&str]) = match stack {
        Transport::Quic { .. } => (&["datagram", "header", "overhead", "ack"], "tcp", &["mss"]),
        Transport::Tcp { .. } => (&["mss", "overhead", "ack"], "quic", &["datagram", "header"]),
    };
    let at = flow.at("packet");
    // Keys of the other transport are known keys at the wrong place.
    if let Some(key) = others.iter().find_map(|key| flow.get("packet")?.get(key)) {
        let own = if other == "tcp" { "QUIC" } else { "TCP" };
        let wrong = format!("only for transport = \"{other}\"");
        return Err(key.invalid(wrong, format!("{own} has {}", known.join(", "))));
    }
    let packet = Packet::read(&flow.table("packet", known)?, stack)?;
    match packet.transport() {
        Transport::Quic { datagram, header, .. } if datagram <= header => {
            Err(at
                .problem("the header leaves no room in the datagram", "datagram must be larger than header"))
        }
        Transport::Tcp { mss: 0, .. } => Err(at.problem("the segment is empty", "mss must be above 0")),
        _ => Ok(packet),
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

fn size(cursor: &Cursor<'_>) -> Result<Bytes, Diagnostic> {
    let wrong = |size: &Bytes| format!("a packet of {} bytes is too large", size.0);
    within(|size: &Bytes| size.0 <= 65_535, wrong, "must be at most 65 535 bytes")(cursor)
}

fn ack_size(cursor: &Cursor<'_>) -> Result<Option<Bytes>, Diagnostic> {
    match size(cursor)? {
        Bytes(0) => Err(cursor.invalid("the packet is empty", "must be between 1 and 65 535 bytes")),
        size => Ok(Some(size)),
    }
}
