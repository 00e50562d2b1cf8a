//! H-TCP: Leith and Shorten, PFLDnet (February 2004), and draft-leith-tcp-htcp-06 (April 2008),
//! with the rules of Linux tcp_htcp.c (commit 05909cd9). Growth follows the time since the last
//! congestion event.
//!
//! ```text
//! Delta   = time since the last congestion event, or since the end of its recovery       seconds
//! factor  = 1                                                 if Delta <= Delta_L        (draft section 3, equation 1)
//!           1 + 10 (Delta - Delta_L) + q (Delta - Delta_L)^2  otherwise,  Delta_L = 1 s, q = 0.25
//! scaled  = factor / limit(RTT_ref / RTTmin, 0.5, 10),  at least 1;  RTT_ref = 100 ms    (draft section 5)
//! alpha   = 2 (1 - beta) scaled                               packets per round trip     (Linux)
//! each packet acknowledged   cwnd += alpha / cwnd
//! loss, mark                 ssthresh = cwnd = max(2, floor(beta cwnd)),  with a new beta
//! timeout                    ssthresh likewise, cwnd = 1
//!
//! beta    = limit(RTTmin / RTTmax, 0.5, 0.8)                  adaptive backoff           (Linux)
//!           0.5 at the first event, while RTTmin <= 10 ms, and after a change of bandwidth
//! RTTmax  = largest RTT outside of recovery; a sample more than 20 ms above it does not count
//!           after an event:  RTTmax = RTTmin + 0.95 (RTTmax - RTTmin)
//! B       = rate of the ACKs of a window;  B' = 3/4 B' + 1/4 B,  begun anew during 4 RTTmin of each epoch
//! switch    |max B' - max B' at the last event| > 20 % of the latter:  beta = 0.5 now and at the next event
//!
//! rules = "linux"   windows in whole packets, at most one more per ACK; beta and RTT_ref / RTTmin in steps of
//!                   1/128 and 1/8; factor and scaled in whole packets; scaled also while Delta <= Delta_L
//! rules = "draft"   exact; not scaled while Delta <= Delta_L
//! ```
//!
//! Linux updates alpha at an event, before Delta restarts, and with each packet that it adds.
//!
//! Sources disagree on q. It is 0.25 in Linux and in the paper, as ns-3 and a thesis quote it. The
//! draft's equation 1 has 0.5. The draft's own tables 1 and 2 follow from 0.25, so equation 1 is in
//! error. The draft keeps beta = 0.5. It is `rules = "draft"` with `beta-max = 0.5`, with or
//! without `rtt-scaling`. The paper could not be read.
//!
//! Deviations: slow start does not stop at ssthresh within an ACK. Times are not rounded to ticks,
//! and rates not to whole packets per second. The tests agree with Linux at 1000 ticks per second.
//! The draft's growth is at most that of slow start. Persistent congestion, which TCP lacks,
//! follows RFC 9002 section 7.6.2.

mod params;
#[cfg(test)]
mod tests;

pub use params::{Params, Rules};

use crate::algorithms::reno::window;
use crate::components::window::Memory;
use crate::components::window_rule::{Frame, Options, WindowController, WindowRule, options};
use crate::{Ack, Congestion};
use units::{Duration, Time};

/// RTT without scaling. Draft section 5.
const RTT_REF: Duration = Duration::from_millis(100);
/// Largest step of RTTmax. Linux tcp_htcp.c.
const RTT_STEP: Duration = Duration::from_millis(20);
/// Largest RTTmin without adaptive backoff. Linux tcp_htcp.c.
const SHORT_RTT: Duration = Duration::from_millis(10);
/// Part of the bandwidth by which it may differ from that at the last event. Linux tcp_htcp.c.
const SAME_BANDWIDTH: f64 = 0.2;

crate::variables! {
    with window::VARIABLES;
    /// Growth per round trip, alpha. Linux tcp_htcp.c.
    alpha: "packets",
    /// Factor of the last event, beta, 0..1. Linux tcp_htcp.c.
    beta: "",
}

/// The time since the last event, with everything else that an undo restores.
#[derive(Clone, Copy, Debug, Default)]
pub struct Epoch {
    /// Bytes acknowledged towards the next growth by one packet.
    bytes_acked: u64,
    since: Option<Time>,
    max_rtt: Duration,
    /// Largest bandwidth before the last event, bytes per second.
    last_bandwidth: f64,
}

impl Memory for Epoch {
    fn forget(&mut self) {
        self.bytes_acked = 0;
    }
}

impl Epoch {
    fn delta(&self, now: Time) -> Duration {
        self.since.map_or(Duration::ZERO, |since| now - since)
    }

    fn sample(&mut self, rtt: Duration, min_rtt: Duration) {
        self.max_rtt = self.max_rtt.max(min_rtt);
        if rtt <= self.max_rtt + RTT_STEP {
            self.max_rtt = self.max_rtt.max(rtt);
        }
    }
}

/// Bandwidth of an epoch, bytes per second.
#[derive(Clone, Copy, Debug, Default)]
struct Bandwidth {
    bytes: u64,
    since: Time,
    smoothed: f64,
    max: f64,
}

impl Bandwidth {
    /// Takes a sample once `window` bytes are acknowledged. `early` restarts the estimate.
    fn on_ack(&mut self, ack: &Ack, window: u64, early: bool) {
        self.bytes += ack.acked;
        let elapsed = ack.now - self.since;
        if self.bytes < window || elapsed < ack.min_rtt || elapsed == Duration::ZERO {
            return;
        }
        let sample = self.bytes as f64 * 1e9 / elapsed.0 as f64;
        self.smoothed = if early { sample } else { (3.0 * self.smoothed + sample) / 4.0 };
        self.max = if early { sample } else { self.max.max(self.smoothed) };
        self.restart(ack.now);
    }

    fn restart(&mut self, now: Time) {
        (self.bytes, self.since) = (0, now);
    }
}

/// The controller. Windows are in bytes, whole packets after each reduction.
pub type HtcpController = WindowController<Htcp>;

/// The rule, with its measurements.
#[derive(Clone, Debug)]
pub struct Htcp {
    params: Params,
    alpha: f64,
    beta: f64,
    /// Whether beta may follow the RTTs: Linux's `modeswitch`.
    adapts: bool,
    recovering: bool,
    bandwidth: Bandwidth,
}

impl From<Params> for Htcp {
    fn from(params: Params) -> Self {
        let (beta, bandwidth) = (params.beta_min, Bandwidth::default());
        Self { params, alpha: 1.0, beta, adapts: false, recovering: false, bandwidth }
    }
}

impl Htcp {
    fn linux(&self) -> bool {
        self.params.rules == Rules::Linux
    }

    fn whole(&self, x: f64) -> f64 {
        if self.linux() { libm::floor(x) } else { x }
    }

    /// Returns alpha, in packets per round trip. Nanoseconds divide exactly, so that Linux's steps
    /// fall where they should.
    fn increase(&self, delta: Duration, min_rtt: Duration) -> f64 {
        let over = delta.saturating_sub(self.params.delta_l).0 as f64 / 1e9;
        let mut factor = 1.0 + self.whole(10.0 * over + self.params.quadratic * over * over);
        if self.params.rtt_scaling && min_rtt < Duration::MAX && (self.linux() || over > 0.0) {
            let ratio = self.whole(8.0 * RTT_REF.0 as f64 / min_rtt.0.max(1) as f64) / 8.0;
            factor = self.whole(factor / ratio.clamp(0.5, 10.0)).max(1.0);
        }
        2.0 * (1.0 - self.beta) * factor
    }

    /// Returns beta at an event.
    fn next_beta(&mut self, epoch: &mut Epoch, min_rtt: Duration) -> f64 {
        let Params { bandwidth_switch, beta_min, beta_max, .. } = self.params;
        let last = core::mem::replace(&mut epoch.last_bandwidth, self.bandwidth.max);
        let switches = bandwidth_switch && (self.bandwidth.max - last).abs() > SAME_BANDWIDTH * last;
        let adapts = core::mem::replace(&mut self.adapts, !switches);
        if switches || !adapts || min_rtt <= SHORT_RTT || epoch.max_rtt < min_rtt {
            return beta_min;
        }
        let ratio = self.whole(128.0 * min_rtt.0 as f64 / epoch.max_rtt.0 as f64) / 128.0;
        ratio.min(beta_max).max(beta_min)
    }
}

impl WindowRule for Htcp {
    type Unit = u64;
    type Memory = Epoch;

    fn begin(&self) -> (Options, Epoch) {
        (options!(self.params), Epoch::default())
    }

    /// The ACK that ends recovery is measured as part of it, and begins the epoch, as in Linux.
    fn on_ack(&mut self, frame: &mut Frame<u64, Epoch>, ack: &Ack) {
        let recovering = core::mem::replace(&mut self.recovering, ack.in_recovery);
        let window = frame.window.cwnd.saturating_sub(self.alpha.max(1.0) as u64 * frame.mds());
        let epoch = &mut frame.window.memory;
        if epoch.since.is_none() || recovering && !ack.in_recovery {
            epoch.since = Some(ack.now);
        }
        if recovering {
            return self.bandwidth.restart(ack.now);
        }
        if let Some(rtt) = ack.latest_rtt {
            epoch.sample(rtt, ack.min_rtt);
        }
        let early = epoch.delta(ack.now) < ack.min_rtt * 4;
        self.bandwidth.on_ack(ack, window, early);
    }

    fn grow(&mut self, frame: &mut Frame<u64, Epoch>, ack: &Ack) {
        let (counted, mds) = (frame.counting.in_avoidance(ack), frame.mds());
        if counted == 0 {
            return;
        }
        let window = &mut frame.window;
        let full = window.memory.bytes_acked as f64 * self.alpha >= window.cwnd as f64;
        if full || !self.linux() {
            self.alpha = self.increase(window.memory.delta(ack.now), ack.min_rtt);
        }
        if !self.linux() {
            let grown = self.alpha * (mds * counted) as f64 / window.cwnd as f64;
            window.cwnd += (grown as u64).min(counted);
        } else if full {
            (window.cwnd, window.memory.bytes_acked) = (window.cwnd + mds, 0);
        } else {
            window.memory.bytes_acked += counted;
        }
    }

    fn reduce(&mut self, frame: &mut Frame<u64, Epoch>, event: &Congestion) -> u64 {
        let (min_rtt, epoch) = (event.min_rtt, &mut frame.window.memory);
        self.beta = self.next_beta(epoch, min_rtt);
        self.alpha = self.increase(epoch.delta(event.now), min_rtt);
        if epoch.max_rtt > min_rtt {
            epoch.max_rtt = min_rtt + (epoch.max_rtt - min_rtt).mul_f64(0.95);
        }
        (epoch.since, self.recovering) = (Some(event.now), true);
        let packets = (frame.window.cwnd / frame.mds()) as f64;
        ((packets * self.beta) as u64 * frame.mds()).max(frame.min_window())
    }

    fn trace(&self, _: &Frame<u64, Epoch>, put: &mut dyn FnMut(&'static str, f64)) {
        put("alpha", self.alpha);
        put("beta", self.beta);
    }
}
