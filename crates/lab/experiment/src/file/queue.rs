//! The size of a bottleneck's queue, in the notation of the papers, and the same as a time.
//!
//! ```text
//! BDP            = rate * base RTT of the first flow
//! "n BDP"        -> n * BDP bytes
//! "t ms"         -> rate * t bytes
//! buffer in time = limit / rate                              limit-counts = "queue"
//!                = limit / rate - delay of the link          limit-counts = "queue+delay"
//! ```
//!
//! In the second case, packets in propagation count toward the limit too. A full link takes
//! `rate * delay` of it, and only the rest is available for queueing. A threshold such as
//! `"20 % of buffer"` refers to that usable part.

use std::fmt;
use std::str::FromStr;

use link::{Limit, LimitCounts};
use units::split_number;
use units::{Bytes, Duration, Rate};

/// The `queue` of a link, as written in a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Queue {
    /// `"4 BDP"`.
    Bdp(f64),
    /// `"100 ms"`: the bytes sent in this time at the link's rate.
    Time(Duration),
    /// `"62.5 kB"`, `"24 packets"`, `"unlimited"`.
    Limit(Limit),
}

units::serde_as_string!(Queue);

impl FromStr for Queue {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok((bdp, "BDP" | "bdp")) = split_number(text) {
            return Ok(Self::Bdp(bdp));
        }
        if let Ok(time) = text.parse() {
            return Ok(Self::Time(time));
        }
        text.parse().map(Self::Limit).map_err(|_| match split_number(text) {
            Ok((_, "")) => format!("`{text}` has no unit; {FORMS}"),
            Err(e) if e.contains("negative") => format!("{e}; {FORMS}"),
            _ => format!("`{text}` is not a queue size; {FORMS}"),
        })
    }
}

const FORMS: &str = r#"write "4 BDP", "62.5 kB", "24 packets", "100 ms" or "unlimited""#;

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bdp(bdp) => write!(f, "{bdp} BDP"),
            Self::Time(time) => time.fmt(f),
            Self::Limit(limit) => limit.fmt(f),
        }
    }
}

impl Queue {
    /// Converts the queue to a limit on this link.
    pub fn limit(self, rate: Rate, base_rtt: Duration) -> Limit {
        let bytes = |time: Duration| Limit::Bytes(Bytes(rate.bytes_in(time)));
        match self {
            Self::Bdp(bdp) => bytes(base_rtt.mul_f64(bdp)),
            Self::Time(time) => bytes(time),
            Self::Limit(limit) => limit,
        }
    }
}

/// Returns the limit in bytes, if there is one. `packet` is the size of a packet on the wire.
pub(crate) fn bytes(limit: Limit, packet: u32) -> Option<u64> {
    match limit {
        Limit::Bytes(Bytes(bytes)) => Some(bytes),
        Limit::Packets(packets) => Some(packets.saturating_mul(u64::from(packet))),
        Limit::Unlimited => None,
    }
}

/// Returns the usable buffer as a time, see the module documentation.
pub(crate) fn in_time(
    limit: Limit,
    counts: LimitCounts,
    rate: Rate,
    delay: Duration,
    packet: u32,
) -> Option<Duration> {
    // 128 bits, because a queue's bits times nanoseconds may exceed 64.
    let ns = u128::from(bytes(limit, packet)?) * 8_000_000_000 / u128::from(rate.0.max(1));
    let whole = Duration(u64::try_from(ns).unwrap_or(u64::MAX));
    Some(match counts {
        LimitCounts::Queue => whole,
        LimitCounts::QueueAndDelay => whole - delay,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate(10_000_000);
    const RTT: Duration = Duration::from_millis(50);

    fn limit(text: &str) -> Limit {
        text.parse::<Queue>().unwrap().limit(RATE, RTT)
    }

    /// The QUIC-DC testbed: 4 BDP of 10 Mbit/s and 50 ms are 250 000 bytes, or 200 ms.
    #[test]
    fn bandwidth_delay_products() {
        for (text, bytes) in
            [("4 BDP", 250_000), ("0.5 BDP", 31_250), ("100 ms", 125_000), ("62.5 kB", 62_500)]
        {
            assert_eq!(limit(text), Limit::Bytes(Bytes(bytes)), "{text}");
        }
        assert_eq!(limit("24 packets"), Limit::Packets(24));
        assert_eq!(limit("unlimited"), Limit::Unlimited);
    }

    #[test]
    fn in_time_what_is_left_to_queue_in() {
        let delay = Duration::from_millis(25);
        let time = |text, counts| in_time(limit(text), counts, RATE, delay, 1250);
        assert_eq!(time("4 BDP", LimitCounts::Queue), Some(Duration::from_millis(200)));
        assert_eq!(time("4 BDP", LimitCounts::QueueAndDelay), Some(Duration::from_millis(175)));
        assert_eq!(time("0.5 BDP", LimitCounts::QueueAndDelay), Some(Duration::ZERO));
        assert_eq!(time("24 packets", LimitCounts::Queue), Some(Duration::from_millis(24)));
        assert_eq!(time("unlimited", LimitCounts::Queue), None);
    }

    #[test]
    fn writes_what_it_reads_and_says_what_is_right() {
        for text in ["4 BDP", "62.5 kB", "24 packets", "100 ms", "unlimited"] {
            assert_eq!(text.parse::<Queue>().unwrap().to_string(), text);
        }
        for (text, wrong) in [("4", "has no unit"), ("-1 BDP", "negative"), ("4 PDB", "not a queue size")] {
            let error = text.parse::<Queue>().unwrap_err();
            assert!(error.contains(wrong) && error.contains("24 packets"), "{error}");
        }
    }
}
