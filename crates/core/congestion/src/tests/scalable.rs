//! Scalable TCP (T. Kelly, ACM CCR, April 2003) as a window rule of a few lines.
//!
//! ```text
//! w <= legacy_wnd   Reno
//! above             w += a for each packet acknowledged;  loss: w -= b w        a = 0.01, b = 0.125
//! ```

use crate::components::window_rule::{Frame, Options, WindowController, WindowRule};
use crate::testing::conformance;
use crate::testing::fixtures::{acked, congestion, path};
use crate::{Ack, Cause, Congestion, Controller, Entry, Range, params};

params! {
    /// Growth for each packet acknowledged, packets. Kelly 2003 section 3.
    a: f64 = 0.01 => Range::FACTOR,
    /// Share by which a loss reduces the window, 0..1. Kelly 2003 section 3.
    b: f64 = 0.125 => Range::SHARE,
    /// Window up to which the controller is Reno, packets. Kelly 2003 section 4.
    legacy_window: f64 = 16.0 => Range::PACKETS,
}

crate::variables! {
    /// Slow-start threshold. RFC 5681 section 3.1.
    ssthresh: "bytes",
}

type Scalable = WindowController<Params>;

crate::algorithm! {
    /// A window that grows by 1 % per round trip. Test.
    "scalable", Params, |p, path| Box::new(Scalable::new(p.clone(), path)),
    variables = VARIABLES
}

impl WindowRule for Params {
    type Unit = f64;
    type Memory = ();

    fn begin(&self) -> (Options, ()) {
        (Options::default(), ())
    }

    fn grow(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        let w = frame.window.cwnd;
        let a = if w <= self.legacy_window { 1.0 / w } else { self.a };
        frame.window.cwnd += a * frame.counted(ack);
    }

    fn reduce(&mut self, frame: &mut Frame<f64>, _: &Congestion) -> f64 {
        let w = frame.window.cwnd;
        let b = if w <= self.legacy_window { 0.5 } else { self.b };
        ((1.0 - b) * w).max(frame.min_window())
    }
}

#[test]
fn conforms() {
    conformance::check(&Entry::for_params::<Params>());
}

/// A controller in congestion avoidance with `packets` packets.
fn avoiding(packets: f64) -> Scalable {
    let mut cc = Scalable::new(Params::default(), path(1200));
    (cc.frame.window.cwnd, cc.frame.window.ssthresh) = (packets, 0.0);
    cc
}

/// After a loss, the window is back after ln(1/0.875) / ln(1.01) = 13.4 round trips, whatever its
/// size. An exact window of fractions of packets needs 14 whole ones.
#[test]
fn recovery_does_not_depend_on_the_window() {
    for packets in [100.0, 1000.0, 10_000.0] {
        let mut cc = avoiding(packets);
        cc.on_congestion(&congestion(Cause::Loss, 0));
        assert_eq!(cc.frame.window.cwnd, 0.875 * packets);
        let rounds = (1..).find(|_| {
            cc.on_ack(&acked(cc.control().cwnd));
            cc.frame.window.cwnd >= packets
        });
        assert_eq!(rounds, Some(14), "{packets}");
    }
}

/// Reno at 16 packets: a packet per round trip, half after a loss. A timeout leaves one packet and
/// is undone with everything else.
#[test]
fn small_windows_and_shared_responses() {
    let mut cc = avoiding(16.0);
    cc.on_ack(&acked(16 * 1200));
    assert_eq!(cc.frame.window.cwnd, 17.0);
    cc.frame.window.cwnd = 16.0;
    cc.on_congestion(&congestion(Cause::Loss, 0));
    assert_eq!((cc.frame.window.cwnd, cc.frame.window.ssthresh), (8.0, 8.0));
    cc.on_congestion(&congestion(Cause::Timeout, 0));
    assert_eq!((cc.frame.window.cwnd, cc.frame.window.ssthresh), (1.0, 4.0));
    cc.on_congestion(&congestion(Cause::PersistentCongestion, 0));
    assert_eq!((cc.frame.window.cwnd, cc.frame.window.ssthresh), (1.0, 4.0), "never larger");
    let mut cc = avoiding(100.0);
    cc.on_congestion(&congestion(Cause::Timeout, 0));
    cc.on_spurious();
    assert_eq!(cc.frame.window.cwnd, 100.0);
}
