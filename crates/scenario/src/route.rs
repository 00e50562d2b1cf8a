//! Ways along the links.

/// Neighbouring links of a chain: from which to which a packet goes, both inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The first link, from 0; those of the way back count on behind the forward ones.
    pub first: u16,
    /// The last; beyond the end of its chain: the last one there.
    pub last: u16,
}

impl Route {
    /// The whole forward chain.
    pub const ALL: Self = Self { first: 0, last: u16::MAX };

    /// Whether the link of this number is on it.
    pub fn crosses(self, link: usize) -> bool {
        (usize::from(self.first)..=usize::from(self.last)).contains(&link)
    }
}

/// How feedback comes back over links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Back {
    /// The links.
    pub route: Route,
    /// Bytes of a feedback packet on the wire.
    pub size: u32,
}
