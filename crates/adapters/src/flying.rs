//! The packets that a stack has in flight, found by what its trait says of them.

use std::collections::BTreeMap;

use recovery::units::Time;

/// A packet in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) sent: Time,
    pub(crate) bytes: u64,
}

/// Packets in flight by the stack's own key, which several may share: a packet number that each of its spaces has, or a time of departure.
/// Each has a serial of ours besides, which ascends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flying {
    packets: BTreeMap<(u64, u64), Packet>,
    next: u64,
}

impl Flying {
    /// A packet leaves; its serial.
    pub(crate) fn put(&mut self, key: u64, packet: Packet) -> u64 {
        let serial = self.next;
        self.next += 1;
        self.packets.insert((key, serial), packet);
        serial
    }

    /// Takes out the oldest of this key that fits, or else the oldest.
    pub(crate) fn take(&mut self, key: u64, fits: impl Fn(&Packet) -> bool) -> Option<(u64, Packet)> {
        let all = || self.packets.range((key, 0)..=(key, u64::MAX));
        let found = all().find(|(_, packet)| fits(packet)).or_else(|| all().next());
        let at = found.map(|(at, _)| *at)?;
        self.packets.remove(&at).map(|packet| (at.1, packet))
    }

    /// Takes out, in the order of keys up to this one, packets of so many bytes together; what is larger than the rest is passed over.
    pub(crate) fn take_up_to(&mut self, key: u64, bytes: u64) -> Vec<u64> {
        let mut left = bytes;
        let mut taken = Vec::new();
        for (at, packet) in self.packets.range(..=(key, u64::MAX)) {
            if left == 0 {
                break;
            }
            if packet.bytes <= left {
                left -= packet.bytes;
                taken.push(*at);
            }
        }
        self.drop_all(taken)
    }

    /// Takes out packets of at most so many bytes together, in the order that `first` sorts serials and packets in.
    pub(crate) fn forget<K: Ord>(&mut self, bytes: u64, first: impl Fn(u64, &Packet) -> K) -> Vec<u64> {
        let mut all: Vec<_> = self.packets.iter().map(|(at, packet)| (*at, *packet)).collect();
        all.sort_by_key(|((_, serial), packet)| first(*serial, packet));
        let mut left = bytes;
        let mut gone = Vec::new();
        for (at, packet) in all {
            if packet.bytes <= left {
                left -= packet.bytes;
                gone.push(at);
            }
        }
        self.drop_all(gone)
    }

    /// Their serials.
    fn drop_all(&mut self, keys: Vec<(u64, u64)>) -> Vec<u64> {
        for key in &keys {
            self.packets.remove(key);
        }
        keys.into_iter().map(|(_, serial)| serial).collect()
    }

    /// Takes out all.
    pub(crate) fn clear(&mut self) -> impl Iterator<Item = u64> {
        std::mem::take(&mut self.packets).into_keys().map(|(_, serial)| serial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flying(packets: &[(u64, u64)]) -> Flying {
        let mut all = Flying::default();
        for &(key, bytes) in packets {
            all.put(key, Packet { sent: Time(key), bytes });
        }
        all
    }

    /// The same number in two spaces: what fits is taken, else the older.
    #[test]
    fn a_key_that_two_share() {
        let mut all = flying(&[(0, 1200), (0, 50), (1, 700)]);
        assert_eq!(all.take(0, |p| p.bytes == 50).map(|t| t.0), Some(1));
        assert_eq!(all.take(0, |p| p.bytes == 50).map(|t| t.0), Some(0));
        assert_eq!(all.take(0, |_| true), None);
        assert_eq!(all.take(1, |_| true).map(|t| t.0), Some(2));
    }

    #[test]
    fn so_many_bytes_of_the_oldest() {
        let mut all = flying(&[(1, 1000), (2, 300), (3, 1000), (4, 1000)]);
        assert_eq!(all.take_up_to(3, 2000), [0, 1], "the third would be too much");
        assert_eq!(all.take_up_to(4, 2000), [2, 3]);
        assert!(all.take_up_to(4, 2000).is_empty());
    }

    #[test]
    fn what_is_forgotten() {
        let mut all = flying(&[(1, 1000), (2, 40), (3, 1000), (4, 50)]);
        assert_eq!(all.forget(95, |serial, packet| (packet.bytes, serial)), [1, 3], "the smallest first");
        assert_eq!(all.forget(1500, |serial, _| serial), [0], "the oldest first");
        assert_eq!(all.clear().collect::<Vec<_>>(), [2]);
    }
}
