//! The ECN field (RFC 3168 section 5).
//!
//! The type lives here because queues mark it and senders read it, and neither depends on the
//! other.

/// The ECN field of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// Returns its name, such as `ECT(1)`, unless it is [`Self::NotEct`].
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::NotEct => None,
            Self::Ect0 => Some("ECT(0)"),
            Self::Ect1 => Some("ECT(1)"),
            Self::Ce => Some("CE"),
        }
    }
}
