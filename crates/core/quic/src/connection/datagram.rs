//! A datagram under construction: up to three packets that are written, but not sealed (RFC 9000
//! section 12.2).

use std::ops::Range;

use crate::connection::sent_frames::SentFrame;
use crate::level::Level;
use crate::wire::header::Placed;

/// Encryption levels of the packets of a datagram, in order.
pub(super) const LEVELS: [Level; 3] = [Level::Initial, Level::Handshake, Level::OneRtt];
/// Minimum space for a datagram, in bytes.
pub(super) const MIN_ROOM: usize = 64;

/// A packet that is written, but not sealed.
pub(super) struct Draft {
    pub(super) placed: Placed,
    /// Start of the packet in the datagram, and its length without the tag.
    pub(super) start: usize,
    pub(super) len: usize,
    pub(super) tag_len: usize,
    pub(super) eliciting: bool,
    pub(super) padded: bool,
    /// Range of its frames in `Datagram::items`.
    pub(super) items: Range<usize>,
}

impl Draft {
    /// Returns the range of the whole packet in the datagram.
    pub(super) const fn range(&self) -> Range<usize> {
        self.start..self.start + self.len + self.tag_len
    }
}

/// Result of writing the frames of a packet.
#[derive(Clone, Copy, Default)]
pub(super) struct WrittenFrames {
    pub(super) eliciting: bool,
    /// Whether the datagram must be expanded to 1200 bytes (section 8.2.1).
    pub(super) expand: bool,
}

/// A datagram under construction.
pub(super) struct Datagram {
    /// At most one packet for each level, in order.
    drafts: [Option<Draft>; LEVELS.len()],
    pub(super) expand: bool,
    /// Frames of all packets.
    pub(super) items: Vec<SentFrame>,
}

impl Datagram {
    /// Starts an empty datagram with the memory of an earlier one.
    pub(super) fn new(mut items: Vec<SentFrame>) -> Self {
        items.clear();
        Self { drafts: Default::default(), expand: false, items }
    }

    /// Returns the packets.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Draft> {
        self.drafts.iter().flatten()
    }

    /// Returns the length so far.
    pub(super) fn end(&self) -> usize {
        self.iter().last().map_or(0, |last| last.range().end)
    }

    /// Reports whether nothing was written.
    pub(super) fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Appends a packet.
    pub(super) fn push(&mut self, draft: Draft) {
        if let Some(free) = self.drafts.iter_mut().find(|place| place.is_none()) {
            *free = Some(draft);
        }
    }

    /// Pads the last packet.
    pub(super) fn pad(&mut self, buf: &mut [u8], to: usize) {
        let missing = to.min(buf.len()).saturating_sub(self.end());
        if let Some(last) = self.drafts.iter_mut().flatten().last().filter(|_| missing > 0) {
            let from = last.start + last.len;
            buf[from..from + missing].fill(0);
            last.len += missing;
            last.padded = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_packet_is_padded() {
        let mut datagram = Datagram::new(vec![SentFrame::Ping]);
        assert!(datagram.is_empty() && datagram.items.is_empty());
        let mut buf = [7; 200];
        datagram.pad(&mut buf, 100);
        assert_eq!(datagram.end(), 0);
        for level in [Level::Initial, Level::OneRtt] {
            let placed = Placed { level, start: 0, length_at: None, pn_offset: 1, number_len: 1, number: 0 };
            let start = datagram.end();
            let (eliciting, padded, items) = (true, false, 0..0);
            datagram.push(Draft { placed, start, len: 30, tag_len: 16, eliciting, padded, items });
        }
        datagram.pad(&mut buf, 80);
        assert_eq!(datagram.end(), 92);
        datagram.pad(&mut buf, 1200);
        let ranges: Vec<_> = datagram.iter().map(|draft| (draft.range(), draft.padded)).collect();
        assert_eq!(ranges, [(0..46, false), (46..200, true)]);
        assert!(buf[..76].iter().all(|byte| *byte == 7) && buf[76..184].iter().all(|byte| *byte == 0));
    }
}
