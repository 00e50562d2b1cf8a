//! Serde for values written as strings, such as `"25 ms"`, or as the words `"off"` and `"auto"`.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Bytes, Duration, Percent, Rate};

/// Deserializes a string. For a bare number, the error says that the unit is missing.
///
/// # Errors
/// Returns the deserializer's error.
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

/// Serde for optional values that are written as the word `off` when absent:
/// `#[serde(with = "ackclock_units::or_off")]`.
pub mod or_off {
    use super::{Deserialize, Deserializer, Serialize, Serializer};

    /// Serializes the value, or the word `off` for `None`.
    ///
    /// # Errors
    /// Returns the serializer's error.
    pub fn serialize<S: Serializer, T: Serialize>(value: &Option<T>, s: S) -> Result<S::Ok, S::Error> {
        super::serialize_or("off", value, s)
    }

    /// Deserializes a value, or the word `off` as `None`.
    ///
    /// # Errors
    /// Returns an error for any other word, and for a value that does not parse.
    pub fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>>(d: D) -> Result<Option<T>, D::Error> {
        super::deserialize_or("off", d)
    }
}

/// Serde for optional values with a computed default, written as the word `auto`:
/// `#[serde(with = "ackclock_units::or_auto")]`.
pub mod or_auto {
    use super::{Deserialize, Deserializer, Serialize, Serializer};

    /// Serializes the value, or the word `auto` for `None`.
    ///
    /// # Errors
    /// Returns the serializer's error.
    pub fn serialize<S: Serializer, T: Serialize>(value: &Option<T>, s: S) -> Result<S::Ok, S::Error> {
        super::serialize_or("auto", value, s)
    }

    /// Deserializes a value, or the word `auto` as `None`.
    ///
    /// # Errors
    /// Returns an error for any other word, and for a value that does not parse.
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
    let neither = |_| de::Error::custom(format!("expected a value of the right type or \"{word}\""));
    match Or::deserialize(d).map_err(neither)? {
        Or::Value(v) => Ok(Some(v)),
        Or::Word(w) if w == word => Ok(None),
        Or::Word(w) => Err(de::Error::custom(format!("expected a value or \"{word}\", found `{w}`"))),
    }
}
