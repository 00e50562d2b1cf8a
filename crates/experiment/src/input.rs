//! What is read: texts from files, pipes and standard input, of bounded size and in UTF-8. What has no end is refused.

use std::fs::{self, File, FileType};
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use crate::diagnostic::Diagnostic;

/// No experiment, no published table is larger.
const MOST: u64 = 4 << 20;

/// The text of a file, or of a pipe that somebody writes to.
///
/// # Errors
/// A folder, a device, a socket, a pipe without a writer; what cannot be read, is too large, is not UTF-8: the message names the file.
pub fn read(path: &Path) -> Result<String, Diagnostic> {
    let label = path.display().to_string();
    let refuse = |e: &io::Error| Diagnostic::new(&label, unreadable(e), "");
    let kind = fs::metadata(path).map_err(|e| refuse(&e))?.file_type();
    if let Some(what) = special(kind) {
        return Err(Diagnostic::new(&label, what, "a file or a pipe with text, or `-` for standard input"));
    }
    if is_pipe(kind) {
        let pipe = open_pipe(path).map_err(|e| refuse(&e))?;
        let nobody = || {
            let right = "start what writes to it first, or give the text on standard input as `-`";
            Diagnostic::new(&label, "a pipe that nobody writes to", right)
        };
        return read_from(&label, pipe.ok_or_else(nobody)?);
    }
    let file = File::open(path).map_err(|e| refuse(&e))?;
    if !kind.is_file() && !file.is_terminal() {
        let right = "a file or a pipe with text, or `-` for standard input";
        return Err(Diagnostic::new(&label, "a device, not a file", right));
    }
    read_from(&label, file)
}

/// The text that comes from `reader`; `label` stands for it in messages.
///
/// # Errors
/// See [`read`].
pub fn read_from(label: &str, reader: impl Read) -> Result<String, Diagnostic> {
    let mut bytes = Vec::new();
    let read = reader.take(MOST + 1).read_to_end(&mut bytes);
    read.map_err(|e| Diagnostic::new(label, unreadable(&e), ""))?;
    if bytes.len() as u64 > MOST {
        return Err(Diagnostic::new(label, format!("larger than {} MiB", MOST >> 20), "a text, not data"));
    }
    String::from_utf8(bytes).map_err(|e| {
        let valid = e.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&e.as_bytes()[..valid]);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let wrong = format!("not UTF-8: byte 0x{:02x} in column {column}", e.as_bytes()[valid]);
        Diagnostic::new(label, wrong, "save it as UTF-8").on_line(line)
    })
}

/// A file of the disk. What is none, like a pipe or a device, may have no end.
///
/// # Errors
/// What the file system refuses, and what is no such file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    match fs::metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file")),
    }
}

/// Why a file cannot be read, in words.
pub(crate) fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "no permission to read it".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

/// What can be told not to be a text without opening it.
fn special(kind: FileType) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_socket() {
            return Some("a socket, not a file");
        }
        if kind.is_block_device() {
            return Some("a device, not a file");
        }
    }
    kind.is_dir().then_some("a folder, not a file")
}

#[cfg(unix)]
fn is_pipe(kind: FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&kind)
}

#[cfg(not(unix))]
fn is_pipe(_: FileType) -> bool {
    false
}

/// A pipe, unless nobody writes to it: to open it in the usual way would wait for a writer without an end.
#[cfg(unix)]
fn open_pipe(path: &Path) -> io::Result<Option<impl Read>> {
    use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};

    let mut file =
        File::from(open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?);
    let mut first = vec![0];
    match file.read(&mut first) {
        Ok(0) => return Ok(None),
        Ok(_) => {}
        // A writer that has not written yet.
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => first.clear(),
        Err(e) => return Err(e),
    }
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(Some(io::Cursor::new(first).chain(file)))
}

#[cfg(not(unix))]
fn open_pipe(path: &Path) -> io::Result<Option<File>> {
    File::open(path).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_text_is_not_utf_8() {
        let said = |bytes: &[u8]| read_from("x.toml", bytes).unwrap_err().to_string();
        assert_eq!(
            said(b"a = 1\nb = \"\xc3\xa9\xff\"\n"),
            "x.toml:2: not UTF-8: byte 0xff in column 7; save it as UTF-8"
        );
        assert_eq!(said(b"\xff\xfet"), "x.toml:1: not UTF-8: byte 0xff in column 1; save it as UTF-8");
        assert_eq!(read_from("x.toml", "é\n".as_bytes()).unwrap(), "é\n");
    }

    #[test]
    fn a_text_has_an_end() {
        let said = read_from("x.toml", io::repeat(b'a')).unwrap_err().to_string();
        assert_eq!(said, "x.toml: larger than 4 MiB; a text, not data");
        assert!(read_from("x.toml", io::repeat(b'a').take(MOST)).is_ok());
    }
}
