//! Files that appear whole or not at all.

use std::io::{self, Write};
use std::path::Path;

/// Writes aside and renames. Control characters, which labels may hold, would make any XML ill-formed: they go.
pub(crate) fn put(path: &Path, text: &str) -> io::Result<()> {
    let is_fit = |c: &char| !matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    let text: String = text.chars().filter(is_fit).collect();
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = aside().tempfile_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

/// Temporary files are private by default; a report is for everybody whom the user's umask lets read it.
fn aside() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".report-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder
}
