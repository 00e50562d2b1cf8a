//! HyStart as in Linux tcp_cubic.c.

use super::Round;
use crate::Ack;
use units::{Duration, Time};

/// hystart_low_window, packets, Linux tcp_cubic.c.
pub(super) const HYSTART_LOW_WINDOW: u64 = 16;

/// HYSTART_MIN_SAMPLES, Linux tcp_cubic.c.
pub(super) const HYSTART_MIN_SAMPLES: u64 = 8;

/// HYSTART_DELAY_MIN, Linux tcp_cubic.c.
pub(super) const HYSTART_DELAY_MIN: Duration = Duration::from_millis(4);

/// HYSTART_DELAY_MAX, Linux tcp_cubic.c.
pub(super) const HYSTART_DELAY_MAX: Duration = Duration::from_millis(16);

/// The 3-bit shift of HYSTART_DELAY_THRESH's argument, Linux tcp_cubic.c.
pub(super) const HYSTART_DELAY_DIVISOR: u64 = 8;

/// hystart_ack_delta_us, Linux tcp_cubic.c.
pub(super) const HYSTART_ACK_DELTA: Duration = Duration::from_millis(2);

/// The cap in hystart_ack_delay(), Linux tcp_cubic.c.
pub(super) const HYSTART_ACK_DELAY: Duration = Duration::from_millis(1);

/// A train of ACKs that started with the round.
#[derive(Clone, Debug, Default)]
pub(super) struct Train {
    pub(super) round_start: Time,
    pub(super) last_ack: Time,
}

#[derive(Clone, Debug)]
pub(super) struct Linux {
    pub(super) delay_min: Duration,
    pub(super) current: Round,
    pub(super) train: Train,
}

impl Default for Linux {
    fn default() -> Self {
        Self { delay_min: Duration::MAX, current: Round::EMPTY, train: Train::default() }
    }
}

impl Linux {
    pub(super) fn ended(&mut self, ack: &Ack, large_enough: bool, paced: bool) -> bool {
        if ack.round_start {
            self.current = Round::EMPTY;
            self.train = Train { round_start: ack.now, last_ack: ack.now };
        }
        // Linux evaluates an ACK only if it has an RTT sample.
        let Some(rtt) = ack.latest_rtt else { return false };
        self.delay_min = self.delay_min.min(rtt);
        // Both tests keep state, so both must run.
        large_enough && (self.train_is_long(ack.now, paced) | self.delay_rose(rtt))
    }

    /// Reports whether the ACK train is long. In slow start, pacing spreads a window over up to
    /// half of the round trip.
    pub(super) fn train_is_long(&mut self, now: Time, paced: bool) -> bool {
        if now - self.train.last_ack > HYSTART_ACK_DELTA {
            return false;
        }
        self.train.last_ack = now;
        let whole = self.delay_min + HYSTART_ACK_DELAY;
        now - self.train.round_start > if paced { whole } else { whole / 2 }
    }

    pub(super) fn delay_rose(&mut self, rtt: Duration) -> bool {
        let enough = self.current.samples >= HYSTART_MIN_SAMPLES;
        self.current.sample(rtt);
        let thresh = (self.delay_min / HYSTART_DELAY_DIVISOR).clamp(HYSTART_DELAY_MIN, HYSTART_DELAY_MAX);
        enough && self.current.min_rtt > self.delay_min + thresh
    }
}
