//! From departure to delivery: propagation, jitter that keeps order, and reordering on purpose.
//!
//! ```text
//! delivery = max(delivery of the packet before + 1 ns, departure + delay(departure) + extra + uniform[0, jitter])
//! every k-th packet: that minus min(by, shortest delay)
//! ```
//!
//! **The delay is that at the departure**: a step applies to packets that enter the line from then on, those on it keep
//! theirs. **Order is kept when it falls**, as with jitter: packets that would overtake arrive right behind the last of
//! the old ones, a nanosecond apart, and the new delay shows once that one is there. `tc qdisc change` of a netem does otherwise: each skb has a
//! time_to_send by the latency of its arrival (sch_netem.c: netem_enqueue), and tfifo_enqueue sorts by it, so that packets do overtake.
//!
//! **Never two at once**: packets of several flows that came at the same instant would be answered in the order of the flows, not in that
//! of the link, and the first flow would find the last place in every queue that is full.
//!
//! Jitter alone never reorders (netem's does, a storm of it, which no router makes). A k-th packet delays no other:
//! the others are delivered exactly as without reordering.

use serde::{Deserialize, Serialize};
use units::{Duration, Rng, Time};

use crate::steps::Stepper;

/// Every k-th packet arrives early, and overtakes those that would have arrived in that span before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "reorder"))]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Which packets: the k-th, 2k-th ... of those admitted; at least 1.
    pub every: u64,
    /// How much earlier; at most the link's delay, the shortest if it has steps.
    pub by: Duration,
}

/// What lies between two packets that jitter would deliver at once.
const APART: Duration = Duration(1);

/// The state behind the server.
#[derive(Debug)]
pub(crate) struct Propagation {
    delay: Stepper<Duration>,
    jitter: Duration,
    rng: Rng,
    /// When the packet before is delivered (reordering aside).
    latest: Time,
    reorder: Option<Reorder>,
    /// Packets up to and including the next early one.
    countdown: u64,
}

impl Propagation {
    pub(crate) fn new(
        delay: Stepper<Duration>,
        jitter: Duration,
        reorder: Option<Reorder>,
        rng: Rng,
    ) -> Self {
        let countdown = reorder.map_or(0, |r| r.every);
        Self { delay, jitter, rng, latest: Time::ZERO, reorder, countdown }
    }

    /// When the packet that departs at this time, later than all before it, is delivered.
    #[inline]
    pub(crate) fn deliver(&mut self, departure: Time, extra: Duration) -> Time {
        let due = departure + self.delay.at(departure) + extra + self.draw();
        self.latest = due.max(self.latest + APART);
        match self.reorder {
            Some(reorder) => self.reordered(reorder),
            None => self.latest,
        }
    }

    /// Whether each packet is delivered after those that departed before it.
    #[inline]
    pub(crate) fn keeps_order(&self) -> bool {
        self.reorder.is_none()
    }

    /// When a copy of the packet that was just given is delivered: right behind it, or behind the last in order.
    pub(crate) fn copy(&mut self) -> Time {
        self.latest += APART;
        self.latest
    }

    fn draw(&mut self) -> Duration {
        if self.jitter == Duration::ZERO {
            return Duration::ZERO;
        }
        Duration(self.rng.below(self.jitter.0.saturating_add(1)))
    }

    fn reordered(&mut self, reorder: Reorder) -> Time {
        self.countdown -= 1;
        // What never leaves is not early either.
        if self.countdown > 0 || self.latest == Time::NEVER {
            self.countdown = self.countdown.max(1);
            return self.latest;
        }
        self.countdown = reorder.every;
        self.latest - reorder.by
    }
}

#[cfg(test)]
mod tests {
    use units::Rate;

    use super::*;
    use crate::config::LinkConfig;
    use crate::steps::Steps;

    const MS: Duration = Duration::from_millis(1);

    fn with(jitter: Duration, reorder: Option<Reorder>) -> Propagation {
        stepped(jitter, reorder, &[])
    }

    /// 20 ms, and later delays: both in milliseconds.
    fn stepped(jitter: Duration, reorder: Option<Reorder>, steps: &[(u64, u64)]) -> Propagation {
        let steps = steps.iter().map(|&(at, delay)| (Time::from_millis(at), MS * delay)).collect();
        let config = LinkConfig {
            delay: MS * 20,
            delay_steps: Steps(steps),
            jitter,
            reorder,
            ..LinkConfig::plain(Rate(1))
        };
        config.propagation(Rng::stream(3, "l.jitter"))
    }

    /// When packets that depart at these milliseconds are delivered.
    fn deliveries(p: &mut Propagation, departures: &[u64]) -> Vec<u64> {
        let deliver = |&at: &u64| p.deliver(Time::from_millis(at), Duration::ZERO).0 / MS.0;
        departures.iter().map(deliver).collect()
    }

    /// It applies to what departs at its time or later, and to nothing on its way.
    #[test]
    fn a_step_up_delays_what_departs_from_then_on() {
        let mut p = stepped(Duration::ZERO, None, &[(30, 80)]);
        assert_eq!(deliveries(&mut p, &[0, 29, 30, 31]), [20, 49, 110, 111]);
    }

    /// With jitter of ten times their distance packets keep their order, and no two arrive at once.
    #[test]
    fn never_two_at_once() {
        let mut p = with(MS * 10, None);
        let delivered: Vec<Time> =
            (0..1000).map(|ms| p.deliver(Time::from_millis(ms), Duration::ZERO)).collect();
        assert!(delivered.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(delivered.windows(2).filter(|pair| pair[0] + Duration(1) == pair[1]).count() > 500);
    }

    /// Packets that would overtake arrive right behind the last of the old ones.
    #[test]
    fn a_step_down_keeps_order() {
        let mut p = stepped(Duration::ZERO, None, &[(30, 80), (60, 5)]);
        assert_eq!(deliveries(&mut p, &[30, 59, 60, 80, 133, 134, 140]), [110, 139, 139, 139, 139, 139, 145]);
    }

    /// Not earlier than the shortest of the delays allows.
    #[test]
    fn reordering_within_the_shortest_delay() {
        let mut p = stepped(Duration::ZERO, Some(Reorder { every: 2, by: MS * 15 }), &[(10, 8), (20, 40)]);
        assert_eq!(deliveries(&mut p, &[0, 1, 30, 31]), [20, 13, 70, 63]);
    }

    #[test]
    fn jitter_keeps_order_and_fills_its_range() {
        let mut p = with(MS * 10, None);
        let (mut last, mut sum, n) = (Time::ZERO, 0.0, 10_000);
        for i in 0..n {
            // Far apart, so that each draw shows.
            let sent = Time::from_millis(11 * i);
            let delivery = p.deliver(sent, Duration::ZERO);
            assert!(delivery >= last && delivery - sent >= MS * 20 && delivery - sent <= MS * 30);
            last = delivery;
            sum += (delivery - sent).as_millis_f64();
        }
        assert!((sum / n as f64 - 25.0).abs() < 4.0 * 10.0 / (12.0 * n as f64).sqrt());
        for i in 0..1000 {
            let delivery = p.deliver(Time::from_millis(11 * n) + Duration(i), Duration::ZERO);
            assert!(delivery >= last);
            last = delivery;
        }
    }

    #[test]
    fn every_third_is_early_and_moves_nobody() {
        let mut plain = with(MS * 2, None);
        let mut early = with(MS * 2, Some(Reorder { every: 3, by: MS * 5 }));
        for i in 1..100 {
            let (a, b) = (
                plain.deliver(Time::from_millis(i), Duration::ZERO),
                early.deliver(Time::from_millis(i), Duration::ZERO),
            );
            assert_eq!(a - b, if i % 3 == 0 { MS * 5 } else { Duration::ZERO });
        }
    }

    #[test]
    fn never_before_departure() {
        let mut p = with(Duration::ZERO, Some(Reorder { every: 1, by: Duration::MAX }));
        assert_eq!(p.deliver(Time::from_millis(7), Duration::ZERO), Time::from_millis(7));
        assert_eq!(p.deliver(Time::NEVER, MS), Time::NEVER);
    }
}
