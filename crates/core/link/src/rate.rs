//! Departure times: a work-conserving server behind a FIFO whose rate is a known function of time.
//!
//! ```text
//! R(t) = integral of the rate from 0 to t            work the server can have done by t
//! F    = max(F, R(now)) + L                          work after which the bucket is full again
//! departure = first t >= now with R(t) >= F - b      b = 0: the last bit leaves; b >= L: tokens(t) >= L
//! ```
//!
//! The second line is Lindley's recursion. With `tokens = b - (F - R(t))` it is also the token
//! bucket tokens(t) = min(b, tokens + r dt), initially full, for any rate R'(t). Departures over
//! any window w are at most `r w + max(b, L)`. A packet larger than the bucket waits for the tokens
//! it lacks (Linux tbf drops it instead).
//!
//! Work is counted in bit/s times ns, in whole numbers, so nothing is rounded: the long-run rate is
//! exact. Only the departure is rounded up, to the nanosecond at which the whole packet has left.
//! The backlog at each nanosecond is therefore that of the continuous system.
//!
//! Future rates are known. A change of rate therefore acts on the packets already queued, although
//! their departures are computed on arrival.

use std::fmt;
use std::sync::Arc;

use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::{Bytes, Duration, Rate, Rng, Time};

use crate::aggregates::{AggregateModel, AggregateServer};
use crate::departure::Departure;
use crate::segment::Segment;
use crate::slots::{SlotModel, Slots};
use crate::trace::{ChanceServer, Chances, Rates, Trace};

/// Rate of a link over time. In files: `"10 Mbit/s"`, steps `[["0 s", "10 Mbit/s"], ["30 s", "5
/// Mbit/s"]]`, or the table of a [`SlotModel`], an [`AggregateModel`] or a
/// [`TraceFile`](crate::TraceFile).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(untagged, inline))]
pub enum RateModel {
    /// Constant rate. Rate zero never delivers.
    Constant(Rate),
    /// Rates that each hold from their time on, in order of time. The first also holds before its
    /// time. An empty list is rate zero.
    Steps(#[cfg_attr(feature = "schema", schemars(with = "Vec<(Duration, Rate)>"))] Vec<(Time, Rate)>),
    /// Rates drawn anew on a fixed grid.
    Slots(SlotModel),
    /// Aggregates of frames with gaps before them, as in Wi-Fi.
    Aggregates(AggregateModel),
    /// Recorded link, created by the reader of its file and not deserialised.
    Trace(#[cfg_attr(feature = "schema", schemars(with = "crate::TraceFile"))] Trace),
}

impl RateModel {
    /// Returns the rate that BDP and buffer time refer to: the first step's above 0, the median of
    /// the slots, the mean of the trace, or that of aggregates of full packets that always wait.
    pub fn nominal(&self) -> Rate {
        match self {
            Self::Constant(rate) => *rate,
            Self::Steps(steps) => steps.iter().map(|step| step.1).find(|rate| rate.0 > 0).unwrap_or_default(),
            Self::Slots(slots) => slots.median,
            Self::Aggregates(model) => model.saturated(),
            Self::Trace(trace) => trace.mean(),
        }
    }

    /// Returns the chances to deliver of a trace that has them, and the position in them at time
    /// zero.
    pub(crate) fn chances(&self) -> Option<(&Arc<Chances>, u64)> {
        match self {
            Self::Trace(trace) => trace.chances(),
            _ => None,
        }
    }

    /// Reports whether a packet may have to wait although the link is idle.
    pub(crate) fn is_gated(&self) -> bool {
        self.chances().is_some() || matches!(self, Self::Aggregates(_))
    }

    /// Returns the bytes that the link could carry between these times: the integral of its rate.
    /// `rng` draws the slots.
    pub(crate) fn capacity(&self, from: Time, to: Time, rng: Rng) -> f64 {
        if let Some((chances, phase)) = self.chances() {
            return chances.capacity(from, to, phase);
        }
        let schedule = Schedule::new(self, rng);
        let (mut at, mut work) = (from, 0.0);
        while at < to {
            let segment = schedule.segment(at);
            let until = segment.until.min(to);
            work += segment.work(at, until) as f64;
            at = until;
        }
        work / BYTE as f64
    }

    /// Checks the values.
    ///
    /// # Errors
    /// Returns the first rule that does not hold.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self {
            Self::Constant(_) => Ok(()),
            Self::Steps(steps) if steps.is_empty() => Err("`rate` needs at least one step".to_owned()),
            Self::Steps(steps) if !steps.is_sorted_by(|a, b| a.0 < b.0) => {
                Err("the times of the steps of `rate` must increase".to_owned())
            }
            Self::Steps(_) | Self::Trace(_) => Ok(()),
            Self::Slots(slots) => slots.check(),
            Self::Aggregates(model) => model.check(),
        }
    }
}

impl Serialize for RateModel {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Constant(rate) => rate.serialize(s),
            Self::Steps(steps) => s.collect_seq(steps.iter().map(|&(at, rate)| (at - Time::ZERO, rate))),
            Self::Slots(slots) => slots.serialize(s),
            Self::Aggregates(model) => model.serialize(s),
            Self::Trace(trace) => trace.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for RateModel {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(Shape)
    }
}

/// Tells the three kinds apart by their shape, so that errors are those of the kind and not "no
/// variant matches".
struct Shape;

impl<'de> de::Visitor<'de> for Shape {
    type Value = RateModel;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a rate like \"10 Mbit/s\", a list of [time, rate], or a table with `median`")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<RateModel, E> {
        text.parse().map(RateModel::Constant).map_err(E::custom)
    }
    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<RateModel, A::Error> {
        let mut steps = Vec::new();
        while let Some((at, rate)) = seq.next_element::<(Duration, Rate)>()? {
            steps.push((Time::ZERO + at, rate));
        }
        Ok(RateModel::Steps(steps))
    }
    fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<RateModel, A::Error> {
        SlotModel::deserialize(MapAccessDeserializer::new(map)).map(RateModel::Slots)
    }
}

#[derive(Debug)]
enum Schedule {
    Steps(Vec<(Time, Rate)>),
    Slots(Slots),
    /// Rates of a trace, and the position in them at time zero.
    Rates(Arc<Rates>, u64),
}

impl Schedule {
    fn new(model: &RateModel, rng: Rng) -> Self {
        match model {
            RateModel::Constant(rate) => Self::Steps(vec![(Time::ZERO, *rate)]),
            RateModel::Steps(steps) => {
                let mut steps = steps.clone();
                steps.sort_by_key(|step| step.0);
                Self::Steps(steps)
            }
            RateModel::Slots(model) => Self::Slots(Slots::new(model, rng)),
            RateModel::Aggregates(model) => Self::Steps(vec![(Time::ZERO, model.saturated())]),
            RateModel::Trace(trace) => {
                let (rates, phase) = trace.rates();
                Self::Rates(rates, phase)
            }
        }
    }

    /// Returns the segment that contains this time.
    #[cold]
    fn segment(&self, at: Time) -> Segment {
        match self {
            Self::Steps(steps) => {
                let next = steps.partition_point(|step| step.0 <= at).max(1);
                let rate = steps.get(next - 1).map_or(Rate(0), |step| step.1);
                Segment::constant(rate, steps.get(next).map_or(Time::NEVER, |step| step.0))
            }
            Self::Slots(slots) => slots.segment(at),
            Self::Rates(rates, phase) => rates.segment(at, *phase),
        }
    }
}

/// Largest number of segments that a packet may need; beyond it, the packet never departs.
/// Otherwise a rate drawn near zero would take forever to compute.
const HORIZON: usize = 1 << 20;

/// Point on the curve R(t) that only moves forward.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    at: Time,
    /// R(at).
    work: u128,
    segment: Segment,
}

impl Cursor {
    /// Moves forward to `now`. Beyond `enough` work the curve no longer matters and may be cut
    /// short.
    #[inline]
    fn pass(&mut self, now: Time, enough: u128, schedule: &Schedule) {
        if now >= self.segment.until {
            self.cross_until(now, enough, schedule);
        }
        self.work += self.segment.work(self.at, now);
        self.at = now;
    }

    #[cold]
    fn cross_until(&mut self, now: Time, enough: u128, schedule: &Schedule) {
        while now >= self.segment.until {
            self.work += self.segment.work(self.at, self.segment.until);
            // An idle server skips the segments in between.
            self.at = if self.work >= enough { now } else { self.segment.until };
            self.segment = schedule.segment(self.at);
        }
    }

    /// Moves forward to the last nanosecond with at most this work. Returns the first nanosecond
    /// with at least this work.
    #[inline]
    fn reach(&mut self, work: u128, schedule: &Schedule) -> Time {
        if work - self.work > self.segment.work(self.at, self.segment.until)
            && !self.cross_for(work, schedule)
        {
            return Time::NEVER;
        }
        // At rate zero nothing is missing here.
        let rate = self.segment.rate.max(1);
        let missing = work - self.work;
        let (whole, rest) = match u64::try_from(missing) {
            Ok(missing) => (missing / rate, missing % rate),
            Err(_) => divide(missing, rate),
        };
        self.at = Time(self.at.0 + whole);
        self.work = work - u128::from(rest);
        Time(self.at.0 + u64::from(rest > 0))
    }

    /// Moves forward to the segment in which this work completes. Returns false if it never does.
    #[cold]
    fn cross_for(&mut self, work: u128, schedule: &Schedule) -> bool {
        for _ in 0..HORIZON {
            let done = self.segment.work(self.at, self.segment.until);
            if work - self.work <= done {
                return true;
            }
            if self.segment.until == Time::NEVER {
                break;
            }
            self.work += done;
            self.at = self.segment.until;
            self.segment = schedule.segment(self.at);
        }
        // No later packet departs either: the queue is a FIFO.
        self.at = Time::NEVER;
        self.segment = Segment::constant(Rate(0), Time::NEVER);
        false
    }
}

#[cold]
fn divide(missing: u128, rate: u64) -> (u64, u64) {
    let rate = u128::from(rate);
    // The quotient lies within the segment, whose length is a u64.
    ((missing / rate) as u64, (missing % rate) as u64)
}

/// Work of one byte.
const BYTE: u128 = 8_000_000_000;

/// Server on which a packet may have to wait although it is idle.
#[derive(Debug)]
enum Gated {
    Chances(ChanceServer),
    Aggregates(AggregateServer),
}

/// Server with its token bucket, or with chances to deliver or aggregates in place of a rate.
#[derive(Debug)]
pub(crate) struct Server {
    gated: Option<Gated>,
    schedule: Schedule,
    now: Cursor,
    /// Position at the last departure that had to wait.
    departure: Cursor,
    /// F in the module documentation.
    frontier: u128,
    /// b in the module documentation.
    depth: u128,
}

impl Server {
    pub(crate) fn new(model: &RateModel, burst: Bytes, rng: Rng) -> Self {
        let schedule = Schedule::new(model, rng.clone());
        let start = Cursor { at: Time::ZERO, work: 0, segment: schedule.segment(Time::ZERO) };
        let depth = u128::from(burst.0) * BYTE;
        let chances = |(chances, phase): (&Arc<Chances>, u64)| ChanceServer::new(chances.clone(), phase);
        let gated = match model {
            RateModel::Aggregates(model) => Some(Gated::Aggregates(AggregateServer::new(model, rng))),
            _ => model.chances().map(chances).map(Gated::Chances),
        };
        Self { gated, schedule, now: start, departure: start, frontier: 0, depth }
    }

    /// Advances to `now`, which never goes back and is never [`Time::NEVER`].
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        self.now.pass(now, self.frontier, &self.schedule);
    }

    /// Reports whether packets that arrive now are lost.
    #[inline]
    pub(crate) fn in_outage(&self) -> bool {
        self.now.at < self.now.segment.outage_until
    }

    /// Returns the current rate: the mean of chances, and that of saturated aggregates.
    pub(crate) fn rate(&self) -> Rate {
        Rate(self.now.segment.rate)
    }

    /// Reports whether a packet that arrives now finds tokens for all of its bytes.
    pub(crate) fn has_tokens(&self, size: u32) -> bool {
        let full = self.frontier.max(self.now.work).saturating_add(u128::from(size) * BYTE);
        full.saturating_sub(self.depth) <= self.now.work
    }

    /// Returns the time at which the next packet begins, if it waits for a chance or an aggregate.
    /// `arrives` says that it arrives now, at an idle link, and `waits` that there is one.
    #[inline]
    pub(crate) fn begins(&mut self, now: Time, arrives: bool, waits: bool) -> Option<Time> {
        Some(match self.gated.as_mut()? {
            Gated::Chances(chances) => {
                if arrives {
                    chances.skip(now);
                }
                chances.begins()
            }
            Gated::Aggregates(aggregates) if waits => aggregates.begins(now, arrives),
            Gated::Aggregates(_) => Time::NEVER,
        })
    }

    /// Reports whether the next packet leaves the queue together with the last one.
    #[inline]
    pub(crate) fn takes_another(&self) -> bool {
        matches!(&self.gated, Some(Gated::Aggregates(aggregates)) if aggregates.has_room())
    }

    /// Returns the departure of a packet that arrives now.
    #[inline]
    pub(crate) fn depart(&mut self, size: u32) -> Departure {
        match &mut self.gated {
            Some(Gated::Chances(chances)) => chances.skip(self.now.at),
            Some(Gated::Aggregates(aggregates)) => return aggregates.depart(self.now.at, size),
            None => {}
        }
        self.frontier = self.frontier.max(self.now.work);
        self.depart_next(size)
    }

    /// Returns the departure of a packet that already waited when the previous one left, which is
    /// now. That departure was rounded up, so the work done since belongs to this packet.
    #[inline]
    pub(crate) fn depart_next(&mut self, size: u32) -> Departure {
        match &mut self.gated {
            Some(Gated::Chances(chances)) => return chances.depart(size),
            Some(Gated::Aggregates(aggregates)) => return aggregates.join(size),
            None => {}
        }
        self.frontier = self.frontier.saturating_add(u128::from(size) * BYTE);
        let needed = self.frontier.saturating_sub(self.depth);
        if needed <= self.now.work {
            return Departure { extra_delay: self.now.segment.extra_delay, ..Departure::new(self.now.at) };
        }
        if self.departure.at <= self.now.at {
            self.departure = self.now;
        }
        let at = self.departure.reach(needed, &self.schedule);
        Departure { extra_delay: self.departure.segment.extra_delay, ..Departure::new(at) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;
    use units::Rng;

    use super::*;

    fn server(model: &RateModel, burst: u64) -> Server {
        Server::new(model, Bytes(burst), Rng::stream(1, "l.slots"))
    }

    fn constant(rate: u64, burst: u64) -> Server {
        server(&RateModel::Constant(Rate(rate)), burst)
    }

    fn steps(list: &[(u64, u64)]) -> RateModel {
        RateModel::Steps(
            list.iter().map(|&(ms, mbit)| (Time::from_millis(ms), Rate(mbit * 1_000_000))).collect(),
        )
    }

    /// The capacity is the integral of the rate, also from and to the middle of a step. Slots are
    /// those that the link itself draws.
    #[test]
    fn capacity_is_the_integral() {
        let rng = || Rng::stream(1, "l.slots");
        let model = steps(&[(0, 8), (1000, 16), (3000, 0), (4000, 8)]);
        for (from, to, bytes) in [(0, 1000, 1e6), (500, 2000, 2.5e6), (0, 5000, 6e6), (3000, 4000, 0.0)] {
            assert_eq!(model.capacity(Time::from_millis(from), Time::from_millis(to), rng()), bytes);
        }
        let model = RateModel::Slots(SlotModel { sigma: 0.5, ..SlotModel::plain(Rate(8_000_000)) });
        let (schedule, end) = (Schedule::new(&model, rng()), Time::from_millis(100_000));
        let milliseconds =
            (0..100_000).map(|ms| schedule.segment(Time::from_millis(ms)).rate as f64 / 8000.0);
        let sum: f64 = milliseconds.sum();
        assert!((model.capacity(Time::ZERO, end, rng()) / sum - 1.0).abs() < 1e-9);
    }

    fn depart(server: &mut Server, now: Time, size: u32) -> Time {
        server.advance(now);
        server.depart(size).at
    }

    #[test]
    fn long_run_rate_is_exact() {
        // 1500 bytes at 7 Mbit/s are 1 714 285.7 ns.
        let mut s = constant(7_000_000, 0);
        let last = (0..7_000_000).map(|_| depart(&mut s, Time::ZERO, 1500)).last();
        assert_eq!(last, Some(Time::from_millis(12_000_000)));
    }

    #[test]
    fn departures_are_rounded_up_and_nothing_else_is() {
        let mut s = constant(3_000_000_000, 0);
        // One byte takes 8/3 ns.
        let times: Vec<_> = (0..4).map(|_| depart(&mut s, Time::ZERO, 1).0).collect();
        assert_eq!(times, [3, 6, 8, 11]);
        assert_eq!(depart(&mut s, Time(10), 1), Time(14), "busy: 5 * 8/3");
        assert_eq!(depart(&mut s, Time(14), 1), Time(17), "idle since 13 1/3: starts anew");
    }

    #[test]
    fn rate_change_acts_on_the_queued() {
        // 10 packets of 1.2 ms at 10 Mbit/s, then 5 Mbit/s from 6 ms on: five packets before, five
        // of 2.4 ms after.
        let mut s = server(&steps(&[(0, 10), (6, 5)]), 0);
        let times: Vec<_> = (0..10).map(|_| depart(&mut s, Time::ZERO, 1500).0 / 100_000).collect();
        assert_eq!(times, [12, 24, 36, 48, 60, 84, 108, 132, 156, 180]);
        // A packet in transmission when the rate changes: 2/3 at 10 Mbit/s, a pause, the rest at 5
        // Mbit/s.
        let mut s = server(&steps(&[(0, 10), (8, 0), (20, 5)]), 0);
        assert_eq!(depart(&mut s, Time::ZERO, 15_000), Time::from_millis(28));
    }

    #[test]
    fn first_step_holds_before_its_time_and_order_does_not_matter() {
        let mut s = server(&steps(&[(50, 20), (10, 10)]), 0);
        assert_eq!(depart(&mut s, Time::ZERO, 1250), Time::from_millis(1));
        assert_eq!(depart(&mut s, Time::from_millis(60), 2500), Time::from_millis(61));
    }

    #[test]
    fn an_idle_server_skips_segments() {
        let saw: Vec<_> = (0..1000).map(|i| (i, 1 + i % 10)).collect();
        let mut s = server(&steps(&saw), 0);
        assert_eq!(depart(&mut s, Time::from_millis(1), 250), Time::from_millis(2));
        assert_eq!(depart(&mut s, Time::from_millis(989), 1250), Time::from_millis(990));
    }

    #[test]
    fn rate_zero_and_huge_values() {
        for model in [RateModel::Constant(Rate(0)), RateModel::Steps(vec![])] {
            let mut s = server(&model, 3000);
            assert_eq!(depart(&mut s, Time(5), 1500), Time(5), "initially full");
            assert_eq!(depart(&mut s, Time(5), 1500), Time(5));
            assert_eq!(depart(&mut s, Time(7), 1), Time::NEVER);
            assert_eq!(depart(&mut s, Time(u64::MAX - 1), 0), Time::NEVER, "a FIFO");
        }
        let mut s = constant(1, 0);
        assert_eq!(depart(&mut s, Time::ZERO, u32::MAX), Time::NEVER, "a thousand years");
        let mut s = constant(u64::MAX, u64::MAX);
        assert_eq!(depart(&mut s, Time(u64::MAX - 1), u32::MAX), Time(u64::MAX - 1));
        let slow = SlotModel { max: Rate(1), ..SlotModel::plain(Rate(1)) };
        assert_eq!(depart(&mut server(&RateModel::Slots(slow), 0), Time(9), u32::MAX), Time::NEVER);
    }

    #[test]
    fn bucket_first_lets_b_bytes_through_then_the_rate() {
        let mut s = constant(8_000_000, 3000);
        let us: Vec<_> = (0..4).map(|_| depart(&mut s, Time::ZERO, 1500).0 / 1000).collect();
        assert_eq!(us, [0, 0, 1500, 3000]);
        // At 4 ms there are 1000 tokens, and 500 more take 0.5 ms. At 20 ms the bucket is full, not
        // fuller.
        assert_eq!(depart(&mut s, Time::from_millis(4), 1500).0 / 1000, 4500);
        let us: Vec<_> = (0..3).map(|_| depart(&mut s, Time::from_millis(20), 1500).0 / 1000).collect();
        assert_eq!(us, [20_000, 20_000, 21_500]);
    }

    #[test]
    fn a_larger_packet_waits_for_what_the_bucket_lacks() {
        assert_eq!(depart(&mut constant(8_000_000, 500), Time::ZERO, 1500).0 / 1000, 1000);
    }

    #[test]
    fn extra_delay_is_that_of_the_departure() {
        let model = SlotModel {
            phase: Duration::from_secs(1),
            sigma: 0.4,
            extra_delay: [Duration::from_millis(1), Duration::from_millis(13)],
            outage: Duration::from_millis(50),
            ..SlotModel::plain(Rate(8_000_000))
        };
        let mut s = server(&RateModel::Slots(model.clone()), 0);
        let schedule = Schedule::new(&RateModel::Slots(model), Rng::stream(1, "l.slots"));
        s.advance(Time::ZERO);
        let mut last = Time::ZERO;
        while last < Time::from_millis(100_000) {
            let departure = s.depart(1500);
            // A packet completed exactly at the boundary belongs to the slot that carried it.
            let slot = schedule.segment(Time(departure.at.0 - 1));
            assert_eq!(departure.extra_delay, slot.extra_delay);
            assert!(departure.at > last);
            last = departure.at;
        }
        for (ms, out) in [(999, false), (1000, true), (1049, true), (1050, false), (16_049, true)] {
            s.advance(Time::from_millis(ms));
            assert_eq!(s.in_outage(), out, "{ms} ms");
        }
    }

    #[test]
    fn checks_in_words() {
        assert_eq!(steps(&[(0, 1), (1, 1)]).check(), Ok(()));
        assert!(steps(&[]).check().unwrap_err().contains("at least one step"));
        assert!(steps(&[(1, 1), (1, 2)]).check().unwrap_err().contains("increase"));
    }

    /// Arrivals as (gap in ns, size).
    fn arrivals() -> impl Strategy<Value = Vec<(u64, u32)>> {
        prop::collection::vec((prop_oneof![Just(0), 0..3_000_000_u64], 1..3000_u32), 1..200)
    }

    proptest! {
        /// Departures over any window w are at most r w + b, within a nanosecond, the rounding of
        /// the window.
        #[test]
        fn departures_in_any_window(
            script in arrivals(), rate in 1_000_000..2_000_000_000_u64, burst in 3000..40_000_u64,
        ) {
            let mut s = constant(rate, burst);
            let mut now = Time::ZERO;
            let mut departed = Vec::new();
            for (gap, size) in script {
                now += Duration(gap);
                departed.push((depart(&mut s, now, size), size));
            }
            for (i, &(from, _)) in departed.iter().enumerate() {
                let mut bytes = 0;
                for &(to, size) in &departed[i..] {
                    bytes += u128::from(size);
                    let window = u128::from((to - from).0 + 1);
                    prop_assert!(bytes * BYTE <= u128::from(rate) * window + u128::from(burst) * BYTE);
                }
            }
        }

        /// Compares with the token recursion itself, in continuous time with f64.
        #[test]
        fn bucket_agrees_with_the_token_recursion(
            script in arrivals(), rate in 1_000_000..100_000_000_u64, burst in 3000..40_000_u64,
        ) {
            let (r, b) = (rate as f64 / 8e9, burst as f64);
            let (mut at, mut tokens) = (0.0_f64, b);
            let mut s = constant(rate, burst);
            let mut now = Time::ZERO;
            for (gap, size) in script {
                now += Duration(gap);
                let start = at.max(now.0 as f64);
                tokens = b.min(tokens + r * (start - at));
                let wait = (f64::from(size) - tokens).max(0.0) / r;
                (at, tokens) = (start + wait, tokens + r * wait - f64::from(size));
                let departure = depart(&mut s, now, size).0 as f64;
                prop_assert!((departure - at).abs() <= 1.01, "{departure} {at}");
            }
        }

        /// Steps of equal rates act as one constant rate.
        #[test]
        fn steps_agree_with_a_constant(
            script in arrivals(), rate in 1_000_000..100_000_000_u64, burst in 0..4000_u64,
        ) {
            let model = RateModel::Steps((0..300).map(|i| (Time::from_millis(i), Rate(rate))).collect());
            let (mut a, mut b) = (constant(rate, burst), server(&model, burst));
            let mut now = Time::ZERO;
            for (gap, size) in script {
                now += Duration(gap);
                prop_assert_eq!(depart(&mut a, now, size), depart(&mut b, now, size));
            }
        }

        /// Compares with a server that works off its queue microsecond by microsecond, in whole
        /// bytes.
        #[test]
        fn steps_agree_with_brute_force(
            arrivals in prop::collection::vec((0..400_u64, 1..300_u64), 1..40),
            rates in prop::collection::vec(0..20_u64, 1..30),
        ) {
            // Rates are in bytes per microsecond, with a step each 100 us. The last is not zero, so
            // that all packets get through.
            let rates: Vec<u64> = rates.into_iter().chain([3]).collect();
            let step = |(i, r): (usize, &u64)| (Time(i as u64 * 100_000), Rate(r * 8_000_000));
            let mut s = server(&RateModel::Steps(rates.iter().enumerate().map(step).collect()), 0);
            let mut now = 0;
            let mut waiting = VecDeque::new();
            for (gap, size) in arrivals {
                now += gap;
                waiting.push_back((now, size, depart(&mut s, Time(now * 1000), size as u32)));
            }
            let mut us = 0;
            while !waiting.is_empty() {
                let mut spare = *rates.get(us as usize / 100).unwrap_or(&3);
                us += 1;
                while let Some(head) = waiting.front_mut().filter(|head| head.0 < us && spare > 0) {
                    let served = head.1.min(spare);
                    head.1 -= served;
                    spare -= served;
                    if head.1 == 0 {
                        prop_assert_eq!(head.2.0.div_ceil(1000), us);
                        waiting.pop_front();
                    }
                }
            }
        }
    }
}
