//! Reads files that are small enough to be read at once.

use std::io::{self, Read};

use crate::Error;

/// Largest size, in bytes.
const LARGEST: u64 = 64 << 20;

/// Returns the contents, and whether they end too early.
pub(crate) fn contents(input: impl Read, name: &str) -> Result<(Vec<u8>, bool), Error> {
    let mut bytes = Vec::new();
    let failed = input.take(LARGEST + 1).read_to_end(&mut bytes).err();
    let message = match &failed {
        Some(error) if bytes.is_empty() || !is_cut(error) => error.to_string(),
        _ if bytes.len() as u64 > LARGEST => "it is larger than 64 MiB".to_owned(),
        _ => return Ok((bytes, failed.is_some())),
    };
    Err(Error { file: name.to_owned(), at: None, message })
}

/// Reports whether a compressed file ends too early, or with other data.
fn is_cut(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData
    )
}

/// Returns an error with the place that serde_json found.
pub(crate) fn wrong(name: &str, format: &str, error: &serde_json::Error) -> Error {
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or(&text);
    Error {
        file: name.to_owned(),
        at: Some(crate::At::Line(error.line() as u64)),
        message: format!("it is no {format} file that can be read: {reason}"),
    }
}
