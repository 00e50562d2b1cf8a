//! Drop-tail: how much a queue may hold, and what counts towards it.
//!
//! ```text
//! packets: drop iff counted packets >= limit
//! bytes:   drop iff counted bytes + size > limit
//! ```
//!
//! **What waits counts, each packet whole; the packet in transmission does not**, as in Linux' pfifo and bfifo (sch_fifo.c:
//! the device has taken it), under every AQM of Linux' (`qlen` and `backlog` of the qdisc), in ns-3's DropTailQueue, and,
//! as a time, in picoquic's simulator. So `24 packets` may be 25 on the link, and a packet that finds one of `1 BDP` all but
//! full waits for 1 BDP and the rest of the packet before it. A packet passes the queue also where none waits: one that
//! exceeds the limit by itself is dropped (Linux: such a fifo may not be bypassed).
//!
//! A token bucket has no packet in transmission: the first one waits for its tokens in the queue, and counts (Linux'
//! sch_tbf looks at it there and takes it when it may leave at once).
//!
//! netem counts everything that it has not handed on (`tfifo`: what waits, is being sent at its `rate`, or is delayed):
//! that is `queue+delay`.
//!
//! **A limit that becomes smaller throws out nothing**: it refuses what comes until there is room, as pfifo and bfifo do
//! after `tc qdisc change` (sch_fifo.c: __fifo_init sets the number alone). FQ-CoDel refuses no packet: the next arrival makes it drop from
//! its longest queues until the new limit holds.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use units::Bytes;
use units::split_number;

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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LimitCounts {
    /// Those that wait: their transmission has not begun or, behind a token bucket, they have not left.
    #[default]
    #[serde(rename = "queue")]
    Queue,
    /// Those that wait, are in transmission or in propagation (delivery > now): Linux netem as delay line and queue in one.
    /// The limit then works like a window on packets in flight: throughput <= limit / (delay + transmission).
    #[serde(rename = "queue+delay")]
    QueueAndDelay,
}

/// A limit in both units at once, so that the check is the same two comparisons for each kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    packets: u64,
    bytes: u64,
}

impl Capacity {
    /// Whether a packet of this size still fits beside what counts already.
    #[inline]
    pub(crate) fn admits(self, counted: Tally, size: u32) -> bool {
        (counted.packets < self.packets) & (counted.bytes.saturating_add(u64::from(size)) <= self.bytes)
    }

    /// Whether that much may be there.
    pub(crate) fn holds(self, counted: Tally) -> bool {
        counted.packets <= self.packets && counted.bytes <= self.bytes
    }

    /// Both limits.
    pub(crate) fn and(self, other: Limit) -> Self {
        let other = Self::from(other);
        Self { packets: self.packets.min(other.packets), bytes: self.bytes.min(other.bytes) }
    }
}

impl From<Limit> for Capacity {
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
    units::serde_as_string!(super::Limit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_let_a_small_packet_in_where_a_large_one_is_dropped() {
        let capacity = Capacity::from(Limit::Bytes(Bytes(3000)));
        let held = Tally { packets: 2, bytes: 2900 };
        assert!(capacity.admits(held, 100));
        assert!(!capacity.admits(held, 101));
    }

    #[test]
    fn packets_are_alike() {
        let capacity = Capacity::from(Limit::Packets(2));
        assert!(capacity.admits(Tally { packets: 1, bytes: 1 << 40 }, u32::MAX));
        assert!(!capacity.admits(Tally { packets: 2, bytes: 2 }, 1));
        assert!(Capacity::from(Limit::Unlimited).admits(Tally { packets: 9, bytes: u64::MAX }, 1));
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
