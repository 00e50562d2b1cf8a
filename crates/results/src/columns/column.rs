//! The values of a column, and the type that they are stored as.

use std::sync::Arc;

use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::errors::Result;
use parquet::schema::types::{Type, TypePtr};

/// The definition level of a value that is there.
pub(super) const THERE: i16 = 1;

/// The values of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Words; where one follows its like they share it.
    Text(Vec<Arc<str>>),
    /// Words, where there are any.
    Words(Vec<Option<Arc<str>>>),
    /// Small whole numbers.
    Int(Vec<i32>),
    /// Whole numbers, where there are any.
    Count(Vec<Option<i64>>),
    /// Numbers; NaN where there is none.
    Real(Vec<f64>),
}

impl Column {
    /// Numbers; as whole ones, if all are.
    pub fn counts(values: Vec<f64>) -> Self {
        let whole = are_whole(&values);
        Self::of(values, whole)
    }

    /// Numbers, which are whole or not.
    pub fn of(values: Vec<f64>, whole: bool) -> Self {
        if !whole {
            return Self::Real(values);
        }
        Self::Count(values.iter().map(|v| (!v.is_nan()).then_some(*v as i64)).collect())
    }

    pub(super) fn schema(&self, name: &str) -> Result<TypePtr> {
        let (physical, converted, repetition) = match self {
            Self::Text(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8, Repetition::REQUIRED),
            Self::Words(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8, Repetition::OPTIONAL),
            Self::Int(_) => (Physical::INT32, ConvertedType::NONE, Repetition::REQUIRED),
            Self::Count(_) => (Physical::INT64, ConvertedType::NONE, Repetition::OPTIONAL),
            Self::Real(_) => (Physical::DOUBLE, ConvertedType::NONE, Repetition::OPTIONAL),
        };
        let builder = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        builder.with_converted_type(converted).build().map(Arc::new)
    }
}

/// Whether all numbers that are there are whole ones of 64 bits.
pub fn are_whole(values: &[f64]) -> bool {
    // There and back, so that no bit is lost.
    values.iter().all(|v| v.is_nan() || (*v as i64 as f64).to_bits() == v.to_bits())
}
