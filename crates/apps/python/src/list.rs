//! Lists of what experiments may name.

use ::experiment::library::{Library, NETWORKS};
use ::experiment::quantity::QUANTITIES;
use congestion::Registry;
use pyo3::prelude::*;
use results::columns::{Column, Named};

use crate::table::Table;

/// Creates a table of words.
fn words(columns: &[(&str, Vec<String>)]) -> PyResult<Table> {
    let column = |(name, words): &(&str, Vec<String>)| {
        Named::new(name, "", "", Column::Text(words.iter().map(|word| word.as_str().into()).collect()))
    };
    Table::new(columns.iter().map(column).collect())
}

/// Returns the shipped controllers.
#[pyfunction]
pub(crate) fn controllers() -> PyResult<Table> {
    let registry = Registry::default();
    let entries = || registry.iter();
    words(&[
        ("name", entries().map(|entry| entry.name.to_owned()).collect()),
        ("description", entries().map(|entry| entry.doc.trim().to_owned()).collect()),
    ])
}

/// Returns the names of the shipped experiments, without the networks.
#[pyfunction]
pub(crate) fn experiments() -> Vec<String> {
    let shipped = Library.shipped().into_iter().map(|source| source.name);
    shipped.filter(|name| !name.starts_with(NETWORKS)).collect()
}

/// Returns the names of the shipped networks.
#[pyfunction]
pub(crate) fn networks() -> Vec<String> {
    Library.networks().into_iter().map(|source| source.name[NETWORKS.len()..].to_owned()).collect()
}

/// Returns the metrics with their units.
#[pyfunction]
pub(crate) fn metrics() -> PyResult<Table> {
    let of = |text: fn(&::experiment::quantity::Quantity) -> &'static str| {
        QUANTITIES.iter().map(|quantity| text(quantity).to_owned()).collect()
    };
    words(&[
        ("name", of(|quantity| quantity.name)),
        ("unit", of(|quantity| quantity.unit)),
        ("description", of(|quantity| quantity.doc)),
    ])
}

/// Returns the columns of time series that no variable of a controller may take.
#[pyfunction]
pub(crate) fn series_columns() -> Vec<&'static str> {
    results::store::series_columns().collect()
}

/// Returns the JSON Schema of experiment files.
#[pyfunction]
pub(crate) fn schema() -> String {
    ::experiment::schema::schema(&Registry::default()).to_string()
}
