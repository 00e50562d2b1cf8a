//! C4, Christian's congestion control code: draft-huitema-ccwg-c4-spec (editors' copy e3377b6,
//! November 2025), a pacing rate for media. The response to marks is that of picoquic c4.c (commit
//! 0a82f5f8, July 2026), because the specification leaves it open.
//!
//! ```text
//! rate       raised to each delivery rate, not in a congested Recovery                             bytes/s      "Nominal rate"
//! era        from a packet until it is acknowledged; alpha is the gain of the era, alpha' that of the one before
//! max_rtt    at the end of an era with alpha' <= 1:                                                seconds      "Nominal max RTT"
//!              min_rtt = min if min < min_rtt, else (7 min_rtt + min) / 8
//!              max     = at most min_rtt + 250 ms;  max_rtt = max if max > max_rtt, else (7 max_rtt + max) / 8
//!
//! output     pacing rate = alpha rate,  cwnd = max(pacing rate * (max_rtt + 15 ms, but 0 in Initial), 2 packets)
//!            quantum = max(min(cwnd / 4, 64 KB), 2 packets)
//! Initial    alpha = 2. After 3 eras without growth, or a signal: Recovery
//! Recovery   alpha = 15/16, one era. After 3 successful pushes, or once min_rtt < 2/5 max_rtt: Initial; else Cruising
//! Cruising   alpha = 1, 4 eras and longer while the application limits the sender, then Pushing
//! Pushing    alpha = 17/16, after a successful push 5/4; one era, then Recovery
//! success    no signal, and the rate has grown since the last Recovery: at all, or after 5/4 by 1/4 of alpha - 1
//!
//! s          sensitivity: 0 below 50 kB/s, 0.92 at 1 MB/s, 1 from 10 MB/s on, linear between       "Variable Sensitivity"
//! delay      RTT > max_rtt + T,  T = min(25 ms, (1/16 + 3/16 (1 - s)) max_rtt)    beta = min(1/4, excess / T)
//! loss       p = (15 p + loss) / 16 per packet;  p > 0.02 + 0.5 (1 - s)           beta = 1/4
//! mark       e = (15 e + share) / 16;  e > E, E = (192 - 96 s) / 1024             beta = min(1/4, (e - E) / E)
//! signal     Cruising: rate = (1 - beta) rate, a loss max_rtt likewise, then Recovery;  Pushing: Recovery
//!            Initial: Recovery; delay and marks only after 2 eras without growth, loss only after 20 packets
//! ```
//!
//! Decisions where the text is wrong or open: the update of the rate is printed with the opposite
//! inequality, which would keep the minimum. The parentheses of the delay's beta are wrong. The
//! text lowers max_rtt "in some condition"; c4.c does so after a loss. Growth in Initial means 1/4
//! of the gain, as after a push with 5/4: without a bound, every rounding of a rate is growth. An
//! unlimited first pacing rate is replaced by c4.c's 128 KiB/s. In Initial neither rate nor window
//! is below its first value, as in c4.c: the first ACK measures a packet per RTT. A Recovery that a
//! signal began, or that sees one, is congested. Signals in it have no other effect. The text has
//! no 15 ms. With its window, a delayed ACK and whole packets hide the growth of a push, and the
//! rate stays at a few percent of an empty link: `window-margin` is c4.c's. Initial has none, since
//! its gain of 2 leaves room.
//!
//! Two properties of the text: flows whose nominal rates together exceed the link's add less queue
//! per era than the threshold. Largest and smallest RTT follow it, so the buffer fills. And a
//! quantum of a quarter of the window is too long a burst for an L4S queue. With `burst = 1` in the
//! pacing of the flow, the flow is marked by its queue only.
//!
//! Deviations: the delivery rate is the sender's sample (draft-ietf-ccwg-bbr section 4.1), as c4.c
//! takes picoquic's. Losses found by TCP's retransmission timeout do not count. Persistent
//! congestion forgets the path (RFC 9002 section 7.6). c4.c of July 2026 has more than the text: a
//! second Recovery gain, cascades of pushes, a start from a remembered window, and delay signals
//! only after a push. This code has none of them.

mod params;
mod signals;
#[cfg(test)]
mod tests;

pub use self::params::Params;
use self::signals::Thresholds;
use crate::components::picoquic::rtt_measurement;
use crate::{
    Ack, Cause, Congestion, Control, Controller, Detection, Lost, Needs, PathInfo, STATE, Sent,
    initial_window_or_default,
};
use units::{Duration, Rate};

crate::states! {
    /// State of the connection.
    enum State {
        Initial = "initial",
        Recovery = "recovery",
        Cruising = "cruising",
        Pushing = "pushing",
    }
}

/// Names of the states, indexed by state number.
pub const STATES: &[&str] = State::NAMES;

crate::variables! {
    /// Nominal rate; 0 before the first sample.
    nominal_rate: "bytes/s",
    /// Nominal max RTT; 0 before the first sample.
    nominal_max_rtt: "s",
    /// Running min RTT, infinite before the first era with a gain of at most 1 has ended.
    running_min_rtt: "s",
    /// Gain of the era, alpha_current.
    alpha_current: "",
    /// Smoothed loss rate, 0..1.
    smoothed_loss_rate: "",
    /// Smoothed share of marks, 0..1. picoquic c4.c.
    ecn_alpha: "",
}

/// Largest quantum, bytes. "Setting pacing rate, congestion window and quantum".
const QUANTUM: u64 = 65_536;
/// Weight of the newest packet in the loss rate and of the newest share of marks, C4_ECN_SHIFT_G.
const WEIGHT: f64 = 1.0 / 16.0;
/// Share of marks that is taken at once, picoquic c4.c.
const JUMP: f64 = 0.5;

/// A round trip of packets.
#[derive(Clone, Copy, Debug)]
struct Era {
    /// Number of its first packet, `era_sequence`.
    first: u64,
    /// Smallest and largest RTT, seconds.
    rtts: Option<(f64, f64)>,
}

/// The controller. Rates are in bytes/s, times in seconds.
#[derive(Clone, Debug)]
pub struct C4 {
    params: Params,
    mds: u64,
    first_window: u64,
    state: State,
    rate: f64,
    max_rtt: f64,
    min_rtt: f64,
    /// Gains of this era and of the last one.
    alpha: f64,
    alpha_previous: f64,
    era: Era,
    next_pn: u64,
    /// Eras without growth in Initial, or eras in Cruising.
    eras: u64,
    /// Rate at the end of the last Recovery, or of the last era in Initial.
    rate_before: f64,
    /// Gain of the push that Recovery judges.
    push: Option<f64>,
    /// Successful pushes in a row.
    pushes: u64,
    /// Whether a signal has come since the push began.
    congested: bool,
    /// Whether high jitter has restarted Initial.
    restarted: bool,
    /// Packets acknowledged in Initial.
    received: u64,
    loss_rate: f64,
    ecn_alpha: f64,
    /// Packets acknowledged and marked since the last update of `ecn_alpha`.
    marks: (u64, u64),
}

impl C4 {
    /// Creates a controller in Initial.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let mds = path.max_datagram_size.max(1);
        Self {
            mds,
            first_window: initial_window_or_default(params.initial_window, mds),
            state: State::Initial,
            rate: 0.0,
            max_rtt: 0.0,
            min_rtt: f64::INFINITY,
            alpha: params.initial_gain,
            alpha_previous: params.initial_gain,
            era: Era { first: 0, rtts: None },
            next_pn: 0,
            eras: 0,
            rate_before: 0.0,
            push: None,
            pushes: 0,
            congested: false,
            restarted: false,
            received: 0,
            loss_rate: 0.0,
            ecn_alpha: 0.0,
            marks: (0, 0),
            params,
        }
    }

    fn thresholds(&self) -> Thresholds {
        Thresholds { rate: self.rate, max_rtt: self.max_rtt }
    }

    /// Begins an era, in the next state.
    fn begin(&mut self, state: State, alpha: f64) {
        if state != self.state {
            (self.state, self.eras) = (state, 0);
        }
        (self.alpha_previous, self.alpha) = (self.alpha, alpha);
        self.era = Era { first: self.next_pn, rtts: None };
        self.update_marks();
    }

    fn enter_initial(&mut self) {
        self.begin(State::Initial, self.params.initial_gain);
        (self.received, self.rate_before, self.push) = (0, self.rate, None);
        (self.pushes, self.congested, self.ecn_alpha, self.eras) = (0, false, 0.0, 0);
    }

    fn enter_recovery(&mut self, congested: bool) {
        self.push = (self.state == State::Pushing).then_some(self.alpha);
        self.congested = congested;
        self.begin(State::Recovery, self.params.recovery_gain);
    }

    /// Updates max_rtt and min_rtt at the end of an era.
    fn update_rtts(&mut self) {
        let Some((min, max)) = self.era.rtts.filter(|_| self.alpha_previous <= 1.0) else { return };
        let decayed = |old: f64, new: f64| (7.0 * old + new) / 8.0;
        self.min_rtt = if min < self.min_rtt { min } else { decayed(self.min_rtt, min) };
        let max = max.min(self.min_rtt + self.params.max_jitter.as_secs_f64());
        self.max_rtt = if max > self.max_rtt { max } else { decayed(self.max_rtt, max) };
    }

    /// Reports whether the rate has grown by enough after an era with this gain.
    fn has_grown(&self, gain: f64) -> bool {
        if gain > self.params.push_gain_low {
            self.rate >= self.rate_before * (1.0 + (gain - 1.0) / 4.0)
        } else {
            self.rate > self.rate_before
        }
    }

    fn end_era(&mut self, app_limited: bool) {
        match self.state {
            State::Initial => self.end_initial_era(app_limited),
            State::Recovery => {
                self.update_rtts();
                self.end_recovery();
            }
            State::Cruising => {
                self.update_rtts();
                self.eras += 1;
                if self.eras >= self.params.cruise_eras && !app_limited {
                    let Params { push_gain, push_gain_low, .. } = self.params;
                    self.congested = false;
                    self.begin(State::Pushing, if self.pushes > 0 { push_gain } else { push_gain_low });
                } else {
                    self.begin(State::Cruising, 1.0);
                }
            }
            State::Pushing => {
                self.update_rtts();
                self.enter_recovery(false);
            }
        }
    }

    fn end_initial_era(&mut self, app_limited: bool) {
        if self.has_grown(self.alpha) {
            self.eras = 0;
        } else if !app_limited && self.rate > 0.0 {
            self.eras += 1;
        }
        if self.eras >= self.params.eras_without_growth {
            self.enter_recovery(false);
        } else {
            self.rate_before = self.rate;
            self.begin(State::Initial, self.alpha);
        }
    }

    /// Judges the push before this Recovery, and leaves it.
    fn end_recovery(&mut self) {
        let success = self.push.is_some_and(|gain| self.has_grown(gain)) && !self.congested;
        self.pushes = if success { self.pushes + 1 } else { 0 };
        (self.rate_before, self.ecn_alpha) = (self.rate, 0.0);
        let jitter = !self.restarted && self.min_rtt < self.params.jitter_restart * self.max_rtt;
        self.restarted |= jitter;
        if jitter || self.pushes >= self.params.successful_pushes {
            self.enter_initial();
        } else {
            self.begin(State::Cruising, 1.0);
        }
    }

    /// Responds to a signal that lowers the rate by `beta`.
    fn signal(&mut self, beta: f64, loss: bool) {
        match self.state {
            State::Initial if loss && self.received <= self.params.packets_before_loss => {}
            State::Initial if !loss && self.eras < 2 => {}
            State::Initial => self.enter_recovery(true),
            State::Recovery => self.congested = true,
            State::Cruising => {
                self.rate *= 1.0 - beta;
                self.max_rtt *= if loss { 1.0 - beta } else { 1.0 };
                self.enter_recovery(true);
            }
            State::Pushing => self.enter_recovery(true),
        }
    }

    fn on_rtt(&mut self, rtt: f64) {
        if self.max_rtt == 0.0 {
            self.max_rtt = rtt;
        }
        let (min, max) = self.era.rtts.unwrap_or((rtt, rtt));
        self.era.rtts = Some((min.min(rtt), max.max(rtt)));
        let threshold = self.thresholds().delay(self.params.delay_threshold_max);
        let excess = rtt - (self.max_rtt + threshold);
        if excess > 0.0 {
            self.signal(self.params.beta.min(excess / threshold.max(1e-9)), false);
        }
    }

    /// Smooths the share of marks. picoquic c4_update_ecn_alpha.
    fn update_marks(&mut self) {
        let (acked, marked) = core::mem::take(&mut self.marks);
        if acked > 0 {
            let share = (marked as f64 / acked as f64).min(1.0);
            let jumps = share > self.ecn_alpha && share >= JUMP;
            self.ecn_alpha += if jumps { 1.0 } else { WEIGHT } * (share - self.ecn_alpha);
        }
    }

    fn on_marks(&mut self) {
        self.update_marks();
        let threshold = self.thresholds().marks();
        let beta = (self.ecn_alpha - threshold) / threshold;
        if beta > 0.0 {
            self.signal(self.params.beta.min(beta), false);
        }
    }
}

impl Controller for C4 {
    fn needs(&self) -> Needs {
        Needs { rate_samples: true, mark_counts: self.params.ecn, ..Needs::default() }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.next_pn = sent.pn + 1;
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        if let Some(rtt) = rtt_measurement(ack) {
            self.on_rtt(rtt.as_secs_f64());
        }
        for _ in ack.packets {
            self.loss_rate *= 1.0 - WEIGHT;
        }
        self.received += ack.packets.len() as u64;
        let rate = ack.rate.and_then(|rate| rate.delivery_rate).map_or(0.0, Rate::bytes_per_sec);
        if !(self.state == State::Recovery && self.congested) {
            self.rate = self.rate.max(rate);
        }
        if self.params.ecn {
            self.marks = (self.marks.0 + ack.packets.len() as u64, self.marks.1 + ack.ce);
            if ack.ce > 0 {
                self.on_marks();
            }
        }
        if ack.packets.last().is_some_and(|newest| newest.pn >= self.era.first) {
            self.end_era(ack.app_limited);
        }
        None
    }

    fn on_lost(&mut self, lost: &Lost) {
        for _ in lost.packets.iter().filter(|packet| packet.detection != Detection::Timeout) {
            self.loss_rate += WEIGHT * (1.0 - self.loss_rate);
            if self.loss_rate > self.thresholds().loss() {
                self.signal(self.params.beta, true);
            }
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.cause == Cause::PersistentCongestion {
            (self.rate, self.max_rtt, self.min_rtt) = (0.0, 0.0, f64::INFINITY);
            self.enter_initial();
        }
    }

    /// The rate controls the sender, so the window must not be changed in recovery.
    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.mds = path.max_datagram_size.max(1);
    }

    fn control(&self) -> Control {
        let mut rate = self.alpha * self.rate;
        let margin = if self.state == State::Initial { Duration::ZERO } else { self.params.window_margin };
        let mut cwnd = ((rate * (self.max_rtt + margin.as_secs_f64())) as u64).max(2 * self.mds);
        if self.state == State::Initial || self.rate == 0.0 {
            rate = rate.max(self.params.initial_rate.bytes_per_sec());
            cwnd = cwnd.max(self.first_window);
        }
        let quantum = (cwnd / 4).min(QUANTUM).max(2 * self.mds);
        let pacing_rate = Some(Rate(Rate::from_bytes_per_sec(rate).0.max(1)));
        Control { pacing_rate, send_quantum: Some(quantum), ..Control::window(cwnd) }
    }

    /// Reports the variables under the specification's names.
    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("nominal_rate", self.rate);
        put("nominal_max_rtt", self.max_rtt);
        put("running_min_rtt", self.min_rtt);
        put("alpha_current", self.alpha);
        put("smoothed_loss_rate", self.loss_rate);
        put("ecn_alpha", self.ecn_alpha);
        put(STATE, self.state.number());
    }
}
