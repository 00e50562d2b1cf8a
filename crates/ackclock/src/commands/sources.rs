//! The experiments that a command line names, or what is wrong with each of them.

use experiment::file::Experiment;
use experiment::library::{Library, Source};

use crate::status::{BAD, Error};

/// Files whose mistakes are told.
const SHOWN: usize = 10;

/// All that the words name, each read by `read`; one that cannot be read does not hide the mistakes of the others.
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

/// Each once: what is wrong with an option is wrong for every file.
fn together(wrong: &[Error]) -> Error {
    let mut said: Vec<&str> = Vec::new();
    for problem in wrong {
        if !said.contains(&problem.message.as_str()) {
            said.push(&problem.message);
        }
    }
    let mut message = said.iter().take(SHOWN).copied().collect::<Vec<_>>().join("\n");
    if said.len() > SHOWN {
        message += &format!("\nand mistakes in {} more", said.len() - SHOWN);
    }
    Error { message, status: BAD }
}
