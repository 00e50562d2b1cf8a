//! Lost data that waits to be sent again: a queue, and an index of its pieces by stream offset.
//!
//! After an overshoot thousands of pieces wait, and every acknowledgement must check which of them
//! it covers. Usually it covers none, and that must not cost a walk over the queue.

use std::collections::{BTreeMap, VecDeque};

use recovery::{Payload, TcpAck};

use crate::packet::Chunk;

#[derive(Debug, Default)]
pub(crate) struct Resend {
    queue: VecDeque<Chunk>,
    /// Start and end of each piece, with its number of occurrences in the queue.
    places: BTreeMap<(u64, u64), u32>,
}

fn place(chunk: &Chunk) -> (u64, u64) {
    let range = chunk.range();
    (range.start, range.end)
}

impl Resend {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns the next piece to be sent.
    #[inline]
    pub(crate) fn front(&self) -> Option<Chunk> {
        self.queue.front().copied()
    }

    pub(crate) fn push_back(&mut self, chunk: Chunk) {
        self.note(&chunk);
        self.queue.push_back(chunk);
    }

    pub(crate) fn push_front(&mut self, chunk: Chunk) {
        self.note(&chunk);
        self.queue.push_front(chunk);
    }

    pub(crate) fn pop_front(&mut self) {
        if let Some(chunk) = self.queue.pop_front() {
            forget(&mut self.places, &chunk);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.queue.clear();
        self.places.clear();
    }

    /// Returns the smallest waiting stream offset.
    pub(crate) fn min_offset(&self) -> Option<u64> {
        self.places.first_key_value().map(|(place, _)| place.0)
    }

    /// Removes pieces that the acknowledgement covers.
    pub(crate) fn drop_covered(&mut self, ack: &TcpAck) {
        let ends = self.places.first_key_value().zip(self.places.last_key_value());
        let Some(((first, _), (last, _))) = ends else { return };
        let mut spans = std::iter::once((0, ack.cumulative)).chain(ack.sacks);
        if spans.any(|(s, e)| s <= last.0 && first.0 <= e && self.is_covered(s, e)) {
            self.retain(|chunk| {
                let (start, end) = place(chunk);
                !ack.covers(start, end)
            });
        }
    }

    /// Reports whether a piece lies within `start..end`.
    fn is_covered(&self, start: u64, end: u64) -> bool {
        start <= end && self.places.range((start, 0)..=(end, end)).any(|(place, _)| place.1 <= end)
    }

    #[inline(never)]
    pub(crate) fn retain(&mut self, keep: impl Fn(&Chunk) -> bool) {
        let places = &mut self.places;
        self.queue.retain(|chunk| {
            let kept = keep(chunk);
            if !kept {
                forget(places, chunk);
            }
            kept
        });
    }

    fn note(&mut self, chunk: &Chunk) {
        *self.places.entry(place(chunk)).or_insert(0) += 1;
    }
}

fn forget(places: &mut BTreeMap<(u64, u64), u32>, chunk: &Chunk) {
    let place = place(chunk);
    match places.get_mut(&place) {
        Some(count) if *count > 1 => *count -= 1,
        _ => drop(places.remove(&place)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Op {
        Back(u64, u32),
        Front(u64, u32),
        Pop,
        Ack(u64, [(u64, u64); 3]),
    }

    fn op() -> impl Strategy<Value = Op> {
        let sack = || (0u64..60, 0u64..60);
        prop_oneof![
            4 => (0u64..60, 0u32..5).prop_map(|(offset, len)| Op::Back(offset, len)),
            1 => (0u64..60, 0u32..5).prop_map(|(offset, len)| Op::Front(offset, len)),
            2 => Just(Op::Pop),
            2 => (0u64..20, sack(), sack(), sack()).prop_map(|(c, x, y, z)| Op::Ack(c, [x, y, z])),
        ]
    }

    proptest! {
        /// Agrees with a walk over the queue, for any queue and any acknowledgement.
        #[test]
        fn like_a_walk(ops in prop::collection::vec(op(), 1..60)) {
            let (mut resend, mut walked) = (Resend::default(), VecDeque::new());
            for op in ops {
                match op {
                    Op::Back(offset, len) => {
                        resend.push_back(Chunk { offset, len });
                        walked.push_back(Chunk { offset, len });
                    }
                    Op::Front(offset, len) => {
                        resend.push_front(Chunk { offset, len });
                        walked.push_front(Chunk { offset, len });
                    }
                    Op::Pop => {
                        resend.pop_front();
                        walked.pop_front();
                    }
                    Op::Ack(cumulative, sacks) => {
                        let ack = TcpAck { cumulative, sacks, ..TcpAck::default() };
                        resend.drop_covered(&ack);
                        walked.retain(|c| !ack.covers(c.range().start, c.range().end));
                    }
                }
                prop_assert_eq!(&resend.queue, &walked);
                prop_assert_eq!(resend.min_offset(), walked.iter().map(|c| c.offset).min());
                prop_assert_eq!(resend.places.values().sum::<u32>() as usize, walked.len());
            }
        }
    }
}
