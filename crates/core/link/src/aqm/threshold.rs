//! A queue threshold: bytes, packets, or a part of the limit.

use std::fmt;
use std::str::FromStr;

use units::Bytes;
use units::split_number;

use crate::backlog::Count;
use crate::limit::Limit;

/// Queue threshold. In files: `"62.5 kB"`, `"15 packets"`, or `"50 %"` of the link's limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// Bytes on the wire.
    Bytes(Bytes),
    /// Packets of any size.
    Packets(u64),
    /// Part of the limit, 0 to 1, in the limit's own unit.
    OfLimit(f64),
}

/// Unit of a threshold and of the backlog compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Packets,
}

impl Unit {
    /// Returns a backlog in this unit.
    #[inline]
    pub(crate) fn measure(self, held: Count) -> f64 {
        match self {
            Self::Bytes => held.bytes as f64,
            Self::Packets => held.packets as f64,
        }
    }
}

impl Threshold {
    /// Returns unit and value, or `None` for a part of an unlimited queue.
    pub(crate) fn within(self, limit: Limit) -> Option<(Unit, f64)> {
        match (self, limit) {
            (Self::Bytes(Bytes(bytes)), _) => Some((Unit::Bytes, bytes as f64)),
            (Self::Packets(packets), _) => Some((Unit::Packets, packets as f64)),
            (Self::OfLimit(part), Limit::Bytes(Bytes(bytes))) => Some((Unit::Bytes, part * bytes as f64)),
            (Self::OfLimit(part), Limit::Packets(packets)) => Some((Unit::Packets, part * packets as f64)),
            (Self::OfLimit(_), Limit::Unlimited) => None,
        }
    }
}

impl FromStr for Threshold {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match split_number(text) {
            Ok((percent, "%")) if percent <= 100.0 => Ok(Self::OfLimit(percent / 100.0)),
            Ok((_, "%")) => Err(format!("`{text}` exceeds the limit; at most \"100 %\"")),
            _ => match text.parse() {
                Ok(Limit::Bytes(bytes)) => Ok(Self::Bytes(bytes)),
                Ok(Limit::Packets(packets)) => Ok(Self::Packets(packets)),
                Ok(Limit::Unlimited) => Err("a threshold cannot be \"unlimited\"".to_owned()),
                Err(_) => Err(format!(
                    "`{text}` is not a threshold; write, for example, \"15 packets\", \"20 kB\" or \"50 %\""
                )),
            },
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Packets(packets) => write!(f, "{packets} packets"),
            Self::OfLimit(part) => write!(f, "{} %", part * 100.0),
        }
    }
}

mod as_string {
    units::serde_as_string!(super::Threshold);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_words() {
        for text in ["15 packets", "62.5 kB", "50 %"] {
            assert_eq!(text.parse::<Threshold>().unwrap().to_string(), text);
        }
        for text in ["150 %", "15", "unlimited", "half"] {
            assert!(text.parse::<Threshold>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_part_takes_the_limits_unit() {
        let half = Threshold::OfLimit(0.5);
        assert_eq!(half.within(Limit::Packets(25)), Some((Unit::Packets, 12.5)));
        assert_eq!(half.within(Limit::Bytes(Bytes(125_000))), Some((Unit::Bytes, 62_500.0)));
        assert_eq!(half.within(Limit::Unlimited), None);
        assert_eq!(Threshold::Packets(5).within(Limit::Unlimited), Some((Unit::Packets, 5.0)));
    }
}
