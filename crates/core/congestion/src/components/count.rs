//! Rules that decide how much of an acknowledgement grows the window.
//!
//! ```text
//! of the N bytes that the sender allows to count:
//! bytes     N                                      RFC 3465 section 2.1, RFC 9002 section 7.3
//! packets   N, rounded up to whole packets         Linux: each acknowledged segment counts as a packet
//! acks      min(N, SMSS)                           RFC 5681 section 3.1; ns-3's TcpNewReno, htsim
//! always    bytes sent since the last reduction, also while the window is not full: mvfst's NewReno, which
//!           is never application-limited (mvfst b48045620d4a, NewReno.cpp:81-84, 187-193)
//! rate-limited   the same, while the window stays below a limit: see `rate_limited`
//! slow start: at most L * SMSS of that             RFC 3465 section 2.2: L = 2, and 1 after a timeout; thesis 5.1: 10
//! ```
//!
//! With `acks`, a receiver that acknowledges every second packet halves the growth.

use crate::Ack;

/// End of the documentation of a parameter [`Count`], after `bytes` and `packets`.
macro_rules! others {
    () => {
        concat!(
            " `acks`, each as one packet (RFC 5681; ns-3, htsim), `always`: bytes, even if the window was not",
            " fully used (mvfst), or `rate-limited`: the same up to a limit",
            " (draft-ietf-ccwg-ratelimited-increase-11)."
        )
    };
}
pub(crate) use others;

/// Unit in which an acknowledgement counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Count {
    /// Acknowledged bytes.
    Bytes,
    /// Acknowledged packets, each as a full one.
    Packets,
    /// Acknowledgements, each as a full packet at most.
    Acks,
    /// Acknowledged bytes, also those of an unused window.
    Always,
    /// Acknowledged bytes, also those of an unused window up to a limit, see `rate_limited`.
    RateLimited,
}

/// Returns the acknowledged bytes that were sent since the last reduction.
pub(crate) fn since_reduction(ack: &Ack) -> u64 {
    ack.packets.iter().filter(|p| !p.before_reduction).map(|p| p.bytes).sum()
}

/// Computes how much growth one ACK allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counting {
    pub(crate) count: Count,
    /// L, in packets, or no limit.
    pub(crate) limit: Option<u64>,
    pub(crate) mds: u64,
}

impl Counting {
    /// Returns the bytes that count in congestion avoidance.
    pub(crate) fn in_avoidance(&self, ack: &Ack) -> u64 {
        match self.count {
            // The controller has added the bytes of an unused window.
            Count::Bytes | Count::RateLimited => ack.growth,
            Count::Packets => ack.growth.div_ceil(self.mds) * self.mds,
            Count::Acks => ack.growth.min(self.mds),
            Count::Always => since_reduction(ack),
        }
    }

    /// Returns the bytes that count in slow start.
    pub(crate) fn in_slow_start(&self, ack: &Ack) -> u64 {
        let bytes = self.in_avoidance(ack);
        self.limit.map_or(bytes, |packets| bytes.min(packets.saturating_mul(self.mds)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixtures::acked;

    const MDS: u64 = 1200;

    /// ACKs of nothing, of part of a packet, of 1, of 2.5 and of 20 packets.
    #[test]
    fn what_counts() {
        let acks = [0, 500, MDS, 3000, 20 * MDS].map(acked);
        for (count, limit, avoidance, slow_start) in [
            (Count::Bytes, None, [0, 500, 1200, 3000, 24_000], [0, 500, 1200, 3000, 24_000]),
            (Count::Bytes, Some(10), [0, 500, 1200, 3000, 24_000], [0, 500, 1200, 3000, 12_000]),
            (Count::Packets, Some(2), [0, 1200, 1200, 3600, 24_000], [0, 1200, 1200, 2400, 2400]),
            (Count::Acks, None, [0, 500, 1200, 1200, 1200], [0, 500, 1200, 1200, 1200]),
        ] {
            let counting = Counting { count, limit, mds: MDS };
            assert_eq!(acks.map(|ack| counting.in_avoidance(&ack)), avoidance, "{count:?}");
            assert_eq!(acks.map(|ack| counting.in_slow_start(&ack)), slow_start, "{count:?}, {limit:?}");
        }
    }

    /// Three packets, one of them sent before the last reduction, while the application limits the
    /// sender.
    #[test]
    fn unused_window_counts_too() {
        let packet = |pn, before_reduction| crate::AckedPacket {
            before_reduction,
            ..crate::testing::fixtures::stamped(pn, units::Time::ZERO, 0)
        };
        let packets = [packet(1, true), packet(2, false), packet(3, false)];
        let ack = Ack { growth: 0, app_limited: true, packets: &packets, ..acked(3 * MDS) };
        for (count, counted) in [(Count::Bytes, 0), (Count::Always, 2 * MDS)] {
            assert_eq!(Counting { count, limit: None, mds: MDS }.in_avoidance(&ack), counted, "{count:?}");
        }
    }
}
