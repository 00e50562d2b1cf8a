//! Finds the metrics of a sender that changed since they were last written.

use std::borrow::Cow;

use congestion::STATE;
use scenario::trace::Metrics;
use units::Duration;

use super::events::{Metric, Metrics as Changed, Number};

/// The only controller variable that is a standard field.
pub(super) const SSTHRESH: &str = "ssthresh";
/// Prefix of the controller's other variables.
const OWN: &str = "cc_";
/// Standard fields in the order of writing.
const STANDARD: [(&str, Number); 7] = [
    ("congestion_window", Number::Whole),
    ("bytes_in_flight", Number::Whole),
    ("smoothed_rtt", Number::Ms),
    ("min_rtt", Number::Ms),
    ("latest_rtt", Number::Ms),
    ("rtt_variance", Number::Ms),
    ("pacing_rate", Number::Whole),
];

/// Index of the latest RTT among them.
const LATEST_RTT: usize = 4;

/// Metrics with their last written values.
#[derive(Debug)]
pub(super) struct Known {
    /// Standard metrics, then the controller's.
    all: Vec<Metric>,
    /// The controller's variables in the order in which it reports them.
    names: Vec<&'static str>,
    /// Order of writing, by name: index in `names`, and in `all`.
    order: Vec<(usize, usize)>,
    /// Indices of the threshold and the state in `names`.
    places: [Option<usize>; 2],
    changed: Vec<usize>,
}

impl Known {
    pub(super) fn new() -> Self {
        let all = STANDARD.map(|(name, kind)| Metric::new(Cow::Borrowed(name), kind)).into();
        Self { all, names: Vec::new(), order: Vec::new(), places: [None; 2], changed: Vec::new() }
    }

    /// Takes new values and returns the changed metrics.
    pub(super) fn update(&mut self, metrics: &Metrics) -> Changed<'_> {
        self.changed.clear();
        self.put(0, metrics.cwnd);
        self.put(1, metrics.bytes_in_flight);
        // Every sample is written, so that a reader can count them.
        if metrics.latest_rtt.is_some() {
            self.all[LATEST_RTT].bits = None;
        }
        let latest_rtt = metrics.latest_rtt.unwrap_or(Duration::MAX);
        let times = [metrics.smoothed_rtt, metrics.min_rtt, latest_rtt, metrics.rttvar];
        for (slot, time) in (2..).zip(times) {
            if time != Duration::MAX {
                self.put(slot, time.0);
            }
        }
        if let Some(rate) = metrics.pacing_rate {
            self.put(6, rate);
        }
        let same = |(names, (name, _)): (&&'static str, &(&'static str, f64))| std::ptr::eq(*names, *name);
        if self.names.len() != metrics.inner.len() || !self.names.iter().zip(&metrics.inner).all(same) {
            self.learn(&metrics.inner);
        }
        for i in 0..self.order.len() {
            let (turn, slot) = self.order[i];
            self.put_own(slot, metrics.inner[turn].1);
        }
        Changed { all: &self.all, changed: &self.changed }
    }

    /// Returns threshold and state of `metrics`, which must be those of the last update.
    pub(super) fn threshold_and_state(&self, metrics: &Metrics) -> [Option<f64>; 2] {
        self.places.map(|place| place.map(|turn| metrics.inner[turn].1))
    }

    #[inline]
    fn put(&mut self, slot: usize, bits: u64) {
        let known = &mut self.all[slot].bits;
        if *known != Some(bits) {
            *known = Some(bits);
            self.changed.push(slot);
        }
    }

    /// Stores a variable of the controller. JSON has neither infinities nor NaN.
    #[inline]
    fn put_own(&mut self, slot: usize, value: f64) {
        let Metric { kind, bits, .. } = &self.all[slot];
        if value.is_finite() {
            if *kind == Number::Whole {
                self.put(slot, value as u64);
            } else if bits.is_none_or(|bits| f64::from_bits(bits) != value) {
                // Positive and negative zero are equal, so this is no change.
                self.put(slot, value.to_bits());
            }
        }
    }

    /// Learns the variables that a controller reports.
    fn learn(&mut self, inner: &[(&'static str, f64)]) {
        self.names = inner.iter().map(|(name, _)| *name).collect();
        let mut order: Vec<usize> = (0..inner.len()).collect();
        order.sort_by_key(|turn| inner[*turn].0);
        let place = |wanted| self.names.iter().rposition(|name| *name == wanted);
        self.places = [SSTHRESH, STATE].map(place);
        self.order = order.into_iter().map(|turn| (turn, self.slot(inner[turn].0))).collect();
    }

    /// Returns the index of a controller's variable.
    fn slot(&mut self, name: &'static str) -> usize {
        let (name, kind) = if name == SSTHRESH {
            (Cow::Borrowed(name), Number::Whole)
        } else {
            (Cow::Owned(format!("{OWN}{name}")), Number::Real)
        };
        self.all.iter().position(|metric| metric.name == name).unwrap_or_else(|| {
            self.all.push(Metric::new(name, kind));
            self.all.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::json::Json;
    use super::*;

    fn names(known: &mut Known, inner: &[(&'static str, f64)]) -> String {
        let metrics =
            Metrics { cwnd: 1000, min_rtt: Duration::MAX, inner: inner.to_vec(), ..Metrics::default() };
        let mut json = Json::default();
        known.update(&metrics).write(&mut json);
        String::from_utf8(json.take()).unwrap()
    }

    /// Changed metrics are written by name in any order. Variables may appear late, disappear and
    /// return, or be NaN.
    #[test]
    fn only_what_changed() {
        let mut known = Known::new();
        let first = names(&mut known, &[("b", 1.0), ("a", 0.5), (SSTHRESH, f64::INFINITY)]);
        assert!(first.ends_with(r#""rtt_variance":0.0,"cc_a":0.5,"cc_b":1.0}"#), "{first}");
        assert!(
            first.starts_with(r#"{"congestion_window":1000,"bytes_in_flight":0,"smoothed_rtt":0.0,"rtt"#),
            "{first}"
        );
        assert_eq!(names(&mut known, &[("b", 1.0), ("a", 0.5), (SSTHRESH, 2000.7)]), r#"{"ssthresh":2000}"#);
        assert_eq!(names(&mut known, &[("c", -1.0), ("b", 2.0)]), r#"{"cc_b":2.0,"cc_c":-1.0}"#);
        assert_eq!(names(&mut known, &[("a", 0.5), ("b", f64::NAN)]), "{}");
        assert_eq!(names(&mut known, &[("a", 0.25)]), r#"{"cc_a":0.25}"#);
        assert_eq!(names(&mut known, &[("a", -0.0)]), r#"{"cc_a":-0.0}"#);
        assert_eq!(names(&mut known, &[("a", 0.0)]), "{}");
    }
}
