//! Estimates the length of the queue when a mark arrives. This is the gate of "Fairness improvement
//! method using explicit congestion notification for QUIC" (Uchida et al., IEICE ComEX, April
//! 2024), section 3, shared by its CUBIC and its BBR.
//!
//! ```text
//! R = RTT / minRTT          1          "at least 1.5": the buffer is large          (section 3)
//! ```
//!
//! The paper does not say which RTT and which minimum it uses. If a buffer of 1 BDP starts marking
//! when half full, every mark occurs at R of about 1.5. In that case the result depends on this
//! choice.

use crate::Ack;
use units::{Duration, Time};

/// The RTT in the numerator of R.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Estimator {
    /// RFC 9002's smoothed RTT, which lags behind a growing queue.
    Smoothed,
    /// Latest sample.
    Latest,
    /// Smallest sample of the last complete round trip, or of the first one until it ends.
    RoundMin,
}

/// R of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Ratio {
    estimator: Estimator,
    /// Age at which a minimum is replaced, or `None` for never.
    min_rtt_window: Option<Duration>,
    latest: Option<Duration>,
    /// Smallest samples of the current and of the last round trip.
    running: Option<Duration>,
    last_round: Option<Duration>,
    /// Minimum within the window, and the time at which it was measured.
    min: Option<(Duration, Time)>,
}

impl Ratio {
    pub(crate) fn new(estimator: Estimator, min_rtt_window: Option<Duration>) -> Self {
        Self { estimator, min_rtt_window, latest: None, running: None, last_round: None, min: None }
    }

    /// Returns R after this ACK. `None` before the first RTT sample.
    pub(crate) fn update(&mut self, ack: &Ack) -> Option<f64> {
        if ack.round_start && self.running.is_some() {
            self.last_round = self.running.take();
        }
        if let Some(rtt) = ack.latest_rtt {
            self.latest = Some(rtt);
            self.running = Some(self.running.map_or(rtt, |min| min.min(rtt)));
            let expired = |at: Time| self.min_rtt_window.is_some_and(|window| ack.now > at + window);
            if self.min.is_none_or(|(min, at)| rtt <= min || expired(at)) {
                self.min = Some((rtt, ack.now));
            }
        }
        let rtt = match self.estimator {
            Estimator::Smoothed => self.latest.map(|_| ack.smoothed_rtt),
            Estimator::Latest => self.latest,
            Estimator::RoundMin => self.last_round.or(self.running),
        };
        let min = match self.min_rtt_window {
            None => ack.min_rtt,
            Some(_) => self.min?.0,
        };
        // Integer nanoseconds, so that 60 ms over 40 ms is exactly 1.5.
        rtt.filter(|_| min > Duration::ZERO && min < Duration::MAX).map(|rtt| rtt.0 as f64 / min.0 as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixtures::acked;

    fn ack(ms: u64, rtt: u64, smoothed: u64, round_start: bool) -> Ack<'static> {
        let [latest_rtt, smoothed_rtt] = [rtt, smoothed].map(Duration::from_millis);
        let (now, min_rtt) = (Time::from_millis(ms), Duration::from_millis(40));
        Ack { now, latest_rtt: Some(latest_rtt), smoothed_rtt, min_rtt, round_start, ..acked(1200) }
    }

    /// Each reading of "RTT", with the same samples.
    #[test]
    fn estimators() {
        for (estimator, expected) in [
            (Estimator::Smoothed, [1.0, 1.25, 1.5, 1.5]),
            (Estimator::Latest, [1.0, 2.0, 1.75, 2.0]),
            (Estimator::RoundMin, [1.0, 1.0, 1.0, 1.75]),
        ] {
            let mut ratio = Ratio::new(estimator, None);
            let acks =
                [ack(0, 40, 40, true), ack(1, 80, 50, false), ack(40, 70, 60, true), ack(90, 80, 60, true)];
            let seen = acks.map(|a| ratio.update(&a));
            assert_eq!(seen, expected.map(Some), "{estimator:?}");
        }
    }

    /// A minimum over the last 10 s instead of all time.
    #[test]
    fn windowed_minimum() {
        let mut ratio = Ratio::new(Estimator::Latest, Some(Duration::from_secs(10)));
        assert_eq!(ratio.update(&ack(0, 50, 0, true)), Some(1.0));
        assert_eq!(ratio.update(&ack(10_000, 100, 0, true)), Some(2.0));
        assert_eq!(ratio.update(&ack(10_001, 100, 0, true)), Some(1.0));
    }

    #[test]
    fn unknown_before_the_first_sample() {
        for estimator in [Estimator::Smoothed, Estimator::Latest, Estimator::RoundMin] {
            let mut ratio = Ratio::new(estimator, None);
            assert_eq!(ratio.update(&Ack { latest_rtt: None, ..ack(0, 1, 1, true) }), None);
        }
    }
}
