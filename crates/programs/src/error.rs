//! What stops a run of another stack before it has begun, each in one sentence.

use std::fmt;

/// Why there is no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A manifest that says something else than a manifest says: which, and what is right.
    Manifest(String),
    /// The stack is not on this machine: what is missing, and how it is installed.
    Missing {
        /// The stack.
        stack: String,
        /// What was looked for.
        what: String,
        /// The command that installs it.
        install: String,
    },
    /// The scenario, or a controller, cannot be run with this stack: a clause like `its flows are of TCP`.
    Refused(String),
    /// What the system refuses.
    System(String),
    /// Somebody set `stop` of the watch.
    Interrupted,
}

impl Error {
    /// What was tried, and what the system said.
    pub(crate) fn system(tried: impl fmt::Display, said: impl fmt::Display) -> Self {
        Self::System(format!("cannot {tried}: {said}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manifest(why) | Self::Refused(why) | Self::System(why) => f.write_str(why),
            Self::Missing { stack, what, install } => {
                write!(f, "{stack} is not installed ({what} is missing): `{install}` installs it")
            }
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {}

impl From<emu::Error> for Error {
    fn from(error: emu::Error) -> Self {
        Self::System(error.to_string())
    }
}
