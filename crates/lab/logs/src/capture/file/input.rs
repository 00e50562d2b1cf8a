//! Buffer over a reader, with the position in the file.

use std::io::{self, Read};

/// Largest record or block that is read, in bytes.
pub(super) const LARGEST: usize = 16 << 20;
/// Bytes that are read at once.
const CHUNK: usize = 256 << 10;

pub(super) struct Input<R> {
    from: R,
    buffer: Vec<u8>,
    start: usize,
    /// Position in the file of the byte at `start`.
    pub(super) offset: u64,
    ended: bool,
}

impl<R: Read> Input<R> {
    pub(super) const fn new(from: R) -> Self {
        Self { from, buffer: Vec::new(), start: 0, offset: 0, ended: false }
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
            self.ended = self.buffer.len() as u64 == before;
            read?;
        }
        Ok(self.data().len() >= n)
    }

    pub(super) fn consume(&mut self, n: usize) {
        let n = n.min(self.data().len());
        self.start += n;
        self.offset += n as u64;
    }
}
