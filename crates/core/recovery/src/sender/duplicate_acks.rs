//! The state of a TCP without SACK: packets that duplicate acknowledgements stand for (see
//! `without_sack`).

/// Duplicate acknowledgements since the last progress.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DuplicateAcks {
    /// Packets that have arrived beyond the oldest one.
    pub(super) arrived: u64,
    /// The current acknowledgement acknowledges new data.
    pub(super) advanced: bool,
}

impl DuplicateAcks {
    /// Forgets the packets that have arrived.
    pub(super) fn reset(&mut self) {
        self.arrived = 0;
    }
}
