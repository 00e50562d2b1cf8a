//! Times of a trace: units, formats, reference times.

use std::time::UNIX_EPOCH;

use serde::Deserialize;
use units::{Duration, Time};

use super::value::Value;

/// Longest duration that counts as one, in nanoseconds: 30 days. Loggers write larger numbers for
/// infinity.
const LONGEST: f64 = 2.592e15;

/// Meaning of an event's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Format {
    /// The log does not say. A time before the reference time counts from it.
    #[default]
    Unknown,
    /// Time since 1970.
    Absolute,
    /// Time since the reference time.
    Relative,
    /// Time since the event before.
    Delta,
}

impl Format {
    pub(super) fn parse(text: &str) -> Self {
        match text {
            "absolute" => Self::Absolute,
            "relative" | "relative_to_epoch" => Self::Relative,
            "delta" | "relative_to_previous_event" => Self::Delta,
            _ => Self::Unknown,
        }
    }
}

/// Clock of a trace.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// Nanoseconds of a unit.
    unit: f64,
    pub(super) format: Format,
    /// Reference time, in nanoseconds.
    reference: f64,
    /// The reference time is a date, so that units do not change it.
    is_dated: bool,
    /// Offset of the trace's beginning, in units.
    offset: f64,
    last: u64,
}

/// Reference time as an object.
#[derive(Deserialize)]
struct Reference<'a> {
    #[serde(borrow, default)]
    epoch: Value<'a>,
    #[serde(borrow, default)]
    wall_clock_time: Value<'a>,
    #[serde(borrow, default)]
    clock_type: Value<'a>,
}

impl Default for Clock {
    fn default() -> Self {
        Self { unit: 1e6, format: Format::default(), reference: 0.0, is_dated: false, offset: 0.0, last: 0 }
    }
}

impl Clock {
    /// Takes `time_units`.
    pub(super) fn set_units(&mut self, units: &str) {
        let unit = match units {
            "us" => 1e3,
            "ns" => 1.0,
            "s" => 1e9,
            _ => 1e6,
        };
        if !self.is_dated {
            self.reference *= unit / self.unit;
        }
        self.unit = unit;
    }

    /// Takes `time_offset`.
    pub(super) fn set_offset(&mut self, offset: f64) {
        self.offset = offset;
    }

    /// Takes `reference_time`. Returns true if it is an empty object, as noq writes it.
    pub(super) fn set_reference(&mut self, json: &[u8]) -> bool {
        if let Ok(reference) = serde_json::from_slice::<Reference<'_>>(json) {
            let dates = [&reference.epoch, &reference.wall_clock_time];
            let date = dates.into_iter().find_map(|date| nanoseconds(date.text()?));
            (self.reference, self.is_dated) = (date.unwrap_or(0.0), true);
            return reference.clock_type == Value::Text("".into())
                && reference.epoch == Value::Text("".into());
        }
        let Ok(value) = serde_json::from_slice::<Value<'_>>(json) else { return false };
        let number = value.real().map(|number| number * self.unit);
        self.is_dated = number.is_none();
        self.reference = number.or_else(|| nanoseconds(value.text()?)).unwrap_or(0.0);
        false
    }

    /// Returns the milliseconds of a unit.
    pub(super) fn milliseconds(&self) -> f64 {
        self.unit / 1e6
    }

    /// Reports whether both read times alike, except for a shift.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.unit == other.unit && self.format == other.format
    }

    /// Returns the time of the next event.
    pub(super) fn time(&mut self, time: f64) -> Time {
        let reference = match self.format {
            Format::Absolute => 0.0,
            Format::Delta if self.last > 0 => self.last as f64,
            Format::Unknown if time * self.unit >= self.reference => 0.0,
            Format::Relative | Format::Delta | Format::Unknown => self.reference,
        };
        let offset = if self.format == Format::Delta && self.last > 0 { 0.0 } else { self.offset };
        let sum = i128::from(reference as i64) + self.nanoseconds(time) + self.nanoseconds(offset);
        self.last = u64::try_from(sum.max(0)).unwrap_or(u64::MAX);
        Time(self.last)
    }

    /// Converts a time. A date needs all digits of a float, so that the fraction is converted
    /// alone.
    fn nanoseconds(&self, time: f64) -> i128 {
        let whole = libm::trunc(time);
        let whole_units = i128::from(whole as i64) * self.unit as i128;
        whole_units + libm::round((time - whole) * self.unit) as i128
    }

    /// Returns a duration in the trace's units, unless it stands for infinity.
    pub(super) fn duration(&self, value: &Value<'_>) -> Option<Duration> {
        let nanoseconds = value.real()? * self.unit;
        (0.0..=LONGEST).contains(&nanoseconds).then(|| Duration(libm::round(nanoseconds) as u64))
    }
}

/// Returns the nanoseconds since 1970 of a date in the form of RFC 3339.
fn nanoseconds(date: &str) -> Option<f64> {
    let time = humantime::parse_rfc3339_weak(date).ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_nanos() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_all_formats() {
        let times = |units, format, reference: &str, times: [f64; 3]| {
            let mut clock = Clock { format: Format::parse(format), ..Clock::default() };
            clock.set_reference(reference.as_bytes());
            clock.set_units(units);
            times.map(|time| clock.time(time).0)
        };
        const MS: u64 = 1_000_000;
        assert_eq!(times("ms", "relative", "1500", [0.0, 5.25, 22.0]), [1500 * MS, 1_505_250_000, 1522 * MS]);
        assert_eq!(times("us", "relative", "\"1500\"", [0.0, 5.0, 22.0]), [1_500_000, 1_505_000, 1_522_000]);
        assert_eq!(
            times("ms", "absolute", "1500", [1500.0, 1505.0, 1522.0]),
            [1500 * MS, 1505 * MS, 1522 * MS]
        );
        assert_eq!(times("ms", "delta", "0", [1500.0, 5.0, 17.0]), [1500 * MS, 1505 * MS, 1522 * MS]);
        assert_eq!(times("ms", "delta", "1500", [0.0, 5.0, 17.0]), [1500 * MS, 1505 * MS, 1522 * MS]);
        assert_eq!(times("ms", "", "1500", [0.0, 1505.0, 22.0]), [1500 * MS, 1505 * MS, 1522 * MS]);
        assert_eq!(times("ms", "relative", "null", [-1.0, 0.5, 1e300]), [0, MS / 2, u64::MAX]);
        let dated = |reference| times("ms", "relative_to_epoch", reference, [0.0, 1.0, 2.0])[0];
        let date = 1_553_900_153_572 * MS;
        assert_eq!(dated("\"2019-03-29T22:55:53.572Z\""), date);
        assert_eq!(dated("{\"clock_type\":\"system\",\"epoch\":\"2019-03-29T22:55:53.572Z\"}"), date);
        assert_eq!(
            dated(
                "{\"clock_type\":\"monotonic\",\"epoch\":\"unknown\",\"wall_clock_time\":\"2019-03-29T22:55:53.572Z\"}"
            ),
            date
        );
        assert_eq!(dated("{\"clock_type\":\"monotonic\",\"epoch\":\"unknown\"}"), 0);
        assert_eq!(dated("{\"epoch\":\"1970-01-01T00:00:00.000Z\"}"), 0);
    }

    #[test]
    fn infinite_durations_are_none() {
        let mut clock = Clock::default();
        assert_eq!(clock.duration(&Value::Real(0.25)), Some(Duration(250_000)));
        assert_eq!(clock.duration(&Value::Whole(u64::MAX)), None);
        assert_eq!(clock.duration(&Value::Real(-1.0)), None);
        clock.set_units("us");
        assert_eq!(clock.duration(&Value::Text("25".into())), Some(Duration(25_000)));
    }
}
