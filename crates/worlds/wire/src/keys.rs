//! Files with the TLS secrets of a run, beside its capture.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::emu::Error;

/// Returns the file of a capture's secrets: `cubic.keys` for `cubic.pcapng`.
pub(crate) fn beside(capture: &Path) -> PathBuf {
    capture.with_extension("keys")
}

/// Writes secrets in the format of `SSLKEYLOGFILE`, for this user alone. A file of an earlier try is
/// replaced. Without any secret there is no file.
///
/// # Errors
/// A file that cannot be written.
pub(crate) fn write(file: &Path, secrets: &[u8]) -> Result<(), Error> {
    // Never through a link, which `create_new` refuses.
    let _ = fs::remove_file(file);
    if secrets.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    let written = created.and_then(|mut file| {
        file.write_all(secrets)?;
        file.write_all(b"\n")
    });
    written.map_err(|e| Error::system(format!("write the TLS secrets to {}", file.display()), e))
}
