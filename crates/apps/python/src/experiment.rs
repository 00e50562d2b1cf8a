//! Experiments.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ::experiment::file::Experiment as File;
use ::experiment::library::Library;
use ackclock::Error;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use results::columns::{Column, Named};
use study::{Options, Planned, Selection, Shard, Study};

use crate::call::Manner;
use crate::controller::entry::Class;
use crate::controller::host::Host;
use crate::error;
use crate::session::Classes;
use crate::table::Table;

/// Returns name, file and text of the experiments that a word stands for.
#[pyfunction]
pub(crate) fn resolve(py: Python<'_>, word: String) -> PyResult<Vec<(String, PathBuf, String)>> {
    let found = Library.resolve(&[word]).map_err(|why| error::diagnostics(py, &why.into()))?;
    Ok(found.into_iter().map(|source| (source.name, source.file, source.text)).collect())
}

/// An experiment without mistakes.
#[pyclass(frozen, module = "ackclock._ackclock")]
pub(crate) struct Experiment {
    pub(crate) file: File,
    pub(crate) classes: Classes,
}

/// Settings of a study, beside the experiment.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Settings {
    out: PathBuf,
    on: String,
    stacks: Vec<String>,
    fresh: bool,
    qlog: Option<String>,
    pcap: bool,
    /// Part k of n: `k/n`.
    shard: Option<String>,
    runs: Option<BTreeSet<usize>>,
}

#[pymethods]
impl Experiment {
    /// Reads the text of an experiment. `changes` replace keys, and `controllers` those of the
    /// flows. Lines of a text that nobody has seen are not told.
    #[new]
    fn new(
        py: Python<'_>,
        name: &str,
        file: PathBuf,
        text: &str,
        has_lines: bool,
        changes: Vec<(String, String)>,
        controllers: Vec<String>,
        classes: Vec<Py<Class>>,
        identity: Option<String>,
    ) -> PyResult<Self> {
        let classes = Classes::new(&classes, identity);
        let parsed = File::parse_with(&classes.registry, name, &file, text);
        let parsed = parsed.map_err(|all| if has_lines { all } else { all.without_lines() });
        let mut file = parsed.map_err(|all| error::diagnostics(py, &all))?;
        if !controllers.is_empty() {
            file = file.with_controllers(&controllers).map_err(|why| error::diagnostics(py, &why.into()))?;
        }
        if !changes.is_empty() {
            file = file.with_overrides(&changes, false).map_err(|why| error::diagnostics(py, &why.into()))?;
        }
        Ok(Self { file, classes })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.file.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.file.title
    }

    #[getter]
    fn note(&self) -> &str {
        &self.file.note
    }

    /// The file as it was written, with changes.
    #[getter]
    fn toml(&self) -> String {
        self.file.to_text()
    }

    /// Variant and row of each case.
    #[getter]
    fn cases(&self) -> Vec<(String, String)> {
        self.file.cases().iter().map(|case| (case.variant.clone(), case.label().to_string())).collect()
    }

    /// The runs, in the order of their numbers.
    fn plan(&self) -> PyResult<Table> {
        let plan = study::planned(&self.file);
        let texts =
            |text: fn(&Planned) -> &str| Column::Text(plan.iter().map(|run| text(run).into()).collect());
        let counts = |count: fn(&Planned) -> u64| {
            Column::Count(plan.iter().map(|run| Some(count(run).cast_signed())).collect())
        };
        let column = |name, unit, description, column| Named::new(name, unit, description, column);
        Table::new(vec![
            column("number", "", "number of the run", counts(|run| run.number as u64)),
            column(
                "variant",
                "",
                "values of the varied keys, except the rows key",
                texts(|run| &run.variant),
            ),
            column("row", "", "row of the experiment's table", texts(|run| &run.row)),
            column("repetition", "", "repetition, from 0", counts(|run| run.repetition.into())),
            column("seed", "", "seed of the run", counts(|run| run.seed)),
            column(
                "duration_s",
                "s",
                "longest simulated time",
                Column::Real(plan.iter().map(|run| run.duration_s).collect()),
            ),
            column("flows", "", "number of flows", counts(|run| run.flows as u64)),
            column(
                "packets",
                "packets",
                "packets that the bottleneck can carry, as a measure of the work",
                counts(|run| run.packets),
            ),
        ])
    }

    /// An experiment of one run: a case and a repetition of this one.
    fn only(&self, case: usize, repetition: u32) -> PyResult<Self> {
        let known = self.file.cases().len();
        let file = self.file.only(case, repetition);
        let file =
            file.ok_or_else(|| PyIndexError::new_err(format!("no case {case}; there are {known}, from 0")))?;
        Ok(Self { file, classes: self.classes.clone() })
    }

    /// Runs it, or a part of it. Returns its folder once all runs are there, the number of runs
    /// that are there, and that of all.
    fn run(
        &self,
        py: Python<'_>,
        settings: Settings,
        jobs: Option<usize>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<(Option<PathBuf>, usize, usize)> {
        let host = Host::of_call();
        let studied = Manner::new(self.classes.jobs(jobs), progress).call(py, &host, |call| {
            self.classes.during(call, |session| {
                let options = options(session, &settings)?;
                Ok(study::experiment(&self.file, &options, session.progress, session.watch)?)
            })
        })?;
        let all = study::planned(&self.file).len();
        match studied.map_err(|why: Error| error::failed(py, &why))? {
            Study::Complete(_, folder, _) => Ok((Some(folder), all, all)),
            Study::Part(_, done, all) => Ok((None, done, all)),
        }
    }

    /// Runs the first case with a controller twice, at most its first 30 s. Returns how the two
    /// differ.
    fn differs(&self, py: Python<'_>, controller: &str) -> PyResult<Option<String>> {
        let host = Host::of_call();
        Manner::new(Some(1), None).call(py, &host, |call| {
            Python::attach(|_| crate::twice::difference(&self.file, controller, &call.watch))
        })
    }
}

fn options(session: &ackclock::Session<'_>, settings: &Settings) -> Result<Options, Error> {
    let Settings { out, on, stacks, fresh, qlog, pcap, shard, runs } = settings;
    let options = session.options_on(out.clone(), on, stacks)?;
    let qlog = qlog.as_deref().map(str::parse).transpose().map_err(Error::from)?;
    let shard = shard.as_deref().map(str::parse::<Shard>).transpose().map_err(Error::from)?;
    let runs = match (shard, runs) {
        (Some(shard), _) => Selection::Shard(shard),
        (None, Some(runs)) => Selection::Listed(runs.clone()),
        (None, None) => Selection::All,
    };
    Ok(Options { fresh: *fresh, qlog, pcap: *pcap, runs, ..options })
}
