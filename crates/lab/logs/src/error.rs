//! Errors of files that cannot be read.

use std::fmt;

/// Position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Number of bytes before it. In a compressed file: of the uncompressed contents.
    Byte(u64),
    /// Line, from 1.
    Line(u64),
}

/// A file that cannot be read, or not at all from some position on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Name of the file.
    pub file: String,
    /// Position, if there is one.
    pub at: Option<At>,
    /// Description of the mistake, and what to do, as a clause: `it holds no qlog trace`.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        match self.at {
            Some(At::Byte(byte)) => write!(f, ", byte {byte}")?,
            Some(At::Line(line)) => write!(f, ", line {line}")?,
            None => {}
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for Error {}
