//! Parameters of an algorithm that is known at run time only, such as one of another language.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::{ParamDoc, Range};

/// A parameter of an algorithm that is known at run time only.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Name in `snake_case`. The key in an experiment file has dashes in place of underscores.
    pub name: String,
    /// Meaning, unit and source.
    pub doc: String,
    /// Range of allowed numbers; `None` for all.
    pub range: Option<Range>,
    /// Default, which also decides the type.
    pub default: Value,
}

impl Parameter {
    /// Describes the parameter. The texts are never freed.
    pub(crate) fn described(&self) -> ParamDoc {
        ParamDoc {
            name: Box::leak(self.name.clone().into()),
            doc: Box::leak(self.doc.clone().into()),
            kind: self.default.kind(),
            range: Some(self.range.unwrap_or(Range::above(f64::NEG_INFINITY))),
            keys: &[],
        }
    }
}

/// Value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number. In a file it may also be a whole one.
    Number(f64),
    /// A whole number.
    Whole(i64),
    /// Yes or no.
    Flag(bool),
    /// A word.
    Text(String),
}

impl Value {
    fn kind(&self) -> &'static str {
        match self {
            Self::Number(_) => "f64",
            Self::Whole(_) => "i64",
            Self::Flag(_) => "bool",
            Self::Text(_) => "String",
        }
    }
}

/// The values of all parameters of an algorithm, in order, with their keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Values {
    keys: &'static [&'static str],
    pub(crate) values: Vec<Value>,
}

impl Values {
    /// Creates the defaults. The keys are never freed.
    pub(crate) fn new(parameters: &[Parameter]) -> Self {
        let key = |parameter: &Parameter| &*Box::leak(parameter.name.replace('_', "-").into_boxed_str());
        let values = parameters.iter().map(|parameter| parameter.default.clone()).collect();
        Self { keys: Vec::leak(parameters.iter().map(key).collect()), values }
    }
}

/// Reading and writing in any serde format.
#[cfg(feature = "serde")]
mod serialized {
    use core::fmt;

    use alloc::borrow::ToOwned;
    use alloc::string::String;
    use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
    use serde::ser::{Serialize, Serializer};

    use super::{Value, Values};

    impl Serialize for Value {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            match self {
                Self::Number(value) => value.serialize(to),
                Self::Whole(value) => value.serialize(to),
                Self::Flag(value) => value.serialize(to),
                Self::Text(value) => value.serialize(to),
            }
        }
    }

    /// Reads a value of the same type.
    struct Like<'v>(&'v Value);

    impl<'de> DeserializeSeed<'de> for Like<'_> {
        type Value = Value;
        fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
            from.deserialize_any(self)
        }
    }

    impl Visitor<'_> for Like<'_> {
        type Value = Value;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(match self.0 {
                Value::Number(_) => "a number",
                Value::Whole(_) => "a whole number",
                Value::Flag(_) => "true or false",
                Value::Text(_) => "a text",
            })
        }
        fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
            match self.0 {
                Value::Number(_) => Ok(Value::Number(value)),
                _ => Err(E::invalid_type(serde::de::Unexpected::Float(value), &self)),
            }
        }
        fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
            match self.0 {
                Value::Number(_) => Ok(Value::Number(value as f64)),
                Value::Whole(_) => Ok(Value::Whole(value)),
                _ => Err(E::invalid_type(serde::de::Unexpected::Signed(value), &self)),
            }
        }
        fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
            match i64::try_from(value) {
                Ok(value) => self.visit_i64(value),
                Err(_) => Err(E::invalid_value(serde::de::Unexpected::Unsigned(value), &self)),
            }
        }
        fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
            match self.0 {
                Value::Flag(_) => Ok(Value::Flag(value)),
                _ => Err(E::invalid_type(serde::de::Unexpected::Bool(value), &self)),
            }
        }
        fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
            match self.0 {
                Value::Text(_) => Ok(Value::Text(value.to_owned())),
                _ => Err(E::invalid_type(serde::de::Unexpected::Str(value), &self)),
            }
        }
    }

    impl Serialize for Values {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.collect_map(self.keys.iter().zip(&self.values))
        }
    }

    /// Reads values by their keys. Missing ones stay as they are.
    impl<'de> DeserializeSeed<'de> for Values {
        type Value = Self;
        fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self, D::Error> {
            from.deserialize_map(self)
        }
    }

    impl<'de> Visitor<'de> for Values {
        type Value = Self;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table of parameters")
        }
        fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
            while let Some(key) = map.next_key::<String>()? {
                let at = self.keys.iter().position(|known| **known == key);
                let at = at.ok_or_else(|| Error::unknown_field(&key, self.keys))?;
                self.values[at] = map.next_value_seed(Like(&self.values[at]))?;
            }
            Ok(self)
        }
    }
}
