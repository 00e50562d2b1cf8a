//! Reading from and writing to slices, at a moving position.

use std::fmt;

use super::varint;

/// Error for input that ends within a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated;

impl fmt::Display for Truncated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the input ends within a field")
    }
}

impl std::error::Error for Truncated {}

/// Error for a buffer that is too small. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the buffer is full")
    }
}

impl std::error::Error for Full {}

/// Reads fields from the front of a slice.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Creates a reader at the first byte.
    pub const fn new(all: &'a [u8]) -> Self {
        Self { all, at: 0 }
    }

    /// Returns the number of bytes read.
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Returns the bytes not read yet.
    pub fn rest(&self) -> &'a [u8] {
        &self.all[self.at..]
    }

    /// Reports whether all bytes were read.
    pub const fn is_empty(&self) -> bool {
        self.at == self.all.len()
    }

    /// Returns the bytes read since an earlier [`position`](Self::position).
    pub fn since(&self, position: usize) -> &'a [u8] {
        &self.all[position.min(self.at)..self.at]
    }

    /// Reads the next `n` bytes.
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], Truncated> {
        let taken = self.rest().get(..n).ok_or(Truncated)?;
        self.at += n;
        Ok(taken)
    }

    /// Reads and copies the next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Truncated> {
        let taken = self.rest().first_chunk().ok_or(Truncated)?;
        self.at += N;
        Ok(*taken)
    }

    /// Reads one byte.
    pub fn u8(&mut self) -> Result<u8, Truncated> {
        Ok(self.array::<1>()?[0])
    }

    /// Reads two bytes in network byte order.
    pub fn u16(&mut self) -> Result<u16, Truncated> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// Reads four bytes in network byte order.
    pub fn u32(&mut self) -> Result<u32, Truncated> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// Reads a variable-length integer.
    pub fn varint(&mut self) -> Result<u64, Truncated> {
        let (value, size) = varint::decode(self.rest()).ok_or(Truncated)?;
        self.at += size;
        Ok(value)
    }

    /// Reads a length as a variable-length integer, and that many bytes. The length is checked
    /// against the available input.
    pub fn prefixed(&mut self) -> Result<&'a [u8], Truncated> {
        let mut ahead = self.clone();
        let length = usize::try_from(ahead.varint()?).map_err(|_| Truncated)?;
        let taken = ahead.bytes(length)?;
        *self = ahead;
        Ok(taken)
    }
}

/// Appends fields to a buffer of the caller.
///
/// Callers must check [`room`](Self::room) first. Writing a field that does not fit is a bug and
/// panics.
#[derive(Debug)]
pub struct Writer<'a> {
    buf: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    /// Creates a writer at the first byte of the buffer.
    pub const fn new(buf: &'a mut [u8]) -> Self {
        Self { buf, at: 0 }
    }

    /// Returns the number of bytes written.
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Returns the number of bytes that still fit.
    pub const fn remaining(&self) -> usize {
        self.buf.len() - self.at
    }

    /// Checks that `n` more bytes fit.
    pub const fn room(&self, n: usize) -> Result<(), Full> {
        if n <= self.remaining() { Ok(()) } else { Err(Full) }
    }

    /// Returns the bytes written so far.
    pub fn written(&self) -> &[u8] {
        &self.buf[..self.at]
    }

    /// Writes bytes unchanged.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.claim(bytes.len()).copy_from_slice(bytes);
    }

    /// Reserves `n` bytes for the caller to fill.
    #[inline]
    pub fn claim(&mut self, n: usize) -> &mut [u8] {
        let at = self.at;
        self.at += n;
        &mut self.buf[at..at + n]
    }

    /// Writes one byte.
    #[inline]
    pub fn u8(&mut self, value: u8) {
        self.array([value]);
    }

    /// Writes an array. The constant length compiles to a store instead of a call.
    #[inline]
    fn array<const N: usize>(&mut self, bytes: [u8; N]) {
        let to = self.buf[self.at..].first_chunk_mut();
        *to.expect("the caller checked the space") = bytes;
        self.at += N;
    }

    /// Writes a variable-length integer in its shortest encoding.
    #[inline]
    pub fn varint(&mut self, value: u64) {
        self.varint_in(value, varint::size(value));
    }

    /// Writes a variable-length integer in 1, 2, 4 or 8 bytes.
    pub fn varint_in(&mut self, value: u64, size: usize) {
        match size {
            1 if value < 1 << 6 => self.u8(value as u8),
            2 if value < 1 << 14 => self.array((1 << 14 | value as u16).to_be_bytes()),
            4 if value < 1 << 30 => self.array((2 << 30 | value as u32).to_be_bytes()),
            _ => self.bytes(&varint::encoded(value, size)[..size]),
        }
    }

    /// Writes the length as a variable-length integer, and the bytes.
    pub fn prefixed(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.bytes(bytes);
    }
}

/// Returns the number of bytes that [`Writer::prefixed`] writes.
pub const fn prefixed_size(bytes: &[u8]) -> usize {
    varint::size(bytes.len() as u64) + bytes.len()
}
