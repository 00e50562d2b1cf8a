//! The trait that every algorithm implements.

use alloc::boxed::Box;
use alloc::string::String;

use units::Time;

use crate::{Ack, Cause, Congestion, Control, Idle, Lost, Needs, PathInfo, Sent};

/// A congestion controller for one path. The sender reports events on the path and asks how much
/// and how fast it may send.
///
/// A controller reads no clock, does no I/O and cannot fail. Its only source of randomness is
/// [`PathInfo::seed`]. The sender tracks bytes in flight, recovery periods and application limits.
/// It also detects persistent congestion and spurious events, and paces packets.
///
/// ```
/// use ackclock_congestion::{Ack, Cause, Congestion, Control, Controller, PathInfo};
///
/// /// One packet more per round trip, half after a loss.
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
    /// Reports that a packet that counts towards the window was sent.
    fn on_sent(&mut self, _: &Sent) {}
    /// Reports an ACK that newly acknowledges something.
    ///
    /// Called after the losses and the congestion event that the same ACK revealed. The controller
    /// returns `Some(cause)` to ask for a congestion event of its own, such as QUIC-DC's delay
    /// event. The sender then opens a recovery period as for a loss and calls
    /// [`Controller::on_congestion`].
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause>;
    /// Reports a congestion event.
    ///
    /// Loss, ECN mark and delay are reported at most once per round trip, persistent congestion and
    /// timeout always.
    fn on_congestion(&mut self, event: &Congestion);
    /// Reports a batch of lost packets, before the congestion event that it may cause.
    fn on_lost(&mut self, _: &Lost) {}
    /// Reports that the last congestion event was spurious: it was a loss or a timeout, and all its
    /// packets arrived.
    ///
    /// The controller undoes its response.
    fn on_spurious(&mut self) {}
    /// Reports that the sender sends again after an idle time longer than its retransmission
    /// timeout.
    ///
    /// The window is to be restarted (RFC 5681 section 4.1, RFC 2861). Called only if the
    /// experiment asks for it and nothing paces the old window.
    fn on_idle(&mut self, _: &Idle) {}
    /// Reports that the time requested by [`Control::wake`] has come.
    fn on_timer(&mut self, _now: Time) {}
    /// Reports a change of the path's datagram size (RFC 9000 section 14).
    ///
    /// Window, `ssthresh` and estimates keep their values in bytes. Quantities counted in packets,
    /// such as the smallest window, count packets of the new size from now on. On a new path the
    /// sender starts a new controller (RFC 9002 appendix B.3, RFC 9000 section 9.4).
    fn on_path_change(&mut self, path: PathInfo);
    /// Returns the signals that the controller depends on.
    fn needs(&self) -> Needs {
        Needs::default()
    }
    /// Reports whether the controller shapes its own window inside a recovery period.
    ///
    /// If so, the sender must not spread the reduction. In Linux these are the modules with
    /// `cong_control`, whose window bypasses PRR.
    fn shapes_recovery(&self) -> bool {
        false
    }
    /// Returns how much and how fast the sender may send now.
    fn control(&self) -> Control;
    /// Returns why the controller cannot go on.
    ///
    /// Only one that runs code of another language can fail. From then on its answers are
    /// meaningless, and the simulator ends the run.
    fn failure(&self) -> Option<String> {
        None
    }
    /// Reports name and value of each internal variable worth plotting.
    ///
    /// Names are those of the controller's specification. A controller with states reports its
    /// state number as [`STATE`](crate::STATE). The algorithm's registry entry lists the other
    /// variables with their units ([`Parameters::VARIABLES`](crate::Parameters::VARIABLES)).
    fn trace(&self, _put: &mut dyn FnMut(&'static str, f64)) {}
}

/// Copying a controller behind the trait object, for a second path that starts with the same state.
///
/// Every controller that is `Clone` implements it.
pub trait CloneController {
    /// Returns a copy.
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
