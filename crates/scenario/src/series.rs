//! Time series in compact columns, sampled at a fixed interval.

use std::ops::Index;

use units::{Duration, Time};

/// One flow's columns; one entry per sample of [`Series::times`], NaN where the flow did not run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSeries {
    /// Bytes.
    pub cwnd: Vec<f64>,
    /// Bytes.
    pub bytes_in_flight: Vec<f64>,
    /// Milliseconds.
    pub smoothed_rtt_ms: Vec<f64>,
    /// The newest sample, milliseconds.
    pub latest_rtt_ms: Vec<f64>,
    /// Stream bytes that arrived in the interval before the sample, Mbit/s.
    pub goodput_mbit_s: Vec<f64>,
    /// Video that the encoder made in the interval before the sample, Mbit/s; NaN without one.
    pub media_mbit_s: Vec<f64>,
    /// One-way delay of the last packet that arrived in the interval before the sample, milliseconds; NaN without one.
    pub owd_ms: Vec<f64>,
    /// The controller's own variables, by their paper's name.
    pub inner: Variables,
    delivered: u64,
    made: u64,
}

/// Columns of a controller's own variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variables(Vec<(&'static str, Vec<f64>)>);

impl Variables {
    /// The column of this name.
    pub fn get(&self, name: &str) -> Option<&Vec<f64>> {
        self.iter().find(|(known, _)| *known == name).map(|(_, values)| values)
    }

    /// Names and columns.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Vec<f64>)> {
        self.0.iter().map(|(name, values)| (*name, values))
    }

    /// The column of this name, which is made if there is none. A controller tells its variables in the same order each time: it is
    /// mostly the one at `turn`.
    fn column(&mut self, turn: usize, name: &'static str) -> &mut Vec<f64> {
        let at = match self.0.get(turn) {
            Some((expected, _)) if std::ptr::eq(*expected, name) => turn,
            _ => self.0.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                self.0.push((name, Vec::new()));
                self.0.len() - 1
            }),
        };
        &mut self.0[at].1
    }

    /// All columns in this length.
    fn pad(&mut self, length: usize) {
        self.0.iter_mut().for_each(|(_, values)| fill(values, length));
    }
}

/// A column in this length: mostly it has it, and that is asked for each of them at every sample.
#[inline]
fn fill(column: &mut Vec<f64>, length: usize) {
    if column.len() < length {
        column.resize(length, f64::NAN);
    }
}

impl IntoIterator for Variables {
    type Item = (&'static str, Vec<f64>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Index<&str> for Variables {
    type Output = Vec<f64>;

    fn index(&self, name: &str) -> &Vec<f64> {
        self.get(name).unwrap_or(const { &Vec::new() })
    }
}

/// All columns of a run, or a part of them: some samples one after another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Sample times, seconds.
    pub times: Vec<f64>,
    /// Bytes in the bottleneck's queue and on its wire.
    pub backlog: Vec<f64>,
    /// Packets dropped at the bottleneck since the start.
    pub drops: Vec<f64>,
    /// The probe's last answer in the interval before the sample, milliseconds; NaN without one.
    pub probe_ms: Vec<f64>,
    /// Bytes of UDP that arrived in the interval before the sample, Mbit/s; NaN without any source of it.
    pub udp_mbit_s: Vec<f64>,
    /// Per flow, in the scenario's order.
    pub flows: Vec<FlowSeries>,
}

impl Series {
    /// What is not of the flows.
    pub fn sample_path(&mut self, backlog: u64, drops: u64, answer: Option<Duration>, udp: f64) {
        self.backlog.push(backlog as f64);
        self.drops.push(drops as f64);
        self.probe_ms.push(answer.map_or(f64::NAN, Duration::as_millis_f64));
        self.udp_mbit_s.push(udp);
    }

    /// The time of a sample, before its flows'.
    pub fn sample_time(&mut self, now: Time, flows: usize) {
        self.times.push(now.as_secs_f64());
        self.flows.resize(flows, FlowSeries::default());
    }

    /// Samples of flows.
    pub fn rows(&self) -> usize {
        self.times.len() * self.flows.len()
    }

    /// Takes the samples out; the next ones go on from them.
    pub fn take(&mut self) -> Self {
        let room = self.times.len();
        let flows = self.flows.iter().map(|flow| flow.emptied(room)).collect();
        std::mem::replace(self, Self { flows, ..Self::default() })
    }

    /// Adds the samples that follow.
    pub fn append(&mut self, mut next: Self) {
        let (before, after) = (self.times.len(), self.times.len() + next.times.len());
        for (all, more) in self.columns().into_iter().zip(next.columns()) {
            all.append(more);
        }
        self.flows.resize(next.flows.len(), FlowSeries::default());
        for (all, more) in self.flows.iter_mut().zip(next.flows) {
            all.append(before, after, more);
        }
    }

    fn columns(&mut self) -> [&mut Vec<f64>; 5] {
        [&mut self.times, &mut self.backlog, &mut self.drops, &mut self.probe_ms, &mut self.udp_mbit_s]
    }
}

/// One flow at the time of a sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowSample {
    /// It has begun and not ended.
    pub running: bool,
    /// Bytes.
    pub cwnd: Option<u64>,
    /// Bytes.
    pub bytes_in_flight: Option<u64>,
    /// `smoothed_rtt`.
    pub smoothed_rtt: Option<Duration>,
    /// The newest sample.
    pub latest_rtt: Option<Duration>,
    /// Stream bytes that have arrived, since the start.
    pub delivered: u64,
    /// Bytes of video that the encoder made, since the start, if it has one.
    pub made: Option<u64>,
    /// One-way delay of the last packet that arrived in the interval.
    pub owd: Option<Duration>,
}

impl FlowSeries {
    /// Adds a sample, the `length`th; `trace` tells the controller's own variables.
    pub fn sample(
        &mut self,
        length: usize,
        interval: Duration,
        flow: &FlowSample,
        trace: impl FnOnce(&mut dyn FnMut(&'static str, f64)),
    ) {
        let or_nan = |value: Option<f64>| value.filter(|_| flow.running).unwrap_or(f64::NAN);
        self.cwnd.push(or_nan(flow.cwnd.map(|bytes| bytes as f64)));
        self.bytes_in_flight.push(or_nan(flow.bytes_in_flight.map(|bytes| bytes as f64)));
        self.smoothed_rtt_ms.push(or_nan(flow.smoothed_rtt.map(Duration::as_millis_f64)));
        self.latest_rtt_ms.push(or_nan(flow.latest_rtt.map(Duration::as_millis_f64)));
        let fresh = flow.delivered - std::mem::replace(&mut self.delivered, flow.delivered);
        self.goodput_mbit_s.push(or_nan(Some(mbit_s(fresh, interval))));
        let media = flow.made.map(|made| mbit_s(made - std::mem::replace(&mut self.made, made), interval));
        self.media_mbit_s.push(or_nan(media));
        self.owd_ms.push(or_nan(flow.owd.map(Duration::as_millis_f64)));
        let inner = &mut self.inner;
        let mut turn = 0;
        trace(&mut |name, value| {
            let column = inner.column(turn, name);
            turn += 1;
            fill(column, length - 1);
            column.push(or_nan(Some(value)));
        });
        // A controller may leave out what it does not know yet.
        inner.pad(length);
    }

    /// Without samples, in the midst of the same flow, with room for so many: columns that grow from nothing move again and again.
    fn emptied(&self, room: usize) -> Self {
        let column = || Vec::with_capacity(room);
        Self {
            cwnd: column(),
            bytes_in_flight: column(),
            smoothed_rtt_ms: column(),
            latest_rtt_ms: column(),
            goodput_mbit_s: column(),
            media_mbit_s: column(),
            owd_ms: column(),
            inner: Variables(self.inner.iter().map(|(name, _)| (name, column())).collect()),
            delivered: self.delivered,
            made: self.made,
        }
    }

    /// Adds the samples that follow the first `before`; `after` is how many there are then.
    fn append(&mut self, before: usize, after: usize, mut next: Self) {
        for (all, more) in self.columns().into_iter().zip(next.columns()) {
            all.append(more);
        }
        for (turn, (name, more)) in next.inner.0.iter_mut().enumerate() {
            let all = self.inner.column(turn, name);
            all.resize(before, f64::NAN);
            all.append(more);
        }
        self.inner.pad(after);
        (self.delivered, self.made) = (next.delivered, next.made);
    }

    fn columns(&mut self) -> [&mut Vec<f64>; 7] {
        [
            &mut self.cwnd,
            &mut self.bytes_in_flight,
            &mut self.smoothed_rtt_ms,
            &mut self.latest_rtt_ms,
            &mut self.goodput_mbit_s,
            &mut self.media_mbit_s,
            &mut self.owd_ms,
        ]
    }
}

/// Bytes in a span, as a rate.
pub fn mbit_s(bytes: u64, span: Duration) -> f64 {
    bytes as f64 * 8e-6 / span.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples `from` to `to` of two flows; one variable is not known before the fourth.
    fn sampled(series: &mut Series, from: usize, to: usize) {
        for i in from..to {
            series.sample_path(i as u64, 2, None, f64::NAN);
            series.sample_time(Time::from_millis(100 * i as u64), 2);
            let length = series.times.len();
            for (number, flow) in series.flows.iter_mut().enumerate() {
                let sample =
                    FlowSample { running: i + number > 1, delivered: 1000 * i as u64, ..Default::default() };
                flow.sample(length, Duration::from_millis(100), &sample, |put| {
                    put("x", i as f64);
                    if i > 3 {
                        put("late", 0.5);
                    }
                });
            }
        }
    }

    /// NaN is not equal to itself: compared as text.
    #[test]
    fn parts_are_together_the_whole() {
        let (mut whole, mut part, mut all) = (Series::default(), Series::default(), Series::default());
        sampled(&mut whole, 0, 8);
        for (from, to) in [(0, 2), (2, 3), (3, 7), (7, 8)] {
            sampled(&mut part, from, to);
            assert_eq!(part.rows(), 2 * (to - from));
            all.append(part.take());
        }
        assert_eq!(part.rows(), 0);
        assert_eq!(format!("{all:?}"), format!("{whole:?}"));
        assert_eq!(whole.flows[1].inner["late"].len(), 8);
        assert_eq!(whole.flows[1].inner["late"][4..], [0.5; 4]);
        assert_eq!(whole.flows[0].goodput_mbit_s[2], 0.08, "1000 bytes in 100 ms");
        assert!(whole.flows[0].inner["none"].is_empty());
    }
}
