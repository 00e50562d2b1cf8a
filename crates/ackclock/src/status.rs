//! How a command ends, and what it prints.

use std::io::{IsTerminal, Write};

use experiment::diagnostic::Diagnostic;
use experiment::diagnostics::Diagnostics;
use experiment::printable::printable_in_colour;

use crate::output::tell;
use crate::run::Failure;

/// All claims hold or are recorded as known deviations.
pub(crate) const HOLDS: u8 = 0;
/// A claim does not hold and no reason is on record.
pub(crate) const MISS: u8 = 1;
/// Bad input, or results that cannot be written.
pub(crate) const BAD: u8 = 2;
/// Ended by Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;

/// Columns that a text needs at least, on however small a screen.
const NARROWEST: usize = 60;

/// Why the command ends early.
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

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Spec(problem) => problem.into(),
            Failure::Store(path, e) => Self::bad(format!(
                "cannot write results to {}: {e}; no results were left there, and runs that had finished are kept; choose another folder with --out",
                path.display()
            )),
            Failure::Wire(sentence) | Failure::Stack(sentence) => Self::bad(sentence),
            Failure::Interrupted(kept) => Self {
                message: match kept {
                    0 => "interrupted; the unfinished experiment left nothing behind".to_owned(),
                    1 => "interrupted; one finished run is kept, and the same command goes on from it"
                        .to_owned(),
                    n => format!(
                        "interrupted; {n} finished runs are kept, and the same command goes on from them"
                    ),
                },
                status: INTERRUPTED,
            },
        }
    }
}

/// Columns of the screen: the terminal's, else those of COLUMNS, else 80.
pub(crate) fn width() -> usize {
    columns(&std::io::stdout())
}

fn columns(out: &impl IsTerminal) -> usize {
    if out.is_terminal() {
        return textwrap::termwidth().max(NARROWEST);
    }
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    asked.unwrap_or(80).max(NARROWEST)
}

/// The beginning of a line that is too long, with a sign that there is more.
pub(crate) fn cut(line: &str, width: usize) -> String {
    match line.chars().count() > width {
        true => line.chars().take(width.saturating_sub(1)).collect::<String>().trim_end().to_owned() + "…",
        false => line.trim_end().to_owned(),
    }
}

/// Prints to standard output, in colour where there is a terminal and NO_COLOR and CLICOLOR allow it; nothing else that a terminal
/// obeys passes. Nobody reading any more is no error; a full disk ends the command.
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

/// Prints to standard error.
pub(crate) fn complain(text: &str) {
    tell(&format!("ackclock: {text}"));
}
