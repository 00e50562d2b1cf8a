//! Tables of a results folder: name, unit and description of each column, with a column for each
//! key that the experiment varies or that `--set` changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use experiment::file::{SweepAxes, SweepKey, SweepValues};
use experiment::metric::Metric;
use experiment::quantity::Quantity;
use experiment::row::RowLabel;

use crate::columns::{Column, Named, Table, are_whole};
use crate::run_row::RunRow;
use crate::states::{self, States};
use crate::summary::{Cdf, FlowRow, Results, Summary};
use crate::variables::{self, Variables};

/// Columns of variants and rows in every table.
pub(super) const KEYS: [&str; 2] = ["variant", "row"];
/// Columns before the metrics of a run.
pub(super) const SEED: &str = "seed";
pub(super) const AUDIT: &str = "audit";
/// Prefix of a key's column if its name is taken.
const VARIED: &str = "vary.";

const VARIANT: &str = "values of the varied keys, except the rows key";
const ROW: &str = "row of the experiment's table";
const REPETITION: &str = "repetition, from 0";
const FLOW: &str = "number of the flow in its run, from 0";

/// Columns of the series with unit and description. All others are variables of controllers.
const SERIES: [(&str, &str, &str); 16] = [
    ("cwnd_bytes", "bytes", "congestion window"),
    ("bytes_in_flight", "bytes", "sent, and neither acknowledged nor declared lost"),
    ("pacing_rate_mbit_s", "Mbit/s", "rate of the pacer; missing while nothing is paced"),
    ("smoothed_rtt_ms", "ms", "smoothed RTT of RFC 9002"),
    ("latest_rtt_ms", "ms", "newest RTT sample"),
    ("goodput_mbit_s", "Mbit/s", "stream bytes received in the interval before the sample"),
    ("media_mbit_s", "Mbit/s", "video encoded in the interval before the sample"),
    ("owd_ms", "ms", "one-way delay of the last packet received in the interval before the sample"),
    ("datagram_bytes", "bytes", "size of datagrams, with a search for the MTU of the path"),
    ("lost_packets", "packets", "packets declared lost since the start"),
    ("repeated_packets", "packets", "packets sent with data that was sent before, since the start"),
    ("ce_packets", "packets", "packets received with a CE mark since the start"),
    ("queue_bytes", "bytes", "bytes in the bottleneck's queue and in transmission"),
    ("drops", "packets", "packets dropped at the bottleneck since the start"),
    ("ping_ms", "ms", "RTT of the probe's last answer in the interval before the sample"),
    ("udp_mbit_s", "Mbit/s", "UDP bytes received in the interval before the sample"),
];

/// Returns the names that columns of time series have already. A controller's variable needs another.
pub fn series_columns() -> impl Iterator<Item = &'static str> {
    let others = KEYS.into_iter().chain(["repetition", "flow", "time_s", states::COLUMN]);
    others.chain(SERIES.into_iter().map(|(name, _, _)| name))
}

/// The tables of a folder, with the keys in each.
pub(super) struct Tables {
    pub(super) runs: Table,
    /// Series without rows, which are written part by part.
    pub(super) series: Table,
    pub(super) flows: Table,
    pub(super) rtt_cdf: Table,
}

impl Tables {
    /// Creates the tables. `samples` are the columns of the series.
    pub(super) fn new(results: &Results, runs: &[RunRow], samples: &Samples, keys: &mut Keys<'_>) -> Self {
        let mut tables = Self {
            runs: runs_table(runs),
            series: series_table(samples, &ControllerInfo::from_summary(&results.summary, &results.flows)),
            flows: flows_table(&results.flows),
            rtt_cdf: cdf_table(&results.rtt_cdf),
        };
        let Self { runs, series, flows, rtt_cdf } = &mut tables;
        keys.name(&[runs, series, flows, rtt_cdf]);
        [runs, series, flows, rtt_cdf].into_iter().for_each(|table| keys.put_into(table));
        tables
    }

    /// Returns the tables with the names of their files.
    pub(super) fn all(&self) -> [(&'static str, &Table); 4] {
        [
            ("runs.csv", &self.runs),
            ("series.parquet", &self.series),
            ("flows.parquet", &self.flows),
            ("rtt_cdf.parquet", &self.rtt_cdf),
        ]
    }
}

/// The keys of an experiment as columns of its tables.
pub(super) struct Keys<'a> {
    swept: &'a SweepAxes,
    cases: BTreeMap<(&'a str, &'a str), usize>,
    names: Vec<String>,
}

impl<'a> Keys<'a> {
    pub(super) fn new(swept: &'a SweepAxes) -> Self {
        let cases = swept.cases.iter().zip(0..);
        let cases = cases.map(|((variant, row), case)| ((variant.as_str(), row.as_str()), case)).collect();
        Self { swept, cases, names: Vec::new() }
    }

    /// Chooses names for the keys that are free in all these tables. A file may give keys that vary
    /// together any name.
    pub(super) fn name(&mut self, tables: &[&mut Table]) {
        let mut taken: BTreeSet<String> =
            tables.iter().flat_map(|table| table.iter()).map(|column| column.name.clone()).collect();
        let name = |key: &SweepKey| {
            let mut name = key.key.clone();
            while !taken.insert(name.clone()) {
                name.insert_str(0, VARIED);
            }
            name
        };
        self.names = self.swept.keys.iter().map(name).collect();
    }

    /// Inserts the keys after variant and row.
    pub(super) fn put_into(&self, table: &mut Table) {
        let [Named { column: Column::Text(variants), .. }, Named { column: Column::Text(rows), .. }, ..] =
            &table[..]
        else {
            return;
        };
        if self.names.is_empty() {
            return;
        }
        let which = self.cases_of(variants, rows);
        let column = |(key, name): (&SweepKey, &String)| {
            let column = values_of(key, &which);
            Named { is_key: true, ..Named::new(name, &key.unit, "a key of the experiment", column) }
        };
        let columns: Vec<Named> = self.swept.keys.iter().zip(&self.names).map(column).collect();
        table.splice(KEYS.len()..KEYS.len(), columns);
    }
}

impl Keys<'_> {
    /// Returns the case of each row. Most rows have the same case as the row before.
    fn cases_of(&self, variants: &[Arc<str>], rows: &[Arc<str>]) -> Vec<Option<usize>> {
        let mut which: Vec<Option<usize>> = Vec::with_capacity(rows.len());
        for (i, (variant, row)) in variants.iter().zip(rows).enumerate() {
            let like = i > 0 && Arc::ptr_eq(variant, &variants[i - 1]) && Arc::ptr_eq(row, &rows[i - 1]);
            which.push(if like { which[i - 1] } else { self.cases.get(&(&**variant, &**row)).copied() });
        }
        which
    }
}

/// Returns the key's value for each row.
fn values_of(key: &SweepKey, which: &[Option<usize>]) -> Column {
    match &key.values {
        SweepValues::Numbers(values) => {
            let of_case = which.iter().map(|case| case.map_or(f64::NAN, |i| values[i]));
            Column::from_numbers(of_case.collect(), are_whole(values))
        }
        SweepValues::Words(words) => {
            let words: Vec<Arc<str>> = words.iter().map(|word| word.as_str().into()).collect();
            let none: Arc<str> = "".into();
            let of_case = |case: &Option<usize>| Arc::clone(case.map_or(&none, |i| &words[i]));
            Column::Text(which.iter().map(of_case).collect())
        }
    }
}

fn text(name: &str, description: &str, values: impl Iterator<Item = impl Into<Arc<str>>>) -> Named {
    Named::new(name, "", description, Column::Text(values.map(Into::into).collect()))
}

fn ints(name: &str, description: &str, values: impl Iterator<Item = u32>) -> Named {
    Named::new(name, "", description, Column::Int(values.map(u32::cast_signed).collect()))
}

/// Creates a metric's column; NaN if missing.
fn metric(metric: &Metric, is_of_one_flow: bool, values: Vec<f64>) -> Named {
    let quantity = Quantity::find(metric.word());
    let counts = quantity.is_some_and(|q| q.counts() && is_of_one_flow);
    let column = if counts { Column::counts(values) } else { Column::Real(values) };
    let [unit, description] = quantity.map_or(["", ""], |q| [q.unit, q.doc]);
    Named::new(metric.as_str(), unit, description, column)
}

pub(super) fn runs_table(runs: &[RunRow]) -> Table {
    let seeds = runs.iter().map(|run| Some(run.seed.cast_signed())).collect();
    let mut table = vec![
        text(KEYS[0], VARIANT, runs.iter().map(|run| run.variant.clone())),
        text(KEYS[1], ROW, runs.iter().map(|run| run.row.to_string())),
        ints("repetition", REPETITION, runs.iter().map(|run| run.repetition)),
        Named::new(SEED, "", "seed of the run", Column::Count(seeds)),
    ];
    if runs.iter().any(|run| run.audit.is_some()) {
        let about = "validity of a run of real endpoints, with the reason if invalid";
        table.push(text(AUDIT, about, runs.iter().map(RunRow::verdict)));
    }
    let metrics: BTreeSet<&Metric> = runs.iter().flat_map(|run| run.values.keys()).collect();
    table.extend(metrics.into_iter().map(|name| {
        let values = runs.iter().map(|run| run.values.get(name).copied().unwrap_or(f64::NAN));
        metric(name, false, values.collect())
    }));
    table
}

/// States and variables of controllers, from the summary.
pub(super) struct ControllerInfo<'a> {
    pub(super) states: States<'a>,
    pub(super) variables: &'a Variables,
}

impl<'a> ControllerInfo<'a> {
    pub(super) fn from_summary(summary: &'a Summary, flows: &'a [FlowRow]) -> Self {
        Self { states: States::from_summary(summary, flows), variables: &summary.variables }
    }
}

/// Columns of time series, and whether all their values are whole.
pub(super) type Samples = BTreeMap<String, bool>;

/// Creates the columns before the samples: one row per track.
pub(super) fn heads<'a>(tracks: impl Iterator<Item = (&'a str, &'a RowLabel, u32, u32)> + Clone) -> Table {
    vec![
        text(KEYS[0], VARIANT, tracks.clone().map(|track| track.0)),
        text(KEYS[1], ROW, tracks.clone().map(|track| track.1.as_str())),
        ints("repetition", REPETITION, tracks.clone().map(|track| track.2)),
        ints("flow", FLOW, tracks.map(|track| track.3)),
    ]
}

/// Creates the table of time series with these columns, without samples.
pub(super) fn series_table(columns: &Samples, controllers: &ControllerInfo<'_>) -> Table {
    let mut table = heads(std::iter::empty());
    table.push(Named::new("time_s", "s", "time of the sample since the run began", Column::Real(Vec::new())));
    table.extend(columns.iter().map(|(name, are_whole)| {
        if name == states::COLUMN {
            let names = Column::Words(Vec::new());
            return Named::new(states::COLUMN, "", &controllers.states.description(), names);
        }
        sampled(name, Vec::new(), *are_whole, controllers.variables)
    }));
    table
}

fn sampled(name: &str, values: Vec<f64>, are_whole: bool, own: &Variables) -> Named {
    if let Some((_, unit, description)) = SERIES.iter().find(|known| known.0 == name) {
        let counts = are_whole && matches!(*unit, "bytes" | "packets");
        return Named::new(name, unit, description, Column::from_numbers(values, counts));
    }
    // A controller's variable may be whole in one run and a fraction in another.
    let column = Column::Real(values);
    match variables::column(own, name) {
        Some(about) => Named::new(name, about.unit.unwrap_or(""), &about.description, column),
        None => Named::new(name, "", "the controller's own variable, named as in its specification", column),
    }
}

pub(super) fn flows_table(flows: &[FlowRow]) -> Table {
    let mut table = vec![
        text(KEYS[0], VARIANT, flows.iter().map(|flow| flow.variant.clone())),
        text(KEYS[1], ROW, flows.iter().map(|flow| flow.row.to_string())),
        ints("repetition", REPETITION, flows.iter().map(|flow| flow.repetition)),
        ints("flow", FLOW, flows.iter().map(|flow| flow.flow)),
        text("label", "flows of one label are of one kind", flows.iter().map(|flow| flow.label.clone())),
        text("algorithm", "name of the controller", flows.iter().map(|flow| flow.algorithm.clone())),
    ];
    let names: BTreeSet<&Metric> = flows.iter().flat_map(|flow| flow.values.keys()).collect();
    table.extend(names.into_iter().map(|name| {
        let values = flows.iter().map(|flow| flow.values.get(name).copied().unwrap_or(f64::NAN));
        metric(name, true, values.collect())
    }));
    table
}

pub(super) fn cdf_table(cdfs: &[Cdf]) -> Table {
    let each = |word: fn(&Cdf) -> String| {
        cdfs.iter().flat_map(move |cdf| std::iter::repeat_n(word(cdf), cdf.points.len()))
    };
    let points = |value: fn(&(f64, f64)) -> f64| {
        Column::Real(cdfs.iter().flat_map(|cdf| cdf.points.iter().map(value)).collect())
    };
    vec![
        text(KEYS[0], VARIANT, each(|cdf| cdf.variant.clone())),
        text(KEYS[1], ROW, each(|cdf| cdf.row.to_string())),
        Named::new("rtt_ms", "ms", "round-trip time", points(|point| point.0)),
        Named::new(
            "share",
            "",
            "share of samples up to this RTT, over all flows and repetitions",
            points(|point| point.1),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swept(key: &str) -> SweepAxes {
        let values = SweepValues::Numbers(vec![0.5, 1.0]);
        let cases = ["a", "b"].map(|variant| (variant.to_owned(), "cubic".into())).to_vec();
        SweepAxes { cases, keys: vec![SweepKey { key: key.to_owned(), unit: "BDP".to_owned(), values }] }
    }

    #[test]
    fn a_key_never_takes_the_name_of_another_column() {
        let names = |key: &str| {
            let swept = swept(key);
            let mut keys = Keys::new(&swept);
            let controllers = ControllerInfo { states: States::default(), variables: &Variables::new() };
            keys.name(&[&mut series_table(&Samples::new(), &controllers)]);
            keys.names.concat()
        };
        assert_eq!(names("time_s"), "vary.time_s");
        assert_eq!(names("link.queue"), "link.queue");
    }

    #[test]
    fn the_names_of_series_columns_are_those_of_the_table() {
        let controllers = ControllerInfo { states: States::default(), variables: &Variables::new() };
        let all = SERIES.iter().map(|column| column.0).chain([states::COLUMN]);
        let table = series_table(&all.map(|name| (name.to_owned(), true)).collect(), &controllers);
        let written: BTreeSet<&str> = table.iter().map(|column| &*column.name).collect();
        assert_eq!(written, series_columns().collect());
    }

    #[test]
    fn each_row_has_the_value_of_its_case() {
        let swept = swept("link.queue");
        let keys = Keys { names: vec!["link.queue".to_owned()], ..Keys::new(&swept) };
        let mut table = vec![
            text("variant", "", ["b", "a", "?"].into_iter()),
            text("row", "", ["cubic", "cubic", "cubic"].into_iter()),
        ];
        keys.put_into(&mut table);
        let Column::Real(values) = &table[2].column else { panic!("{table:?}") };
        assert_eq!(values[..2], [1.0, 0.5]);
        assert!(values[2].is_nan() && table[2].is_key && table[2].unit == "BDP");
    }

    #[test]
    fn counts_are_whole_where_they_are_of_one_flow() {
        let column = |is_of_one_flow| metric(&"reductions".into(), is_of_one_flow, vec![1.0, 2.0]).column;
        assert_eq!(column(true), Column::Count(vec![Some(1), Some(2)]));
        assert_eq!(column(false), Column::Real(vec![1.0, 2.0]), "a mean over flows");
        let own = Variables::from([("cubic".to_owned(), variables::for_kernel())]);
        let sampled = |name, are_whole| sampled(name, vec![1.0], are_whole, &own);
        assert_eq!(sampled("drops", true).column, Column::Count(vec![Some(1)]));
        assert_eq!(sampled("drops", false).column, Column::Real(vec![1.0]), "not in another part");
        let ssthresh = sampled("ssthresh", true);
        assert_eq!(
            (&*ssthresh.unit, ssthresh.column),
            ("bytes", Column::Real(vec![1.0])),
            "a controller's own"
        );
    }
}
