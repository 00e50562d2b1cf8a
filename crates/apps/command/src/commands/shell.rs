//! `ackclock completions` and `ackclock man`, generated from the definitions of the flags.

use clap::Command;
use clap_complete::Shell;
use experiment::diagnostic::question;

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
            let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
            let question = question(name, &shown.map(Command::get_name).collect::<Vec<&str>>());
            let found = command.find_subcommand(name).cloned();
            found.ok_or_else(|| {
                Error::bad(format!("unknown command `{name}`; {question}`ackclock help` lists all commands"))
            })?
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text).map_err(Error::bad)?;
    print(&String::from_utf8_lossy(&text));
    Ok(HOLDS)
}
