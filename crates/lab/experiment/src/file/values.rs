//! Readers of values that several tables use: rates, sizes, steps, spans of time.

use std::ops::RangeInclusive;

use link::{AggregateModel, LinkConfig, RateModel, SlotModel, Steps};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use units::{Bytes, Duration, Percent, Rate, Time};

use crate::diagnostic::Diagnostic;
use crate::file::cursor::Cursor;
use crate::file::merge::merge;
use crate::file::node::Value;
use crate::file::trace;

/// Highest rate. A packet then takes 1.2 ns, close to the simulator's resolution of 1 ns.
pub(crate) const MAX_RATE: Rate = Rate(10_000_000_000_000);

/// Shortest interval of probes, of phases and of idle times. Bursts in data centres last a few
/// microseconds.
pub(crate) const US: Duration = Duration::from_micros(1);

/// Most runs of a case.
pub(crate) const MAX_REPETITIONS: i64 = 10_000;

/// A share, 0 to 1. Files write it in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Share(pub(crate) f64);

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Percent(self.0 * 100.0).serialize(to)
    }
}

/// Reads a probability.
pub(crate) fn probability(cursor: &Cursor<'_>) -> Result<Share, Diagnostic> {
    let share = cursor.read::<Percent>()?.0 / 100.0;
    if share > 1.0 {
        let right = "must be between \"0 %\" and \"100 %\"";
        return Err(cursor.invalid("above 100 %", right));
    }
    Ok(Share(share))
}

/// Returns a reader of values in a range. `wrong` describes a value outside it, `right` the range.
pub(crate) fn within<T: DeserializeOwned>(
    is_allowed: impl Fn(&T) -> bool,
    wrong: impl Fn(&T) -> String,
    right: &str,
) -> impl Fn(&Cursor<'_>) -> Result<T, Diagnostic> {
    move |cursor| match cursor.read()? {
        value if is_allowed(&value) => Ok(value),
        value => Err(cursor.invalid(wrong(&value), right)),
    }
}

/// Returns a reader of times of at least `least`.
pub(crate) fn at_least(
    least: Duration,
    wrong: impl Fn(&Duration) -> String,
) -> impl Fn(&Cursor<'_>) -> Result<Duration, Diagnostic> {
    move |cursor| within(|time| *time >= least, &wrong, &format!("must be at least {least}"))(cursor)
}

/// Reads the size of a packet on the wire.
pub(crate) fn packet_size(cursor: &Cursor<'_>) -> Result<Bytes, Diagnostic> {
    let wrong = |size: &Bytes| format!("a size of {size} is out of range");
    within(|size: &Bytes| (1..=65_535).contains(&size.0), wrong, "must be between 1 and 65 535 bytes")(cursor)
}

/// Creates the problem with a rate above [`MAX_RATE`].
pub(crate) fn too_high(cursor: &Cursor<'_>, rate: Rate) -> Diagnostic {
    cursor.invalid(format!("{rate} is too high"), format!("must be at most {MAX_RATE}"))
}

/// Reads the number of bytes to send, at least one.
pub(crate) fn transfer(cursor: &Cursor<'_>) -> Result<Option<Bytes>, Diagnostic> {
    match cursor.read()? {
        Bytes(0) => Err(cursor.invalid("the transfer is 0 bytes", "remove `transfer` for unlimited data")),
        bytes => Ok(Some(bytes)),
    }
}

/// Returns a reader of whole numbers in a range.
pub(crate) fn whole<T: TryFrom<i64>>(
    range: RangeInclusive<i64>,
) -> impl Fn(&Cursor<'_>) -> Result<T, Diagnostic> {
    move |cursor| {
        let number: i64 = cursor.read()?;
        let fits = Some(number).filter(|number| range.contains(number)).and_then(|n| T::try_from(n).ok());
        let right = || format!("must be between {} and {}", range.start(), range.end());
        fits.ok_or_else(|| cursor.invalid(format!("{number} is out of range"), right()))
    }
}

/// Reads a rate, steps, slots, aggregates or a trace.
pub(crate) fn rate(cursor: &Cursor<'_>) -> Result<RateModel, Diagnostic> {
    match &cursor.node().value {
        Value::Array(_) => steps(cursor, "rate", "\"5 Mbit/s\"").map(RateModel::Steps),
        Value::Table(_) if cursor.get("trace").is_some() => trace::read(cursor),
        Value::Table(_) if cursor.get("phy").is_some() => {
            read_model(cursor, &AggregateModel::plain(Rate(1_000_000)), RateModel::Aggregates)
        }
        Value::Table(_) => read_slots(cursor),
        Value::Leaf(_) | Value::Gone => cursor.read().map(RateModel::Constant),
    }
}

/// Reads times and values. `key` and `like` are used in messages.
pub(crate) fn steps<T: DeserializeOwned>(
    cursor: &Cursor<'_>,
    key: &str,
    like: &str,
) -> Result<Vec<(Time, T)>, Diagnostic> {
    let mut all = Vec::new();
    for step in cursor.filled_list()? {
        let [at, value] = &step.list().unwrap_or_default()[..] else {
            let right = format!(
                "write a step as [\"30 s\", {like}]: its time and its {key}; values to compare go into [vary]"
            );
            return Err(step.invalid("invalid step", right));
        };
        all.push((Time::ZERO + at.read()?, value.read()?));
    }
    Ok(all)
}

/// Reads the table of a rate over the defaults of its model.
fn read_model<T: Clone + Serialize + DeserializeOwned>(
    cursor: &Cursor<'_>,
    plain: &T,
    model: impl Fn(T) -> RateModel,
) -> Result<RateModel, Diagnostic> {
    let check = |read: &T| LinkConfig { rate: model(read.clone()), ..LinkConfig::plain(Rate(1)) }.check();
    merge(plain, cursor, &[], check).map(&model)
}

fn read_slots(cursor: &Cursor<'_>) -> Result<RateModel, Diagnostic> {
    // The median has no default. This number is a placeholder until the file's own replaces it.
    let slots = read_model(cursor, &SlotModel::plain(Rate(1_000_000)), RateModel::Slots)?;
    if cursor.node().get("median").is_none() {
        return Err(
            cursor.invalid("`median` is missing", "write the median of the slots' rates, like \"20 Mbit/s\"")
        );
    }
    Ok(slots)
}

/// Reads a list of spans with start and end, in order. `what` names a span in messages.
pub(crate) fn spans(cursor: &Cursor<'_>, what: &str) -> Result<Vec<(Duration, Duration)>, Diagnostic> {
    let mut spans: Vec<(Duration, Duration)> = Vec::new();
    for span in cursor.list()? {
        let not_one = || {
            let right = format!("write a {what} as [\"40 s\", \"60 s\"]: its start and its end");
            span.invalid(format!("invalid {what}"), right)
        };
        let list = span.list().map_err(|_| not_one())?;
        let [from, to] = list.as_slice() else { return Err(not_one()) };
        let (from, to): (Duration, Duration) = (from.read()?, to.read()?);
        if from >= to {
            return Err(span.invalid(format!("a {what} from {from} to {to}"), "it must end after its start"));
        }
        if spans.last().is_some_and(|before| before.1 > from) {
            let wrong = format!("starts at {from}, before the previous {what} ends");
            return Err(span.problem(wrong, format!("list each {what} in order, without overlap")));
        }
        spans.push((from, to));
    }
    Ok(spans)
}

/// Returns spans as times of the run.
pub(crate) fn in_run(spans: &[(Duration, Duration)]) -> Vec<(Time, Time)> {
    spans.iter().map(|(from, to)| (Time::ZERO + *from, Time::ZERO + *to)).collect()
}

/// A value, or a list of steps: `[["0 s", "20 ms"], ["30 s", "80 ms"]]`. Times must increase. The
/// first value also applies before its time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Changing<T> {
    Never(T),
    Steps(Vec<(Duration, T)>),
}

impl<T: Copy> Changing<T> {
    /// Returns the first value, which also applies before its time.
    pub(crate) fn first(&self) -> T {
        match self {
            Self::Never(value) => *value,
            Self::Steps(steps) => steps[0].1,
        }
    }

    /// Returns the later values.
    pub(crate) fn later(&self) -> Steps<T> {
        let Self::Steps(steps) = self else { return Steps(Vec::new()) };
        Steps(steps[1..].iter().map(|&(at, value)| (Time::ZERO + at, value)).collect())
    }

    /// Returns all values, each converted.
    pub(crate) fn map<U>(&self, convert: impl Fn(T) -> U) -> Changing<U> {
        match self {
            Self::Never(value) => Changing::Never(convert(*value)),
            Self::Steps(steps) => {
                Changing::Steps(steps.iter().map(|&(at, value)| (at, convert(value))).collect())
            }
        }
    }
}

/// Reads a value that may have steps. `key` and `like` are used in messages.
pub(crate) fn changing<T: DeserializeOwned + Copy>(
    cursor: &Cursor<'_>,
    key: &str,
    like: &str,
) -> Result<Changing<T>, Diagnostic> {
    if !matches!(cursor.node().value, Value::Array(_)) {
        return cursor.read().map(Changing::Never);
    }
    let all = steps::<T>(cursor, key, like)?;
    if !all.is_sorted_by(|a, b| a.0 < b.0) {
        return Err(cursor.invalid(format!("the times of the steps of `{key}` must increase"), ""));
    }
    Ok(match all[..] {
        [(_, only)] => Changing::Never(only),
        _ => {
            let mut all: Vec<_> = all.into_iter().map(|(at, value)| (at - Time::ZERO, value)).collect();
            all[0].0 = Duration::ZERO;
            Changing::Steps(all)
        }
    })
}
