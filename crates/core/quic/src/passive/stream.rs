//! Tracks the stream data that arrives from one end.

use std::collections::BTreeMap;

use recovery::Reassembly;

use super::packet::{Packet, Piece};

/// Stream data of an arrived packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Bytes of data that had not arrived before.
    pub fresh: u64,
    /// Bytes of data in the packet.
    pub bytes: u64,
    /// For its last piece: the end in its stream, and the offset up to which that stream has
    /// arrived in order.
    pub ordered: Option<(u64, u64)>,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    arrived: Reassembly,
    size: Option<u64>,
}

/// Receiving state of all streams of one sender.
#[derive(Clone, Debug, Default)]
pub struct Arrivals(BTreeMap<u64, Stream>);

impl Arrivals {
    /// Adds the data of a packet.
    pub fn on_packet(&mut self, packet: &Packet) -> Arrived {
        let mut all = Arrived::default();
        for piece in &packet.pieces {
            let stream = self.0.entry(piece.stream).or_default();
            all.fresh += stream.arrived.insert(piece.offset, piece.end());
            all.bytes += piece.len;
            all.ordered = Some((piece.end(), stream.arrived.contiguous()));
            if piece.fin {
                stream.size = Some(piece.end());
            }
        }
        all
    }

    /// Reports whether every byte of a piece has arrived.
    pub fn holds(&self, piece: &Piece) -> bool {
        self.0.get(&piece.stream).is_some_and(|stream| stream.arrived.holds(piece.offset, piece.end()))
    }

    /// Reports whether the stream has arrived to its end.
    pub fn is_complete(&self, stream: u64) -> bool {
        self.0.get(&stream).is_some_and(|s| s.size.is_some_and(|size| s.arrived.contiguous() >= size))
    }

    /// Returns the number of bytes of the stream that have arrived in order.
    pub fn contiguous(&self, stream: u64) -> u64 {
        self.0.get(&stream).map_or(0, |stream| stream.arrived.contiguous())
    }
}

#[cfg(test)]
mod tests {
    use crate::Level;

    use super::*;

    fn packet(stream: u64, offset: u64, len: u8, fin: bool) -> Packet {
        // STREAM frame with an offset and a length.
        let mut payload = vec![0x0e | u8::from(fin), stream as u8, offset as u8, len];
        payload.extend(vec![0; len.into()]);
        Packet::read(Level::OneRtt, 0, 40, &payload)
    }

    #[test]
    fn streams_are_apart_and_repeats_bring_nothing() {
        let mut arrivals = Arrivals::default();
        assert_eq!(arrivals.on_packet(&packet(0, 10, 5, true)).fresh, 5);
        assert!(!arrivals.is_complete(0));
        let first = arrivals.on_packet(&packet(0, 0, 10, false));
        assert_eq!(first, Arrived { fresh: 10, bytes: 10, ordered: Some((10, 15)) });
        assert!(arrivals.is_complete(0) && !arrivals.is_complete(4));
        let again = arrivals.on_packet(&packet(0, 8, 4, false));
        assert_eq!((again.fresh, again.bytes), (0, 4));
        assert_eq!(arrivals.on_packet(&packet(4, 0, 4, false)).fresh, 4);
        assert!(arrivals.holds(&Piece { stream: 0, offset: 2, len: 3, fin: false }));
        assert!(!arrivals.holds(&Piece { stream: 4, offset: 2, len: 3, fin: false }));
        assert_eq!((arrivals.contiguous(0), arrivals.contiguous(8)), (15, 0));
    }
}
