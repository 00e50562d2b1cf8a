//! What travels over a link.

use units::{Ecn, Time};

/// What a link must know of a packet, and may change.
pub trait Packet: Clone {
    /// Bytes on the wire, with all headers that the link's rate and limit are meant to count.
    fn size(&self) -> u32;

    /// The ECN field.
    fn ecn(&self) -> Ecn;

    /// Overwrites the ECN field.
    fn set_ecn(&mut self, ecn: Ecn);

    /// The link damages it: its receiver's checksum, or the seal of its cryptography, fails. `random` says where, for who has bytes.
    fn damage(&mut self, random: u64);

    /// A second one of it, which the link delivers too.
    fn copy(&mut self) -> Self {
        self.clone()
    }

    /// It is the second of two, which carries nothing that the first does not.
    #[inline]
    fn is_copy(&self) -> bool {
        false
    }

    /// The link damages it and delivers this copy as well, which is whole: for who tells the two apart, that is the packet now.
    fn damage_beside(&mut self, _copy: &mut Self, random: u64) {
        self.damage(random);
    }

    /// Which flow it belongs to; what FQ-CoDel hashes instead of the five-tuple.
    fn flow(&self) -> u32;

    /// The link has decided when the packet's last bit leaves: what a packet log wants to know.
    #[inline]
    fn set_departure(&mut self, _at: Time) {}

    /// Sets CE; false, and nothing changed, if the packet is not ECN-capable.
    fn set_ce(&mut self) -> bool {
        let capable = self.ecn() != Ecn::NotEct;
        if capable {
            self.set_ecn(Ecn::Ce);
        }
        capable
    }
}
