//! Drop-tail: how much a queue may hold, and what counts towards it.
//!
//! ```text
//! packets: drop iff held packets >= limit        (10.1)
//! bytes:   drop iff held bytes + size > limit    (10.1)
//! ```
//!
//! **The packet in transmission counts, whole, in both units**, until its last bit has left. Linux pfifo and bfifo
//! count only what waits behind it: `limit 24` there is 25 packets here.

use std::fmt;
use std::str::FromStr;

use congestion::Bytes;
use congestion::units::split_number;
use serde::{Deserialize, Serialize};

use crate::backlog::Tally;

/// How much the queue may hold. In files: `"62.5 kB"`, `"24 packets"`, `"unlimited"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Bytes on the wire. Small packets may still fit where a large one is dropped.
    Bytes(Bytes),
    /// Packets of whatever size.
    Packets(u64),
    /// Nothing is ever dropped.
    Unlimited,
}

/// Which packets count towards the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LimitCounts {
    /// Those queued or in transmission (departure > now).
    #[default]
    #[serde(rename = "queue")]
    Queue,
    /// Those queued, in transmission or in propagation (delivery > now): Linux netem as delay line and queue in one.
    /// The limit then works like a window on packets in flight: throughput <= limit / (delay + transmission).
    #[serde(rename = "queue+delay")]
    QueueAndDelay,
}

/// A limit in both units at once, so that the check is the same two comparisons for each kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ceiling {
    packets: u64,
    bytes: u64,
}

impl Ceiling {
    /// Whether a packet of this size still fits beside what is held.
    #[inline]
    pub(crate) fn admits(self, held: Tally, size: u32) -> bool {
        (held.packets < self.packets) & (held.bytes.saturating_add(u64::from(size)) <= self.bytes)
    }

    /// Whether that much may be held.
    pub(crate) fn holds(self, held: Tally) -> bool {
        held.packets <= self.packets && held.bytes <= self.bytes
    }

    /// Both limits.
    pub(crate) fn and(self, other: Limit) -> Self {
        let other = Self::from(other);
        Self { packets: self.packets.min(other.packets), bytes: self.bytes.min(other.bytes) }
    }
}

impl From<Limit> for Ceiling {
    fn from(limit: Limit) -> Self {
        match limit {
            Limit::Bytes(Bytes(bytes)) => Self { packets: u64::MAX, bytes },
            Limit::Packets(packets) => Self { packets, bytes: u64::MAX },
            Limit::Unlimited => Self { packets: u64::MAX, bytes: u64::MAX },
        }
    }
}

impl FromStr for Limit {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "unlimited" {
            return Ok(Self::Unlimited);
        }
        match split_number(text) {
            Ok((n, "packets" | "packet")) if n.fract() == 0.0 => Ok(Self::Packets(n as u64)),
            Ok((_, "packets" | "packet")) => Err(format!("`{text}` is not a whole number of packets")),
            _ => text
                .parse()
                .map(Self::Bytes)
                .map_err(|e| format!("{e}; a queue limit may also be \"24 packets\" or \"unlimited\"")),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Packets(n) => write!(f, "{n} packets"),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

mod as_string {
    congestion::serde_as_string!(super::Limit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_let_a_small_packet_in_where_a_large_one_is_dropped() {
        let ceiling = Ceiling::from(Limit::Bytes(Bytes(3000)));
        let held = Tally { packets: 2, bytes: 2900 };
        assert!(ceiling.admits(held, 100));
        assert!(!ceiling.admits(held, 101));
    }

    #[test]
    fn packets_are_alike() {
        let ceiling = Ceiling::from(Limit::Packets(2));
        assert!(ceiling.admits(Tally { packets: 1, bytes: 1 << 40 }, u32::MAX));
        assert!(!ceiling.admits(Tally { packets: 2, bytes: 2 }, 1));
        assert!(Ceiling::from(Limit::Unlimited).admits(Tally { packets: 9, bytes: u64::MAX }, 1));
    }

    #[test]
    fn reads_and_writes_words() {
        for text in ["24 packets", "62.5 kB", "unlimited"] {
            assert_eq!(text.parse::<Limit>().unwrap().to_string(), text);
        }
        assert!("1.5 packets".parse::<Limit>().unwrap_err().contains("whole number"));
        assert!("24".parse::<Limit>().unwrap_err().contains("24 packets"));
    }
}
