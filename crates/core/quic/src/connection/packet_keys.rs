//! Keys of all encryption levels (RFC 9001 section 5).

use units::{Duration, Time};

use crate::crypto::keys::{self, Keys, Opened, Refused};
use crate::crypto::update::OneRtt;
use crate::error::Error;
use crate::level::{Level, Space};
use crate::wire::header::{Placed, Protected};

/// Keys that a connection has now.
#[derive(Default)]
pub(super) struct PacketKeys {
    /// Keys of Initial and of Handshake packets.
    long: [Option<Keys>; 2],
    pub(super) one_rtt: Option<OneRtt>,
}

impl PacketKeys {
    /// Sets the keys of Initial or Handshake packets.
    pub(super) fn install(&mut self, space: Space, keys: Keys) {
        self.long[space as usize] = Some(keys);
    }

    /// Discards the keys of Initial or Handshake packets. Returns whether there were any.
    pub(super) fn discard(&mut self, space: Space) -> bool {
        self.long[space as usize].take().is_some()
    }

    fn long(&self, level: Level) -> Option<&Keys> {
        self.long.get(level.space() as usize)?.as_ref()
    }

    /// Reports whether there are keys of a level.
    pub(super) fn has(&self, level: Level) -> bool {
        if level == Level::OneRtt { self.one_rtt.is_some() } else { self.long(level).is_some() }
    }

    /// Returns the number of updates of 1-RTT keys.
    pub(super) fn generation(&self) -> u64 {
        self.one_rtt.as_ref().map_or(0, OneRtt::generation)
    }

    /// Returns the tag length of a level, and its minimum payload with a packet number of zero
    /// bytes. `None` without keys.
    pub(super) fn sealing(&self, level: Level) -> Option<(usize, usize)> {
        // Both depend on the lengths of tag and sample, which are 16 bytes in every TLS 1.3 suite.
        // A session without cryptography has no sample.
        if level == Level::OneRtt {
            let one_rtt = self.one_rtt.as_ref()?;
            return Some((one_rtt.tag_len(), one_rtt.min_payload(0)));
        }
        let keys = &self.long(level)?.local;
        Some((keys.packet.tag_len(), keys::min_payload(keys, 0)))
    }

    /// Protects a packet: see [`keys::seal`].
    pub(super) fn seal(&mut self, packet: &mut [u8], placed: &Placed) -> Result<(), Error> {
        match (&mut self.one_rtt, self.long.get(placed.level.space() as usize)) {
            (_, Some(Some(keys))) => keys::seal(&*keys.local.header, &*keys.local.packet, packet, placed),
            (Some(one_rtt), None) => one_rtt.seal(packet, placed),
            _ => Ok(()),
        }
    }

    /// Opens a packet: see [`keys::open`] and [`OneRtt::open`].
    pub(super) fn open<'a>(
        &mut self,
        now: Time,
        pto: Duration,
        packet: &'a mut [u8],
        at: &Protected,
        largest: Option<u64>,
    ) -> Result<Opened<'a>, Refused> {
        match (&mut self.one_rtt, self.long.get(at.level.space() as usize)) {
            (_, Some(Some(keys))) => keys::open(&keys.remote, packet, at, largest),
            (Some(one_rtt), None) => one_rtt.open(now, pto, packet, at, largest),
            _ => Err(Refused::Old),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::plain;
    use crate::level::Side;
    use crate::wire::codec::Writer;
    use crate::wire::connection_id::ConnectionId;
    use crate::wire::header::{Outgoing, Parsed, parse};

    #[test]
    fn each_level_has_its_own() {
        let of = |side| {
            let mut all = PacketKeys::default();
            for (space, level) in [(Space::Initial, Level::Initial), (Space::Handshake, Level::Handshake)] {
                all.install(space, plain::keys(side, level, 16));
            }
            all
        };
        let (mut client, mut server) = (of(Side::Client), of(Side::Server));
        let id = ConnectionId::EMPTY;
        let (destination, source, token) = (id, id, &[][..]);
        let (number, number_len, key_phase, spin) = (5, 1, false, false);
        let level = Level::Handshake;
        let header = Outgoing { level, destination, source, token, number, number_len, key_phase, spin };
        let mut packet = [1; 60];
        let placed = header.encode(&mut Writer::new(&mut packet)).unwrap();
        client.seal(&mut packet, &placed).unwrap();
        let Ok(Parsed::Protected(at)) = parse(&packet, 0) else { panic!("a packet") };
        let open = |keys: &mut PacketKeys, packet: &mut [u8]| {
            keys.open(Time::ZERO, Duration::ZERO, packet, &at, None).map(|opened| opened.number)
        };
        assert_eq!(open(&mut server, &mut packet.clone()), Ok(5));
        assert_eq!(server.sealing(level), Some((16, 1)));
        assert!(server.discard(Space::Handshake) && !server.discard(Space::Handshake));
        assert_eq!((open(&mut server, &mut packet), server.sealing(level)), (Err(Refused::Old), None));
        assert!(server.has(Level::Initial) && !server.has(level) && !server.has(Level::OneRtt));
        assert_eq!((server.sealing(Level::OneRtt), server.generation()), (None, 0));
    }
}
