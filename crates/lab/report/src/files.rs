//! Writes files atomically.

use std::io::{self, Write};
use std::path::Path;

/// Writes a temporary file and renames it. Control characters are removed: labels may hold them,
/// and XML does not allow them.
pub(crate) fn write_file(path: &Path, text: &str) -> io::Result<()> {
    let is_fit = |c: &char| !matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    let text: String = text.chars().filter(is_fit).collect();
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = temporary_file().tempfile_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

/// Temporary files are private by default. A report is readable for everybody the user's umask
/// allows.
fn temporary_file() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".report-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder
}
