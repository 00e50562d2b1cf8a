//! Lines on standard error.

use std::io::Write;

use experiment::printable::printable_in_colour;

/// Prints a line to standard error.
///
/// Colours are kept if the output is a terminal and NO_COLOR and CLICOLOR allow them. Other control
/// sequences are removed. Errors of writing are ignored.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(anstream::stderr(), "{}", printable_in_colour(line));
}
