//! Reads the tables of a results folder.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use experiment::metric::Metric;

use crate::columns::{Column, Table};
use crate::store::tables::KEYS;
use crate::summary::{Cdf, FlowRow};

pub(super) fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a results table lacks a column or has columns of other types")
}

/// Returns the words of a column.
pub(super) fn words(column: Column) -> io::Result<Vec<Arc<str>>> {
    match column {
        Column::Text(values) => Ok(values),
        _ => Err(damaged()),
    }
}

/// Returns the small whole numbers of a column.
pub(super) fn ints(column: Column) -> io::Result<Vec<u32>> {
    match column {
        Column::Int(values) => Ok(values.into_iter().map(i32::cast_unsigned).collect()),
        _ => Err(damaged()),
    }
}

/// Returns the numbers of a column; NaN if missing.
pub(super) fn numbers(column: Column) -> io::Result<Vec<f64>> {
    match column {
        Column::Real(values) => Ok(values),
        Column::Count(values) => Ok(values.into_iter().map(|v| v.map_or(f64::NAN, |v| v as f64)).collect()),
        Column::Text(_) | Column::Words(_) | Column::Int(_) => Err(damaged()),
    }
}

/// Returns the remaining columns by name, without the experiment's keys.
fn measured(table: Table) -> io::Result<Vec<(String, Vec<f64>)>> {
    let all = table.into_iter().filter(|c| !c.is_key);
    all.map(|c| Ok((c.name, numbers(c.column)?))).collect()
}

/// Removes a column from a table by its name.
fn take(table: &mut Table, name: &str) -> io::Result<Column> {
    let i = table.iter().position(|c| c.name == name).ok_or_else(damaged)?;
    Ok(table.remove(i).column)
}

pub(super) fn flow_rows(mut table: Table) -> io::Result<Vec<FlowRow>> {
    let [variants, rows] = [words(take(&mut table, KEYS[0])?)?, words(take(&mut table, KEYS[1])?)?];
    let [repetitions, flows] = [ints(take(&mut table, "repetition")?)?, ints(take(&mut table, "flow")?)?];
    let [labels, algorithms] = [words(take(&mut table, "label")?)?, words(take(&mut table, "algorithm")?)?];
    let table = measured(table)?;
    let mut all = Vec::new();
    for (i, label) in labels.into_iter().enumerate() {
        let mut values = BTreeMap::new();
        for (name, column) in &table {
            if !column[i].is_nan() {
                values.insert(Metric::from(name.as_str()), column[i]);
            }
        }
        let (variant, row) = (variants[i].to_string(), (&*rows[i]).into());
        let (label, algorithm) = (label.to_string(), algorithms[i].to_string());
        let (repetition, flow) = (repetitions[i], flows[i]);
        all.push(FlowRow { variant, row, repetition, flow, label, algorithm, values });
    }
    Ok(all)
}

pub(super) fn cdfs(mut table: Table) -> io::Result<Vec<Cdf>> {
    let [variants, rows] = [words(take(&mut table, KEYS[0])?)?, words(take(&mut table, KEYS[1])?)?];
    let [rtts, shares] = [numbers(take(&mut table, "rtt_ms")?)?, numbers(take(&mut table, "share")?)?];
    let mut cdfs: Vec<Cdf> = Vec::new();
    for (i, point) in rtts.into_iter().zip(shares).enumerate() {
        if cdfs.last().is_none_or(|c| c.variant != *variants[i] || c.row.as_str() != &*rows[i]) {
            cdfs.push(Cdf { variant: variants[i].to_string(), row: (&*rows[i]).into(), points: Vec::new() });
        }
        if let Some(cdf) = cdfs.last_mut() {
            cdf.points.push(point);
        }
    }
    Ok(cdfs)
}

#[cfg(test)]
mod tests {
    use experiment::file::{SweepAxes, SweepKey, SweepValues};

    use super::*;
    use crate::columns;
    use crate::store::tables::{Keys, cdf_table, flows_table};

    fn swept() -> SweepAxes {
        let key = |key: &str, values| SweepKey { key: key.to_owned(), unit: String::new(), values };
        SweepAxes {
            cases: vec![("queue = 1 BDP".to_owned(), "cubic".into())],
            keys: vec![
                key("link.queue", SweepValues::Numbers(vec![1.0])),
                // Tables already have a column of this name.
                key("goodput", SweepValues::Words(vec!["high".to_owned()])),
            ],
        }
    }

    /// Writes a table to a file, with the keys among its columns, and reads it back.
    fn stored(mut table: Table) -> Table {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.parquet");
        let swept = swept();
        let mut keys = Keys::new(&swept);
        keys.name(&[&mut table]);
        keys.put_into(&mut table);
        columns::write(&path, &table).unwrap();
        columns::read(&path).unwrap()
    }

    #[test]
    fn stored_and_reloaded_they_are_what_they_were() {
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
