//! Texts of files, and writing them atomically.

use std::io::{self, Write};
use std::path::Path;

use maud::Markup;

/// Returns a text without control characters: labels may hold them, and XML does not allow them.
pub(crate) fn legal(text: &Markup) -> String {
    let is_legal = |c: &char| !matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    text.0.chars().filter(is_legal).collect()
}

/// Writes these files into `dir`, in their order.
///
/// # Errors
/// Fails if a file cannot be written. No file is left half written.
pub fn write_all(dir: &Path, files: &[(impl AsRef<str>, impl AsRef<[u8]>)]) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    files.iter().try_for_each(|(name, text)| write(dir, name.as_ref(), text.as_ref()))
}

/// Writes a temporary file and renames it.
fn write(dir: &Path, name: &str, text: &[u8]) -> io::Result<()> {
    let mut file = temporary_file().tempfile_in(dir)?;
    file.write_all(text)?;
    file.persist(dir.join(name))?;
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
