//! The state of a TCP without SACK: packets that duplicate acknowledgements stand for (see
//! `without_sack`).

/// Duplicate acknowledgements since the last progress.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DuplicateAcks {
    pub(super) arrived: u64,
    /// The current acknowledgement acknowledges new data.
    pub(super) advanced: bool,
}

impl DuplicateAcks {
    /// Returns the number of packets that have arrived beyond the oldest one.
    #[inline]
    pub(super) fn arrived(self) -> u64 {
        self.arrived
    }

    /// Forgets the packets that have arrived.
    pub(super) fn reset(&mut self) {
        self.arrived = 0;
    }
}
