//! The `ackclock` command as a library. [`main_with`] runs it with controllers of your own.

mod cli;
mod commands;
mod controllers;
mod features;
mod interrupt;
mod output;
mod places;
mod progress;
mod status;

use std::ffi::OsString;
use std::process::ExitCode;

use congestion::{Entry, Registry};

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
