//! Tables that any Arrow library of Python reads without a copy, by the Arrow PyCapsule interface.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Metadata, Schema};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use results::columns::{Column, Named};

/// A table of columns with units.
#[pyclass(frozen, module = "ackclock._ackclock")]
pub(crate) struct Table(RecordBatch);

#[pymethods]
impl Table {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref()).map_err(refused)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may ignore the request.
        drop(requested_schema);
        let reader = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// Names of the columns, in order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Metadata of this name by column; columns without it are left out.
    fn metadata(&self, name: &str) -> BTreeMap<String, String> {
        let schema = self.0.schema();
        let known =
            schema.fields().iter().filter_map(|f| Some((f.name().clone(), f.metadata().get(name)?.clone())));
        known.collect()
    }

    /// Values of a column; None where there is no value.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let unknown = || PyKeyError::new_err(format!("no column {name:?}"));
        let column = self.0.column_by_name(name).ok_or_else(unknown)?;
        match column.data_type() {
            DataType::Float64 => {
                PyList::new(py, column.as_primitive::<Float64Type>().iter().collect::<Vec<_>>())
            }
            DataType::Int64 => PyList::new(py, column.as_primitive::<Int64Type>().iter().collect::<Vec<_>>()),
            DataType::Int32 => PyList::new(py, column.as_primitive::<Int32Type>().iter().collect::<Vec<_>>()),
            _ => PyList::new(py, column.as_string::<i32>().iter().collect::<Vec<_>>()),
        }
    }

    /// Address of a column's values, to see that nobody copied them.
    fn address(&self, name: &str) -> PyResult<usize> {
        let unknown = || PyKeyError::new_err(format!("no column {name:?}"));
        let data = self.0.column_by_name(name).ok_or_else(unknown)?.to_data();
        Ok(data.buffers().last().map_or(0, |buffer| buffer.as_ptr() as usize))
    }
}

impl Table {
    /// Takes a table of results over.
    pub(crate) fn new(columns: results::columns::Table) -> PyResult<Self> {
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().map(array).unzip();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map(Self).map_err(refused)
    }
}

/// Converts a column. Numbers that are missing are null.
fn array(named: Named) -> (Field, ArrayRef) {
    let Named { name, unit, description, is_key, column } = named;
    let array: ArrayRef = match column {
        Column::Text(words) => Arc::new(StringArray::from_iter_values(words.iter())),
        Column::Words(words) => Arc::new(StringArray::from_iter(words.iter().map(Option::as_deref))),
        Column::Int(values) => Arc::new(Int32Array::from(values)),
        Column::Count(values) => Arc::new(Int64Array::from(values)),
        Column::Real(values) if values.iter().any(|value| value.is_nan()) => Arc::new(
            Float64Array::from_iter(values.into_iter().map(|value| (!value.is_nan()).then_some(value))),
        ),
        Column::Real(values) => Arc::new(Float64Array::from(values)),
    };
    let role = if is_key { "key" } else { "" };
    let metadata = [("unit", unit), ("description", description), ("role", role.to_owned())];
    let metadata = metadata.into_iter().filter(|(_, text)| !text.is_empty());
    let field = Field::new(name, array.data_type().clone(), true);
    let metadata: Metadata = metadata.collect();
    (field.with_metadata(metadata), array)
}

fn refused(why: impl ToString) -> PyErr {
    PyValueError::new_err(why.to_string())
}
