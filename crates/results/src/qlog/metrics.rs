//! Which of a sender's metrics have changed since they were last written.

use std::borrow::Cow;

use congestion::STATE;
use scenario::trace::Metrics;
use units::Duration;

use super::events::{Metric, Metrics as Changed, Number};

/// The one variable of controllers that is a standard field.
pub(super) const SSTHRESH: &str = "ssthresh";
/// Prefix of the controller's other variables.
const OWN: &str = "cc_";
/// Fields of the standard, in the order in which they are written.
const STANDARD: [(&str, Number); 7] = [
    ("congestion_window", Number::Whole),
    ("bytes_in_flight", Number::Whole),
    ("smoothed_rtt", Number::Ms),
    ("min_rtt", Number::Ms),
    ("latest_rtt", Number::Ms),
    ("rtt_variance", Number::Ms),
    ("pacing_rate", Number::Whole),
];

/// Metrics as last written.
#[derive(Debug)]
pub(super) struct Known {
    /// Those of the standard, then the controller's.
    all: Vec<Metric>,
    /// The controller's variables in the order in which it tells them.
    told: Vec<&'static str>,
    /// The same in the order in which they are written, by name: place in `told`, and in `all`.
    order: Vec<(usize, usize)>,
    /// Places of the threshold and of the state among them.
    places: [Option<usize>; 2],
    changed: Vec<usize>,
}

impl Known {
    pub(super) fn new() -> Self {
        let all = STANDARD.map(|(name, kind)| Metric::new(Cow::Borrowed(name), kind)).into();
        Self { all, told: Vec::new(), order: Vec::new(), places: [None; 2], changed: Vec::new() }
    }

    /// Takes new values, and tells those that are others than before.
    pub(super) fn update(&mut self, metrics: &Metrics) -> Changed<'_> {
        self.changed.clear();
        self.put(0, metrics.cwnd);
        self.put(1, metrics.bytes_in_flight);
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
        let same = |(told, (name, _)): (&&'static str, &(&'static str, f64))| std::ptr::eq(*told, *name);
        if self.told.len() != metrics.inner.len() || !self.told.iter().zip(&metrics.inner).all(same) {
            self.learn(&metrics.inner);
        }
        for i in 0..self.order.len() {
            let (turn, slot) = self.order[i];
            self.put_own(slot, metrics.inner[turn].1);
        }
        Changed { all: &self.all, changed: &self.changed }
    }

    /// Threshold and state of these, which are the newest that it was told.
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

    /// JSON has neither infinities nor NaN.
    #[inline]
    fn put_own(&mut self, slot: usize, value: f64) {
        let Metric { kind, bits, .. } = &self.all[slot];
        if value.is_finite() {
            if *kind == Number::Whole {
                self.put(slot, value as u64);
            } else if bits.is_none_or(|bits| f64::from_bits(bits) != value) {
                // Zero has two forms, and from one to the other is no change.
                self.put(slot, value.to_bits());
            }
        }
    }

    /// The controller tells others than before.
    fn learn(&mut self, inner: &[(&'static str, f64)]) {
        self.told = inner.iter().map(|(name, _)| *name).collect();
        let mut order: Vec<usize> = (0..inner.len()).collect();
        order.sort_by_key(|turn| inner[*turn].0);
        let place = |wanted| self.told.iter().rposition(|name| *name == wanted);
        self.places = [SSTHRESH, STATE].map(place);
        self.order = order.into_iter().map(|turn| (turn, self.slot(inner[turn].0))).collect();
    }

    /// Where a variable of the controller stands.
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

    fn told(known: &mut Known, inner: &[(&'static str, f64)]) -> String {
        let metrics =
            Metrics { cwnd: 1000, min_rtt: Duration::MAX, inner: inner.to_vec(), ..Metrics::default() };
        let mut json = Json::default();
        known.update(&metrics).write(&mut json);
        String::from_utf8(json.take()).unwrap()
    }

    /// By name whatever the order, a variable that comes later, one that leaves and comes back, one that is no number.
    #[test]
    fn only_what_changed() {
        let mut known = Known::new();
        let first = told(&mut known, &[("b", 1.0), ("a", 0.5), (SSTHRESH, f64::INFINITY)]);
        assert!(first.ends_with(r#""rtt_variance":0.0,"cc_a":0.5,"cc_b":1.0}"#), "{first}");
        assert!(
            first.starts_with(r#"{"congestion_window":1000,"bytes_in_flight":0,"smoothed_rtt":0.0,"rtt"#),
            "{first}"
        );
        assert_eq!(told(&mut known, &[("b", 1.0), ("a", 0.5), (SSTHRESH, 2000.7)]), r#"{"ssthresh":2000}"#);
        assert_eq!(told(&mut known, &[("c", -1.0), ("b", 2.0)]), r#"{"cc_b":2.0,"cc_c":-1.0}"#);
        assert_eq!(told(&mut known, &[("a", 0.5), ("b", f64::NAN)]), "{}");
        assert_eq!(told(&mut known, &[("a", 0.25)]), r#"{"cc_a":0.25}"#);
        assert_eq!(told(&mut known, &[("a", -0.0)]), r#"{"cc_a":-0.0}"#);
        assert_eq!(told(&mut known, &[("a", 0.0)]), "{}");
    }
}
