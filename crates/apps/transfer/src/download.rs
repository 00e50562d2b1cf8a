//! Writes files that appear only when they are complete.
//!
//! Bytes go to an unnamed file in the target's folder (`O_TMPFILE`). The system removes it if the
//! program dies. Only the complete file gets a name. A file system without unnamed files gets a
//! temporary file with a name in the same folder.
//!
//! A download replaces only regular files. To replace a device with a file could break the machine.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, FileType, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open, renameat, unlinkat};
use rustix::io::Errno;
use tempfile::{Builder, NamedTempFile};

use crate::progress::Failure;

/// Largest number of temporary names to try before replacing a file.
const MAX_NAMES: u32 = 100;

#[derive(Debug)]
enum Draft {
    Unnamed(File),
    Named(NamedTempFile),
}

/// A file that is not yet complete.
#[derive(Debug)]
pub struct Download {
    draft: Draft,
    out: PathBuf,
}

impl Download {
    /// Checks that a download may create or replace `out`. An existing target must be a regular
    /// file.
    ///
    /// # Errors
    /// [`Failure::Disk`].
    pub fn check(out: &Path) -> Result<(), Failure> {
        replaceable(out).map_err(|error| Failure::Disk(out.to_owned(), error))
    }

    /// Begins a file that will be created at `out`, or will replace the regular file there.
    ///
    /// # Errors
    /// [`Failure::Disk`].
    pub fn begin(out: &Path) -> Result<Self, Failure> {
        Self::check(out)?;
        let fail = |error: io::Error| Failure::Disk(out.to_owned(), error);
        let folder = folder(out);
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let draft = match open(folder, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => Draft::Unnamed(File::from(file)),
            // Errors of kernels and file systems without unnamed files.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                let mode = Permissions::from_mode(0o666);
                let file = Builder::new().prefix(".ackclock-").permissions(mode).tempfile_in(folder);
                Draft::Named(file.map_err(fail)?)
            }
            Err(error) => return Err(fail(error.into())),
        };
        Ok(Self { draft, out: out.to_owned() })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// [`Failure::Disk`], for example if the disk is full.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match &mut self.draft {
            Draft::Unnamed(file) => file.write_all(bytes),
            Draft::Named(file) => file.write_all(bytes),
        };
        written.map_err(|error| Failure::Disk(self.out.clone(), error))
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// [`Failure::Disk`]. Nothing remains in that case.
    pub fn commit(self) -> Result<(), Failure> {
        // The target may have changed since the beginning.
        Self::check(&self.out)?;
        let kept = match self.draft {
            Draft::Unnamed(file) => link_file(&file, &self.out),
            Draft::Named(file) => file.persist(&self.out).map(drop).map_err(|error| error.error),
        };
        kept.map_err(|error| Failure::Disk(self.out.clone(), error))
    }
}

fn replaceable(out: &Path) -> io::Result<()> {
    let what = match fs::symlink_metadata(out) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => describe_kind(found?.file_type()),
    };
    what.map_or(Ok(()), |what| {
        Err(io::Error::other(format!("refusing to overwrite {what}, which is not a regular file")))
    })
}

/// Describes a file type. Returns `None` for a regular file.
fn describe_kind(found: FileType) -> Option<&'static str> {
    Some(match found {
        found if found.is_file() => return None,
        found if found.is_dir() => "a folder",
        found if found.is_symlink() => "a symbolic link",
        found if found.is_fifo() => "a named pipe",
        found if found.is_socket() => "a socket",
        _ => "a device",
    })
}

fn folder(out: &Path) -> &Path {
    out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Gives an unnamed file a name. An existing file is replaced atomically.
fn link_file(file: &File, out: &Path) -> io::Result<()> {
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = |to: &Path| linkat(CWD, &unnamed, CWD, to, AtFlags::SYMLINK_FOLLOW);
    match link(out) {
        Err(Errno::EXIST) => {}
        other => return Ok(other?),
    }
    for number in 0..MAX_NAMES {
        let temporary = folder(out).join(temporary_name(out, number));
        match link(&temporary) {
            Err(Errno::EXIST) => continue,
            other => other?,
        }
        let renamed = renameat(CWD, &temporary, CWD, out);
        if renamed.is_err() {
            // Do not leave the temporary name behind.
            let _ = unlinkat(CWD, &temporary, AtFlags::empty());
        }
        return Ok(renamed?);
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

/// Returns a temporary name, `.NAME.PID-NUMBER.part`. It has at most 50 characters of the name.
fn temporary_name(out: &Path, number: u32) -> OsString {
    let name = out.file_name().unwrap_or(OsStr::new("file")).to_string_lossy();
    let short: String = name.chars().take(50).collect();
    format!(".{short}.{}-{number}.part", std::process::id()).into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use rustix::fs::{makedev, mknodat};

    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut all: Vec<String> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        all.sort();
        all
    }

    #[test]
    fn whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("a");
        let mut dropped = Download::begin(&out).unwrap();
        dropped.write(b"half").unwrap();
        drop(dropped);
        assert!(names(dir.path()).is_empty());
        for text in ["first", "second"] {
            let mut download = Download::begin(&out).unwrap();
            download.write(text.as_bytes()).unwrap();
            download.commit().unwrap();
            assert_eq!(fs::read_to_string(&out).unwrap(), text);
        }
        assert_eq!(names(dir.path()), ["a"]);
    }

    /// The name becomes a folder during the download, and the folder does not exist.
    #[test]
    fn nothing_is_left_of_what_cannot_be_named() {
        let dir = tempfile::tempdir().unwrap();
        let mut download = Download::begin(&dir.path().join("a")).unwrap();
        download.write(b"text").unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        assert!(matches!(download.commit(), Err(Failure::Disk(..))));
        assert_eq!(names(dir.path()), ["a"]);
        assert!(matches!(Download::begin(&dir.path().join("none/a")), Err(Failure::Disk(..))));
    }

    fn refused(out: &Path, what: &str) {
        let failure = Download::begin(out).unwrap_err().to_string();
        assert!(failure.contains(&format!("refusing to overwrite {what}")), "{failure}");
    }

    /// Other targets are refused at the beginning, and also if they appear during the download.
    #[test]
    fn nothing_but_plain_files_gives_way() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("plain"), "text").unwrap();
        symlink("plain", at("link")).unwrap();
        symlink("none", at("broken")).unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        mknodat(CWD, at("pipe"), rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        fs::create_dir(at("folder")).unwrap();
        for (name, what) in [
            ("link", "a symbolic link"),
            ("broken", "a symbolic link"),
            ("socket", "a socket"),
            ("pipe", "a named pipe"),
            ("folder", "a folder"),
        ] {
            refused(&at(name), what);
        }
        let download = Download::begin(&at("later")).unwrap();
        symlink("plain", at("later")).unwrap();
        assert!(download.commit().unwrap_err().to_string().contains("refusing to overwrite a symbolic link"));
        assert!(fs::symlink_metadata(at("later")).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(at("plain")).unwrap(), "text");
    }

    /// The device has the numbers of /dev/null, but lies in the test's folder.
    #[test]
    fn no_device_gives_way() {
        let dir = tempfile::tempdir().unwrap();
        let null = dir.path().join("null");
        let kind = rustix::fs::FileType::CharacterDevice;
        if let Err(error) = mknodat(CWD, &null, kind, Mode::RUSR, makedev(1, 3)) {
            eprintln!("skipped: only root can create devices ({error})");
            return;
        }
        refused(&null, "a device");
        assert!(fs::symlink_metadata(&null).unwrap().file_type().is_char_device());
    }

    #[test]
    fn a_full_disk_says_so() {
        let mut full =
            Download { draft: Draft::Unnamed(File::create("/dev/full").unwrap()), out: "x".into() };
        let failure = full.write(b"text").unwrap_err();
        assert!(failure.to_string().contains("No space left"), "{failure}");
    }
}
