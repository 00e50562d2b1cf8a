//! Groups of packets that leave back to back: their size, and the current one.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

/// Size of the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "`offload` must be a number of packets of at least 1, \"linux\" or \"off\"")]
pub enum Offload {
    /// A fixed number of packets.
    Packets(NonZeroU64),
    /// A rule.
    Rule(OffloadRule),
}

impl Offload {
    /// No groups.
    pub const OFF: Self = Self::Rule(OffloadRule::Off);
    /// Groups of Linux's size.
    pub const LINUX: Self = Self::Rule(OffloadRule::Linux);

    /// Reports whether packets leave in groups.
    #[inline]
    pub fn is_on(self) -> bool {
        self != Self::OFF
    }
}

/// Rule for the size of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OffloadRule {
    /// Each packet leaves on its own.
    Off,
    /// The size follows the rate and the RTT, as in Linux's TCP.
    Linux,
}

/// The current group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Group {
    /// Packets of it that have not been sent.
    left: u64,
    /// Size of the next one, as of the last question whether a packet can be sent.
    pub(super) next: u64,
    /// Bytes of new data that wait, as they count in the window.
    pub(super) waiting: u64,
}

impl Group {
    /// Reports whether the next packet belongs to a group that has begun.
    #[inline]
    pub(super) fn has_begun(&self) -> bool {
        self.left > 0
    }

    /// Ends the group early.
    #[inline]
    pub(super) fn end(&mut self) {
        (self.left, self.next) = (0, 0);
    }

    /// Records a sent packet.
    #[inline]
    pub(super) fn on_sent(&mut self) {
        let left = if self.left > 0 { self.left } else { std::mem::take(&mut self.next) };
        self.left = left.saturating_sub(1);
    }
}
