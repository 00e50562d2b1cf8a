//! YeAH-TCP: Baiocchi, Castellani and Vacirca, PFLDnet (February 2007), with the rules of Linux
//! tcp_yeah.c (commit 656a52a8 of raspberrypi/linux).
//!
//! ```text
//! baseRTT = smallest RTT since the start or the last idle time             seconds
//! rtt     = smallest RTT of the round trip that ends                       seconds
//! queue   = floor(cwnd (rtt - baseRTT) / rtt)                              packets that the flow keeps queued
//!
//! fast mode     cwnd += 1 per min(cwnd, 100) packets acknowledged          Scalable TCP
//! slow mode     cwnd += 1 per cwnd packets acknowledged                    Reno; `slow` counts its round trips
//!
//! once per round trip with more than 2 samples, also in slow start, after the growth:
//!   queue > alpha, or rtt - baseRTT > baseRTT / phi:
//!     queue > alpha and cwnd > reno_count:  cwnd = max(cwnd - min(queue / gamma, cwnd / 2^epsilon), reno_count),
//!                                           ssthresh = cwnd                                    decongestion
//!     reno_count <= 2:  reno_count = max(cwnd / 2, 2);  else reno_count += 1
//!     slow += 1
//!   otherwise
//!     fast_count += 1;  if it exceeds zeta: reno_count = 2, fast_count = 0
//!     slow = 0
//!
//! loss, mark    slow < rho:  cwnd -= max(min(queue, max(cwnd / 2, 2)), cwnd / 2^delta)
//!               otherwise    cwnd -= max(cwnd / 2, 2)
//!               ssthresh = cwnd, at least 2;  fast_count = 0;  reno_count = max(reno_count / 2, 2)
//! timeout       ssthresh likewise, cwnd = 1
//! recovery      when it ends, a new round trip begins; baseRTT is kept
//! idle          baseRTT is forgotten
//! ```
//!
//! All divisions round down. `reno_count` estimates the window of a Reno flow on the same path.
//!
//! The paper could not be read. One of its authors wrote the code of Linux, which decides here.
//!
//! Deviations: slow start does not stop at ssthresh within an ACK. Linux measures nothing while the
//! window is not full; here the sender must allow the growth. RTTs are not rounded up to the next
//! microsecond. Persistent congestion, which TCP lacks, follows RFC 9002 section 7.6.2.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::algorithms::reno::window::{self, Growth, Progress, Reno};
use crate::components::window_rule::{Options, WindowController, WindowRule, options};
use crate::{Ack, Congestion, STATE, Sent};
use units::Duration;

crate::states! {
    /// Growth in congestion avoidance.
    enum Mode {
        Fast = "fast",
        Slow = "slow",
    }
}

/// Names of the states, indexed by state number.
pub const STATES: &[&str] = Mode::NAMES;

crate::variables! {
    with window::VARIABLES;
    /// Smallest RTT since the start or the last idle time, baseRTT, from the first sample on. Linux
    /// tcp_yeah.c.
    base_rtt: "s"; later,
    /// Number of packets that the flow kept queued in the last round trip, lastQ, from its end on.
    /// Linux tcp_yeah.c.
    queue: "packets"; later,
    /// Estimate of the window of a Reno flow. Linux tcp_yeah.c.
    reno_count: "packets",
}

/// The controller. Windows are in bytes, whole packets after each reduction.
pub type YeahController = WindowController<Yeah>;

/// The rule, with its measurements.
#[derive(Clone, Debug)]
pub struct Yeah {
    params: Params,
    base_rtt: Duration,
    /// Smallest RTT and number of samples of this round trip.
    min_rtt: Duration,
    samples: u64,
    /// Packet number whose acknowledgement ends the round trip.
    round_end: u64,
    next_pn: u64,
    recovering: bool,
    queue: Option<u64>,
    /// Round trips in slow mode: Linux's `doing_reno_now`.
    slow: u64,
    reno_count: u64,
    fast_count: u64,
}

impl From<Params> for Yeah {
    fn from(params: Params) -> Self {
        Self {
            params,
            base_rtt: Duration::MAX,
            min_rtt: Duration::MAX,
            samples: 0,
            round_end: 0,
            next_pn: 0,
            recovering: false,
            queue: None,
            slow: 0,
            reno_count: 2,
            fast_count: 0,
        }
    }
}

impl Yeah {
    fn sample(&mut self, rtt: Duration) {
        self.base_rtt = self.base_rtt.min(rtt);
        self.min_rtt = self.min_rtt.min(rtt);
        self.samples += 1;
    }

    /// Begins a round trip with the next packet.
    fn new_round(&mut self) {
        (self.round_end, self.min_rtt, self.samples) = (self.next_pn, Duration::MAX, 0);
    }

    /// Decides at the end of a round trip, after the window has grown.
    fn decide(&mut self, reno: &mut Reno, ack: &Ack) {
        let ends = ack.packets.last().is_some_and(|packet| packet.pn >= self.round_end);
        if ack.growth == 0 || ack.in_recovery || !ends {
            return;
        }
        if self.samples > self.params.few_samples {
            self.measure(reno);
        }
        self.new_round();
    }

    fn measure(&mut self, reno: &mut Reno) {
        let packets = reno.window.cwnd / reno.mds();
        let delay = self.min_rtt.saturating_sub(self.base_rtt);
        let queue = u128::from(packets) * u128::from(delay.0) / u128::from(self.min_rtt.0.max(1));
        let queue = u64::try_from(queue).unwrap_or(u64::MAX);
        if queue > self.params.alpha || delay > self.base_rtt / self.params.phi {
            self.congested(reno, queue);
        } else {
            self.uncongested();
        }
        self.queue = Some(queue);
    }

    fn congested(&mut self, reno: &mut Reno, queue: u64) {
        let Params { alpha, gamma, epsilon, .. } = self.params;
        let mds = reno.mds();
        let packets = reno.window.cwnd / mds;
        let mut left = packets;
        if queue > alpha && packets > self.reno_count {
            left = (packets - (queue / gamma).min(packets >> epsilon)).max(self.reno_count);
            reno.window.cwnd = (left * mds).max(reno.min_window()).min(reno.window.cwnd);
            reno.window.ssthresh = reno.window.cwnd;
        }
        self.reno_count = if self.reno_count <= 2 { (left / 2).max(2) } else { self.reno_count + 1 };
        self.slow += 1;
    }

    fn uncongested(&mut self) {
        self.fast_count += 1;
        if self.fast_count > self.params.zeta {
            (self.reno_count, self.fast_count) = (2, 0);
        }
        self.slow = 0;
    }

    /// Grows by a packet per `per` bytes.
    fn grow_fast(reno: &mut Reno, ack: &Ack, per: u64) {
        let (counted, mds) = (reno.counting.in_avoidance(ack), reno.mds());
        let bytes_acked = &mut reno.window.memory.bytes_acked;
        *bytes_acked += counted;
        if counted > 0 && *bytes_acked >= per {
            reno.window.cwnd += *bytes_acked / per * mds;
            *bytes_acked %= per;
        }
    }

    /// Returns the packets that a loss takes. Linux tcp_yeah_ssthresh.
    fn taken(&self, packets: u64) -> u64 {
        let half = (packets / 2).max(2);
        if self.slow >= self.params.rho {
            return half;
        }
        self.queue.unwrap_or(0).min(half).max(packets >> self.params.delta)
    }
}

impl WindowRule for Yeah {
    type Unit = u64;
    type Memory = Progress;

    fn begin(&self) -> (Options, Progress) {
        (options!(self.params), Progress::default())
    }

    fn on_sent(&mut self, _: &mut Reno, sent: &Sent) {
        if self.params.idle_restart && sent.bytes_in_flight <= sent.bytes {
            (self.base_rtt, self.next_pn) = (Duration::MAX, sent.pn);
            self.new_round();
        }
        self.next_pn = sent.pn + 1;
    }

    fn on_ack(&mut self, _: &mut Reno, ack: &Ack) {
        if let Some(rtt) = ack.latest_rtt {
            self.sample(rtt);
        }
        if self.recovering && !ack.in_recovery {
            self.new_round();
        }
        self.recovering = ack.in_recovery;
    }

    fn slow_start(&mut self, reno: &mut Reno, ack: &Ack) {
        reno.slow_start(ack, |grown| grown);
        self.decide(reno, ack);
    }

    fn grow(&mut self, reno: &mut Reno, ack: &Ack) {
        if self.slow == 0 {
            let per = reno.window.cwnd.min(self.params.scalable * reno.mds());
            Self::grow_fast(reno, ack, per);
        } else {
            reno.grow(ack, Growth::Window);
        }
        self.decide(reno, ack);
    }

    fn reduce(&mut self, reno: &mut Reno, _: &Congestion) -> u64 {
        let packets = reno.window.cwnd / reno.mds();
        let left = packets.saturating_sub(self.taken(packets));
        (self.fast_count, self.reno_count) = (0, (self.reno_count / 2).max(2));
        (left * reno.mds()).max(reno.min_window())
    }

    /// Reports `base_rtt` in seconds, `queue` and `reno_count` in packets, and the mode.
    fn trace(&self, _: &Reno, put: &mut dyn FnMut(&'static str, f64)) {
        if self.base_rtt != Duration::MAX {
            put("base_rtt", self.base_rtt.as_secs_f64());
        }
        if let Some(queue) = self.queue {
            put("queue", queue as f64);
        }
        put("reno_count", self.reno_count as f64);
        put(STATE, if self.slow == 0 { Mode::Fast } else { Mode::Slow }.number());
    }
}
