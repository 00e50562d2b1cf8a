//! What every algorithm must answer.

use crate::{Ack, Cause, Congestion, Control, Idle, Lost, Sent};

/// What every algorithm must answer.
pub trait Controller: std::fmt::Debug + Send {
    /// A packet that counts towards the window left.
    fn on_sent(&mut self, _: &Sent) {}
    /// An ACK newly acknowledged something. Called after the losses and the congestion event that the same ACK
    /// revealed. The answer `Some(cause)` asks the ledger for a congestion event of the controller's own (QUIC-DC's
    /// delay event): the ledger opens a recovery period as for a loss and calls [`Controller::on_congestion`].
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause>;
    /// At most once per round trip: loss, ECN mark, delay; and always: persistent congestion, timeout.
    fn on_congestion(&mut self, event: &Congestion);
    /// Every batch of lost packets, before the congestion event it may cause.
    fn on_lost(&mut self, _: &Lost) {}
    /// The last congestion event, a loss or a timeout, was a mistake: all its packets arrived. Undo.
    fn on_spurious(&mut self) {}
    /// The sender was idle for longer than its retransmission timeout and sends again, and its window is to be restarted
    /// (RFC 5681 section 4.1, RFC 2861). Called where the experiment asks for it and nothing paces the old window.
    fn on_idle(&mut self, _: &Idle) {}
    /// It shapes its own window inside a recovery period, so that the ledger must not spread the reduction (Linux: the
    /// modules with `cong_control`, whose window bypasses PRR).
    fn shapes_recovery(&self) -> bool {
        false
    }
    /// How much and how fast the sender may send now.
    fn control(&self) -> Control;
    /// Name and value of each inner variable worth a line on a chart, by their paper's name.
    fn trace(&self, _put: &mut dyn FnMut(&'static str, f64)) {}
}
