//! Files under one folder, and nothing else: what a server may hand out.
//!
//! A path comes from a stranger. It is decoded (RFC 3986 section 2.1), refused where it is not a
//! plain chain of names, and opened by the kernel from the folder downwards (`openat2` with
//! RESOLVE_BENEATH): a link that leads out, however late it is put there, is not followed, since
//! nothing is looked up twice. Where a kernel lacks the call, or forbids it, names are opened one
//! by one and no link is followed at all.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat, openat2};
use rustix::io::Errno;

/// The longest path that is looked at, in bytes before it is decoded.
pub const MAX_PATH: usize = 4096;

/// Why there is no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is no path: an escape that is none, a name with `/` or a zero byte in it, `.`, `..`, too
    /// long.
    Bad,
    /// There is none, or it leads out of the folder.
    NotFound,
    /// It may not be read, or is no regular file.
    Forbidden,
    /// Reading it fails, or it has changed since it was opened.
    Broken,
}

impl Refusal {
    /// The status of HTTP (RFC 9110 section 15), which `hq-interop` has as the error code of its
    /// reset.
    pub const fn status(self) -> u16 {
        match self {
            Self::Bad => 400,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::Broken => 500,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bad => "not a path",
            Self::NotFound => "no such file",
            Self::Forbidden => "no regular file that may be read",
            Self::Broken => "the file cannot be read, or has changed",
        })
    }
}

impl std::error::Error for Refusal {}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        match errno {
            // EXDEV: RESOLVE_BENEATH was about to leave. ELOOP: a link where none is followed, or
            // links for ever.
            Errno::NOENT | Errno::NOTDIR | Errno::XDEV | Errno::LOOP => Self::NotFound,
            Errno::ACCESS | Errno::PERM | Errno::NXIO | Errno::ISDIR | Errno::NODEV => Self::Forbidden,
            Errno::NAMETOOLONG | Errno::INVAL => Self::Bad,
            _ => Self::Broken,
        }
    }
}

/// The folder.
#[derive(Debug)]
pub struct Root {
    folder: OwnedFd,
    /// The kernel has `openat2`.
    beneath: bool,
}

impl Root {
    /// Opens the folder. It may move later: what is handed out stays what is in it.
    ///
    /// # Errors
    /// When it is none, or may not be opened.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { folder: open(folder, flags, Mode::empty())?, beneath: true })
    }

    /// The same without `openat2`, as on kernels before 5.6: no symbolic link is followed, not even
    /// inside the folder.
    #[must_use]
    pub fn without_links(mut self) -> Self {
        self.beneath = false;
        self
    }

    /// Opens the file of a request's path, which begins with `/`; what follows `?` or `#` does not
    /// count.
    ///
    /// # Errors
    /// Why not.
    pub fn file(&self, path: &str) -> Result<Served, Refusal> {
        let name = decode(path)?;
        let file = File::from(self.resolve(&name)?);
        let metadata = file.metadata().map_err(|_| Refusal::Broken)?;
        if !metadata.is_file() {
            return Err(Refusal::Forbidden);
        }
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Ok(Served { file, len: metadata.len(), modified })
    }

    fn resolve(&self, name: &[u8]) -> Result<OwnedFd, Refusal> {
        // O_NONBLOCK: a pipe without a writer would hold the server up for ever.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        if self.beneath {
            let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            match openat2(&self.folder, name, flags, Mode::empty(), how) {
                // Not there, or a sandbox forbids a call that it does not know.
                Err(Errno::NOSYS | Errno::PERM) => {}
                // Something was renamed meanwhile, and the kernel could not be sure; it is asked
                // once more.
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

/// Names with `/` between them, without a leading one.
fn decode(path: &str) -> Result<Vec<u8>, Refusal> {
    if path.len() > MAX_PATH {
        return Err(Refusal::Bad);
    }
    let end = path.find(['?', '#']).unwrap_or(path.len());
    let names = path[..end].strip_prefix('/').ok_or(Refusal::Bad)?;
    let names: Vec<Vec<u8>> = names.split('/').map(decode_name).collect::<Result<_, _>>()?;
    Ok(names.join(&b'/'))
}

/// One name of a path, its escapes resolved (RFC 3986 section 2.1).
///
/// # Errors
/// When an escape is none, or the name is empty, `.` or `..`, or has `/` or a zero byte in it.
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

/// A file that is being handed out: so long as it was when it was opened.
#[derive(Debug)]
pub struct Served {
    file: File,
    len: u64,
    modified: (i64, i64),
}

impl Served {
    /// Its length in bytes, when it was opened.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// It has no bytes.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads `out.len()` bytes from `offset` on.
    ///
    /// What was removed or replaced by another file of its name meanwhile is read to its end: that
    /// is still the file that was asked for. What was written into, cut or made longer is refused
    /// from then on, as seen by its length and time of modification.
    ///
    /// # Errors
    /// [`Refusal::Broken`]: it has changed, or cannot be read.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Refusal> {
        let broken = |_| Refusal::Broken;
        self.file.read_exact_at(out, offset).map_err(broken)?;
        // Afterwards: what was read is what was there before a change.
        let now = self.file.metadata().map_err(broken)?;
        let same = (now.len(), now.mtime(), now.mtime_nsec()) == (self.len, self.modified.0, self.modified.1);
        if same { Ok(()) } else { Err(Refusal::Broken) }
    }
}

#[cfg(test)]
mod tests;
