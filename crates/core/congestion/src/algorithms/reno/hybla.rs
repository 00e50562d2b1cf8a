//! TCP Hybla: Caini and Firrincieli, International Journal of Satellite Communications and
//! Networking 22(5), September 2004: Reno whose rate does not depend on the RTT.
//!
//! ```text
//! rho = max(RTT / RTT0, 1),  RTT0 = 25 ms                             RTT: the smallest so far
//! slow start            w += 2^rho - 1   per ACK,  up to ssthresh
//! congestion avoidance  w += rho^2 / w   per ACK
//! loss, mark            ssthresh = w = w / 2
//! timeout               ssthresh likewise, w = 1;  growth is that of Reno until its recovery ends
//! w in packets; at most 65 535 packets                                (Linux tcp_hybla.c)
//!
//! rules = "linux"       tcp_hybla.c, commit cc9ae575 of kernel-patches/bpf
//!   RTT                 the smallest smoothed RTT
//!   rho                 in steps of 1/8, rounded down
//!   growth              in steps of 1/128 packet, rounded down; w without its fraction; 1 / w where that is 0
//!   loss                half of the whole packets
//! ```
//!
//! With rho = 1 it is Reno. The window of a flow with a longer RTT reaches rho times that of the
//! reference flow at the same time, so both rates are equal. Linux's rounding costs up to half of
//! the growth: with rho = 1 a window of 65 packets grows by half a packet per round trip.
//!
//! The paper could not be read. Its rules are those in the comments of tcp_hybla.c and in ns-3's
//! TcpHybla (commit 1f438ce6), which agree. ns-3's RTT0 is 50 ms. A lecture that derives them
//! (Cheung, Emory University) also scales the initial ssthresh by rho; it is infinite here.
//!
//! Deviations: the first window is RFC 9002's, because the RTT is not known yet. Linux begins with
//! rho packets, from the RTT of the handshake. Growth per ACK is for a full packet at most.
//! Persistent congestion, which TCP lacks, follows RFC 9002 section 7.6.2.

use crate::components::window_rule::{Frame, Options, WindowController, WindowRule, options, window_params};
use crate::{Ack, Congestion, Range};
use units::Duration;

window_params! {
    initial_window = None, count = Acks;
    /// Arithmetic: `paper`, exact, or `linux`, in steps. Linux tcp_hybla.c.
    rules: Rules = Rules::Paper,
    /// RTT0, RTT of the reference flow. Linux rtt0; 50 ms in ns-3.
    rtt0: Duration = Duration::from_millis(25) => Range::above(0.0),
    /// Largest window, packets. Linux tcp_hybla.c.
    max_window: u64 = 65_535 => Range::PACKETS,
}

/// Arithmetic of rho and of the growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Rules {
    /// Real numbers.
    Paper,
    /// Steps of Linux.
    Linux,
}

/// Largest exponent in slow start, whose growth exceeds the largest window. Linux tcp_hybla.c.
const MAX_EXPONENT: f64 = 16.0;

crate::variables! {
    /// Slow-start threshold, infinite until slow start has ended. RFC 5681 section 3.1.
    ssthresh: "bytes",
    /// RTT over RTT0, at least 1. Linux tcp_hybla.c.
    rho: "",
}

/// The controller. Windows are in packets.
pub type HyblaController = WindowController<Hybla>;

/// The rule, with its measurement.
#[derive(Clone, Debug)]
pub struct Hybla {
    params: Params,
    /// Smallest RTT, plain or smoothed.
    rtt: Option<Duration>,
}

impl From<Params> for Hybla {
    fn from(params: Params) -> Self {
        Self { params, rtt: None }
    }
}

impl Hybla {
    fn is_linux(&self) -> bool {
        self.params.rules == Rules::Linux
    }

    /// Rounds down to whole steps of 1 / `steps` as Linux does.
    fn steps(&self, x: f64, steps: f64) -> f64 {
        if self.is_linux() { libm::floor(x * steps) / steps } else { x }
    }

    fn rho(&self) -> f64 {
        let ratio = |rtt: Duration| rtt.0 as f64 / self.params.rtt0.0.max(1) as f64;
        self.rtt.map_or(1.0, |rtt| self.steps(ratio(rtt), 8.0).max(1.0))
    }

    /// Returns the growth per packet in slow start. Linux keeps seven bits of 2^(fraction of rho).
    fn slow_start_growth(&self) -> f64 {
        let rho = self.rho();
        let whole = libm::floor(rho);
        self.steps(libm::exp2(rho - whole), 128.0) * libm::exp2(whole.min(MAX_EXPONENT)) - 1.0
    }

    /// Returns the growth per packet in congestion avoidance.
    fn avoidance_growth(&self, w: f64) -> f64 {
        let squared = self.rho() * self.rho();
        let grown = self.steps(squared / self.steps(w, 1.0), 128.0);
        if grown > 0.0 { grown } else { 1.0 / w }
    }

    /// Limits the window. Linux keeps the fraction of a packet.
    fn limit(&self, frame: &mut Frame<f64>, most: f64) {
        let w = frame.window.cwnd;
        let fraction = w - self.steps(w, 1.0);
        frame.window.cwnd = w.min(most.min(self.params.max_window as f64) + fraction);
    }
}

impl WindowRule for Hybla {
    type Unit = f64;
    type Memory = ();

    fn begin(&self) -> (Options, ()) {
        (options!(self.params), ())
    }

    fn on_ack(&mut self, _: &mut Frame<f64>, ack: &Ack) {
        if ack.latest_rtt.is_some() {
            let rtt = if self.is_linux() { ack.smoothed_rtt } else { ack.min_rtt };
            self.rtt = Some(self.rtt.map_or(rtt, |min| min.min(rtt)));
        }
    }

    fn slow_start(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        let factor = if ack.in_recovery { 1.0 } else { self.slow_start_growth() };
        let ssthresh = frame.window.ssthresh;
        frame.slow_start(ack, |grown| grown * factor);
        frame.window.ssthresh = frame.window.ssthresh.min(ssthresh);
        self.limit(frame, ssthresh);
    }

    fn grow(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        let w = frame.window.cwnd;
        let growth = if ack.in_recovery { 1.0 / w } else { self.avoidance_growth(w) };
        frame.window.cwnd += growth * frame.counted(ack);
        self.limit(frame, f64::INFINITY);
    }

    /// Linux keeps the fraction of a packet.
    fn reduce(&mut self, frame: &mut Frame<f64>, _: &Congestion) -> f64 {
        let w = frame.window.cwnd;
        let whole = self.steps(w, 1.0);
        self.steps(whole / 2.0, 1.0).max(frame.min_window()) + w - whole
    }

    fn trace(&self, _: &Frame<f64>, put: &mut dyn FnMut(&'static str, f64)) {
        put("rho", self.rho());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixtures::{MDS, acked, congestion, path};
    use crate::{Cause, Controller};

    fn linux() -> Params {
        Params { rules: Rules::Linux, ..Params::default() }
    }

    fn with(params: Params, cwnd: f64, ssthresh: f64) -> HyblaController {
        let mut cc = HyblaController::new(params, path(MDS));
        (cc.frame.window.cwnd, cc.frame.window.ssthresh) = (cwnd, ssthresh);
        cc
    }

    fn ack(cc: &mut HyblaController, us: u64, in_recovery: bool, growth: u64) {
        let rtt = Duration::from_micros(us);
        let (latest_rtt, min_rtt, smoothed_rtt) = (Some(rtt), rtt, rtt);
        cc.on_ack(&Ack { latest_rtt, min_rtt, smoothed_rtt, in_recovery, growth, ..acked(MDS) });
    }

    /// `vectors/hybla.py`: rho, 2^rho - 1 and rho^2.
    #[test]
    fn equations() {
        for (ms, rho, slow_start, round_trip) in [
            (10, 1.0, 1.0, 1.0),
            (25, 1.0, 1.0, 1.0),
            (40, 1.6, 2.031433, 2.56),
            (100, 4.0, 15.0, 16.0),
            (275, 11.0, 2047.0, 121.0),
        ] {
            let mut cc = with(Params::default(), 1000.0, f64::INFINITY);
            ack(&mut cc, 1000 * ms, false, MDS);
            assert_eq!(cc.rule.rho(), rho);
            // Half of the last digit of the vectors.
            assert!((cc.frame.window.cwnd - 1000.0 - slow_start).abs() <= 5e-7, "{}", cc.frame.window.cwnd);
            let mut cc = with(Params::default(), 1000.0, 0.0);
            ack(&mut cc, 1000 * ms, false, MDS);
            assert!((1000.0 * (cc.frame.window.cwnd - 1000.0) - round_trip).abs() < 1e-9);
        }
    }

    /// The same rate as the reference flow after 2 s of congestion avoidance, whatever the RTT.
    #[test]
    fn rate_does_not_depend_on_the_rtt() {
        for ms in [25, 50, 100, 200] {
            let rho = ms as f64 / 25.0;
            let mut cc = with(Params::default(), 200.0 * rho, 0.0);
            for _ in 0..2000 / ms {
                for _ in 0..cc.frame.window.cwnd as u64 {
                    ack(&mut cc, 1000 * ms, false, MDS);
                }
            }
            // 80 packets. The reference flow's ACKs come before its window has grown, which takes
            // 0.2 % of the growth at 200 packets, and 0.5 % at rho = 8.
            let grown = cc.frame.window.cwnd / rho - 200.0;
            assert!((grown / 80.0 - 1.0).abs() < 0.03, "{ms}: {grown}");
        }
    }

    /// `vectors/hybla.py`: windows in whole packets and rho in steps, phase by phase.
    #[test]
    fn as_linux() {
        for (ssthresh, phases) in LINUX {
            let mut cc = with(linux(), 3.0, *ssthresh);
            for (phase, &((us, rounds, lost), expected)) in phases.iter().enumerate() {
                for round in 0..rounds {
                    let (acks, recovers) = (cc.frame.window.cwnd as u64, lost && round == 0);
                    if recovers {
                        cc.on_congestion(&congestion(Cause::Loss, 0));
                    }
                    (0..acks).for_each(|_| ack(&mut cc, us, recovers, if recovers { 0 } else { MDS }));
                }
                let state = (cc.frame.window.cwnd as u64, (8.0 * cc.rule.rho()) as u64);
                assert_eq!(state, expected, "{ssthresh} {phase}");
            }
        }
    }

    /// Linux grows by whole parts of 1/128 packet, or by Reno's 1 / w: half a packet at 65 packets.
    #[test]
    fn steps_of_linux() {
        for (packets, grown) in
            [(64.0, 1.0 / 64.0), (65.0, 1.0 / 128.0), (128.0, 1.0 / 128.0), (129.5, 1.0 / 129.5)]
        {
            let mut cc = with(linux(), packets, 0.0);
            ack(&mut cc, 20_000, false, MDS);
            assert_eq!(cc.frame.window.cwnd, packets + grown);
        }
        let mut cc = with(linux(), 10.0, f64::INFINITY);
        // rho = 4.375 for 4.4: 2^0.375 = 1.297 is 165 + 1 = 166 / 128 rounded down to 165.
        ack(&mut cc, 110_000, false, MDS);
        assert_eq!(cc.frame.window.cwnd, 9.0 + 16.0 * 165.0 / 128.0);
    }

    /// The smallest RTT counts, plain or smoothed.
    #[test]
    fn smallest_rtt() {
        for (params, rho) in [(Params::default(), 2.0), (linux(), 2.375)] {
            let mut cc = with(params, 10.0, 0.0);
            for (min, smoothed) in [(60, 70), (50, 60), (50, 65)] {
                let [min_rtt, smoothed_rtt] = [min, smoothed].map(Duration::from_millis);
                cc.on_ack(&Ack { min_rtt, smoothed_rtt, ..acked(MDS) });
            }
            assert_eq!(cc.rule.rho(), rho);
        }
        let mut cc = with(Params::default(), 10.0, 0.0);
        cc.on_ack(&Ack { latest_rtt: None, ..acked(MDS) });
        assert_eq!(cc.rule.rho(), 1.0);
    }

    /// Up to ssthresh, and never above the largest window.
    #[test]
    fn limits() {
        let mut cc = with(Params::default(), 10.0, 20.0);
        ack(&mut cc, 100_000, false, MDS);
        assert_eq!((cc.frame.window.cwnd, cc.frame.window.ssthresh), (20.0, 20.0));
        for (us, ssthresh, cwnd) in [(600_000, f64::INFINITY, 65_000.0), (900_000, 0.0, 65_534.99)] {
            let mut cc = with(Params::default(), cwnd, ssthresh);
            (0..100).for_each(|_| ack(&mut cc, us, false, MDS));
            assert_eq!(cc.frame.window.cwnd, 65_535.0);
        }
    }

    /// Half after a loss. After a timeout it is Reno until its recovery ends.
    #[test]
    fn events() {
        let mut cc = with(Params::default(), 25.0, 0.0);
        cc.on_congestion(&congestion(Cause::Ecn, 0));
        assert_eq!((cc.frame.window.cwnd, cc.frame.window.ssthresh), (12.5, 12.5));
        let mut cc = with(linux(), 25.25, 0.0);
        cc.on_congestion(&congestion(Cause::Loss, 0));
        assert_eq!(cc.frame.window.cwnd, 12.25);
        cc.on_congestion(&congestion(Cause::Timeout, 0));
        (0..3).for_each(|_| ack(&mut cc, 100_000, true, MDS));
        assert_eq!(cc.frame.window.cwnd, 4.0);
        ack(&mut cc, 100_000, false, MDS);
        assert_eq!(cc.frame.window.cwnd, 6.25, "ssthresh");
        ack(&mut cc, 100_000, true, MDS);
        assert_eq!(cc.frame.window.cwnd, 6.25 + 1.0 / 6.25);
    }

    /// Smoothed RTT in microseconds, round trips, and whether the first one has a loss; window and
    /// 8 rho afterwards. Output of `vectors/hybla.py`.
    type Phase = ((u64, u64, bool), (u64, u64));
    const LINUX: &[(f64, &[Phase])] = &[
        (
            300.0,
            &[
                ((100000, 3, false), (315, 32)),
                ((110000, 4, true), (201, 32)),
                ((100000, 6, false), (289, 32)),
                ((90000, 3, false), (322, 28)),
                ((120000, 4, true), (195, 28)),
                ((90000, 9, true), (186, 28)),
            ],
        ),
        (
            40.0,
            &[
                ((31000, 9, false), (46, 9)),
                ((29000, 8, true), (31, 9)),
                ((34000, 12, false), (44, 9)),
                ((28123, 10, true), (30, 8)),
                ((60000, 14, false), (42, 8)),
            ],
        ),
        (
            60.0,
            &[
                ((20000, 8, false), (63, 8)),
                ((24000, 30, false), (80, 8)),
                ((12000, 9, true), (47, 8)),
                ((24999, 40, false), (75, 8)),
            ],
        ),
        (
            20000.0,
            &[
                ((612000, 1, false), (20000, 195)),
                ((600000, 2, true), (10544, 192)),
                ((587500, 2, true), (5779, 188)),
                ((700000, 3, false), (7294, 188)),
            ],
        ),
    ];
}
