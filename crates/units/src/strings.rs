//! Serde for values that files write as strings: `"25 ms"`, or the words `"off"` and `"auto"`.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Bytes, Duration, Percent, Rate};

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

crate::serde_through_text!(Duration, Rate, Bytes, Percent);

/// A value that may be absent, as the word `off`: `#[serde(with = "ackclock_units::or_off")]`.
pub mod or_off {
    use super::{Deserialize, Deserializer, Serialize, Serializer};

    /// The value, or `off`.
    ///
    /// # Errors
    /// What the serializer says.
    pub fn serialize<S: Serializer, T: Serialize>(value: &Option<T>, s: S) -> Result<S::Ok, S::Error> {
        super::serialize_or("off", value, s)
    }

    /// Reads a value, or the word `off` as `None`.
    ///
    /// # Errors
    /// What the value's own reader says.
    pub fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>>(d: D) -> Result<Option<T>, D::Error> {
        super::deserialize_or("off", d)
    }
}

/// A value that its document sets, as the word `auto`: `#[serde(with = "ackclock_units::or_auto")]`.
pub mod or_auto {
    use super::{Deserialize, Deserializer, Serialize, Serializer};

    /// The value, or `auto`.
    ///
    /// # Errors
    /// What the serializer says.
    pub fn serialize<S: Serializer, T: Serialize>(value: &Option<T>, s: S) -> Result<S::Ok, S::Error> {
        super::serialize_or("auto", value, s)
    }

    /// Reads a value, or the word `auto` as `None`.
    ///
    /// # Errors
    /// What the value's own reader says.
    pub fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>>(d: D) -> Result<Option<T>, D::Error> {
        super::deserialize_or("auto", d)
    }
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
    let neither = |_| de::Error::custom(format!("neither a value of its kind nor \"{word}\""));
    match Or::deserialize(d).map_err(neither)? {
        Or::Value(v) => Ok(Some(v)),
        Or::Word(w) if w == word => Ok(None),
        Or::Word(w) => Err(de::Error::custom(format!("`{w}` is neither a value nor \"{word}\""))),
    }
}
