//! The packets that a stack has in flight, looked up by what its trait reports of them.

use std::collections::BTreeMap;

use recovery::units::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) sent: Time,
    pub(crate) bytes: u64,
}

/// Packets in flight, by a key that the stack reports: a packet number or a send time.
///
/// Several packets can share a key: each packet number space has its own number 0. A serial number,
/// which ascends in the order of sending, tells them apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight {
    packets: BTreeMap<(u64, u64), Packet>,
    next: u64,
}

impl InFlight {
    /// Adds a sent packet and returns its serial.
    pub(crate) fn insert(&mut self, key: u64, packet: Packet) -> u64 {
        let serial = self.next;
        self.next += 1;
        self.packets.insert((key, serial), packet);
        serial
    }

    /// Removes the oldest packet with this key that `fits`, or else the oldest with this key.
    pub(crate) fn remove(&mut self, key: u64, fits: impl Fn(&Packet) -> bool) -> Option<(u64, Packet)> {
        let all = || self.packets.range((key, 0)..=(key, u64::MAX));
        let found = all().find(|(_, packet)| fits(packet)).or_else(|| all().next());
        let at = found.map(|(at, _)| *at)?;
        self.packets.remove(&at).map(|packet| (at.1, packet))
    }

    /// Removes packets with keys up to this one, in the order of keys, of `bytes` bytes in total.
    /// Skips a packet larger than the remainder.
    pub(crate) fn remove_up_to(&mut self, key: u64, bytes: u64) -> Vec<u64> {
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

    /// Removes packets of at most `bytes` bytes in total, in the order of the sort key `first`.
    /// Returns their serials.
    pub(crate) fn remove_at_most<K: Ord>(
        &mut self,
        bytes: u64,
        first: impl Fn(u64, &Packet) -> K,
    ) -> Vec<u64> {
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

    /// Removes these packets and returns their serials.
    fn drop_all(&mut self, keys: Vec<(u64, u64)>) -> Vec<u64> {
        for key in &keys {
            self.packets.remove(key);
        }
        keys.into_iter().map(|(_, serial)| serial).collect()
    }

    /// Removes all packets and returns their serials.
    pub(crate) fn clear(&mut self) -> impl Iterator<Item = u64> {
        std::mem::take(&mut self.packets).into_keys().map(|(_, serial)| serial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_flight(packets: &[(u64, u64)]) -> InFlight {
        let mut all = InFlight::default();
        for &(key, bytes) in packets {
            all.insert(key, Packet { sent: Time(key), bytes });
        }
        all
    }

    /// Two spaces use the same number: the packet that fits is removed, or else the older one.
    #[test]
    fn a_key_that_two_share() {
        let mut all = in_flight(&[(0, 1200), (0, 50), (1, 700)]);
        assert_eq!(all.remove(0, |p| p.bytes == 50).map(|t| t.0), Some(1));
        assert_eq!(all.remove(0, |p| p.bytes == 50).map(|t| t.0), Some(0));
        assert_eq!(all.remove(0, |_| true), None);
        assert_eq!(all.remove(1, |_| true).map(|t| t.0), Some(2));
    }

    #[test]
    fn so_many_bytes_of_the_oldest() {
        let mut all = in_flight(&[(1, 1000), (2, 300), (3, 1000), (4, 1000)]);
        assert_eq!(all.remove_up_to(3, 2000), [0, 1], "the third would be too much");
        assert_eq!(all.remove_up_to(4, 2000), [2, 3]);
        assert!(all.remove_up_to(4, 2000).is_empty());
    }

    #[test]
    fn what_is_forgotten() {
        let mut all = in_flight(&[(1, 1000), (2, 40), (3, 1000), (4, 50)]);
        assert_eq!(
            all.remove_at_most(95, |serial, packet| (packet.bytes, serial)),
            [1, 3],
            "the smallest first"
        );
        assert_eq!(all.remove_at_most(1500, |serial, _| serial), [0], "the oldest first");
        assert_eq!(all.clear().collect::<Vec<_>>(), [2]);
    }
}
