//! What the tables of a results folder say, read back.

use std::collections::BTreeMap;
use std::io;

use experiment::metric::Metric;
use experiment::row::RowLabel;

use crate::columns::{Column, Table};
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
        Column::Text(_) | Column::Int(_) => Err(damaged()),
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

pub(super) fn tracks(mut table: Table) -> io::Result<Vec<Track>> {
    let [variants, rows] = [take_text(&mut table, KEYS[0])?, take_text(&mut table, KEYS[1])?];
    let [repetitions, flows] = [take_ints(&mut table, "repetition")?, take_ints(&mut table, "flow")?];
    let times = take_reals(&mut table, "time_s")?;
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
    use experiment::file::{Swept, SweptKey, SweptValues};

    use super::*;
    use crate::columns;
    use crate::store::tables::{cdf_table, flows_table, series_table, with_keys};

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
        let back = tracks(stored(series_table(&series))).unwrap();
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
}
