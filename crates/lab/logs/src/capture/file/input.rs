//! Buffer over a reader, with the position in the file.

use std::io::{self, Read};

use super::record::Records;

/// Largest record or block that is read, in bytes.
pub(super) const LARGEST: usize = 16 << 20;
/// Bytes that are read at once.
const CHUNK: usize = 256 << 10;
/// Number of damaged bytes between two questions whether to go on.
const PAUSE: u64 = CHUNK as u64;

pub(super) struct Input<R> {
    from: R,
    buffer: Vec<u8>,
    start: usize,
    /// Position in the file of the byte at `start`.
    pub(super) offset: u64,
    ended: bool,
    /// Failure to read, told once the bytes before it are used.
    failure: Option<io::Error>,
}

impl<R: Read> Input<R> {
    pub(super) const fn new(from: R) -> Self {
        Self { from, buffer: Vec::new(), start: 0, offset: 0, ended: false, failure: None }
    }

    /// Returns the bytes that are in memory.
    pub(super) fn data(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// Reads until `n` bytes are in memory. Returns false if the file has fewer. Memory grows with
    /// the bytes that are there, and not with a length that the file states.
    pub(super) fn need(&mut self, n: usize) -> io::Result<bool> {
        while self.data().len() < n && !self.ended {
            self.buffer.drain(..self.start);
            self.start = 0;
            let before = self.buffer.len() as u64;
            // Large reads straight into the buffer.
            let read = (&mut self.from).take(CHUNK as u64).read_to_end(&mut self.buffer);
            self.ended = self.buffer.len() as u64 == before || read.is_err();
            self.failure = read.err();
        }
        let is_there = self.data().len() >= n;
        match self.failure.take_if(|_| !is_there) {
            Some(failure) => Err(failure),
            None => Ok(is_there),
        }
    }

    /// Skips one byte while the reader looks for the next intact record. Returns false if `n` bytes
    /// do not follow, or if reading should stop. The file is at its end then.
    pub(super) fn skip_byte(&mut self, n: usize, records: &mut dyn Records) -> io::Result<bool> {
        self.consume(1);
        self.ended |= self.offset.is_multiple_of(PAUSE) && !records.goes_on(self.offset);
        let goes_on = self.need(n)?;
        if !goes_on {
            self.consume(usize::MAX);
        }
        Ok(goes_on)
    }

    pub(super) fn consume(&mut self, n: usize) {
        let n = n.min(self.data().len());
        self.start += n;
        self.offset += n as u64;
    }
}
