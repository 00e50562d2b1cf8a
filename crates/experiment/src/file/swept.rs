//! What varied keys are in each case, as numbers where they have one unit: for tables, and for charts over them: where each row of each
//! variant stands, and the chart that a file gets which asks for none.

use units::split_number;
use units::{Bytes, Duration, Rate};

use crate::chart::{Axis, Chart, ScaleKind, Spot};
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::file::cursor::Cursor;
use crate::file::labels::Labels;
use crate::file::vary::{Case, short_names};
use crate::metric::Metric;
use crate::row::RowLabel;

/// From this ratio of its ends on, a range above zero is shown on a logarithmic axis.
const WIDE: f64 = 20.0;
/// Numbers of a key that make a line.
const LEAST_POINTS: usize = 3;
/// Panels of a chart that nobody asked for.
const MOST_PANELS: usize = 4;

/// What the cases of a study differ in, and what was set for all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Swept {
    /// Variant and row of each case.
    pub cases: Vec<(String, RowLabel)>,
    /// Varied keys in the file's order, the key of the rows last; then those that were set.
    pub keys: Vec<SweptKey>,
}

/// A key with its value in each case.
#[derive(Clone, Debug, PartialEq)]
pub struct SweptKey {
    /// `link.queue`, or the file's own name for keys that vary together.
    pub key: String,
    /// Of its numbers; empty for words and for numbers without one.
    pub unit: String,
    /// One for each case, in their order.
    pub values: SweptValues,
}

/// The values of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum SweptValues {
    /// All are numbers of one unit.
    Numbers(Vec<f64>),
    /// As the file calls them.
    Words(Vec<String>),
}

impl Swept {
    pub(crate) fn new(cases: &[Case], sets: &[(String, String)]) -> Self {
        let varied = cases.first().map_or(&[][..], |case| &case.values).iter().enumerate();
        let varied = varied.map(|(i, (key, _))| {
            SweptKey::new(key, cases.iter().map(|case| case.values[i].1.as_str()).collect())
        });
        let set = sets.iter().map(|(key, value)| SweptKey::new(key, vec![value.as_str(); cases.len()]));
        let names = cases.iter().map(|case| (case.variant.clone(), case.label()));
        Self { cases: names.collect(), keys: varied.chain(set).collect() }
    }
}

impl SweptKey {
    fn new(key: &str, values: Vec<&str>) -> Self {
        let (values, unit) = match numbers(&values) {
            Some((numbers, unit)) => (SweptValues::Numbers(numbers), unit),
            None => (SweptValues::Words(values.into_iter().map(str::to_owned).collect()), String::new()),
        };
        Self { key: key.to_owned(), unit, values }
    }
}

/// A varied key with what its values are called, each once.
pub(crate) struct Key<'a> {
    key: &'a str,
    /// Its last parts: what variants call it.
    name: String,
    values: Vec<&'a str>,
}

/// The keys that the cases vary, the key of the rows last.
pub(crate) fn keys(cases: &[Case]) -> Vec<Key<'_>> {
    let Some(first) = cases.first() else { return Vec::new() };
    let words: Vec<&str> = first.values.iter().map(|(key, _)| key.as_str()).collect();
    let key = |(index, name): (usize, String)| {
        let mut values: Vec<&str> = Vec::new();
        for case in cases {
            let value = case.values[index].1.as_str();
            if !values.contains(&value) {
                values.push(value);
            }
        }
        Key { key: words[index], name, values }
    };
    short_names(&words).into_iter().enumerate().map(key).collect()
}

/// The number of the key that a value of the file names, in full or as variants call it.
pub(crate) fn read_key(cursor: &Cursor<'_>, keys: &[Key<'_>]) -> Result<usize, Diagnostic> {
    let word: String = cursor.read()?;
    let found = keys.iter().position(|k| k.key == word).or_else(|| keys.iter().position(|k| k.name == word));
    found.ok_or_else(|| {
        let right = format!("a key of [vary]; {}", did_you_mean(&word, keys.iter().map(|k| k.key)));
        cursor.problem(format!("`{word}` does not vary"), right)
    })
}

/// The axis of a key: numbers if all its values are of one unit, else words. Without a scale asked for, one that fits.
pub(crate) fn axis(key: &Key<'_>, scale: Option<ScaleKind>) -> Axis {
    let Some((values, unit)) = numbers(&key.values) else {
        let words = key.values.iter().map(|v| (*v).to_owned()).collect();
        return Axis { name: key.name.clone(), unit: String::new(), scale: ScaleKind::Linear, words };
    };
    let (low, high) = values.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(*v), h.max(*v)));
    let fits = if low > 0.0 && high >= WIDE * low { ScaleKind::Log } else { ScaleKind::Linear };
    let scale = if low > 0.0 { scale.unwrap_or(fits) } else { ScaleKind::Linear };
    Axis { name: key.name.clone(), unit, scale, words: Vec::new() }
}

/// The values as numbers of one unit: the one that all have, or else ms, Mbit/s or kB.
fn numbers(values: &[&str]) -> Option<(Vec<f64>, String)> {
    let split: Vec<(f64, &str)> = values.iter().map(|v| split_number(v).ok()).collect::<Option<_>>()?;
    let unit = split.first()?.1;
    if split.iter().all(|(_, u)| *u == unit) {
        return Some((split.iter().map(|(value, _)| *value).collect(), unit.to_owned()));
    }
    let all = |read: &dyn Fn(&str) -> Option<f64>, unit: &str| {
        let values: Option<Vec<f64>> = values.iter().map(|v| read(v)).collect();
        values.map(|values| (values, unit.to_owned()))
    };
    all(&|v| v.parse::<Duration>().ok().map(Duration::as_millis_f64), "ms")
        .or_else(|| all(&|v| v.parse::<Rate>().ok().map(Rate::mbit_s), "Mbit/s"))
        .or_else(|| all(&|v| v.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64 / 1e3), "kB"))
}

/// What the keys of a chart are for, by their numbers.
pub(crate) struct Roles {
    /// The axes.
    pub(crate) axes: Vec<usize>,
    /// What the lines of a panel are values of.
    pub(crate) series: Vec<usize>,
}

/// Every case on these axes; the keys without a role make the panels.
pub(crate) fn spots(cases: &[Case], keys: &[Key<'_>], roles: &Roles) -> Vec<Spot> {
    let places: Vec<Vec<f64>> = keys.iter().map(|key| places(&key.values)).collect();
    let is_facet = |i: &usize| !roles.axes.contains(i) && !roles.series.contains(i);
    let facets: Vec<usize> = (0..keys.len()).filter(is_facet).collect();
    let spot = |case: &Case| {
        let value = |i: &usize| case.values[*i].1.clone();
        let at = |i: &usize| {
            let index = keys[*i].values.iter().position(|v| *v == case.values[*i].1);
            index.map_or(0.0, |index| places[*i][index])
        };
        let series: Vec<String> = roles.series.iter().map(value).collect();
        let facet: Vec<String> = facets.iter().map(|i| format!("{} = {}", keys[*i].name, value(i))).collect();
        Spot {
            variant: case.variant.clone(),
            row: case.label(),
            at: roles.axes.iter().map(at).collect(),
            series: series.join(", "),
            facet: facet.join(", "),
        }
    };
    cases.iter().map(spot).collect()
}

fn places(values: &[&str]) -> Vec<f64> {
    numbers(values).map_or_else(|| (0..values.len()).map(|i| i as f64).collect(), |(values, _)| values)
}

/// The chart of a file that asks for none: lines over the first key with several numbers; without one, what was recorded over
/// time; else the table as bars.
pub(crate) fn default_chart(title: &str, cases: &[Case], labels: &Labels, with_series: bool) -> Chart {
    let metrics: Vec<Metric> = labels.metrics.iter().take(MOST_PANELS).cloned().collect();
    let (title, keys) = (title.to_owned(), keys(cases));
    let is_numeric = |key: &Key<'_>| key.values.len() >= LEAST_POINTS && numbers(&key.values).is_some();
    match keys.iter().position(is_numeric) {
        Some(x) => {
            let roles = Roles { axes: vec![x], series: default_series(&keys, &[x]).into_iter().collect() };
            let spots = spots(cases, &keys, &roles);
            Chart::Line { title, x: axis(&keys[x], None), metrics, y_scale: ScaleKind::Linear, spots }
        }
        None if with_series => {
            let metrics = ["goodput_mbit_s", "latest_rtt_ms", "cwnd_bytes"].map(str::to_owned).to_vec();
            Chart::OverTime { title, metrics, rows: Vec::new(), y_scale: ScaleKind::Linear }
        }
        None => Chart::Bars { title, metrics },
    }
}

/// The rows' key, unless it is an axis: then the first of the others.
pub(crate) fn default_series(keys: &[Key<'_>], axes: &[usize]) -> Option<usize> {
    let last = keys.len().checked_sub(1)?;
    std::iter::once(last).chain(0..last).find(|i| !axes.contains(i))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbers_if_they_have_one_unit() {
        let of = |values: &[&str]| numbers(values);
        assert_eq!(of(&["0.5 BDP", "1 BDP"]), Some((vec![0.5, 1.0], "BDP".to_owned())));
        assert_eq!(of(&["500 us", "1 ms", "2 s"]), Some((vec![0.5, 1.0, 2000.0], "ms".to_owned())));
        assert_eq!(of(&["500 kbit/s", "1 Mbit/s"]), Some((vec![0.5, 1.0], "Mbit/s".to_owned())));
        assert_eq!(of(&["1", "2.5"]), Some((vec![1.0, 2.5], String::new())));
        assert_eq!(of(&["1 BDP", "30 kB"]), None);
        assert_eq!(of(&["cubic", "bbr3"]), None);
    }

    #[test]
    fn swept_keys_have_a_value_in_each_case() {
        let key = SweptKey::new("link.queue", vec!["0.1 BDP", "1 BDP", "1 BDP"]);
        assert_eq!((key.unit.as_str(), key.values), ("BDP", SweptValues::Numbers(vec![0.1, 1.0, 1.0])));
        let key = SweptKey::new("flow.controller", vec!["cubic"]);
        assert_eq!((key.unit.as_str(), key.values), ("", SweptValues::Words(vec!["cubic".to_owned()])));
        assert_eq!(Swept::new(&[], &[("link.rate".into(), "5 Mbit/s".into())]).keys[0].key, "link.rate");
    }

    #[test]
    fn a_wide_range_is_logarithmic_and_words_stand_at_their_index() {
        let key = |values: &[&'static str]| Key {
            key: "link.queue",
            name: "queue".to_owned(),
            values: values.to_vec(),
        };
        assert_eq!(axis(&key(&["0.1 BDP", "1 BDP", "2 BDP"]), None).scale, ScaleKind::Log);
        assert_eq!(axis(&key(&["0.1 BDP", "1 BDP"]), None).scale, ScaleKind::Linear);
        assert_eq!(axis(&key(&["0.1 BDP", "1 BDP"]), Some(ScaleKind::Log)).scale, ScaleKind::Log);
        assert_eq!(
            axis(&key(&["0 ms", "1 ms"]), Some(ScaleKind::Log)).scale,
            ScaleKind::Linear,
            "zero has no place"
        );
        assert_eq!(axis(&key(&["smoothed", "latest"]), None).words, ["smoothed", "latest"]);
        assert_eq!(places(&["smoothed", "latest"]), [0.0, 1.0]);
    }
}
