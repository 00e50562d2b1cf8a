//! From departure to delivery: propagation, jitter that keeps order, and deliberate reordering.
//!
//! ```text
//! delivery = max(delivery of the packet before + 1 ns, departure + delay(departure) + extra + jitter)
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
//! Jitter alone never reorders the packets of a link or, if asked, only those of a flow: then the
//! packet before is that of the same flow, and different flows may also arrive at once. (That of
//! netem reorders massively, as no router does.) A k-th packet delays no other: the others are
//! delivered exactly as without reordering. `jitter.rs` draws the jitter.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use units::{Duration, Time};

use crate::jitter::{Jitter, JitterOrder};
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

/// Latest deliveries, reordering aside, that later packets must come after.
#[derive(Debug)]
pub(crate) enum Latest {
    /// Latest delivery of the link.
    Link(Time),
    /// Latest delivery of each flow, and the number of flows at which the ones that no longer
    /// matter are forgotten.
    Flows(BTreeMap<u32, Time>, usize),
}

/// Number of flows that may always be remembered.
const FEW: usize = 64;

impl Latest {
    pub(crate) fn new(order: JitterOrder) -> Self {
        match order {
            JitterOrder::Link => Self::Link(Time::ZERO),
            JitterOrder::Flow => Self::Flows(BTreeMap::new(), FEW),
        }
    }

    /// Returns the latest delivery that packets of this flow come after.
    #[inline]
    fn before(&mut self, flow: u32) -> &mut Time {
        match self {
            Self::Link(latest) => latest,
            Self::Flows(flows, _) => flows.entry(flow).or_default(),
        }
    }

    /// Forgets flows without a packet in propagation: their next packets depart later than that.
    /// At most half of those remembered afterwards can be such flows, so this takes constant time
    /// on average.
    #[inline]
    fn forget(&mut self, departure: Time) {
        let Self::Flows(flows, most) = self else { return };
        if flows.len() >= *most {
            flows.retain(|_, latest| *latest >= departure);
            *most = FEW.max(2 * flows.len());
        }
    }
}

/// State behind the server.
#[derive(Debug)]
pub(crate) struct Propagation {
    delay: Stepper<Duration>,
    jitter: Jitter,
    latest: Latest,
    reorder: Option<Reorder>,
    /// Number of packets up to and including the next early one.
    countdown: u64,
}

impl Propagation {
    pub(crate) fn new(
        delay: Stepper<Duration>,
        jitter: Jitter,
        latest: Latest,
        reorder: Option<Reorder>,
    ) -> Self {
        let countdown = reorder.map_or(0, |r| r.every);
        Self { delay, jitter, latest, reorder, countdown }
    }

    /// Returns the delivery of the packet that departs at `departure`, later than all before it.
    #[inline]
    pub(crate) fn deliver(&mut self, departure: Time, extra: Duration, flow: u32) -> Time {
        let due = departure + self.delay.at(departure) + extra + self.jitter.draw();
        self.latest.forget(departure);
        let latest = self.latest.before(flow);
        *latest = due.max(*latest + APART);
        let delivery = *latest;
        match self.reorder {
            Some(reorder) => self.reordered(reorder, delivery),
            None => delivery,
        }
    }

    /// Reports whether each packet is delivered after those that departed before it.
    #[inline]
    pub(crate) fn keeps_order(&self) -> bool {
        self.reorder.is_none() && matches!(self.latest, Latest::Link(_))
    }

    /// Returns the delivery of a copy of the last packet of a flow: right behind it, or behind the
    /// last packet in order.
    pub(crate) fn copy(&mut self, flow: u32) -> Time {
        let latest = self.latest.before(flow);
        *latest += APART;
        *latest
    }

    fn reordered(&mut self, reorder: Reorder, delivery: Time) -> Time {
        self.countdown -= 1;
        // A packet that never leaves cannot be early.
        if self.countdown > 0 || delivery == Time::NEVER {
            self.countdown = self.countdown.max(1);
            return delivery;
        }
        self.countdown = reorder.every;
        delivery - reorder.by
    }
}

#[cfg(test)]
mod tests {
    use units::{Rate, Rng};

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
        let deliver = |&at: &u64| p.deliver(Time::from_millis(at), Duration::ZERO, 0).0 / MS.0;
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
            (0..1000).map(|ms| p.deliver(Time::from_millis(ms), Duration::ZERO, 0)).collect();
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
            let delivery = p.deliver(sent, Duration::ZERO, 0);
            assert!(delivery >= last && delivery - sent >= MS * 20 && delivery - sent <= MS * 30);
            last = delivery;
            sum += (delivery - sent).as_millis_f64();
        }
        assert!((sum / n as f64 - 25.0).abs() < 4.0 * 10.0 / (12.0 * n as f64).sqrt());
        for i in 0..1000 {
            let delivery = p.deliver(Time::from_millis(11 * n) + Duration(i), Duration::ZERO, 0);
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
                plain.deliver(Time::from_millis(i), Duration::ZERO, 0),
                early.deliver(Time::from_millis(i), Duration::ZERO, 0),
            );
            assert_eq!(a - b, if i % 3 == 0 { MS * 5 } else { Duration::ZERO });
        }
    }

    #[test]
    fn never_before_departure() {
        let mut p = with(Duration::ZERO, Some(Reorder { every: 1, by: Duration::MAX }));
        assert_eq!(p.deliver(Time::from_millis(7), Duration::ZERO, 0), Time::from_millis(7));
        assert_eq!(p.deliver(Time::NEVER, MS, 0), Time::NEVER);
    }

    /// Each flow keeps its order, and flows overtake each other. Flows without packets in
    /// propagation are forgotten: 100 000 flows of one packet each take no more memory than those
    /// of the longest delay.
    #[test]
    fn order_in_a_flow() {
        let config = LinkConfig {
            delay: MS * 20,
            jitter: MS * 10,
            jitter_order: JitterOrder::Flow,
            ..LinkConfig::plain(Rate(1))
        };
        let propagation = || config.propagation(Rng::stream(3, "l.jitter"));
        let mut p = propagation();
        let (mut last, mut overtaken, mut latest) = ([Time::ZERO; 3], 0, Time::ZERO);
        for ms in 0..3000_u64 {
            let flow = (ms % 3) as usize;
            let delivery = p.deliver(Time::from_millis(ms), Duration::ZERO, flow as u32);
            assert!(delivery > last[flow] && delivery >= Time::from_millis(ms + 20));
            overtaken += u64::from(delivery < latest);
            (last[flow], latest) = (delivery, latest.max(delivery));
        }
        assert!(overtaken > 500 && !p.keeps_order(), "{overtaken}");
        let mut p = propagation();
        for ms in 0..100_000_u32 {
            p.deliver(Time::from_millis(ms.into()), Duration::ZERO, ms);
            let Latest::Flows(flows, _) = &p.latest else { unreachable!("an order per flow") };
            assert!(flows.len() <= FEW.max(2 * 31), "{}", flows.len());
        }
    }

    /// A flow alone on a link is delivered as with an order of the link.
    #[test]
    fn one_flow_is_the_link() {
        let order = |jitter_order| {
            let config = LinkConfig { jitter: MS * 10, jitter_order, ..LinkConfig::plain(Rate(1)) };
            let mut p = config.propagation(Rng::stream(3, "l.jitter"));
            (0..1000).map(|ms| p.deliver(Time::from_millis(ms), Duration::ZERO, 7)).collect::<Vec<_>>()
        };
        assert_eq!(order(JitterOrder::Link), order(JitterOrder::Flow));
    }
}
