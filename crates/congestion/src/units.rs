//! Strings with units outside, types inside: `"25 ms"`, `"10 Mbit/s"`, `"100 MB"`.
//!
//! Decimal prefixes are powers of ten (RFC and paper usage: 1 Mbit/s = 10^6 bit/s); `KiB`, `MiB` are powers of two.
//! No units crate fits: the words here are those of the papers, and a value without unit must be an error.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::time::Duration;

/// Bits per second. In files: `"10 Mbit/s"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

/// A number of bytes. In files: `"100 MB"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl Rate {
    /// From bytes per second; NaN and negative become zero, too large saturates.
    pub fn from_bytes_per_sec(bytes: f64) -> Self {
        Self((bytes * 8.0 + 0.5) as u64)
    }
    /// From bytes sent in a span; zero for an empty span.
    pub fn from_delivery(bytes: u64, span: Duration) -> Self {
        if span == Duration::ZERO {
            Self(0)
        } else {
            Self::from_bytes_per_sec(bytes as f64 / span.as_secs_f64())
        }
    }
    /// Bytes per second.
    pub fn bytes_per_sec(self) -> f64 {
        self.0 as f64 / 8.0
    }
    /// Megabits (10^6 bits) per second.
    pub fn mbit_s(self) -> f64 {
        self.0 as f64 * 1e-6
    }
    /// How long these bytes take at this rate, rounded to the nanosecond; [`Duration::MAX`] at rate zero.
    pub fn time_for(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        match bytes.checked_mul(8_000_000_000) {
            Some(n) => Duration(n.saturating_add(self.0 / 2) / self.0),
            None => Duration(
                u64::try_from(u128::from(bytes) * 8_000_000_000 / u128::from(self.0)).unwrap_or(u64::MAX),
            ),
        }
    }
    /// Bytes that pass in a span at this rate, rounded down.
    pub fn bytes_in(self, span: Duration) -> u64 {
        u64::try_from(u128::from(self.0) * u128::from(span.0) / 8_000_000_000).unwrap_or(u64::MAX)
    }
}

/// Splits `"12.5 ms"` into number and unit. The number is finite and not negative.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn split_number(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|&(i, c)| !(c.is_ascii_digit() || c == '.' || (i == 0 && (c == '+' || c == '-'))))
        .map_or(text.len(), |(i, _)| i);
    let (number, unit) = text.split_at(end);
    let value: f64 = number.parse().map_err(|_| format!("`{text}` does not begin with a number"))?;
    if value < 0.0 {
        return Err(format!("`{text}` is negative"));
    }
    Ok((value, unit.trim()))
}

fn parse(text: &str, what: &str, units: &[(&str, f64)]) -> Result<f64, String> {
    let known = || units.iter().map(|u| u.0).collect::<Vec<_>>().join(", ");
    let (value, unit) =
        split_number(text).map_err(|e| format!("{e}; {what} is a number and a unit, one of {}", known()))?;
    if unit.is_empty() {
        return Err(format!("`{text}` has no unit; {what} needs one of {}", known()));
    }
    let factor = units.iter().find(|u| u.0 == unit).map(|u| u.1);
    factor.map(|f| value * f).ok_or_else(|| format!("`{unit}` is not a unit of {what}; known: {}", known()))
}

const DURATIONS: &[(&str, f64)] =
    &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 6e10)];
const RATES: &[(&str, f64)] = &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)];
const SIZES: &[(&str, f64)] = &[
    ("bytes", 1.0),
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];

impl std::str::FromStr for Duration {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        parse(text, "a duration", DURATIONS).map(|ns| Self((ns + 0.5) as u64))
    }
}

impl std::str::FromStr for Rate {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        parse(text, "a rate", RATES).map(|bits| Self((bits + 0.5) as u64))
    }
}

impl std::str::FromStr for Bytes {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        parse(text, "a size", SIZES).map(|bytes| Self((bytes + 0.5) as u64))
    }
}

/// The largest unit that leaves a number of at least one, and shortest digits: `25 ms`, `1.5 Mbit/s`.
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

/// Serde through `FromStr` and `Display`, for every type written as a string.
#[macro_export]
macro_rules! serde_as_string {
    ($($type:ty),*) => {$(
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = $crate::units::text(d)?;
                text.parse().map_err(::serde::de::Error::custom)
            }
        }
    )*};
}

/// A string; a bare number is refused with the sentence that a unit is missing.
///
/// # Errors
/// What the deserializer says.
pub fn text<'de, D: Deserializer<'de>>(d: D) -> Result<String, D::Error> {
    struct Text;
    impl de::Visitor<'_> for Text {
        type Value = String;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string with a number and a unit, like \"25 ms\", \"10 Mbit/s\", \"100 MB\"")
        }
        fn visit_str<E: de::Error>(self, s: &str) -> Result<String, E> {
            Ok(s.to_owned())
        }
    }
    d.deserialize_any(Text)
}

mod as_string {
    use super::{Bytes, Duration, Rate};
    serde_as_string!(Duration, Rate, Bytes);
}

/// Serializes a value that may be absent as the word `off`.
///
/// # Errors
/// What the serializer says.
pub fn serialize_or_off<S: Serializer, T: Serialize>(value: &Option<T>, s: S) -> Result<S::Ok, S::Error> {
    serialize_or("off", value, s)
}

/// Reads a value, or the word `off` as `None`.
///
/// # Errors
/// What the value's own reader says.
pub fn deserialize_or_off<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    d: D,
) -> Result<Option<T>, D::Error> {
    deserialize_or("off", d)
}

/// Serializes a value that its document sets as the word `auto`.
///
/// # Errors
/// What the serializer says.
pub fn serialize_or_auto<S: Serializer, T: Serialize>(value: &Option<T>, s: S) -> Result<S::Ok, S::Error> {
    serialize_or("auto", value, s)
}

/// Reads a value, or the word `auto` as `None`.
///
/// # Errors
/// What the value's own reader says.
pub fn deserialize_or_auto<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    d: D,
) -> Result<Option<T>, D::Error> {
    deserialize_or("auto", d)
}

fn serialize_or<S: Serializer, T: Serialize>(word: &str, value: &Option<T>, s: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(v) => v.serialize(s),
        None => s.serialize_str(word),
    }
}

fn deserialize_or<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    word: &str,
    d: D,
) -> Result<Option<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Or<T> {
        Value(T),
        Word(String),
    }
    match Or::deserialize(d)? {
        Or::Value(v) => Ok(Some(v)),
        Or::Word(w) if w == word => Ok(None),
        Or::Word(w) => Err(de::Error::custom(format!("`{w}` is neither a value nor \"{word}\""))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_units() {
        assert_eq!("25 ms".parse(), Ok(Duration::from_millis(25)));
        assert_eq!("0.5s".parse(), Ok(Duration::from_millis(500)));
        assert_eq!("10 Mbit/s".parse(), Ok(Rate(10_000_000)));
        assert_eq!("100 MB".parse(), Ok(Bytes(100_000_000)));
    }

    #[test]
    fn refuses_in_words() {
        assert!("25".parse::<Duration>().unwrap_err().contains("has no unit"));
        assert!("-3 Mbit/s".parse::<Rate>().unwrap_err().contains("negative"));
        assert!("3 Mb".parse::<Rate>().unwrap_err().contains("Mbit/s"));
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

    #[test]
    fn transmission_time() {
        assert_eq!(Rate(10_000_000).time_for(1500), Duration::from_micros(1200));
        assert_eq!(Rate(0).time_for(1), Duration::MAX);
        assert_eq!(Rate(10_000_000).bytes_in(Duration::from_millis(50)), 62_500);
    }
}
