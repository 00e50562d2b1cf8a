//! Drop-tail: the limit of a queue, and the packets that count towards it.
//!
//! ```text
//! packets: drop iff counted packets >= limit
//! bytes:   drop iff counted bytes + size > limit
//! ```
//!
//! **Waiting packets count in full; the packet in transmission does not count.** Linux' pfifo and
//! bfifo do the same (sch_fifo.c: the device has taken it). The same holds for every AQM in Linux
//! (`qlen` and `backlog` of the qdisc), for ns-3's DropTailQueue and, measured in time, for
//! picoquic's simulator. So a limit of `24 packets` allows 25 in queue and transmission. A packet
//! that finds a queue of `1 BDP` nearly full waits for 1 BDP and the remaining transmission of the
//! packet ahead. A packet is checked against the limit even if the queue is empty, so a packet
//! larger than the limit is dropped (Linux: such a fifo may not be bypassed). Only behind a token
//! bucket a packet that finds its tokens passes any limit, because it does not wait.
//!
//! With chances to deliver (`trace/chances.rs`), a packet waits and counts until the chance that
//! serves its first byte, although the link is idle.
//!
//! A token bucket has no packet in transmission: the first packet waits for its tokens in the queue
//! and counts. (Linux' sch_tbf peeks at it there and takes it when it may leave at once.)
//!
//! netem counts everything that it has not passed on (`tfifo`: packets that wait, are being sent at
//! its `rate`, or are delayed). That is `queue+delay`.
//!
//! **A limit that becomes smaller drops no waiting packet**: it refuses arriving packets until they
//! fit, as pfifo and bfifo do after `tc qdisc change` (sch_fifo.c: __fifo_init only sets the
//! number). FQ-CoDel refuses no packet: the next arrival makes it drop from its longest queues
//! until the new limit holds.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use units::Bytes;
use units::split_number;

use crate::backlog::Count;

/// Limit of a queue. In files: `"62.5 kB"`, `"24 packets"`, `"unlimited"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Bytes on the wire. A small packet may still fit where a large one is dropped.
    Bytes(Bytes),
    /// Packets of any size.
    Packets(u64),
    /// No limit: nothing is ever dropped.
    Unlimited,
}

/// Packets that count towards the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LimitCounts {
    /// Packets that wait: their transmission has not begun or, behind a token bucket, they have not
    /// left.
    #[default]
    #[serde(rename = "queue")]
    Queue,
    /// Packets that wait, are in transmission or in propagation (delivery > now), like Linux netem
    /// as delay line and queue in one. The limit then acts like a window on packets in flight:
    /// throughput <= limit / (delay + transmission).
    #[serde(rename = "queue+delay")]
    QueueAndDelay,
}

/// Limit in both units at once, so that the check is the same two comparisons for each kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    packets: u64,
    bytes: u64,
}

impl Capacity {
    /// Reports whether a packet of this size still fits beside those that count already.
    #[inline]
    pub(crate) fn admits(self, counted: Count, size: u32) -> bool {
        (counted.packets < self.packets) & (counted.bytes.saturating_add(u64::from(size)) <= self.bytes)
    }

    /// Reports whether the limit allows this number of packets and bytes.
    pub(crate) fn holds(self, counted: Count) -> bool {
        counted.packets <= self.packets && counted.bytes <= self.bytes
    }

    /// Returns the tighter of both limits in each unit.
    pub(crate) fn min(self, other: Limit) -> Self {
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
        let held = Count { packets: 2, bytes: 2900 };
        assert!(capacity.admits(held, 100));
        assert!(!capacity.admits(held, 101));
    }

    #[test]
    fn packets_are_alike() {
        let capacity = Capacity::from(Limit::Packets(2));
        assert!(capacity.admits(Count { packets: 1, bytes: 1 << 40 }, u32::MAX));
        assert!(!capacity.admits(Count { packets: 2, bytes: 2 }, 1));
        assert!(Capacity::from(Limit::Unlimited).admits(Count { packets: 9, bytes: u64::MAX }, 1));
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
