//! The whole `ackclock` command, with a fork of STACK inside.

fn main() -> std::process::ExitCode {
    ackclock::main_with([])
}
