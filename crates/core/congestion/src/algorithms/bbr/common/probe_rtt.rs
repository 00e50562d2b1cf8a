//! Duration of ProbeRTT, and the packets that it limits.

use super::rounds::{NO_SAMPLE, Rounds};
use crate::{Ack, RateSample};
use units::{Duration, Time};

#[derive(Clone, Debug, Default)]
pub(crate) struct ProbeRtt {
    /// Time at which the low inflight has lasted long enough. `None` until inflight is low.
    pub(crate) done_stamp: Option<Time>,
    round_done: bool,
    /// Values of `C.delivered`, both included, between which sent packets are limited by ProbeRTT,
    /// not by the path.
    limited: Option<(u64, u64)>,
}

impl ProbeRtt {
    /// Returns the sender's sample, marked as limited if ProbeRTT limited its packet.
    pub(crate) fn mark(&self, rate: Option<RateSample>) -> RateSample {
        rate.map_or(NO_SAMPLE, |rs| RateSample {
            app_limited: rs.app_limited || self.limits(rs.prior_delivered),
            ..rs
        })
    }

    /// Reports whether ProbeRTT limited the sender when a packet with this `P.delivered` was sent.
    fn limits(&self, prior_delivered: u64) -> bool {
        self.limited.is_some_and(|(from, to)| from <= prior_delivered && prior_delivered <= to)
    }

    /// `MarkConnectionAppLimited`. The mark stays in the controller, because the sender's marks
    /// stand for the application alone.
    pub(crate) fn mark_app_limited(&mut self, ack: &Ack) {
        let from = self.limited.map_or(ack.delivered, |(from, _)| from);
        self.limited = Some((from, ack.delivered.saturating_add(ack.bytes_in_flight)));
    }

    /// `HandleProbeRTT`: at least `duration` and one round with at most `cwnd` in flight.
    ///
    /// Returns whether the round is over. [`ProbeRtt::is_done`] checks the time.
    pub(crate) fn advance(&mut self, ack: &Ack, rounds: &mut Rounds, cwnd: u64, duration: Duration) -> bool {
        self.mark_app_limited(ack);
        if self.done_stamp.is_none() {
            if ack.bytes_in_flight <= cwnd {
                self.done_stamp = Some(ack.now + duration);
                self.round_done = false;
                rounds.begin();
            }
            return false;
        }
        self.round_done |= rounds.start;
        self.round_done
    }

    pub(crate) fn is_done(&self, now: Time) -> bool {
        self.done_stamp.is_some_and(|done| now > done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixtures::acked;

    /// Exactly the packets sent from the first mark until one flight after the last.
    #[test]
    fn its_own_packets_are_limited() {
        let mut d = ProbeRtt::default();
        for (delivered, bytes_in_flight) in [(10_000, 60_000), (30_000, 50_000)] {
            d.mark_app_limited(&Ack { delivered, bytes_in_flight, ..acked(1200) });
        }
        for (prior, limited) in [(9_999, false), (10_000, true), (80_000, true), (80_001, false)] {
            assert_eq!(d.limits(prior), limited, "{prior}");
        }
    }

    /// Starts when inflight is low, then lasts 200 ms and a round.
    #[test]
    fn time_and_a_round() {
        let (mut d, mut rounds) = (ProbeRtt::default(), Rounds::default());
        for (ms, inflight, round, over, done) in [
            (0, 5000, true, false, false),
            (10, 4000, true, false, false),
            (100, 4000, false, false, false),
            (210, 4000, false, false, false),
            (211, 4000, false, false, true),
            (220, 4000, true, true, true),
        ] {
            rounds.start = round;
            let now = Time::from_millis(ms);
            let ack = Ack { now, bytes_in_flight: inflight, ..acked(1200) };
            assert_eq!(d.advance(&ack, &mut rounds, 4000, Duration::from_millis(200)), over, "{ms}");
            assert_eq!(d.is_done(now), done, "{ms}");
        }
    }
}
