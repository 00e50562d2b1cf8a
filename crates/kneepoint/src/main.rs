//! The `kneepoint` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    kneepoint::main_with([])
}
