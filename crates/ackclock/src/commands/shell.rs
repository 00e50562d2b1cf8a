//! `ackclock completions` and `ackclock man`: what a shell and `man` want to know, from the flags themselves.

use clap::Command;
use clap_complete::Shell;

use crate::status::{Error, HOLDS, print};

/// The script that completes the command's words in this shell.
pub(crate) fn completions(shell: Shell, mut command: Command) -> Result<u8, Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "ackclock", &mut script);
    print(&String::from_utf8_lossy(&script));
    Ok(HOLDS)
}

/// The page of the command, or of one of its commands.
pub(crate) fn man(of: Option<&str>, mut command: Command) -> Result<u8, Error> {
    command.build();
    let page = match of {
        None => command,
        Some(name) => {
            let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let right = experiment::diagnostic::did_you_mean(name, known);
            let found = command.find_subcommand(name).cloned();
            found.ok_or_else(|| Error::bad(format!("`{name}` is not a command; {right}")))?
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text).map_err(Error::bad)?;
    print(&String::from_utf8_lossy(&text));
    Ok(HOLDS)
}
