//! CUBIC that responds to CE marks only when the queue is long: "Fairness improvement method using
//! explicit congestion notification for QUIC" (Uchida et al., IEICE ComEX, April 2024), section 3,
//! applied to picoquic's CUBIC.
//!
//! ```text
//! R          = RTT / minRTT
//! mark:        R < 1.5: ignored                                                            (section 3)
//!              else cwnd_cubic = C (t - K)^3 + cwnd_current,  t = 0         packets        (equation 1)
//!                   K    = cbrt(W_max (1 - beta) / C)                       seconds        (equation 2)
//!                   cwnd = max(cwnd_cubic, cwnd_current / 2)                packets        (equation 3)
//! C = 0.4, beta = 7/8
//! ```
//!
//! The response to a mark is that of [`cubic-picoquic`](super::picoquic), with equation 1's centre
//! (`base.centre = "cwnd"`) and picoquic's W_max, which fast convergence lowers. The documentation
//! of `cubic-picoquic` explains how the readings differ. Everything else is picoquic's too, in
//! `base`, which needs `ecn = true`. Losses are not gated.
//!
//! **Ambiguities**, each a parameter: the RTT, the minimum, and the gate itself.
//!
//! **The sender's recovery period.** The sender opens one at an ignored mark too. It then allows no
//! growth for one round, and reports no second mark of that round as an event. Neither matters
//! here. The base takes marks from each ACK and growth from the acknowledged bytes, and keeps its
//! own record of the marks it responded to. So it responds to a mark at R = 1.6 even shortly after
//! an ignored mark at R = 1.4. It would matter to a base that relies on `growth` and
//! `on_congestion`.
//!
//! Deviations: none besides the base's.

use crate::algorithms::cubic::picoquic::{self, CubicPicoquic};
use crate::components::delegate::delegate;
use crate::components::rtt_ratio::{Estimator, Ratio};
use crate::{Ack, Cause, Congestion, Control, Controller, Idle, Lost, Needs, PathInfo, Sent};
use crate::{Range, params};
use units::{Duration, Ecn};

params! {
    /// Value of R from which a mark counts. Uchida et al. section 3: "at least 1.5 times".
    gate: f64 = 1.5 => Range::from(0.0),
    /// RTT in R, "the current RTT" of section 3: `latest`, `smoothed` or `round-min`.
    rtt: Estimator = Estimator::Latest,
    /// Age at which a minimum RTT is replaced, or `"off"`: never. Not in the paper; chosen by this
    /// project.
    #[serde(with = "units::or_off")]
    min_rtt_window: Option<Duration> = None,
    /// Parameters of the underlying `cubic-picoquic`.
    base: picoquic::Params = picoquic::Params::equation_1(); picoquic::Params::DOCS,
}

crate::variables! {
    with picoquic::VARIABLES;
    /// RTT divided by its minimum, R, which decides whether marks count. Uchida et al. section 3.
    r: "",
}

/// The controller.
#[derive(Clone, Debug)]
pub struct CubicEcnGated {
    gate: f64,
    ratio: Ratio,
    /// Last value of R.
    r: f64,
    base: CubicPicoquic,
}

impl CubicEcnGated {
    /// Creates a controller in slow start.
    pub fn new(params: &Params, path: PathInfo) -> Self {
        let ratio = Ratio::new(params.rtt, params.min_rtt_window);
        Self { gate: params.gate, ratio, r: 1.0, base: CubicPicoquic::new(params.base.clone(), path) }
    }
}

impl Controller for CubicEcnGated {
    delegate! {
        base: on_sent(sent: &Sent), on_lost(lost: &Lost), on_congestion(event: &Congestion),
        on_spurious(), on_idle(idle: &Idle), on_path_change(path: PathInfo),
    }

    fn needs(&self) -> Needs {
        Needs { ecn: Ecn::Ect0, ..self.base.needs() }
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.r = self.ratio.update(ack).unwrap_or(self.r);
        let ce = if self.r >= self.gate { ack.ce } else { 0 };
        self.base.on_ack(&Ack { ce, ..*ack })
    }

    fn control(&self) -> Control {
        self.base.control()
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.base.trace(put);
        put("r", self.r);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AckedPacket;
    use crate::algorithms::cubic::picoquic::tests::{MTU, ack, sent, with};
    use crate::testing::fixtures::{acked, path};
    use units::Time;

    const MIN: u64 = 100;

    /// A controller with a window of 100 packets and 1000 packets sent.
    fn gated(rtt: Estimator) -> CubicEcnGated {
        let mut cc = CubicEcnGated::new(&Params { rtt, ..Params::default() }, path(MTU));
        cc.base = with(picoquic::Params::default(), 100, 0.0);
        cc
    }

    /// Plays a marked ACK of one packet. All RTTs except the minimum are `rtt`.
    fn marked(cc: &mut CubicEcnGated, pn: u64, rtt: Duration) {
        let now = Time::from_millis(1);
        let packet = AckedPacket { pn, bytes: MTU, sent: now, received: None, before_reduction: false };
        let (latest_rtt, min_rtt) = (Some(rtt), Duration::from_millis(MIN));
        cc.on_ack(&Ack {
            now,
            packets: &[packet],
            ce: 1,
            latest_rtt,
            smoothed_rtt: rtt,
            min_rtt,
            ..acked(MTU)
        });
    }

    /// R = 1.49, 1.5 and 1.51, with each reading of the RTT.
    #[test]
    fn the_gate() {
        for estimator in [Estimator::Smoothed, Estimator::Latest, Estimator::RoundMin] {
            for (percent, cut) in [(120, false), (149, false), (150, true), (151, true), (200, true)] {
                let mut cc = gated(estimator);
                marked(&mut cc, 990, Duration::from_millis(MIN * percent / 100));
                let window = cc.control().cwnd;
                // A mark is ignored, so the ACK grows the window in slow start.
                let expected = if cut { 105_000 } else { 101 * MTU };
                assert!(window.abs_diff(expected) < 50, "{estimator:?}, {percent} %: {window}");
            }
        }
    }

    #[test]
    fn ten_marks_in_one_round_are_one_cut() {
        let mut cc = gated(Estimator::Smoothed);
        for i in 0..10 {
            marked(&mut cc, 990 + i, Duration::from_millis(2 * MIN));
        }
        assert!(cc.control().cwnd.abs_diff(105_000) < 50, "{}", cc.control().cwnd);
        sent(&mut cc, 1100);
        marked(&mut cc, 1050, Duration::from_millis(2 * MIN));
        assert!(cc.control().cwnd < 92_000);
    }

    /// An ignored mark does not cover a later one that counts.
    #[test]
    fn an_ignored_mark_covers_nothing() {
        let mut cc = gated(Estimator::Smoothed);
        marked(&mut cc, 990, Duration::from_millis(140));
        marked(&mut cc, 991, Duration::from_millis(160));
        assert!(cc.control().cwnd < 107_000, "{}", cc.control().cwnd);
    }

    /// With the gate always open, it behaves like its base.
    #[test]
    fn open_gate_is_the_base() {
        let params = Params { gate: 0.0, ..Params::default() };
        let mut cc = CubicEcnGated::new(&params, path(MTU));
        let mut base = CubicPicoquic::new(params.base.clone(), path(MTU));
        for pn in 0..1000 {
            let now = Time::from_millis(pn);
            for cc in [&mut cc as &mut dyn Controller, &mut base] {
                sent(cc, pn + 50);
                ack(cc, now, pn, u64::from(pn % 100 == 0));
            }
            assert_eq!(cc.control(), base.control());
        }
    }
}
