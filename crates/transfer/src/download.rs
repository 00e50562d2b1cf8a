//! A file that appears whole or not at all.
//!
//! Bytes go into a file without a name in the folder where it is to stand (`O_TMPFILE`), which the
//! system forgets whatever happens to the program; only the whole file gets a name. Where a file
//! system has no such files, into one with a name of its own beside it. It takes the place of a
//! plain file and of nothing else: a device that gave way to a file would be missed by the whole
//! machine.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, FileType, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open, renameat, unlinkat};
use rustix::io::Errno;
use tempfile::{Builder, NamedTempFile};

use crate::board::Failure;

/// How many names are tried for the moment before a file takes the place of another.
const NAMES: u32 = 100;

#[derive(Debug)]
enum Draft {
    Nameless(File),
    Named(NamedTempFile),
}

/// A file that is not whole yet.
#[derive(Debug)]
pub struct Download {
    draft: Draft,
    out: PathBuf,
}

impl Download {
    /// Whether a file may stand there: nothing does yet, or a plain file.
    ///
    /// # Errors
    /// [`Failure::Disk`].
    pub fn check(out: &Path) -> Result<(), Failure> {
        replaceable(out).map_err(|error| Failure::Disk(out.to_owned(), error))
    }

    /// Begins a file that will stand at `out`, in place of one that stands there.
    ///
    /// # Errors
    /// [`Failure::Disk`].
    pub fn begin(out: &Path) -> Result<Self, Failure> {
        Self::check(out)?;
        let fail = |error: io::Error| Failure::Disk(out.to_owned(), error);
        let folder = folder(out);
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let draft = match open(folder, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => Draft::Nameless(File::from(file)),
            // Kernels and file systems without nameless files say one of these.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                let mode = Permissions::from_mode(0o666);
                let file = Builder::new().prefix(".ackclock-").permissions(mode).tempfile_in(folder);
                Draft::Named(file.map_err(fail)?)
            }
            Err(error) => return Err(fail(error.into())),
        };
        Ok(Self { draft, out: out.to_owned() })
    }

    /// Further bytes.
    ///
    /// # Errors
    /// [`Failure::Disk`], such as for a full one.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match &mut self.draft {
            Draft::Nameless(file) => file.write_all(bytes),
            Draft::Named(file) => file.write_all(bytes),
        };
        written.map_err(|error| Failure::Disk(self.out.clone(), error))
    }

    /// It is whole: it gets its name.
    ///
    /// # Errors
    /// [`Failure::Disk`]; nothing is left then.
    pub fn keep(self) -> Result<(), Failure> {
        // It may have changed since the beginning.
        Self::check(&self.out)?;
        let kept = match self.draft {
            Draft::Nameless(file) => name(&file, &self.out),
            Draft::Named(file) => file.persist(&self.out).map(drop).map_err(|error| error.error),
        };
        kept.map_err(|error| Failure::Disk(self.out.clone(), error))
    }
}

fn replaceable(out: &Path) -> io::Result<()> {
    let what = match fs::symlink_metadata(out) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => kind(found?.file_type()),
    };
    what.map_or(Ok(()), |what| {
        Err(io::Error::other(format!("{what} stands there, and nothing but a plain file is replaced")))
    })
}

/// What is no plain file, in a word.
fn kind(found: FileType) -> Option<&'static str> {
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

/// Gives a nameless file a name; one that stands there gives way in one step.
fn name(file: &File, out: &Path) -> io::Result<()> {
    let nameless = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = |to: &Path| linkat(CWD, &nameless, CWD, to, AtFlags::SYMLINK_FOLLOW);
    match link(out) {
        Err(Errno::EXIST) => {}
        other => return Ok(other?),
    }
    for number in 0..NAMES {
        let beside = folder(out).join(beside(out, number));
        match link(&beside) {
            Err(Errno::EXIST) => continue,
            other => other?,
        }
        let renamed = renameat(CWD, &beside, CWD, out);
        if renamed.is_err() {
            // Nothing that has only half of its way behind it stays.
            let _ = unlinkat(CWD, &beside, AtFlags::empty());
        }
        return Ok(renamed?);
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

/// `.name.N.part`, with as much of the name as is sure to fit.
fn beside(out: &Path, number: u32) -> OsString {
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
            download.keep().unwrap();
            assert_eq!(fs::read_to_string(&out).unwrap(), text);
        }
        assert_eq!(names(dir.path()), ["a"]);
    }

    /// A name that is taken by a folder meanwhile, and a folder that is none.
    #[test]
    fn nothing_is_left_of_what_cannot_be_named() {
        let dir = tempfile::tempdir().unwrap();
        let mut download = Download::begin(&dir.path().join("a")).unwrap();
        download.write(b"text").unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        assert!(matches!(download.keep(), Err(Failure::Disk(..))));
        assert_eq!(names(dir.path()), ["a"]);
        assert!(matches!(Download::begin(&dir.path().join("none/a")), Err(Failure::Disk(..))));
    }

    fn refused(out: &Path, what: &str) {
        let failure = Download::begin(out).unwrap_err().to_string();
        assert!(failure.contains(&format!("{what} stands there")), "{failure}");
    }

    /// Neither at the beginning nor when it has come there meanwhile.
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
        assert!(download.keep().unwrap_err().to_string().contains("a symbolic link stands there"));
        assert!(fs::symlink_metadata(at("later")).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(at("plain")).unwrap(), "text");
    }

    /// The numbers are those of /dev/null, in a folder of the test's.
    #[test]
    fn no_device_gives_way() {
        let dir = tempfile::tempdir().unwrap();
        let null = dir.path().join("null");
        let kind = rustix::fs::FileType::CharacterDevice;
        if let Err(error) = mknodat(CWD, &null, kind, Mode::RUSR, makedev(1, 3)) {
            eprintln!("skipped: devices are made by root alone ({error})");
            return;
        }
        refused(&null, "a device");
        assert!(fs::symlink_metadata(&null).unwrap().file_type().is_char_device());
    }

    #[test]
    fn a_full_disk_says_so() {
        let mut full =
            Download { draft: Draft::Nameless(File::create("/dev/full").unwrap()), out: "x".into() };
        let failure = full.write(b"text").unwrap_err();
        assert!(failure.to_string().contains("No space left"), "{failure}");
    }
}
