//! The `kneepoint` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(kneepoint::cli::main())
}
