//! Routes over links.

/// Consecutive links of a chain, from the first to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// First link, from 0. Links of the return path are numbered after the forward ones.
    pub first: u16,
    /// Last link. A number beyond the end of the chain means its last link.
    pub last: u16,
}

impl Route {
    /// The whole forward chain.
    pub const ALL: Self = Self { first: 0, last: u16::MAX };

    /// Reports whether the route crosses the link of this number.
    pub fn crosses(self, link: usize) -> bool {
        (usize::from(self.first)..=usize::from(self.last)).contains(&link)
    }
}

/// Route of feedback over links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Back {
    /// Links that feedback crosses.
    pub route: Route,
    /// Size of a feedback packet, in bytes on the wire.
    pub size: u32,
}
