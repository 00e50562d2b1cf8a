//! Lines on standard error.

use std::io::Write;

use experiment::printable::printable_in_colour;

/// A line, in colour where there is a terminal and NO_COLOR and CLICOLOR allow it; nothing else that a terminal obeys passes. That nobody
/// reads it is no reason to end.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(anstream::stderr(), "{}", printable_in_colour(line));
}
