//! Goodput of each flow in each second, from samples. Metrics of short-term fairness are computed
//! from it.

use units::{Duration, Time};

use crate::series::Series;

/// Goodput in one second.
#[derive(Clone, Debug, PartialEq)]
struct Second {
    /// Start, in seconds since that of the run.
    from: f64,
    /// Number of samples that fall into it.
    samples: usize,
    /// Sum over the samples for each flow, in Mbit/s; NaN if the flow did not run in all of them.
    sums: Vec<f64>,
}

/// Goodput of each flow in each second of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seconds {
    interval: Option<Duration>,
    all: Vec<Second>,
}

impl Seconds {
    /// Creates an empty value for a run with a sample every `interval`.
    pub fn new(interval: Option<Duration>) -> Self {
        Self { interval, all: Vec::new() }
    }

    /// Computes the seconds of a whole run.
    pub fn from_series(interval: Option<Duration>, series: &Series) -> Self {
        let mut seconds = Self::new(interval);
        let goodputs: Vec<Vec<f64>> = series.flows.iter().map(|flow| flow.goodput_mbit_s.to_vec()).collect();
        for (i, time) in series.times.iter().enumerate() {
            seconds.add(*time, goodputs.iter().map(|goodput| goodput[i]));
        }
        seconds
    }

    /// Adds a sample at `time`: the goodput of each flow in the interval before it, in Mbit/s.
    pub fn add(&mut self, time: f64, goodputs: impl Iterator<Item = f64>) {
        let Some(interval) = self.interval else { return };
        let from = (time - interval.as_secs_f64() / 2.0).floor();
        match self.all.last_mut().filter(|last| last.from == from) {
            Some(last) => {
                last.samples += 1;
                last.sums.iter_mut().zip(goodputs).for_each(|(sum, goodput)| *sum += goodput);
            }
            None => self.all.push(Second { from, samples: 1, sums: goodputs.collect() }),
        }
    }

    /// Returns the mean goodput of each flow in each whole second of a window, in Mbit/s; NaN where
    /// a flow did not run throughout. Empty if the sampling interval exceeds a second.
    pub fn within(&self, window: Option<(Time, Time)>) -> Vec<Vec<f64>> {
        let seconds = |time: Time| time.as_secs_f64();
        let (from, to) = window.map_or((0.0, f64::INFINITY), |(from, to)| (seconds(from), seconds(to)));
        let Some(interval) = self.interval.map(Duration::as_secs_f64).filter(|i| *i <= 1.0) else {
            return Vec::new();
        };
        let whole = (1.0 / interval + 1e-9).floor() as usize;
        let is_inside = |second: &&Second| {
            second.samples >= whole && second.from >= from && second.from + 1.0 <= to + 1e-9
        };
        let mean = |second: &Second| second.sums.iter().map(|sum| sum / second.samples as f64).collect();
        self.all.iter().filter(is_inside).map(mean).collect()
    }
}
