//! What one packet has of the stream.

use std::ops::Deref;
use std::slice;

/// A piece of the stream: first byte, length.
pub(crate) type Piece = (u64, u64);

/// The pieces of one packet. Nearly always it is one, which needs no memory of its own.
#[derive(Clone, Debug, Default)]
pub(crate) enum Pieces {
    #[default]
    None,
    One(Piece),
    Several(Vec<Piece>),
}

impl Pieces {
    /// Adds one behind the others.
    pub(crate) fn push(&mut self, piece: Piece) {
        match self {
            Self::None => *self = Self::One(piece),
            Self::One(first) => *self = Self::Several(vec![*first, piece]),
            Self::Several(pieces) => pieces.push(piece),
        }
    }
}

impl Deref for Pieces {
    type Target = [Piece];
    fn deref(&self) -> &[Piece] {
        match self {
            Self::None => &[],
            Self::One(piece) => slice::from_ref(piece),
            Self::Several(pieces) => pieces,
        }
    }
}

impl Extend<Piece> for Pieces {
    fn extend<I: IntoIterator<Item = Piece>>(&mut self, pieces: I) {
        pieces.into_iter().for_each(|piece| self.push(piece));
    }
}

impl FromIterator<Piece> for Pieces {
    fn from_iter<I: IntoIterator<Item = Piece>>(iter: I) -> Self {
        let mut pieces = Self::None;
        pieces.extend(iter);
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_there_are() {
        for count in 0..4 {
            let all: Vec<Piece> = (0..count).map(|number| (number, 2 * number)).collect();
            assert_eq!(*all.iter().copied().collect::<Pieces>(), *all);
        }
    }
}
