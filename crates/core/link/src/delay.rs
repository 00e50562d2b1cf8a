//! From departure to delivery: propagation, jitter that keeps order, and deliberate reordering.
//!
//! ```text
//! delivery = max(delivery of the packet before + 1 ns, departure + delay(departure) + extra + uniform[0, jitter])
//! every k-th packet: earlier than that by min(by, shortest delay)
//! ```
//!
//! **The delay is taken at departure**: a step applies to packets that depart from then on. Packets
//! in propagation keep theirs. **A smaller delay keeps order**, as jitter does: packets that would
//! overtake arrive right behind the last of the old ones, a nanosecond apart. The new delay shows
//! once that one has arrived. `tc qdisc change` of a netem differs: each skb has a time_to_send
//! computed from the latency at its arrival (sch_netem.c: netem_enqueue), and tfifo_enqueue sorts
//! by it, so that packets do overtake.
//!
//! **No two packets arrive at once**: packets of several flows that arrived at the same instant
//! would be answered in the order of the flows, not in that of the link. The first flow would then
//! get the last free place in every full queue.
//!
//! Jitter alone never reorders. (That of netem does, massively, as no router does.) A k-th packet
//! delays no other: the others are delivered exactly as without reordering.

use serde::{Deserialize, Serialize};
use units::{Duration, Rng, Time};

use crate::steps::Stepper;

/// Every k-th packet arrives early and overtakes those that would have arrived in that span before
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "reorder"))]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Packets that arrive early: the k-th, 2k-th ... of those admitted; at least 1.
    pub every: u64,
    /// Time by which the packets arrive early; at most the link's delay, or the shortest delay if
    /// it has steps.
    pub by: Duration,
}

/// Gap between two packets that jitter would deliver at once.
const APART: Duration = Duration(1);

/// State behind the server.
#[derive(Debug)]
pub(crate) struct Propagation {
    delay: Stepper<Duration>,
    jitter: Duration,
    rng: Rng,
    /// Delivery of the previous packet, reordering aside.
    latest: Time,
    reorder: Option<Reorder>,
    /// Number of packets up to and including the next early one.
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

    /// Returns the delivery of the packet that departs at `departure`, later than all before it.
    #[inline]
    pub(crate) fn deliver(&mut self, departure: Time, extra: Duration) -> Time {
        let due = departure + self.delay.at(departure) + extra + self.draw();
        self.latest = due.max(self.latest + APART);
        match self.reorder {
            Some(reorder) => self.reordered(reorder),
            None => self.latest,
        }
    }

    /// Reports whether each packet is delivered after those that departed before it.
    #[inline]
    pub(crate) fn keeps_order(&self) -> bool {
        self.reorder.is_none()
    }

    /// Returns the delivery of a copy of the last packet: right behind it, or behind the last
    /// packet in order.
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
        // A packet that never leaves cannot be early.
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

    /// Returns a delay of 20 ms with later delays. `steps` are (time, delay) in ms.
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

    /// Returns the deliveries, in ms, of packets that depart at these times, in ms.
    fn deliveries(p: &mut Propagation, departures: &[u64]) -> Vec<u64> {
        let deliver = |&at: &u64| p.deliver(Time::from_millis(at), Duration::ZERO).0 / MS.0;
        departures.iter().map(deliver).collect()
    }

    /// A step applies to packets that depart at its time or later, and to none in propagation.
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

    /// Packets arrive no earlier than the shortest delay allows.
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
