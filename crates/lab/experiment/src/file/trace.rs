//! Reads a recorded link, `rate = { trace = "verizon.down" }`, and its file.
//!
//! The path is relative to the experiment file. If the link is on the command line or in a shipped
//! experiment, which have no folder, it is relative to the current folder. A file is read once,
//! however many cases and links use it. The SHA-256 of its content, not its path, identifies it in
//! manifests.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::SystemTime;

use ::link::{RateModel, Recording, Trace, TraceFile};
use sha2::{Digest, Sha256};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::Cursor;
use crate::input;

/// Largest file, in bytes.
const MAX_BYTES: u64 = 200 << 20;

const RIGHT: &str = "write the file of a recorded link, like { trace = \"verizon.down\" }";

/// Reads the table of a recorded link.
pub(crate) fn read(cursor: &Cursor<'_>) -> Result<RateModel, Diagnostic> {
    let fields = cursor.table(&["sha256", "trace"])?;
    let at = fields.need("trace", RIGHT)?;
    let trace: String = at.read()?;
    let path = folder(cursor.file()).join(&trace);
    let loaded = load(&path).map_err(|(wrong, right)| at.invalid(wrong, right))?;
    if let Some(known) = fields.get("sha256")
        && known.read::<String>()? != loaded.sha256
    {
        let wrong = format!("{} has other content: its SHA-256 is {}", path.display(), loaded.sha256);
        return Err(known.invalid(wrong, "restore the file, or remove `sha256`"));
    }
    let file = TraceFile { trace, sha256: Some(loaded.sha256) };
    Ok(RateModel::Trace(Trace::new(file, loaded.recording)))
}

/// Returns the folder that paths in a file are relative to.
fn folder(file: &str) -> &Path {
    let file = Path::new(file);
    if file.is_file() { file.parent().unwrap_or(file) } else { Path::new("") }
}

/// Makes the paths of a file's traces relative to the current folder, for another file.
pub(crate) fn from_here(file: &str, value: &mut toml::Value) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                match value {
                    toml::Value::String(path) if key == "trace" => {
                        *path = folder(file).join(&path).display().to_string();
                    }
                    value => from_here(file, value),
                }
            }
        }
        toml::Value::Array(values) => values.iter_mut().for_each(|value| from_here(file, value)),
        _ => {}
    }
}

/// Returns the tables of a file's links in both directions.
pub fn links(tables: &mut toml::Table) -> impl Iterator<Item = &mut toml::Table> {
    let both = tables.iter_mut().filter(|(key, _)| ["link", "reverse"].contains(&key.as_str()));
    let each = both.flat_map(|(_, value)| match value {
        toml::Value::Array(links) => links.iter_mut().collect(),
        link => vec![link],
    });
    each.filter_map(toml::Value::as_table_mut)
}

/// A file that was read.
struct Loaded {
    recording: Arc<Recording>,
    sha256: String,
}

/// A file that some link still uses, with the size and time that it had.
struct Known {
    state: (u64, Option<SystemTime>),
    recording: Weak<Recording>,
    sha256: String,
}

/// Reads a file, unless a link already uses it. Returns a message and advice if it is no trace.
fn load(path: &Path) -> Result<Loaded, (String, String)> {
    static KNOWN: Mutex<BTreeMap<PathBuf, Known>> = Mutex::new(BTreeMap::new());
    let refuse =
        |e: std::io::Error| (format!("{}: {}", path.display(), input::unreadable(&e)), String::new());
    let file = input::open_regular(path).map_err(refuse)?;
    let (name, metadata) = (fs::canonicalize(path).map_err(refuse)?, file.metadata().map_err(refuse)?);
    let state = (metadata.len(), metadata.modified().ok());
    // Others that need the file wait until it is read.
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|_, known| known.recording.strong_count() > 0);
    if let Some(known) = all.get(&name).filter(|known| known.state == state)
        && let Some(recording) = known.recording.upgrade()
    {
        return Ok(Loaded { recording, sha256: known.sha256.clone() });
    }
    let Loaded { recording, sha256 } = parse(path, file)?;
    all.insert(name, Known { state, recording: Arc::downgrade(&recording), sha256: sha256.clone() });
    Ok(Loaded { recording, sha256 })
}

fn parse(path: &Path, file: File) -> Result<Loaded, (String, String)> {
    let label = path.display().to_string();
    let text = input::read_at_most(MAX_BYTES, "shorten it; a trace repeats", &label, file)
        .map_err(|problem| (problem.clone().with_right("").to_string(), problem.right))?;
    let recording = Recording::parse(&text)
        .map_err(|mistake| (format!("{label}:{}: {}", mistake.line, mistake.wrong), mistake.right))?;
    let sha256 = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Loaded { recording: Arc::new(recording), sha256 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that a link still uses is not read again, unless it changed. `./` is no other file.
    #[test]
    fn a_file_is_read_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.down");
        let load = |path: &Path| load(path).map_err(|e| e.0).unwrap().recording;
        fs::write(&path, "1\n").unwrap();
        let first = load(&path);
        assert!(Arc::ptr_eq(&first, &load(&dir.path().join("./a.down"))));
        fs::write(&path, "1\n2\n").unwrap();
        assert!(!Arc::ptr_eq(&first, &load(&path)));
    }
}
