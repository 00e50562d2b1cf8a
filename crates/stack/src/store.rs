//! Memory of datagrams, used again: what has arrived makes room for what leaves next.

use std::mem;

/// No more than so many wait; a window that falls lets the rest go.
const MOST: usize = 64;

/// Buffers for datagrams of up to `size` bytes.
pub(crate) struct Store {
    size: usize,
    /// The one that is written next, of the full size.
    next: Vec<u8>,
    spare: Vec<Vec<u8>>,
}

impl Store {
    /// For datagrams of so many bytes at most.
    pub(crate) fn new(size: usize) -> Self {
        Self { size, next: vec![0; size], spare: Vec::new() }
    }

    /// Where a datagram is written.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        &mut self.next
    }

    /// The first bytes that were written there. Large datagrams are taken as they are, small ones copied.
    pub(crate) fn take(&mut self, len: usize) -> Vec<u8> {
        if 2 * len < self.size {
            return self.next[..len].to_vec();
        }
        // Of a full datagram nothing is written twice: only what it had fewer bytes than there is room for becomes zero.
        let mut fresh = self.spare.pop().unwrap_or_default();
        fresh.resize(self.size, 0);
        let mut taken = mem::replace(&mut self.next, fresh);
        taken.truncate(len);
        taken
    }

    /// A datagram that nobody needs any more.
    pub(crate) fn keep(&mut self, bytes: Vec<u8>) {
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
        let mut store = Store::new(100);
        for (len, byte) in [(100, 1), (99, 2), (10, 3), (100, 4), (50, 5)] {
            assert_eq!(store.room().len(), 100);
            store.room()[..len].fill(byte);
            let taken = store.take(len);
            assert_eq!(taken, vec![byte; len]);
            store.keep(taken);
        }
        (0..1000).for_each(|_| store.keep(vec![0; 100]));
        assert_eq!(store.spare.len(), MOST);
    }
}
