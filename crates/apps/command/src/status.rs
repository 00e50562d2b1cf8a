//! Exit statuses, errors and output of the commands.

use std::io::{IsTerminal, Write};

use experiment::diagnostic::Diagnostic;
use experiment::diagnostics::Diagnostics;
use experiment::printable::printable_in_colour;

use crate::output::tell;
use study::Failure;

/// Exit status if all claims hold or are recorded as known deviations.
pub(crate) const HOLDS: u8 = 0;
/// Exit status if a claim fails without a recorded reason.
pub(crate) const MISS: u8 = 1;
/// Exit status for bad input, or for results that cannot be written.
pub(crate) const BAD: u8 = 2;
/// Exit status after Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;

/// Smallest width of a text in columns, even if the screen is narrower.
const NARROWEST: usize = 60;

/// Error that ends a command, with its exit status.
pub(crate) struct Error {
    pub(crate) message: String,
    pub(crate) status: u8,
}

impl Error {
    pub(crate) fn bad(message: impl ToString) -> Self {
        Self { message: message.to_string(), status: BAD }
    }
}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::bad(message)
    }
}

impl From<Diagnostics> for Error {
    fn from(problems: Diagnostics) -> Self {
        Self::bad(problems.shown(columns(&std::io::stderr()), true))
    }
}

impl From<Diagnostic> for Error {
    fn from(problem: Diagnostic) -> Self {
        Diagnostics::from(problem).into()
    }
}

impl From<questions::Failure> for Error {
    fn from(failure: questions::Failure) -> Self {
        match failure {
            questions::Failure::Bad(message) => Self::bad(message),
            questions::Failure::Field(field, wrong) => Self::bad(format!("{}{wrong}", flag(field))),
            questions::Failure::Fields(problems) => {
                let shown = |problem: &Diagnostic| {
                    let mut problem = problem.clone();
                    problem.file = flag(&problem.file);
                    problem.shown(usize::MAX, false)
                };
                Self::bad(problems.iter().map(shown).collect::<Vec<_>>().join("\n"))
            }
            questions::Failure::File(problems) => problems.into(),
            questions::Failure::Study(failure) => failure.into(),
        }
    }
}

/// Returns the argument that a field of a question comes from. The name of a question stands for
/// its arguments without a flag.
fn flag(field: &str) -> String {
    if ["compare", "conform"].contains(&field) { field.to_owned() } else { format!("--{field}") }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Spec(problem) => problem.into(),
            Failure::Store(path, e) => Self::bad(format!(
                "cannot write results to {}: {e}; choose another folder with --out",
                path.display()
            )),
            Failure::World(sentence) => Self::bad(sentence),
            Failure::Interrupted(kept) => Self {
                message: match kept {
                    0 => "interrupted; no finished run is kept".to_owned(),
                    1 => "interrupted; one finished run is kept, and the same command continues from there"
                        .to_owned(),
                    n => format!(
                        "interrupted; {n} finished runs are kept, and the same command continues from there"
                    ),
                },
                status: INTERRUPTED,
            },
        }
    }
}

/// Returns the width of the screen in columns: of the terminal, else from COLUMNS, else 80.
pub(crate) fn width() -> usize {
    columns(&std::io::stdout())
}

/// Returns the width at which lines of a list are cut. Without a screen and COLUMNS they are not
/// cut, because a program may read them.
pub(crate) fn list_width() -> usize {
    given_columns(&std::io::stdout()).unwrap_or(usize::MAX)
}

fn columns(out: &impl IsTerminal) -> usize {
    given_columns(out).unwrap_or(80)
}

fn given_columns(out: &impl IsTerminal) -> Option<usize> {
    let given = match out.is_terminal() {
        true => Some(textwrap::termwidth()),
        false => std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()),
    };
    given.map(|columns| columns.max(NARROWEST))
}

/// Prints to standard output.
///
/// Colours are kept if the output is a terminal and NO_COLOR and CLICOLOR allow them. Other control
/// sequences are removed. A closed pipe is ignored; any other error, such as a full disk, ends the
/// command.
pub(crate) fn print(text: &str) {
    let mut out = anstream::stdout();
    match out.write_all(printable_in_colour(text).as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            complain(&format!("cannot write to standard output: {e}"));
            std::process::exit(i32::from(BAD));
        }
        _ => {}
    }
}

/// Prints a message to standard error, after the name of the program.
pub(crate) fn complain(text: &str) {
    tell(&format!("ackclock: {text}"));
}
