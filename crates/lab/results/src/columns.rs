//! Tables of columns, stored as Parquet. A missing value is null. The metadata of the file explain
//! the columns: `unit:NAME` and `description:NAME`.

mod column;
mod group;
mod runs;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use experiment::input::open_regular;
use parquet::basic::Compression;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};

use self::column::PRESENT;
pub use self::column::{Column, are_whole};
pub(crate) use self::group::Group;

/// A column with its metadata.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    pub name: String,
    /// Unit of its numbers; empty for words and ratios.
    pub unit: String,
    /// Description; empty if unknown.
    pub description: String,
    /// The column is a key of the experiment, which repeats what variant and row say.
    pub is_key: bool,
    pub column: Column,
}

impl Named {
    /// Creates a column of results.
    pub fn new(name: &str, unit: &str, description: &str, column: Column) -> Self {
        let [name, unit, description] = [name, unit, description].map(str::to_owned);
        Self { name, unit, description, is_key: false, column }
    }

    fn metadata(&self) -> impl Iterator<Item = KeyValue> {
        let role = if self.is_key { "key" } else { "" };
        let all = [("unit", self.unit.as_str()), ("description", &self.description), ("role", role)];
        let said = all.into_iter().filter(|(_, text)| !text.is_empty());
        said.map(|(what, text)| KeyValue::new(format!("{what}:{}", self.name), text.to_owned()))
    }
}

/// A table: columns of equal length.
pub type Table = Vec<Named>;

/// Writes a table.
///
/// # Errors
/// Fails if the file cannot be written or the format does not allow it.
pub fn write(path: &Path, table: &Table) -> Result<()> {
    let mut file = Writer::new(path, table)?;
    file.add(table)?;
    file.finish()
}

/// Writes a table in groups of rows.
pub struct Writer(SerializedFileWriter<File>);

impl Writer {
    /// Creates a file with the columns of this table, without its rows.
    ///
    /// # Errors
    /// Fails if the file cannot be written or the format does not allow it.
    pub fn new(path: &Path, table: &Table) -> Result<Self> {
        let fields = table.iter().map(|c| c.column.schema(&c.name)).collect::<Result<_>>()?;
        let schema = Arc::new(Type::group_type_builder("table").with_fields(fields).build()?);
        let metadata = table.iter().flat_map(Named::metadata).collect();
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_key_value_metadata(Some(metadata));
        // Minimum and maximum of words are useless, and comparing words took a fifth of the time.
        for words in table.iter().filter(|c| matches!(c.column, Column::Text(_) | Column::Words(_))) {
            let path = ColumnPath::new(vec![words.name.clone()]);
            properties = properties.set_column_statistics_enabled(path, EnabledStatistics::None);
        }
        // A dictionary for numbers that hardly repeat saves a sixth of a series file, and costs as
        // much of the study's time.
        for reals in table.iter().filter(|c| matches!(c.column, Column::Real(_))) {
            properties =
                properties.set_column_dictionary_enabled(ColumnPath::new(vec![reals.name.clone()]), false);
        }
        let properties = properties.build();
        SerializedFileWriter::new(File::create(path)?, schema, Arc::new(properties)).map(Self)
    }

    /// Adds the rows of a table with the same columns, as one group.
    ///
    /// # Errors
    /// Fails if the file cannot be written or the format does not allow it.
    pub fn add(&mut self, table: &Table) -> Result<()> {
        let mut group = self.group()?;
        for Named { column, .. } in table {
            group.column(column, std::iter::repeat(1))?;
        }
        group.finish()
    }

    /// Finishes the file.
    ///
    /// # Errors
    /// Fails if the file cannot be written or the format does not allow it.
    pub fn finish(self) -> Result<()> {
        self.0.close().map(drop)
    }

    /// Begins a group of rows. Values are added column by column.
    pub(crate) fn group(&mut self) -> Result<Group<'_>> {
        Group::begin(&mut self.0)
    }
}

/// Reads a table written by [`write()`].
///
/// # Errors
/// Fails if the file is missing or damaged, or has columns of other types.
pub fn read(path: &Path) -> Result<Table> {
    let reader = Reader::open(path)?;
    let mut table = reader.heads();
    for group in 0..reader.groups() {
        for (i, whole) in table.iter_mut().enumerate() {
            let column = reader.column(group, i)?;
            if group == 0 {
                whole.column = column;
            } else {
                append(&mut whole.column, column)?;
            }
        }
    }
    Ok(table)
}

/// Reads a table from its file.
pub struct Reader(SerializedFileReader<File>);

impl Reader {
    /// Opens the file.
    ///
    /// # Errors
    /// Fails if the file is missing or damaged.
    pub fn open(path: &Path) -> Result<Self> {
        SerializedFileReader::new(open_regular(path)?).map(Self)
    }

    /// Returns the columns without their values.
    pub fn heads(&self) -> Table {
        let file = self.0.metadata().file_metadata();
        let said = file.key_value_metadata().into_iter().flatten();
        let said: BTreeMap<&str, &str> = said
            .map(|KeyValue { key, value }| (key.as_str(), value.as_deref().unwrap_or_default()))
            .collect();
        let head = |name: &str| {
            let text = |what: &str| said.get(format!("{what}:{name}").as_str()).copied();
            let [unit, description] = ["unit", "description"].map(|what| text(what).unwrap_or(""));
            let is_key = text("role") == Some("key");
            Named { is_key, ..Named::new(name, unit, description, Column::Real(Vec::new())) }
        };
        file.schema_descr().columns().iter().map(|c| head(c.name())).collect()
    }

    /// Returns the number of groups.
    pub fn groups(&self) -> usize {
        self.0.num_row_groups()
    }

    /// Reads a column of a group by its index.
    ///
    /// # Errors
    /// Fails if the file is damaged or the column has a type that Ackclock does not write.
    pub fn column(&self, group: usize, number: usize) -> Result<Column> {
        let group = self.0.get_row_group(group)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let schema = self.0.metadata().file_metadata().schema_descr();
        let is_optional = schema.column(number).self_type().is_optional();
        read_column(group.get_column_reader(number)?, rows, is_optional)
    }
}

fn read_column(reader: ColumnReader, rows: usize, is_optional: bool) -> Result<Column> {
    Ok(match reader {
        ColumnReader::ByteArrayColumnReader(r) => {
            let words = words(read_optional(r, rows)?)?;
            if is_optional {
                Column::Words(words)
            } else {
                Column::Text(words.into_iter().flatten().collect())
            }
        }
        ColumnReader::Int32ColumnReader(mut r) => {
            let mut values = Vec::new();
            r.read_records(rows, None, None, &mut values)?;
            Column::Int(values)
        }
        ColumnReader::Int64ColumnReader(r) => Column::Count(read_optional(r, rows)?),
        ColumnReader::DoubleColumnReader(r) => {
            let values = read_optional(r, rows)?;
            Column::Real(values.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect())
        }
        _ => return Err(ParquetError::General("unsupported column type".into())),
    })
}

/// Returns words. Consecutive equal words share memory.
fn words(values: Vec<Option<ByteArray>>) -> Result<Vec<Option<Arc<str>>>> {
    let mut last: Option<Arc<str>> = None;
    let mut word = |value: Option<ByteArray>| {
        let Some(value) = value else { return Ok(None) };
        let value = value.as_utf8()?;
        if last.as_deref() != Some(value) {
            last = Some(value.into());
        }
        Ok(last.clone())
    };
    values.into_iter().map(&mut word).collect()
}

/// Reads a column of optional values. Earlier versions wrote columns without nulls as required.
fn read_optional<T: DataType>(mut reader: ColumnReaderImpl<T>, rows: usize) -> Result<Vec<Option<T::T>>> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    let mut values = values.into_iter();
    if levels.is_empty() {
        return Ok(values.map(Some).collect());
    }
    Ok(levels.into_iter().map(|level| if level == PRESENT { values.next() } else { None }).collect())
}

fn append(whole: &mut Column, part: Column) -> Result<()> {
    match (whole, part) {
        (Column::Text(a), Column::Text(b)) => a.extend(b),
        (Column::Words(a), Column::Words(b)) => a.extend(b),
        (Column::Int(a), Column::Int(b)) => a.extend(b),
        (Column::Count(a), Column::Count(b)) => a.extend(b),
        (Column::Real(a), Column::Real(b)) => a.extend(b),
        _ => return Err(ParquetError::General("a column changes its type".into())),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.parquet");
        let key = Named::new("link.queue", "BDP", "a key", Column::Real(vec![0.5, 1e300]));
        let table = vec![
            Named::new("word", "", "", Column::Text(vec!["a".into(), "ü".into()])),
            Named::new("state", "", "", Column::Words(vec![None, Some("Startup".into())])),
            Named::new("n", "", "", Column::Int(vec![1, -2])),
            Named::new("packets", "packets", "so many", Column::Count(vec![None, Some(-3)])),
            Named { is_key: true, ..key },
        ];
        write(&path, &table).unwrap();
        assert_eq!(read(&path).unwrap(), table);
        assert!(read(&dir.path().join("none")).is_err());
    }

    /// Columns written run by run are read like those written row by row, for runs of all lengths.
    #[test]
    fn runs_are_rows() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.parquet");
        for longest in [1, 7, 40, 5000] {
            let lengths: Vec<u32> =
                (0..300_u32).map(|i| i * 7919 % longest + u32::from(longest == 1)).collect();
            let number = |i: u32| i * 31 % 97;
            let numbers = || (0..300).map(number);
            let word = |n: u32| (!n.is_multiple_of(5)).then(|| Arc::from("x".repeat(n as usize)));
            let columns = [
                Column::Text(numbers().map(|n| Arc::from(n.to_string())).collect()),
                Column::Words(numbers().map(word).collect()),
                Column::Int(numbers().map(|n| n as i32 - 50).collect()),
                Column::Count(numbers().map(|n| (n > 10).then_some(i64::from(n) << 40)).collect()),
                Column::Real(numbers().map(|n| if n > 10 { f64::from(n) / 7.0 } else { f64::NAN }).collect()),
                Column::Real(vec![f64::NAN; 300]),
            ];
            let names = ["text", "words", "int", "count", "real", "none"];
            let named = names.iter().zip(&columns).map(|(name, c)| Named::new(name, "", "", c.clone()));
            let mut out = Writer::new(&path, &named.collect()).unwrap();
            for _ in 0..2 {
                let mut group = out.group().unwrap();
                columns.iter().for_each(|c| group.column(c, lengths.iter().copied()).unwrap());
                group.finish().unwrap();
            }
            out.finish().unwrap();
            let back = read(&path).unwrap();
            let rows: Vec<usize> =
                (0..300).flat_map(|i| std::iter::repeat_n(i, lengths[i] as usize)).collect();
            let twice = || rows.iter().chain(&rows).copied();
            let expected = [
                format!("{:?}", twice().map(|i| number(i as u32).to_string()).collect::<Vec<_>>()),
                format!("{:?}", twice().map(|i| word(number(i as u32))).collect::<Vec<Option<Arc<str>>>>()),
            ];
            let got = back.iter().map(|named| match &named.column {
                Column::Text(words) => format!("{words:?}"),
                Column::Words(words) => format!("{words:?}"),
                Column::Int(values) => format!("{values:?}"),
                Column::Count(values) => format!("{values:?}"),
                Column::Real(values) => format!("{values:?}"),
            });
            let expected = expected.into_iter().chain(columns[2..].iter().map(|column| match column {
                Column::Int(values) => format!("{:?}", twice().map(|i| values[i]).collect::<Vec<_>>()),
                Column::Count(values) => format!("{:?}", twice().map(|i| values[i]).collect::<Vec<_>>()),
                Column::Real(values) => format!("{:?}", twice().map(|i| values[i]).collect::<Vec<_>>()),
                _ => String::new(),
            }));
            assert!(got.eq(expected), "runs below {longest}");
        }
    }

    /// Metadata do not depend on whether a column was written run by run or row by row. (Words have
    /// no minimum and maximum, and are written run by run either way.)
    #[test]
    fn runs_have_the_metadata_of_rows() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.parquet");
        let (reals, none) = ([0.0, -0.0, f64::NAN, f64::INFINITY, -3.5], [f64::NAN; 5]);
        let (counts, ints) = ([Some(7), None, Some(-7), Some(i64::MAX), None], [3, 1, 2, 3, i32::MIN]);
        // Writes the same rows: each value `times` times, in runs of `length`.
        let written = |times: usize, length: u32| {
            let columns = [
                Column::Real(repeated(&reals, times)),
                Column::Real(repeated(&none, times)),
                Column::Count(repeated(&counts, times)),
                Column::Int(repeated(&ints, times)),
            ];
            let named = ["reals", "none", "counts", "ints"].iter().zip(&columns);
            let named = named.map(|(name, column)| Named::new(name, "", "", column.clone()));
            let mut out = Writer::new(&path, &named.collect()).unwrap();
            let mut group = out.group().unwrap();
            columns.iter().for_each(|column| group.column(column, std::iter::repeat(length)).unwrap());
            group.finish().unwrap();
            out.finish().unwrap();
            let file = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
            let group = file.metadata().row_group(0).clone();
            let is_compressed = group.columns().iter().map(|c| c.compression() != Compression::UNCOMPRESSED);
            let metadata = |i: usize| (group.column(i).num_values(), group.column(i).statistics().cloned());
            (
                is_compressed.collect::<Vec<_>>(),
                format!("{:?}", (0..columns.len()).map(metadata).collect::<Vec<_>>()),
            )
        };
        let (runs, rows) = (written(1, 4), written(4, 1));
        assert_eq!((runs.0, rows.0), (vec![false; 4], vec![true; 4]), "each in its way");
        assert_eq!(runs.1, rows.1);
    }

    fn repeated<T: Copy>(values: &[T], times: usize) -> Vec<T> {
        values.iter().flat_map(|value| std::iter::repeat_n(*value, times)).collect()
    }

    /// Indices of one, two and three bytes.
    #[test]
    fn large_dictionaries() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.parquet");
        for entries in [1, 2, 3, 256, 257, 65_536, 65_537] {
            let column = Column::Real((0..entries).map(f64::from).collect());
            let mut out = Writer::new(&path, &vec![Named::new("x", "", "", column.clone())]).unwrap();
            let mut group = out.group().unwrap();
            group.column(&column, std::iter::repeat(2)).unwrap();
            group.finish().unwrap();
            out.finish().unwrap();
            let twice: Vec<f64> = (0..2 * entries).map(|i| f64::from(i / 2)).collect();
            assert_eq!(read(&path).unwrap()[0].column, Column::Real(twice), "{entries}");
        }
    }

    #[test]
    fn no_number_is_null() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.parquet");
        let column = Column::Real(vec![f64::NAN, 0.5, f64::NAN, f64::INFINITY]);
        write(&path, &vec![Named::new("x", "ms", "", column)]).unwrap();
        let file = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let nulls = file.metadata().row_group(0).column(0).statistics().unwrap().null_count_opt();
        assert_eq!(nulls, Some(2));
        let metadata = file.metadata().file_metadata().key_value_metadata().unwrap();
        assert!(metadata.contains(&KeyValue::new("unit:x".to_owned(), "ms".to_owned())));
        let table = read(&path).unwrap();
        let Column::Real(back) = &table[0].column else { panic!("{table:?}") };
        assert!(back[0].is_nan() && back[2].is_nan(), "{back:?}");
        assert_eq!((back[1], back[3]), (0.5, f64::INFINITY));
    }

    #[test]
    fn whole_numbers_are_whole() {
        assert_eq!(Column::counts(vec![3.0, f64::NAN]), Column::Count(vec![Some(3), None]));
        assert_eq!(Column::counts(vec![3.0, 0.5]), Column::Real(vec![3.0, 0.5]));
        assert_eq!(Column::counts(vec![f64::INFINITY]), Column::Real(vec![f64::INFINITY]));
        assert_eq!(Column::counts(vec![1e300]), Column::Real(vec![1e300]));
    }
}
