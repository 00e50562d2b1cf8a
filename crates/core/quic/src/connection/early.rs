//! Packets that arrived before their keys (RFC 9001 section 5.7).

use units::{Ecn, Time};

use crate::connection::path::Addresses;
use crate::level::Level;

/// Maximum number of packets, and their maximum total size in bytes.
const MAX_PACKETS: usize = 8;
const MAX_BYTES: usize = 16 << 10;

/// Origin of a packet, and its datagram.
#[derive(Clone, Copy)]
pub(super) struct Origin {
    pub(super) addresses: Addresses,
    pub(super) ecn: Ecn,
    pub(super) arrived: Time,
    /// Size of the whole datagram, in bytes.
    pub(super) bytes: usize,
}

/// Packets that wait for their keys.
#[derive(Default)]
pub(super) struct EarlyPackets(Vec<(Level, Origin, Vec<u8>)>);

impl EarlyPackets {
    /// Returns the size of all packets, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.0.iter().map(|(.., bytes)| bytes.len()).sum()
    }

    /// Stores a packet. Returns `false` if there is no space.
    pub(super) fn push(&mut self, level: Level, origin: Origin, packet: &[u8]) -> bool {
        let fits = self.0.len() < MAX_PACKETS && self.bytes() + packet.len() <= MAX_BYTES;
        if fits {
            self.0.push((level, Origin { bytes: packet.len(), ..origin }, packet.to_vec()));
        }
        fits
    }

    /// Returns the index of the first packet whose level has keys.
    pub(super) fn first(&self, has_keys: impl Fn(Level) -> bool) -> Option<usize> {
        self.0.iter().position(|(level, ..)| has_keys(*level))
    }

    /// Takes the packet at this index.
    pub(super) fn remove(&mut self, at: usize) -> (Origin, Vec<u8>) {
        let (_, origin, bytes) = self.0.remove(at);
        (origin, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounded_and_in_order() {
        let address = std::net::SocketAddr::from(([10, 0, 0, 1], 1));
        let addresses = Addresses { local: address, remote: address };
        let origin = Origin { addresses, ecn: Ecn::Ce, arrived: Time::from_millis(3), bytes: 1200 };
        let mut early = EarlyPackets::default();
        assert!(!early.push(Level::OneRtt, origin, &[0; MAX_BYTES + 1]));
        for n in 0..MAX_PACKETS {
            let level = if n < 2 { Level::OneRtt } else { Level::Handshake };
            assert!(early.push(level, origin, &vec![0; n]));
        }
        assert!(!early.push(Level::OneRtt, origin, b""));
        assert_eq!((early.bytes(), early.first(|_| false)), (28, None));
        assert_eq!(early.first(|level| level == Level::Handshake), Some(2));
        let (origin, bytes) = early.remove(2);
        assert_eq!((origin.bytes, bytes.len(), origin.ecn, early.bytes()), (2, 2, Ecn::Ce, 26));
        assert_eq!(early.first(|_| true), Some(0));
    }
}
