//! RED: Floyd and Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM ToN 1993 (section
//! numbers below); the gentle variant: Floyd 2000.
//!
//! ```text
//! arrival, busy    avg += weight (q - avg)                                                  (4)
//! arrival, idle    avg *= (1 - weight)^m,  m = idle time / transmission time of mean-packet (4)
//! avg < min        no signal, n = 0
//! min <= avg < max p_b = max-p (avg - min)/(max - min)          [* size/mean-packet by bytes]
//!                  p_a = p_b / (1 - n p_b),  n = packets let pass since the last signal     (7, method 2)
//! max <= avg       every packet; gentle: p_b = max-p + (1 - max-p)(avg - max)/max up to 2 max
//! min = max        every packet that finds avg > max: a step, "more than 50 % of the buffer"
//! ```
//!
//! q is what an arriving packet finds waiting: neither itself nor the packet in transmission (sch_red.c: the backlog of its
//! child). An idle link does not transmit either. With `n` counted so, the gap between two signals is uniform on
//! 1..=1/p_b as section 7 says; its pseudo-code, taken literally, sets count to 0 and counts before it divides, which makes
//! the gap uniform on 1..=1/p_b - 1.
//!
//! The decision falls at arrival and needs the backlog alone, so RED runs on a link that knows departures at arrival.

use serde::{Deserialize, Serialize};
use units::{Bytes, Ecn, Rate, Rng, Time};

use crate::aqm::check::{first_broken, is_share};
use crate::aqm::threshold::Threshold;
use crate::aqm::threshold::Unit;
use crate::backlog::Tally;
use crate::counters::DropReason;
use crate::limit::Limit;

/// The parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "red"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Average queue from which signals begin: packets, bytes, or a part of the link's limit; its unit is that of the
    /// queue (min_th; default 5 packets: section 9).
    pub min: Threshold,
    /// Average queue from which every packet gets a signal; same unit, not below `min` (max_th; default 15 packets, at
    /// least twice, better three times `min`).
    pub max: Threshold,
    /// Probability of a signal when the average reaches `max`, 0 to 1 (max_p; default 0.1: Floyd 1997; 1993: 0.02).
    pub max_p: f64,
    /// Weight of a new sample in the average, above 0, at most 1 (w_q; default 0.002: section 6). 1: the queue itself.
    pub weight: f64,
    /// Above `max` the probability rises to 1 at twice `max` instead of jumping there (Floyd 2000; default off).
    pub gentle: bool,
    /// Whether a packet's probability is in proportion to its size (section 7, default off).
    pub by_bytes: bool,
    /// Typical packet on the wire: the unit of `by-bytes` and of idle time (default 1000 B: Linux `avpkt`).
    pub mean_packet: Bytes,
    /// What a signal is (default `mark`).
    pub action: Action,
}

/// What a signal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// A drop, whatever the packet says.
    Drop,
    /// A mark, or a drop if the packet is not ECN-capable (RFC 3168 section 5).
    Mark,
    /// A mark, or nothing if the packet is not ECN-capable (Linux `nodrop`; source 001's router). Drops are left to the
    /// limit.
    MarkOnly,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            min: Threshold::Packets(5),
            max: Threshold::Packets(15),
            max_p: 0.1,
            weight: 0.002,
            gentle: false,
            by_bytes: false,
            mean_packet: Bytes(1000),
            action: Action::Mark,
        }
    }
}

impl Params {
    /// Marks every ECN-capable packet that finds more than this, and drops none: source 001 with its 50 %.
    pub fn mark_above(threshold: Threshold) -> Self {
        Self { min: threshold, max: threshold, weight: 1.0, action: Action::MarkOnly, ..Self::default() }
    }

    pub(crate) fn check(&self, limit: Limit) -> Result<(), String> {
        let (Some((unit, min)), Some((same, max))) = (self.min.within(limit), self.max.within(limit)) else {
            return Err("`min` and `max` are a part of a queue without limit".to_owned());
        };
        first_broken(&[
            (unit == same, "`min` and `max` are not both in packets or both in bytes"),
            (min <= max, "`min` is above `max`"),
            (is_share(self.max_p), "`max-p` is not a probability from 0 to 1"),
            (is_share(self.weight) && self.weight > 0.0, "`weight` is not above 0 and at most 1"),
            (self.mean_packet > Bytes(0), "`mean-packet` is no bytes"),
        ])
    }
}

/// What is to be done with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Mark,
    Drop(DropReason),
}

/// The state.
#[derive(Debug)]
pub(crate) struct Red {
    params: Params,
    unit: Unit,
    min: f64,
    max: f64,
    average: f64,
    /// Packets let pass since the last signal, or since the average rose above `min`.
    passed: f64,
    /// When the last packet taken leaves: from then on the link is idle.
    empty_from: Time,
    rng: Rng,
}

impl Red {
    pub(crate) fn new(params: &Params, limit: Limit, rng: Rng) -> Self {
        // What `check` refuses never signals.
        let (unit, min) = params.min.within(limit).unwrap_or((Unit::Packets, f64::INFINITY));
        let max = params.max.within(limit).map_or(f64::INFINITY, |(_, max)| max);
        let params = params.clone();
        Self { params, unit, min, max, average: 0.0, passed: 0.0, empty_from: Time::ZERO, rng }
    }

    /// A packet arrives and finds those that wait; what is to be done with it.
    #[inline(never)]
    pub(crate) fn verdict(&mut self, now: Time, waiting: Tally, size: u32, ecn: Ecn, rate: Rate) -> Verdict {
        let signal = self.signals(now, waiting, size, rate);
        match self.params.action {
            _ if !signal => Verdict::Pass,
            Action::Mark | Action::MarkOnly if ecn != Ecn::NotEct => Verdict::Mark,
            Action::MarkOnly => Verdict::Pass,
            Action::Mark | Action::Drop => Verdict::Drop(DropReason::Aqm),
        }
    }

    /// Whether it gets a signal.
    fn signals(&mut self, now: Time, waiting: Tally, size: u32, rate: Rate) -> bool {
        self.update(now, self.unit.of(waiting), rate);
        let Some(p) = self.probability(size) else {
            self.passed = 0.0;
            return false;
        };
        let spread = 1.0 - self.passed * p;
        let hit = p >= 1.0 || p >= spread || self.rng.unit() * spread < p;
        self.passed = if hit { 0.0 } else { self.passed + 1.0 };
        hit
    }

    /// A packet was taken that leaves then.
    pub(crate) fn on_taken(&mut self, leaves: Time) {
        self.empty_from = leaves;
    }

    fn update(&mut self, now: Time, queue: f64, rate: Rate) {
        let weight = self.params.weight;
        if weight >= 1.0 {
            self.average = queue;
        } else if queue > 0.0 || now < self.empty_from {
            self.average += weight * (queue - self.average);
        } else {
            let Bytes(packet) = self.params.mean_packet;
            let idle = (now - self.empty_from).as_secs_f64() * rate.bytes_per_sec() / packet.max(1) as f64;
            self.average *= libm::pow(1.0 - weight, idle);
        }
    }

    /// p_b, at least 1 for "every packet", `None` below the region.
    fn probability(&self, size: u32) -> Option<f64> {
        let (average, min, max, max_p) = (self.average, self.min, self.max, self.params.max_p);
        if min >= max {
            return (average > max).then_some(1.0);
        }
        if average < min {
            return None;
        }
        let p = if average < max {
            max_p * (average - min) / (max - min)
        } else if self.params.gentle && average < 2.0 * max {
            max_p + (1.0 - max_p) * (average - max) / max
        } else {
            return Some(1.0);
        };
        let factor = f64::from(size) / self.params.mean_packet.0.max(1) as f64;
        Some(if self.params.by_bytes { p * factor } else { p })
    }
}

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::*;

    const RATE: Rate = Rate(8_000_000);

    fn red(params: &Params) -> Red {
        Red::new(params, Limit::Packets(100), Rng::stream(1, "l.aqm"))
    }

    fn packets(packets: u64) -> Tally {
        Tally { packets, bytes: 1000 * packets }
    }

    /// A queue that stands at `held`, averaged long ago.
    fn settled(params: &Params, held: u64) -> Red {
        Red { average: held as f64, ..red(params) }
    }

    /// 1 - (1 - w)^n: 63 % of a step after 500 packets, 90 % after 1150.
    #[test]
    fn average() {
        let mut r = red(&Params::default());
        for n in 1..=1150 {
            r.signals(Time(n), packets(10), 1000, RATE);
            match n {
                500 => assert!((r.average / 10.0 - 0.6325).abs() < 5e-4, "{}", r.average),
                1150 => assert!((r.average / 10.0 - 0.9000).abs() < 5e-4, "{}", r.average),
                _ => {}
            }
        }
    }

    /// One packet's transmission (1 ms here) of idleness is one sample of zero.
    #[test]
    fn idle_time_decays() {
        let mut idle = settled(&Params::default(), 10);
        idle.on_taken(Time::from_millis(100));
        idle.signals(Time::from_millis(600), packets(0), 1000, RATE);
        assert!((idle.average - 10.0 * libm::pow(0.998, 500.0)).abs() < 1e-9);
        // Nothing has been idle yet.
        idle.on_taken(Time::from_millis(700));
        let before = idle.average;
        idle.signals(Time::from_millis(700), packets(0), 1000, RATE);
        assert_eq!(idle.average, before);
        // None waits, but the link transmits: a sample of zero like any other.
        idle.on_taken(Time::from_millis(701));
        idle.signals(Time::from_millis(700), packets(0), 1000, RATE);
        assert!((idle.average - 0.998 * before).abs() < 1e-12);
    }

    /// Section 7, method 2: the gap is uniform on 1..=1/p with mean (1/p + 1)/2.
    #[test]
    fn gaps_are_uniform() {
        // p_b = 0.1 (10 - 5)/(15 - 5) = 0.05: gaps 1..=20.
        let mut r = settled(&Params::default(), 10);
        let (mut seen, mut gap, n) = ([0_u32; 21], 0, 200_000);
        for i in 0..n {
            gap += 1;
            if r.signals(Time(i), packets(10), 1000, RATE) {
                seen[gap] += 1;
                gap = 0;
            }
        }
        let signals = f64::from(seen.iter().sum::<u32>());
        assert!((n as f64 / signals - 10.5).abs() < 0.15, "mean {}", n as f64 / signals);
        for (gap, &count) in seen.iter().enumerate().skip(1) {
            let sigma = (signals * 0.05 * 0.95).sqrt();
            assert!((f64::from(count) - signals / 20.0).abs() < 4.5 * sigma, "gap {gap}: {count}");
        }
    }

    #[test]
    fn regions() {
        let p = |gentle, average: f64| {
            let r = Red { average, ..red(&Params { gentle, ..Params::default() }) };
            r.probability(1000)
        };
        for gentle in [false, true] {
            assert_eq!((p(gentle, 4.9), p(gentle, 5.0)), (None, Some(0.0)));
            assert!((p(gentle, 10.0).unwrap() - 0.05).abs() < 1e-12);
        }
        assert_eq!((p(false, 15.0), p(false, 22.5)), (Some(1.0), Some(1.0)));
        assert!((p(true, 15.0).unwrap() - 0.1).abs() < 1e-12, "no jump");
        assert!((p(true, 22.5).unwrap() - 0.55).abs() < 1e-12);
        assert_eq!(p(true, 30.0), Some(1.0));
    }

    #[test]
    fn by_bytes_small_packets_are_spared() {
        let r = settled(&Params { by_bytes: true, ..Params::default() }, 10);
        assert!((r.probability(100).unwrap() - 0.005).abs() < 1e-12);
        assert!((r.probability(1500).unwrap() - 0.075).abs() < 1e-12);
    }

    /// Source 001: exactly the packets that find more than half of the buffer.
    #[test]
    fn a_step_marks_exactly_above_its_threshold() {
        let half = Params::mark_above(Threshold::OfLimit(0.5));
        let mut r = red(&half);
        for held in (0..=100).chain((0..=100).rev()) {
            assert_eq!(r.signals(Time(held), packets(held), 1000, RATE), held > 50, "{held} packets");
        }
        let mut r = Red::new(&half, Limit::Bytes(Bytes(125_000)), Rng::stream(1, "l.aqm"));
        for bytes in [0, 62_499, 62_500, 62_501, 125_000] {
            let held = Tally { packets: 1, bytes };
            assert_eq!(r.signals(Time(bytes), held, 1000, RATE), bytes > 62_500, "{bytes} bytes");
        }
        // The averaged one lags: half of the buffer for long, then full.
        let mut r = Red { average: 50.0, ..red(&Params { weight: 0.002, ..half }) };
        assert!(r.signals(Time(0), packets(100), 1000, RATE), "above, however little");
        assert!(r.signals(Time(0), packets(0), 1000, Rate(0)), "and still above");
    }

    #[test]
    fn says_what_is_wrong() {
        let check = |params: Params, limit| params.check(limit).unwrap_err();
        let half = Params::mark_above(Threshold::OfLimit(0.5));
        assert!(check(half.clone(), Limit::Unlimited).contains("without limit"));
        assert!(
            check(Params { min: Threshold::Bytes(Bytes(1)), ..half }, Limit::Packets(9)).contains("both")
        );
        assert!(
            check(Params { min: Threshold::Packets(16), ..Params::default() }, Limit::Unlimited)
                .contains("above")
        );
        assert!(check(Params { weight: 0.0, ..Params::default() }, Limit::Unlimited).contains("weight"));
        assert!(check(Params { max_p: f64::NAN, ..Params::default() }, Limit::Unlimited).contains("max-p"));
        // And is harmless all the same.
        let mut r =
            Red::new(&Params::mark_above(Threshold::OfLimit(0.5)), Limit::Unlimited, Rng::stream(1, "a"));
        assert!(!r.signals(Time::ZERO + Duration::MAX, packets(1 << 40), 1000, RATE));
    }
}
