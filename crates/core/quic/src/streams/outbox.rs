//! Outgoing bytes, kept until they are acknowledged. Lost bytes are sent first (RFC 9000 section
//! 13.3).

use std::collections::VecDeque;
use std::ops::Range;

use super::pattern;
use super::ranges::RangeSet;

/// Part of a stream carried by a packet. The sender keeps it, and returns it when the packet is
/// acknowledged or lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: usize,
    /// Whether the stream ends here.
    pub fin: bool,
}

impl Chunk {
    /// Returns the range of bytes.
    pub const fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.len as u64
    }
}

/// Source of the bytes.
#[derive(Clone, Debug)]
enum Source {
    /// Pieces that the application has written, with the offset of each, at most `capacity` bytes.
    /// A piece is stored until all of it is acknowledged. So the memory follows the bytes, where
    /// one buffer for all of them would keep its largest size.
    Written { held: VecDeque<(u64, Box<[u8]>)>, capacity: usize },
    /// Bytes of the [`pattern`], which are not stored.
    Pattern,
}

/// Outgoing bytes of one stream.
#[derive(Clone, Debug)]
pub struct Outbox {
    source: Source,
    /// End of the available bytes.
    end: u64,
    /// End of the bytes that were sent at least once.
    sent: u64,
    /// End of the bytes that are all acknowledged.
    base: u64,
    /// Acknowledged ranges above `base`.
    acked: RangeSet,
    /// Lost ranges that were not sent again.
    lost: RangeSet,
}

impl Outbox {
    const fn from(source: Source) -> Self {
        Self { source, end: 0, sent: 0, base: 0, acked: RangeSet::new(), lost: RangeSet::new() }
    }

    /// Creates an outbox for bytes written by an application; at most `capacity` of them are
    /// stored.
    pub const fn new(capacity: usize) -> Self {
        Self::from(Source::Written { held: VecDeque::new(), capacity })
    }

    /// Creates an outbox with `bytes` bytes of the pattern, which take no memory.
    pub const fn with_pattern(bytes: u64) -> Self {
        let mut outbox = Self::from(Source::Pattern);
        outbox.end = bytes;
        outbox
    }

    /// Appends as many bytes as fit, and returns their number. A pattern takes no bytes: see
    /// [`offer`](Self::offer).
    pub fn write(&mut self, data: &[u8]) -> usize {
        let taken = data.len().min(self.room());
        if let Source::Written { held, .. } = &mut self.source
            && taken > 0
        {
            held.push_back((self.end, data[..taken].into()));
            self.end += taken as u64;
        }
        taken
    }

    /// Sets the end of the pattern, but not below what was sent. Has no effect on bytes written by
    /// an application.
    pub const fn offer(&mut self, end: u64) {
        if let Source::Pattern = self.source {
            self.end = if end > self.sent { end } else { self.sent };
        }
    }

    /// Returns the number of bytes that [`write`](Self::write) would take.
    pub fn room(&self) -> usize {
        match &self.source {
            Source::Written { capacity, .. } => capacity.saturating_sub(self.held()),
            Source::Pattern => 0,
        }
    }

    /// Returns the number of written bytes that are not acknowledged; 0 for a pattern.
    pub const fn held(&self) -> usize {
        match &self.source {
            Source::Written { .. } => (self.end - self.base) as usize,
            Source::Pattern => 0,
        }
    }

    /// Returns the number of stored bytes: [`held`](Self::held), and the acknowledged part of the
    /// first piece.
    pub fn memory(&self) -> usize {
        match &self.source {
            Source::Written { held, .. } => held.front().map_or(0, |(start, _)| (self.end - start) as usize),
            Source::Pattern => 0,
        }
    }

    /// Returns the end of the written bytes.
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// Returns the end of the bytes that were sent at least once.
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// Reports whether all bytes are acknowledged.
    pub const fn is_acked(&self) -> bool {
        self.base == self.end
    }

    /// Reports whether there is something to send below `limit`.
    pub fn has_pending(&self, limit: u64) -> bool {
        !self.lost.is_empty() || self.sent < self.end.min(limit)
    }

    /// Returns the number of bytes below `limit` that wait to be sent for the first time, or `None`
    /// if lost bytes come first.
    pub fn waiting(&self, limit: u64) -> Option<u64> {
        self.lost.is_empty().then(|| self.end.min(limit).saturating_sub(self.sent))
    }

    /// Returns the offset of the next chunk that [`next`](Self::next) will return.
    pub fn next_offset(&self) -> u64 {
        self.lost.first().map_or(self.sent, |lost| lost.start)
    }

    /// Returns the next chunk, of at most `max` bytes: lost bytes first, lowest offset first, then
    /// new bytes below `limit`, the credit of the stream.
    ///
    /// The chunk counts as sent from now on. [`copy`](Self::copy) provides its bytes.
    pub fn next(&mut self, max: usize, limit: u64) -> Option<Chunk> {
        if max == 0 {
            return None;
        }
        let (offset, end) = match self.lost.first() {
            Some(lost) => (lost.start, lost.end),
            None => (self.sent, self.end.min(limit)),
        };
        let len = end.checked_sub(offset)?.min(max as u64);
        if len == 0 {
            return None;
        }
        self.lost.remove(offset..offset + len);
        self.sent = self.sent.max(offset + len);
        Some(Chunk { offset, len: len as usize, fin: false })
    }

    /// Copies bytes from `offset` on into a packet.
    ///
    /// # Panics
    /// If they are already acknowledged or not written yet. Only chunks from [`next`](Self::next)
    /// may be copied.
    pub fn copy(&self, offset: u64, out: &mut [u8]) {
        match &self.source {
            Source::Pattern => pattern::fill(offset, out),
            Source::Written { held, .. } => {
                let first = held.partition_point(|(start, _)| *start <= offset).saturating_sub(1);
                let mut from = held.get(first).map_or(0, |(start, _)| (offset - start) as usize);
                let mut left = out;
                for (_, piece) in held.range(first..) {
                    let (now, later) = left.split_at_mut(left.len().min(piece.len() - from));
                    now.copy_from_slice(&piece[from..][..now.len()]);
                    (from, left) = (0, later);
                    if left.is_empty() {
                        return;
                    }
                }
                assert!(left.is_empty(), "only written bytes are copied");
            }
        }
    }

    /// Processes an acknowledgement. The range lies within the sent bytes, since all chunks come
    /// from this outbox.
    pub fn on_acked(&mut self, range: Range<u64>) {
        let range = range.start.max(self.base)..range.end.min(self.sent);
        self.lost.remove(range.clone());
        // Most acknowledgements are in order, and need no range.
        if self.acked.is_empty() && range.start == self.base && !range.is_empty() {
            return self.release(range.end);
        }
        self.acked.insert(range);
        if let Some(first) = self.acked.first().filter(|first| first.start == self.base) {
            self.acked.remove(first.clone());
            self.release(first.end);
        }
    }

    /// Discards bytes below `end`, which are all acknowledged.
    fn release(&mut self, end: u64) {
        if let Source::Written { held, .. } = &mut self.source {
            while held.front().is_some_and(|(start, piece)| start + piece.len() as u64 <= end) {
                held.pop_front();
            }
        }
        self.base = end;
    }

    /// Processes a loss. Bytes that are not acknowledged are sent again.
    pub fn on_lost(&mut self, range: Range<u64>) {
        let range = range.start.max(self.base)..range.end.min(self.sent);
        for missing in self.acked.missing(range) {
            self.lost.insert(missing);
        }
    }

    /// Discards all data, because the stream was reset.
    pub fn clear(&mut self) {
        self.lost = RangeSet::new();
        self.acked = RangeSet::new();
        (self.end, self.base) = (self.sent, self.sent);
        if let Source::Written { held, .. } = &mut self.source {
            *held = VecDeque::new();
        }
    }

    /// Returns the number of ranges stored.
    pub fn holes(&self) -> usize {
        self.acked.len() + self.lost.len()
    }
}
