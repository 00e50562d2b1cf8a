//! Values of a log in all forms that loggers write: numbers as numbers or text, ranges as arrays,
//! objects or text.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Number, text or flag. Anything else counts as missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Value<'a> {
    #[default]
    None,
    Whole(u64),
    Real(f64),
    Flag(bool),
    Text(Cow<'a, str>),
}

impl Value<'_> {
    /// Returns a whole number. Fractions are cut.
    pub(super) fn whole(&self) -> Option<u64> {
        match self {
            Self::Whole(number) => Some(*number),
            Self::Real(number) if *number >= 0.0 && *number < 18_446_744_073_709_551_616.0 => {
                Some(*number as u64)
            }
            Self::Flag(flag) => Some(u64::from(*flag)),
            Self::Text(text) => text.trim().parse().ok().or_else(|| {
                let hex = text.trim().strip_prefix("0x")?;
                u64::from_str_radix(hex, 16).ok()
            }),
            _ => None,
        }
    }

    /// Returns a finite number.
    pub(super) fn real(&self) -> Option<f64> {
        let number = match self {
            Self::Whole(number) => *number as f64,
            Self::Real(number) => *number,
            Self::Flag(flag) => f64::from(u8::from(*flag)),
            Self::Text(text) => text.trim().parse().ok()?,
            Self::None => return None,
        };
        number.is_finite().then_some(number)
    }

    pub(super) fn flag(&self) -> bool {
        match self {
            Self::Text(text) => text == "true" || text == "1",
            other => other.whole().is_some_and(|number| number > 0),
        }
    }

    /// Returns a text that is not empty.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    pub(super) fn is(&self, word: &str) -> bool {
        self.text().is_some_and(|text| text.eq_ignore_ascii_case(word))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Value<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Value::Flag(flag))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Value::Whole(number))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Value::Real(number as f64))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Value::Real(number))
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Value::None)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::None)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::None)
    }
}

/// Range of packet numbers: `[1, 2]`, `[1]`, `1`, `"1-2"`, or an object with two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range(u64, u64);

impl Range {
    fn new(numbers: [Option<u64>; 2]) -> Option<Self> {
        match numbers {
            [Some(a), Some(b)] => Some(Self(a.min(b), a.max(b))),
            [Some(a), None] | [None, Some(a)] => Some(Self(a, a)),
            _ => None,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.splitn(2, ['-', '.', ' ']);
        let mut number = || numbers.next().and_then(|word| word.trim_matches(['.', ' ']).parse().ok());
        Self::new([number(), number()])
    }
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyRange)
    }
}

struct AnyRange;

impl<'de> Visitor<'de> for AnyRange {
    type Value = Range;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a range of packet numbers")
    }
    fn visit_u64<E>(self, number: u64) -> Result<Range, E> {
        Ok(Range(number, number))
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Range, E> {
        Range::parse(text).ok_or_else(|| E::custom("expected a range such as \"3-5\""))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Range, A::Error> {
        let mut number = || Ok(seq.next_element::<Value<'_>>()?.and_then(|value| value.whole()));
        let numbers = [number()?, number()?];
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Range::new(numbers).ok_or_else(|| A::Error::custom("expected a range such as [3, 5]"))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Range, A::Error> {
        let mut numbers = [None; 2];
        while let Some((_, value)) = map.next_entry::<IgnoredAny, Value<'_>>()? {
            if let Some(free) = numbers.iter_mut().find(|number| number.is_none()) {
                *free = value.whole();
            }
        }
        Range::new(numbers).ok_or_else(|| A::Error::custom("expected a range with two numbers"))
    }
}

/// Ranges of packet numbers: ascending, with a gap between each two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges(pub(super) Vec<(u64, u64)>);

impl Ranges {
    fn new(mut ranges: Vec<(u64, u64)>) -> Self {
        if ranges.windows(2).any(|pair| matches!(pair, [a, b] if a.1.saturating_add(1) >= b.0)) {
            ranges.sort_unstable();
            ranges.dedup_by(|next, last| {
                let is_joined = next.0 <= last.1.saturating_add(1);
                if is_joined {
                    last.1 = last.1.max(next.1);
                }
                is_joined
            });
        }
        Self(ranges)
    }
}

impl<'de> Deserialize<'de> for Ranges {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyRanges)
    }
}

struct AnyRanges;

impl<'de> Visitor<'de> for AnyRanges {
    type Value = Ranges;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ranges of packet numbers")
    }
    fn visit_unit<E>(self) -> Result<Ranges, E> {
        Ok(Ranges::default())
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Ranges, E> {
        let words = text.split([',', ';']).filter(|word| !word.trim().is_empty());
        let ranges: Option<Vec<_>> =
            words.map(|word| Range::parse(word.trim()).map(|r| (r.0, r.1))).collect();
        ranges.map(Ranges::new).ok_or_else(|| E::custom("expected ranges such as \"3-5,7\""))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Ranges, A::Error> {
        let mut ranges = Vec::new();
        while let Some(Range(from, to)) = seq.next_element()? {
            ranges.push((from, to));
        }
        Ok(Ranges::new(ranges))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_all_forms() {
        let value = |text| serde_json::from_str::<Value<'_>>(text).unwrap();
        for (text, whole, real) in [
            ("12", Some(12), Some(12.0)),
            ("\"12\"", Some(12), Some(12.0)),
            ("12.5", Some(12), Some(12.5)),
            ("\"12.5\"", None, Some(12.5)),
            ("\"0x1f\"", Some(31), None),
            ("-1", None, Some(-1.0)),
            ("18446744073709551615", Some(u64::MAX), Some(u64::MAX as f64)),
            ("1e300", None, Some(1e300)),
            ("\"inf\"", None, None),
            ("null", None, None),
            ("{\"a\":[1]}", None, None),
        ] {
            assert_eq!((value(text).whole(), value(text).real()), (whole, real), "{text}");
        }
        assert!(
            value("true").flag() && value("1").flag() && value("\"true\"").flag() && !value("null").flag()
        );
    }

    #[test]
    fn ranges_in_all_forms() {
        let ranges = |text: &str| serde_json::from_str::<Ranges>(text).map(|ranges| ranges.0).ok();
        for (text, expected) in [
            ("[[1,2],[4,5],[7]]", vec![(1, 2), (4, 5), (7, 7)]),
            ("[[\"4\",\"5\"],[\"1\",\"2\"]]", vec![(1, 2), (4, 5)]),
            ("[{\"first\":1,\"last\":3},{\"last\":9,\"first\":8}]", vec![(1, 3), (8, 9)]),
            ("[\"1-3\",\"7\", 9]", vec![(1, 3), (7, 7), (9, 9)]),
            ("\"1-3,7\"", vec![(1, 3), (7, 7)]),
            ("[[5,3],[1,9],[10,11]]", vec![(1, 11)]),
            ("[[0,18446744073709551615],[3]]", vec![(0, u64::MAX)]),
            ("null", vec![]),
        ] {
            assert_eq!(ranges(text), Some(expected), "{text}");
        }
        for text in ["[[]]", "[\"a\"]", "[{}]", "\"x\"", "[[-1]]"] {
            assert_eq!(ranges(text), None, "{text}");
        }
    }
}
