//! Transport parameters (RFC 9000 section 18, RFC 9221 section 3, drafts on ACK frequency and
//! receive timestamps).

use std::collections::BTreeSet;
use std::net::{SocketAddrV4, SocketAddrV6};

use super::codec::{Full, Reader, Truncated, Writer, prefixed_size};
use super::connection_id::ConnectionId;
use super::receive_timestamps::{MAX_EXPONENT, StampFormat};
use super::varint;
use crate::error::{Code, Error};
use crate::level::Side;

/// Preferred address of a server (section 9.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreferredAddress {
    /// IPv4 address; `None` if all bytes are zero.
    pub v4: Option<SocketAddrV4>,
    /// IPv6 address; `None` if all bytes are zero.
    pub v6: Option<SocketAddrV6>,
    /// Connection ID to use there, 1 to 20 bytes. Its sequence number is 1.
    pub id: ConnectionId,
    /// Stateless reset token of the ID.
    pub reset_token: [u8; 16],
}

impl PreferredAddress {
    const fn size(&self) -> usize {
        4 + 2 + 16 + 2 + 1 + 16
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let (ip, port) = self.v4.map_or(([0; 4], 0), |a| (a.ip().octets(), a.port()));
        w.bytes(&ip);
        w.bytes(&port.to_be_bytes());
        let (ip, port) = self.v6.map_or(([0; 16], 0), |a| (a.ip().octets(), a.port()));
        w.bytes(&ip);
        w.bytes(&port.to_be_bytes());
        w.u8(self.id.len() as u8);
        w.bytes(&self.id);
        w.bytes(&self.reset_token);
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, Truncated> {
        let (v4, v4_port) = (r.array::<4>()?, r.u16()?);
        let (v6, v6_port) = (r.array::<16>()?, r.u16()?);
        let length = r.u8()?;
        // If the ID is too long or empty, the check of all parameters refuses it.
        let id = ConnectionId::new(r.bytes(usize::from(length))?).unwrap_or_default();
        Ok(Self {
            v4: (v4 != [0; 4] || v4_port != 0).then(|| SocketAddrV4::new(v4.into(), v4_port)),
            v6: (v6 != [0; 16] || v6_port != 0).then(|| SocketAddrV6::new(v6.into(), v6_port, 0, 0)),
            id,
            reset_token: r.array()?,
        })
    }
}

/// Access to the value of a parameter, for encoding and decoding.
enum Slot<'a> {
    /// An integer, and the default that is not sent.
    Int(&'a mut u64, u64),
    /// An optional integer.
    MaybeInt(&'a mut Option<u64>),
    /// A parameter without a value.
    Flag(&'a mut bool),
    Id(&'a mut Option<ConnectionId>),
    Token(&'a mut Option<[u8; 16]>),
    Address(&'a mut Option<PreferredAddress>),
}

macro_rules! parameters {
    ($($id:literal $side:ident $slot:ident $(($default:expr))? $(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        /// Transport parameters of one end. [`Default`] holds the values that apply when parameters
        /// are absent.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct TransportParameters {
            $($(#[$doc])* pub $name: $type,)*
            /// A reserved parameter of the form 31 * N + 27 to send, to test that peers ignore
            /// unknown parameters (section 18.1).
            pub grease: Option<u64>,
        }

        impl Default for TransportParameters {
            fn default() -> Self {
                Self { $($name: parameters!(@default $(($default))?),)* grease: None }
            }
        }

        /// ID of every parameter in order, and whether clients may send it.
        const KNOWN: &[(u64, bool)] = &[$(($id, parameters!(@client $side)),)*];

        impl TransportParameters {
            /// Returns the values in the order of [`KNOWN`].
            fn slots(&mut self) -> Vec<Slot<'_>> {
                vec![$(Slot::$slot(&mut self.$name $(, $default)?),)*]
            }
        }
    };
    (@default) => { Default::default() };
    (@default ($default:expr)) => { $default };
    (@client both) => { true };
    (@client server) => { false };
}

parameters! {
    0x00 server Id
    /// Destination Connection ID of the client's first Initial. Sent only by servers, which must
    /// send it.
    original_destination_connection_id: Option<ConnectionId>;
    0x01 both Int(0)
    /// Idle timeout, in milliseconds; 0 disables it.
    max_idle_timeout: u64;
    0x02 server Token
    /// Stateless reset token of the server's first connection ID. Sent only by servers.
    stateless_reset_token: Option<[u8; 16]>;
    0x03 both Int(65_527)
    /// Largest UDP payload that this end accepts, in bytes; at least 1200.
    max_udp_payload_size: u64;
    0x04 both Int(0)
    /// Initial credit of the connection, in bytes.
    initial_max_data: u64;
    0x05 both Int(0)
    /// Initial credit of each bidirectional stream opened by the sender of this parameter, in
    /// bytes.
    initial_max_stream_data_bidi_local: u64;
    0x06 both Int(0)
    /// Initial credit of each bidirectional stream opened by its receiver, in bytes.
    initial_max_stream_data_bidi_remote: u64;
    0x07 both Int(0)
    /// Initial credit of each unidirectional stream opened by its receiver, in bytes.
    initial_max_stream_data_uni: u64;
    0x08 both Int(0)
    /// Number of bidirectional streams that its receiver may open; at most 2^60.
    initial_max_streams_bidi: u64;
    0x09 both Int(0)
    /// Number of unidirectional streams that its receiver may open; at most 2^60.
    initial_max_streams_uni: u64;
    0x0a both Int(3)
    /// Exponent of the ACK Delay field, whose unit is 2^exponent microseconds; at most 20.
    ack_delay_exponent: u64;
    0x0b both Int(25)
    /// Maximum ACK delay of this end, in milliseconds; below 2^14.
    max_ack_delay: u64;
    0x0c both Flag
    /// Asks the peer not to migrate to another address.
    disable_active_migration: bool;
    0x0d server Address
    /// Preferred address of the server. Sent only by servers.
    preferred_address: Option<PreferredAddress>;
    0x0e both Int(2)
    /// Number of the peer's connection IDs that this end stores; at least 2.
    active_connection_id_limit: u64;
    0x0f both Id
    /// Source Connection ID of this end's first Initial; required.
    initial_source_connection_id: Option<ConnectionId>;
    0x10 server Id
    /// Source Connection ID of the Retry. Sent only by servers that sent a Retry.
    retry_source_connection_id: Option<ConnectionId>;
    0x20 both Int(0)
    /// Largest DATAGRAM frame that this end accepts, in bytes including type and length; 0 for none
    /// (RFC 9221 section 3).
    max_datagram_frame_size: u64;
    0xff04_de1b both MaybeInt
    /// Minimum ACK delay of this end, in microseconds; at most `max_ack_delay`. Its presence
    /// announces support for ACK_FREQUENCY.
    min_ack_delay: Option<u64>;
    0x4ac07 both MaybeInt
    /// Maximum number of receive timestamps per ACK frame that this end requests
    /// (draft-ietf-quic-receive-ts-02).
    max_receive_timestamps_per_ack: Option<u64>;
    0x4ac26 both MaybeInt
    /// Exponent of the receive timestamps sent to this end, whose unit is 2^exponent microseconds;
    /// 0 to 20, 0 if absent.
    receive_timestamps_exponent: Option<u64>;
}

const fn invalid(reason: &'static str) -> Error {
    Error::new(Code::TRANSPORT_PARAMETER_ERROR, reason)
}

impl TransportParameters {
    /// Returns the format of receive timestamps for the end that sent these parameters.
    pub fn stamp_format(&self) -> StampFormat {
        let exponent = self.receive_timestamps_exponent.unwrap_or(0).min(u64::from(MAX_EXPONENT)) as u8;
        StampFormat { max: self.max_receive_timestamps_per_ack.unwrap_or(0), exponent }
    }

    /// Returns a reserved ID for [`grease`](Self::grease), from a random number.
    pub const fn grease_from(random: u64) -> u64 {
        // Of the form 31 * N + 27, and below 2^62 for every N.
        random % ((varint::MAX - 27) / 31) * 31 + 27
    }

    /// Returns the number of bytes that [`encode`](Self::encode) writes.
    pub fn size(&self) -> usize {
        let mut copy = self.clone();
        let known = KNOWN.iter().zip(copy.slots()).filter_map(|(&(id, _), slot)| {
            let value = value_size(&slot)?;
            Some(varint::size(id) + varint::size(value as u64) + value)
        });
        known.sum::<usize>() + self.grease.map_or(0, |id| varint::size(id) + prefixed_size(&[]))
    }

    /// Encodes the parameters that differ from their defaults, in the order of this documentation.
    ///
    /// # Errors
    /// Fails if the parameters do not fit. Nothing is written then.
    pub fn encode(&self, w: &mut Writer<'_>) -> Result<(), Full> {
        w.room(self.size())?;
        let mut copy = self.clone();
        for (&(id, _), slot) in KNOWN.iter().zip(copy.slots()) {
            if let Some(size) = value_size(&slot) {
                w.varint(id);
                w.varint(size as u64);
                write_value(&slot, w);
            }
        }
        if let Some(id) = self.grease {
            w.varint(id);
            w.prefixed(&[]);
        }
        Ok(())
    }

    /// Encodes the parameters into a new buffer, for TLS.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.size()];
        self.encode(&mut Writer::new(&mut bytes)).expect("the buffer has the right size");
        bytes
    }

    /// Decodes the parameters of one end. Unknown parameters are ignored (section 7.4.2).
    ///
    /// The connection must check that the connection IDs match those of the handshake packets
    /// (section 7.3).
    ///
    /// # Errors
    /// TRANSPORT_PARAMETER_ERROR for truncated input, duplicate parameters, values that section
    /// 18.2 forbids, and server parameters sent by a client.
    pub fn decode(bytes: &[u8], from: Side) -> Result<Self, Error> {
        let mut all = Self::default();
        let mut seen = BTreeSet::new();
        let mut r = Reader::new(bytes);
        while !r.is_empty() {
            let short = |_| invalid("transport parameters are truncated");
            let id = r.varint().map_err(short)?;
            let value = r.prefixed().map_err(short)?;
            if !seen.insert(id) {
                return Err(invalid("duplicate transport parameter"));
            }
            let Some(place) = KNOWN.iter().position(|known| known.0 == id) else { continue };
            if from == Side::Client && !KNOWN[place].1 {
                return Err(invalid("server transport parameter from a client"));
            }
            let slot = all.slots().swap_remove(place);
            read_value(slot, value).map_err(|_| invalid("transport parameter of the wrong length"))?;
        }
        all.check()?;
        Ok(all)
    }

    /// Checks the ranges of section 18.2 and of the extensions.
    ///
    /// # Errors
    /// TRANSPORT_PARAMETER_ERROR with the name of the parameter.
    pub fn check(&self) -> Result<(), Error> {
        const STREAMS: u64 = 1 << 60;
        let rules = [
            (self.max_udp_payload_size >= 1200, "max_udp_payload_size below 1200"),
            (self.initial_max_streams_bidi <= STREAMS, "initial_max_streams_bidi above 2^60"),
            (self.initial_max_streams_uni <= STREAMS, "initial_max_streams_uni above 2^60"),
            (self.ack_delay_exponent <= 20, "ack_delay_exponent above 20"),
            (self.max_ack_delay < 1 << 14, "max_ack_delay of 2^14 or more"),
            (self.active_connection_id_limit >= 2, "active_connection_id_limit below 2"),
            (
                self.preferred_address.is_none_or(|a| !a.id.is_empty()),
                "preferred_address without a connection ID",
            ),
            // This cannot overflow once max_ack_delay is known to be small.
            (
                self.min_ack_delay.is_none_or(|min| min / 1000 < 1 << 14 && min <= self.max_ack_delay * 1000),
                "min_ack_delay above max_ack_delay",
            ),
            (
                self.receive_timestamps_exponent.is_none_or(|e| e <= u64::from(MAX_EXPONENT)),
                "receive_timestamps_exponent above 20",
            ),
        ];
        rules.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, broken)| Err(invalid(broken)))
    }
}

/// Returns the size of a value in bytes, or `None` if it is not sent.
fn value_size(slot: &Slot<'_>) -> Option<usize> {
    match slot {
        Slot::Int(value, default) => (**value != *default).then(|| varint::size(**value)),
        Slot::MaybeInt(value) => value.map(varint::size),
        Slot::Flag(value) => value.then_some(0),
        Slot::Id(value) => value.as_ref().map(|id| id.len()),
        Slot::Token(value) => value.as_ref().map(|token| token.len()),
        Slot::Address(value) => value.as_ref().map(|address| address.size() + address.id.len()),
    }
}

fn write_value(slot: &Slot<'_>, w: &mut Writer<'_>) {
    match slot {
        Slot::Int(value, _) => w.varint(**value),
        Slot::MaybeInt(Some(value)) => w.varint(*value),
        Slot::Id(Some(id)) => w.bytes(id),
        Slot::Token(Some(token)) => w.bytes(token),
        Slot::Address(Some(address)) => address.encode(w),
        _ => {}
    }
}

fn read_value(slot: Slot<'_>, value: &[u8]) -> Result<(), Truncated> {
    let mut r = Reader::new(value);
    match slot {
        Slot::Int(to, _) => *to = r.varint()?,
        Slot::MaybeInt(to) => *to = Some(r.varint()?),
        Slot::Flag(to) => *to = true,
        Slot::Id(to) => *to = Some(ConnectionId::new(r.bytes(value.len())?).ok_or(Truncated)?),
        Slot::Token(to) => *to = Some(r.array()?),
        Slot::Address(to) => *to = Some(PreferredAddress::decode(&mut r)?),
    }
    // Nothing may follow.
    if r.is_empty() { Ok(()) } else { Err(Truncated) }
}
