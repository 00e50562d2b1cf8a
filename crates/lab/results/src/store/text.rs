//! The table of runs as CSV, and `columns.json`, which describes the columns of all tables because
//! CSV has no place for units.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use super::tables::{AUDIT, KEYS, SEED};
use crate::columns::{Column, Named, Table};
use crate::measure::Values;
use crate::run_row::{Audit, RunRow};

/// First characters that a spreadsheet reads as a formula.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// Returns a table as CSV with plain headers. A missing value is empty. An apostrophe protects
/// words that a spreadsheet would compute.
pub(super) fn csv(table: &Table) -> io::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(table.iter().map(|column| safe(&column.name)))?;
    let cells: Vec<Vec<String>> = table.iter().map(|column| cells(&column.column)).collect();
    for row in 0..cells.first().map_or(0, Vec::len) {
        csv.write_record(cells.iter().map(|column| &column[row]))?;
    }
    csv.flush()?;
    csv.into_inner().map_err(|e| io::Error::other(e.to_string()))
}

fn cells(column: &Column) -> Vec<String> {
    match column {
        Column::Text(values) => values.iter().map(|word| safe(word)).collect(),
        Column::Words(values) => {
            values.iter().map(|word| word.as_deref().map_or(String::new(), safe)).collect()
        }
        Column::Int(values) => values.iter().map(i32::to_string).collect(),
        Column::Count(values) => values.iter().map(|v| v.map_or(String::new(), |v| v.to_string())).collect(),
        Column::Real(values) => {
            values.iter().map(|v| if v.is_nan() { String::new() } else { v.to_string() }).collect()
        }
    }
}

fn safe(word: &str) -> String {
    if is_formula(word) { format!("'{word}") } else { word.to_owned() }
}

/// Removes the apostrophe of [`safe`].
fn unprotected(word: &str) -> &str {
    word.strip_prefix('\'').filter(|rest| is_formula(rest)).unwrap_or(word)
}

/// Reports whether a word begins like a formula, perhaps after apostrophes. These are protected
/// too, since the first one is removed.
fn is_formula(word: &str) -> bool {
    word.trim_start_matches('\'').starts_with(FORMULA)
}

/// Reads every run from a table that [`csv`] wrote.
pub(super) fn measured(csv: impl io::Read) -> io::Result<Vec<RunRow>> {
    let mut csv = csv::Reader::from_reader(csv);
    let names = csv.headers()?.clone();
    let seed = names.iter().position(|known| known == SEED);
    let seed = seed.filter(|at| *at > KEYS.len());
    let seed = seed.ok_or_else(|| io::Error::other(format!("no column {SEED}")))?;
    // Before the seed, a key of the experiment may have this name.
    let audit = Some(seed + 1).filter(|at| names.get(*at) == Some(AUDIT));
    let first = audit.unwrap_or(seed) + 1;
    let of_run = |record: csv::StringRecord| {
        let metrics = names.iter().zip(&record).skip(first).filter(|(_, value)| !value.is_empty());
        let values = metrics.map(|(name, value)| {
            let number = value.parse().map_err(|_| io::Error::other(format!("{name} = {value}")));
            Ok((unprotected(name).into(), number?))
        });
        let values = values.collect::<io::Result<Values>>()?;
        let whole = |at: usize| {
            let wrong = |_| io::Error::other(format!("{} = {}", &names[at], &record[at]));
            record[at].parse::<i64>().map_err(wrong)
        };
        Ok(RunRow {
            variant: unprotected(&record[0]).to_owned(),
            row: unprotected(&record[1]).into(),
            // The column before that of the seed.
            repetition: whole(seed - 1)? as u32,
            seed: whole(seed)?.cast_unsigned(),
            values,
            audit: audit.and_then(|at| Audit::from_verdict(&record[at])),
        })
    };
    csv.into_records().map(|record| of_run(record?)).collect()
}

/// Reads the table of runs that [`csv`] wrote. `about` is `columns.json`.
pub(super) fn runs(csv: impl io::Read, about: &str) -> io::Result<Table> {
    let about: BTreeMap<&str, Vec<About<'_>>> = serde_json::from_str(about)?;
    let about = about.get("runs.csv").ok_or_else(|| io::Error::other("columns.json: no runs.csv"))?;
    let mut csv = csv::Reader::from_reader(csv);
    let records: Vec<csv::StringRecord> = csv.records().collect::<Result<_, _>>()?;
    if csv.headers()?.len() != about.len() {
        return Err(io::Error::other("columns.json has other columns"));
    }
    let column = |(at, about): (usize, &About<'_>)| {
        let cells = || records.iter().map(|record| record.get(at).unwrap_or_default());
        let number = |cell: &str| if cell.is_empty() { Some(f64::NAN) } else { cell.parse().ok() };
        let is_text = at < KEYS.len() || about.name == AUDIT && !about.key;
        let numbers: Option<Vec<f64>> = cells().map(number).collect();
        let column = match numbers.filter(|_| !is_text) {
            Some(_) if ["repetition", SEED].contains(&&*about.name) && !about.key => {
                Column::Count(cells().map(|cell| cell.parse().ok()).collect())
            }
            Some(numbers) => Column::Real(numbers),
            None => Column::Text(cells().map(|cell| unprotected(cell).into()).collect()),
        };
        Named { is_key: about.key, ..Named::new(&about.name, &about.unit, &about.description, column) }
    };
    Ok(about.iter().enumerate().map(column).collect())
}

/// Description of a column in `columns.json`.
#[derive(Serialize, Deserialize)]
struct About<'a> {
    name: Cow<'a, str>,
    unit: Cow<'a, str>,
    description: Cow<'a, str>,
    key: bool,
}

/// Returns every column of every table with unit and description, by file and in order.
pub(super) fn columns(tables: &[(&str, &Table)]) -> io::Result<String> {
    fn about(c: &Named) -> About<'_> {
        let [name, unit, description] =
            [&c.name, &c.unit, &c.description].map(|text| Cow::from(text.as_str()));
        About { name, unit, description, key: c.is_key }
    }
    let all: BTreeMap<&str, Vec<About<'_>>> =
        tables.iter().map(|(file, table)| (*file, table.iter().map(about).collect())).collect();
    Ok(serde_json::to_string_pretty(&all).map_err(io::Error::other)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tables::runs_table;

    #[test]
    fn cells_are_no_formulas_and_no_number_is_empty() {
        let words = ["=1+1", "-x", "@a", "a=b"].map(Into::into).to_vec();
        let table = vec![
            Named::new("row", "", "", Column::Text(words)),
            Named::new("x", "ms", "", Column::Real(vec![-0.5, f64::NAN, 1.0, 2.0])),
            Named::new("n", "", "", Column::Count(vec![None, Some(-3), Some(0), Some(1)])),
        ];
        let text = String::from_utf8(csv(&table).unwrap()).unwrap();
        assert_eq!(text, "row,x,n\n'=1+1,-0.5,\n'-x,,-3\n'@a,1,0\na=b,2,1\n");
        let about: serde_json::Value = serde_json::from_str(&columns(&[("t", &table)]).unwrap()).unwrap();
        assert_eq!((&about["t"][1]["name"], &about["t"][1]["unit"]), (&"x".into(), &"ms".into()));
    }

    #[test]
    fn runs_are_read_as_they_were() {
        let run = |variant: &str, repetition, value| RunRow {
            variant: variant.to_owned(),
            row: "-x (stack)".into(),
            repetition,
            seed: u64::MAX - u64::from(repetition),
            values: [("goodput".into(), value), ("loss of =a".into(), 0.1 + 0.2)].into(),
            audit: Some(Audit { invalid_reasons: vec!["late".to_owned()], repeated: 0 }),
        };
        let runs =
            [run("queue = 1 BDP", 0, 1.5), run("=a", 1, -2.0), run("'=a", 2, 0.0), run("''@'", 3, 0.0)];
        let table = runs_table(&runs);
        let csv = csv(&table).unwrap();
        let back = super::runs(&csv[..], &columns(&[("runs.csv", &table)]).unwrap()).unwrap();
        let shown = |table: &Table| table.iter().map(|c| format!("{c:?}")).collect::<Vec<_>>();
        // Repetitions have another type, and the seed is beyond that of its cells.
        assert_eq!(shown(&back)[4..], shown(&table)[4..]);
        assert_eq!(shown(&back)[..2], shown(&table)[..2]);
        assert_eq!(format!("{:?}", measured(&csv[..]).unwrap()), format!("{runs:?}"));
        let text = String::from_utf8(csv).unwrap();
        assert!(measured(text.replace("seed", "sad").as_bytes()).is_err());
        assert!(measured(text.replace(",-1,", ",one,").as_bytes()).is_err());
    }
}
