//! CDG, CAIA delay gradient: Hayes and Armitage, IFIP Networking (May 2011), with the rules of
//! Linux tcp_cdg.c (commit 02a1d6e7).
//!
//! ```text
//! each round trip   gmin = smallest RTT - that of the last round trip, gmax the same of the largest     us
//!                   Gmin, Gmax = sums of the last `window` of them
//!                   g = Gmin if Gmin > 0, else Gmax;  times window / n while only n < window are known
//! g > 0             with probability 1 - exp(-backoff_factor g):  shadow = max(shadow, cwnd), cwnd = beta cwnd,
//!                   unless more than use_ineff such draws have followed each other. Gmin or Gmax <= -32 us ends the series
//! growth            Reno, see `window`; shadow grows by as much, and is at most cwnd while the window is not full
//! loss, mark        shadow = min(shadow / 2, cwnd),  ssthresh = cwnd = max(shadow, cwnd / 2)
//!                   use_tolerance: nothing in state NONFULL
//! timeout           ssthresh likewise, cwnd = 1 packet
//! use_tolerance     FULL:     Gmin >= 32 us, Gmax < 32 us
//!                   NONFULL:  both >= 32 us, or Gmax <= -32 us.  Otherwise the state is kept
//! slow start        ends with ACKs at most 3 ms apart for max(125 us, half of the smallest RTT), or if after 8 ACKs the
//!                   round trip's smallest RTT exceeds max(125 us, 9/8 of the smallest RTT)
//! ```
//!
//! The paper could not be read. Linux and FreeBSD (cc_cdg.c, commit 023681d6) implement it, and
//! Linux lists its differences: the hybrid slow start, the switches, `backoff_factor = 1000 / (G
//! window)` in place of G = 3 ms, a shadow window of at most twice the window, and a beta of
//! sqrt(0.5) in place of 0.7. Linux cuts 0.7071 to 724 / 1024, which is the default here.
//!
//! An ACK of a single packet that follows ACKs of several ones is taken as delayed. Its RTT only
//! lowers the smallest RTT of the round trip (tcp_cdg_acked).
//!
//! Deviations: the random numbers come from the seed of the path, and the exponential is exact. The
//! sender reduces at once or as its `reduction` says. A mark or a loss in the recovery after a
//! backoff does not reduce again. Packets sent before a reduction do not grow the window. A
//! round-trip time of less than a microsecond is no sample. Persistent congestion, which TCP lacks,
//! follows RFC 9002 section 7.6.2.

mod gradients;
mod hybrid;
mod params;
mod rule;

pub use params::Params;

use crate::PathInfo;
use crate::algorithms::reno::window::{self, Reno};
use crate::components::window_rule::WindowController;
use gradients::{Gradients, MinMax};
use hybrid::Hybrid;
use units::{Duration, Rng};

crate::states! {
    /// Estimated state of the queue, `cdg_state`.
    enum Queue {
        Unknown = "unknown",
        NonFull = "nonfull",
        Full = "full",
        Backoff = "backoff",
    }
}

/// Names of the states, indexed by state number.
pub const STATES: &[&str] = Queue::NAMES;

crate::variables! {
    with window::VARIABLES;
    /// Shadow window, which does not follow backoffs, from the first ACK on. Linux tcp_cdg.c.
    shadow_wnd: "bytes"; later,
    /// Sum of the last gradients, g, from the third round trip on. Linux tcp_cdg.c.
    gradient: "s"; later,
}

/// Smallest sum of gradients that is not noise, microseconds. Linux tcp_cdg.c.
const NOISE: i64 = 32;
/// Largest count of delayed ACKs. Linux tcp_cdg.c.
const MAX_DELAYED: u64 = 5;

/// The controller. Windows are in bytes, whole packets after each reduction.
pub type CdgController = WindowController<Cdg>;

/// The rule, with its measurements.
#[derive(Clone, Debug)]
pub struct Cdg {
    params: Params,
    rng: Rng,
    /// RTTs of this round trip and of the last one.
    rtt: Option<MinMax>,
    last: Option<MinMax>,
    gradients: Gradients,
    g: Option<i64>,
    queue: Queue,
    /// Backoffs without a falling RTT in between.
    backoffs: u64,
    shadow: Option<u64>,
    /// Recent ACKs of several packets, at most five.
    delayed: u64,
    hybrid: Hybrid,
    /// Packet number whose acknowledgement ends the round trip.
    round_end: u64,
    next_pn: u64,
    recovering: bool,
    /// Whether this ACK causes a backoff.
    backs_off: bool,
}

impl Cdg {
    /// Creates a controller in slow start.
    pub fn controller(params: Params, path: PathInfo) -> CdgController {
        WindowController::new(Self::new(params, path.seed), path)
    }

    fn new(params: Params, seed: u64) -> Self {
        Self {
            gradients: Gradients::new(params.window),
            params,
            rng: Rng::stream(seed, "cdg"),
            rtt: None,
            last: None,
            g: None,
            queue: Queue::Unknown,
            backoffs: 0,
            shadow: None,
            delayed: 0,
            hybrid: Hybrid::default(),
            round_end: 0,
            next_pn: 0,
            recovering: false,
            backs_off: false,
        }
    }

    /// Takes an RTT. Linux tcp_cdg_acked.
    fn sample(&mut self, rtt: Duration, packets: usize) {
        let us = (rtt.0 / 1000) as i64;
        if us == 0 {
            return;
        }
        if packets == 1 && self.delayed > 0 {
            self.delayed -= 1;
            self.rtt = self.rtt.map(|rtt| MinMax { min: rtt.min.min(us), ..rtt });
            return;
        }
        self.delayed += u64::from(packets > 1 && self.delayed < MAX_DELAYED);
        let MinMax { min, max } = self.rtt.unwrap_or(MinMax { min: us, max: us });
        self.rtt = Some(MinMax { min: min.min(us), max: max.max(us) });
    }

    /// Ends a recovery: the round trip begins anew. Linux CA_EVENT_COMPLETE_CWR.
    fn end_recovery(&mut self) {
        (self.recovering, self.queue) = (false, Queue::Unknown);
        (self.round_end, self.last) = (self.next_pn, self.rtt.take());
    }

    /// Returns g at the end of a round trip. Linux tcp_cdg_grad.
    fn gradient(&mut self, rtt: MinMax, last: MinMax) -> i64 {
        let g = self.gradients.add(rtt.minus(last));
        let MinMax { min, max } = self.gradients.sum;
        if min <= -NOISE || max <= -NOISE {
            self.backoffs = 0;
        }
        if self.params.use_tolerance {
            if min >= NOISE && max < NOISE {
                self.queue = Queue::Full;
            } else if (min >= NOISE && max >= NOISE) || max <= -NOISE {
                self.queue = Queue::NonFull;
            }
        }
        self.g = Some(g);
        g
    }

    /// Returns the probability of a backoff.
    fn probability(&self, g: i64) -> f64 {
        1.0 - libm::exp(-self.params.backoff_factor * g as f64 * 1e-6)
    }

    /// Draws whether to back off. Linux tcp_cdg_backoff.
    fn draw(&mut self, g: i64) -> bool {
        if g <= 0 || self.rng.unit() >= self.probability(g) {
            return false;
        }
        self.backoffs += 1;
        self.params.use_ineff.is_none_or(|most| self.backoffs <= most)
    }

    /// Ends a round trip.
    fn end_round(&mut self, rtt: MinMax, reno: &Reno) {
        let g = self.last.map_or(0, |last| self.gradient(rtt, last));
        (self.round_end, self.last, self.rtt) = (self.next_pn, Some(rtt), None);
        self.hybrid.new_round();
        if self.draw(g) {
            self.shadow = self.shadow.max(Some(reno.window.cwnd));
            (self.backs_off, self.queue) = (true, Queue::Backoff);
        }
    }

    /// Lets the shadow window grow as much as the window.
    fn follow(&mut self, before: u64, reno: &Reno) {
        self.shadow = self.shadow.map(|shadow| shadow + (reno.window.cwnd - before));
    }
}

#[cfg(test)]
mod tests;
