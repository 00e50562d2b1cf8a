//! The error type of the emulator.

use std::fmt;

/// Error message: what was tried, what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// Creates an error with this message.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// Creates an error of a system call: what was tried, and the system's message.
    pub(crate) fn system(tried: impl fmt::Display, said: impl fmt::Display) -> Self {
        Self(format!("cannot {tried}: {said}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
