//! What the tables of a results folder say, read back.

use std::collections::BTreeMap;
use std::io;

use experiment::metric::Metric;
use experiment::row::RowLabel;

use crate::columns::{Column, Table};
use crate::states::{self, States};
use crate::store::tables::KEYS;
use crate::summary::{Cdf, FlowRow, Track};

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a results table lacks a column or has columns of other types")
}

/// Takes the named columns out of a table.
fn take_text(table: &mut Table, name: &str) -> io::Result<Vec<String>> {
    match take(table, name)? {
        Column::Text(values) => Ok(values),
        _ => Err(damaged()),
    }
}

fn take_ints(table: &mut Table, name: &str) -> io::Result<Vec<u32>> {
    match take(table, name)? {
        Column::Int(values) => Ok(values.into_iter().map(i32::cast_unsigned).collect()),
        _ => Err(damaged()),
    }
}

fn take_reals(table: &mut Table, name: &str) -> io::Result<Vec<f64>> {
    numbers(take(table, name)?)
}

/// The numbers of a column, NaN where there is none.
fn numbers(column: Column) -> io::Result<Vec<f64>> {
    match column {
        Column::Real(values) => Ok(values),
        Column::Count(values) => Ok(values.into_iter().map(|v| v.map_or(f64::NAN, |v| v as f64)).collect()),
        Column::Text(_) | Column::Words(_) | Column::Int(_) => Err(damaged()),
    }
}

/// The columns that are left, by name, without the experiment's keys.
fn measured(table: Table) -> io::Result<Vec<(String, Vec<f64>)>> {
    let all = table.into_iter().filter(|c| !c.is_key);
    all.map(|c| Ok((c.name, numbers(c.column)?))).collect()
}

fn take(table: &mut Table, name: &str) -> io::Result<Column> {
    let i = table.iter().position(|c| c.name == name).ok_or_else(damaged)?;
    Ok(table.remove(i).column)
}

pub(super) fn tracks(mut table: Table, states: &States<'_>) -> io::Result<Vec<Track>> {
    let [variants, rows] = [take_text(&mut table, KEYS[0])?, take_text(&mut table, KEYS[1])?];
    let [repetitions, flows] = [take_ints(&mut table, "repetition")?, take_ints(&mut table, "flow")?];
    let times = take_reals(&mut table, "time_s")?;
    let number = |(i, name): (usize, Option<String>)| match name {
        None => Ok(f64::NAN),
        Some(name) => {
            let flow = (variants[i].as_str(), rows[i].as_str(), repetitions[i], flows[i]);
            states.number(flow, &name).ok_or_else(damaged)
        }
    };
    for named in table.iter_mut().filter(|named| named.name == states::COLUMN) {
        // An earlier version wrote numbers.
        if let Column::Words(names) = &mut named.column {
            let numbers = std::mem::take(names).into_iter().enumerate().map(number);
            named.column = Column::Real(numbers.collect::<io::Result<_>>()?);
        }
    }
    let table = measured(table)?;
    let mut tracks: Vec<Track> = Vec::new();
    for i in 0..times.len() {
        let known = tracks.last().is_some_and(|t| {
            t.variant == variants[i]
                && t.row.as_str() == rows[i]
                && t.repetition == repetitions[i]
                && t.flow == flows[i]
        });
        if !known {
            let (variant, row) = (variants[i].clone(), RowLabel::from(rows[i].as_str()));
            let (repetition, flow) = (repetitions[i], flows[i]);
            tracks.push(Track {
                variant,
                row,
                repetition,
                flow,
                times: Vec::new(),
                columns: BTreeMap::new(),
            });
        }
        let Some(track) = tracks.last_mut() else { continue };
        track.times.push(times[i]);
        for (name, values) in &table {
            track.columns.entry(name.clone()).or_default().push(values[i]);
        }
    }
    for track in &mut tracks {
        track.columns.retain(|_, values| values.iter().any(|v| !v.is_nan()));
    }
    Ok(tracks)
}

pub(super) fn flow_rows(mut table: Table) -> io::Result<Vec<FlowRow>> {
    let [variants, rows] = [take_text(&mut table, KEYS[0])?, take_text(&mut table, KEYS[1])?];
    let [repetitions, flows] = [take_ints(&mut table, "repetition")?, take_ints(&mut table, "flow")?];
    let [labels, algorithms] = [take_text(&mut table, "label")?, take_text(&mut table, "algorithm")?];
    let table = measured(table)?;
    let mut all = Vec::new();
    for (i, label) in labels.into_iter().enumerate() {
        let mut values = BTreeMap::new();
        for (name, column) in &table {
            if !column[i].is_nan() {
                values.insert(Metric::from(name.as_str()), column[i]);
            }
        }
        let (variant, row, algorithm) = (variants[i].clone(), rows[i].as_str().into(), algorithms[i].clone());
        let (repetition, flow) = (repetitions[i], flows[i]);
        all.push(FlowRow { variant, row, repetition, flow, label, algorithm, values });
    }
    Ok(all)
}

pub(super) fn cdfs(mut table: Table) -> io::Result<Vec<Cdf>> {
    let [variants, rows] = [take_text(&mut table, KEYS[0])?, take_text(&mut table, KEYS[1])?];
    let [rtts, shares] = [take_reals(&mut table, "rtt_ms")?, take_reals(&mut table, "share")?];
    let mut cdfs: Vec<Cdf> = Vec::new();
    for (i, point) in rtts.into_iter().zip(shares).enumerate() {
        if cdfs.last().is_none_or(|c| c.variant != variants[i] || c.row.as_str() != rows[i]) {
            cdfs.push(Cdf { variant: variants[i].clone(), row: rows[i].as_str().into(), points: Vec::new() });
        }
        if let Some(cdf) = cdfs.last_mut() {
            cdf.points.push(point);
        }
    }
    Ok(cdfs)
}

#[cfg(test)]
mod tests {
    use experiment::backend::Backend;
    use experiment::file::{Swept, SweptKey, SweptValues};

    use super::*;
    use crate::columns;
    use crate::store::tables::{cdf_table, flows_table, series_table, with_keys};
    use crate::summary::Summary;

    fn swept() -> Swept {
        let key = |key: &str, values| SweptKey { key: key.to_owned(), unit: String::new(), values };
        Swept {
            cases: vec![("queue = 1 BDP".to_owned(), "cubic".into())],
            keys: vec![
                key("link.queue", SweptValues::Numbers(vec![1.0])),
                // A name that the tables have already.
                key("goodput", SweptValues::Words(vec!["high".to_owned()])),
            ],
        }
    }

    fn track(flow: u32, columns: &[(&str, [f64; 2])]) -> Track {
        let columns = columns.iter().map(|(name, values)| ((*name).to_owned(), values.to_vec())).collect();
        let (variant, row) = ("queue = 1 BDP".to_owned(), "cubic".into());
        Track { variant, row, repetition: 0, flow, times: vec![0.1, 0.2], columns }
    }

    /// Through a file, with the keys among its columns.
    fn stored(mut table: Table) -> Table {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.parquet");
        with_keys(&mut [&mut table], &swept());
        columns::write(&path, &table).unwrap();
        columns::read(&path).unwrap()
    }

    /// NaN is not equal to itself: compared as text.
    #[test]
    fn stored_and_reloaded_they_are_what_they_were() {
        let series = vec![
            track(0, &[("cwnd_bytes", [f64::NAN, 3000.0]), ("ssthresh", [f64::INFINITY, 1.5])]),
            track(1, &[("state", [0.0, 2.0]), ("cwnd_bytes", [1200.0, 1200.0])]),
        ];
        let states = States::default();
        let back = tracks(stored(series_table(&series, &states)), &states).unwrap();
        assert_eq!(format!("{back:?}"), format!("{series:?}"));

        let flow = |flow, values: &[(&str, f64)]| FlowRow {
            variant: "queue = 1 BDP".to_owned(),
            row: "cubic".into(),
            repetition: 0,
            flow,
            label: "a".to_owned(),
            algorithm: "cubic".to_owned(),
            values: values.iter().map(|(name, value)| (Metric::from(*name), *value)).collect(),
        };
        let flows =
            vec![flow(0, &[("goodput", 0.1 + 0.2), ("declared_lost", 7.0)]), flow(1, &[("loss", 0.5)])];
        assert_eq!(flow_rows(stored(flows_table(&flows))).unwrap(), flows);

        let points = vec![(1.5, 0.5), (2.0, 1.0)];
        let all = vec![Cdf { variant: String::new(), row: "cubic".into(), points }];
        assert_eq!(cdfs(stored(cdf_table(&all))).unwrap(), all);
    }

    /// Tables have names, a track has their numbers; both without loss, whatever the controller of the flow names.
    #[test]
    fn states_are_stored_by_name() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let named = BTreeMap::from([
            ("a".to_owned(), names(&["Startup", "Drain"])),
            ("b".to_owned(), names(&["Hold", "Drain", "Startup"])),
        ]);
        let summary = Summary {
            experiment: String::new(),
            world: Backend::Sim,
            title: String::new(),
            source: String::new(),
            note: String::new(),
            why_reference: String::new(),
            metrics: Vec::new(),
            variants: Vec::new(),
            claims: Vec::new(),
            charts: Vec::new(),
            states: named,
        };
        let flow = |flow, algorithm: &str| FlowRow {
            variant: "queue = 1 BDP".to_owned(),
            row: "cubic".into(),
            repetition: 0,
            flow,
            label: String::new(),
            algorithm: algorithm.to_owned(),
            values: BTreeMap::new(),
        };
        let flows = [flow(0, "a"), flow(1, "b"), flow(2, "cubic"), flow(3, "unnamed")];
        let states = States::of(&summary, &flows);
        let series = vec![
            track(0, &[("state", [1.0, f64::NAN])]),
            track(1, &[("state", [0.0, 2.0])]),
            track(2, &[("cwnd_bytes", [1.0, 1.0])]),
            track(3, &[("state", [-1.0, 7.0])]),
        ];
        let table = series_table(&series, &states);
        let column = table.iter().find(|column| column.name == "state").unwrap();
        let words = [Some("Drain"), None, Some("Hold"), Some("Startup"), None, None, Some("-1"), Some("7")];
        assert_eq!(column.column, Column::Words(words.map(|word| word.map(str::to_owned)).to_vec()));
        assert_eq!(column.description, "the controller's state; a: Startup, Drain; b: Hold, Drain, Startup");
        assert_eq!(format!("{:?}", tracks(stored(table), &states).unwrap()), format!("{series:?}"));

        let unknown = series_table(&series[..1], &states);
        assert!(tracks(unknown, &States::default()).is_err(), "a name that the summary does not have");
        let mut earlier = series_table(&series[1..2], &states);
        let state = earlier.iter_mut().find(|column| column.name == "state").unwrap();
        state.column = Column::Count(vec![Some(0), Some(2)]);
        assert_eq!(tracks(earlier, &states).unwrap(), series[1..2], "as a version before wrote it");
    }
}
