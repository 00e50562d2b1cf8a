//! Faults behind the queue: damaged packets and second copies.

use units::{Rng, Time};

use crate::backlog::Count;
use crate::config::LinkConfig;
use crate::loss::Bernoulli;
use crate::packet::Packet;

/// Damage and copies, on links that make any.
#[derive(Debug)]
pub(crate) struct Faults {
    corrupt: Bernoulli,
    duplicate: Bernoulli,
    bits: Rng,
    pub(crate) corrupted: Count,
    pub(crate) duplicated: Count,
}

impl Faults {
    /// Creates the faults, if there are any. `stream` returns the random stream of an element.
    pub(crate) fn new(config: &LinkConfig, stream: impl Fn(&str) -> Rng) -> Option<Box<Self>> {
        let any = config.corrupt > 0.0 || config.duplicate > 0.0;
        any.then(|| {
            Box::new(Self {
                corrupt: Bernoulli::new(config.corrupt, stream("corrupt")),
                duplicate: Bernoulli::new(config.duplicate, stream("duplicate")),
                bits: stream("bits"),
                corrupted: Count::default(),
                duplicated: Count::default(),
            })
        })
    }

    /// Damages the packet with probability `corrupt`. With probability `duplicate` returns a copy
    /// of the undamaged packet. Packets that are never delivered are spared.
    pub(crate) fn apply<P: Packet>(&mut self, delivery: Time, packet: &mut P) -> Option<P> {
        let (damage, copy) = (self.corrupt.draw(), self.duplicate.draw());
        if delivery == Time::NEVER {
            return None;
        }
        let mut second = copy.then(|| packet.copy());
        if second.is_some() {
            self.duplicated.add(packet.size());
        }
        if damage {
            let random = self.bits.next_u64();
            match &mut second {
                Some(copy) => packet.damage_with_copy(copy, random),
                None => packet.damage(random),
            }
            self.corrupted.add(packet.size());
        }
        second
    }
}
