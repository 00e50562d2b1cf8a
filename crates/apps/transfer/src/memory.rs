//! Memory that all connections of a server share.

/// Smallest guarantee of a connection, in bytes. It lets a connection send, however many there are.
const LEAST: usize = 4 << 10;

/// Divides the memory of a server among its connections.
///
/// Half of it is guaranteed: each connection has an equal part. The other half goes to those who
/// need more. Each may take as much of it as it leaves free, so that something is left for the next
/// one (A. K. Choudhury, E. L. Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet
/// Switches", 1998). The sum never exceeds the whole.
#[derive(Debug)]
pub(crate) struct Memory {
    guaranteed: usize,
    shared: usize,
    /// Bytes of the shared half in use.
    used: usize,
    /// Bytes that all connections hold.
    held: usize,
}

impl Memory {
    /// Divides `total` bytes among at most `connections`.
    pub(crate) fn new(total: u64, connections: usize) -> Self {
        let total = usize::try_from(total).unwrap_or(usize::MAX);
        let connections = connections.max(1);
        let guaranteed = (total / 2 / connections).max(LEAST);
        let shared = total.saturating_sub(guaranteed.saturating_mul(connections));
        Self { guaranteed, shared, used: 0, held: 0 }
    }

    /// Returns the largest number of bytes that so many connections hold.
    pub(crate) const fn bound(&self, connections: usize) -> usize {
        self.guaranteed.saturating_mul(connections).saturating_add(self.shared)
    }

    /// Returns how much more a connection may hold that holds this much.
    pub(crate) fn room(&self, held: usize) -> usize {
        let beyond = held.saturating_sub(self.guaranteed);
        let free = (self.shared + beyond).saturating_sub(self.used);
        (self.guaranteed + free / 2).saturating_sub(held)
    }

    /// Notes that a connection that held `before` bytes now holds `now`.
    pub(crate) const fn change(&mut self, before: usize, now: usize) {
        self.held = self.held - before + now;
        self.used = self.used - before.saturating_sub(self.guaranteed) + now.saturating_sub(self.guaranteed);
    }

    /// Returns the number of bytes that all connections hold.
    pub(crate) const fn held(&self) -> usize {
        self.held
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Connections that take what they get never hold more than the whole, and each of them can
        /// get its guarantee.
        #[test]
        fn never_more_than_the_whole(
            total in 40_000_u64..1_000_000, connections in 1_usize..10,
            steps in proptest::collection::vec((any::<prop::sample::Index>(), 0_usize..200_000, any::<bool>()), 0..100),
        ) {
            let mut memory = Memory::new(total, connections);
            let mut held = vec![0; connections];
            for (which, bytes, takes) in steps {
                let which = which.index(connections);
                let before = held[which];
                held[which] = if takes { before + bytes.min(memory.room(before)) } else { before.saturating_sub(bytes) };
                memory.change(before, held[which]);
                prop_assert_eq!(memory.held(), held.iter().sum::<usize>());
                prop_assert!(memory.held() as u64 <= total);
                let guaranteed = total as usize / 2 / connections;
                prop_assert!(held.iter().all(|held| held + memory.room(*held) >= guaranteed));
            }
        }
    }

    /// A single connection may use most of it. With many, each has something.
    #[test]
    fn one_and_many() {
        let alone = Memory::new(1 << 20, 4);
        assert_eq!(alone.room(0), (1 << 17) + (1 << 18));
        let mut many = Memory::new(1 << 20, 65_536);
        assert_eq!((many.room(0), many.room(LEAST)), (LEAST, 0));
        many.change(0, LEAST);
        assert_eq!((many.room(0), many.held()), (LEAST, LEAST));
    }
}
