//! TCP Vegas: Brakmo and Peterson, IEEE JSAC 13(8), October 1995, with the rules of Linux
//! tcp_vegas.c (commit 09c434b8).
//!
//! ```text
//! baseRTT = smallest RTT since the start or the last idle time         seconds
//! rtt     = smallest RTT of the round trip that ends                   seconds
//! diff    = floor(cwnd (rtt - baseRTT) / baseRTT)                      packets that the flow keeps queued
//! target  = floor(cwnd baseRTT / rtt)                                  packets: actual rate * baseRTT
//!
//! once per round trip with more than 2 samples:
//!   slow start            diff > gamma:  cwnd = min(cwnd, target + 1), ssthresh = min(ssthresh, cwnd)
//!   congestion avoidance  diff > beta:   cwnd -= 1, ssthresh = min(ssthresh, cwnd)
//!                         diff < alpha:  cwnd += 1
//!   then                  cwnd >= 2;  ssthresh = max(ssthresh, 3/4 cwnd)
//! otherwise a round trip of Reno. Other ACKs: slow start grows as in Reno, congestion avoidance does nothing.
//!
//! loss, mark, timeout   Reno (see `tcp_reno`: half of cwnd, whole packets); Reno alone until recovery ends,
//!                       then a new round trip, baseRTT is kept; undone as in Reno if it was spurious
//! idle                  all measurements are reset, including baseRTT; the window as in Reno
//! ```
//!
//! RTTs include the ACK delay, as in Linux, which knows no other RTT. An ACK without delay in each
//! round is enough for the smallest RTTs. Deviations: the original doubles the window every second
//! round trip, this code (as Linux) every round trip. Linux suspends Vegas at the first duplicate
//! ACK, this code when the sender opens a recovery period. Linux's Vegas adds a packet even if the
//! window was not used; here the sender must allow the growth. RTTs are not rounded up to the next
//! microsecond. Products have 128 bits. The sender paces, Linux does not (`paced = by-rate`).

use crate::algorithms::reno::{tcp_reno, tcp_reno::Halve, tcp_reno::TcpReno, window};
use crate::components::count::Count;
use crate::components::delegate::delegate;
use crate::{Ack, Cause, Congestion, Control, Controller, Idle, PathInfo, Range, Sent, params};
use units::Duration;

params! {
    /// Number of queued packets below which the window grows. Linux tcp_vegas.c; 1 in the paper.
    alpha: u64 = 2 => Range::from(0.0),
    /// Number of queued packets above which the window shrinks. Linux tcp_vegas.c; 3 in the paper.
    beta: u64 = 4 => Range::from(0.0),
    /// Number of queued packets above which slow start ends. Linux tcp_vegas.c.
    gamma: u64 = 1 => Range::from(0.0),
    /// Number of RTT samples per round trip up to which Reno is used, because Vegas needs more.
    /// Linux tcp_vegas.c.
    few_samples: u64 = 2 => Range::from(0.0),
    /// Smallest window, packets. Linux tcp_vegas.c.
    min_window: u64 = 2 => Range::PACKETS,
    /// Smallest ssthresh after a round trip of Vegas, as a share of the window, 0..1. Linux
    /// tcp_current_ssthresh.
    ssthresh_floor: f64 = 0.75 => Range::PART,
    /// Whether to reset baseRTT when sending again with nothing in flight. Linux
    /// tcp_vegas_cwnd_event.
    idle_restart: bool = true,
    /// Initial window, packets. RFC 6928 section 2.
    initial_window: u64 = 10 => Range::PACKETS,
    /// Factor by which the window is multiplied after a loss or a mark, 0..1. RFC 5681 equation 4.
    reduction: f64 = 0.5 => Range::SHARE,
    /// Quantity that grows the window in Reno's steps: `packets` acknowledged (Linux), `bytes`,
    #[doc = crate::components::count::others!()]
    count: Count = Count::Packets,
    /// L, largest growth per ACK in slow start, packets, or `"off"`. RFC 3465 section 2.2 has 2;
    /// Linux none.
    #[serde(with = "units::or_off")]
    abc_limit: Option<u64> = None => Range::COUNT,
}

crate::variables! {
    with window::VARIABLES;
    /// Smallest RTT since the start or the last idle time, baseRTT, from the first sample on. Linux
    /// tcp_vegas.c.
    base_rtt: "s"; later,
}

/// The controller. Windows are in bytes, always whole packets.
#[derive(Clone, Debug)]
pub struct Vegas {
    params: Params,
    mds: u64,
    reno: TcpReno,
    /// Whether Vegas is active: Linux's `doing_vegas_now`.
    doing_vegas: bool,
    base_rtt: Duration,
    /// Smallest RTT and number of samples of this round trip.
    min_rtt: Duration,
    samples: u64,
    /// Packet number whose acknowledgement ends the round trip.
    round_end: u64,
    next_pn: u64,
}

impl Vegas {
    /// Creates a controller in slow start.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let abc_limit = params.abc_limit.unwrap_or(u64::MAX);
        let reno = tcp_reno::Params {
            initial_window: params.initial_window,
            beta: params.reduction,
            min_window: params.min_window,
            halve: Halve::Cwnd,
            count: params.count,
            abc_limit,
            abc_limit_after_timeout: abc_limit,
            ..tcp_reno::Params::default()
        };
        Self {
            params,
            mds: path.max_datagram_size.max(1),
            reno: TcpReno::new(reno, path),
            doing_vegas: true,
            base_rtt: Duration::MAX,
            min_rtt: Duration::MAX,
            samples: 0,
            round_end: 0,
            next_pn: 0,
        }
    }

    /// Linux `vegas_enable`: measurements restart with the next packet.
    fn enable(&mut self) {
        self.doing_vegas = true;
        self.round_end = self.next_pn;
        self.forget_round();
    }

    fn forget_round(&mut self) {
        (self.min_rtt, self.samples) = (Duration::MAX, 0);
    }

    fn sample(&mut self, rtt: Duration) {
        self.base_rtt = self.base_rtt.min(rtt);
        self.min_rtt = self.min_rtt.min(rtt);
        self.samples += 1;
    }

    /// Returns (diff, target), in packets.
    fn queued(&self) -> (u64, u64) {
        let packets = u128::from(self.reno.frame.window.cwnd / self.mds);
        let (base, rtt) = (u128::from(self.base_rtt.0.max(1)), u128::from(self.min_rtt.0.max(1)));
        let whole = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
        (whole(packets * rtt.saturating_sub(base) / base), whole(packets * base / rtt))
    }

    /// Adjusts the window at the end of a round trip with enough samples.
    fn adjust(&mut self, ack: &Ack) {
        let Params { alpha, beta, gamma, min_window, ssthresh_floor, .. } = self.params;
        let (diff, target) = self.queued();
        let mds = self.mds;
        if self.in_slow_start() {
            if diff <= gamma {
                return self.reno_step(ack);
            }
            let w = &mut self.reno.frame.window;
            w.cwnd = w.cwnd.min(target.saturating_add(1).saturating_mul(mds));
            w.ssthresh = w.ssthresh.min(w.cwnd);
        } else if diff > beta {
            let w = &mut self.reno.frame.window;
            w.cwnd = w.cwnd.saturating_sub(mds);
            w.ssthresh = w.ssthresh.min(w.cwnd);
        } else if diff < alpha && ack.growth > 0 {
            self.reno.frame.window.cwnd += mds;
        }
        let w = &mut self.reno.frame.window;
        w.cwnd = w.cwnd.max(min_window * mds);
        w.ssthresh = w.ssthresh.max((w.cwnd as f64 * ssthresh_floor) as u64);
        // Reno processes each ACK, also those that must not grow its window.
        self.rest(ack);
    }

    fn in_slow_start(&self) -> bool {
        self.reno.frame.window.in_slow_start()
    }

    fn reno_step(&mut self, ack: &Ack) {
        self.reno.on_ack(ack);
    }

    fn rest(&mut self, ack: &Ack) {
        self.reno.on_ack(&Ack { growth: 0, packets: &[], ..*ack });
    }

    /// Processes an ACK as Reno does. Vegas measures anew with the next ACK that it gets.
    pub(super) fn on_ack_as_reno(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.latest_rtt {
            self.sample(rtt);
        }
        self.doing_vegas = false;
        self.reno_step(ack);
    }

    fn congestion_avoidance(&mut self, ack: &Ack) {
        let round_ends = ack.packets.last().is_some_and(|p| p.pn >= self.round_end);
        if round_ends {
            self.round_end = self.next_pn;
            if self.samples > self.params.few_samples {
                self.adjust(ack);
            } else {
                self.reno_step(ack);
            }
            self.forget_round();
        } else if self.in_slow_start() {
            self.reno_step(ack);
        } else {
            self.rest(ack);
        }
    }
}

impl Controller for Vegas {
    // `on_sent` handles the measurements of an idle time.
    delegate! { reno: on_spurious(), on_idle(idle: &Idle) }

    fn on_sent(&mut self, sent: &Sent) {
        self.reno.on_sent(sent);
        let idle = sent.bytes_in_flight <= sent.bytes;
        if idle && self.params.idle_restart {
            self.next_pn = sent.pn;
            self.base_rtt = Duration::MAX;
            self.enable();
        }
        self.next_pn = sent.pn + 1;
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        if let Some(rtt) = ack.latest_rtt {
            self.sample(rtt);
        }
        if ack.in_recovery {
            self.doing_vegas = false;
            self.reno_step(ack);
        } else if !self.doing_vegas {
            // Recovery has just ended.
            self.enable();
            self.reno_step(ack);
        } else {
            self.congestion_avoidance(ack);
        }
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.doing_vegas = false;
        self.reno.on_congestion(event);
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.mds = path.max_datagram_size.max(1);
        self.reno.on_path_change(path);
    }

    fn control(&self) -> Control {
        self.reno.control()
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.reno.trace(put);
        if self.base_rtt != Duration::MAX {
            put("base_rtt", self.base_rtt.as_secs_f64());
        }
    }
}

#[cfg(test)]
impl Vegas {
    /// Ends slow start with a window, in bytes.
    pub(super) fn avoid(&mut self, cwnd: u64) {
        self.reno.frame.window = window::tests::avoiding(cwnd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AckedPacket;
    use crate::algorithms::reno::window::tests::avoiding as window;
    use crate::testing::closed_loop::{Flow, Loop};
    use crate::testing::fixtures::MDS;
    use crate::testing::fixtures::{acked, congestion, path};
    use units::Rate;
    use units::Time;

    /// One packet per millisecond.
    const LINK: Rate = Rate(8_000_000);

    const MS: Duration = Duration::from_millis(1);

    /// A controller in congestion avoidance with `packets` packets. The next ACK of packet 10 ends
    /// a round trip.
    fn avoiding(packets: u64) -> Vegas {
        let mut cc = Vegas::new(Params::default(), path(MDS));
        cc.reno.frame.window = window(packets * MDS);
        sent(&mut cc, 9, 2);
        cc.round_end = 10;
        cc
    }

    fn sent(cc: &mut Vegas, pn: u64, in_flight: u64) {
        let bytes_in_flight = in_flight * MDS;
        cc.on_sent(&Sent { now: Time::ZERO, pn, bytes: MDS, bytes_in_flight, app_limited: false });
    }

    fn ack(cc: &mut Vegas, pn: u64, rtt: Duration) {
        let packet =
            AckedPacket { pn, bytes: MDS, sent: Time::ZERO, received: None, before_reduction: false };
        cc.on_ack(&Ack { packets: &[packet], latest_rtt: Some(rtt), ..acked(MDS) });
    }

    /// Plays a round trip of 4 samples whose smallest is `rtt`, with a base of 100 ms.
    fn round(cc: &mut Vegas, rtt: Duration) {
        cc.base_rtt = MS * 100;
        (6..9).for_each(|pn| ack(cc, pn, rtt + MS * pn));
        ack(cc, 10, rtt);
    }

    fn packets(cc: &Vegas) -> u64 {
        cc.control().cwnd / MDS
    }

    /// diff = 100 (rtt - 100 ms) / 100 ms: grows below 2, stays at 2 to 4, shrinks above 4, in
    /// whole packets.
    #[test]
    fn once_per_round_trip() {
        for (tenths, expected) in
            [(1000, 101), (1019, 101), (1020, 100), (1040, 100), (1049, 100), (1050, 99), (2000, 99)]
        {
            let mut cc = avoiding(100);
            round(&mut cc, Duration::from_micros(100 * tenths));
            assert_eq!(packets(&cc), expected, "{tenths} tenths of a millisecond");
        }
    }

    /// Other ACKs change nothing in congestion avoidance. A round trip of two samples is Reno's.
    #[test]
    fn between_and_without_samples() {
        let mut cc = avoiding(100);
        (0..9).for_each(|pn| ack(&mut cc, pn, MS * 100));
        assert_eq!((packets(&cc), cc.reno.frame.window.memory.bytes_acked), (100, 0));
        let mut cc = avoiding(100);
        ack(&mut cc, 9, MS * 100);
        ack(&mut cc, 10, MS * 200);
        assert_eq!((packets(&cc), cc.reno.frame.window.memory.bytes_acked), (100, MDS));
    }

    /// Slow start ends when more than gamma packets are queued, at the measured rate.
    #[test]
    fn slow_start() {
        for (ms, expected, slow) in [(100, 104, true), (101, 104, true), (102, 99, false), (125, 81, false)] {
            let mut cc = avoiding(100);
            cc.reno.frame.window.ssthresh = u64::MAX;
            round(&mut cc, MS * ms);
            // Three packets were acknowledged before the round trip ended: 103 at the decision.
            assert_eq!(
                (packets(&cc), cc.control().in_slow_start()),
                (expected + if slow { 0 } else { 2 }, slow),
                "{ms}"
            );
        }
    }

    /// Half after a loss, Reno during recovery, then a new round trip with the old baseRTT.
    #[test]
    fn reno_outside() {
        let mut cc = avoiding(100);
        round(&mut cc, MS * 103);
        cc.on_congestion(&congestion(Cause::Loss, 0));
        assert_eq!(packets(&cc), 50);
        let recovering = Ack { growth: 0, in_recovery: true, ..acked(MDS) };
        cc.on_ack(&recovering);
        assert!(!cc.doing_vegas);
        sent(&mut cc, 20, 50);
        ack(&mut cc, 20, MS * 110);
        assert!(cc.doing_vegas);
        assert_eq!((cc.round_end, cc.samples, cc.base_rtt), (21, 0, MS * 100));
        cc.on_congestion(&congestion(Cause::Timeout, 0));
        assert_eq!(packets(&cc), 1);
    }

    /// After an idle time it measures again.
    #[test]
    fn idle_forgets() {
        let mut cc = avoiding(100);
        round(&mut cc, MS * 103);
        sent(&mut cc, 30, 2);
        assert_eq!(cc.base_rtt, MS * 100);
        sent(&mut cc, 31, 1);
        assert_eq!((cc.base_rtt, cc.round_end), (Duration::MAX, 31));
    }

    /// Never below the smallest window, and no growth of an unused window.
    #[test]
    fn limits() {
        let mut cc = avoiding(2);
        round(&mut cc, MS * 900);
        assert_eq!(packets(&cc), 2);
        let mut cc = avoiding(100);
        let packet =
            AckedPacket { pn: 10, bytes: MDS, sent: Time::ZERO, received: None, before_reduction: false };
        cc.samples = 3;
        cc.on_ack(&Ack { packets: &[packet], growth: 0, ..acked(MDS) });
        assert_eq!(packets(&cc), 100);
    }

    /// The equilibrium: each flow keeps alpha to beta packets queued in addition to the 100 packets
    /// that fill the pipe. The upper limit is beta + 1, because diff is rounded down. The second
    /// flow starts while the queue is empty.
    #[test]
    fn equilibrium() {
        let flow = |i| {
            Flow::new(Box::new(Vegas::new(Params::default(), path(MDS))), MS * 99, Time::from_millis(50 * i))
        };
        for flows in [1, 2] {
            let mut link = Loop::new((0..flows).map(flow).collect(), MDS, LINK);
            link.run_to(Time::from_millis(60_000));
            assert!(link.flows.iter().all(|f| f.cc.base_rtt == MS * 100));
            let windows: u64 = link.flows.iter().map(|f| packets(&f.cc)).sum();
            assert!((100 + 2 * flows..100 + 5 * flows).contains(&windows), "{flows}: {windows}");
        }
    }
}
