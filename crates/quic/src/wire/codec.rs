//! Reading from and writing into slices, at a place that moves.

use std::fmt;

use super::varint;

/// The input ended within a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated;

impl fmt::Display for Truncated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the input ends within a field")
    }
}

impl std::error::Error for Truncated {}

/// The caller's buffer is too small; nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the buffer is full")
    }
}

impl std::error::Error for Full {}

/// Takes fields from the front of a slice.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// From the first byte on.
    pub const fn new(all: &'a [u8]) -> Self {
        Self { all, at: 0 }
    }

    /// How many bytes were taken.
    pub const fn position(&self) -> usize {
        self.at
    }

    /// What was not taken yet.
    pub fn rest(&self) -> &'a [u8] {
        &self.all[self.at..]
    }

    /// Nothing is left.
    pub const fn is_empty(&self) -> bool {
        self.at == self.all.len()
    }

    /// What was taken since an earlier [`position`](Self::position).
    pub fn since(&self, position: usize) -> &'a [u8] {
        &self.all[position.min(self.at)..self.at]
    }

    /// The next `n` bytes.
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], Truncated> {
        let taken = self.rest().get(..n).ok_or(Truncated)?;
        self.at += n;
        Ok(taken)
    }

    /// The next `N` bytes, copied.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Truncated> {
        let taken = self.rest().first_chunk().ok_or(Truncated)?;
        self.at += N;
        Ok(*taken)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, Truncated> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes in network byte order.
    pub fn u16(&mut self) -> Result<u16, Truncated> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// Four bytes in network byte order.
    pub fn u32(&mut self) -> Result<u32, Truncated> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// A variable-length integer.
    pub fn varint(&mut self) -> Result<u64, Truncated> {
        let (value, size) = varint::decode(self.rest()).ok_or(Truncated)?;
        self.at += size;
        Ok(value)
    }

    /// A length as a variable-length integer, and as many bytes: what a peer states is compared with what there is.
    pub fn prefixed(&mut self) -> Result<&'a [u8], Truncated> {
        let mut ahead = self.clone();
        let length = usize::try_from(ahead.varint()?).map_err(|_| Truncated)?;
        let taken = ahead.bytes(length)?;
        *self = ahead;
        Ok(taken)
    }
}

/// Appends fields to a caller's buffer.
///
/// Whoever writes asks [`room`](Self::room) first: a field that does not fit is a mistake of the program and panics.
#[derive(Debug)]
pub struct Writer<'a> {
    buf: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    /// From the first byte of the buffer on.
    pub const fn new(buf: &'a mut [u8]) -> Self {
        Self { buf, at: 0 }
    }

    /// How many bytes were written.
    pub const fn position(&self) -> usize {
        self.at
    }

    /// How many bytes still fit.
    pub const fn remaining(&self) -> usize {
        self.buf.len() - self.at
    }

    /// Whether `n` more bytes fit.
    pub const fn room(&self, n: usize) -> Result<(), Full> {
        if n <= self.remaining() { Ok(()) } else { Err(Full) }
    }

    /// What was written.
    pub fn written(&self) -> &[u8] {
        &self.buf[..self.at]
    }

    /// The whole buffer back, and how much of it was written.
    pub fn into_parts(self) -> (&'a mut [u8], usize) {
        (self.buf, self.at)
    }

    /// Bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.claim(bytes.len()).copy_from_slice(bytes);
    }

    /// Room for `n` bytes that the caller fills.
    #[inline]
    pub fn claim(&mut self, n: usize) -> &mut [u8] {
        let at = self.at;
        self.at += n;
        &mut self.buf[at..at + n]
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self, value: u8) {
        self.array([value]);
    }

    /// Writes bytes whose number is known here: a store, and no call.
    #[inline]
    fn array<const N: usize>(&mut self, bytes: [u8; N]) {
        let to = self.buf[self.at..].first_chunk_mut();
        *to.expect("room was asked for") = bytes;
        self.at += N;
    }

    /// A variable-length integer in its shortest encoding.
    #[inline]
    pub fn varint(&mut self, value: u64) {
        self.varint_in(value, varint::size(value));
    }

    /// A variable-length integer in 1, 2, 4 or 8 bytes.
    pub fn varint_in(&mut self, value: u64, size: usize) {
        match size {
            1 if value < 1 << 6 => self.u8(value as u8),
            2 if value < 1 << 14 => self.array((1 << 14 | value as u16).to_be_bytes()),
            4 if value < 1 << 30 => self.array((2 << 30 | value as u32).to_be_bytes()),
            _ => self.bytes(&varint::encoded(value, size)[..size]),
        }
    }

    /// The length as a variable-length integer, and the bytes.
    pub fn prefixed(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.bytes(bytes);
    }
}

/// What [`Writer::prefixed`] writes.
pub const fn prefixed_size(bytes: &[u8]) -> usize {
    varint::size(bytes.len() as u64) + bytes.len()
}
