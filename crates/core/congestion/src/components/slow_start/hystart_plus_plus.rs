//! HyStart++, RFC 9406 sections 4.2 and 4.3.

use super::Round;
use crate::Ack;
use units::Duration;

/// MIN_RTT_THRESH, RFC 9406 section 4.3.
pub(super) const MIN_RTT_THRESH: Duration = Duration::from_millis(4);

/// MAX_RTT_THRESH, RFC 9406 section 4.3.
pub(super) const MAX_RTT_THRESH: Duration = Duration::from_millis(16);

/// MIN_RTT_DIVISOR, RFC 9406 section 4.3.
pub(super) const MIN_RTT_DIVISOR: u64 = 8;

/// N_RTT_SAMPLE, RFC 9406 section 4.3.
pub(super) const N_RTT_SAMPLE: u64 = 8;

/// CSS_GROWTH_DIVISOR, RFC 9406 section 4.3.
pub(super) const CSS_GROWTH_DIVISOR: u64 = 4;

/// CSS_ROUNDS, RFC 9406 section 4.3.
pub(super) const CSS_ROUNDS: u64 = 5;

/// L of a sender that does not pace, in packets, RFC 9406 section 4.3.
pub(super) const L_UNPACED: u64 = 8;

/// State of conservative slow start.
#[derive(Clone, Debug)]
pub(super) struct Css {
    pub(super) baseline_min_rtt: Duration,
    pub(super) rounds: u64,
}

#[derive(Clone, Debug)]
pub(super) struct PlusPlus {
    pub(super) last_round_min_rtt: Duration,
    pub(super) current: Round,
    pub(super) css: Option<Css>,
}

impl Default for PlusPlus {
    fn default() -> Self {
        Self { last_round_min_rtt: Duration::MAX, current: Round::EMPTY, css: None }
    }
}

impl PlusPlus {
    pub(super) fn ended(&mut self, ack: &Ack) -> bool {
        if ack.round_start {
            self.last_round_min_rtt = self.current.min_rtt;
            self.current = Round::EMPTY;
            if let Some(css) = &mut self.css {
                css.rounds += 1;
                if css.rounds >= CSS_ROUNDS {
                    return true;
                }
            }
        }
        if let Some(rtt) = ack.latest_rtt {
            self.current.sample(rtt);
        }
        if self.current.samples >= N_RTT_SAMPLE {
            self.judge();
        }
        false
    }

    pub(super) fn judge(&mut self) {
        let Self { last_round_min_rtt: last, current, css } = self;
        match css {
            // The RTT fell again, so the rise was jitter.
            Some(c) if current.min_rtt < c.baseline_min_rtt => *css = None,
            Some(_) => {}
            None if *last != Duration::MAX && current.min_rtt >= *last + rtt_thresh(*last) => {
                *css = Some(Css { baseline_min_rtt: current.min_rtt, rounds: 0 });
            }
            None => {}
        }
    }
}

/// Returns RttThresh, RFC 9406 section 4.2.
pub(super) fn rtt_thresh(last_round_min_rtt: Duration) -> Duration {
    (last_round_min_rtt / MIN_RTT_DIVISOR).min(MAX_RTT_THRESH).max(MIN_RTT_THRESH)
}
