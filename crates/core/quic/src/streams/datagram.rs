//! Queues of DATAGRAM messages (RFC 9221), bounded by size.

use std::collections::VecDeque;

/// Accounted cost of a message besides its bytes, so that empty messages are bounded too.
const OVERHEAD: usize = size_of::<Vec<u8>>();

/// Overhead of a DATAGRAM frame, in bytes: type, and a length of two bytes.
pub(crate) const FRAME: usize = 3;

/// Treatment of a message that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// Refuses the message. For messages that an application sends.
    Refuse,
    /// Drops the oldest messages. For received messages, since late media is worthless.
    DropOldest,
}

/// Messages waiting to be sent or read.
#[derive(Clone, Debug)]
pub struct DatagramQueue {
    queue: VecDeque<Vec<u8>>,
    cost: usize,
    max: usize,
    when_full: WhenFull,
}

impl DatagramQueue {
    /// Creates a queue for at most `max` bytes. Each message counts 24 additional bytes.
    pub const fn new(max: usize, when_full: WhenFull) -> Self {
        Self { queue: VecDeque::new(), cost: 0, max, when_full }
    }

    /// Adds a message. Returns `false` if it was refused.
    pub fn push(&mut self, message: Vec<u8>) -> bool {
        let cost = message.len() + OVERHEAD;
        while self.when_full == WhenFull::DropOldest && cost <= self.max && self.cost + cost > self.max {
            self.pop();
        }
        if self.cost + cost > self.max {
            return false;
        }
        self.cost += cost;
        self.queue.push_back(message);
        true
    }

    /// Returns the length of the next message.
    pub fn next_len(&self) -> Option<usize> {
        self.queue.front().map(Vec::len)
    }

    /// Returns the size of all waiting messages in packets, as frames with a type and a length of
    /// two bytes.
    pub fn in_frames(&self) -> usize {
        self.cost - self.len() * OVERHEAD + self.len() * FRAME
    }

    /// Takes the next message.
    pub fn pop(&mut self) -> Option<Vec<u8>> {
        let message = self.queue.pop_front()?;
        self.cost -= message.len() + OVERHEAD;
        Some(message)
    }

    /// Takes the next message if it has at most `room` bytes.
    pub fn pop_within(&mut self, room: usize) -> Option<Vec<u8>> {
        self.next_len().filter(|len| *len <= room)?;
        self.pop()
    }

    /// Returns the number of waiting messages.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Reports whether no message is waiting.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
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
        assert_eq!((dropping.len(), dropping.pop()), (1, Some(vec![3; 900])));
        assert!(dropping.is_empty() && dropping.pop().is_none());
    }
}
