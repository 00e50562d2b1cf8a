//! The stream data of one packet, and the check of its bytes.

use std::ops::Deref;
use std::slice;

use quic::streams::pattern;

/// A range of the stream: offset and length, in bytes.
pub(crate) type Chunk = (u64, u64);

/// The stream data of one packet. Nearly always it is one chunk, stored without an allocation.
#[derive(Clone, Debug, Default)]
pub(crate) enum Chunks {
    #[default]
    None,
    One(Chunk),
    Several(Vec<Chunk>),
}

impl Chunks {
    /// Appends a chunk.
    pub(crate) fn push(&mut self, chunk: Chunk) {
        match self {
            Self::None => *self = Self::One(chunk),
            Self::One(first) => *self = Self::Several(vec![*first, chunk]),
            Self::Several(chunks) => chunks.push(chunk),
        }
    }
}

impl Deref for Chunks {
    type Target = [Chunk];
    fn deref(&self) -> &[Chunk] {
        match self {
            Self::None => &[],
            Self::One(chunk) => slice::from_ref(chunk),
            Self::Several(chunks) => chunks,
        }
    }
}

impl Extend<Chunk> for Chunks {
    fn extend<I: IntoIterator<Item = Chunk>>(&mut self, chunks: I) {
        chunks.into_iter().for_each(|chunk| self.push(chunk));
    }
}

impl FromIterator<Chunk> for Chunks {
    fn from_iter<I: IntoIterator<Item = Chunk>>(iter: I) -> Self {
        let mut chunks = Self::None;
        chunks.extend(iter);
        chunks
    }
}

/// Reports whether these are the bytes of the pattern. A damaged offset may lie beyond its end.
pub(crate) fn is_pattern(offset: u64, data: &[u8]) -> bool {
    let mut expected = vec![0; data.len()];
    offset.checked_add(data.len() as u64).is_some() && {
        pattern::fill(offset, &mut expected);
        expected == data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_there_are() {
        for count in 0..4 {
            let all: Vec<Chunk> = (0..count).map(|number| (number, 2 * number)).collect();
            assert_eq!(*all.iter().copied().collect::<Chunks>(), *all);
        }
    }
}
