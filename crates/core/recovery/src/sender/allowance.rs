//! Bytes in flight that are allowed: a gradual reduction of the window, and probes beyond it.

use crate::sender::prr::Prr;

/// Deviations from the controller's window.
#[derive(Clone, Debug, Default)]
pub(super) struct Allowance {
    /// Gradual reduction of the window, during a recovery period.
    prr: Option<Prr>,
    /// Packets that can be sent whatever the window.
    probes: u32,
}

impl Allowance {
    /// Returns the limit on the bytes in flight, for this window of the controller.
    #[inline]
    pub(super) fn window(&self, cwnd: u64) -> u64 {
        self.prr.as_ref().map_or(cwnd, Prr::window)
    }

    /// Returns the number of packets that can be sent whatever the window.
    #[inline]
    pub(super) fn probes(&self) -> u32 {
        self.probes
    }

    /// Allows at least `count` packets whatever the window.
    pub(super) fn allow_probes(&mut self, count: u32) {
        self.probes = self.probes.max(count);
    }

    /// Cancels unused probes.
    #[inline]
    pub(super) fn cancel_probes(&mut self) {
        self.probes = 0;
    }

    /// Begins a reduction of the window: gradual, or at once.
    pub(super) fn begin_reduction(&mut self, prr: Option<Prr>) {
        self.prr = prr;
    }

    /// Ends a gradual reduction.
    pub(super) fn end_reduction(&mut self) {
        self.prr = None;
    }

    /// Records a sent packet.
    #[inline]
    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.probes = self.probes.saturating_sub(1);
        if let Some(prr) = &mut self.prr {
            prr.on_sent(bytes);
        }
    }

    /// Records an ACK that delivered bytes and left `in_flight`. It is `safe` if it filled a hole
    /// and revealed no further loss.
    #[inline]
    pub(super) fn on_ack(&mut self, delivered: u64, in_flight: u64, safe: bool) {
        if let Some(prr) = &mut self.prr {
            prr.on_ack(delivered, in_flight, safe);
        }
    }

    /// Changes the segment size.
    pub(super) fn set_max_datagram_size(&mut self, bytes: u64) {
        if let Some(prr) = &mut self.prr {
            prr.set_max_datagram_size(bytes);
        }
    }
}
