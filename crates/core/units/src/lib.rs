#![warn(missing_docs)]
#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;

mod bytes;
mod ecn;
mod percent;
mod rate;
mod rng;
#[cfg(feature = "schema")]
mod schema;
#[cfg(feature = "serde")]
mod strings;
mod text;
mod time;

pub use bytes::Bytes;
pub use ecn::Ecn;
pub use percent::Percent;
pub use rate::Rate;
pub use rng::Rng;
#[cfg(feature = "schema")]
pub use schema::{OrAuto, OrOff};
#[cfg(feature = "schema")]
#[doc(hidden)]
pub use schemars;
/// Name of a schema.
#[cfg(feature = "schema")]
#[doc(hidden)]
pub type Name = alloc::borrow::Cow<'static, str>;
#[cfg(feature = "serde")]
#[doc(hidden)]
pub use serde;
#[cfg(feature = "serde")]
pub use strings::{or_auto, or_off, text};
pub use text::split_number;
pub use time::{Duration, Time};

/// Implements serde's traits through `FromStr` and `Display`. Expands to nothing without the
/// feature `serde`.
#[cfg(feature = "serde")]
#[macro_export]
macro_rules! serde_as_string {
    ($($type:ty),*) => {$(
        $crate::serde_through_text!($type);
        $crate::json_schema!($type, { "type": "string" });
    )*};
}

/// Like [`serde_as_string`], for types that implement `JsonSchema` themselves.
#[cfg(feature = "serde")]
#[doc(hidden)]
#[macro_export]
macro_rules! serde_through_text {
    ($($type:ty),*) => {$(
        impl $crate::serde::Serialize for $type {
            fn serialize<S: $crate::serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> $crate::serde::Deserialize<'de> for $type {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = $crate::text(d)?;
                text.parse().map_err($crate::serde::de::Error::custom)
            }
        }
    )*};
}

/// Implements serde's traits through `FromStr` and `Display`. Expands to nothing without the
/// feature `serde`.
#[cfg(not(feature = "serde"))]
#[macro_export]
macro_rules! serde_as_string {
    ($($type:ty),*) => {};
}

/// Implements `JsonSchema` for a type with its own notation in files:
/// `json_schema!(AckEvery, { "type": "integer" })`.
///
/// Expands to nothing without the feature `schema`.
#[cfg(feature = "schema")]
#[macro_export]
macro_rules! json_schema {
    ($type:ty, $json:tt) => {
        impl $crate::schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> $crate::Name {
                stringify!($type).into()
            }
            fn json_schema(_: &mut $crate::schemars::SchemaGenerator) -> $crate::schemars::Schema {
                $crate::schemars::json_schema!($json)
            }
        }
    };
}

/// Implements `JsonSchema` for a type with its own notation in files. Expands to nothing without
/// the feature `schema`.
#[cfg(not(feature = "schema"))]
#[macro_export]
macro_rules! json_schema {
    ($type:ty, $json:tt) => {};
}
