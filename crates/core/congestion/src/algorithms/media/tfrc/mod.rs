//! TFRC, TCP-friendly rate control: RFC 5348 (September 2008). Sections refer to it. Rates are in
//! bytes per second, times in seconds.
//!
//! ```text
//! throughput   X_Bps = s / (R sqrt(2 b p / 3) + t_RTO 3 sqrt(3 b p / 8) p (1 + 32 p^2)),  t_RTO = 4 R          (3.1)
//!
//! feedback     once per R, and at each new loss event: X_recv, p
//!   R          = q R + (1 - q) R_sample;  t_RTO = max(4 R, 2 s / X)                                             (4.3)
//!   recv_limit = 2 max(X_recv_set): the rates of the last two R
//!                data-limited:  the largest rate so far; with a new event or a larger p: half of the old ones, 0.85 X_recv,
//!                and recv_limit = max(X_recv_set)
//!   p > 0:     X = max(min(X_Bps, recv_limit), s / t_mbi)
//!   p = 0:     X = max(min(2 X, recv_limit), W_init / R), once per R
//! no feedback for t_RTO: half of X, of X_recv_set or of X_Bps, not below s / t_mbi                              (4.4)
//! `damping`    X_inst = X R_sqmean / sqrt(R_sample),  R_sqmean = q2 R_sqmean + (1 - q2) sqrt(R_sample)          (4.5)
//!
//! loss event   the losses and marks of packets sent within R of its first one                                   (5.2)
//! interval     packets from the first lost one of an event to that of the next                                  (5.3)
//! p            = 1 / mean of the last 8 intervals, see `loss_intervals`                                         (5.4)
//! first one    1 / p for which X_Bps = X_recv                                                                   (6.3.1)
//! W_init       = min(4 s, max(2 s, 4380 bytes))                                                                 (4.2)
//! ```
//!
//! The RFC allows the sender to compute p itself (section 3). ACKs name every packet, so this code
//! does, and needs neither receive times nor a feedback packet. X_recv is the delivery-rate sample
//! of the ACK, which covers about an RTT as in section 6.2. It says too whether the application
//! limited the sender.
//!
//! Deviations: an event is bounded by sending times, not by interpolated arrival times. Losses are
//! those detected by the sender; a loss that proves spurious stays one. A mark is taken for the
//! newest packet of its ACK. s is the full packet size. Before the first sample, W_init is spread
//! over `initial-rtt`. History discounting (section 5.5, optional) is not implemented. The window
//! does not limit the rate, see `receiver_report`.

mod limits;
mod loss;
mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::components::picoquic::rtt_measurement;
use crate::components::receiver_report::Window;
use crate::{Ack, Cause, Congestion, Control, Controller, Lost, Needs, PathInfo, Sent};
use limits::ReceiveRates;
use loss::LossEvents;
use units::{Duration, Time};

crate::variables! {
    /// Allowed sending rate, X. RFC 5348 section 4.3.
    x: "bytes/s",
    /// Receive rate of the last feedback, X_recv. RFC 5348 section 3.2.2.
    x_recv: "bytes/s"; later,
    /// Rate of the throughput equation, X_Bps, from the first loss on. RFC 5348 section 3.1.
    x_bps: "bytes/s"; later,
    /// Loss event rate, 0..1. RFC 5348 section 5.4.
    p: "",
    /// Round-trip time, R, from the first sample on. RFC 5348 section 4.3.
    r: "s"; later,
}

/// The controller: the RFC's sender, with the receiver's loss intervals.
#[derive(Clone, Debug)]
pub struct Tfrc {
    params: Params,
    /// Segment size s, in bytes.
    s: u64,
    window: Window,
    events: LossEvents,
    /// R, once known.
    rtt: Option<Duration>,
    r_sqmean: f64,
    r_sample: f64,
    x: f64,
    x_recv: f64,
    x_bps: f64,
    p: f64,
    rates: ReceiveRates,
    /// tld, time of the last doubling.
    doubled: Time,
    last_feedback: Time,
    nofeedback: Time,
    /// Whether nothing has been sent since the nofeedback timer was set.
    idle: bool,
}

impl Tfrc {
    /// Creates a controller in slow start.
    pub fn new(params: Params, path: PathInfo) -> Self {
        let mut cc = Self {
            s: path.max_datagram_size.max(1),
            window: Window::new(path, Duration::ZERO, params.window, params.min_window),
            events: LossEvents::default(),
            rtt: None,
            r_sqmean: 0.0,
            r_sample: 0.0,
            x: 0.0,
            x_recv: 0.0,
            x_bps: f64::INFINITY,
            p: 0.0,
            rates: ReceiveRates::unlimited(Time::ZERO),
            doubled: Time::ZERO,
            last_feedback: Time::ZERO,
            nofeedback: Time::NEVER,
            idle: true,
            params,
        };
        cc.x = cc.initial_rate();
        cc
    }

    fn r(&self) -> Duration {
        self.rtt.unwrap_or(self.params.initial_rtt).max(Duration(1))
    }

    /// Returns W_init / R.
    fn initial_rate(&self) -> f64 {
        (4 * self.s).min((2 * self.s).max(4380)) as f64 / self.r().as_secs_f64()
    }

    /// Returns s / t_mbi.
    fn least(&self) -> f64 {
        self.s as f64 / self.params.t_mbi.as_secs_f64().max(1e-3)
    }

    /// Returns X_Bps by the throughput equation, section 3.1.
    fn throughput(&self, p: f64) -> f64 {
        let (b, r) = (self.params.b, self.r().as_secs_f64());
        let losses = libm::sqrt(2.0 * b * p / 3.0);
        let timeouts = self.params.rto * 3.0 * libm::sqrt(3.0 * b * p / 8.0) * p * (1.0 + 32.0 * p * p);
        self.s as f64 / (r * (losses + timeouts))
    }

    /// Returns the first loss interval in packets, section 6.3.1: the throughput equation inverted
    /// by bisection.
    fn first_interval(&self) -> f64 {
        let target = self.x_recv.max(self.s as f64 / self.r().as_secs_f64());
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let p = 0.5 * (low + high);
            if self.throughput(p) > target { low = p } else { high = p }
        }
        1.0 / high
    }

    /// Reports a lost or marked packet.
    fn on_congested(&mut self, pn: u64, sent: Time) {
        if !self.events.covers(sent, self.r()) {
            self.events.begin(pn, sent, self.first_interval());
        }
    }

    /// Section 4.3, from step 1 on.
    fn on_feedback(&mut self, ack: &Ack, sample: Duration, data_limited: bool) {
        let (now, first) = (ack.now, self.rtt.is_none());
        let q = self.params.q;
        self.rtt = Some(self.rtt.map_or(sample, |r| r.mul_f64(q) + sample.mul_f64(1.0 - q)));
        self.r_sample = libm::sqrt(sample.as_secs_f64());
        let (q2, old) = (self.params.q2, self.r_sqmean);
        self.r_sqmean = if first { self.r_sample } else { q2 * old + (1.0 - q2) * self.r_sample };
        if first {
            (self.x, self.doubled, self.rates) = (self.initial_rate(), now, ReceiveRates::unlimited(now));
        }
        let (p, fresh) = (self.events.rate(), core::mem::take(&mut self.events.fresh));
        let worse = fresh || p > self.p;
        self.p = p;
        let limit = self.recv_limit(now, data_limited, worse);
        self.update_x(now, limit);
        self.last_feedback = now;
        self.set_timer(now);
    }

    /// Returns recv_limit, section 4.3, step 4.
    fn recv_limit(&mut self, now: Time, data_limited: bool, worse: bool) -> f64 {
        if !data_limited {
            self.rates.update(now, self.x_recv, self.r());
        } else if worse {
            self.rates.halve();
            self.rates.maximize(now, self.params.data_limited * self.x_recv);
            return self.rates.max();
        } else {
            self.rates.maximize(now, self.x_recv);
        }
        2.0 * self.rates.max()
    }

    /// Updates X, section 4.3, step 4.
    fn update_x(&mut self, now: Time, limit: f64) {
        if self.p > 0.0 {
            self.x_bps = self.throughput(self.p);
            self.x = self.x_bps.min(limit).max(self.least());
        } else if now - self.doubled >= self.r() {
            self.x = (2.0 * self.x).min(limit).max(self.initial_rate());
            self.doubled = now;
        }
    }

    fn set_timer(&mut self, now: Time) {
        let rto = (self.r() * 4).max(Duration::from_secs_f64(2.0 * self.s as f64 / self.x));
        self.nofeedback =
            now + if self.rtt.is_some() { rto } else { self.params.first_timer.max(Duration(1)) };
        self.idle = true;
    }

    /// Section 4.4.
    fn expire(&mut self, now: Time) {
        let (x_recv, recover) = (self.rates.max(), self.initial_rate());
        let small = if self.p > 0.0 { x_recv < recover } else { self.x < 2.0 * recover };
        if self.idle && (small || self.rtt.is_none()) {
            return self.set_timer(now);
        }
        if self.p == 0.0 {
            self.x = (self.x / 2.0).max(self.least());
        } else {
            let half = if self.x_bps > 2.0 * x_recv { x_recv } else { self.x_bps / 2.0 };
            let limit = half.max(self.least());
            self.rates.replace(now, limit / 2.0);
            self.update_x(now, limit);
        }
        self.set_timer(now);
    }

    /// Returns X_inst, or X without damping.
    fn x_inst(&self) -> f64 {
        let damped = self.params.damping && self.r_sample > 0.0;
        let factor = if damped { self.r_sqmean / self.r_sample } else { 1.0 };
        (self.x * factor).max(self.least())
    }
}

impl Controller for Tfrc {
    fn needs(&self) -> Needs {
        Needs { rate_samples: true, ..Needs::default() }
    }

    fn on_sent(&mut self, sent: &Sent) {
        if self.nofeedback == Time::NEVER {
            self.set_timer(sent.now);
        }
        self.idle = false;
    }

    fn on_ack(&mut self, ack: &Ack) -> Option<Cause> {
        self.window.on_ack(ack);
        if let Some(newest) = ack.packets.last() {
            self.events.on_acked(newest.pn);
            if ack.ce > 0 {
                self.on_congested(newest.pn, newest.sent);
            }
        }
        let (Some(sample), Some(rate)) = (rtt_measurement(ack), ack.rate) else { return None };
        if let Some(delivered) = rate.delivery_rate {
            self.x_recv = delivered.bytes_per_sec();
        }
        let due = self.rtt.is_none() || self.events.fresh || ack.now - self.last_feedback >= self.r();
        if due && self.x_recv > 0.0 {
            self.on_feedback(ack, sample, rate.app_limited);
        }
        None
    }

    fn on_lost(&mut self, lost: &Lost) {
        for packet in lost.packets {
            self.on_congested(packet.pn, packet.sent);
        }
    }

    /// Losses act by p. The nofeedback timer replaces the timeout.
    fn on_congestion(&mut self, _: &Congestion) {}

    fn on_timer(&mut self, now: Time) {
        if now >= self.nofeedback {
            self.expire(now);
        }
    }

    /// The rate controls the sender, so the window must not be changed in recovery.
    fn shapes_recovery(&self) -> bool {
        true
    }

    fn on_path_change(&mut self, path: PathInfo) {
        self.s = path.max_datagram_size.max(1);
        self.window.on_path_change(path);
    }

    fn control(&self) -> Control {
        Control { wake: self.nofeedback, ..self.window.control(8.0 * self.x_inst()) }
    }

    fn trace(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("x", self.x);
        put("p", self.p);
        if let Some(r) = self.rtt {
            put("r", r.as_secs_f64());
            put("x_recv", self.x_recv);
        }
        if self.p > 0.0 {
            put("x_bps", self.x_bps);
        }
    }
}
