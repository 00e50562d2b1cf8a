//! The `ackclock` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ackclock::main_with([])
}
