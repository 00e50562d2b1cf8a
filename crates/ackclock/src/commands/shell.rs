//! `ackclock completions` and `ackclock man`, generated from the definitions of the flags.

use clap::Command;
use clap_complete::Shell;

use crate::status::{Error, HOLDS, print};

/// Prints the completion script for this shell.
pub(crate) fn completions(shell: Shell, mut command: Command) -> Result<u8, Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "ackclock", &mut script);
    print(&String::from_utf8_lossy(&script));
    Ok(HOLDS)
}

/// Prints the man page of ackclock, or of one of its commands.
pub(crate) fn man(name: Option<&str>, mut command: Command) -> Result<u8, Error> {
    command.build();
    let page = match name {
        None => command,
        Some(name) => {
            let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let right = experiment::diagnostic::did_you_mean(name, known);
            let found = command.find_subcommand(name).cloned();
            found.ok_or_else(|| Error::bad(format!("unknown command `{name}`; {right}")))?
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text).map_err(Error::bad)?;
    print(&String::from_utf8_lossy(&text));
    Ok(HOLDS)
}
