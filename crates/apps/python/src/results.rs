//! Stored results.

use std::path::{Path, PathBuf};

use ::results::columns::{self, Column, Named};
use ::results::store;
use ::results::summary::Results as Stored;
use experiment::quantity::Quantity;
use pyo3::exceptions::{PyKeyError, PyOSError};
use pyo3::prelude::*;
use report::terminal::{brief, first};

use crate::error;
use crate::table::Table;

/// Width of texts in columns.
const WIDTH: usize = 100;

/// A results folder.
#[pyclass(frozen, module = "ackclock._ackclock")]
pub(crate) struct Results {
    path: PathBuf,
    stored: Stored,
}

/// Returns the folders of results below a folder, the newest last.
#[pyfunction]
pub(crate) fn stored(folder: PathBuf) -> PyResult<Vec<PathBuf>> {
    let found = store::stored(&folder).map_err(|why| damaged(&folder, &why))?;
    Ok(found.into_iter().map(|found| found.dir).collect())
}

#[pymethods]
impl Results {
    /// Reads a results folder and checks its sums.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let stored = py.detach(|| store::load(&path)).map_err(|why| damaged(&path, &why))?;
        Ok(Self { path, stored })
    }

    #[getter]
    fn path(&self) -> &Path {
        &self.path
    }

    #[getter]
    fn name(&self) -> &str {
        &self.stored.summary.experiment
    }

    #[getter]
    fn title(&self) -> &str {
        &self.stored.summary.title
    }

    /// The summary as JSON.
    #[getter]
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(&self.stored.summary).map_err(|why| error::other(py, why))
    }

    /// A table: runs, flows, series, rtt_cdf, summary or claims.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let file = |name: &str| {
            let path = self.path.join(name);
            py.detach(|| columns::read(&path)).map_err(|why| damaged(&path, &why))
        };
        let table = match name {
            "runs" => store::runs(&self.path).map_err(|why| damaged(&self.path, &why))?,
            "flows" | "series" | "rtt_cdf" => file(&format!("{name}.parquet"))?,
            "summary" => self.summary(),
            "claims" => self.claims(),
            _ => return Err(PyKeyError::new_err(format!("no table {name:?}"))),
        };
        Table::new(table)
    }

    /// The screen of the command: the first one, or all details.
    fn text(&self, details: bool) -> String {
        let summary = &self.stored.summary;
        match details {
            true => brief::text(summary, &mut brief::Notes::new(), WIDTH),
            false => first::text(&summary.experiment, &[summary], WIDTH),
        }
    }

    /// Writes the report to a folder. Returns the path of its page.
    fn report(&self, py: Python<'_>, folder: PathBuf) -> PyResult<PathBuf> {
        let written = py.detach(|| {
            report::write(&folder, &self.stored.summary.experiment, std::slice::from_ref(&self.stored))
        });
        written.map_err(|why| damaged(&folder, &why))
    }
}

impl Results {
    /// Creates the table of the report: a row for each row of a variant, with means and deviations.
    fn summary(&self) -> columns::Table {
        let summary = &self.stored.summary;
        let rows =
            || summary.variants.iter().flat_map(|variant| variant.rows.iter().map(move |row| (variant, row)));
        let text = |name: &str, words: Vec<&str>| {
            Named::new(name, "", "", Column::Text(words.into_iter().map(Into::into).collect()))
        };
        let mut table = vec![
            text("variant", rows().map(|(variant, _)| variant.name.as_str()).collect()),
            text("row", rows().map(|(_, row)| row.label.as_str()).collect()),
            text("algorithm", rows().map(|(_, row)| row.algorithm.as_str()).collect()),
        ];
        for metric in &summary.metrics {
            let quantity = Quantity::find(metric.word());
            let [unit, doc] = quantity.map_or(["", ""], |quantity| [quantity.unit, quantity.doc]);
            let cells = || rows().map(|(_, row)| row.cells.get(metric));
            let numbers = |number: fn(&::results::summary::Cell) -> Option<f64>| {
                Column::Real(cells().map(|cell| cell.and_then(number).unwrap_or(f64::NAN)).collect())
            };
            table.push(Named::new(metric.as_str(), unit, doc, numbers(|cell| Some(cell.value()))));
            let deviation = numbers(|cell| cell.spread);
            let about = "sample standard deviation over the repetitions";
            table.push(Named::new(&format!("{}_sd", metric.as_str()), unit, about, deviation));
            if cells().flatten().any(|cell| cell.published.is_some()) {
                let published = numbers(|cell| cell.published);
                table.push(Named::new(
                    &format!("{}_published", metric.as_str()),
                    unit,
                    "value of the source",
                    published,
                ));
            }
        }
        table
    }

    /// Creates a table of the claims with their verdicts.
    fn claims(&self) -> columns::Table {
        let claims = &self.stored.summary.claims;
        let text = |name: &str, words: Vec<String>| {
            Named::new(name, "", "", Column::Text(words.into_iter().map(Into::into).collect()))
        };
        vec![
            text("claim", claims.iter().map(|claim| claim.says.clone()).collect()),
            text("verdict", claims.iter().map(verdict).collect()),
            text("reason", claims.iter().map(|claim| claim.reason.clone().unwrap_or_default()).collect()),
        ]
    }
}

/// Returns the word of a verdict, as in the summary.
fn verdict(claim: &::results::summary::ClaimResult) -> String {
    let word = serde_json::to_value(claim.verdict).ok();
    word.as_ref().and_then(|word| word.as_str()).unwrap_or_default().to_owned()
}

fn damaged(path: &Path, why: &dyn std::fmt::Display) -> PyErr {
    PyOSError::new_err(format!("{}: {why}", path.display()))
}
