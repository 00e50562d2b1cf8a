//! Lines on standard error.

#[cfg(feature = "transfer")]
mod background;

use std::io::Write;

use experiment::printable::printable_in_colour;

#[cfg(feature = "transfer")]
pub(crate) use self::background::Background;

/// Prints a line to standard error, or passes it to the thread that prints.
///
/// Colours are kept if the output is a terminal and NO_COLOR and CLICOLOR allow them. Other control
/// sequences are removed. Errors of writing are ignored.
pub(crate) fn tell(line: &str) {
    #[cfg(feature = "transfer")]
    if background::takes(line) {
        return;
    }
    write(line);
}

fn write(line: &str) {
    let _ = writeln!(anstream::stderr(), "{}", printable_in_colour(line));
}
