//! JSON Schemas of values with units, and of values that can be a word instead.
//!
//! The words are those that [`or_off`](crate::or_off) and [`or_auto`](crate::or_auto) read.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::text::{DURATIONS, MORE_SIZES, RATE_ALIASES, RATES, SIZES};
use crate::{Bytes, Duration, Percent, Rate};

/// Returns a pattern for a number followed by one of these units. The parsers check more than a
/// schema can, with better messages.
fn pattern(units: impl Iterator<Item = &'static str>) -> String {
    let units = units.collect::<Vec<_>>().join("|");
    format!(r"^\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*({units})\s*$")
}

macro_rules! with_units {
    ($($type:ty: $units:expr;)*) => {$(
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": pattern($units) })
            }
        }
    )*};
}

with_units! {
    Duration: DURATIONS.iter().map(|unit| unit.0);
    Rate: RATES.iter().chain(RATE_ALIASES).map(|unit| unit.0);
    Bytes: SIZES.iter().chain(MORE_SIZES).map(|unit| unit.0);
    Percent: ["%"].into_iter();
}

/// A value or the word `off`, for `#[schemars(with = "units::OrOff<T>")]`.
#[derive(Debug)]
pub struct OrOff<T>(PhantomData<T>);

/// A value or the word `auto`.
#[derive(Debug)]
pub struct OrAuto<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for OrOff<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("{}OrOff", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [generator.subschema_for::<T>(), { "const": "off" }] })
    }
}

impl<T: JsonSchema> JsonSchema for OrAuto<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("{}OrAuto", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [generator.subschema_for::<T>(), { "const": "auto" }] })
    }
}
