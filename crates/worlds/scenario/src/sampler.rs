//! Converts samples of a run to columns. A column grows only where its value changes: most values
//! of a flow sampled every millisecond equal the previous one. All that such a sample touches is
//! adjacent in memory.

use recovery::Stats;
use units::{Duration, Rate, Time};

use crate::run_length::RunLength;
use crate::series::{FlowSeries, Series};

/// Samples of a run since the last were taken.
#[derive(Debug)]
pub struct Sampler {
    interval: Duration,
    /// Columns that do not belong to a flow.
    path: Series,
    flows: Vec<FlowSampler>,
}

impl Sampler {
    /// Creates a sampler for this number of flows and this interval.
    pub fn new(interval: Duration, flows: usize) -> Self {
        let flows = (0..flows).map(|_| FlowSampler::default()).collect();
        Self { interval, path: Series::default(), flows }
    }

    /// Returns the sampling interval.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Adds the sample of the path. Call this before those of the flows.
    pub fn sample_path(&mut self, now: Time, backlog: u64, drops: u64, answer: Option<Duration>, udp: f64) {
        self.path.times.push(now.as_secs_f64());
        self.path.backlog.push(backlog as f64);
        self.path.drops.push(drops as f64);
        self.path.probe_ms.push(answer.map_or(f64::NAN, Duration::as_millis_f64));
        self.path.udp_mbit_s.push(udp);
    }

    /// Adds the sample of a flow at the time of the last path sample. `trace` reports its
    /// controller's own variables.
    pub fn sample_flow(
        &mut self,
        number: usize,
        sample: &FlowSample,
        trace: impl FnOnce(&mut dyn FnMut(&'static str, f64)),
    ) {
        let before = self.path.times.len().saturating_sub(1);
        self.flows[number].sample(before as u32, self.interval, sample, trace);
    }

    /// Adds a sample of a flow whose state has not changed and for which nothing has arrived.
    pub fn repeat_flow(&mut self, number: usize) {
        let before = self.path.times.len().saturating_sub(1);
        self.flows[number].repeat(before as u32);
    }

    /// Returns the goodput of each flow at the last sample, in Mbit/s.
    pub fn goodputs(&self) -> impl Iterator<Item = f64> {
        self.flows.iter().map(|flow| flow.own[GOODPUT].value)
    }

    /// Returns the number of flow samples held.
    pub fn rows(&self) -> usize {
        self.path.times.len() * self.flows.len()
    }

    /// Takes the samples out. The next ones continue from them.
    pub fn take(&mut self) -> Series {
        let length = self.path.times.len() as u32;
        let flows = self.flows.iter_mut().map(|flow| flow.take(length)).collect();
        Series { flows, ..std::mem::take(&mut self.path) }
    }
}

/// State of one flow at the time of a sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowSample {
    /// Whether the flow has begun and not ended.
    pub running: bool,
    /// Congestion window, in bytes.
    pub cwnd: Option<u64>,
    pub bytes_in_flight: Option<u64>,
    /// Rate of the pacer; `None` while nothing is paced.
    pub pacing_rate: Option<Rate>,
    pub smoothed_rtt: Option<Duration>,
    /// Newest RTT sample.
    pub latest_rtt: Option<Duration>,
    /// Stream bytes that have arrived, since the start.
    pub delivered: u64,
    /// Bytes of video encoded since the start, if the flow has an encoder.
    pub made: Option<u64>,
    /// One-way delay of the last packet that arrived in the interval.
    pub owd: Option<Duration>,
    /// Packets declared lost since the start.
    pub lost: Option<u64>,
    /// Packets sent with data that was sent before, since the start.
    pub repeated: Option<u64>,
    /// Packets that arrived with a CE mark since the start.
    pub ce: Option<u64>,
}

/// Number of columns that every flow has.
const OWN: usize = 11;
/// Positions of [`FlowSeries::goodput_mbit_s`], `media_mbit_s` and `owd_ms` among those columns.
const GOODPUT: usize = 5;
const MEDIA: usize = 6;
const OWD: usize = 7;

/// Samples of one flow since the last were taken.
#[derive(Debug)]
pub struct FlowSampler {
    own: [Newest; OWN],
    /// Values before the newest of each column.
    columns: [RunLength; OWN],
    inner: Vec<Variable>,
    delivered: u64,
    made: u64,
}

impl Default for FlowSampler {
    fn default() -> Self {
        let columns = [const { RunLength::EMPTY }; OWN];
        Self { own: [Newest::NONE; OWN], columns, inner: Vec::new(), delivered: 0, made: 0 }
    }
}

/// Newest value of a column, and the sample from which on it holds.
#[derive(Clone, Copy, Debug)]
struct Newest {
    value: f64,
    since: u32,
}

impl Newest {
    const NONE: Self = Self { value: f64::NAN, since: 0 };

    /// Sets the value from sample `at` on.
    #[inline]
    fn set(&mut self, value: f64, at: u32, before: &mut RunLength) {
        if value.to_bits() == self.value.to_bits() {
            return;
        }
        if at == self.since {
            return self.correct(value, before);
        }
        before.push_different(self.value, at - self.since);
        *self = Self { value, since: at };
    }

    /// Replaces the value that was set for the same sample.
    #[cold]
    fn correct(&mut self, value: f64, before: &mut RunLength) {
        self.value = value;
        self.since -= before.pop_equal(value);
    }

    /// Takes the whole column, of this length. The next one begins with the same value and the same
    /// capacity.
    fn take(&mut self, length: u32, before: &mut RunLength) -> RunLength {
        before.push(self.value, length - self.since);
        self.since = 0;
        let next = RunLength::with_capacity(before.values().len());
        std::mem::replace(before, next)
    }
}

/// Variable of a controller.
#[derive(Debug)]
struct Variable {
    name: &'static str,
    newest: Newest,
    /// Number of samples up to the newest that reports it.
    reported: u32,
    /// Values before the newest.
    column: RunLength,
}

impl Variable {
    /// Sets the value at a sample. Reports whether this is the first time at this sample.
    #[inline]
    fn set(&mut self, value: f64, at: u32) -> bool {
        self.newest.set(value, at, &mut self.column);
        std::mem::replace(&mut self.reported, at + 1) != at + 1
    }
}

/// Returns the variable of this name that is not at its expected position. Creates it if there is
/// none.
#[inline(never)]
fn find<'v>(inner: &'v mut Vec<Variable>, name: &'static str) -> &'v mut Variable {
    let place = inner.iter().position(|known| known.name == name).unwrap_or(inner.len());
    if place == inner.len() {
        inner.push(Variable { name, newest: Newest::NONE, reported: 0, column: RunLength::EMPTY });
    }
    &mut inner[place]
}

impl FlowSampler {
    /// Adds the sample with number `at`. `trace` reports the controller's own variables.
    pub fn sample(
        &mut self,
        at: u32,
        interval: Duration,
        flow: &FlowSample,
        trace: impl FnOnce(&mut dyn FnMut(&'static str, f64)),
    ) {
        let fresh = flow.delivered - std::mem::replace(&mut self.delivered, flow.delivered);
        let media = flow.made.map(|made| mbit_s(made - std::mem::replace(&mut self.made, made), interval));
        let ms = |span: Option<Duration>| span.map_or(f64::NAN, Duration::as_millis_f64);
        let whole = |count: Option<u64>| count.map_or(f64::NAN, |count| count as f64);
        let running = flow.running;
        // In the order of `FlowSeries`.
        let values = match running {
            true => [
                whole(flow.cwnd),
                whole(flow.bytes_in_flight),
                flow.pacing_rate.map_or(f64::NAN, |rate| rate.0 as f64 * 1e-6),
                ms(flow.smoothed_rtt),
                ms(flow.latest_rtt),
                mbit_s(fresh, interval),
                media.unwrap_or(f64::NAN),
                ms(flow.owd),
                whole(flow.lost),
                whole(flow.repeated),
                whole(flow.ce),
            ],
            false => [f64::NAN; OWN],
        };
        for ((newest, column), value) in self.own.iter_mut().zip(&mut self.columns).zip(values) {
            newest.set(value, at, column);
        }
        let inner = &mut self.inner;
        let mut turn = 0;
        // A controller reports its variables in the same order each time.
        trace(&mut |name, value| {
            let value = if running { value } else { f64::NAN };
            let is_first = match inner.get_mut(turn) {
                Some(expected) if std::ptr::eq(expected.name, name) => expected.set(value, at),
                _ => find(inner, name).set(value, at),
            };
            turn += usize::from(is_first);
        });
        if turn < inner.len() {
            // It may omit variables that are not known yet.
            let missing = inner.iter_mut().filter(|variable| variable.reported != at + 1);
            missing.for_each(|variable| variable.newest.set(f64::NAN, at, &mut variable.column));
        }
    }

    /// Adds sample `at`: like the previous one, except that nothing has arrived.
    fn repeat(&mut self, at: u32) {
        for (place, value) in [(GOODPUT, 0.0), (MEDIA, 0.0), (OWD, f64::NAN)] {
            let (newest, column) = (&mut self.own[place], &mut self.columns[place]);
            // A column without a value keeps none.
            if !newest.value.is_nan() {
                newest.set(value, at, column);
            }
        }
    }

    /// Takes the samples, whose number is `length`, at least those added. The next ones continue
    /// from them. A sample that was left out equals the one before it.
    pub fn take(&mut self, length: u32) -> FlowSeries {
        let own = self.own.iter_mut().zip(&mut self.columns);
        let mut own = own.map(|(newest, column)| newest.take(length, column));
        let mut next = || own.next().unwrap_or_default();
        let inner = self.inner.iter_mut().map(|variable| {
            variable.reported = 0;
            (variable.name, variable.newest.take(length, &mut variable.column))
        });
        FlowSeries {
            cwnd: next(),
            bytes_in_flight: next(),
            pacing_rate_mbit_s: next(),
            smoothed_rtt_ms: next(),
            latest_rtt_ms: next(),
            goodput_mbit_s: next(),
            media_mbit_s: next(),
            owd_ms: next(),
            lost_packets: next(),
            repeated_packets: next(),
            ce_packets: next(),
            inner: inner.collect(),
        }
    }
}

/// Reports the size of datagrams as a column of the series, if the sender searches for the MTU.
pub fn trace_datagrams(stats: &Stats, put: &mut dyn FnMut(&'static str, f64)) {
    if let Some(size) = stats.datagram_size {
        put("datagram_bytes", size as f64);
    }
}

/// Returns the rate of `bytes` in `span`, in Mbit/s.
pub fn mbit_s(bytes: u64, span: Duration) -> f64 {
    bytes as f64 * 8e-6 / span.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes the samples `from` to `to` of two flows. The variable "late" is reported from sample 4
    /// on, except at sample 6.
    fn sampled(sampler: &mut Sampler, from: usize, to: usize) -> Series {
        for i in from..to {
            sampler.sample_path(Time::from_millis(100 * i as u64), i as u64, 2, None, f64::NAN);
            for number in 0..2 {
                let sample =
                    FlowSample { running: i + number > 1, delivered: 1000 * i as u64, ..Default::default() };
                sampler.sample_flow(number, &sample, |put| {
                    if i > 3 && i != 6 {
                        put("late", 0.5);
                    }
                    put("x", (i / 2) as f64);
                });
            }
        }
        assert_eq!(sampler.rows(), 2 * (to - from));
        sampler.take()
    }

    /// Returns the column of a flow as text, since NaN does not equal itself.
    fn column(parts: &[Series], of: impl Fn(&FlowSeries) -> &RunLength) -> String {
        let all: Vec<f64> = parts.iter().flat_map(|part| of(&part.flows[0]).to_vec()).collect();
        format!("{all:?}")
    }

    /// A variable reported twice does not replace another that is not reported.
    #[test]
    fn what_is_told_twice_is_one_variable() {
        let mut flow = FlowSampler::default();
        let sample = FlowSample { running: true, ..Default::default() };
        let told: [&[(&'static str, f64)]; 3] =
            [&[("a", 1.0), ("b", 2.0)], &[("a", 3.0), ("a", 4.0)], &[("a", 4.0), ("a", 5.0), ("b", 6.0)]];
        for (at, told) in told.iter().enumerate() {
            let trace = |put: &mut dyn FnMut(&'static str, f64)| {
                told.iter().for_each(|(name, value)| put(name, *value));
            };
            flow.sample(at as u32, Duration::from_millis(1), &sample, trace);
        }
        let inner = flow.take(3).inner;
        let column = |name| format!("{:?}", inner[name].to_vec());
        assert_eq!((column("a"), column("b")), ("[1.0, 4.0, 5.0]".to_owned(), "[2.0, NaN, 6.0]".to_owned()));
    }

    /// Another value at the same sample replaces the first without a trace.
    #[test]
    fn the_last_value_of_a_sample_counts() {
        let (mut newest, mut column) = (Newest::NONE, RunLength::EMPTY);
        for (value, at) in [(1.0, 0), (2.0, 3), (1.0, 3), (4.0, 5), (5.0, 5), (1.0, 6), (4.0, 6), (5.0, 6)] {
            newest.set(value, at, &mut column);
        }
        assert_eq!(
            newest.take(8, &mut column),
            RunLength::from_values(&[1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0])
        );
        newest.set(7.0, 0, &mut column);
        newest.set(5.0, 0, &mut column);
        assert_eq!(newest.take(2, &mut column), RunLength::constant(5.0, 2));
    }

    /// A sample equal to the one before gives the same series whether it is taken or left out. One
    /// flow has media, the other ends.
    #[test]
    fn what_is_not_asked_is_as_before() {
        let sampled = |asks: bool| {
            let mut sampler = Sampler::new(Duration::from_millis(100), 2);
            let mut parts = Vec::new();
            for i in 0..30_u64 {
                sampler.sample_path(Time::from_millis(100 * i), i, 2, None, f64::NAN);
                for number in 0..2 {
                    let news = i == 0 || (i + number).is_multiple_of(4);
                    let step = (i + number) / 4;
                    let sample = FlowSample {
                        running: i > 1 && (number == 0 || step < 6),
                        cwnd: Some(1000 + step),
                        delivered: 500 * step,
                        made: (number == 0).then_some(700 * step),
                        owd: news.then_some(Duration::from_millis(5)),
                        ..Default::default()
                    };
                    if asks || news || i <= 2 {
                        let trace = |put: &mut dyn FnMut(&'static str, f64)| {
                            put("step", step as f64);
                            if step % 2 == 0 {
                                put("even", 1.0);
                            }
                        };
                        sampler.sample_flow(number as usize, &sample, trace);
                    } else {
                        sampler.repeat_flow(number as usize);
                    }
                }
                if i % 7 == 6 {
                    parts.push(sampler.take());
                }
            }
            parts.push(sampler.take());
            format!("{parts:?}")
        };
        assert_eq!(sampled(false), sampled(true));
    }

    #[test]
    fn each_sample_is_there_whatever_the_parts() {
        for parts in [&[(0, 8)][..], &[(0, 2), (2, 3), (3, 7), (7, 8)], &[(0, 6), (6, 8)]] {
            let mut sampler = Sampler::new(Duration::from_millis(100), 2);
            let parts: Vec<Series> =
                parts.iter().map(|(from, to)| sampled(&mut sampler, *from, *to)).collect();
            assert_eq!(sampler.rows(), 0);
            let of = |of: fn(&FlowSeries) -> &RunLength| column(&parts, of);
            assert_eq!(of(|flow| &flow.inner["x"]), "[NaN, NaN, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]");
            let rate = "[NaN, NaN, 0.08, 0.08, 0.08, 0.08, 0.08, 0.08]";
            assert_eq!(of(|flow| &flow.goodput_mbit_s), rate, "1000 bytes in 100 ms");
            assert_eq!(of(|flow| &flow.owd_ms), format!("{:?}", [f64::NAN; 8]));
            // A part in which a variable is not yet known does not contain it.
            let last = parts.last().map(|part| part.flows[1].inner["late"].to_vec()).unwrap_or_default();
            let late = [f64::NAN, f64::NAN, f64::NAN, f64::NAN, 0.5, 0.5, f64::NAN, 0.5];
            assert_eq!(format!("{last:?}"), format!("{:?}", &late[8 - last.len()..]));
            assert!(parts[0].flows[0].inner["none"].is_empty());
        }
    }
}
