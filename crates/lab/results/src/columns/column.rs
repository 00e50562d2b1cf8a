//! The values of a column, and their stored type.

use std::sync::Arc;

use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::errors::Result;
use parquet::schema::types::{Type, TypePtr};

/// Definition level of a present value.
pub(super) const PRESENT: i16 = 1;

#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Words. Consecutive equal words share memory.
    Text(Vec<Arc<str>>),
    /// Optional words.
    Words(Vec<Option<Arc<str>>>),
    Int(Vec<i32>),
    /// Optional whole numbers.
    Count(Vec<Option<i64>>),
    /// Numbers; NaN if missing.
    Real(Vec<f64>),
}

impl Column {
    /// Creates a column of numbers, as integers if all are whole.
    pub fn counts(values: Vec<f64>) -> Self {
        let whole = are_whole(&values);
        Self::from_numbers(values, whole)
    }

    /// Creates a column of numbers, as integers if `whole`.
    pub fn from_numbers(values: Vec<f64>, whole: bool) -> Self {
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

/// Reports whether all present numbers are whole and fit 64 bits.
pub fn are_whole(values: &[f64]) -> bool {
    // The round trip shows that no bit is lost.
    values.iter().all(|v| v.is_nan() || (*v as i64 as f64).to_bits() == v.to_bits())
}
