//! The `ackclock` command as a library. [`main_with`] runs it with controllers of your own.

mod cli;
mod commands;
mod controllers;
mod features;
mod interrupt;
mod output;
mod places;
mod progress;
mod session;
mod status;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use congestion::{Entry, Registry};
use study::Program;

pub use crate::commands::ask::Answered;
pub use crate::session::Session;
pub use crate::status::Error;

/// Runs the whole command with these controllers in addition to those of Ackclock. A controller of
/// the same name is replaced.
///
/// ```no_run
/// use congestion::algorithms::fixed_window;
///
/// fn main() -> std::process::ExitCode {
///     ackclock::main_with([congestion::Entry::for_params::<fixed_window::Params>()])
/// }
/// ```
pub fn main_with(controllers: impl IntoIterator<Item = Entry>) -> ExitCode {
    // Threads inherit it.
    interrupt::survive_large_files();
    let registry = controllers.into_iter().fold(Registry::default(), Registry::with);
    match controllers::set(registry) {
        Ok(()) => ExitCode::from(main_from(std::env::args_os())),
        Err(why) => {
            status::complain(why);
            ExitCode::from(status::BAD)
        }
    }
}

/// Runs the command that these arguments name, the first of which is the name of the program.
/// Returns the exit status. Only if standard output cannot be written, the process ends with it.
/// A process runs one command at a time.
///
/// ```
/// assert_eq!(ackclock::main_from(["ackclock", "algorithms", "cubic"]), 0);
/// assert_eq!(ackclock::main_from(["ackclock", "compare", "cubic"]), 2);
/// ```
pub fn main_from(args: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> u8 {
    cli::main(args)
}

/// Answers the question that these arguments name, such as those of `compare`, without printing. The
/// first argument is the name of the program. Results and page are written as by the command.
///
/// # Errors
/// Bad input, a study that failed, or a stop by the session's watch.
pub fn ask(
    args: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    session: &Session<'_>,
) -> Result<Answered, Error> {
    cli::ask(args, session)
}

/// Returns the program that results come from: `extended` adds what the commit does not identify, such
/// as sources of controllers.
pub fn program(extended: Option<&str>) -> Program {
    places::program(extended)
}

/// Names the file that holds this program, where that is not the process' own: a library.
pub fn set_file(path: PathBuf) {
    places::set_file(path);
}
