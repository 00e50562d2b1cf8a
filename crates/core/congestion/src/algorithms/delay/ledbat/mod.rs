//! LEDBAT, RFC 6817 (December 2012): a window that adds no more than TARGET to the one-way delay.
//!
//! ```text
//! for each delay d = received - sent in an ACK                                                (2.4.2)
//!   base_delays[this minute] = min(base_delays[this minute], d), for the last BASE_HISTORY minutes
//!   current_delays           = the last CURRENT_FILTER values of d, none older than an RTT
//! queuing_delay = min(current_delays) - min(base_delays)                                      ns
//! off_target    = (TARGET - queuing_delay) / TARGET                                           -inf..1
//! cwnd += GAIN * off_target * bytes_newly_acked * MSS / cwnd                                  bytes
//! cwnd  = max(MIN_CWND * MSS, min(cwnd, flightsize before this ACK + ALLOWED_INCREASE * MSS))
//!
//! loss, mark, at most once per RTT   cwnd = min(cwnd, max(cwnd / 2, MIN_CWND * MSS))
//! congestion timeout                 cwnd = MSS
//! ```
//!
//! The queue of a single flow settles where off_target = 0: at TARGET. A flow that starts while
//! another one keeps the queue at TARGET takes that queue as its base. It raises the queue to twice
//! the TARGET, and the first flow backs off (section 4.4, the latecomer's advantage). A receiver
//! clock that runs fast raises the delays. Its drift over BASE_HISTORY minutes counts as queue (50
//! ppm: 27 to 30 ms), and the flow gets less. The base follows a slow clock at once. A flow whose
//! queue persists for more than BASE_HISTORY minutes takes it as its base and adds another TARGET,
//! repeatedly.
//!
//! FILTER() is the minimum. Delays are one-way and do not contain the ACK delay. Samples older than
//! `smoothed_rtt` are dropped. The sender handles the timeout, its backoff and the flight size.
//! Slow start is not in the RFC's algorithm. ns-3 and M. Kühlewind's Linux module have it up to the
//! first loss, here it is `slow-start`. It ignores TARGET and is not limited by ALLOWED_INCREASE.
//! ssthresh is the window after each reduction. It falls with the window when the delay reduces it,
//! as in ns-3: slow start returns only after a timeout.
//!
//! Deviations: only bytes for which the sender allows growth make the window grow. They exclude
//! bytes sent before the last reduction, and those of a sender that leaves the window unused. The
//! RFC counts every byte. A decrease counts every byte. After a timeout the window returns to
//! MIN_CWND only with the first byte that may grow it. Persistent congestion (RFC 9002 section
//! 7.6.2) leaves MIN_CWND. A spurious loss or timeout is undone. Idle time restarts the window if
//! the sender asks for it (see `idle`), with INIT_CWND as the initial window. Without receive times
//! off_target is 1, which gives Reno's growth and reduction, as in ns-3.

pub(super) mod delays;
#[cfg(test)]
mod tests;

use crate::components::idle;
use crate::components::slow_start::{Kind, SlowStart};
use crate::components::undo::Undo;
use crate::{Ack, Cause, Congestion, Control, Controller, Idle, Needs, PathInfo, Sent};
use crate::{Range, params};
use delays::Delays;
use units::Duration;

params! {
    /// TARGET, the queuing delay to add. RFC 6817 section 2.5; at most 100 ms.
    target: Duration = Duration::from_millis(100),
    /// GAIN, growth per round trip with an empty queue, packets. RFC 6817 section 2.5; at most 1.
    /// D'Aronco et al. have 0.5.
    gain: f64 = 1.0 => Range::FACTOR,
    /// ALLOWED_INCREASE, largest excess of the window over the flight size, packets. RFC 6817
    /// section 2.5; more than 0.
    allowed_increase: f64 = 1.0 => Range::above(0.0),
    /// BASE_HISTORY, number of minima kept for the base delay. RFC 6817 section 2.5.
    base_history: usize = 10 => Range::COUNT,
    /// Interval of each minimum of `base-history`. RFC 6817 section 2.4.2.
    base_interval: Duration = Duration::from_secs(60),
    /// CURRENT_FILTER, number of delays in the last RTT whose minimum is the current delay. RFC
    /// 6817 section 2.5; at least 4.
    current_filter: usize = 4 => Range::COUNT,
    /// INIT_CWND, packets. RFC 6817 section 2.5.
    init_window: u64 = 2 => Range::PACKETS,
    /// MIN_CWND, packets. RFC 6817 section 2.5.
    min_window: u64 = 2 => Range::PACKETS,
    /// Factor by which the window is multiplied after a loss, 0..1. RFC 6817 section 2.4.2.
    beta: f64 = 0.5 => Range::SHARE,
    /// Growth and exit of slow start: `standard`, `hystart++` (RFC 9406), `hystart` (Linux),
    /// `hystart-picoquic`, `hystart-mvfst`, `search` (draft-chung-ccwg-search-09), or `"off"`. Not
    /// in RFC 6817.
    #[serde(with = "units::or_off")]
    slow_start: Option<Kind> = None,
}

/// State that an undo restores, in bytes.
#[derive(Clone, Debug)]
struct Window {
    cwnd: f64,
    ssthresh: f64,
    slow_start: Option<SlowStart>,
}

crate::variables! {
    /// Current one-way delay minus the base delay, known once a packet has reported its arrival
    /// time. RFC 6817 section 2.4.2.
    queuing_delay: "s"; later,
}

/// The controller. Windows are in bytes.
#[derive(Clone, Debug)]
pub struct Ledbat {
    params: Params,
    mds: f64,
    state: Window,
    undo: Undo<Window>,
    delays: Delays,
}

impl Ledbat {
    /// Creates a controller with the initial window.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let mds = path.max_datagram_size.max(1);
        let Params { base_history, base_interval, current_filter, .. } = params;
        let ssthresh = params.slow_start.map_or(0.0, |_| f64::INFINITY);
        Self {
            mds: mds as f64,
            state: Window {
                cwnd: (params.init_window * mds) as f64,
                ssthresh,
                slow_start: params.slow_start.map(|kind| SlowStart::new(kind, path)),
            },
            undo: Undo::new(),
            delays: Delays::new(base_history, base_interval, current_filter),
            params,
        }
    }

    fn min_window(&self) -> f64 {
        self.params.min_window.max(1) as f64 * self.mds
    }

    fn cwnd(&self) -> u64 {
        (self.state.cwnd + 0.5) as u64
    }

    /// Returns off_target: 1 for an empty queue, 0 at the target, without a lower limit.
    fn off_target(&self) -> f64 {
        let target = self.params.target.0.max(1) as f64;
        self.delays.queuing().map_or(1.0, |queuing| (target - queuing as f64) / target)
    }

    fn follow_delay(&mut self, ack: &Ack) {
        let Params { gain, allowed_increase, .. } = self.params;
        let off_target = self.off_target();
        let bytes = if off_target > 0.0 { ack.growth } else { ack.acked };
        let cwnd = self.state.cwnd + gain * off_target * bytes as f64 * self.mds / self.state.cwnd;
        let max_allowed = ack.prior_in_flight as f64 + allowed_increase * self.mds;
        // After a timeout the window is below the minimum. It must stay there until growth is
        // allowed.
        let floor = if ack.growth > 0 { self.min_window() } else { self.min_window().min(self.state.cwnd) };
        self.state.cwnd = cwnd.min(max_allowed).max(floor);
        // If ssthresh were above the window, slow start would restart, and the queue would settle
        // at half the size that overflowed.
        self.state.ssthresh = self.state.ssthresh.min(self.state.cwnd);
    }

    fn reduced(&self) -> f64 {
        (self.state.cwnd * self.params.beta).max(self.min_window())
    }

    /// Sets window and ssthresh. Without slow start, the window is never below ssthresh.
    fn set(&mut self, cwnd: f64, ssthresh: f64) {
        let ssthresh = if self.state.slow_start.is_some() { ssthresh } else { 0.0 };
        (self.state.cwnd, self.state.ssthresh) = (cwnd, ssthresh);
    }

    fn shrink(&mut self, cwnd: f64, ssthresh: f64) {
        let cwnd = cwnd.min(self.state.cwnd);
        if let Some(slow_start) = &mut self.state.slow_start {
            slow_start.leave();
        }
        self.set(cwnd, ssthresh);
    }
}

impl Controller for Ledbat {
    fn needs(&self) -> Needs {
        Needs { receive_times: true, ..Needs::default() }
    }

    fn on_sent(&mut self, sent: &Sent) {
        if let Some(slow_start) = &mut self.state.slow_start {
            slow_start.on_sent(sent);
        }
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.undo.on_ack(ack);
        for packet in ack.packets {
            self.delays.on_packet(ack.now, packet);
        }
        self.delays.forget(ack.now, ack.smoothed_rtt);
        match &mut self.state.slow_start {
            Some(slow_start) if self.state.cwnd < self.state.ssthresh => {
                self.state.cwnd += slow_start.growth(ack.growth) as f64;
                let before = self.state.cwnd as u64;
                let drained = slow_start.drain(ack, before);
                if drained < before {
                    self.state.cwnd = drained as f64;
                }
                if slow_start.ended(ack, drained) {
                    self.state.ssthresh = self.state.cwnd;
                }
            }
            _ => self.follow_delay(ack),
        }
        None
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.undo.on_congestion(event.cause, &self.state);
        let reduced = self.reduced();
        match event.cause {
            Cause::Loss | Cause::Ecn | Cause::Delay => self.shrink(reduced, reduced),
            Cause::PersistentCongestion => self.shrink(self.min_window(), self.state.ssthresh),
            // A repeated timeout: nothing has grown the window since the first one.
            Cause::Timeout if self.state.cwnd < self.min_window() => {
                self.shrink(self.mds, self.state.ssthresh);
            }
            Cause::Timeout => self.shrink(self.mds, reduced),
        }
    }

    fn on_spurious(&mut self) {
        self.undo.restore(&mut self.state, |window| window.cwnd);
    }

    fn on_idle(&mut self, event: &Idle) {
        let initial = self.params.init_window as f64 * self.mds;
        let (cwnd, ssthresh) = idle::restart(event, self.state.cwnd, self.state.ssthresh, initial);
        self.set(cwnd, ssthresh);
    }

    fn on_path_change(&mut self, path: PathInfo) {
        let mds = path.max_datagram_size.max(1);
        let before = core::mem::replace(&mut self.mds, mds as f64);
        let least = self.params.min_window.max(1) as f64 * before;
        self.undo.each(&mut self.state, |window| {
            window.cwnd = window.cwnd.max(window.cwnd.min(least) / before * self.mds);
            if let Some(slow_start) = &mut window.slow_start {
                slow_start.on_path_change(path);
            }
        });
    }

    fn control(&self) -> Control {
        let ssthresh = (self.state.ssthresh + 0.5) as u64;
        Control { ssthresh, ..Control::window(self.cwnd()) }
    }

    /// Reports the variables, in seconds.
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        if let Some(queuing) = self.delays.queuing() {
            put("queuing_delay", queuing as f64 * 1e-9);
        }
    }
}
