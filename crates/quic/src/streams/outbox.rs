//! Bytes on their way out: kept until they are acknowledged, lost ones first (RFC 9000 section 13.3).

use std::collections::VecDeque;
use std::ops::Range;

use super::pattern;
use super::ranges::RangeSet;

/// What a packet carries of a stream. The sender of packets keeps it and hands it back when the packet is acknowledged or lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Where it begins.
    pub offset: u64,
    /// How many bytes.
    pub len: usize,
    /// The stream ends with it.
    pub fin: bool,
}

impl Chunk {
    /// The bytes it covers.
    pub const fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.len as u64
    }
}

/// Where bytes come from.
#[derive(Clone, Debug)]
enum Source {
    /// The application wrote them; held from the first that is not acknowledged, at most `capacity`.
    Written { held: VecDeque<u8>, capacity: usize },
    /// [`pattern`]; nothing is held.
    Pattern,
}

/// Bytes of one stream on their way out.
#[derive(Clone, Debug)]
pub struct Outbox {
    source: Source,
    /// Where the bytes that there are end.
    end: u64,
    /// Where those end that were sent at least once.
    sent: u64,
    /// All below is acknowledged.
    base: u64,
    /// Acknowledged above `base`.
    acked: RangeSet,
    /// Lost and not sent again.
    lost: RangeSet,
}

impl Outbox {
    const fn from(source: Source) -> Self {
        Self { source, end: 0, sent: 0, base: 0, acked: RangeSet::new(), lost: RangeSet::new() }
    }

    /// For bytes that an application writes; at most `capacity` of them are held.
    pub const fn new(capacity: usize) -> Self {
        Self::from(Source::Written { held: VecDeque::new(), capacity })
    }

    /// With so many bytes of a pattern, that take no memory.
    pub const fn of_pattern(bytes: u64) -> Self {
        let mut outbox = Self::from(Source::Pattern);
        outbox.end = bytes;
        outbox
    }

    /// Takes as much as there is room for; says how much. A pattern takes nothing: see [`offer`](Self::offer).
    pub fn write(&mut self, data: &[u8]) -> usize {
        let taken = match &mut self.source {
            Source::Written { held, capacity } => {
                let taken = data.len().min(capacity.saturating_sub(held.len()));
                held.extend(&data[..taken]);
                taken
            }
            Source::Pattern => 0,
        };
        self.end += taken as u64;
        taken
    }

    /// The pattern goes up to here from now on, and no less far than what was sent; nothing happens to what an application writes.
    pub const fn offer(&mut self, end: u64) {
        if let Source::Pattern = self.source {
            self.end = if end > self.sent { end } else { self.sent };
        }
    }

    /// How many bytes [`write`](Self::write) would take.
    pub fn room(&self) -> usize {
        match &self.source {
            Source::Written { held, capacity } => capacity.saturating_sub(held.len()),
            Source::Pattern => 0,
        }
    }

    /// How many bytes are held; none of a pattern.
    pub fn held(&self) -> usize {
        match &self.source {
            Source::Written { held, .. } => held.len(),
            Source::Pattern => 0,
        }
    }

    /// Where the bytes that were written end.
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// Where the bytes end that were sent at least once.
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// Nothing is unacknowledged.
    pub const fn is_acked(&self) -> bool {
        self.base == self.end
    }

    /// There is something to send, below `limit`.
    pub fn has_pending(&self, limit: u64) -> bool {
        !self.lost.is_empty() || self.sent < self.end.min(limit)
    }

    /// Where that begins which [`next`](Self::next) will give.
    pub fn next_offset(&self) -> u64 {
        self.lost.first().map_or(self.sent, |lost| lost.start)
    }

    /// What goes next: lost bytes, lowest first; then new ones below `limit`, the credit of the stream. At most `max` bytes. They count as
    /// sent from now on; [`copy`](Self::copy) has them.
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
    /// When they are acknowledged already or not there yet: only what [`next`](Self::next) gave out may be asked for.
    pub fn copy(&self, offset: u64, out: &mut [u8]) {
        match &self.source {
            Source::Pattern => pattern::fill(offset, out),
            Source::Written { held, .. } => {
                let from = (offset - self.base) as usize;
                let (front, back) = held.as_slices();
                let in_front = front.len().saturating_sub(from).min(out.len());
                let (first, second) = out.split_at_mut(in_front);
                first.copy_from_slice(&front[from.min(front.len())..][..in_front]);
                let from = from.saturating_sub(front.len());
                second.copy_from_slice(&back[from..][..second.len()]);
            }
        }
    }

    /// These bytes arrived. Never below what was sent: whoever hands chunks back got them from here.
    pub fn on_acked(&mut self, range: Range<u64>) {
        let range = range.start.max(self.base)..range.end.min(self.sent);
        self.lost.remove(range.clone());
        // In order, as most are: no range is kept of them.
        if self.acked.is_empty() && range.start == self.base && !range.is_empty() {
            return self.release(range.end);
        }
        self.acked.insert(range);
        if let Some(first) = self.acked.first().filter(|first| first.start == self.base) {
            self.acked.remove(first.clone());
            self.release(first.end);
        }
    }

    /// All below is acknowledged.
    fn release(&mut self, end: u64) {
        if let Source::Written { held, .. } = &mut self.source {
            held.drain(..(end - self.base) as usize);
        }
        self.base = end;
    }

    /// These bytes did not arrive: what is not acknowledged of them is sent again.
    pub fn on_lost(&mut self, range: Range<u64>) {
        let range = range.start.max(self.base)..range.end.min(self.sent);
        for missing in self.acked.missing(range) {
            self.lost.insert(missing);
        }
    }

    /// Lets go of everything: the stream was reset.
    pub fn clear(&mut self) {
        self.lost = RangeSet::new();
        self.acked = RangeSet::new();
        (self.end, self.base) = (self.sent, self.sent);
        if let Source::Written { held, .. } = &mut self.source {
            *held = VecDeque::new();
        }
    }

    /// How many ranges are kept track of.
    pub fn holes(&self) -> usize {
        self.acked.len() + self.lost.len()
    }
}
