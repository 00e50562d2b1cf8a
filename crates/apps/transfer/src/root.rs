//! Opens files below one folder for a server.
//!
//! Paths come from untrusted clients. A path is percent-decoded (RFC 3986 section 2.1) and must
//! consist of plain names. The kernel then opens it below the folder (`openat2` with
//! RESOLVE_BENEATH). Nothing is looked up twice, so a link out of the folder is never followed,
//! even if it is created late.
//!
//! If the kernel lacks or forbids the call, names are opened one by one and no links are followed.
//!
//! A bounded number of files stays open, those read last. Others are opened again when they are
//! read.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::rc::Rc;

use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat, openat2};
use rustix::io::Errno;

/// Longest accepted path, in bytes before decoding.
pub const MAX_PATH: usize = 4096;
/// Largest number of files that a server keeps open at once, over all requests. It is well below
/// the usual limit of 1024 descriptors of a process.
pub const MAX_OPEN: usize = 256;

/// Reason for not serving a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Invalid path: a bad escape, an empty name, `.`, `..`, an encoded `/` or zero byte, or too
    /// long.
    Bad,
    /// The file does not exist or lies outside the folder.
    NotFound,
    /// The file is not readable or not a regular file.
    Forbidden,
    /// Reading failed, or the file has changed since it was opened.
    Broken,
    /// The process or the system has no file descriptor left.
    Busy,
}

impl Refusal {
    /// Returns the HTTP status (RFC 9110 section 15). For `hq-interop` it is the error code of the
    /// reset.
    pub const fn status(self) -> u16 {
        match self {
            Self::Bad => 400,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::Broken => 500,
            Self::Busy => 503,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bad => "invalid path",
            Self::NotFound => "no such file",
            Self::Forbidden => "not a readable regular file",
            Self::Broken => "the file cannot be read or has changed",
            Self::Busy => "too many open files",
        })
    }
}

impl std::error::Error for Refusal {}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        match errno {
            // EXDEV: the path leaves the folder. ELOOP: a link where none is followed, or a loop.
            Errno::NOENT | Errno::NOTDIR | Errno::XDEV | Errno::LOOP => Self::NotFound,
            Errno::ACCESS | Errno::PERM | Errno::NXIO | Errno::ISDIR | Errno::NODEV => Self::Forbidden,
            Errno::NAMETOOLONG | Errno::INVAL => Self::Bad,
            Errno::MFILE | Errno::NFILE => Self::Busy,
            _ => Self::Broken,
        }
    }
}

/// A folder whose files are served. Clones share the same open files.
#[derive(Clone, Debug)]
pub struct Root(Rc<Folder>);

#[derive(Debug)]
struct Folder {
    folder: OwnedFd,
    /// True to resolve paths with `openat2`.
    beneath: bool,
    /// Largest number of files that are open at once.
    most: usize,
    open: RefCell<OpenFiles>,
}

/// Open files with their numbers, the one read last at the end.
#[derive(Debug, Default)]
struct OpenFiles {
    files: VecDeque<(u64, File)>,
    next: u64,
}

impl OpenFiles {
    fn take(&mut self, number: u64) -> Option<File> {
        let at = self.files.iter().position(|(known, _)| *known == number)?;
        self.files.remove(at).map(|(_, file)| file)
    }

    /// Adds a file. At most so many are open.
    fn put(&mut self, number: u64, file: File, most: usize) {
        if self.files.len() >= most {
            self.files.pop_front();
        }
        self.files.push_back((number, file));
    }
}

impl Root {
    /// Opens the folder, of which at most `most` files are open at once. Its files are still served
    /// if it is moved later.
    ///
    /// # Errors
    /// An error if it is not a folder or cannot be opened.
    pub fn open(folder: &Path, most: usize) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(folder, flags, Mode::empty())?;
        Ok(Self(Rc::new(Folder { folder, beneath: true, most, open: RefCell::default() })))
    }

    /// Disables `openat2`, as on kernels before 5.6. No symbolic links are followed, not even
    /// inside the folder.
    ///
    /// # Errors
    /// An error if no descriptor is left.
    pub fn without_links(&self) -> io::Result<Self> {
        let folder = self.0.folder.try_clone()?;
        Ok(Self(Rc::new(Folder { folder, beneath: false, most: self.0.most, open: RefCell::default() })))
    }

    /// Opens the file at a request's path. The path begins with `/`; a query or fragment is
    /// ignored.
    ///
    /// # Errors
    /// The reason for not serving it.
    pub fn file(&self, path: &str) -> Result<Served, Refusal> {
        let name = decode(path)?;
        let file = self.0.open(&name)?;
        let metadata = file.metadata().map_err(|_| Refusal::Broken)?;
        if !metadata.is_file() {
            return Err(Refusal::Forbidden);
        }
        let mut open = self.0.open.borrow_mut();
        let number = open.next;
        open.next += 1;
        open.put(number, file, self.0.most);
        Ok(Served { root: self.clone(), name, number, version: version(&metadata) })
    }
}

impl Folder {
    /// Opens a file. If no descriptor is left, others of this folder are closed for it.
    fn open(&self, name: &[u8]) -> Result<File, Refusal> {
        loop {
            match self.resolve(name) {
                Err(Refusal::Busy) if self.open.borrow_mut().files.pop_front().is_some() => {}
                opened => return opened.map(File::from),
            }
        }
    }

    fn resolve(&self, name: &[u8]) -> Result<OwnedFd, Refusal> {
        // O_NONBLOCK: opening a pipe without a writer would block forever.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        if self.beneath {
            let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            match openat2(&self.folder, name, flags, Mode::empty(), how) {
                // The kernel lacks the call, or a sandbox forbids it.
                Err(Errno::NOSYS | Errno::PERM) => {}
                // A concurrent rename kept the kernel from a safe answer. Try once more.
                Err(Errno::AGAIN) => {
                    return Ok(openat2(&self.folder, name, flags, Mode::empty(), how)?);
                }
                other => return Ok(other?),
            }
        }
        let mut names = name.split(|byte| *byte == b'/').peekable();
        let mut folder: Option<OwnedFd> = None;
        while let Some(name) = names.next() {
            let from = folder.as_ref().map_or(self.folder.as_fd(), AsFd::as_fd);
            let flags = match names.peek() {
                Some(_) => OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW,
                None => flags | OFlags::NOFOLLOW,
            };
            folder = Some(openat(from, OsStr::from_bytes(name), flags, Mode::empty())?);
        }
        folder.ok_or(Refusal::Bad)
    }
}

/// Decodes a path to names joined by `/`, without a leading slash.
fn decode(path: &str) -> Result<Vec<u8>, Refusal> {
    if path.len() > MAX_PATH {
        return Err(Refusal::Bad);
    }
    let end = path.find(['?', '#']).unwrap_or(path.len());
    let names = path[..end].strip_prefix('/').ok_or(Refusal::Bad)?;
    let names: Vec<Vec<u8>> = names.split('/').map(decode_name).collect::<Result<_, _>>()?;
    Ok(names.join(&b'/'))
}

/// Percent-decodes one name of a path (RFC 3986 section 2.1).
///
/// # Errors
/// [`Refusal::Bad`] for an invalid escape, for an empty name, `.` or `..`, or for a name with `/` or a
/// zero byte.
pub fn decode_name(name: &str) -> Result<Vec<u8>, Refusal> {
    let mut decoded = Vec::with_capacity(name.len());
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        decoded.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let value = digit().zip(digit()).map(|(high, low)| high * 16 + low);
                value.and_then(|value| u8::try_from(value).ok()).ok_or(Refusal::Bad)?
            }
            byte => byte,
        });
    }
    let plain = !matches!(&decoded[..], b"" | b"." | b"..");
    match plain && !decoded.iter().any(|byte| matches!(byte, 0 | b'/')) {
        true => Ok(decoded),
        false => Err(Refusal::Bad),
    }
}

/// Identity of a file (device and inode), its length, and its modification time.
type Version = (u64, u64, u64, i64, i64);

fn version(file: &Metadata) -> Version {
    (file.dev(), file.ino(), file.len(), file.mtime(), file.mtime_nsec())
}

/// A file to serve, as it was at the time of the request.
#[derive(Debug)]
pub struct Served {
    root: Root,
    name: Vec<u8>,
    number: u64,
    version: Version,
}

impl Served {
    /// Returns the length at the time of the request, in bytes.
    pub const fn len(&self) -> u64 {
        self.version.2
    }

    /// Reports whether the file is empty.
    pub const fn is_empty(&self) -> bool {
        self.version.2 == 0
    }

    /// Reads `out.len()` bytes at `offset`.
    ///
    /// A file that was removed, or replaced by another file of the same name, can still be read to
    /// its end while it is open: until `most` others were read. A file that was modified,
    /// truncated or extended cannot. Its length and modification time show the change.
    ///
    /// # Errors
    /// [`Refusal::Broken`] if the file has changed or cannot be read, [`Refusal::Busy`] if it cannot
    /// be opened again.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Refusal> {
        let broken = |_: io::Error| Refusal::Broken;
        let open = self.root.0.open.borrow_mut().take(self.number);
        let file = open.map_or_else(|| self.root.0.open(&self.name), Ok);
        let file = file.map_err(|why| if why == Refusal::Busy { why } else { Refusal::Broken })?;
        file.read_exact_at(out, offset).map_err(broken)?;
        // Check after reading, so that a change before or during the read is noticed.
        let now = version(&file.metadata().map_err(broken)?);
        self.root.0.open.borrow_mut().put(self.number, file, self.root.0.most);
        if now == self.version { Ok(()) } else { Err(Refusal::Broken) }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.root.0.open.borrow_mut().take(self.number);
    }
}

#[cfg(test)]
mod tests;
