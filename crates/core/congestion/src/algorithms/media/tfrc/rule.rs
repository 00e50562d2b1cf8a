//! The sender: X from X_recv, p and R, and the nofeedback timer. Sections are those of RFC 5348.

use super::limits::ReceiveRates;
use super::params::Params;
use units::{Duration, Time};

/// One feedback.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feedback {
    pub(super) now: Time,
    pub(super) sample: Duration,
    /// Whether the application limited the sender.
    pub(super) data_limited: bool,
}

/// The sender's state.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    params: Params,
    /// Segment size s, in bytes.
    pub(super) s: u64,
    /// R, once known.
    pub(super) rtt: Option<Duration>,
    r_sqmean: f64,
    r_sample: f64,
    pub(super) x: f64,
    pub(super) x_recv: f64,
    pub(super) x_bps: f64,
    pub(super) p: f64,
    rates: ReceiveRates,
    /// tld, time of the last doubling.
    doubled: Time,
    pub(super) last_feedback: Time,
    pub(super) nofeedback: Time,
    /// Whether nothing has been sent since the nofeedback timer was set.
    pub(super) idle: bool,
}

impl Rule {
    /// Creates a sender in slow start.
    pub(super) fn new(params: Params, s: u64) -> Self {
        let mut rule = Self {
            s,
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
        rule.x = rule.initial_rate();
        rule
    }

    pub(super) fn r(&self) -> Duration {
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
    pub(super) fn throughput(&self, p: f64) -> f64 {
        let (b, r) = (self.params.b, self.r().as_secs_f64());
        let losses = libm::sqrt(2.0 * b * p / 3.0);
        let timeouts = self.params.rto * 3.0 * libm::sqrt(3.0 * b * p / 8.0) * p * (1.0 + 32.0 * p * p);
        self.s as f64 / (r * (losses + timeouts))
    }

    /// Returns the first loss interval in packets, section 6.3.1: the throughput equation inverted
    /// by bisection.
    pub(super) fn first_interval(&self) -> f64 {
        let target = self.x_recv.max(self.s as f64 / self.r().as_secs_f64());
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let p = 0.5 * (low + high);
            if self.throughput(p) > target { low = p } else { high = p }
        }
        1.0 / high
    }

    /// Section 4.3, from step 1 on. `p` is the loss event rate; `fresh` says that an event began.
    pub(super) fn on_feedback(&mut self, feedback: Feedback, p: f64, fresh: bool) {
        let Feedback { now, sample, data_limited } = feedback;
        let (q, q2, first) = (self.params.q, self.params.q2, self.rtt.is_none());
        self.rtt = Some(self.rtt.map_or(sample, |r| r.mul_f64(q) + sample.mul_f64(1.0 - q)));
        self.r_sample = libm::sqrt(sample.as_secs_f64());
        let old = self.r_sqmean;
        self.r_sqmean = if first { self.r_sample } else { q2 * old + (1.0 - q2) * self.r_sample };
        if first {
            (self.x, self.doubled, self.rates) = (self.initial_rate(), now, ReceiveRates::unlimited(now));
        }
        let worse = fresh || p > self.p;
        self.p = p;
        let limit = self.recv_limit(now, data_limited, worse);
        self.update_x(now, limit);
        self.last_feedback = now;
        self.set_timer(now);
    }

    /// Returns recv_limit, section 4.3, step 4.
    pub(super) fn recv_limit(&mut self, now: Time, data_limited: bool, worse: bool) -> f64 {
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

    pub(super) fn set_timer(&mut self, now: Time) {
        let rto = (self.r() * 4).max(Duration::from_secs_f64(2.0 * self.s as f64 / self.x));
        self.nofeedback =
            now + if self.rtt.is_some() { rto } else { self.params.first_timer.max(Duration(1)) };
        self.idle = true;
    }

    /// Section 4.4.
    pub(super) fn expire(&mut self, now: Time) {
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
    pub(super) fn x_inst(&self) -> f64 {
        let damped = self.params.damping && self.r_sample > 0.0;
        let factor = if damped { self.r_sqmean / self.r_sample } else { 1.0 };
        (self.x * factor).max(self.least())
    }
}
