//! Which of a sender's metrics have changed since they were last written.

use std::borrow::Cow;

use congestion::STATE;
use scenario::trace::Metrics;
use units::Duration;

use super::events::{Metric, Metrics as Changed, Value};

/// The one variable of controllers that is a standard field.
pub(super) const SSTHRESH: &str = "ssthresh";
/// Prefix of the controller's other variables.
const OWN: &str = "cc_";
/// Fields of the standard, in the order in which they are written.
const STANDARD: [&str; 7] = [
    "congestion_window",
    "bytes_in_flight",
    "smoothed_rtt",
    "min_rtt",
    "latest_rtt",
    "rtt_variance",
    "pacing_rate",
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
        let all = STANDARD.map(|name| Metric::new(Cow::Borrowed(name))).into();
        Self { all, told: Vec::new(), order: Vec::new(), places: [None; 2], changed: Vec::new() }
    }

    /// Takes new values, and tells those that are others than before.
    pub(super) fn update(&mut self, metrics: &Metrics) -> Changed<'_> {
        let real = |d: Duration| (d != Duration::MAX).then_some(Value::Ms(d));
        let standard = [
            Some(Value::Whole(metrics.cwnd)),
            Some(Value::Whole(metrics.bytes_in_flight)),
            real(metrics.smoothed_rtt),
            real(metrics.min_rtt),
            metrics.latest_rtt.and_then(real),
            real(metrics.rttvar),
            metrics.pacing_rate.map(Value::Whole),
        ];
        self.changed.clear();
        for (slot, value) in standard.into_iter().enumerate() {
            self.put(slot, value);
        }
        let same = |(told, (name, _)): (&&'static str, &(&'static str, f64))| std::ptr::eq(*told, *name);
        if self.told.len() != metrics.inner.len() || !self.told.iter().zip(&metrics.inner).all(same) {
            self.learn(&metrics.inner);
        }
        let threshold = self.places[0];
        for i in 0..self.order.len() {
            let (turn, slot) = self.order[i];
            self.put(slot, own(threshold == Some(turn), metrics.inner[turn].1));
        }
        Changed { all: &self.all, changed: &self.changed }
    }

    /// Threshold and state of these, which are the newest that it was told.
    pub(super) fn threshold_and_state(&self, metrics: &Metrics) -> [Option<f64>; 2] {
        self.places.map(|place| place.map(|turn| metrics.inner[turn].1))
    }

    fn put(&mut self, slot: usize, value: Option<Value>) {
        if value.is_some() && self.all[slot].value != value {
            self.all[slot].value = value;
            self.changed.push(slot);
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
        let name = if name == SSTHRESH { Cow::Borrowed(name) } else { Cow::Owned(format!("{OWN}{name}")) };
        self.all.iter().position(|metric| metric.name == name).unwrap_or_else(|| {
            self.all.push(Metric::new(name));
            self.all.len() - 1
        })
    }
}

/// JSON has neither infinities nor NaN.
fn own(is_threshold: bool, value: f64) -> Option<Value> {
    let value = Some(value).filter(|value| value.is_finite())?;
    Some(if is_threshold { Value::Whole(value as u64) } else { Value::Real(value) })
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
        String::from_utf8(std::mem::take(json.bytes())).unwrap()
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
    }
}
