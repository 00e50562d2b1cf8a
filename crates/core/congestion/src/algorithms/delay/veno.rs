//! TCP Veno: Fu and Liew, IEEE JSAC 21(2), February 2003, with the rules of Linux tcp_veno.c
//! (commit b930a81d of kernel-patches/bpf).
//!
//! ```text
//! BaseRTT = smallest RTT since the start or the last idle time             seconds
//! RTT     = smallest RTT since the last ACK that allowed growth            seconds
//! N       = cwnd (RTT - BaseRTT) / RTT                                     packets that the flow keeps queued
//!           rounded up to half a packet
//!
//! slow start                         Reno
//! congestion avoidance   N < beta:   cwnd += 1 per cwnd packets acknowledged
//!                        N >= beta:  cwnd += 1 per 2 (cwnd + 1) packets acknowledged
//! loss, mark             N < beta:   ssthresh = cwnd = floor(4/5 cwnd)     a random loss
//!                        N >= beta:  ssthresh = cwnd = floor(cwnd / 2)     a loss by congestion
//! timeout                            ssthresh likewise, cwnd = 1
//! ```
//!
//! The first two samples of the RTT are not used: growth is that of Reno, and N is 0. The growth
//! per `2 (cwnd + 1)` packets is Linux's. The paper grows by 1 / cwnd at every other ACK, which is
//! one packet per 2 cwnd.
//!
//! The paper could not be read. Its equations are those in the header of ns-3's TcpVeno (commit
//! 6ef966c4), which cites it: N = Actual (RTT - BaseRTT), Actual = cwnd / RTT, beta = 3. They agree
//! with Linux.
//!
//! Deviations: slow start does not stop at ssthresh within an ACK. RTTs are not rounded up to the
//! next microsecond. An ACK without a sample keeps N, where Linux takes an infinite RTT. So does
//! the ACK that ends recovery. Persistent congestion, which TCP lacks, follows RFC 9002 section
//! 7.6.2.

use crate::algorithms::reno::window::{self, Growth, Progress, Reno};
use crate::components::window_rule::{Options, WindowController, WindowRule, options, window_params};
use crate::{Ack, Congestion, Range, Sent};
use units::Duration;

window_params! {
    initial_window = Some(10), count = Packets;
    /// beta, number of queued packets from which the path is congested. Linux tcp_veno.c.
    beta: f64 = 3.0 => Range::from(0.0),
    /// Factor by which the window is multiplied after a random loss, 0..1. Linux tcp_veno.c.
    random_loss: f64 = 0.8 => Range::SHARE,
    /// Factor by which the window is multiplied after a loss by congestion, 0..1. Linux tcp_veno.c.
    congestive_loss: f64 = 0.5 => Range::SHARE,
    /// Number of RTT samples that are not used. Linux tcp_veno.c.
    few_samples: u64 = 2 => Range::from(0.0),
    /// Whether to reset BaseRTT when sending again with nothing in flight. Linux
    /// tcp_veno_cwnd_event.
    idle_restart: bool = true,
}

crate::variables! {
    with window::VARIABLES;
    /// Smallest RTT since the start or the last idle time, BaseRTT, from the first sample on. Linux
    /// tcp_veno.c.
    base_rtt: "s"; later,
    /// Number of packets that the flow keeps queued, N, from its first value on. Linux tcp_veno.c.
    backlog: "packets"; later,
}

/// The controller. Windows are in bytes, whole packets after each reduction.
pub type VenoController = WindowController<Veno>;

/// The rule, with its measurements.
#[derive(Clone, Debug)]
pub struct Veno {
    params: Params,
    base_rtt: Duration,
    min_rtt: Duration,
    samples: u64,
    /// Number of queued packets, N, in half packets.
    halves: Option<u64>,
    /// Whether the next window acknowledged on a congested path adds a packet.
    grows_next: bool,
}

impl From<Params> for Veno {
    fn from(params: Params) -> Self {
        Self {
            params,
            base_rtt: Duration::MAX,
            min_rtt: Duration::MAX,
            samples: 0,
            halves: None,
            grows_next: true,
        }
    }
}

impl Veno {
    fn sample(&mut self, rtt: Duration) {
        self.base_rtt = self.base_rtt.min(rtt);
        self.min_rtt = self.min_rtt.min(rtt);
        self.samples += 1;
    }

    /// Returns N in half packets: 2 cwnd - floor(2 cwnd BaseRTT / RTT).
    fn backlog(&self, packets: u64) -> u64 {
        let (base, rtt) = (u128::from(self.base_rtt.0), u128::from(self.min_rtt.0.max(1)));
        let window = u128::from(2 * packets);
        u64::try_from(window - window * base.min(rtt) / rtt).unwrap_or(u64::MAX)
    }

    fn congested(&self) -> bool {
        self.halves.is_some_and(|halves| halves as f64 >= 2.0 * self.params.beta)
    }

    /// Adds a packet every second time that a window has been acknowledged.
    fn grow_slowly(&mut self, reno: &mut Reno, ack: &Ack) {
        let (counted, mds) = (reno.counting.in_avoidance(ack), reno.mds());
        let window = &mut reno.window;
        if counted == 0 {
            return;
        }
        if window.memory.bytes_acked < window.cwnd {
            window.memory.bytes_acked += counted;
        } else {
            window.memory.bytes_acked = 0;
            window.cwnd += if self.grows_next { mds } else { 0 };
            self.grows_next = !self.grows_next;
        }
    }
}

impl WindowRule for Veno {
    type Unit = u64;
    type Memory = Progress;

    fn begin(&self) -> (Options, Progress) {
        (options!(self.params), Progress::default())
    }

    fn on_sent(&mut self, _: &mut Reno, sent: &Sent) {
        if self.params.idle_restart && sent.bytes_in_flight <= sent.bytes {
            (self.base_rtt, self.min_rtt, self.grows_next) = (Duration::MAX, Duration::MAX, true);
        }
    }

    fn on_ack(&mut self, reno: &mut Reno, ack: &Ack) {
        if let Some(rtt) = ack.latest_rtt {
            self.sample(rtt);
        }
        if ack.in_recovery {
            self.min_rtt = Duration::MAX;
        } else if ack.growth > 0 {
            if self.samples > self.params.few_samples && self.min_rtt != Duration::MAX {
                self.halves = Some(self.backlog(reno.window.cwnd / reno.mds()));
            }
            self.min_rtt = Duration::MAX;
        }
    }

    fn grow(&mut self, reno: &mut Reno, ack: &Ack) {
        if self.congested() && self.samples > self.params.few_samples {
            self.grow_slowly(reno, ack);
        } else {
            reno.grow(ack, Growth::Window);
        }
    }

    fn reduce(&mut self, reno: &mut Reno, _: &Congestion) -> u64 {
        let Params { random_loss, congestive_loss, .. } = self.params;
        let kept = if self.congested() { congestive_loss } else { random_loss };
        let packets = (reno.window.cwnd / reno.mds()) as f64;
        ((packets * kept) as u64 * reno.mds()).max(reno.min_window())
    }

    /// Reports `base_rtt` in seconds, `backlog` in packets.
    fn trace(&self, _: &Reno, put: &mut dyn FnMut(&'static str, f64)) {
        if self.base_rtt != Duration::MAX {
            put("base_rtt", self.base_rtt.as_secs_f64());
        }
        if let Some(halves) = self.halves {
            put("backlog", halves as f64 / 2.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::reno::window::tests::avoiding;
    use crate::testing::fixtures::{MDS, acked, congestion, path};
    use crate::{Cause, Controller};
    use units::Time;

    fn started() -> VenoController {
        VenoController::new(Params::default(), path(MDS))
    }

    /// A controller in congestion avoidance with this window, after three samples of 100 ms.
    fn measured(packets: u64) -> VenoController {
        let mut cc = started();
        (0..3).for_each(|_| ack(&mut cc, 100_000, false));
        (cc.frame.window, cc.rule.min_rtt) = (avoiding(packets * MDS), Duration::MAX);
        cc
    }

    /// Acknowledges a packet with an RTT in microseconds.
    fn ack(cc: &mut VenoController, us: u64, grows: bool) {
        let (latest_rtt, growth) = (Some(Duration::from_micros(us)), if grows { MDS } else { 0 });
        cc.on_ack(&Ack { latest_rtt, growth, ..acked(MDS) });
    }

    fn packets(cc: &VenoController) -> u64 {
        cc.control().cwnd / MDS
    }

    /// N = cwnd (RTT - BaseRTT) / RTT, rounded up to half a packet.
    #[test]
    fn equation() {
        for (window, us, halves) in
            [(100, 100_000, 0), (100, 103_000, 6), (100, 102_000, 4), (50, 200_000, 50), (7, 101_000, 1)]
        {
            let mut cc = measured(window);
            ack(&mut cc, us, true);
            let exact = window as f64 * (us as f64 - 1e5) / us as f64;
            assert_eq!(cc.rule.halves, Some(halves), "{window} {us}");
            assert!((0.0..0.5).contains(&(halves as f64 / 2.0 - exact)), "{window} {us}: {exact}");
        }
    }

    /// A packet per window below beta, a packet per two windows and two packets from beta on.
    #[test]
    fn growth() {
        for (us, needed) in [(100_000, 50), (105_000, 50), (106_500, 51), (200_000, 51)] {
            let mut cc = measured(50);
            (1..needed).for_each(|_| ack(&mut cc, us, true));
            assert_eq!(packets(&cc), 50, "{us}");
            ack(&mut cc, us, true);
            assert_eq!(packets(&cc), 51, "{us}");
        }
        let mut cc = measured(50);
        (0..51 + 52).for_each(|_| ack(&mut cc, 200_000, true));
        assert_eq!(packets(&cc), 51, "the second window adds nothing");
        (0..52).for_each(|_| ack(&mut cc, 200_000, true));
        assert_eq!(packets(&cc), 52);
    }

    /// Four fifths after a random loss, half after one by congestion, and at least two packets.
    #[test]
    fn reductions() {
        for (window, us, left) in
            [(100, 100_000, 80), (100, 103_000, 50), (99, 103_500, 49), (9, 100_000, 7), (3, 900_000, 2)]
        {
            for cause in [Cause::Loss, Cause::Ecn] {
                let mut cc = measured(window);
                // The window after the ACK is the one before it.
                ack(&mut cc, us, true);
                cc.on_congestion(&congestion(cause, 0));
                assert_eq!(packets(&cc), left, "{window} {us}");
                assert_eq!(cc.frame.window.ssthresh, left * MDS);
            }
        }
    }

    /// An unused window and a recovery leave N. An idle time resets BaseRTT.
    #[test]
    fn measurements() {
        let mut cc = measured(100);
        ack(&mut cc, 200_000, true);
        ack(&mut cc, 100_000, false);
        assert_eq!(cc.rule.halves, Some(100));
        // The smallest RTT since the last ACK that allowed growth decides.
        ack(&mut cc, 200_000, true);
        assert_eq!(cc.rule.halves, Some(0));
        let recovering = Ack { in_recovery: true, growth: 0, ..acked(MDS) };
        cc.on_ack(&recovering);
        ack(&mut cc, 200_000, true);
        assert_eq!(cc.rule.halves, Some(100));
        let sent = |bytes_in_flight| Sent {
            now: Time::ZERO,
            pn: 9,
            bytes: MDS,
            bytes_in_flight,
            app_limited: false,
        };
        cc.on_sent(&sent(2 * MDS));
        assert_eq!(cc.rule.base_rtt, Duration::from_millis(100));
        cc.on_sent(&sent(MDS));
        assert_eq!(cc.rule.base_rtt, Duration::MAX);
    }

    /// RTT in microseconds and whether a packet is lost, round trip by round trip.
    const ROUNDS: [(u64, bool); 36] = [
        (100_000, false),
        (100_000, false),
        (120_000, false),
        (160_000, true),
        (100_050, false),
        (101_050, false),
        (102_050, false),
        (103_050, false),
        (108_050, false),
        (109_050, false),
        (110_050, false),
        (112_050, false),
        (114_050, false),
        (116_050, false),
        (118_050, true),
        (100_050, false),
        (100_550, false),
        (101_550, true),
        (100_050, false),
        (100_050, true),
        (99_050, false),
        (99_550, false),
        (150_050, false),
        (151_050, false),
        (152_050, false),
        (153_050, false),
        (99_050, false),
        (99_050, false),
        (130_050, false),
        (130_050, false),
        (130_050, true),
        (130_050, true),
        (130_050, false),
        (99_050, true),
        (99_050, false),
        (99_050, false),
    ];

    /// Linux's rules on a fixed sequence of RTTs and losses: window and N in half packets after
    /// each round trip. `vectors/veno.py`.
    #[test]
    fn as_linux() {
        let mut cc = started();
        for (i, ((us, lost), expected)) in ROUNDS.into_iter().zip(LINUX).enumerate() {
            let acks = packets(&cc);
            if lost {
                cc.on_congestion(&congestion(Cause::Loss, 0));
            }
            for _ in 0..acks {
                let (latest_rtt, growth) = (Some(Duration::from_micros(us)), if lost { 0 } else { MDS });
                cc.on_ack(&Ack { latest_rtt, growth, in_recovery: lost, ..acked(MDS) });
            }
            assert_eq!((packets(&cc), cc.rule.halves.unwrap_or(0)), expected, "round {i}");
        }
    }

    /// Output of `vectors/veno.py`.
    const LINUX: [(u64, u64); 36] = [
        (20, 0),
        (40, 0),
        (80, 27),
        (40, 27),
        (41, 1),
        (42, 1),
        (43, 2),
        (44, 3),
        (44, 7),
        (45, 8),
        (45, 9),
        (46, 10),
        (46, 12),
        (47, 14),
        (23, 14),
        (24, 1),
        (25, 1),
        (20, 1),
        (21, 1),
        (16, 1),
        (17, 0),
        (18, 1),
        (18, 13),
        (18, 13),
        (19, 14),
        (19, 14),
        (20, 0),
        (21, 0),
        (22, 11),
        (22, 11),
        (11, 11),
        (5, 11),
        (6, 3),
        (4, 3),
        (5, 0),
        (6, 0),
    ];
}
