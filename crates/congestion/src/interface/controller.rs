//! What every algorithm must answer.

use alloc::boxed::Box;

use units::Time;

use crate::{Ack, Cause, Congestion, Control, Idle, Lost, Needs, PathInfo, Sent};

/// A congestion controller of one path: told what happens there, asked how much and how fast to send.
///
/// It reads no clock, does no I/O, draws from no random numbers but those of [`PathInfo::seed`], and cannot fail. The sender owns
/// bytes in flight, recovery periods, application limits, persistent congestion, pacing and the detection of spurious events.
///
/// ```
/// use ackclock_congestion::{Ack, Cause, Congestion, Control, Controller, PathInfo};
///
/// /// A packet more each round trip, half after a loss.
/// #[derive(Clone, Debug)]
/// struct Aimd {
///     cwnd: u64,
///     mds: u64,
/// }
///
/// impl Controller for Aimd {
///     fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
///         self.cwnd += self.mds * ack.growth / self.cwnd;
///         None
///     }
///     fn on_congestion(&mut self, _: &Congestion) {
///         self.cwnd = (self.cwnd / 2).max(2 * self.mds);
///     }
///     fn on_path_change(&mut self, path: PathInfo) {
///         self.mds = path.max_datagram_size;
///     }
///     fn control(&self) -> Control {
///         Control::window(self.cwnd)
///     }
/// }
/// # let mut aimd = Aimd { cwnd: 12_000, mds: 1200 };
/// # aimd.on_ack(&Ack { growth: 12_000, ..Ack::default() });
/// # assert_eq!(aimd.control().cwnd, 13_200);
/// ```
pub trait Controller: core::fmt::Debug + Send + Sync + CloneController {
    /// A packet that counts towards the window left.
    fn on_sent(&mut self, _: &Sent) {}
    /// An ACK newly acknowledged something. Called after the losses and the congestion event that the same ACK
    /// revealed. The answer `Some(cause)` asks the sender for a congestion event of the controller's own (QUIC-DC's
    /// delay event): the sender opens a recovery period as for a loss and calls [`Controller::on_congestion`].
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause>;
    /// At most once per round trip: loss, ECN mark, delay; and always: persistent congestion, timeout.
    fn on_congestion(&mut self, event: &Congestion);
    /// Every batch of lost packets, before the congestion event it may cause.
    fn on_lost(&mut self, _: &Lost) {}
    /// The last congestion event, a loss or a timeout, was spurious: all its packets arrived. Undo.
    fn on_spurious(&mut self) {}
    /// The sender was idle for longer than its retransmission timeout and sends again, and its window is to be restarted
    /// (RFC 5681 section 4.1, RFC 2861). Called where the experiment asks for it and nothing paces the old window.
    fn on_idle(&mut self, _: &Idle) {}
    /// The time that [`Control::wake`] asked for has come.
    fn on_timer(&mut self, _now: Time) {}
    /// The path's properties changed: its datagrams are larger or smaller (RFC 9000 section 14). Window, `ssthresh` and estimates
    /// stay what they are in bytes; what is counted in packets, the smallest window among it, is from now on counted in the new
    /// ones. On another path a sender begins with another controller (RFC 9002 appendix B.3, RFC 9000 section 9.4).
    fn on_path_change(&mut self, path: PathInfo);
    /// What it must be told for it to work.
    fn needs(&self) -> Needs {
        Needs::default()
    }
    /// It shapes its own window inside a recovery period, so that the sender must not spread the reduction (Linux: the
    /// modules with `cong_control`, whose window bypasses PRR).
    fn shapes_recovery(&self) -> bool {
        false
    }
    /// How much and how fast the sender may send now.
    fn control(&self) -> Control;
    /// Name and value of each inner variable worth a line on a chart, by their paper's name; its state, if it has some, as
    /// [`STATE`](crate::STATE) and the state's number. The row of the algorithm lists the others with their units
    /// ([`Parameters::VARIABLES`](crate::Parameters::VARIABLES)).
    fn trace(&self, _put: &mut dyn FnMut(&'static str, f64)) {}
}

/// A copy behind the trait object, for a second path that begins where this one is. Every controller that is `Clone` has it.
pub trait CloneController {
    /// The copy.
    fn clone_controller(&self) -> Box<dyn Controller>;
}

impl<C: Controller + Clone + 'static> CloneController for C {
    fn clone_controller(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Controller> {
    fn clone(&self) -> Self {
        (**self).clone_controller()
    }
}
