//! The JSON Schema of values that may be a word instead: what [`or_off`](crate::or_off) and [`or_auto`](crate::or_auto) read.

use alloc::borrow::Cow;
use alloc::format;
use core::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

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
