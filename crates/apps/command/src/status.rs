//! Exit statuses, errors and output of the commands.

use std::fmt;
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

/// Error that ends a command.
#[derive(Clone, Debug)]
pub struct Error {
    /// All of it, as the command prints it.
    pub message: String,
    /// Problems of files and arguments that the message describes.
    pub problems: Vec<Diagnostic>,
    /// Exit status of the command.
    pub status: u8,
}

impl Error {
    pub(crate) fn bad(message: impl ToString) -> Self {
        Self { message: message.to_string(), problems: Vec::new(), status: BAD }
    }

    pub(crate) fn interrupted(message: impl ToString) -> Self {
        Self { status: INTERRUPTED, ..Self::bad(message) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Self::bad(message)
    }
}

impl From<Diagnostics> for Error {
    fn from(problems: Diagnostics) -> Self {
        let message = problems.shown(columns(&std::io::stderr()), true);
        Self { problems: problems.all().to_vec(), ..Self::bad(message) }
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
                let flagged = |mut problem: Diagnostic| {
                    problem.file = flag(&problem.file);
                    problem
                };
                let problems: Vec<Diagnostic> = problems.into_iter().map(flagged).collect();
                let shown: Vec<String> = problems.iter().map(|p| p.shown(usize::MAX, false)).collect();
                Self { problems, ..Self::bad(shown.join("\n")) }
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
            Failure::Interrupted(kept) => Self::interrupted(match kept {
                0 => "interrupted; no finished run is kept".to_owned(),
                1 => "interrupted; one finished run is kept, and the same command continues from there"
                    .to_owned(),
                n => {
                    format!(
                        "interrupted; {n} finished runs are kept, and the same command continues from there"
                    )
                }
            }),
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
