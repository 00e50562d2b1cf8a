//! Opens files that another user, or a misbehaving stack, may have replaced.
//!
//! Everything below a starting folder is opened one component at a time without following links.
//! The last component must be a regular file, and opening it never waits: a pipe that nobody writes
//! to is an error.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, openat};

/// Opens a regular file for reading. Does not follow a link in the last component of the path.
///
/// # Errors
/// The system call's error, or that the file is not a regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_at(CWD, path, OFlags::NOFOLLOW)
}

/// Opens a regular file for reading, also through a link. Use this for paths that the user has
/// given.
///
/// # Errors
/// As for [`open`].
pub(crate) fn open_through_links(path: &Path) -> io::Result<File> {
    open_at(CWD, path, OFlags::empty())
}

/// Reads a regular file of at most `most` bytes, also through a link.
///
/// # Errors
/// As for [`open`]; a larger file, or one that is not UTF-8.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    open_through_links(path)?.take(most + 1).read_to_string(&mut text)?;
    match text.len() as u64 > most {
        true => Err(io::Error::new(io::ErrorKind::InvalidData, format!("larger than {most} bytes"))),
        false => Ok(text),
    }
}

/// Opens a regular file below a folder. No component may be a link.
///
/// # Errors
/// As for [`open`].
pub(crate) fn open_below(folder: impl AsFd, path: &Path) -> io::Result<File> {
    let parent = open_folder_below(folder, path.parent().unwrap_or(Path::new("")))?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    open_at(&parent, Path::new(name), OFlags::NOFOLLOW)
}

/// Names of the entries of a folder below another one. No component may be a link.
///
/// # Errors
/// The system call's error.
pub(crate) fn names_below(folder: impl AsFd, path: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let mut names = Vec::new();
    for entry in Dir::new(open_folder_below(folder, path)?)? {
        let entry = entry?;
        let name = std::ffi::OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn open_folder_below(folder: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = openat(folder, ".", flags, Mode::empty())?;
    for part in path.components() {
        let Component::Normal(name) = part else { return Err(io::ErrorKind::InvalidInput.into()) };
        at = openat(&at, name, flags, Mode::empty())?;
    }
    Ok(at)
}

fn open_at(folder: impl AsFd, path: &Path, more: OFlags) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | more;
    let file = openat(folder, path, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_regular_files_and_no_links_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("a")).unwrap();
        fs::write(path("a/file"), "x").unwrap();
        symlink("file", path("a/link")).unwrap();
        symlink("a", path("b")).unwrap();
        rustix::fs::mknodat(CWD, path("a/pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let root = File::open(dir.path()).unwrap();
        assert!(open(&path("a/file")).is_ok() && open_below(&root, Path::new("a/file")).is_ok());
        assert!(open_through_links(&path("a/link")).is_ok());
        for name in ["a/link", "a/pipe", "a", "a/none"] {
            assert!(open(&path(name)).is_err(), "{name}");
            assert!(open_below(&root, Path::new(name)).is_err(), "{name}");
        }
        for name in ["b/file", "../x", "a/../a/file", "/etc/passwd", ""] {
            assert!(open_below(&root, Path::new(name)).is_err(), "{name}");
        }
        assert_eq!(names_below(&root, Path::new("a")).unwrap(), ["file", "link", "pipe"]);
        assert!(names_below(&root, Path::new("b")).is_err());
    }
}
