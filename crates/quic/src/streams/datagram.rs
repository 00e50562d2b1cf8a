//! Queues of DATAGRAM messages (RFC 9221), bounded by bytes.

use std::collections::VecDeque;

/// What a message costs besides its bytes, so that empty ones do not come for nothing.
const OVERHEAD: usize = size_of::<Vec<u8>>();

/// What its frame has besides: type, and a length of two bytes.
pub(crate) const FRAME: usize = 3;

/// What happens to a message that there is no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// It is refused: for what an application sends.
    Refuse,
    /// The oldest make room: for what comes in, since late media are worth nothing.
    DropOldest,
}

/// Messages that wait: to be sent, or to be read.
#[derive(Clone, Debug)]
pub struct DatagramQueue {
    queue: VecDeque<Vec<u8>>,
    cost: usize,
    max: usize,
    when_full: WhenFull,
    dropped: u64,
}

impl DatagramQueue {
    /// For at most `max` bytes, counted with 24 for each message.
    pub const fn new(max: usize, when_full: WhenFull) -> Self {
        Self { queue: VecDeque::new(), cost: 0, max, when_full, dropped: 0 }
    }

    /// Takes a message; says whether it did. Those that had to go count in [`dropped`](Self::dropped).
    pub fn push(&mut self, message: Vec<u8>) -> bool {
        let cost = message.len() + OVERHEAD;
        while self.when_full == WhenFull::DropOldest && cost <= self.max && self.cost + cost > self.max {
            self.dropped += u64::from(self.pop().is_some());
        }
        if self.cost + cost > self.max {
            self.dropped += 1;
            return false;
        }
        self.cost += cost;
        self.queue.push_back(message);
        true
    }

    /// The length of the next message.
    pub fn next_len(&self) -> Option<usize> {
        self.queue.front().map(Vec::len)
    }

    /// What all that wait take in packets, as frames with a type and a length of two bytes.
    pub fn in_frames(&self) -> usize {
        self.cost - self.len() * OVERHEAD + self.len() * FRAME
    }

    /// The next message.
    pub fn pop(&mut self) -> Option<Vec<u8>> {
        let message = self.queue.pop_front()?;
        self.cost -= message.len() + OVERHEAD;
        Some(message)
    }

    /// The next message, if it has at most `room` bytes.
    pub fn pop_within(&mut self, room: usize) -> Option<Vec<u8>> {
        self.next_len().filter(|len| *len <= room)?;
        self.pop()
    }

    /// How many messages wait.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// None waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// How many messages found no room, or had to make it.
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounded_by_bytes_and_by_messages() {
        let mut refusing = DatagramQueue::new(1000, WhenFull::Refuse);
        assert!(refusing.push(vec![1; 900]) && !refusing.push(vec![2; 90]));
        assert_eq!((refusing.pop_within(899), refusing.next_len()), (None, Some(900)));
        assert_eq!(refusing.in_frames(), 903);
        assert_eq!(refusing.pop_within(900), Some(vec![1; 900]));
        let taken = (0..1000).filter(|_| refusing.push(Vec::new())).count();
        assert_eq!(taken, 1000 / OVERHEAD);

        let mut dropping = DatagramQueue::new(1000, WhenFull::DropOldest);
        assert!(dropping.push(vec![1; 400]) && dropping.push(vec![2; 400]) && dropping.push(vec![3; 900]));
        assert!(!dropping.push(vec![4; 1000]));
        assert_eq!(dropping.in_frames(), 903);
        assert_eq!((dropping.len(), dropping.dropped(), dropping.pop()), (1, 3, Some(vec![3; 900])));
        assert!(dropping.is_empty() && dropping.pop().is_none());
    }
}
