//! Packets that travel over a link.

use units::{Ecn, Time};

/// Properties of a packet that a link reads or changes.
pub trait Packet: Clone {
    /// Returns the bytes on the wire, with all headers that the link's rate and limit are meant to
    /// count.
    fn size(&self) -> u32;

    /// Returns the ECN field.
    fn ecn(&self) -> Ecn;

    /// Overwrites the ECN field.
    fn set_ecn(&mut self, ecn: Ecn);

    /// Damages the packet, so that the receiver's checksum or AEAD fails. `random` chooses the
    /// damaged bits of a packet with real bytes.
    fn damage(&mut self, random: u64);

    /// Creates a second copy, which the link delivers too.
    fn copy(&mut self) -> Self {
        self.clone()
    }

    /// Damages the packet when the link also delivers an intact `copy`. For types that tell copies
    /// apart, the copy then becomes the packet.
    fn damage_with_copy(&mut self, _copy: &mut Self, random: u64) {
        self.damage(random);
    }

    /// Returns the flow of the packet, which FQ-CoDel hashes instead of the five-tuple.
    fn flow(&self) -> u32;

    /// Receives the departure of the packet's last bit, for packet logs.
    #[inline]
    fn set_departure(&mut self, _at: Time) {}

    /// Sets CE. Returns false and changes nothing if the packet is not ECN-capable.
    fn set_ce(&mut self) -> bool {
        let capable = self.ecn() != Ecn::NotEct;
        if capable {
            self.set_ecn(Ecn::Ce);
        }
        capable
    }
}
