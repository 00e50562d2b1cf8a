//! TCP LoLa: Hock, Neumeister, Zitterbart and Bless, IEEE LCN (October 2017). All flows keep the
//! same amount of data in a queue of a few milliseconds.
//!
//! ```text
//! RTTnow  = smallest RTT of the last 40 ms,  RTTmin = smallest RTTnow                  seconds    (4), (5)
//! Q_delay = RTTnow - RTTmin                                                            seconds    (6)
//! Q_data  = Q_delay cwnd / RTTnow                                                      bytes      (7)
//!
//! slow start             until largest - smallest RTT > 2 Q_low,  Q_low = 1 ms
//! cubic increase         cwnd(t) = C (t - K)^3 + cwnd_max,  C = 0.4, t since the last reduction   (1)
//!                        until Q_delay > Q_low                                         packets
//! fair flow balancing    X(t) = (t / phi)^3,  phi = 35, t in ms since its beginning    bytes      (2)
//!                        Q_data < X:  cwnd += X - Q_data                                          figure 2
//!                        until Q_delay > Q_target = 5 ms
//! CWND hold              250 ms, then the tailored decrease and cubic increase
//! tailored decrease      cwnd_max = cwnd,  cwnd = (cwnd - Q_data) gamma,  gamma = 973 / 1024
//!                        K = cbrt((cwnd_max - cwnd_max gamma RTTmin / RTTnow) / C)                (3)
//! RTTmin                 is forgotten after 100 tailored decreases without an RTTnow close to it
//!
//! loss, mark             cwnd_max = cwnd,  cwnd = ssthresh = 0.7 cwnd, then cubic increase        module
//! timeout                ssthresh likewise, cwnd = 1, then slow start
//! ```
//!
//! X is in bytes (equation 2), and rounds at 10 Gbit/s thus last seconds (figure 4b). The Linux
//! module (version 1.5 of 2017, in joe019/Implementation-of-TCP-LoLa-in-ns-3 at commit f5f09975)
//! computes in packets, with a factor that contains phi, the cube root of the packet size and the
//! timer's rate. Its values also differ: it begins to balance at 0.5 ms and has a gamma of 0.905.
//!
//! Open in the paper, from the module: the response to a loss; the two round trips after a
//! reduction in which the old queue must not count; the growth per packet, which reaches equation 1
//! a round trip later and is at most half a packet; and that X - Q_data is added within t_measure,
//! whatever the RTT. The module also limits it to four times the growth of X in an RTTmin. It
//! leaves slow start by a tailored decrease at once; figure 1 does not.
//!
//! Deviations: the range of the RTT in slow start begins anew after a timeout. CUBIC's fast
//! convergence and its Reno-friendly region, which the module keeps, are left out. The sender
//! allows no growth of an unused window. An undo restores the window, not its curve. Persistent
//! congestion, which TCP lacks, follows RFC 9002 section 7.6.2, and slow start begins anew.

mod params;
mod rtts;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::components::window_rule::{Frame, Options, WindowController, WindowRule};
use crate::{Ack, Cause, Congestion, STATE};
use rtts::Rtts;
use units::{Duration, Time};

crate::states! {
    /// Phase of the window, figure 1.
    enum Phase {
        SlowStart = "slow start",
        Cubic = "cubic increase",
        Balancing = "fair flow balancing",
        Hold = "cwnd hold",
    }
}

/// Names of the states, indexed by state number.
pub const STATES: &[&str] = Phase::NAMES;

crate::variables! {
    /// Slow-start threshold, infinite until slow start has ended. RFC 5681 section 3.1.
    ssthresh: "bytes",
    /// Queuing delay, Q_delay, from the first RTT sample on. Equation 6.
    q_delay: "s"; later,
    /// Smallest filtered RTT, RTTmin, from the first RTT sample on. Equation 5.
    rtt_min: "s"; later,
}

/// Largest growth per acknowledged packet outside of slow start, packets. Linux module.
const MAX_GROWTH: f64 = 0.5;

/// The controller. Windows are in packets.
pub type LolaController = WindowController<Lola>;

/// The rule, with its measurements.
#[derive(Clone, Debug)]
pub struct Lola {
    params: Params,
    rtts: Rtts,
    phase: Phase,
    /// Time at which the phase began.
    since: Time,
    /// Time before which the queue is ignored.
    blind_until: Time,
    /// cwnd_max, packets, and K, seconds.
    origin: (f64, f64),
}

impl From<Params> for Lola {
    fn from(params: Params) -> Self {
        Self {
            rtts: Rtts::new(&params),
            phase: Phase::SlowStart,
            since: Time::ZERO,
            blind_until: Time::ZERO,
            origin: (0.0, 0.0),
            params,
        }
    }
}

impl Lola {
    fn enter(&mut self, phase: Phase, now: Time) {
        (self.phase, self.since) = (phase, now);
    }

    /// Begins the cubic increase from a window below `max`, in packets.
    fn begin_cubic(&mut self, now: Time, max: f64, cwnd: f64) {
        self.origin = (max, libm::cbrt((max - cwnd) / self.params.c));
        let rtt = if self.rtts.known() { self.rtts.now() } else { Duration::ZERO };
        self.blind_until = now + rtt.mul_f64(self.params.blind_rounds);
        self.enter(Phase::Cubic, now);
    }

    /// Moves on to the next phase.
    fn advance(&mut self, frame: &mut Frame<f64>, now: Time) {
        let (queuing, cwnd) = (self.rtts.queuing(), frame.window.cwnd);
        match self.phase {
            Phase::SlowStart if !frame.window.in_slow_start() => {
                (self.origin, self.blind_until) = ((cwnd, 0.0), now);
                self.enter(Phase::Cubic, now);
            }
            Phase::Cubic if now >= self.blind_until && queuing > self.params.q_low => {
                self.enter(Phase::Balancing, now);
            }
            Phase::Balancing if queuing > self.params.q_target => self.enter(Phase::Hold, now),
            Phase::Hold if now - self.since >= self.params.t_sync => self.decrease(frame, now),
            _ => {}
        }
    }

    /// Tailored decrease.
    fn decrease(&mut self, frame: &mut Frame<f64>, now: Time) {
        let max = frame.window.cwnd;
        let least = frame.min_window().min(max);
        let cwnd = (max * self.rtts.ratio() * self.params.gamma).max(least);
        (frame.window.cwnd, frame.window.ssthresh) = (cwnd, frame.window.ssthresh.min(cwnd));
        self.rtts.on_decrease(&self.params);
        self.begin_cubic(now, max, cwnd);
    }

    /// Returns the window of equation 1, packets, `t` seconds after the reduction.
    fn curve(&self, t: f64) -> f64 {
        let (max, k) = self.origin;
        self.params.c * libm::pow(t - k, 3.0) + max
    }

    /// Returns X of equation 2, bytes, `t` seconds after balancing began.
    fn share(&self, t: f64) -> f64 {
        libm::pow(1e3 * t / self.params.phi, 3.0)
    }

    /// Returns the packets by which a round trip grows the window.
    fn growth(&self, w: f64, now: Time, mds: f64) -> f64 {
        let t = (now - self.since).as_secs_f64();
        match self.phase {
            Phase::SlowStart | Phase::Hold => 0.0,
            Phase::Cubic => self.curve(t + self.rtts.min.as_secs_f64()) - w,
            Phase::Balancing => {
                let missing = self.share(t) / mds - w * (1.0 - self.rtts.ratio());
                let measurements =
                    self.rtts.now().as_secs_f64() / self.params.t_measure.as_secs_f64().max(1e-3);
                missing * measurements
            }
        }
    }
}

impl WindowRule for Lola {
    type Unit = f64;
    type Memory = ();

    fn begin(&self) -> (Options, ()) {
        let Params { initial_window, min_window, .. } = self.params;
        (Options { initial_window, min_window, ..Options::default() }, ())
    }

    fn on_ack(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        let Some(rtt) = ack.latest_rtt else { return };
        self.rtts.sample(ack.now, rtt, &self.params);
        let range = self.rtts.range.map(|(least, most)| most - least);
        // An undo may have restored the ssthresh of slow start.
        if self.phase != Phase::SlowStart || range > Some(self.params.q_low * 2) {
            frame.window.ssthresh = frame.window.ssthresh.min(frame.window.cwnd);
        }
        self.advance(frame, ack.now);
    }

    fn grow(&mut self, frame: &mut Frame<f64>, ack: &Ack) {
        let w = frame.window.cwnd;
        let growth = self.growth(w, ack.now, frame.mds() as f64);
        frame.window.cwnd += (growth / w).clamp(0.0, MAX_GROWTH) * frame.counted(ack);
    }

    fn reduce(&mut self, frame: &mut Frame<f64>, event: &Congestion) -> f64 {
        let w = frame.window.cwnd;
        let left = (self.params.reduction * w).max(frame.min_window());
        if matches!(event.cause, Cause::Timeout | Cause::PersistentCongestion) {
            self.rtts.range = None;
            self.enter(Phase::SlowStart, event.now);
        } else {
            self.begin_cubic(event.now, w, left.min(w));
        }
        left
    }

    fn on_resize(&mut self, _: &mut Frame<f64>, ratio: f64) {
        let (max, k) = &mut self.origin;
        (*max, *k) = (*max * ratio, *k * libm::cbrt(ratio));
    }

    /// Reports the delays in seconds and the phase.
    fn trace(&self, _: &Frame<f64>, put: &mut dyn FnMut(&'static str, f64)) {
        if self.rtts.known() {
            put("q_delay", self.rtts.queuing().as_secs_f64());
            put("rtt_min", self.rtts.min.as_secs_f64());
        }
        put(STATE, self.phase.number());
    }
}
