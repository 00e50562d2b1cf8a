//! Formats of traces. The first line tells them apart.
//!
//! ```text
//! 3                        Mahimahi: whole ms, one chance of 1504 bytes per line
//!
//! 0.0  2.45                Pensieve: seconds and Mbit/s, separated by spaces or tabs
//! 1.0  3.10
//!
//! time_s,rate_mbit_s       CSV: a column of times and one of rates, with units; others ignored
//! 0,2.45
//! 1,3.10
//! ```
//!
//! **Mahimahi**: the last time is the period. `chances.rs` says how chances are served.
//!
//! **Pensieve**: a rate holds from the time of the line before until its own, as in Pensieve's
//! simulator (`sim/fixed_env.py:60-63`). The last time is the period, and the rate of the first
//! line is never used (80-84).
//!
//! **CSV**: a rate holds from its time until the next. The last holds as long as the one before,
//! and then the trace repeats.
//!
//! Times of columns count from that of the first line.

use std::fmt;
use std::sync::Arc;

use super::{Chances, Kind, Rates, Recording};

/// Largest number of lines.
const MAX_LINES: usize = 10_000_000;
/// Latest time, 49 days.
const MAX_MS: u32 = u32::MAX;
/// Shortest time between two rates, in ns, like that of slots.
const MIN_STEP: u64 = 100_000;
/// Highest rate in bit/s, at which a packet takes about a nanosecond.
const MAX_RATE: f64 = 1e13;

const FORMS: &str = "write whole milliseconds, one per line (Mahimahi); or seconds and Mbit/s, separated by a space \
                     (Pensieve); or CSV with a header like time_s,rate_mbit_s";

/// Units of times, in ns, and of rates, in bit/s.
const TIMES: Units = &[("time_s", 1e9), ("time_ms", 1e6), ("time_us", 1e3)];
const RATES: Units = &[("rate_bit_s", 1.0), ("rate_kbit_s", 1e3), ("rate_mbit_s", 1e6), ("rate_gbit_s", 1e9)];

/// Name of a column, its place, and its unit.
type Column = (&'static str, usize, f64);
type Units = &'static [(&'static str, f64)];

/// Mistake in the file of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Line, counted from 1.
    pub line: usize,
    /// Problem.
    pub wrong: String,
    /// Advice: what to write instead.
    pub right: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}; {}", self.line, self.wrong, self.right)
    }
}

impl std::error::Error for Mistake {}

fn mistake(line: usize, wrong: impl Into<String>, right: impl Into<String>) -> Mistake {
    Mistake { line, wrong: wrong.into(), right: right.into() }
}

impl Recording {
    /// Parses the text of a trace, in any of the formats: delivery times of Mahimahi, or columns of
    /// times and rates.
    ///
    /// # Errors
    /// Returns the first mistake, with its line.
    pub fn parse(text: &str) -> Result<Self, Mistake> {
        let text = text.trim_start_matches('\u{feff}').trim_end();
        let first = text.lines().next().unwrap_or_default();
        let parsed = if text.lines().nth(MAX_LINES).is_some() {
            let wrong = format!("the trace has more than {MAX_LINES} lines");
            Err(mistake(MAX_LINES + 1, wrong, "cut it; it repeats"))
        } else if first.contains(',') {
            let columns = column(first, TIMES).and_then(|time| Ok([time, column(first, RATES)?]));
            columns.and_then(|columns| csv(text, columns))
        } else {
            match first.split_whitespace().count() {
                0 => Err(mistake(1, "the trace is empty", FORMS)),
                1 => chances(text),
                _ => pensieve(text),
            }
        };
        // Whoever errs in the first line may not know the formats.
        let forms = |mistake: Mistake| match mistake.line {
            1 => Mistake { right: FORMS.to_owned(), ..mistake },
            _ => mistake,
        };
        parsed.map(Self).map_err(forms)
    }
}

fn chances(text: &str) -> Result<Kind, Mistake> {
    let mut times: Vec<u32> = Vec::new();
    for (line, word) in (1..).zip(text.lines().map(str::trim)) {
        let time = word.parse().map_err(|_| {
            let wrong = format!("`{}` is not a whole number of ms from 0 to {MAX_MS}", shown(word));
            mistake(line, wrong, "write one delivery time, like 1520")
        })?;
        if let Some(before) = times.last().filter(|before| time < **before) {
            let wrong = format!("{time} ms comes after {before} ms");
            return Err(mistake(line, wrong, "the times must not decrease"));
        }
        times.push(time);
    }
    let lines = times.len();
    let chances = Chances::new(times)
        .ok_or_else(|| mistake(lines, "the last time, which is the period, is 0", "it must be above 0"))?;
    Ok(Kind::Chances(Arc::new(chances)))
}

fn pensieve(text: &str) -> Result<Kind, Mistake> {
    let columns = [("a time in s", 0, 1e9), ("a rate in Mbit/s", 1, 1e6)];
    let rows = rows(text.lines().map(|line| line.split_whitespace().collect()), 1, columns)?;
    // Each rate ends at its own time.
    let steps = rows.windows(2).map(|pair| (pair[0].0, pair[1].1)).collect();
    Ok(Kind::Rates(Arc::new(Rates::new(steps, rows.last().map_or(0, |row| row.0)))))
}

fn csv(text: &str, columns: [Column; 2]) -> Result<Kind, Mistake> {
    let rows = rows(text.lines().skip(1).map(|line| line.split(',').collect()), 2, columns)?;
    // The last rate holds as long as the one before.
    let period = rows.windows(2).last().map_or(0, |pair| 2 * pair[1].0 - pair[0].0);
    Ok(Kind::Rates(Arc::new(Rates::new(rows, period))))
}

/// Returns the name, the place and the unit of the first column with one of these units.
fn column(header: &str, units: Units) -> Result<Column, Mistake> {
    let known = |(index, name): (usize, &str)| {
        let unit = units.iter().find(|unit| unit.0 == name.trim());
        unit.map(|&(name, unit)| (name, index, unit))
    };
    header.split(',').enumerate().find_map(known).ok_or_else(|| {
        let names: Vec<&str> = units.iter().map(|unit| unit.0).collect();
        mistake(1, format!("no column {} in the header", names.join(", ")), "name a column with its unit")
    })
}

/// Parses the cell of a column, in its unit.
fn cell(line: usize, cells: &[&str], (what, index, unit): Column) -> Result<f64, Mistake> {
    let text = cells.get(index).map_or("", |cell| cell.trim());
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number * unit),
        _ => Err(mistake(line, format!("`{}` is not {what}", shown(text)), "write a number of at least 0")),
    }
}

/// Returns times in ns, counted from the first, and rates in bit/s, at least two. `first` is the
/// line of the first row.
fn rows<'a>(
    rows: impl Iterator<Item = Vec<&'a str>>,
    first: usize,
    [time, rate]: [Column; 2],
) -> Result<Vec<(u64, u64)>, Mistake> {
    let (mut all, mut begin): (Vec<(u64, u64)>, Option<f64>) = (Vec::new(), None);
    for (line, cells) in (first..).zip(rows) {
        let (time, rate) = (cell(line, &cells, time)?, cell(line, &cells, rate)?);
        let time = time - *begin.get_or_insert(time);
        let at = time.round() as u64;
        if all.last().is_some_and(|before| at < before.0 + MIN_STEP) {
            let wrong = "the time is not at least 100 us after the one before";
            return Err(mistake(line, wrong, "the times must increase"));
        }
        if time > f64::from(MAX_MS) * 1e6 || rate > MAX_RATE {
            let wrong = "the time is above 49 days, or the rate above 10 Tbit/s";
            return Err(mistake(line, wrong, "check the units"));
        }
        all.push((at, rate.round() as u64));
    }
    match all.len() {
        0 | 1 => Err(mistake(first, "the trace has no second time", "a rate needs its time and the next")),
        _ => Ok(all),
    }
}

/// Returns the beginning of a text, which may be a whole file without line breaks.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::{Rate, Time};

    use super::*;
    use crate::trace::{Trace, TraceFile};

    fn trace(text: &str) -> Trace {
        let file = TraceFile { trace: "t".to_owned(), sha256: None };
        Trace::new(file, Arc::new(Recording::parse(text).unwrap()))
    }

    /// Returns the rates in kbit/s at these times in ms.
    fn kbit(text: &str, times: &[u64]) -> Vec<u64> {
        let (rates, phase) = trace(text).rates();
        times.iter().map(|ms| rates.segment(Time::from_millis(*ms), phase).rate / 1000).collect()
    }

    #[test]
    fn mahimahi() {
        let trace = trace("0\n4\n4\r\n8\n\n");
        assert_eq!(trace.mean(), Rate(4 * 1504 * 8 * 125));
        assert_eq!(trace.chances().map(|(chances, phase)| (chances.period(), phase)), Some((8_000_000, 0)));
        assert_eq!(trace.to_string(), "trace t of 6.02 Mbit/s on average");
    }

    /// Rates hold until their time. The first line only begins the trace.
    #[test]
    fn pensieve() {
        for text in ["0 9\n1.0 2\n3 0.5\n", "10.5\t9\n11.5\t2\n13.5\t0.5"] {
            assert_eq!(
                kbit(text, &[0, 999, 1000, 2999, 3000, 3999, 4000]),
                [2000, 2000, 500, 500, 2000, 2000, 500]
            );
            assert_eq!(trace(text).mean(), Rate(1_000_000));
        }
    }

    /// Rates hold from their time on, the last as long as the one before. Other columns are
    /// ignored.
    #[test]
    fn csv() {
        for text in [
            "time_s,rate_mbit_s\n0,2\n1,0.5\n3,1",
            "rtt, rate_kbit_s , time_ms\n7,2000,5\n7,500,1005\n,1e3,3005",
        ] {
            assert_eq!(
                kbit(text, &[0, 999, 1000, 2999, 3000, 4999, 5000, 6000]),
                [2000, 2000, 500, 500, 1000, 1000, 2000, 500]
            );
            assert_eq!(trace(text).mean(), Rate(1_000_000));
        }
    }

    #[test]
    fn mistakes_name_the_line_and_what_is_right() {
        for (text, says) in [
            ("", "line 1: the trace is empty; write whole milliseconds, one per line (Mahimahi); or seconds"),
            (" \n\n", "line 1: the trace is empty"),
            ("hello", "line 1: `hello` is not a whole number of ms from 0 to 4294967295; write whole"),
            ("hello world", "line 1: `hello` is not a time in s; write whole"),
            ("1,2", "line 1: no column time_s, time_ms, time_us in the header; write whole"),
            ("5\n\n7", "line 2: `` is not a whole number"),
            (
                "5\n-3",
                "line 2: `-3` is not a whole number of ms from 0 to 4294967295; write one delivery time",
            ),
            ("5\n6.5", "line 2: `6.5` is not a whole number"),
            ("4294967296", "line 1: `4294967296` is not a whole number of ms from 0 to 4294967295"),
            (
                "99999999999999999999999999999999999999999999",
                "line 1: `9999999999999999999999999999999999999999`",
            ),
            ("5\n3", "line 2: 3 ms comes after 5 ms; the times must not decrease"),
            ("0\n0\n", "line 2: the last time, which is the period, is 0; it must be above 0"),
            ("0 1\n1 x", "line 2: `x` is not a rate in Mbit/s; write a number of at least 0"),
            ("0 1\n1", "line 2: `` is not a rate in Mbit/s; write a number of at least 0"),
            ("0 1\n-1 1", "line 2: `-1` is not a time in s"),
            ("0 1\n1 1\n1 2", "line 3: the time is not at least 100 us after the one before"),
            ("0 1\n1 NaN", "line 2: `NaN` is not a rate"),
            ("0 1\n1 1e9", "line 2: the time is above 49 days, or the rate above 10 Tbit/s; check the units"),
            ("0 1\n1e8 1", "line 2: the time is above 49 days"),
            ("0 1", "line 1: the trace has no second time"),
            ("time,rate_mbit_s\n0,1", "line 1: no column time_s, time_ms, time_us in the header; write"),
            ("time_s,rate\n0,1", "line 1: no column rate_bit_s, rate_kbit_s, rate_mbit_s, rate_gbit_s in"),
            ("time_s,rate_bit_s", "line 2: the trace has no second time"),
            ("time_s,rate_bit_s\n0,1\n1", "line 3: `` is not rate_bit_s; write a number"),
            ("time_s,rate_bit_s\n0,1\n1,-1", "line 3: `-1` is not rate_bit_s"),
        ] {
            let said = Recording::parse(text).unwrap_err().to_string();
            assert!(said.starts_with(says), "{text}: {said}");
        }
        let long = Recording::parse(&"1\n".repeat(MAX_LINES + 1)).unwrap_err();
        assert_eq!((long.line, &*long.right), (MAX_LINES + 1, "cut it; it repeats"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(time_s,rate_mbit_s\n)?[0-9a,. \t\n-]{0,40}") {
            if let Ok(recording) = Recording::parse(&text) {
                let (rates, phase) = Trace::new(TraceFile { trace: text, sha256: None }, Arc::new(recording)).rates();
                prop_assert!(rates.segment(Time(u64::MAX - 1), phase).until > Time::ZERO);
            }
        }
    }
}
