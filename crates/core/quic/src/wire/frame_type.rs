//! Frame types, and the rules for each type (RFC 9000 section 12.4, table 3).

use std::fmt;

use crate::level::Level;

/// Type of a frame, a variable-length integer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameType(pub u64);

macro_rules! types {
    ($($(#[$doc:meta])* $name:ident = $value:literal;)*) => {
        impl FrameType {
            $($(#[$doc])* pub const $name: Self = Self($value);)*

            const fn known_name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

types! {
    /// Padding without meaning (19.1).
    PADDING = 0x00;
    /// Elicits an ACK (19.2).
    PING = 0x01;
    /// Acknowledges packets (19.3).
    ACK = 0x02;
    /// Acknowledges packets, with ECN counts (19.3.2).
    ACK_ECN = 0x03;
    /// Abruptly ends the sending part of a stream (19.4).
    RESET_STREAM = 0x04;
    /// Asks the peer to stop sending on a stream (19.5).
    STOP_SENDING = 0x05;
    /// Carries handshake data (19.6).
    CRYPTO = 0x06;
    /// Provides a token for a later connection (19.7).
    NEW_TOKEN = 0x07;
    /// Carries stream data. The low three bits say which fields are present (19.8).
    STREAM = 0x08;
    /// Raises the credit of the connection (19.9).
    MAX_DATA = 0x10;
    /// Raises the credit of a stream (19.10).
    MAX_STREAM_DATA = 0x11;
    /// Raises the limit of bidirectional streams (19.11).
    MAX_STREAMS_BIDI = 0x12;
    /// Raises the limit of unidirectional streams (19.11).
    MAX_STREAMS_UNI = 0x13;
    /// Reports that the connection has no credit left (19.12).
    DATA_BLOCKED = 0x14;
    /// Reports that a stream has no credit left (19.13).
    STREAM_DATA_BLOCKED = 0x15;
    /// Reports that no more bidirectional streams may be opened (19.14).
    STREAMS_BLOCKED_BIDI = 0x16;
    /// Reports that no more unidirectional streams may be opened (19.14).
    STREAMS_BLOCKED_UNI = 0x17;
    /// Provides a further connection ID (19.15).
    NEW_CONNECTION_ID = 0x18;
    /// Retires a connection ID (19.16).
    RETIRE_CONNECTION_ID = 0x19;
    /// Checks whether the peer is reachable on a path (19.17).
    PATH_CHALLENGE = 0x1a;
    /// Answers PATH_CHALLENGE (19.18).
    PATH_RESPONSE = 0x1b;
    /// Closes the connection with a QUIC error code (19.19).
    CONNECTION_CLOSE = 0x1c;
    /// Closes the connection with an error code of the application (19.19).
    APPLICATION_CLOSE = 0x1d;
    /// Confirms the handshake, from the server (19.20).
    HANDSHAKE_DONE = 0x1e;
    /// Asks for an immediate ACK (draft-ietf-quic-ack-frequency section 5).
    IMMEDIATE_ACK = 0x1f;
    /// Carries an unreliable message up to the end of the packet (RFC 9221 section 4).
    DATAGRAM = 0x30;
    /// Carries an unreliable message with its length (RFC 9221 section 4).
    DATAGRAM_LEN = 0x31;
    /// Sets how often the peer acknowledges (draft-ietf-quic-ack-frequency section 4).
    ACK_FREQUENCY = 0xaf;
    /// Acknowledges packets, with receive timestamps (draft-ietf-quic-receive-ts-02).
    ACK_RECEIVE_TIMESTAMPS = 0x0317_8307;
    /// Acknowledges packets, with receive timestamps and ECN counts.
    ACK_RECEIVE_TIMESTAMPS_ECN = 0x0317_8308;
}

/// Bit of STREAM types: an Offset field is present.
pub const STREAM_OFF: u64 = 0x04;
/// Bit of STREAM types: a Length field is present.
pub const STREAM_LEN: u64 = 0x02;
/// Bit of STREAM types: the stream ends.
pub const STREAM_FIN: u64 = 0x01;

impl FrameType {
    /// Returns the name in the RFC. All eight STREAM types are `STREAM`; unknown types have no
    /// name.
    pub const fn name(self) -> Option<&'static str> {
        if self.is_stream() { Some("STREAM") } else { self.known_name() }
    }

    /// Reports whether this is one of the eight STREAM types, 0x08 to 0x0f.
    pub const fn is_stream(self) -> bool {
        self.0 & !0x07 == Self::STREAM.0
    }

    /// Reports whether this is ACK in any of its four forms.
    pub const fn is_ack(self) -> bool {
        matches!(
            self,
            Self::ACK | Self::ACK_ECN | Self::ACK_RECEIVE_TIMESTAMPS | Self::ACK_RECEIVE_TIMESTAMPS_ECN
        )
    }

    /// Reports whether the frame may appear in packets of this level (table 3, column Pkts, or the
    /// extension's document).
    ///
    /// The application's CONNECTION_CLOSE is limited to 0-RTT and 1-RTT packets. In other packets,
    /// APPLICATION_ERROR in a CONNECTION_CLOSE of type 0x1c replaces it (section 10.2.3). Frames
    /// that answer something cannot appear in 0-RTT packets. Section 12.5 also lets a server refuse
    /// RETIRE_CONNECTION_ID there, which table 3 still allows.
    pub const fn is_allowed_in(self, level: Level) -> bool {
        match level {
            Level::OneRtt => true,
            Level::Initial | Level::Handshake => matches!(
                self,
                Self::PADDING
                    | Self::PING
                    | Self::ACK
                    | Self::ACK_ECN
                    | Self::CRYPTO
                    | Self::CONNECTION_CLOSE
            ),
            Level::ZeroRtt => !matches!(
                self,
                Self::ACK
                    | Self::ACK_ECN
                    | Self::CRYPTO
                    | Self::NEW_TOKEN
                    | Self::PATH_RESPONSE
                    | Self::RETIRE_CONNECTION_ID
                    | Self::HANDSHAKE_DONE
                    | Self::ACK_FREQUENCY
                    | Self::IMMEDIATE_ACK
                    | Self::ACK_RECEIVE_TIMESTAMPS
                    | Self::ACK_RECEIVE_TIMESTAMPS_ECN
            ),
        }
    }

    /// Reports whether the frame is ACK-eliciting (table 3, all without N): all but ACK, PADDING
    /// and CONNECTION_CLOSE.
    pub const fn is_ack_eliciting(self) -> bool {
        !self.is_ack() && !matches!(self, Self::PADDING | Self::CONNECTION_CLOSE | Self::APPLICATION_CLOSE)
    }

    /// Reports whether the frame counts toward bytes in flight (table 3, all without C):
    /// ACK-eliciting frames and PADDING.
    pub const fn counts_in_flight(self) -> bool {
        self.is_ack_eliciting() || matches!(self, Self::PADDING)
    }

    /// Reports whether this is a probing frame (table 3, column P; section 9.1).
    pub const fn is_probing(self) -> bool {
        matches!(self, Self::PADDING | Self::NEW_CONNECTION_ID | Self::PATH_CHALLENGE | Self::PATH_RESPONSE)
    }
}

impl fmt::Display for FrameType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "0x{:02x}", self.0),
        }
    }
}

impl fmt::Debug for FrameType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 3 of RFC 9000 as printed: type, packets, special rules.
    const TABLE: &[(u64, &str, &str)] = &[
        (0x00, "IH01", "NP"),
        (0x01, "IH01", ""),
        (0x02, "IH_1", "NC"),
        (0x03, "IH_1", "NC"),
        (0x04, "__01", ""),
        (0x05, "__01", ""),
        (0x06, "IH_1", ""),
        (0x07, "___1", ""),
        (0x08, "__01", ""),
        (0x0f, "__01", ""),
        (0x10, "__01", ""),
        (0x11, "__01", ""),
        (0x12, "__01", ""),
        (0x13, "__01", ""),
        (0x14, "__01", ""),
        (0x15, "__01", ""),
        (0x16, "__01", ""),
        (0x17, "__01", ""),
        (0x18, "__01", "P"),
        // Section 12.5: not in 0-RTT, though the table allows it.
        (0x19, "___1", ""),
        (0x1a, "__01", "P"),
        (0x1b, "___1", "P"),
        (0x1c, "IH01", "N"),
        (0x1d, "__01", "N"),
        (0x1e, "___1", ""),
    ];

    #[test]
    fn table_3() {
        for &(code, packets, special) in TABLE {
            let frame = FrameType(code);
            let levels =
                [(Level::Initial, 'I'), (Level::Handshake, 'H'), (Level::ZeroRtt, '0'), (Level::OneRtt, '1')];
            for (level, letter) in levels {
                assert_eq!(frame.is_allowed_in(level), packets.contains(letter), "{frame} in {level:?}");
            }
            assert_eq!(frame.is_ack_eliciting(), !special.contains('N'), "{frame}");
            assert_eq!(frame.is_probing(), special.contains('P'), "{frame}");
        }
    }

    #[test]
    fn in_flight_is_what_is_not_marked_c() {
        // CONNECTION_CLOSE is marked only N, but no sender waits for its ACK.
        let none = [0x02, 0x03, 0x1c, 0x1d, 0x0317_8307, 0x0317_8308];
        for code in (0..0x32).chain([0xaf, 0x0317_8307, 0x0317_8308]) {
            assert_eq!(FrameType(code).counts_in_flight(), !none.contains(&code));
        }
    }
}
