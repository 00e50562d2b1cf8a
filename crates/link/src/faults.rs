//! What happens to packets behind the queue that must not: damage, and a second copy.

use units::{Rng, Time};

use crate::backlog::Tally;
use crate::config::LinkConfig;
use crate::loss::Bernoulli;
use crate::packet::Packet;

/// Damage and copies, where a link makes any.
#[derive(Debug)]
pub(crate) struct Faults {
    corrupt: Bernoulli,
    duplicate: Bernoulli,
    bits: Rng,
    pub(crate) corrupted: Tally,
    pub(crate) duplicated: Tally,
}

impl Faults {
    /// `stream` gives the random stream of an element.
    pub(crate) fn new(config: &LinkConfig, stream: impl Fn(&str) -> Rng) -> Option<Box<Self>> {
        let any = config.corrupt > 0.0 || config.duplicate > 0.0;
        any.then(|| {
            Box::new(Self {
                corrupt: Bernoulli::new(config.corrupt, stream("corrupt")),
                duplicate: Bernoulli::new(config.duplicate, stream("duplicate")),
                bits: stream("bits"),
                corrupted: Tally::default(),
                duplicated: Tally::default(),
            })
        })
    }

    /// Damages the packet perhaps, and perhaps returns a copy of it, as it was before. What is never delivered is spared.
    pub(crate) fn apply<P: Packet>(&mut self, delivery: Time, packet: &mut P) -> Option<P> {
        let (damage, copy) = (self.corrupt.loses(), self.duplicate.loses());
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
                Some(copy) => packet.damage_beside(copy, random),
                None => packet.damage(random),
            }
            self.corrupted.add(packet.size());
        }
        second
    }
}
