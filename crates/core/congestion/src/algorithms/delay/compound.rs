//! Compound TCP: draft-sridharan-tcpm-ctcp-02 (November 2008) and Tan, Song, Zhang and Sridharan,
//! INFOCOM (April 2006): the window of Reno, and a second one that grows while the queue is short.
//!
//! ```text
//! windows in packets;  wnd = cwnd + dwnd                                            (draft equation 1)
//! each packet acknowledged   cwnd += 1 / wnd                                        (equation 2)
//! each round trip            diff = wnd (1 - basertt / srtt)                        (section 3)
//!   diff < gamma             dwnd += max(alpha wnd^k - 1, 0)  if wnd > Low_Window   (equation 3, see below)
//!   diff >= gamma            dwnd  = max(dwnd - eta diff, 0)                        (equation 4)
//! loss, mark                 dwnd  = max((1 - beta) wnd - cwnd / 2, 0),  cwnd /= 2  (section 3)
//!                            ssthresh = wnd
//! timeout                    ssthresh = that wnd,  dwnd = 0,  wnd = 1;  basertt is measured anew
//! alpha = 1/8, beta = 1/2, eta = 1, k = 3/4, Low_Window = 38
//!
//! gamma = 30 at first;  at a loss, if a round trip has ended since the last one:    (section 5)
//!   gamma = limit((1 - lambda) gamma + lambda 3/4 cwnd (1 - basertt / srtt), 5, 30),  of the last round trip
//! ```
//!
//! 3/4 cwnd (1 - basertt / srtt) stands for the share of the buffer that a flow of Reno would have.
//!
//! Equation 3 of the draft has dwnd^k. From dwnd = 0 it would never grow. The draft's response
//! function, w = 0.255 / p^0.8, and its table 1 follow from wnd^k. That is also the rule of the
//! paper as others quote it, so it is the one here. The paper could not be read.
//!
//! The draft leaves lambda open. A Linux patch of Lachlan Andrew (version 1.3, April 2008), who
//! reviewed the draft, has 1/4, an ns-3 module of NITK 0.8. The patch takes the smallest RTT of the
//! round trip in place of srtt (`rtt = "round-min"`), and no dwnd below Low_Window. The draft says
//! that dwnd "kicks in" above Low_Window. Here it only shrinks below.
//!
//! Deviations: dwnd grows with the ACKs of the next round trip, as in that patch, not at once. The
//! sender allows no growth of an unused window. basertt is the smallest RTT. Persistent congestion,
//! which TCP lacks, follows RFC 9002 section 7.6.2 and acts like a timeout.

use crate::components::rtt_ratio::{Estimator, Ratio};
use crate::components::window::Memory;
use crate::components::window_rule::{Frame, Options, WindowController, WindowRule, options, window_params};
use crate::{Ack, Cause, Congestion, Range};
use units::Duration;

window_params! {
    initial_window = None, count = Bytes;
    /// alpha, factor of the growth of dwnd. Draft section 3.
    alpha: f64 = 0.125 => Range::SHARE,
    /// beta, share of the window that a loss takes, 0..1. Draft section 3.
    beta: f64 = 0.5 => Range::SHARE,
    /// eta, part of the queue that a round trip takes from dwnd. Draft section 3.
    eta: f64 = 1.0 => Range::FACTOR,
    /// k, exponent of the growth of dwnd, 0..1. Draft section 3; 0.8 gives the response function of
    /// HighSpeed TCP.
    k: f64 = 0.75 => Range::SHARE,
    /// Low_Window, packets, up to which dwnd does not grow. Draft section 2.
    low_window: f64 = 38.0 => Range::PACKETS,
    /// gamma, number of queued packets from which dwnd shrinks, at first. Draft section 5.
    gamma: f64 = 30.0 => Range::FACTOR,
    /// Smallest gamma, packets. Draft section 5.
    gamma_low: f64 = 5.0 => Range::FACTOR.up_to("gamma_high"),
    /// Largest gamma, packets. Draft section 5.
    gamma_high: f64 = 30.0 => Range::FACTOR,
    /// lambda, weight of the newest loss in gamma, 0..1, or `"off"`: gamma is constant. Linux patch
    /// of L. Andrew; 0.8 in an ns-3 module.
    #[serde(with = "units::or_off")]
    lambda: Option<f64> = Some(0.25) => Range::SHARE,
    /// RTT of a round trip: `smoothed` (draft section 3), `latest`, or `round-min`, the smallest
    /// one (Linux patch of L. Andrew).
    rtt: Estimator = Estimator::Smoothed,
}

/// Part of Reno's queue that becomes gamma. Draft section 5.
const GAMMA_SHARE: f64 = 0.75;

crate::variables! {
    /// Slow-start threshold, infinite until slow start has ended. RFC 5681 section 3.1.
    ssthresh: "bytes",
    /// Delay window, dwnd. Draft section 3.
    dwnd: "packets",
    /// Number of queued packets from which dwnd shrinks, gamma. Draft section 5.
    gamma: "packets",
    /// Number of packets that the flow kept queued in the last round trip, diff, at first 0. Draft
    /// section 3.
    diff: "packets",
}

/// The delay window, which an undo restores.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delay {
    dwnd: f64,
}

impl Memory for Delay {}

type Windows = Frame<f64, Delay>;

/// The controller. Windows are in packets.
pub type CompoundController = WindowController<Compound>;

/// The rule, with its measurements.
#[derive(Clone, Debug)]
pub struct Compound {
    params: Params,
    ratio: Ratio,
    /// Part of the packets in flight that is queued, 1 - basertt / srtt.
    queued: Option<f64>,
    round_ended: bool,
    /// Growth of dwnd in this round trip.
    step: f64,
    diff: f64,
    diff_reno: Option<f64>,
    gamma: f64,
}

impl From<Params> for Compound {
    fn from(params: Params) -> Self {
        let (ratio, gamma) = (fresh(&params), params.gamma);
        let (round_ended, step) = (false, 0.0);
        Self { params, ratio, queued: None, round_ended, step, diff: 0.0, diff_reno: None, gamma }
    }
}

/// Returns an estimator without a basertt.
fn fresh(params: &Params) -> Ratio {
    Ratio::new(params.rtt, Some(Duration::MAX))
}

impl Compound {
    fn end_round(&mut self, frame: &mut Windows, queued: f64) {
        let Params { alpha, eta, k, low_window, .. } = self.params;
        let wnd = frame.window.cwnd;
        let (dwnd, diff) = (frame.window.memory.dwnd, wnd * queued);
        (self.diff, self.diff_reno) = (diff, Some((wnd - dwnd) * queued));
        self.step = 0.0;
        if diff >= self.gamma {
            frame.window.memory.dwnd = (dwnd - eta * diff).max(0.0);
            let left = wnd - dwnd + frame.window.memory.dwnd;
            frame.window.cwnd = left.max(frame.min_window().min(wnd));
        } else if wnd > low_window {
            self.step = (alpha * libm::pow(wnd, k) - 1.0).max(0.0);
        }
    }

    fn tune(&mut self) {
        let Params { gamma_low, gamma_high, .. } = self.params;
        if let (Some(lambda), Some(diff)) = (self.params.lambda, self.diff_reno.take()) {
            let gamma = (1.0 - lambda) * self.gamma + lambda * GAMMA_SHARE * diff;
            self.gamma = gamma.min(gamma_high).max(gamma_low);
        }
    }
}

impl WindowRule for Compound {
    type Unit = f64;
    type Memory = Delay;

    fn begin(&self) -> (Options, Delay) {
        (options!(self.params), Delay::default())
    }

    fn on_ack(&mut self, _: &mut Windows, ack: &Ack) {
        if !ack.in_recovery {
            self.queued = self.ratio.update(ack).map(|ratio| 1.0 - 1.0 / ratio.max(1.0)).or(self.queued);
            self.round_ended |= ack.round_start;
        }
    }

    fn grow(&mut self, frame: &mut Windows, ack: &Ack) {
        let counted = frame.counted(ack);
        if let Some(queued) = self.queued.filter(|_| self.round_ended && counted > 0.0) {
            self.round_ended = false;
            self.end_round(frame, queued);
        }
        let wnd = frame.window.cwnd;
        frame.window.cwnd += (1.0 + self.step) * counted / wnd;
        frame.window.memory.dwnd += self.step * counted / wnd;
    }

    fn reduce(&mut self, frame: &mut Windows, event: &Congestion) -> f64 {
        self.tune();
        (self.round_ended, self.step) = (false, 0.0);
        let wnd = frame.window.cwnd;
        let half = (wnd - frame.window.memory.dwnd) / 2.0;
        let dwnd = ((1.0 - self.params.beta) * wnd - half).max(0.0);
        if matches!(event.cause, Cause::Timeout | Cause::PersistentCongestion) {
            (self.ratio, self.queued, frame.window.memory.dwnd) = (fresh(&self.params), None, 0.0);
        } else {
            frame.window.memory.dwnd = dwnd;
        }
        (half + dwnd).max(frame.min_window())
    }

    fn on_restart(&mut self, frame: &mut Windows) {
        frame.window.memory.dwnd = 0.0;
    }

    fn on_resize(&mut self, frame: &mut Windows, ratio: f64) {
        frame.each_window(|window| window.memory.dwnd *= ratio);
    }

    fn trace(&self, frame: &Windows, put: &mut dyn FnMut(&'static str, f64)) {
        put("dwnd", frame.window.memory.dwnd);
        put("gamma", self.gamma);
        put("diff", self.diff);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Controller;
    use crate::testing::fixtures::{MDS, acked, congestion, path};

    fn avoiding(cwnd: f64, dwnd: f64) -> CompoundController {
        let mut cc = CompoundController::new(Params::default(), path(MDS));
        (cc.frame.window.cwnd, cc.frame.window.ssthresh) = (cwnd + dwnd, 0.0);
        cc.frame.window.memory.dwnd = dwnd;
        cc
    }

    /// Acknowledges packets. The first ACK of a round trip ends the last one.
    fn ack(cc: &mut CompoundController, ms: u64, packets: u64, round_start: bool) {
        let rtt = Duration::from_millis(ms);
        let (latest_rtt, smoothed_rtt) = (Some(rtt), rtt);
        cc.on_ack(&Ack { latest_rtt, smoothed_rtt, round_start, ..acked(packets * MDS) });
    }

    /// Ends a round trip, and adds the growth of dwnd in the next one. The base RTT is 100 ms.
    fn end_round(cc: &mut CompoundController, ms: u64) {
        cc.rule.end_round(&mut cc.frame, 1.0 - 100.0 / ms as f64);
        cc.frame.window.cwnd += cc.rule.step;
        cc.frame.window.memory.dwnd += cc.rule.step;
    }

    /// (wnd, dwnd, gamma)
    fn state(cc: &CompoundController) -> [f64; 3] {
        [cc.frame.window.cwnd, cc.frame.window.memory.dwnd, cc.rule.gamma]
    }

    /// Equation 3, `vectors/compound.py`.
    #[test]
    fn increments() {
        for (wnd, grown) in [(38.0, 0.0), (41.0, 1.0253), (100.0, 2.9528), (300.0, 8.0105), (1000.0, 21.2285)]
        {
            let mut cc = avoiding(wnd, 0.0);
            end_round(&mut cc, 100);
            let [after, dwnd, _] = state(&cc);
            // Half of the last digit.
            assert!((dwnd - grown).abs() <= 5e-5 && after == wnd + dwnd, "{wnd}: {dwnd}");
        }
    }

    /// Equations 3 to 5 and gamma on a fixed sequence of RTTs in ms, where 0 is a loss.
    /// `vectors/compound.py`.
    #[test]
    fn sequence() {
        let mut cc = avoiding(400.0, 200.0);
        for (step, (ms, wnd, dwnd, gamma)) in SEQUENCE.into_iter().enumerate() {
            if ms == 0 {
                cc.on_congestion(&congestion(Cause::Loss, 0));
            } else {
                end_round(&mut cc, ms);
            }
            let is = state(&cc);
            // Half of the last digit.
            assert!(
                is.iter().zip([wnd, dwnd, gamma]).all(|(is, x)| (is - x).abs() <= 5e-5),
                "{step}: {is:?}"
            );
        }
    }

    /// (RTT, wnd, dwnd, gamma). Output of `vectors/compound.py`.
    const SEQUENCE: [(u64, f64, f64, f64); 20] = [
        (100, 614.1539, 214.1539, 30.0000),
        (100, 628.5751, 228.5751, 30.0000),
        (104, 643.2670, 243.2670, 30.0000),
        (106, 606.8557, 206.8557, 30.0000),
        (103, 621.1392, 221.1392, 30.0000),
        (0, 310.5696, 110.5696, 24.6845),
        (0, 155.2848, 55.2848, 24.6845),
        (101, 159.7835, 59.7835, 24.6845),
        (104, 164.4012, 64.4012, 24.6845),
        (0, 82.2006, 32.2006, 19.2345),
        (100, 84.6130, 34.6130, 19.2345),
        (110, 87.1003, 37.1003, 19.2345),
        (107, 89.6642, 39.6642, 19.2345),
        (100, 92.3065, 42.3065, 19.2345),
        (0, 46.1533, 21.1533, 14.4259),
        (100, 47.3667, 22.3667, 14.4259),
        (102, 48.6236, 23.6236, 14.4259),
        (120, 49.9253, 24.9253, 14.4259),
        (0, 24.9626, 12.4626, 11.6007),
        (100, 24.9626, 12.4626, 11.6007),
    ];

    /// A round trip of ACKs adds a packet, and 2.9528 of dwnd.
    #[test]
    fn by_ack() {
        let mut cc = avoiding(100.0, 0.0);
        (0..100).for_each(|i| ack(&mut cc, 100, 1, i == 0));
        let [wnd, dwnd, _] = state(&cc);
        // sqrt(100^2 + 2 * 3.9528 * 100) = 103.878, the solution of w' = 3.9528 / w per packet.
        assert!(
            (wnd - 103.878).abs() < 0.01 && (dwnd * 3.9528 / 2.9528 - 3.878).abs() < 0.01,
            "{wnd} {dwnd}"
        );
    }

    /// Nothing grows without permission, and recovery is not sampled.
    #[test]
    fn limits() {
        let mut cc = avoiding(1000.0, 0.0);
        cc.on_ack(&Ack { growth: 0, round_start: true, ..acked(MDS) });
        let latest_rtt = Some(Duration::from_millis(10));
        cc.on_ack(&Ack { latest_rtt, growth: 0, round_start: true, in_recovery: true, ..acked(MDS) });
        assert_eq!((state(&cc), cc.rule.queued), ([1000.0, 0.0, 30.0], Some(0.0)));
        ack(&mut cc, 100, 1, false);
        assert!((cc.rule.step - 21.2285).abs() < 5e-5, "the round trip that ended before");
    }

    /// Table 1 of the draft: one loss per 1 / p packets gives 0.255 / p^0.8 packets on average.
    #[test]
    fn response_function() {
        for (p, expected) in [(1e-3, 64.0), (1e-4, 404.0), (1e-5, 2552.0), (1e-6, 16_107.0)] {
            let mut cc = avoiding(expected, 0.0);
            let (mut packets, mut sum, rounds) = (0.0, 0.0, 6000);
            for _ in 0..rounds {
                let w = cc.frame.window.cwnd;
                (sum, packets) = (sum + w, packets + w);
                if packets * p >= 1.0 {
                    packets -= 1.0 / p;
                    cc.on_congestion(&congestion(Cause::Loss, 0));
                } else {
                    let bytes = cc.control().cwnd;
                    cc.on_ack(&Ack { round_start: true, ..acked(bytes) });
                }
            }
            let mean = sum / f64::from(rounds);
            // The round trip of a loss grows nothing. At 1e-3 that is one in fourteen.
            assert!((mean / expected - 1.0).abs() < 0.1, "{p}: {mean}");
        }
    }

    /// Half after a loss, and dwnd with it. A timeout takes all of dwnd and the base RTT.
    #[test]
    fn events() {
        for (cause, wnd, dwnd) in
            [(Cause::Loss, 50.0, 20.0), (Cause::Ecn, 50.0, 20.0), (Cause::Timeout, 1.0, 0.0)]
        {
            let mut cc = avoiding(60.0, 40.0);
            ack(&mut cc, 100, 0, true);
            cc.on_congestion(&congestion(cause, 0));
            let [is, delay, _] = state(&cc);
            assert_eq!((is, delay, cc.frame.window.ssthresh), (wnd, dwnd, 50.0));
            assert_eq!(cc.rule.queued.is_none(), cause == Cause::Timeout);
        }
        let mut cc = avoiding(60.0, 40.0);
        cc.on_congestion(&congestion(Cause::Timeout, 0));
        cc.on_spurious();
        assert_eq!(state(&cc)[..2], [100.0, 40.0]);
        ack(&mut cc, 150, 1, false);
        assert_eq!(cc.rule.queued, Some(0.0), "the first RTT is the base");
        cc.on_path_change(path(MDS / 2));
        assert_eq!(state(&cc)[1], 80.0);
    }

    /// Without losses, dwnd gives way to cwnd: about gamma packets are queued until cwnd alone
    /// fills the pipe of 100 packets and the queue.
    #[test]
    fn gives_way() {
        let mut cc = avoiding(60.0, 40.0);
        for round in 0..150 {
            let ([wnd, dwnd, _], bytes) = (state(&cc), cc.control().cwnd);
            let (base, rtt) = (Duration::from_millis(100), Duration::from_secs_f64(wnd.max(100.0) / 1000.0));
            let queued = Ack { latest_rtt: Some(rtt), min_rtt: base, smoothed_rtt: rtt, ..acked(bytes) };
            cc.on_ack(&Ack { round_start: true, ..queued });
            assert!((cc.rule.diff - (wnd - 100.0).max(0.0)).abs() < 1e-3);
            // The last growth begins below 130 packets: 0.125 * 130^0.75 = 4.8.
            let most = if wnd - dwnd < 125.0 { 130.0 + 4.8 } else { f64::INFINITY };
            assert!((100.0..=most).contains(&wnd), "{round}: {wnd} {dwnd}");
        }
        assert_eq!(state(&cc)[1], 0.0);
        // A round trip that takes from dwnd acknowledges more than the window that it leaves.
        assert!((state(&cc)[0] - 210.0).abs() < 3.0, "{:?}", state(&cc));
    }
}
