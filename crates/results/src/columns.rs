//! Tables of columns as Parquet files.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

/// The values of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Words.
    Text(Vec<String>),
    /// Small whole numbers.
    Int(Vec<i32>),
    /// Numbers; NaN where there is none.
    Real(Vec<f64>),
}

impl Column {
    fn schema(&self, name: &str) -> Result<TypePtr> {
        let (physical, converted) = match self {
            Self::Text(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            Self::Int(_) => (Physical::INT32, ConvertedType::NONE),
            Self::Real(_) => (Physical::DOUBLE, ConvertedType::NONE),
        };
        let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
        builder.with_converted_type(converted).build().map(Arc::new)
    }
}

/// A table: names and columns of equal length.
pub type Table = Vec<(String, Column)>;

/// Writes a table.
///
/// # Errors
/// What the file system or the format refuses.
pub fn write(path: &Path, table: &Table) -> Result<()> {
    let fields = table.iter().map(|(name, column)| column.schema(name)).collect::<Result<_>>()?;
    let schema = Arc::new(Type::group_type_builder("table").with_fields(fields).build()?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file = SerializedFileWriter::new(File::create(path)?, schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for (_, column) in table {
        let mut out = group.next_column()?.ok_or_else(|| ParquetError::General("too many columns".into()))?;
        match column {
            Column::Text(values) => {
                let bytes: Vec<ByteArray> = values.iter().map(|s| s.as_str().into()).collect();
                out.typed::<ByteArrayType>().write_batch(&bytes, None, None)?;
            }
            Column::Int(values) => {
                out.typed::<Int32Type>().write_batch(values, None, None)?;
            }
            Column::Real(values) => {
                out.typed::<DoubleType>().write_batch(values, None, None)?;
            }
        }
        out.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(())
}

/// Reads a table that [`write()`] wrote.
///
/// # Errors
/// A file that is missing, damaged, or holds other types.
pub fn read(path: &Path) -> Result<Table> {
    let reader = SerializedFileReader::new(File::open(path)?)?;
    let names: Vec<String> = reader
        .metadata()
        .file_metadata()
        .schema_descr()
        .columns()
        .iter()
        .map(|c| c.name().to_owned())
        .collect();
    let mut table: Table = Vec::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        for (i, name) in names.iter().enumerate() {
            let column = read_column(group.get_column_reader(i)?, rows)?;
            match table.get_mut(i) {
                None => table.push((name.clone(), column)),
                Some((_, whole)) => append(whole, column)?,
            }
        }
    }
    Ok(table)
}

fn read_column(reader: ColumnReader, rows: usize) -> Result<Column> {
    Ok(match reader {
        ColumnReader::ByteArrayColumnReader(mut r) => {
            let mut values = Vec::new();
            r.read_records(rows, None, None, &mut values)?;
            let text = values.iter().map(|v| v.as_utf8().map(str::to_owned));
            Column::Text(text.collect::<Result<_>>()?)
        }
        ColumnReader::Int32ColumnReader(mut r) => {
            let mut values = Vec::new();
            r.read_records(rows, None, None, &mut values)?;
            Column::Int(values)
        }
        ColumnReader::DoubleColumnReader(mut r) => {
            let mut values = Vec::new();
            r.read_records(rows, None, None, &mut values)?;
            Column::Real(values)
        }
        _ => return Err(ParquetError::General("a column of a type that Kneepoint does not write".into())),
    })
}

fn append(whole: &mut Column, part: Column) -> Result<()> {
    match (whole, part) {
        (Column::Text(a), Column::Text(b)) => a.extend(b),
        (Column::Int(a), Column::Int(b)) => a.extend(b),
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
        let table = vec![
            ("word".to_owned(), Column::Text(vec!["a".into(), "ü".into()])),
            ("n".to_owned(), Column::Int(vec![1, -2])),
            ("x".to_owned(), Column::Real(vec![0.5, 1e300])),
        ];
        write(&path, &table).unwrap();
        assert_eq!(read(&path).unwrap(), table);
        assert!(read(&dir.path().join("none")).is_err());
    }
}
