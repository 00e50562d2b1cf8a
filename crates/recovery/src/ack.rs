//! Acknowledgements, as a receiver writes them and a sender reads them.

use units::Duration;

use crate::ecn::EcnCounts;

/// The `ack_delay_exponent` of whoever has not said another (RFC 9000 section 18.2).
pub const DEFAULT_ACK_DELAY_EXPONENT: u8 = 3;

/// What the sender learns from one QUIC ACK.
#[derive(Clone, Debug, Default)]
pub struct AckFrame {
    /// Received packet numbers, both ends included, ascending and apart.
    pub ranges: Vec<(u64, u64)>,
    /// How long the largest was held back.
    pub ack_delay: Duration,
    /// ECN totals, if the receiver reports them.
    pub ecn: Option<EcnCounts>,
    /// Packet number and receive time (receiver's clock, nanoseconds); what the peer reports of them. A sender reads them ascending in
    /// packet number; a [bounded](crate::Receiver::bounded) receiver writes them in order of arrival.
    pub timestamps: Vec<(u64, i64)>,
    /// It comes with a PING: the peer is to acknowledge it.
    pub ping: bool,
}

impl AckFrame {
    /// The time that the field ACK Delay says (RFC 9000 section 19.3): `exponent`, 0 to 20, is the `ack_delay_exponent` of the ACK's sender,
    /// 3 where it has not said another.
    pub fn delay_of(field: u64, exponent: u8) -> Duration {
        Duration(field.saturating_mul(1000 << exponent.min(20)))
    }

    /// What the field ACK Delay says of a delay: whole units of 2^`exponent` microseconds, rounded down.
    pub fn delay_field(delay: Duration, exponent: u8) -> u64 {
        delay.0 / (1000 << exponent.min(20))
    }
}

/// An ACK of what was not sent, which is a PROTOCOL_VIOLATION (RFC 9000 section 13.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckError {
    /// It names a number that is still to come.
    Unsent,
    /// It names a number that was left out.
    Skipped,
}

impl std::error::Error for AckError {}

impl std::fmt::Display for AckError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unsent => "ACK of a packet that was not sent",
            Self::Skipped => "ACK of a packet number that was left out",
        })
    }
}

/// RFC 7323's timestamps leave room for three blocks.
pub const SACK_BLOCKS: usize = 3;

/// What the sender learns from one TCP acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpAck {
    /// All bytes before this one have arrived.
    pub cumulative: u64,
    /// SACK blocks `start..end`, the one of the newest arrival first; unused ones are empty.
    pub sacks: [(u64, u64); SACK_BLOCKS],
    /// The transmission that triggered this acknowledgement, whatever timestamps tell of it.
    pub echo: u64,
    /// All of its bytes had arrived before: a DSACK says so (RFC 2883).
    pub duplicate: bool,
    /// The transmission whose timestamp is echoed, and the receiver's clock, nanoseconds; if the connection has timestamps.
    pub timestamps: Option<(u64, i64)>,
    /// ECN totals (AccECN), if any packet carried a mark.
    pub ecn: Option<EcnCounts>,
}

impl TcpAck {
    /// The bytes `start..end` have arrived.
    pub fn covers(&self, start: u64, end: u64) -> bool {
        end <= self.cumulative || self.sacks.iter().any(|&(s, e)| s <= start && end <= e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_told_in_units() {
        for (nanos, exponent, field, told) in
            [(7999, 3, 0, 0), (8000, 3, 1, 8000), (25_000_000, 3, 3125, 25_000_000), (1999, 0, 1, 1000)]
        {
            assert_eq!(AckFrame::delay_field(Duration(nanos), exponent), field);
            assert_eq!(AckFrame::delay_of(field, exponent), Duration(told));
        }
        assert_eq!(AckFrame::delay_field(Duration(u64::MAX), 255), u64::MAX / (1000 << 20));
    }
}
