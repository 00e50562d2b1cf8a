//! Reads the experiments that a command line names, and collects the mistakes of all of them.

use experiment::diagnostics::Diagnostics;
use experiment::file::Experiment;
use experiment::library::{Library, Source};

use crate::controllers::controllers;
use crate::status::Error;

/// Largest number of mistakes that are shown.
const SHOWN: usize = 10;

/// Reads every experiment named. A file that cannot be read does not hide the mistakes of the
/// others.
pub(crate) fn read(
    names: &[String],
    read: impl Fn(Source) -> Result<Experiment, Error>,
) -> Result<Vec<Experiment>, Error> {
    let (sources, unknown) = Library.resolve_each(names);
    let mut wrong: Vec<Error> = unknown.into_iter().map(Error::from).collect();
    let mut experiments = Vec::new();
    for source in sources {
        match read(source) {
            Ok(experiment) => experiments.push(experiment),
            Err(problem) => wrong.push(problem),
        }
    }
    if wrong.is_empty() { Ok(experiments) } else { Err(together(&wrong)) }
}

/// Parses an experiment, which may name the controllers of this program.
pub(crate) fn parsed(source: &Source) -> Result<Experiment, Diagnostics> {
    Experiment::parse_with(controllers(), &source.name, &source.file, &source.text)
}

/// Joins the messages. Equal ones appear once, because a wrong option is wrong for every file.
fn together(wrong: &[Error]) -> Error {
    let mut messages: Vec<&str> = Vec::new();
    for problem in wrong {
        if !messages.contains(&problem.message.as_str()) {
            messages.push(&problem.message);
        }
    }
    let mut message = messages.iter().take(SHOWN).copied().collect::<Vec<_>>().join("\n");
    if messages.len() > SHOWN {
        message += &format!("\nand {} more", messages.len() - SHOWN);
    }
    Error { problems: wrong.iter().flat_map(|error| error.problems.clone()).collect(), ..Error::bad(message) }
}
