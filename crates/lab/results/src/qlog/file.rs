//! Writes a log to disk. Text is buffered for large writes, and its checksum is computed while it
//! is in the cache.
//!
//! A run writes a kilobyte per packet. Copying it into the page cache took a quarter of the run,
//! and reading it back for its checksum another quarter. On Linux full buffers are written directly
//! to disk if the file system allows it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use scenario::trace::Trace;

use super::Log;
use crate::store::sums::{LogHash, note};

/// Number of events between two checks of the buffer's size.
const TURN: usize = 64;
/// Alignment of memory and length of a direct write: that of pages and of nearly all disks.
const BLOCK: usize = 1 << 12;
/// Smallest direct write. A direct write waits for the disk, so smaller ones use the page cache.
const DIRECT: usize = 1 << 18;
/// Most text that all logs of a run may buffer together, and that one may.
const ALL: usize = 1 << 25;
const ONE: usize = 1 << 20;

#[derive(Debug)]
pub struct LogFile {
    log: Log,
    path: PathBuf,
    sum: LogHash,
    /// Number of bytes per write.
    room: usize,
    is_direct: bool,
    /// Padding before the text that aligns it for direct writes.
    pad: usize,
}

impl LogFile {
    /// Creates one of `logs` logs of a run. The file must not exist. It appears with the first
    /// write.
    ///
    /// # Errors
    /// Fails only on a bug.
    pub fn begin(log: Log, path: PathBuf, logs: usize) -> io::Result<Self> {
        let room = (ALL / logs.max(1)).clamp(BLOCK, ONE) / BLOCK * BLOCK;
        let is_direct = cfg!(target_os = "linux") && room >= DIRECT;
        let mut file = Self { log, path, sum: LogHash::default(), room, is_direct, pad: 0 };
        file.keep(0)?;
        Ok(file)
    }

    /// Adds the next events.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn add(&mut self, trace: &Trace) -> io::Result<()> {
        for part in trace.chunks(TURN) {
            self.log.record(part);
            if self.log.waiting()?.len() >= self.pad + self.room {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Finishes the file and stores its checksum beside it.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        let pad = self.pad;
        let bytes = self.log.finish()?;
        let rest = &bytes[pad..];
        self.sum.add(rest);
        open(&self.path)?.write_all(rest)?;
        note(&self.path, &self.sum)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_direct && !is_aligned(&self.log.waiting()?.written()[self.pad..]) {
            // The buffer has grown and moved.
            self.keep(0)?;
        }
        let text = &self.log.waiting()?.written()[self.pad..];
        let whole = text.len() / BLOCK * BLOCK;
        let text = &text[..whole];
        self.sum.add(text);
        let written = if self.is_direct { direct(&self.path, text)? } else { 0 };
        if written < whole {
            self.is_direct = false;
            open(&self.path)?.write_all(&text[written..])?;
        }
        self.keep(whole)
    }

    /// Moves the text after its first `written` bytes to where direct writes may begin.
    fn keep(&mut self, written: usize) -> io::Result<()> {
        let text = self.log.waiting()?;
        text.widen(self.room.max(text.len()) + 4 * BLOCK);
        let from = self.pad + written;
        self.pad = if self.is_direct { text.written().as_ptr().align_offset(BLOCK).min(BLOCK) } else { 0 };
        text.shift(from, self.pad);
        Ok(())
    }
}

fn is_aligned(bytes: &[u8]) -> bool {
    bytes.as_ptr().align_offset(BLOCK) == 0
}

/// Opens the file for one write only: there may be thousands of files.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

/// Opens the file for one write past the page cache.
#[cfg(target_os = "linux")]
fn open_direct(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::DIRECT.bits().cast_signed();
    OpenOptions::new().create(true).append(true).custom_flags(flags).open(path)
}

#[cfg(not(target_os = "linux"))]
fn open_direct(_: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Appends blocks to a file past the page cache. Returns the number of bytes written, which is
/// lower if the file system cannot do it.
fn direct(path: &Path, blocks: &[u8]) -> io::Result<usize> {
    let cannot = |e: &io::Error| matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported);
    let mut file = match open_direct(path) {
        Err(e) if cannot(&e) => return Ok(0),
        file => file?,
    };
    let mut written = 0;
    while written < blocks.len() {
        match file.write(&blocks[written..]) {
            Err(e) if cannot(&e) => break,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(more) => written += more,
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use congestion::Cause;
    use scenario::trace::Event;
    use units::Time;

    use super::*;
    use crate::qlog::{Dialect, Format, Meta, Transport, write};

    fn meta() -> Meta {
        Meta {
            group: String::new(),
            title: "t".to_owned(),
            flow: "f".to_owned(),
            algorithm: "cubic".to_owned(),
            parameters: String::new(),
            states: &[],
            transport: Transport::Quic,
            seed: 1,
            start: Time::ZERO,
        }
    }

    fn trace() -> Trace {
        let sent =
            |pn: u64| (Time(pn * 12_345), Event::Sent { pn, bytes: 1252, offset: 1215 * pn, len: 1215 });
        let mut all: Trace = (0..20_000).map(sent).collect();
        all.push((Time(1 << 40), Event::Reduced(Cause::Loss)));
        all
    }

    /// A file equals its text, in parts of any length, in small and large writes, with and without
    /// page cache and compression.
    #[test]
    fn a_file_is_its_text() {
        let dir = tempfile::tempdir().unwrap();
        for (number, gzip, logs) in
            [(0, false, 1), (1, false, 40), (2, false, 1 << 20), (3, true, 1), (4, true, 1 << 20)]
        {
            let format = Format { dialect: Dialect::V03, gzip };
            let path = dir.path().join(format!("{number}"));
            let log = Log::for_sender(format, &meta()).unwrap();
            let mut file = LogFile::begin(log, path.clone(), logs).unwrap();
            let all = trace();
            let (first, rest) = all.split_at(7001);
            file.add(&first.to_vec()).unwrap();
            file.add(&Trace::new()).unwrap();
            file.add(&rest.to_vec()).unwrap();
            file.finish().unwrap();
            let written = fs::read(&path).unwrap();
            if gzip {
                let mut text = Vec::new();
                io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&written[..]), &mut text).unwrap();
                let mut plain = Vec::new();
                write(&mut plain, Format::default(), &meta(), &all).unwrap();
                assert!(text == plain, "{number}");
            } else {
                let mut whole = Vec::new();
                write(&mut whole, format, &meta(), &all).unwrap();
                assert!(written == whole, "{number}");
            }
            let mut sum = LogHash::default();
            sum.add(&written);
            let sums = fs::read_to_string(dir.path().join("XXH128SUMS")).unwrap();
            assert_eq!(format!("{sum:?}  {number}"), sums.lines().last().unwrap());
        }
    }

    /// A full disk or a missing folder is an error.
    #[test]
    fn what_goes_wrong_is_told() {
        let path = Path::new("/dev/full/none").to_owned();
        let log = Log::for_sender(Format::default(), &meta()).unwrap();
        let mut file = LogFile::begin(log, path, 1 << 20).unwrap();
        assert!(file.add(&trace()).is_err());
    }
}
