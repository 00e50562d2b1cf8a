//! What stops the emulator, in one sentence.

use std::fmt;

/// A sentence that says what was tried, what is wrong and what is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// From the whole sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// What was tried, and what the system said.
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
