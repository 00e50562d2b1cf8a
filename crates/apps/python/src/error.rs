//! Errors of Rust as exceptions of `ackclock.errors`.

use std::fmt::Display;

use ::experiment::diagnostic::Diagnostic;
use ::experiment::diagnostics::Diagnostics;
use ackclock::Error;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Exit status of a command that was interrupted.
const INTERRUPTED: u8 = 130;
/// Width of a message in columns.
const WIDTH: usize = 100;

/// Creates the exception of this class in `ackclock.errors`.
fn raised<'py>(py: Python<'py>, class: &str, args: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    let made = py.import("ackclock.errors").and_then(|module| module.getattr(class)?.call1(args));
    made.map_or_else(|why| why, PyErr::from_value)
}

/// Something that Ackclock cannot do.
pub(crate) fn other(py: Python<'_>, message: impl Display) -> PyErr {
    raised(py, "AckclockError", (message.to_string(),))
}

/// Mistakes in an experiment or a question.
pub(crate) fn mistakes(py: Python<'_>, message: &str, problems: &[Diagnostic]) -> PyErr {
    match list(py, problems) {
        Ok(list) => raised(py, "ExperimentError", (message, list)),
        Err(why) => why,
    }
}

/// Mistakes of a file, as the command prints them.
pub(crate) fn diagnostics(py: Python<'_>, all: &Diagnostics) -> PyErr {
    mistakes(py, &all.shown(WIDTH, false), all.all())
}

/// An error of the command.
pub(crate) fn failed(py: Python<'_>, error: &Error) -> PyErr {
    match error.status {
        INTERRUPTED => PyKeyboardInterrupt::new_err(error.message.clone()),
        _ if error.problems.is_empty() => {
            let message = plain(&error.message);
            mistakes(py, &message, &[Diagnostic::new("", &*message, "")])
        }
        _ => mistakes(py, &plain(&error.message), &error.problems),
    }
}

/// Removes colours.
pub(crate) fn plain(message: &str) -> String {
    let mut parts = message.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once('m').map_or("", |(_, rest)| rest))
}

fn list<'py>(py: Python<'py>, problems: &[Diagnostic]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for problem in problems {
        let dict = PyDict::new(py);
        dict.set_item("file", &problem.file)?;
        dict.set_item("line", problem.line)?;
        dict.set_item("key", &problem.key)?;
        dict.set_item("wrong", &problem.wrong)?;
        dict.set_item("right", &problem.right)?;
        list.append(dict)?;
    }
    Ok(list)
}
