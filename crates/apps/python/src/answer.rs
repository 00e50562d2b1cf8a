//! Questions, and the command.

use ackclock::Answered;
use pyo3::prelude::*;

use crate::call::Manner;
use crate::controller::entry::Class;
use crate::controller::host::Host;
use crate::error;
use crate::session::Classes;

/// An answer: texts for a terminal, numbers as JSON, and the path of the page.
#[pyclass(frozen, get_all, module = "ackclock._ackclock")]
pub(crate) struct Answer {
    text: String,
    details: String,
    json: String,
    page: Option<String>,
    status: u8,
}

impl From<Answered> for Answer {
    fn from(answered: Answered) -> Self {
        let Answered { text, details, json, page, status } = answered;
        Self { text, details, json, page: page.map(|(_, path)| path), status }
    }
}

/// Answers the question of a command, given by its arguments.
#[pyfunction]
pub(crate) fn ask(
    py: Python<'_>,
    arguments: Vec<String>,
    classes: Vec<Py<Class>>,
    identity: Option<String>,
    jobs: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Answer> {
    let classes = Classes::new(&classes, identity);
    let host = Host::of_call();
    let arguments: Vec<String> = std::iter::once("ackclock".to_owned()).chain(arguments).collect();
    let answered = Manner::new(classes.jobs(jobs), progress)
        .call(py, &host, |call| classes.during(call, |session| ackclock::ask(arguments, session)))?;
    answered.map(Answer::from).map_err(|why| error::failed(py, &why))
}

/// Removes colours from a text.
#[pyfunction]
pub(crate) fn plain(text: &str) -> String {
    error::plain(text)
}

/// Runs the command. Returns its exit status.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, arguments: Vec<String>) -> u8 {
    py.detach(|| ackclock::main_from(arguments))
}
