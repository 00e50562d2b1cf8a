//! Errors that stop a run of another stack before it starts.

use std::fmt;

/// Error for a run that cannot start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// An invalid manifest. The message names the file, the problem and the valid values.
    Manifest(String),
    /// A stack that is not installed.
    Missing {
        /// Name of the stack.
        stack: String,
        /// The missing program, file or module.
        what: String,
        /// The command that installs it.
        install: String,
    },
    /// A scenario or controller that this stack cannot run. The message is a clause like `its flows
    /// use TCP`.
    Refused(String),
    /// A failed system call or command.
    System(String),
    /// A run that was stopped through `stop` of the watch.
    Interrupted,
}

impl Error {
    /// Returns an error from the attempted action and the reason of its failure.
    pub(crate) fn system(tried: impl fmt::Display, said: impl fmt::Display) -> Self {
        Self::System(format!("cannot {tried}: {said}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manifest(why) | Self::Refused(why) | Self::System(why) => f.write_str(why),
            Self::Missing { stack, what, install } => {
                write!(f, "{stack} is not installed: {what} is missing; run `{install}`")
            }
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {}

impl From<crate::emu::Error> for Error {
    fn from(error: crate::emu::Error) -> Self {
        Self::System(error.to_string())
    }
}
