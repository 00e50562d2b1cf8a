//! Acknowledgements that a receiver writes and a sender processes.

use units::Duration;

use crate::ecn::EcnCounts;

/// The `ack_delay_exponent` of a peer that does not send one (RFC 9000 section 18.2).
pub const DEFAULT_ACK_DELAY_EXPONENT: u8 = 3;

/// A QUIC ACK frame, as the sender sees it.
#[derive(Clone, Debug, Default)]
pub struct AckFrame {
    /// Ranges of received packet numbers, both ends included, ascending and disjoint.
    pub ranges: Vec<(u64, u64)>,
    /// Delay between the arrival of the largest packet and this ACK.
    pub ack_delay: Duration,
    /// Total ECN counts, if the receiver reports them.
    pub ecn: Option<EcnCounts>,
    /// Receive times that the peer reports: packet number, and nanoseconds on the receiver's clock.
    ///
    /// A sender expects them in ascending order of packet numbers. A
    /// [bounded](crate::Receiver::bounded) receiver writes them in order of arrival.
    pub timestamps: Vec<(u64, i64)>,
    /// A PING accompanies the ACK, so that the peer acknowledges it.
    pub ping: bool,
}

impl AckFrame {
    /// Decodes the ACK Delay field (RFC 9000 section 19.3).
    ///
    /// `exponent` is the `ack_delay_exponent` of the ACK's sender, 0 to 20. It is 3 unless the
    /// sender chose another.
    pub fn decode_delay(field: u64, exponent: u8) -> Duration {
        Duration(field.saturating_mul(1000 << exponent.min(20)))
    }

    /// Encodes a delay for the ACK Delay field: whole units of 2^`exponent` microseconds, rounded
    /// down.
    pub fn encode_delay(delay: Duration, exponent: u8) -> u64 {
        delay.0 / (1000 << exponent.min(20))
    }
}

/// Error for an ACK of packets that were not sent: a PROTOCOL_VIOLATION (RFC 9000 section 13.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckError {
    /// The ACK contains a packet number that has not been used yet.
    Unsent,
    /// The ACK contains a packet number that was skipped.
    Skipped,
}

impl std::error::Error for AckError {}

impl std::fmt::Display for AckError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unsent => "ACK of a packet that was not sent",
            Self::Skipped => "ACK of a skipped packet number",
        })
    }
}

/// Number of SACK blocks in an acknowledgement. The timestamps of RFC 7323 leave space for three.
pub const SACK_BLOCKS: usize = 3;

/// A TCP acknowledgement, as the sender sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpAck {
    /// End of the contiguous data: all bytes before this one have arrived.
    pub cumulative: u64,
    /// SACK blocks `start..end`, the block of the newest arrival first. Unused blocks are empty.
    pub sacks: [(u64, u64); SACK_BLOCKS],
    /// Number of the transmission that triggered this acknowledgement, known even without
    /// timestamps.
    pub echo: u64,
    /// All bytes of that transmission had arrived before, as a DSACK reports (RFC 2883).
    pub duplicate: bool,
    /// Number of the transmission whose timestamp is echoed, and the receiver's clock in
    /// nanoseconds. `None` without timestamps.
    pub timestamps: Option<(u64, i64)>,
    /// Total ECN counts (AccECN), if any packet carried a mark.
    pub ecn: Option<EcnCounts>,
}

impl TcpAck {
    /// Reports whether the bytes `start..end` have arrived.
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
            assert_eq!(AckFrame::encode_delay(Duration(nanos), exponent), field);
            assert_eq!(AckFrame::decode_delay(field, exponent), Duration(told));
        }
        assert_eq!(AckFrame::encode_delay(Duration(u64::MAX), 255), u64::MAX / (1000 << 20));
    }
}
