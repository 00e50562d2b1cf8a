//! `SHA256SUMS` of a results folder, as `sha256sum -c` reads it: damage is seen before a number is believed.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use experiment::input::open_regular;
use sha2::{Digest, Sha256};

const NAME: &str = "SHA256SUMS";

/// Writes the sums of all files below a folder.
///
/// # Errors
/// What the file system refuses.
pub(super) fn write(dir: &Path) -> io::Result<()> {
    let mut lines = String::new();
    for file in files(dir)? {
        let name = file.strip_prefix(dir).map_err(io::Error::other)?;
        lines += &format!("{}  {}\n", digest(&file)?, name.display());
    }
    fs::write(dir.join(NAME), lines)
}

/// Checks every file that is listed. A folder without the list is of an older version and passes; says whether there is one.
///
/// # Errors
/// The file that is missing or changed.
pub(super) fn check(dir: &Path) -> io::Result<bool> {
    let list = match open_regular(&dir.join(NAME)).and_then(io::read_to_string) {
        Ok(list) => list,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(e),
    };
    for line in list.lines() {
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let (sum, name) =
            line.split_once("  ").ok_or_else(|| damaged(&format!("{NAME}: not a sum: {line}")))?;
        let found = digest(&dir.join(name)).map_err(|e| io::Error::new(e.kind(), format!("{name}: {e}")))?;
        if found != sum {
            return Err(damaged(&format!(
                "{name}: changed since it was written (its sum is not that of {NAME})"
            )));
        }
    }
    Ok(true)
}

/// SHA-256 of a file in hexadecimal digits.
pub(super) fn digest(file: &Path) -> io::Result<String> {
    let (mut hash, mut file, mut part) = (Sha256::new(), open_regular(file)?, vec![0; 1 << 16]);
    loop {
        match file.read(&mut part)? {
            0 => break,
            length => hash.update(&part[..length]),
        }
    }
    Ok(hex(&hash.finalize()))
}

/// In hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All files below a folder but the list itself, in the order of their names.
pub(super) fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(files(&entry.path())?);
        } else if entry.file_name() != NAME {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("qlog")).unwrap();
        for (name, text) in [("a.csv", "1,2"), ("qlog/b", "x")] {
            fs::write(dir.path().join(name), text).unwrap();
        }
        assert!(!check(dir.path()).unwrap(), "no list yet");
        write(dir.path()).unwrap();
        assert!(check(dir.path()).unwrap());
        fs::write(dir.path().join("qlog/b"), "y").unwrap();
        assert!(check(dir.path()).unwrap_err().to_string().contains("qlog/b: changed"));
        fs::remove_file(dir.path().join("qlog/b")).unwrap();
        assert!(check(dir.path()).unwrap_err().to_string().contains("qlog/b: "));
    }
}
