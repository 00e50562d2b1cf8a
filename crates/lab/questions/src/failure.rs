//! Failures of a question.

use std::fmt::{self, Display};

use experiment::diagnostic::Diagnostic;
use experiment::diagnostics::Diagnostics;

/// Failure of a question. Fields of a question have the name of their flag in the command, without
/// its dashes. The arguments without a flag have the name of the question.
#[derive(Debug)]
pub enum Failure {
    /// A problem in a sentence.
    Bad(String),
    /// A problem of one field: its name, and what follows in the message.
    Field(&'static str, String),
    /// Problems of the experiment that a question makes. Their files are the names of the fields.
    Fields(Vec<Diagnostic>),
    /// Problems of a file that a question names.
    File(Diagnostics),
    /// A study that did not end with results.
    Study(study::Failure),
}

impl Failure {
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::Bad(message.into())
    }

    /// Creates the failure of an experiment that a question made. `place` maps a key of the file to
    /// a field and the rest of the key, and `None` leaves the key as it is.
    pub(crate) fn fields(
        problems: &Diagnostics,
        place: impl Fn(&str) -> Option<(&'static str, String)>,
    ) -> Self {
        let mut all: Vec<Diagnostic> = Vec::new();
        for problem in problems.all() {
            let mut problem = problem.clone().without_line();
            if let Some((field, rest)) = place(&problem.key) {
                field.clone_into(&mut problem.file);
                problem.key = rest;
            }
            // A wrong value of a field is wrong in every case.
            if !all.contains(&problem) {
                all.push(problem);
            }
        }
        Self::Fields(all)
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bad(message) => f.write_str(message),
            Self::Field(field, wrong) => write!(f, "{field}{wrong}"),
            Self::Fields(problems) => {
                let texts: Vec<String> = problems.iter().map(Diagnostic::to_string).collect();
                f.write_str(&texts.join("\n"))
            }
            Self::File(problems) => write!(f, "{problems}"),
            Self::Study(failure) => write!(f, "{failure:?}"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Diagnostics> for Failure {
    fn from(problems: Diagnostics) -> Self {
        Self::File(problems)
    }
}

impl From<Diagnostic> for Failure {
    fn from(problem: Diagnostic) -> Self {
        Self::File(problem.into())
    }
}

impl From<study::Failure> for Failure {
    fn from(failure: study::Failure) -> Self {
        Self::Study(failure)
    }
}
