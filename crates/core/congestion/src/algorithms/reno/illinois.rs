//! TCP-Illinois: Liu, Basar and Srikant, Performance Evaluation 65 (June 2008), first at VALUETOOLS
//! (October 2006), with the rules of Linux tcp_illinois.c (commit 0d946db9). Loss decides when the
//! window shrinks. Queueing delay decides how much it grows and shrinks.
//!
//! ```text
//! w in packets
//! base, max        = smallest and largest RTT so far
//! da               = mean RTT of the round trip that ends - base;  dm = max - base
//! d1, d2, d3       = 0.01 dm, 0.1 dm, 0.8 dm
//! alpha            = alpha_max                                        if da <= d1
//!                    kappa1 / (kappa2 + da)                           otherwise
//! kappa1           = (dm - d1) alpha_min alpha_max / (alpha_max - alpha_min)
//! kappa2           = (dm - d1) alpha_min / (alpha_max - alpha_min) - d1
//! beta             = beta_min                                         if da <= d2
//!                    beta_max                                         if da >= d3
//!                    beta_min + (beta_max - beta_min) (da - d2) / (d3 - d2)   otherwise
//! after da > d1    alpha rises to alpha_max only in the theta-th round trip with da <= d1;
//!                  it keeps its value in the others
//! w < win_thresh   alpha = 1, beta = 0.5: Reno
//! each packet acknowledged  w += alpha / w
//! loss, mark                w  = ssthresh = max(2, (1 - beta) w)
//! timeout                   ssthresh likewise, w = 1; then alpha = 1, beta = 0.5, and a new round trip
//! ```
//!
//! alpha(dm) = alpha_min, and both functions are continuous. The kappas, d1 to d3 and the
//! conditions are the paper's, as the comments of tcp_illinois.c and public summaries quote them.
//! The text of the paper was not available. Linux decides the values of all constants, the counting
//! of round trips and the response to timeouts.
//!
//! RTTs include the ACK delay, as in Linux, which knows no other RTT.
//!
//! Deviations: windows are not whole packets, and alpha and beta are exact. Linux has units of
//! 1/128 and 1/64, so its alpha_min is 0.297. RTTs above 3.3 s are not capped. A round trip is that
//! of the sender. One that ends in recovery is evaluated with the first ACK afterwards, as in
//! Linux, but the next one does not begin there. The first window is RFC 9002's.

use crate::components::window_rule::{Frame, Options, WindowController, WindowRule, options, window_params};
use crate::{Ack, Cause, Congestion, Range};

window_params! {
    initial_window = None, count = Packets;
    /// Smallest growth per round trip, packets, at the longest delay. Linux tcp_illinois.c.
    alpha_min: f64 = 0.3 => Range::FACTOR.up_to("alpha_max"),
    /// Largest growth per round trip, packets, without delay. Linux tcp_illinois.c.
    alpha_max: f64 = 10.0 => Range::FACTOR,
    /// Smallest share of the window that a loss takes, 0..1. Linux tcp_illinois.c.
    beta_min: f64 = 0.125 => Range::SHARE.up_to("beta_max"),
    /// Largest share of the window that a loss takes, 0..1. Linux tcp_illinois.c.
    beta_max: f64 = 0.5 => Range::SHARE,
    /// Window below which the controller is Reno, packets. Linux tcp_illinois.c.
    win_thresh: f64 = 15.0 => Range::PACKETS,
    /// Number of round trips with little delay before alpha_max is used again. Linux
    /// tcp_illinois.c.
    theta: u64 = 5 => Range::COUNT,
}

/// Growth per round trip in Reno, in packets.
const RENO_ALPHA: f64 = 1.0;
/// Share of the window that a loss takes in Reno.
const RENO_BETA: f64 = 0.5;

impl Params {
    /// Returns the growth per round trip in packets, for a mean queueing delay `da` above d1 and a
    /// largest delay `dm`.
    pub fn alpha(&self, da: f64, dm: f64) -> f64 {
        let (min, max) = (self.alpha_min, self.alpha_max);
        // kappa1 / (kappa2 + da), multiplied by (max - min) / min, so that max may equal min.
        let (dm, da) = (dm - LOW_DELAY * dm, da - LOW_DELAY * dm);
        dm * max / (dm + da * (max - min) / min)
    }

    /// Returns the share of the window that a loss takes, for the mean and the largest delay.
    pub fn beta(&self, da: f64, dm: f64) -> f64 {
        let (d2, d3) = (0.1 * dm, 0.8 * dm);
        if da <= d2 {
            self.beta_min
        } else if da >= d3 {
            self.beta_max
        } else {
            self.beta_min + (self.beta_max - self.beta_min) * (da - d2) / (d3 - d2)
        }
    }
}

/// Share of the largest delay up to which alpha is largest: d1 / dm.
const LOW_DELAY: f64 = 0.01;

crate::variables! {
    /// Slow-start threshold, infinite until slow start has ended. RFC 5681 section 3.1.
    ssthresh: "bytes",
    /// Growth per round trip, alpha. Linux tcp_illinois.c.
    alpha: "packets",
    /// Share of the window that a loss takes, beta, 0..1. Linux tcp_illinois.c.
    beta: "",
}

/// The controller. Windows are in packets.
pub type Illinois = WindowController<Rule>;

/// The rule, with its measurements. RTTs are in seconds.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    params: Params,
    alpha: f64,
    beta: f64,
    base_rtt: f64,
    max_rtt: f64,
    /// Sum and number of the RTTs of this round trip.
    sum: f64,
    samples: u64,
    /// Whether a round trip has ended since the last evaluation.
    round_ended: bool,
    /// Whether the mean delay has exceeded d1 since alpha was alpha_max.
    above: bool,
    /// Number of round trips with little delay since alpha was alpha_max.
    low: u64,
}

impl From<Params> for Rule {
    fn from(params: Params) -> Self {
        let (alpha, beta, base_rtt) = (params.alpha_max, RENO_BETA, f64::INFINITY);
        Self { params, alpha, beta, base_rtt, ..Self::default() }
    }
}

impl Rule {
    fn sample(&mut self, rtt: f64) {
        self.base_rtt = self.base_rtt.min(rtt);
        self.max_rtt = self.max_rtt.max(rtt);
        self.sum += rtt;
        self.samples += 1;
    }

    /// Starts a new round trip.
    fn forget_round(&mut self) {
        (self.sum, self.samples, self.round_ended) = (0.0, 0, false);
    }

    /// Sets alpha and beta at the end of a round trip.
    fn evaluate(&mut self, cwnd: f64) {
        if cwnd < self.params.win_thresh {
            (self.alpha, self.beta) = (RENO_ALPHA, RENO_BETA);
        } else if self.samples > 0 {
            let dm = self.max_rtt - self.base_rtt;
            let da = (self.sum / self.samples as f64 - self.base_rtt).max(0.0);
            self.alpha = self.next_alpha(da, dm);
            self.beta = self.params.beta(da, dm);
        }
        self.forget_round();
    }

    fn next_alpha(&mut self, da: f64, dm: f64) -> f64 {
        if da > LOW_DELAY * dm {
            self.above = true;
            return self.params.alpha(da, dm);
        }
        if self.above {
            self.low += 1;
            if self.low < self.params.theta {
                return self.alpha;
            }
        }
        (self.above, self.low) = (false, 0);
        self.params.alpha_max
    }

    /// Becomes Reno until the next round trip has ended.
    fn reset(&mut self) {
        (self.alpha, self.beta) = (RENO_ALPHA, RENO_BETA);
        (self.above, self.low) = (false, 0);
        self.forget_round();
    }
}

impl WindowRule for Rule {
    type Unit = f64;
    type Memory = ();

    fn begin(&self) -> (Options, ()) {
        (options!(self.params), ())
    }

    fn on_ack(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        if let Some(rtt) = ack.latest_rtt {
            self.sample(rtt.as_secs_f64());
        }
        self.round_ended |= ack.round_start;
        if self.round_ended && !ack.in_recovery {
            self.evaluate(frame.window.cwnd);
        }
    }

    fn grow(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        frame.window.cwnd += self.alpha * frame.counted(ack) / frame.window.cwnd;
    }

    fn reduce(&mut self, frame: &mut Frame<f64>, event: &Congestion) -> f64 {
        let reduced = ((1.0 - self.beta) * frame.window.cwnd).max(frame.min_window());
        if matches!(event.cause, Cause::Timeout | Cause::PersistentCongestion) {
            self.reset();
        }
        reduced
    }

    fn trace(&self, _: &Frame<f64>, put: &mut dyn FnMut(&'static str, f64)) {
        put("alpha", self.alpha);
        put("beta", self.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Controller;
    use crate::testing::fixtures::{acked, congestion, path};
    use units::Duration;

    const MDS: u64 = 1200;

    fn avoiding(packets: f64) -> Illinois {
        let mut cc = Illinois::new(Params::default(), path(MDS));
        (cc.frame.window.cwnd, cc.frame.window.ssthresh) = (packets, 0.0);
        cc
    }

    fn ack(cc: &mut Illinois, ms: u64, round_start: bool) {
        cc.on_ack(&Ack { latest_rtt: Some(Duration::from_millis(ms)), round_start, ..acked(MDS) });
    }

    /// A window of ACKs with the same RTT. The first one ends the last round trip.
    fn round(cc: &mut Illinois, ms: u64) {
        let packets = cc.frame.window.cwnd as u64;
        (0..packets).for_each(|i| ack(cc, ms, i == 0));
    }

    /// `vectors/illinois.py`: alpha and beta for dm = 100 ms.
    #[test]
    fn curves() {
        for (da, alpha, beta) in [
            (1.0, 10.0, 0.125),
            (5.0, 4.3358, 0.125),
            (10.0, 2.5385, 0.125),
            (20.0, 1.3879, 0.1786),
            (50.0, 0.5881, 0.3393),
            (80.0, 0.3731, 0.5),
            (100.0, 0.3, 0.5),
        ] {
            let params = Params::default();
            // Half of the last digit of the vectors.
            assert!((params.alpha(da, 100.0) - alpha).abs() <= 5e-5, "{da}: {}", params.alpha(da, 100.0));
            assert!((params.beta(da, 100.0) - beta).abs() <= 5e-5, "{da}: {}", params.beta(da, 100.0));
        }
        let even = Params { alpha_min: 2.0, alpha_max: 2.0, ..Params::default() };
        assert_eq!(even.alpha(50.0, 100.0), 2.0);
    }

    /// `vectors/illinois.py`: Linux's integers on a sequence of RTTs in ms, where 0 is a loss.
    #[test]
    fn as_linux() {
        let mut cc = avoiding(100.0);
        for (step, (ms, packets, alpha, beta)) in [
            (100, 109.0, 10.0, 0.125),
            (100, 118.0, 10.0, 0.125),
            (110, 127.0, 10.0, 0.125),
            (130, 127.0, 0.836, 0.250),
            (160, 128.0, 0.570, 0.328),
            (200, 128.0, 0.484, 0.391),
            (150, 128.0, 0.297, 0.5),
            (0, 64.0, 0.297, 0.5),
            (120, 64.0, 0.578, 0.328),
            (100, 66.0, 1.391, 0.172),
            (100, 67.0, 1.391, 0.125),
            (100, 69.0, 1.391, 0.125),
            (100, 70.0, 1.391, 0.125),
            (100, 71.0, 1.391, 0.125),
            (100, 84.0, 10.0, 0.125),
            (100, 93.0, 10.0, 0.125),
            (180, 102.0, 10.0, 0.125),
            (0, 90.0, 10.0, 0.125),
            (140, 90.0, 0.367, 0.484),
        ]
        .into_iter()
        .enumerate()
        {
            if ms == 0 {
                cc.on_congestion(&congestion(Cause::Loss, 0));
            } else {
                round(&mut cc, ms);
            }
            let rule = &cc.rule;
            // Linux rounds alpha down to 1/128 after a division by 0.297, and beta to 1/64.
            assert!((rule.alpha - alpha).abs() <= 1.0 / 128.0 + 0.02 * alpha, "{step}: {}", rule.alpha);
            assert!((rule.beta - beta).abs() <= 1.0 / 64.0 + 0.0005, "{step}: {}", rule.beta);
            // Linux adds whole packets and drops the rest, up to a packet per round trip. It takes
            // packets counted before alpha rose with the new alpha. That is 2.9 packets at most.
            assert!((cc.frame.window.cwnd - packets).abs() <= 3.0, "{step}: {}", cc.frame.window.cwnd);
        }
    }

    /// Without delay the window grows by alpha_max, or slightly less because it grows meanwhile,
    /// and a loss takes an eighth.
    #[test]
    fn without_delay() {
        let mut cc = avoiding(100.0);
        round(&mut cc, 50);
        // sqrt(100^2 + 2 * 10 * 100) = 109.54, the solution of w' = alpha / w per packet.
        assert!((cc.frame.window.cwnd - 109.54).abs() < 0.05, "{}", cc.frame.window.cwnd);
        cc.on_congestion(&congestion(Cause::Ecn, 0));
        assert!((cc.frame.window.cwnd - 0.875 * 109.54).abs() < 0.05);
    }

    /// Below 15 packets: one packet per round trip and half after a loss.
    #[test]
    fn small_windows() {
        let mut cc = avoiding(10.0);
        round(&mut cc, 100);
        assert!((cc.frame.window.cwnd - 11.0).abs() < 0.05, "{}", cc.frame.window.cwnd);
        cc.on_congestion(&congestion(Cause::Loss, 0));
        assert!((cc.frame.window.cwnd - 5.5).abs() < 0.03);
        cc.frame.window.cwnd = 2.5;
        cc.on_congestion(&congestion(Cause::Loss, 0));
        assert_eq!(cc.frame.window.cwnd, 2.0);
    }

    /// The timeout's ssthresh has the old beta. Then Reno, until a round trip has ended.
    #[test]
    fn timeouts() {
        let mut cc = avoiding(100.0);
        round(&mut cc, 100);
        let before = cc.frame.window.cwnd;
        cc.on_congestion(&congestion(Cause::Timeout, 0));
        assert_eq!((cc.frame.window.cwnd, cc.frame.window.ssthresh), (1.0, 0.875 * before));
        assert_eq!((cc.rule.alpha, cc.rule.beta, cc.rule.samples), (1.0, 0.5, 0));
    }

    /// A round trip that ends in recovery is evaluated afterwards, with its samples.
    #[test]
    fn recovery() {
        let mut cc = avoiding(100.0);
        round(&mut cc, 100);
        round(&mut cc, 200);
        let alpha = cc.rule.alpha;
        let rtt = Some(Duration::from_millis(200));
        cc.on_ack(&Ack { latest_rtt: rtt, round_start: true, in_recovery: true, growth: 0, ..acked(MDS) });
        assert_eq!(cc.rule.alpha, alpha);
        ack(&mut cc, 200, false);
        assert!(cc.rule.alpha < alpha && cc.rule.samples == 0, "{}", cc.rule.alpha);
    }
}
