//! Opens files, and unwraps gzip.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::Error;

/// Number of bytes that detection sees.
const FIRST: usize = 64 << 10;
/// First bytes of a gzip member (RFC 1952 section 2.3.1).
const GZIP: [u8; 3] = [0x1f, 0x8b, 8];
/// First bytes of other compressed files, and the program that unpacks them.
const OTHERS: [(&[u8], &str); 3] =
    [(&[0x28, 0xb5, 0x2f, 0xfd], "zstd -d"), (b"\xfd7zXZ", "xz -d"), (b"BZh", "bzip2 -d")];

/// Contents of a file, uncompressed.
pub struct Input {
    first: Vec<u8>,
    /// Number of bytes of `first` already read.
    taken: usize,
    /// Error after `first`.
    failed: Option<io::Error>,
    rest: Box<dyn Read>,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("first", &self.first.len()).finish_non_exhaustive()
    }
}

impl Input {
    /// Returns the first bytes of the contents, at most 64 KiB. All of the contents, if there are
    /// fewer.
    pub fn first(&self) -> &[u8] {
        &self.first
    }

    /// Reads the beginning of a stream and unwraps gzip.
    ///
    /// # Errors
    /// Fails if the stream cannot be read, or is compressed in another format.
    pub fn new(mut input: impl Read + 'static, name: &str) -> Result<Self, Error> {
        let mut magic = Vec::new();
        let read = input.by_ref().take(6).read_to_end(&mut magic);
        read.map_err(|error| failure(name, error.to_string()))?;
        for (first, program) in OTHERS {
            if magic.starts_with(first) {
                return Err(failure(name, format!("it is compressed: write `{program}` to unpack it first")));
            }
        }
        let whole = io::Cursor::new(magic.clone()).chain(input);
        let mut rest: Box<dyn Read> = match magic.starts_with(&GZIP) {
            true => Box::new(MultiGzDecoder::new(BufReader::with_capacity(FIRST, whole))),
            false => Box::new(whole),
        };
        let mut first = Vec::new();
        let failed = rest.by_ref().take(FIRST as u64).read_to_end(&mut first).err();
        Ok(Self { first, taken: 0, failed, rest })
    }
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let waiting = self.first.get(self.taken..).unwrap_or_default();
        if !waiting.is_empty() {
            let count = (&mut &*waiting).read(out)?;
            self.taken += count;
            return Ok(count);
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.rest.read(out),
        }
    }
}

/// Opens a file.
///
/// # Errors
/// Fails if it is no regular file, cannot be read, or is compressed in another format than gzip.
pub fn open(path: &Path) -> Result<Input, Error> {
    let name = path.display().to_string();
    // Opening a pipe waits for its writer.
    let kind = fs::metadata(path).map_err(|error| failure(&name, error.to_string()))?;
    if kind.is_dir() {
        return Err(failure(&name, "it is a folder: give the files in it".to_owned()));
    }
    if !kind.is_file() {
        return Err(failure(&name, "it is a device, pipe or socket: copy it to a file first".to_owned()));
    }
    let file = File::open(path).map_err(|error| failure(&name, error.to_string()))?;
    Input::new(file, &name)
}

fn failure(file: &str, message: String) -> Error {
    Error { file: file.to_owned(), at: None, message }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut out = GzEncoder::new(Vec::new(), Compression::fast());
        out.write_all(text).unwrap();
        out.finish().unwrap()
    }

    fn contents(bytes: Vec<u8>) -> (Vec<u8>, Option<io::Error>) {
        let mut text = Vec::new();
        let mut input = Input::new(io::Cursor::new(bytes), "x").unwrap();
        let failed = input.read_to_end(&mut text).err();
        (text, failed)
    }

    #[test]
    fn plain_and_gzip_with_several_members() {
        let long: Vec<u8> = (0..200_000_u32).map(|i| (i % 251) as u8).collect();
        for text in [&b""[..], b"{}", &long] {
            assert_eq!(contents(text.to_vec()).0, text);
            let twice = [gzip(text), gzip(text)].concat();
            assert_eq!(contents(twice).0, [text, text].concat());
        }
    }

    /// Reads all that could be unpacked, then returns the error.
    #[test]
    fn truncated_gzip() {
        for length in [100, 300_000] {
            let text: Vec<u8> = (0..length).map(|i: u32| (i.wrapping_mul(i) >> 7) as u8).collect();
            let mut packed = gzip(&text);
            packed.truncate(packed.len() - 20);
            let (read, failed) = contents(packed);
            assert!(text.starts_with(&read) && failed.is_some(), "{length}");
            assert!(length < 1000 || read.len() > 64 << 10);
        }
    }

    #[test]
    fn refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let message = |path: &Path| open(path).unwrap_err().message;
        assert!(message(folder.path()).contains("folder"));
        assert!(message(Path::new("/dev/zero")).contains("device"));
        assert!(message(&folder.path().join("missing")).contains("No such file"));
        let packed = Input::new(io::Cursor::new(b"\xfd7zXZ\0...".to_vec()), "x").unwrap_err();
        assert_eq!(packed.to_string(), "x: it is compressed: write `xz -d` to unpack it first");
    }
}
