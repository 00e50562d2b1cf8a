//! Reuses the buffers of received datagrams for outgoing ones.

use std::mem;

/// Largest number of spare buffers. Others are freed, for example after the window shrank.
const MOST: usize = 64;

/// A pool of buffers for datagrams of up to `size` bytes.
pub(crate) struct BufferPool {
    size: usize,
    /// Buffer for the next datagram, of the full size.
    next: Vec<u8>,
    spare: Vec<Vec<u8>>,
}

impl BufferPool {
    /// Creates a pool for datagrams of at most `size` bytes.
    pub(crate) fn new(size: usize) -> Self {
        Self { size, next: vec![0; size], spare: Vec::new() }
    }

    /// Returns the buffer for the next datagram.
    pub(crate) fn buffer(&mut self) -> &mut [u8] {
        &mut self.next
    }

    /// Takes the first `len` bytes of the buffer. A large datagram keeps the buffer, and a small
    /// one is copied.
    pub(crate) fn take(&mut self, len: usize) -> Vec<u8> {
        if 2 * len < self.size {
            return self.next[..len].to_vec();
        }
        // Only the bytes that the spare buffer lacks to the full size are set to zero.
        let mut fresh = self.spare.pop().unwrap_or_default();
        fresh.resize(self.size, 0);
        let mut taken = mem::replace(&mut self.next, fresh);
        taken.truncate(len);
        taken
    }

    /// Returns a datagram's buffer to the pool.
    pub(crate) fn recycle(&mut self, bytes: Vec<u8>) {
        if self.spare.len() < MOST && bytes.capacity() >= self.size {
            self.spare.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_taken() {
        let mut pool = BufferPool::new(100);
        for (len, byte) in [(100, 1), (99, 2), (10, 3), (100, 4), (50, 5)] {
            assert_eq!(pool.buffer().len(), 100);
            pool.buffer()[..len].fill(byte);
            let taken = pool.take(len);
            assert_eq!(taken, vec![byte; len]);
            pool.recycle(taken);
        }
        (0..1000).for_each(|_| pool.recycle(vec![0; 100]));
        assert_eq!(pool.spare.len(), MOST);
    }
}
