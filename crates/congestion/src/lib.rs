//! Congestion controllers: pure state machines, one file each.
//!
//! **Invariant:** nothing here reads a clock, draws from a dice of its own, does I/O or can fail. Time arrives inside
//! each signal; the answer is read from [`Controller::control`]. Depends on nothing but serde and libm, so that a
//! real stack can embed it.

pub mod algorithm;
mod bbr;
pub mod bbr1;
pub mod bbr1_ecn_gated;
pub mod bbr1_picoquic;
pub mod bbr2;
pub mod bbr3;
pub mod count;
pub mod cubic;
pub mod cubic_ecn_gated;
pub mod cubic_mvfst;
pub mod cubic_picoquic;
pub mod dccc;
pub mod dstar;
pub mod ecn_gate;
#[cfg(test)]
mod fifo;
pub mod fixed_window;
pub mod gcc;
pub mod gcc_simplified;
pub mod hstcp;
pub mod hystart;
mod idle;
pub mod ledbat;
mod media;
pub mod nada;
pub mod nada_2013;
pub mod new_reno;
pub mod owd;
mod params;
mod picoquic;
pub mod quic_dc;
pub mod reno;
#[cfg(test)]
mod script;
pub mod signal;
pub mod tcp_reno;
mod undo;
pub mod vegas;
pub mod westwood;

pub use algorithm::Algorithm;
pub use params::{ParamDoc, Range};
pub use signal::{
    Ack, AckedPacket, Cause, Congestion, Control, Detection, Idle, Lost, LostPacket, Path, RateSample, Sent,
};

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

/// The initial window in bytes: so many packets, or RFC 9002's.
pub(crate) fn initial_window_of(packets: Option<u64>, mds: u64) -> u64 {
    packets.map_or_else(|| initial_window(mds), |packets| packets.saturating_mul(mds))
}

/// RFC 9002 section 7.2: ten packets, but not more than 14 720 bytes or two packets, whichever is larger.
pub fn initial_window(mds: u64) -> u64 {
    (10 * mds).min((2 * mds).max(14_720))
}
