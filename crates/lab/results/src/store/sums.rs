//! `SHA256SUMS` of a results folder, in the format of `sha256sum -c`, so that damage is noticed
//! before a number is used.
//!
//! Logs have XXH3 checksums of 128 bits in their own list, in the format of `xxh128sum -c`, and the
//! SHA-256 of that list is stored. SHA-256 of a log would take longer than the simulation: a log
//! has a kilobyte per packet. These checksums are computed while logs are written, not from the
//! files.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use experiment::input::open_regular;
use sha2::{Digest, Sha256};
use twox_hash::xxhash3_128;

use super::unfinished::LOCK;

pub(super) const NAME: &str = "SHA256SUMS";
/// List of the logs in the same folder.
const LOG_LIST: &str = "XXH128SUMS";

/// Checksum of a log.
#[derive(Default)]
pub(crate) struct LogHash(xxhash3_128::Hasher);

impl std::fmt::Debug for LogHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.hex())
    }
}

impl LogHash {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    pub(crate) fn hex(&self) -> String {
        format!("{:032x}", self.0.finish_128())
    }
}

/// Appends the checksum of a log to the list beside it. Logs end in any order and at the same time.
/// A line is a single write, and lines are sorted when all are there.
pub(crate) fn note(log: &Path, sum: &LogHash) -> io::Result<()> {
    let name = log.file_name().unwrap_or_default();
    let line = format!("{}  {}\n", sum.hex(), name.display());
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(log.with_file_name(LOG_LIST))?
        .write_all(line.as_bytes())
}

/// Writes the checksums of all files below a folder without one.
///
/// # Errors
/// Fails if a file cannot be read or written.
pub(super) fn write(dir: &Path) -> io::Result<()> {
    let all = files(dir)?;
    let mut summed = BTreeSet::new();
    for list in all.iter().filter(|file| is_log_list(file)) {
        let text = fs::read_to_string(list)?;
        let mut lines: Vec<(&str, &str)> = text.lines().map(parts).collect::<Result<_, _>>()?;
        lines.sort_by_key(|(_, name)| *name);
        summed.extend(lines.iter().map(|(_, name)| list.with_file_name(name)));
        let lines: String = lines.iter().map(|(sum, name)| format!("{sum}  {name}\n")).collect();
        fs::write(list, lines)?;
    }
    let mut lines = String::new();
    for file in all.iter().filter(|file| !summed.contains(*file)) {
        let name = file.strip_prefix(dir).map_err(io::Error::other)?;
        lines += &format!("{}  {}\n", digest(file)?, name.display());
    }
    fs::write(dir.join(NAME), lines)
}

pub(super) fn is_log_list(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name == LOG_LIST)
}

fn damaged(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Splits a line into checksum and name.
fn parts(line: &str) -> io::Result<(&str, &str)> {
    line.split_once("  ").ok_or_else(|| damaged(format!("not a checksum line: {line}")))
}

/// Returns the list of a folder, to notice that the folder was replaced.
pub(super) fn list(dir: &Path) -> Option<String> {
    open_regular(&dir.join(NAME)).and_then(io::read_to_string).ok()
}

/// Checks every file. Returns `false` if there is no list, because the folder is from an older
/// version.
///
/// # Errors
/// Fails if a file is missing or changed, or not listed and not the user's, and names it.
pub(super) fn check(dir: &Path) -> io::Result<bool> {
    let list = match open_regular(&dir.join(NAME)).and_then(io::read_to_string) {
        Ok(list) => list,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(named(NAME, &e)),
    };
    let mut listed = BTreeSet::new();
    for line in list.lines() {
        let (sum, name) = parts(line).map_err(|e| named(NAME, &e))?;
        compare(dir, name, sum, NAME, digest)?;
        listed.insert(dir.join(name));
        if is_log_list(Path::new(name)) {
            listed.extend(check_logs(dir, name)?);
        }
    }
    let ours = files(dir)?.into_iter().filter(|file| is_written(file.strip_prefix(dir).unwrap_or(file)));
    match ours.into_iter().find(|file| !listed.contains(file)) {
        Some(file) => Err(damaged(format!(
            "{} is not listed in {NAME}",
            file.strip_prefix(dir).unwrap_or(&file).display()
        ))),
        None => Ok(true),
    }
}

/// Files of a results folder beside the list.
const WRITTEN: &str =
    "manifest.toml summary.json runs.csv columns.json series.parquet flows.parquet rtt_cdf.parquet";

/// Reports whether a program writes a file of this name into results folders. Other files are the
/// user's.
pub(super) fn is_written(name: &Path) -> bool {
    let is_log = name.starts_with("qlog") || name.starts_with("pcap");
    is_log || WRITTEN.split(' ').any(|known| name == Path::new(known))
}

/// Checks the logs of a list that is itself unchanged, and returns them.
fn check_logs(dir: &Path, list: &str) -> io::Result<Vec<PathBuf>> {
    let text = io::read_to_string(open_regular(&dir.join(list))?).map_err(|e| named(list, &e))?;
    let folder = list.strip_suffix(LOG_LIST).unwrap_or_default();
    let check = |line| {
        let (sum, name) = parts(line).map_err(|e| named(list, &e))?;
        let name = format!("{folder}{name}");
        compare(dir, &name, sum, list, log_hash).map(|()| dir.join(name))
    };
    text.lines().map(check).collect()
}

fn compare(
    dir: &Path,
    name: &str,
    sum: &str,
    list: &str,
    of: fn(&Path) -> io::Result<String>,
) -> io::Result<()> {
    if of(&dir.join(name)).map_err(|e| named(name, &e))? == sum {
        return Ok(());
    }
    Err(damaged(format!("{name} does not match its checksum in {list}")))
}

/// Adds the name of a file to an error.
pub(super) fn named(file: &str, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        match error.kind() {
            io::ErrorKind::NotFound => format!("{file} is missing"),
            _ => format!("{file}: {error}"),
        },
    )
}

/// Returns the SHA-256 of a file in hexadecimal digits.
pub(super) fn digest(file: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    each_part(file, |part| hash.update(part))?;
    Ok(hex(&hash.finalize()))
}

/// Returns the checksum of a file as for logs.
pub(super) fn log_hash(file: &Path) -> io::Result<String> {
    let mut sum = LogHash::default();
    each_part(file, |part| sum.add(part))?;
    Ok(sum.hex())
}

fn each_part(file: &Path, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let (mut file, mut part) = (open_regular(file)?, vec![0; 1 << 16]);
    loop {
        match file.read(&mut part)? {
            0 => return Ok(()),
            length => take(&part[..length]),
        }
    }
}

/// Formats bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns all files below a folder except the list itself and the lock, sorted by name.
pub(super) fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(files(&entry.path())?);
        } else if entry.file_name() != NAME && entry.file_name() != LOCK {
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
        for (name, text) in [("runs.csv", "1,2"), ("qlog/b", "x")] {
            fs::write(dir.path().join(name), text).unwrap();
        }
        assert!(!check(dir.path()).unwrap(), "no list yet");
        write(dir.path()).unwrap();
        assert!(check(dir.path()).unwrap());
        let list = fs::read_to_string(dir.path().join(NAME)).unwrap();
        for (rest, unlisted) in [("", "qlog/b"), (list.split_inclusive('\n').next().unwrap(), "runs.csv")] {
            fs::write(dir.path().join(NAME), rest).unwrap();
            let problem = check(dir.path()).unwrap_err().to_string();
            assert_eq!(problem, format!("{unlisted} is not listed in SHA256SUMS"));
        }
        fs::write(dir.path().join(NAME), list).unwrap();
        for own in ["notes.txt", "own.csv", "own/runs.csv"] {
            fs::create_dir_all(dir.path().join("own")).unwrap();
            fs::write(dir.path().join(own), "the user's").unwrap();
        }
        assert!(check(dir.path()).unwrap());
        fs::write(dir.path().join("qlog/b"), "y").unwrap();
        assert!(check(dir.path()).unwrap_err().to_string().contains("qlog/b does not match"));
        fs::remove_file(dir.path().join("qlog/b")).unwrap();
        assert_eq!(check(dir.path()).unwrap_err().to_string(), "qlog/b is missing");
    }

    /// The damage is in the log, in its line, in the list or in another file.
    #[test]
    fn damage_of_a_log_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("qlog")).unwrap();
        fs::write(path("a.csv"), "1,2").unwrap();
        for (name, text) in [("qlog/b.sqlog", "later"), ("qlog/a.sqlog", "first"), ("qlog/c", "unsummed")] {
            fs::write(path(name), text).unwrap();
            if name != "qlog/c" {
                let mut sum = LogHash::default();
                sum.add(&text.as_bytes()[..2]);
                sum.add(&text.as_bytes()[2..]);
                note(&path(name), &sum).unwrap();
            }
        }
        write(dir.path()).unwrap();
        assert!(check(dir.path()).unwrap());
        let lists = fs::read_to_string(path(NAME)).unwrap();
        let listed: Vec<&str> = lists.lines().map(|line| parts(line).unwrap().1).collect();
        assert_eq!(listed, ["a.csv", "qlog/XXH128SUMS", "qlog/c"]);
        let quick = fs::read_to_string(path("qlog/XXH128SUMS")).unwrap();
        assert!(quick.lines().nth(1).unwrap().ends_with("  b.sqlog"), "in the order of names: {quick}");
        for (name, said) in [
            ("qlog/a.sqlog", "qlog/a.sqlog does not match its checksum in qlog/XXH128SUMS"),
            ("qlog/XXH128SUMS", "qlog/XXH128SUMS does not match its checksum in SHA256SUMS"),
            ("qlog/c", "qlog/c does not match"),
        ] {
            let whole = fs::read(path(name)).unwrap();
            let mut damaged = whole.clone();
            damaged[0] ^= 1;
            fs::write(path(name), damaged).unwrap();
            assert!(check(dir.path()).unwrap_err().to_string().contains(said), "{name}");
            fs::remove_file(path(name)).unwrap();
            assert!(check(dir.path()).unwrap_err().to_string().contains(name));
            fs::write(path(name), whole).unwrap();
        }
        assert!(check(dir.path()).unwrap());
    }

    /// The reference implementation prints this for `printf abc | xxh128sum`.
    #[test]
    fn sums_of_logs_are_those_of_xxh128sum() {
        let mut sum = LogHash::default();
        sum.add(b"abc");
        assert_eq!(sum.hex(), "06b05ab6733a618578af5f94892f3950");
    }
}
