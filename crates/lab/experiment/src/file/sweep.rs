//! Values of the varied keys in each case, for tables and for charts over them. They are numbers if
//! they share a unit.

use units::split_number;
use units::{Bytes, Duration, Rate};

use crate::chart::{Along, Axis, ScaleKind, Spot};
use crate::file::vary::{Case, short_names};
use crate::row::RowLabel;

/// Smallest ratio between the ends of a positive range that is shown on a logarithmic axis.
const LOG_RATIO: f64 = 20.0;
/// Fewest numbers of a key that make a line.
const MIN_POINTS: usize = 3;

/// Varied keys of a study, and keys that were set for all cases.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepAxes {
    /// Variant and row of each case.
    pub cases: Vec<(String, RowLabel)>,
    /// Varied keys in file order, with the key of the rows last, followed by the keys that were
    /// set.
    pub keys: Vec<SweepKey>,
}

/// A key with its value in each case.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepKey {
    /// The key, like `link.queue`, or the file's own name for keys that vary together.
    pub key: String,
    /// Unit of the numbers, empty for words and for plain numbers.
    pub unit: String,
    /// Values, one for each case.
    pub values: SweepValues,
}

/// The values of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum SweepValues {
    /// Numbers of one unit.
    Numbers(Vec<f64>),
    /// Labels, as in the file.
    Words(Vec<String>),
}

impl SweepAxes {
    pub(crate) fn new(cases: &[Case], sets: &[(String, String)]) -> Self {
        let varied = cases.first().map_or(&[][..], |case| &case.values).iter().enumerate();
        let varied = varied.map(|(i, (key, _))| {
            SweepKey::new(key, cases.iter().map(|case| case.values[i].1.as_str()).collect())
        });
        let set = sets.iter().map(|(key, value)| SweepKey::new(key, vec![value.as_str(); cases.len()]));
        let names = cases.iter().map(|case| (case.variant.clone(), case.label()));
        Self { cases: names.collect(), keys: varied.chain(set).collect() }
    }
}

impl SweepKey {
    fn new(key: &str, values: Vec<&str>) -> Self {
        let (values, unit) = match numbers(&values) {
            Some((numbers, unit)) => (SweepValues::Numbers(numbers), unit),
            None => (SweepValues::Words(values.into_iter().map(str::to_owned).collect()), String::new()),
        };
        Self { key: key.to_owned(), unit, values }
    }
}

/// A varied key with the distinct labels of its values.
pub(crate) struct Key<'a> {
    key: &'a str,
    /// Short name used in variants: the last parts of the key.
    name: String,
    values: Vec<&'a str>,
}

/// Returns the keys that the cases vary, with the key of the rows last.
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

impl<'a> Key<'a> {
    /// Returns the key as written in the file.
    pub(crate) fn key(&self) -> &'a str {
        self.key
    }
}

/// Returns the index of the key with this full or short name.
pub(crate) fn find(keys: &[Key<'_>], word: &str) -> Option<usize> {
    keys.iter().position(|k| k.key == word).or_else(|| keys.iter().position(|k| k.name == word))
}

/// Returns the index of the first key that makes a line.
pub(crate) fn first_numeric(keys: &[Key<'_>]) -> Option<usize> {
    keys.iter().position(|key| key.values.len() >= MIN_POINTS && numbers(&key.values).is_some())
}

/// A dimension that positions, colours or panels of a chart represent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// The rows of the table, even if nothing varies.
    Row,
    /// The variants, by all their keys.
    Variant,
    /// One key, by its index.
    Key(usize),
}

impl Channel {
    /// Returns the indices of its keys. The last of `count` keys is the one of the rows.
    fn keys(self, count: usize) -> std::ops::Range<usize> {
        let last = count.saturating_sub(1);
        match self {
            Self::Row => last..count,
            Self::Variant => 0..last,
            Self::Key(key) => key..key + 1,
        }
    }

    /// Returns its value in a case.
    fn value(self, case: &Case) -> String {
        match self {
            Self::Row => case.label().to_string(),
            Self::Variant => case.variant.clone(),
            Self::Key(key) => case.values[key].1.clone(),
        }
    }

    /// Returns its value in a case, formatted as the heading of a panel.
    fn heading(self, case: &Case, keys: &[Key<'_>]) -> String {
        match self {
            Self::Key(key) => format!("{} = {}", keys[key].name, case.values[key].1),
            _ => self.value(case),
        }
    }
}

/// Reports whether two channels share one of the `count` keys.
pub(crate) fn share_keys(count: usize, a: Channel, b: Channel) -> bool {
    let b = b.keys(count);
    a.keys(count).any(|key| b.contains(&key))
}

/// Returns the keys that these channels do not use.
pub(crate) fn rest(keys: &[Key<'_>], taken: &[Channel]) -> Vec<Channel> {
    let is_left = |key: &usize| taken.iter().all(|channel| !channel.keys(keys.len()).contains(key));
    (0..keys.len()).filter(is_left).map(Channel::Key).collect()
}

/// Returns the distinct values of a channel, as words.
fn words(cases: &[Case], channel: Channel) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in cases.iter().map(|case| channel.value(case)) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// Returns the axis of a channel: numeric if all values of its key share a unit, otherwise words.
/// Without a requested scale, chooses one.
pub(crate) fn axis(cases: &[Case], keys: &[Key<'_>], channel: Channel, scale: Option<ScaleKind>) -> Axis {
    let along = match channel {
        Channel::Row => Along::Rows,
        Channel::Variant => Along::Variants,
        Channel::Key(key) => return key_axis(&keys[key], scale),
    };
    Axis { along, words: words(cases, channel), ..Axis::default() }
}

fn key_axis(key: &Key<'_>, scale: Option<ScaleKind>) -> Axis {
    let Some((values, unit)) = numbers(&key.values) else {
        let words = key.values.iter().map(|v| (*v).to_owned()).collect();
        return Axis { name: key.name.clone(), words, ..Axis::default() };
    };
    let (low, high) = values.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(*v), h.max(*v)));
    let fits = if low > 0.0 && high >= LOG_RATIO * low { ScaleKind::Log } else { ScaleKind::Linear };
    // The chart itself reports a logarithmic axis that contains 0.
    let scale = scale.unwrap_or(fits);
    Axis { name: key.name.clone(), unit, scale, ..Axis::default() }
}

/// Converts the values to numbers of one unit: the unit that all have, or otherwise ms, Mbit/s or
/// kB. Returns `None` if one is no such number.
pub fn numbers(values: &[&str]) -> Option<(Vec<f64>, String)> {
    let split: Vec<(f64, &str)> = values.iter().map(|v| split_number(v).ok()).collect::<Option<_>>()?;
    let unit = split.first()?.1;
    if split.iter().all(|(_, u)| *u == unit) {
        return Some((split.iter().map(|(value, _)| *value).collect(), unit.to_owned()));
    }
    let all = |read: &dyn Fn(&str) -> Option<f64>, unit: &str| {
        let values: Option<Vec<f64>> = values.iter().map(|v| read(v)).collect();
        values.map(|values| (values, unit.to_owned()))
    };
    // Division instead of multiplication by 1e-6 makes 100 us exactly 0.1 ms, so that it can be
    // searched for.
    all(&|v| v.parse::<Duration>().ok().map(|time| time.0 as f64 / 1e6), "ms")
        .or_else(|| all(&|v| v.parse::<Rate>().ok().map(|rate| rate.0 as f64 / 1e6), "Mbit/s"))
        .or_else(|| all(&|v| v.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64 / 1e3), "kB"))
}

/// Channels of a chart, by role.
pub(crate) struct Roles {
    /// Channel of the axis.
    pub(crate) axis: Channel,
    /// Channels of the colours within a panel.
    pub(crate) series: Vec<Channel>,
    /// Channels of the panels.
    pub(crate) facets: Vec<Channel>,
}

/// Returns the position of every case on the axis.
pub(crate) fn spots(cases: &[Case], keys: &[Key<'_>], roles: &Roles) -> Vec<Spot> {
    let places = Places::new(cases, keys, roles.axis);
    let spot = |case: &Case| {
        let series: Vec<String> = roles.series.iter().map(|channel| channel.value(case)).collect();
        let facets: Vec<String> = roles.facets.iter().map(|channel| channel.heading(case, keys)).collect();
        Spot {
            variant: case.variant.clone(),
            row: case.label(),
            at: vec![places.at(case)],
            series: series.join(", "),
            facet: facets.join(", "),
        }
    };
    cases.iter().map(spot).collect()
}

/// Positions of the values of a channel.
struct Places {
    channel: Channel,
    places: Vec<(String, f64)>,
}

impl Places {
    fn new(cases: &[Case], keys: &[Key<'_>], channel: Channel) -> Self {
        let words = match channel {
            Channel::Key(key) => keys[key].values.iter().map(|v| (*v).to_owned()).collect(),
            _ => words(cases, channel),
        };
        let is_key = matches!(channel, Channel::Key(_));
        let values: Vec<&str> = words.iter().map(String::as_str).collect();
        let places = numbers(&values).filter(|_| is_key).map(|(values, _)| values);
        let places = places.unwrap_or_else(|| (0..words.len()).map(|i| i as f64).collect());
        Self { channel, places: words.into_iter().zip(places).collect() }
    }

    fn at(&self, case: &Case) -> f64 {
        let value = self.channel.value(case);
        self.places.iter().find(|(word, _)| *word == value).map_or(0.0, |(_, place)| *place)
    }
}

/// Returns the key of the rows, unless it is the axis, and then the first other key.
pub(crate) fn default_series(keys: &[Key<'_>], x: Channel) -> Option<Channel> {
    let last = keys.len().checked_sub(1)?;
    std::iter::once(last).chain(0..last).map(Channel::Key).find(|channel| *channel != x)
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
        assert_eq!(of(&["100 us", "1 ms"]).unwrap().0, [0.1, 1.0], "to the last bit");
        assert_eq!(of(&["100 kbit/s", "1.1 Mbit/s"]).unwrap().0, [0.1, 1.1]);
        assert_eq!(of(&["1", "2.5"]), Some((vec![1.0, 2.5], String::new())));
        assert_eq!(of(&["1 BDP", "30 kB"]), None);
        assert_eq!(of(&["cubic", "bbr3"]), None);
    }

    #[test]
    fn swept_keys_have_a_value_in_each_case() {
        let key = SweepKey::new("link.queue", vec!["0.1 BDP", "1 BDP", "1 BDP"]);
        assert_eq!((key.unit.as_str(), key.values), ("BDP", SweepValues::Numbers(vec![0.1, 1.0, 1.0])));
        let key = SweepKey::new("flow.controller", vec!["cubic"]);
        assert_eq!((key.unit.as_str(), key.values), ("", SweepValues::Words(vec!["cubic".to_owned()])));
        assert_eq!(SweepAxes::new(&[], &[("link.rate".into(), "5 Mbit/s".into())]).keys[0].key, "link.rate");
    }

    #[test]
    fn a_wide_range_is_logarithmic_and_words_stand_at_their_index() {
        let key = |values: &[&'static str]| Key {
            key: "link.queue",
            name: "queue".to_owned(),
            values: values.to_vec(),
        };
        assert_eq!(key_axis(&key(&["0.1 BDP", "1 BDP", "2 BDP"]), None).scale, ScaleKind::Log);
        assert_eq!(key_axis(&key(&["0.1 BDP", "1 BDP"]), None).scale, ScaleKind::Linear);
        assert_eq!(key_axis(&key(&["0.1 BDP", "1 BDP"]), Some(ScaleKind::Log)).scale, ScaleKind::Log);
        // A logarithmic axis has no 0. It is not chosen by default, and if requested, the chart
        // explains why it is not drawn.
        assert_eq!(key_axis(&key(&["0 ms", "1 ms", "90 ms"]), None).scale, ScaleKind::Linear);
        assert_eq!(key_axis(&key(&["0 ms", "1 ms"]), Some(ScaleKind::Log)).scale, ScaleKind::Log);
        assert_eq!(key_axis(&key(&["smoothed", "latest"]), None).words, ["smoothed", "latest"]);
    }
}
