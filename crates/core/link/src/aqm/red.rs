//! RED: Floyd and Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM
//! ToN 1993 (section numbers below). The gentle variant is Floyd 2000.
//!
//! ```text
//! arrival, busy    avg += weight (q - avg)                                                  (4)
//! arrival, idle    avg *= (1 - weight)^m,  m = idle time / transmission time of mean-packet (4)
//! avg < min        no signal, n = 0
//! min <= avg < max p_b = max-p (avg - min)/(max - min)          [* size/mean-packet by bytes]
//!                  p_a = p_b / (1 - n p_b),  n = packets passed since the last signal        (7, method 2)
//! max <= avg       every packet; gentle: p_b = max-p + (1 - max-p)(avg - max)/max up to 2 max
//! min = max        every packet that finds avg > max: a step, "more than 50 % of the buffer"
//! ```
//!
//! q counts the packets that wait when a packet arrives: neither itself nor the packet in
//! transmission (sch_red.c: the backlog of its child). An idle link is one that does not transmit
//! either.
//!
//! With `n` counted this way, the gap between two signals is uniform on 1..=1/p_b, as section 7
//! says. Its pseudo-code, taken literally, sets count to 0 and counts before it divides, so that
//! the gap is uniform on 1..=1/p_b - 1.
//!
//! RED decides at arrival from the backlog alone, so it runs on a link that knows departures at
//! arrival.

use serde::{Deserialize, Serialize};
use units::{Bytes, Ecn, Rate, Rng, Time};

use crate::aqm::check::{first_broken, is_probability};
use crate::aqm::threshold::Threshold;
use crate::aqm::threshold::Unit;
use crate::backlog::Count;
use crate::counters::DropReason;
use crate::limit::Limit;

/// Parameters of RED.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "red"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Average queue from which signals begin: in packets, in bytes, or as a part of the link's
    /// limit. The queue is measured in the same unit (min_th; default 5 packets: section 9).
    pub min: Threshold,
    /// Average queue from which every packet gets a signal. Same unit as `min`, and not below it
    /// (max_th; default 15 packets; at least twice, better three times `min`).
    pub max: Threshold,
    /// Signal probability when the average reaches `max`, 0 to 1 (max_p; default 0.1: Floyd 1997;
    /// 1993: 0.02).
    pub max_p: f64,
    /// Weight of a new sample in the average, above 0 and at most 1 (w_q; default 0.002: section
    /// 6). With 1 the average is the current queue.
    pub weight: f64,
    /// Raises the probability from `max-p` at `max` to 1 at twice `max` instead of jumping to 1
    /// (Floyd 2000; default off).
    pub gentle: bool,
    /// Makes a packet's probability proportional to its size (section 7; default off).
    pub by_bytes: bool,
    /// Typical packet size on the wire, the unit of `by-bytes` and of idle time (default 1000 B:
    /// Linux `avpkt`).
    pub mean_packet: Bytes,
    /// Kind of signal (default `mark`).
    pub action: Action,
}

/// Kind of signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Drop every packet, ECN-capable or not.
    Drop,
    /// Mark an ECN-capable packet, drop any other (RFC 3168 section 5).
    Mark,
    /// Mark an ECN-capable packet, pass any other (Linux `nodrop`; the router of Uchida et al.,
    /// 2024). Only the limit drops.
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
    /// Marks every ECN-capable packet that finds more than `threshold`, and drops none: Uchida et
    /// al. (2024) with its 50 %.
    pub fn mark_above(threshold: Threshold) -> Self {
        Self { min: threshold, max: threshold, weight: 1.0, action: Action::MarkOnly, ..Self::default() }
    }

    pub(crate) fn check(&self, limit: Limit) -> Result<(), String> {
        let (Some((unit, min)), Some((same, max))) = (self.min.within(limit), self.max.within(limit)) else {
            return Err("`min` and `max` in % need a queue with a limit".to_owned());
        };
        first_broken(&[
            (unit == same, "`min` and `max` must be both in packets or both in bytes; set both"),
            (min <= max, "`min` must not be above `max`, by default 15 packets"),
            (is_probability(self.max_p), "`max-p` must be a probability from 0 to 1"),
            (is_probability(self.weight) && self.weight > 0.0, "`weight` must be above 0 and at most 1"),
            (self.mean_packet > Bytes(0), "`mean-packet` must be larger than 0 B"),
        ])
    }
}

/// Decision about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Mark,
    Drop(DropReason),
}

/// State of RED.
#[derive(Debug)]
pub(crate) struct Red {
    params: Params,
    unit: Unit,
    min: f64,
    max: f64,
    average: f64,
    /// Packets passed since the last signal, or since the average rose above `min`.
    passed: f64,
    /// Departure of the last packet taken. From then on the link is idle.
    empty_from: Time,
    rng: Rng,
}

impl Red {
    pub(crate) fn new(params: &Params, limit: Limit, rng: Rng) -> Self {
        // Parameters that `check` rejects never signal.
        let (unit, min) = params.min.within(limit).unwrap_or((Unit::Packets, f64::INFINITY));
        let max = params.max.within(limit).map_or(f64::INFINITY, |(_, max)| max);
        let params = params.clone();
        Self { params, unit, min, max, average: 0.0, passed: 0.0, empty_from: Time::ZERO, rng }
    }

    /// Decides about a packet that arrives while others wait.
    #[inline(never)]
    pub(crate) fn verdict(&mut self, now: Time, waiting: Count, size: u32, ecn: Ecn, rate: Rate) -> Verdict {
        let signal = self.signals(now, waiting, size, rate);
        match self.params.action {
            _ if !signal => Verdict::Pass,
            Action::Mark | Action::MarkOnly if ecn != Ecn::NotEct => Verdict::Mark,
            Action::MarkOnly => Verdict::Pass,
            Action::Mark | Action::Drop => Verdict::Drop(DropReason::Aqm),
        }
    }

    /// Reports whether an arriving packet gets a signal.
    fn signals(&mut self, now: Time, waiting: Count, size: u32, rate: Rate) -> bool {
        self.update(now, self.unit.measure(waiting), rate);
        let Some(p) = self.probability(size) else {
            self.passed = 0.0;
            return false;
        };
        let spread = 1.0 - self.passed * p;
        let hit = p >= 1.0 || p >= spread || self.rng.unit() * spread < p;
        self.passed = if hit { 0.0 } else { self.passed + 1.0 };
        hit
    }

    /// Notes the departure of a packet that was taken.
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

    /// Returns p_b: at least 1 for "every packet", `None` below the region.
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

    fn packets(packets: u64) -> Count {
        Count { packets, bytes: 1000 * packets }
    }

    /// Returns a RED whose average has settled at `held`.
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

    /// Idle time equal to one packet's transmission (1 ms here) is one sample of zero.
    #[test]
    fn idle_time_decays() {
        let mut idle = settled(&Params::default(), 10);
        idle.on_taken(Time::from_millis(100));
        idle.signals(Time::from_millis(600), packets(0), 1000, RATE);
        assert!((idle.average - 10.0 * libm::pow(0.998, 500.0)).abs() < 1e-9);
        // No idle time has passed yet.
        idle.on_taken(Time::from_millis(700));
        let before = idle.average;
        idle.signals(Time::from_millis(700), packets(0), 1000, RATE);
        assert_eq!(idle.average, before);
        // No packet waits, but the link transmits: an ordinary sample of zero.
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

    /// Uchida et al. (2024): exactly the packets that find more than half of the buffer.
    #[test]
    fn a_step_marks_exactly_above_its_threshold() {
        let half = Params::mark_above(Threshold::OfLimit(0.5));
        let mut r = red(&half);
        for held in (0..=100).chain((0..=100).rev()) {
            assert_eq!(r.signals(Time(held), packets(held), 1000, RATE), held > 50, "{held} packets");
        }
        let mut r = Red::new(&half, Limit::Bytes(Bytes(125_000)), Rng::stream(1, "l.aqm"));
        for bytes in [0, 62_499, 62_500, 62_501, 125_000] {
            let held = Count { packets: 1, bytes };
            assert_eq!(r.signals(Time(bytes), held, 1000, RATE), bytes > 62_500, "{bytes} bytes");
        }
        // The average lags: half of the buffer for a long time, then full.
        let mut r = Red { average: 50.0, ..red(&Params { weight: 0.002, ..half }) };
        assert!(r.signals(Time(0), packets(100), 1000, RATE), "above, however little");
        assert!(r.signals(Time(0), packets(0), 1000, Rate(0)), "and still above");
    }

    #[test]
    fn says_what_is_wrong() {
        let check = |params: Params, limit| params.check(limit).unwrap_err();
        let half = Params::mark_above(Threshold::OfLimit(0.5));
        assert!(check(half.clone(), Limit::Unlimited).contains("with a limit"));
        assert!(
            check(Params { min: Threshold::Bytes(Bytes(1)), ..half }, Limit::Packets(9)).contains("both")
        );
        assert!(
            check(Params { min: Threshold::Packets(16), ..Params::default() }, Limit::Unlimited)
                .contains("above")
        );
        assert!(check(Params { weight: 0.0, ..Params::default() }, Limit::Unlimited).contains("weight"));
        assert!(check(Params { max_p: f64::NAN, ..Params::default() }, Limit::Unlimited).contains("max-p"));
        // Rejected parameters are harmless all the same.
        let mut r =
            Red::new(&Params::mark_above(Threshold::OfLimit(0.5)), Limit::Unlimited, Rng::stream(1, "a"));
        assert!(!r.signals(Time::ZERO + Duration::MAX, packets(1 << 40), 1000, RATE));
    }
}
