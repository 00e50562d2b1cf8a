//! Parsing and formatting of values with units: `"25 ms"`, `"10 Mbit/s"`, `"100 MB"`.
//!
//! Decimal prefixes are powers of ten, as in RFCs and papers (1 Mbit/s = 10^6 bit/s). `KiB` and
//! `MiB` are powers of two.
//! No existing crate fits: the unit names are those of the papers, and a value without a unit must
//! be an error.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::{Bytes, Duration, Rate};

/// Splits `"12.5 ms"` or `"1e-3 %"` into a number and a unit. The number is finite and not
/// negative.
///
/// # Errors
/// Returns a message if the text does not start with a number, and if the number is negative or too
/// large.
pub fn split_number(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|&(i, c)| !(c.is_ascii_digit() || c == '.' || (i == 0 && (c == '+' || c == '-'))))
        .map_or(text.len(), |(i, _)| i);
    let (number, unit) = text.split_at(end + exponent_len(&text[end..]));
    let value: f64 = number.parse().map_err(|_| format!("`{text}` does not begin with a number"))?;
    if value < 0.0 {
        return Err(format!("`{text}` is negative"));
    }
    if value.is_infinite() {
        return Err(format!("`{text}` is too large"));
    }
    Ok((value, unit.trim()))
}

/// Returns the length of an exponent, `e-3`, at the start of a text.
fn exponent_len(text: &str) -> usize {
    let Some(power) = text.strip_prefix(['e', 'E']) else { return 0 };
    let digits = power.strip_prefix(['+', '-']).unwrap_or(power);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    if count == 0 { 0 } else { text.len() - digits.len() + count }
}

/// Parses a number with one of these units. Units in `aliases` are accepted, but error messages do
/// not list them.
fn parse(text: &str, what: &str, units: &[(&str, f64)], aliases: &[(&str, f64)]) -> Result<f64, String> {
    let known = || units.iter().map(|u| u.0).collect::<Vec<_>>().join(", ");
    let (value, unit) =
        split_number(text).map_err(|e| format!("{e}; {what} is a number and a unit, one of {}", known()))?;
    if unit.is_empty() {
        return Err(format!("`{text}` has no unit; {what} needs one of {}", known()));
    }
    let factor = units.iter().chain(aliases).find(|u| u.0 == unit).map(|u| u.1);
    factor.map(|f| value * f).ok_or_else(|| format!("`{unit}` is not a unit of {what}; known: {}", known()))
}

pub(crate) const DURATIONS: &[(&str, f64)] =
    &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 6e10)];
pub(crate) const RATES: &[(&str, f64)] = &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)];
/// Notations of other tools, like `mbit` of tc. A byte has eight bits. tc's `mbps` is missing on
/// purpose: there it means megabytes per second.
pub(crate) const RATE_ALIASES: &[(&str, f64)] = &[
    ("bps", 1.0),
    ("kbps", 1e3),
    ("Mbps", 1e6),
    ("Gbps", 1e9),
    ("bit", 1.0),
    ("kbit", 1e3),
    ("mbit", 1e6),
    ("gbit", 1e9),
    ("Kbit", 1e3),
    ("Mbit", 1e6),
    ("Gbit", 1e9),
    ("kB/s", 8e3),
    ("MB/s", 8e6),
    ("GB/s", 8e9),
];
pub(crate) const SIZES: &[(&str, f64)] = &[
    ("bytes", 1.0),
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];
/// The singular, and sizes of disks, not of queues and transfers.
pub(crate) const MORE_SIZES: &[(&str, f64)] = &[("byte", 1.0), ("TB", 1e12), ("TiB", 1_099_511_627_776.0)];

impl FromStr for Duration {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        parse(text, "a duration", DURATIONS, &[]).map(|ns| Self((ns + 0.5) as u64))
    }
}

impl FromStr for Rate {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        parse(text, "a rate", RATES, RATE_ALIASES).map(|bits| Self((bits + 0.5) as u64))
    }
}

impl FromStr for Bytes {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        parse(text, "a size", SIZES, MORE_SIZES).map(|bytes| Self((bytes + 0.5) as u64))
    }
}

/// Writes the value in the largest unit that leaves at least 1, with as few digits as possible:
/// `25 ms`, `1.5 Mbit/s`.
fn write(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let &(unit, factor) = units.iter().rev().find(|u| value >= u.1).unwrap_or(&units[0]);
    write!(f, "{} {unit}", value as f64 / factor as f64)
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self.0, &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)])
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self.0, &[("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)])
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self.0, &[("bytes", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)])
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn reads_units() {
        assert_eq!("25 ms".parse(), Ok(Duration::from_millis(25)));
        assert_eq!("0.5s".parse(), Ok(Duration::from_millis(500)));
        assert_eq!("10 Mbit/s".parse(), Ok(Rate(10_000_000)));
        assert_eq!("100 MB".parse(), Ok(Bytes(100_000_000)));
        assert_eq!(["1 byte", "1 bytes"].map(str::parse), [Ok(Bytes(1)), Ok(Bytes(1))]);
        assert_eq!("1TB".parse(), Ok(Bytes(1_000_000_000_000)));
        assert_eq!("0.5 TiB".parse(), Ok(Bytes(1 << 39)));
        for text in
            ["10 Mbps", "1.25 MB/s", "10000kbps", "10mbit", "10 Mbit", "10000kbit", "0.01gbit", "10000000bit"]
        {
            assert_eq!(text.parse(), Ok(Rate(10_000_000)), "{text}");
        }
        assert_eq!("1gbit".parse(), Ok(Rate(1_000_000_000)));
        assert_eq!("20mbit".parse::<Rate>().unwrap().to_string(), "20 Mbit/s");
        assert_eq!("1e3 kbit/s".parse(), Ok(Rate(1_000_000)));
        assert_eq!("2.5E-3s".parse(), Ok(Duration::from_micros(2500)));
        assert_eq!("1e+3B".parse(), Ok(Bytes(1000)));
        assert_eq!(split_number("1e-6 %"), Ok((1e-6, "%")));
        assert!("10 mbps".parse::<Rate>().is_err(), "megabytes in tc, megabits elsewhere");
    }

    #[test]
    fn refuses_in_words() {
        assert!("25".parse::<Duration>().unwrap_err().contains("has no unit"));
        assert!("-3 Mbit/s".parse::<Rate>().unwrap_err().contains("negative"));
        assert!("3 Mb".parse::<Rate>().unwrap_err().contains("Mbit/s"));
        assert!("1e400 bit/s".parse::<Rate>().unwrap_err().contains("too large"));
        assert_eq!(split_number("1 e"), Ok((1.0, "e")), "an exponent has digits");
        assert_eq!(split_number("1e-"), Ok((1.0, "e-")));
        assert!("fast".parse::<Rate>().unwrap_err().contains("number"));
    }

    #[test]
    fn writes_what_it_reads() {
        for text in ["25 ms", "1.5 s", "200 us"] {
            assert_eq!(text.parse::<Duration>().unwrap().to_string(), text);
        }
        assert_eq!("10 Mbit/s".parse::<Rate>().unwrap().to_string(), "10 Mbit/s");
        assert_eq!("62500 bytes".parse::<Bytes>().unwrap().to_string(), "62.5 kB");
    }
}
