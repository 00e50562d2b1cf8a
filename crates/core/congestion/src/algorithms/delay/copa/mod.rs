//! Copa: Arun and Balakrishnan, NSDI (April 2018). A rate that is inversely proportional to the
//! queuing delay.
//!
//! ```text
//! w in packets, times in seconds                                                                       (section 2.1)
//! RTTstanding = smallest RTT of the last srtt / 2;  RTTmin = smallest RTT of the last 10 s
//! d_q         = RTTstanding - RTTmin
//! lambda_t    = 1 / (delta d_q)                         target rate, packets/s
//! lambda      = w / RTTstanding
//! each packet acknowledged   lambda <= lambda_t:  w += v / (delta w)
//!                            otherwise            w -= v / (delta w)
//! each round trip            w rose or fell, as in the round trips before:  v doubles, from the third repetition on
//!                            otherwise, and at a step against the direction  v = 1
//! slow start                 w doubles each round trip until lambda > lambda_t
//! pacing                     2 w / RTTstanding
//!
//! mode, at each ACK                                                                                    (section 2.2)
//!   default      d_q <= 0.1 (RTTmax - RTTmin) at some time in the last 5 RTTs, RTTmax over 4 RTTs:  delta = 0.5
//!   competitive  otherwise:  1 / delta += 1 each round trip without a loss, 1 / delta /= 2 at a loss or mark,
//!                            delta <= 0.5
//! timeout, persistent congestion   w = 2, then slow start
//! ```
//!
//! With n flows in the default mode the queue swings between 0 and 2.5 / delta^ packets every five
//! RTTs, delta^ = 0.5 / n (section 3). Its mean is half of that. The paper assumes that RTTmin is
//! much longer than the queuing delay.
//!
//! Links carry whole packets, so nearly empty mostly means empty. On paths of few packets, and with
//! several flows, no RTT may show that for five RTTs. All flows then turn competitive without a
//! competitor, and stay so. `empty-margin` of a packet's time prevents most of that.
//!
//! A loss by itself leaves the window. Packets sent before it therefore count like all others. A
//! window that the application does not fill does not grow, but it may shrink. Such a round trip
//! has no direction, and it does not raise 1 / delta.
//!
//! The paper's text was read in quotations only, section by section. The authors' genericCC (commit
//! 18299d6) and mvfst (commit 00e67c1b) differ from it. Their values are parameters: mvfst is
//! `delta = 0.05, competitive-mode = false, delay = "latest", max-step = "off"`. mvfst paces at
//! 2 w / srtt. genericCC also multiplies w by 0.7 if more than 10 % of a round trip's packets are
//! lost.
//!
//! Deviations: a step against the direction resets the velocity at once, as in mvfst. With the
//! printed rule (`reset-at-turn = false`) a high velocity lasts until the end of the round trip,
//! and a single flow can oscillate at a third of the link's rate. The comparison for a nearly empty
//! queue includes equality, because a path without a queue would be competitive otherwise.
//! `max-step` limits the growth to that of slow start. The velocity is at most 65535, as in the
//! authors' ccp_copa. The paper has no rule for a timeout or persistent congestion; here slow start
//! follows, as in RFC 5681 section 3.1. Its undo restores the window.

mod delays;
mod params;
#[cfg(test)]
mod tests;

pub use params::{Delay, Params};

use crate::components::undo::Undo;
use crate::components::window::Unit;
use crate::{Ack, Cause, Congestion, Control, Controller, PathInfo, STATE, initial_window_or_default};
use core::cmp::Ordering;
use delays::Delays;
use units::{Duration, Rate};

crate::states! {
    /// Mode that sets delta.
    enum Mode {
        Default = "default",
        Competitive = "competitive",
    }
}

/// Names of the states, indexed by state number.
pub const STATES: &[&str] = Mode::NAMES;

crate::variables! {
    /// delta, inverse of the number of packets that the flow aims to keep queued. Section 2.1.
    delta: "",
    /// Velocity, v. Section 2.1.
    velocity: "",
    /// Queuing delay, d_q, from the first RTT sample on. Section 2.1.
    queue_delay: "s"; later,
    /// Smallest RTT of the last 10 s, RTTmin, from the first sample on. Section 2.1.
    rtt_min: "s"; later,
}

/// Largest velocity. ccp_copa.
const MAX_VELOCITY: f64 = 65_535.0;

/// What an undo restores.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// In packets.
    cwnd: f64,
    slow_start: bool,
}

/// The controller. Windows are in packets.
#[derive(Clone, Debug)]
pub struct Copa {
    params: Params,
    mds: u64,
    window: Window,
    undo: Undo<Window>,
    delays: Delays,
    mode: Mode,
    /// 1 / delta.
    inv_delta: f64,
    velocity: f64,
    /// Movement of the window in the last round trip, and how often it was repeated.
    direction: Ordering,
    repeated: u64,
    /// Window when the round trip began.
    round_cwnd: f64,
}

impl Copa {
    /// Creates a controller in slow start.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let mds = path.max_datagram_size.max(1);
        let initial = initial_window_or_default(params.initial_window, mds);
        let cwnd = f64::from_bytes(initial, mds).max(params.min_window as f64);
        Self {
            mds,
            window: Window { cwnd, slow_start: true },
            undo: Undo::new(),
            delays: Delays::new(&params),
            mode: Mode::Default,
            inv_delta: 1.0 / params.delta,
            velocity: 1.0,
            direction: Ordering::Equal,
            repeated: 0,
            round_cwnd: cwnd,
            params,
        }
    }

    fn follow_mode(&mut self, ack: &Ack, used: bool) {
        let time = ack.smoothed_rtt.mul_f64(self.params.empty_rounds);
        if !self.params.competitive_mode || self.delays.emptied_within(ack.now, time) {
            (self.mode, self.inv_delta) = (Mode::Default, 1.0 / self.params.delta);
        } else {
            self.mode = Mode::Competitive;
            if ack.round_start && used && !ack.in_recovery {
                self.inv_delta += 1.0;
            }
        }
    }

    /// Compares the window with that of a round trip ago.
    fn follow_direction(&mut self) {
        let cwnd = self.window.cwnd;
        let direction = cwnd.partial_cmp(&self.round_cwnd).filter(|_| !self.window.slow_start);
        self.head(direction.unwrap_or(Ordering::Equal));
        self.round_cwnd = cwnd;
    }

    fn head(&mut self, direction: Ordering) {
        if direction != self.direction || direction == Ordering::Equal {
            (self.direction, self.velocity, self.repeated) = (direction, 1.0, 0);
            return;
        }
        self.repeated += 1;
        if self.repeated >= self.params.velocity_rounds {
            self.velocity = (2.0 * self.velocity).min(MAX_VELOCITY);
        }
    }

    /// Reports whether the rate is at most the target rate.
    fn below_target(&self) -> bool {
        let queue = self.delays.queue(self.params.delay).as_secs_f64();
        let standing = self.delays.standing().map_or(0.0, Duration::as_secs_f64);
        self.window.cwnd * queue <= self.inv_delta * standing
    }

    /// Moves the window by an ACK. `used` is whether the sender has used the window.
    fn step(&mut self, ack: &Ack, used: bool) {
        let acked = f64::from_bytes(ack.acked, self.mds);
        let grows = self.below_target();
        let grown = if used { acked } else { 0.0 };
        if self.window.slow_start {
            if grows {
                self.window.cwnd += grown;
                return;
            }
            (self.window.slow_start, self.round_cwnd) = (false, self.window.cwnd);
        }
        let direction = if grows { Ordering::Greater } else { Ordering::Less };
        if self.params.reset_at_turn && self.velocity > 1.0 && direction != self.direction {
            self.head(direction);
            self.round_cwnd = self.window.cwnd;
        }
        let step = self.velocity * self.inv_delta / self.window.cwnd;
        let step = step.min(self.params.max_step.unwrap_or(f64::INFINITY));
        let moved = if grows { step * grown } else { -step * acked };
        self.window.cwnd = (self.window.cwnd + moved).max(self.params.min_window as f64);
    }
}

impl Controller for Copa {
    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.undo.on_ack(ack);
        if let Some(rtt) = ack.latest_rtt {
            self.delays.sample(ack.now, rtt, ack.smoothed_rtt, &self.params);
        }
        let used = ack.cwnd_limited || !ack.app_limited;
        self.follow_mode(ack, used);
        if ack.round_start {
            self.follow_direction();
        }
        self.step(ack, used);
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.undo.on_congestion(event.cause, &self.window);
        match event.cause {
            Cause::Timeout | Cause::PersistentCongestion => {
                let cwnd = self.window.cwnd.min(self.params.min_window as f64);
                self.window = Window { cwnd, slow_start: true };
            }
            _ => {
                if self.mode == Mode::Competitive {
                    self.inv_delta = (0.5 * self.inv_delta).max(1.0 / self.params.delta);
                }
                // The window stays, so an undo must not move it.
                self.undo.take();
            }
        }
    }

    fn on_spurious(&mut self) {
        self.undo.restore(&mut self.window, |window| window.cwnd);
    }

    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        let after = path.max_datagram_size.max(1);
        let before = core::mem::replace(&mut self.mds, after);
        let min = self.params.min_window;
        let resized = |cwnd: f64| cwnd.resized(min, before, after);
        self.undo.each(&mut self.window, |window| window.cwnd = resized(window.cwnd));
        self.round_cwnd = resized(self.round_cwnd);
    }

    fn control(&self) -> Control {
        let cwnd = self.window.cwnd.to_bytes(self.mds);
        let ssthresh = if self.window.slow_start { u64::MAX } else { 0 };
        let pacing_rate = self.delays.standing().map(|rtt| {
            let rate = self.params.pacing_gain * cwnd as f64 / rtt.as_secs_f64().max(1e-9);
            Rate::from_bytes_per_sec(rate)
        });
        Control { ssthresh, pacing_rate, ..Control::window(cwnd) }
    }

    /// Reports delta, the velocity and the delays in seconds.
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put(STATE, self.mode.number());
        put("delta", 1.0 / self.inv_delta);
        put("velocity", self.velocity);
        if self.delays.standing().is_some() {
            put("queue_delay", self.delays.queue(self.params.delay).as_secs_f64());
            put("rtt_min", self.delays.min().as_secs_f64());
        }
    }
}
