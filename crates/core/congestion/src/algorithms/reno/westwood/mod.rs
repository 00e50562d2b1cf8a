//! Westwood+: Mascolo et al. MobiCom 2001, Grieco and Mascolo CCR April 2004, Linux tcp_westwood.c;
//! here for QUIC.
//!
//! ```text
//! sample  = bytes acknowledged / window, one per window > max(RTT, 50 ms)   bytes/s   (CCR 2004 section 2; Linux)
//! two-pole: BW_ns = 7/8 BW_ns + 1/8 sample;  BWE = 7/8 BWE + 1/8 BW_ns                (Linux)
//! one-pole: BWE = 0.2 BWE + 0.8 sample                                                (QUIC-DC equation 7)
//!           both filters start at the first sample
//! RTTmin  = smallest RTT sample since the start or the last timeout         seconds   (Linux)
//! event     cwnd = ssthresh = max(2 * mds, BWE * RTTmin), which may be an increase   (QUIC-DC section 3; Linux)
//! timeout   ssthresh likewise;  cwnd = 1 packet;  persistent congestion: 2 packets
//! growth    NewReno's (RFC 9002 section 7.3; see `reno::window`)
//! ```
//!
//! **Filter.** Linux's module has two poles and calls itself Westwood+. It is the default here. The
//! Westwood+ of arXiv 2507.00896 has QUIC-DC's one pole ("QUIC Westwood+ corresponds to QUIC-DC
//! (100 %)", 5.2.1). It is `filter = "one-pole"`, or `quic-dc` with `threshold = "off"`, which is
//! the same bit for bit.
//!
//! The event sets the window to a larger or a smaller value. After a collapse, the next loss
//! restores it to the bandwidth-delay product. MobiCom 2001, figure 2, only reduces it: cwnd =
//! min(cwnd, ssthresh).
//!
//! RTTs include the ACK delay, as in Linux, which knows no other RTT. RTTmin is the smallest, given
//! by an ACK that was not delayed.
//!
//! Deviations from Linux: the window is set when recovery begins, as in the papers; Linux lets PRR
//! halve it and sets `BWE * RTTmin` when recovery ends. Over TCP the sender spreads a reduction
//! (its `reduction`). Acknowledged bytes are those newly acknowledged and those that arrived late,
//! which Linux's rule for duplicate and partial ACKs approximates. A sample in which the
//! application limited the sender is dropped, because it measures the application. Until the first
//! sample an event halves the window, where Linux sets it to 2 packets. ECN marks act like losses.
//! An undo of a spurious loss or timeout restores only the window. The estimates stay, and so does
//! RTTmin's restart after a timeout (Linux).

mod bandwidth;

pub use bandwidth::{Bandwidth, Filter};

use crate::algorithms::reno::window::{self, Growth, Progress, Reno};
use crate::components::count::Count;
use crate::components::window_rule::{Options, WindowController, WindowRule, options};
use crate::{Ack, Cause, Congestion, Range, Sent, params};
use bandwidth::MinRtt;
use units::Duration;

params! {
    /// Low-pass filter of the bandwidth samples: `two-pole` (Linux, 7/8 twice) or `one-pole`
    /// (QUIC-DC, 0.2/0.8).
    filter: Filter = Filter::TwoPole,
    /// Shortest window of a bandwidth sample. Linux TCP_WESTWOOD_RTT_MIN.
    sample_window: Duration = Duration::from_millis(50),
    /// Factor by which the window is multiplied after an event before the first bandwidth sample,
    /// 0..1. RFC 9002 appendix B.1.
    beta: f64 = 0.5 => Range::SHARE,
    /// Smallest window, packets. Linux tcp_westwood.c, RFC 9002 section 7.2.
    min_window: u64 = 2 => Range::PACKETS,
    /// Initial window, packets, or `"auto"`: RFC 9002 section 7.2.
    #[serde(with = "units::or_auto")]
    initial_window: Option<u64> = None => Range::PACKETS,
    /// Growth of the window in congestion avoidance: a packet per `window` (RFC 3465 section 2.1),
    /// a fraction of a packet per `ack` (RFC 9002 appendix B.5), or a fraction of 1232 bytes per
    /// `packet`, rounded down (mvfst).
    growth: Growth = Growth::Window,
    /// Quantity that grows the window: `bytes` acknowledged (RFC 9002 section 7.3), `packets`
    /// (Linux),
    #[doc = crate::components::count::others!()]
    count: Count = Count::Bytes,
    /// L, largest growth per ACK in slow start, packets, or `"off"`. RFC 3465 section 2.2 has 2;
    /// RFC 9002 and Linux none.
    #[serde(with = "units::or_off")]
    abc_limit: Option<u64> = None => Range::COUNT,
    #[doc = crate::components::slow_start::values!()]
    slow_start: crate::components::slow_start::Kind = crate::components::slow_start::Kind::Standard,
}

crate::variables! {
    with window::VARIABLES;
    /// Bandwidth estimate, BWE, from the first sample on. CCR 2004 section 2.
    bwe: "bytes/s"; later,
    /// Smallest RTT since the start or the last timeout, RTTmin, from the first sample on. Linux
    /// tcp_westwood.c.
    rtt_min: "s"; later,
}

/// The controller. Windows are in bytes.
pub type WestwoodPlus = WindowController<Westwood>;

/// The rule, with its estimates.
#[derive(Clone, Debug)]
pub struct Westwood {
    params: Params,
    bandwidth: Bandwidth,
    rtt_min: MinRtt,
}

impl From<Params> for Westwood {
    fn from(params: Params) -> Self {
        let bandwidth = Bandwidth::new(params.filter, params.sample_window);
        Self { params, bandwidth, rtt_min: MinRtt::new() }
    }
}

impl WindowRule for Westwood {
    type Unit = u64;
    type Memory = Progress;

    fn begin(&self) -> (Options, Progress) {
        (options!(self.params), Progress::default())
    }

    fn on_sent(&mut self, _: &mut Reno, sent: &Sent) {
        self.bandwidth.on_sent(sent.now);
    }

    fn on_ack(&mut self, _: &mut Reno, ack: &Ack) {
        self.rtt_min.on_ack(ack);
        self.bandwidth.on_ack(ack);
    }

    fn grow(&mut self, reno: &mut Reno, ack: &Ack) {
        reno.grow(ack, self.params.growth);
    }

    /// BWE * RTTmin, the bytes on the path with an empty queue.
    fn reduce(&mut self, reno: &mut Reno, _: &Congestion) -> u64 {
        let pipe = match self.bandwidth.estimate() {
            Some(bwe) => bwe * self.rtt_min.value.as_secs_f64(),
            None => reno.window.cwnd as f64 * self.params.beta,
        };
        (pipe as u64).max(reno.min_window())
    }

    fn on_congestion(&mut self, reno: &mut Reno, event: &Congestion, _: bool) {
        let ssthresh = self.reduce(reno, event);
        let (least, one) = (reno.min_window(), reno.loss_window());
        match event.cause {
            Cause::Loss | Cause::Ecn | Cause::Delay => return reno.window.set(ssthresh, ssthresh),
            Cause::PersistentCongestion => reno.window.shrink(least, ssthresh),
            Cause::Timeout => reno.window.shrink(one, ssthresh),
        }
        self.rtt_min.forget();
    }

    /// Reports `bwe` in bytes per second, `rtt_min` in seconds.
    fn trace(&self, _: &Reno, put: &mut dyn FnMut(&'static str, f64)) {
        if let Some(bwe) = self.bandwidth.estimate() {
            put("bwe", bwe);
        }
        if self.rtt_min.value != Duration::MAX {
            put("rtt_min", self.rtt_min.value.as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Controller;
    use crate::algorithms::reno::window::tests::avoiding;
    use crate::testing::fixtures::{acked, congestion, path};
    use units::Time;

    const MDS: u64 = 1200;
    const RTT: Duration = Duration::from_millis(100);

    /// Plays one ACK per RTT + 1 ms. Each one ends a sample.
    fn estimates(filter: Filter, rates: &[u64]) -> Vec<f64> {
        let mut b = Bandwidth::new(filter, Duration::from_millis(50));
        b.on_sent(Time::ZERO);
        let mut now = Time::ZERO;
        rates
            .iter()
            .map(|rate| {
                now += Duration::from_millis(101);
                b.on_ack(&Ack { now, ..acked(rate * 101 / 1000) });
                b.estimate().unwrap_or(f64::NAN)
            })
            .collect()
    }

    /// Returns the missing share of the step from 1 MB/s to 2 MB/s after n samples.
    fn missing(filter: Filter, n: usize) -> f64 {
        let mut rates = vec![1_000_000];
        rates.extend(vec![2_000_000; n]);
        (2e6 - estimates(filter, &rates)[n]) / 1e6
    }

    /// Equation 7 of QUIC-DC: the error after n samples is 0.2^n.
    #[test]
    fn one_pole_step() {
        for (n, error) in [(0, 1.0), (1, 0.2), (2, 0.04), (3, 0.008)] {
            assert!((missing(Filter::OnePole, n) - error).abs() < 1e-9, "{n}");
        }
    }

    /// Linux's filter: the error after n samples is (7/8)^n (1 + n/8); half at 13, a tenth at 29.
    #[test]
    fn two_pole_step() {
        for n in 0..40 {
            let error = libm::pow(7.0 / 8.0, n as f64) * (1.0 + n as f64 / 8.0);
            assert!((missing(Filter::TwoPole, n) - error).abs() < 1e-9, "{n}");
        }
        let first = |error| (0..40).find(|&n| missing(Filter::TwoPole, n) <= error);
        assert_eq!((first(0.5), first(0.1)), (Some(13), Some(29)));
    }

    /// Linux: a sample takes longer than the RTT and longer than 50 ms.
    #[test]
    fn sample_windows() {
        for (rtt, window) in [(100, 101), (20, 51)] {
            let mut b = Bandwidth::new(Filter::OnePole, Duration::from_millis(50));
            b.on_sent(Time::ZERO);
            let ends = (1..300).find(|&ms| {
                let latest_rtt = Some(Duration::from_millis(rtt));
                b.on_ack(&Ack { now: Time::from_millis(ms), latest_rtt, ..acked(1000) });
                b.estimate().is_some()
            });
            assert_eq!(ends, Some(window));
            assert!((b.estimate().unwrap_or(0.0) - 1e6).abs() < 1.0);
        }
    }

    /// A sample in which the application had nothing to send does not count.
    #[test]
    fn app_limited_samples_are_skipped() {
        let mut b = Bandwidth::new(Filter::OnePole, Duration::from_millis(50));
        b.on_sent(Time::ZERO);
        let at = |ms, app_limited| Ack { now: Time::from_millis(ms), app_limited, ..acked(101_000) };
        b.on_ack(&at(101, false));
        b.on_ack(&at(150, true));
        b.on_ack(&at(700, false));
        let estimate = b.estimate();
        assert!(estimate.is_some_and(|bwe| (bwe - 1e6).abs() < 1.0));
        b.on_ack(&at(801, false));
        assert!(b.estimate().is_some_and(|bwe| (bwe - 1e6).abs() < 1.0), "the next one is whole again");
    }

    /// A controller on a pipe of 100 packets, after several rounds.
    fn filled(cwnd: u64) -> (WestwoodPlus, Time) {
        let mut cc = WestwoodPlus::new(Params::default(), path(MDS));
        cc.frame.window = avoiding(cwnd);
        let mut now = Time::ZERO;
        cc.rule.bandwidth.on_sent(now);
        for _ in 0..300 {
            now += Duration::from_millis(10);
            cc.on_ack(&Ack { now, growth: 0, latest_rtt: Some(RTT), ..acked(10 * MDS) });
        }
        (cc, now)
    }

    /// The event sets the window to the 100 packets of the pipe, whatever the queue, also if that
    /// is an increase.
    #[test]
    fn set_to_the_pipe() {
        for (before, after) in [(200, 100.0), (100, 100.0), (60, 100.0)] {
            let (mut cc, _) = filled(before * MDS);
            cc.on_congestion(&congestion(Cause::Loss, before * MDS));
            let packets = cc.control().cwnd as f64 / MDS as f64;
            assert!((packets - after).abs() < 0.01 * after, "{before} -> {packets}");
        }
    }

    /// Before the first sample: half of the window.
    #[test]
    fn half_without_a_sample() {
        let mut cc = WestwoodPlus::new(Params::default(), path(MDS));
        cc.on_congestion(&congestion(Cause::Loss, 0));
        assert_eq!(cc.control().cwnd, 5 * MDS);
    }

    /// Linux: after a timeout the next sample replaces RTTmin, even a larger one.
    #[test]
    fn timeout_forgets_rtt_min() {
        for (cause, cwnd) in [(Cause::Timeout, MDS), (Cause::PersistentCongestion, 2 * MDS)] {
            let (mut cc, now) = filled(100 * MDS);
            cc.on_congestion(&congestion(cause, 0));
            assert_eq!(cc.control().cwnd, cwnd);
            assert!(cc.control().in_slow_start(), "up to the pipe");
            for rtt in [150, 130, 140] {
                cc.on_ack(&Ack { now, latest_rtt: Some(Duration::from_millis(rtt)), ..acked(MDS) });
            }
            assert_eq!(cc.rule.rtt_min.value, Duration::from_millis(130));
        }
    }

    /// By hand: 10 MB/s and 99 ms are 990 000 bytes. A collapse leaves 2 000 of them, and the next
    /// loss restores them.
    #[test]
    fn back_up_after_a_collapse() {
        const MDS: u64 = 1000;
        let mut cc = WestwoodPlus::new(Params::default(), path(MDS));
        cc.frame.window = avoiding(2_000_000);
        cc.rule.bandwidth.on_sent(Time::ZERO);
        let rtt = Duration::from_millis(99);
        for ms in 1..=300 {
            let now = Time::from_millis(ms);
            cc.on_ack(&Ack { now, growth: 0, latest_rtt: Some(rtt), ..acked(10 * MDS) });
        }
        cc.on_congestion(&congestion(Cause::PersistentCongestion, 0));
        assert_eq!(cc.control().cwnd, 2000);
        cc.on_congestion(&congestion(Cause::Loss, 2000));
        assert_eq!((cc.frame.window.cwnd, cc.frame.window.ssthresh), (990_000, 990_000));
        assert!(!cc.control().in_slow_start());
    }

    /// Bytes that arrive after they were declared lost have been delivered.
    #[test]
    fn late_bytes_count() {
        let mut b = Bandwidth::new(Filter::OnePole, Duration::from_millis(50));
        b.on_sent(Time::ZERO);
        b.on_ack(&Ack { now: Time::from_millis(50), late: 60_000, latest_rtt: None, ..acked(0) });
        b.on_ack(&Ack { now: Time::from_millis(101), ..acked(41_000) });
        assert!(b.estimate().is_some_and(|bwe| (bwe - 1e6).abs() < 1.0), "{:?}", b.estimate());
    }

    #[test]
    fn spurious_event_is_undone() {
        for cause in [Cause::Loss, Cause::Timeout] {
            let (mut cc, _) = filled(200 * MDS);
            cc.on_congestion(&congestion(cause, 0));
            assert!(cc.control().cwnd < 101 * MDS);
            cc.on_spurious();
            assert_eq!((cc.frame.window.cwnd, cc.frame.window.ssthresh), (200 * MDS, 200 * MDS));
        }
    }
}
