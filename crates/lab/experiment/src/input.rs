//! Reads texts of bounded size in UTF-8 from files, pipes and standard input. Refuses inputs
//! without an end.

use std::fs::{self, File, FileType};
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use crate::diagnostic::Diagnostic;

/// Largest input, in bytes. No experiment and no published table is larger.
const MAX_BYTES: u64 = 4 << 20;

/// Reads the text of a file, or of a pipe that has a writer.
///
/// # Errors Fails for a folder, a device, a socket, a pipe without a writer, and a file that cannot
/// be read, is too large or is not UTF-8. The message names the file.
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
            let right = "start the writer first, or pass the text on standard input as `-`";
            Diagnostic::new(&label, "a pipe without a writer", right)
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

/// Reads a text from `reader`. `label` names it in messages.
///
/// # Errors See [`read`].
pub fn read_from(label: &str, reader: impl Read) -> Result<String, Diagnostic> {
    read_at_most(MAX_BYTES, "a text, not data", label, reader)
}

/// Reads a text of at most this many bytes. `smaller` is the advice if it has more.
pub(crate) fn read_at_most(
    most: u64,
    smaller: &str,
    label: &str,
    reader: impl Read,
) -> Result<String, Diagnostic> {
    let mut bytes = Vec::new();
    let read = reader.take(most + 1).read_to_end(&mut bytes);
    read.map_err(|e| Diagnostic::new(label, unreadable(&e), ""))?;
    if bytes.len() as u64 > most {
        return Err(Diagnostic::new(label, format!("larger than {} MiB", most >> 20), smaller));
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

/// Opens a regular file. Others, such as pipes and devices, may have no end.
///
/// # Errors Fails if the file system refuses, or if the file is not regular.
pub fn open_regular(path: &Path) -> io::Result<File> {
    match fs::metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file")),
    }
}

/// Describes why a file cannot be read.
pub(crate) fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "no permission to read it".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

/// Returns the kind of a file that is certainly not a text, without opening it.
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

/// Opens a pipe, or returns `None` if it has no writer. The usual way of opening would wait forever
/// for a writer.
#[cfg(unix)]
fn open_pipe(path: &Path) -> io::Result<Option<impl Read>> {
    use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};

    let mut file =
        File::from(open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?);
    let mut first = vec![0];
    match file.read(&mut first) {
        Ok(0) => return Ok(None),
        Ok(_) => {}
        // The pipe has a writer that has not written yet.
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
        assert!(read_from("x.toml", io::repeat(b'a').take(MAX_BYTES)).is_ok());
    }
}
