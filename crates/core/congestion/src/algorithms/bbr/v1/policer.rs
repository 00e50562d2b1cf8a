//! Detection of token-bucket policers (Linux's `lt_bw`): the path has high loss and a constant
//! long-term delivery rate.
//!
//! ```text
//! interval   begins and ends with a loss, 4 to 16 rounds, not application-limited
//! counts     if lost / delivered >= 50/256
//! policed    two counted intervals in a row, rates within 1/8 or 4 kbit/s of each other
//! lt_bw      their mean, for 48 rounds of ProbeBW, instead of the windowed maximum; pacing gain 1
//! ```

use super::Params;
use units::{Rate, Time};

/// State of the path at an ACK or a timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// Time at which the last byte was delivered.
    pub(super) now: Time,
    /// `C.delivered`, bytes.
    pub(super) delivered: u64,
    /// Bytes lost since the start.
    pub(super) lost: u64,
    /// Whether something was lost just now.
    pub(super) losses: bool,
    pub(super) app_limited: bool,
    pub(super) round_start: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    pub(super) lt_use_bw: bool,
    /// Rate of the last counted interval, or zero.
    pub(super) lt_bw: Rate,
    is_sampling: bool,
    rtt_cnt: u64,
    last_stamp: Time,
    last_delivered: u64,
    last_lost: u64,
}

impl Policer {
    /// `bbr_lt_bw_sampling`. Returns whether the policed rate has just been given up.
    pub(super) fn sample(&mut self, p: &Params, e: &Evidence, is_probe_bw: bool) -> bool {
        if self.lt_use_bw {
            return self.age(p, e, is_probe_bw);
        }
        if !self.is_sampling {
            // The bucket is empty at the first loss. Earlier rates would be too high.
            if !e.losses {
                return false;
            }
            self.begin_interval(e);
            self.is_sampling = true;
        }
        self.rtt_cnt += u64::from(e.round_start);
        if e.app_limited || self.rtt_cnt > p.lt_intvl_max_rtts {
            self.reset(e);
        } else if self.rtt_cnt >= p.lt_intvl_min_rtts && e.losses {
            self.end_interval(p, e);
        }
        false
    }

    /// Gives up the rate after a while, because the policer may be gone.
    fn age(&mut self, p: &Params, e: &Evidence, is_probe_bw: bool) -> bool {
        self.rtt_cnt += u64::from(is_probe_bw && e.round_start);
        let over = self.rtt_cnt >= p.lt_bw_max_rtts;
        if over {
            self.reset(e);
        }
        over
    }

    /// Implements `bbr_reset_lt_bw_sampling`.
    pub(super) fn reset(&mut self, e: &Evidence) {
        *self = Self::default();
        self.begin_interval(e);
    }

    fn begin_interval(&mut self, e: &Evidence) {
        self.last_stamp = e.now;
        self.last_delivered = e.delivered;
        self.last_lost = e.lost;
        self.rtt_cnt = 0;
    }

    /// Ends an interval at a loss, if the bucket has been empty for the whole interval.
    fn end_interval(&mut self, p: &Params, e: &Evidence) {
        let delivered = e.delivered.saturating_sub(self.last_delivered);
        let lost = e.lost.saturating_sub(self.last_lost);
        let bw = Rate::from_delivery(delivered, e.now - self.last_stamp);
        if bw > Rate(0) && lost as f64 >= p.lt_loss_thresh * delivered as f64 {
            self.interval_done(p, e, bw);
        }
    }

    /// Implements `bbr_lt_bw_interval_done`.
    fn interval_done(&mut self, p: &Params, e: &Evidence, bw: Rate) {
        let diff = bw.0.abs_diff(self.lt_bw.0);
        let close = diff as f64 <= p.lt_bw_ratio * self.lt_bw.0 as f64 || diff <= p.lt_bw_diff.0;
        if self.lt_bw > Rate(0) && close {
            // Halve each rate first, because the sum may overflow.
            self.lt_bw = Rate(bw.0 / 2 + self.lt_bw.0 / 2);
            self.lt_use_bw = true;
            self.rtt_cnt = 0;
            return;
        }
        self.lt_bw = bw;
        self.begin_interval(e);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of 1 Mbit/s times `scale` with one round per 100 ms. It loses this share of what it
    /// delivers.
    struct Rounds {
        policer: Policer,
        e: Evidence,
    }

    impl Rounds {
        fn new() -> Self {
            let now = Time::ZERO;
            let e =
                Evidence { now, delivered: 0, lost: 0, losses: false, app_limited: false, round_start: true };
            Self { policer: Policer::default(), e }
        }

        fn round(&mut self, scale: f64, loss: f64) -> bool {
            let bytes = 12_500.0 * scale;
            self.e.now = Time(self.e.now.0 + 100_000_000);
            self.e.delivered += bytes as u64;
            self.e.lost += (bytes * loss) as u64;
            self.e.losses = loss > 0.0;
            self.policer.sample(&Params::default(), &self.e, true)
        }

        fn rounds(&mut self, n: u64, scale: f64, loss: f64) {
            (0..n).for_each(|_| assert!(!self.round(scale, loss)));
        }
    }

    /// The interval begins with the first loss. Two intervals of four rounds each agree.
    #[test]
    fn two_like_intervals() {
        let mut r = Rounds::new();
        r.rounds(9, 1.0, 0.0);
        assert!(!r.policer.is_sampling);
        // The round that begins the interval counts as its first.
        r.rounds(4, 1.0, 0.25);
        assert_eq!(r.policer.lt_bw, Rate(1_000_000));
        assert!(!r.policer.lt_use_bw);
        r.rounds(4, 1.1, 0.25);
        assert!(r.policer.lt_use_bw);
        assert_eq!(r.policer.lt_bw, Rate(1_050_000), "their mean");
    }

    #[test]
    fn unlike_intervals_and_little_loss_prove_nothing() {
        let mut r = Rounds::new();
        r.rounds(4, 1.0, 0.25);
        r.rounds(4, 1.2, 0.25);
        assert!(!r.policer.lt_use_bw, "more than an eighth apart");
        let mut r = Rounds::new();
        r.rounds(40, 1.0, 0.19);
        assert!(!r.policer.lt_use_bw, "below 50 / 256");
    }

    #[test]
    fn the_application_may_not_be_the_limit() {
        let mut r = Rounds::new();
        r.rounds(4, 1.0, 0.25);
        r.e.app_limited = true;
        r.rounds(1, 1.0, 0.25);
        assert_eq!(r.policer.lt_bw, Rate(0));
        assert!(!r.policer.is_sampling);
    }

    #[test]
    fn an_interval_without_end_is_dropped() {
        let mut r = Rounds::new();
        r.rounds(1, 1.0, 0.25);
        r.rounds(15, 1.0, 0.0);
        assert!(r.policer.is_sampling);
        r.rounds(1, 1.0, 0.0);
        assert!(!r.policer.is_sampling);
    }

    #[test]
    fn holds_for_48_rounds() {
        let mut r = Rounds::new();
        r.rounds(8, 1.0, 0.25);
        assert!(r.policer.lt_use_bw);
        r.rounds(47, 3.0, 0.0);
        assert!(r.round(3.0, 0.0), "given up");
        assert!(!r.policer.lt_use_bw);
    }
}
