//! Writes a group of rows, column by column, from values with run lengths. A column is written run
//! by run (`runs.rs`) if runs average two rows or more, otherwise row by row.

use std::fs::File;
use std::iter::repeat_n;
use std::sync::Arc;

use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterPropertiesPtr};
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::ColumnDescPtr;
use scenario::RunLength;

use super::column::{Column, PRESENT};
use super::runs::{self, Entry, Runs};

/// Mean run length from which a column is written run by run.
const LONG: usize = 2;

pub(crate) struct Group<'a> {
    out: SerializedRowGroupWriter<'a, File>,
    properties: WriterPropertiesPtr,
    /// Columns still to be written.
    columns: std::vec::IntoIter<ColumnDescPtr>,
    /// Number of rows per call of the library. It encodes as many at once, so they are still in the
    /// cache.
    batch: usize,
}

impl<'a> Group<'a> {
    pub(super) fn begin(file: &'a mut SerializedFileWriter<File>) -> Result<Self> {
        let properties = file.properties().clone();
        let columns = file.schema_descr().columns().to_vec().into_iter();
        let batch = properties.write_batch_size();
        Ok(Self { out: file.next_row_group()?, properties, columns, batch })
    }

    /// Writes a column of values with these run lengths.
    pub(crate) fn column(&mut self, column: &Column, lengths: impl Iterator<Item = u32>) -> Result<()> {
        match column {
            Column::Text(words) => self.text(words.iter().cloned().zip(lengths)),
            Column::Words(words) => self.words(words.iter().cloned().zip(lengths)),
            Column::Int(values) => {
                self.add::<Int32Type>(values.iter().map(|value| Some(*value)).zip(lengths))
            }
            Column::Count(values) => self.add::<Int64Type>(values.iter().copied().zip(lengths)),
            Column::Real(values) => {
                let there = |value: &f64| (!value.is_nan()).then_some(*value);
                self.add::<DoubleType>(values.iter().map(there).zip(lengths))
            }
        }
    }

    fn text(&mut self, runs: impl Iterator<Item = (Arc<str>, u32)>) -> Result<()> {
        self.add::<ByteArrayType>(of_words(runs.map(|(word, length)| (Some(word), length))))
    }

    /// Writes optional words.
    pub(crate) fn words(&mut self, runs: impl Iterator<Item = (Option<Arc<str>>, u32)>) -> Result<()> {
        self.add::<ByteArrayType>(of_words(runs))
    }

    /// Writes numbers, one piece after another, as integers or not. NaN is null.
    pub(crate) fn numbers(&mut self, pieces: &[&RunLength], whole: bool) -> Result<()> {
        let rows: usize = pieces.iter().map(|piece| piece.len()).sum();
        // A piece that is repeated at once is examined only once.
        let new = pieces.chunk_by(|a, b| std::ptr::eq(*a, *b)).map(|like| like[0].values().len());
        if rows >= LONG * new.sum::<usize>() {
            let runs = Runs::from_pieces(pieces);
            return if whole {
                self.write_runs::<Int64Type>(&runs.whole())
            } else {
                self.write_runs::<DoubleType>(&runs)
            };
        }
        let runs = pieces.iter().flat_map(|piece| piece.runs());
        let runs = runs.map(|(value, length)| ((!value.is_nan()).then_some(value), length));
        if whole {
            self.write_rows::<Int64Type>(runs.map(|(value, length)| (value.map(|v| v as i64), length)))
        } else {
            self.write_rows::<DoubleType>(runs)
        }
    }

    /// Finishes the group, once all columns are written.
    pub(crate) fn finish(self) -> Result<()> {
        self.out.close().map(drop)
    }

    fn add<T: DataType>(&mut self, runs: impl Iterator<Item = (Option<T::T>, u32)>) -> Result<()>
    where
        T::T: Entry,
        Statistics: From<ValueStatistics<T::T>>,
    {
        let runs: Vec<_> = runs.collect();
        let rows: usize = runs.iter().map(|run| run.1 as usize).sum();
        if rows >= LONG * runs.len() {
            self.write_runs::<T>(&Runs::from_values(&runs))
        } else {
            self.write_rows::<T>(runs.into_iter())
        }
    }

    fn write_runs<T: DataType>(&mut self, all: &Runs<T::T>) -> Result<()>
    where
        T::T: Entry,
        Statistics: From<ValueStatistics<T::T>>,
    {
        let column = self.next_column()?;
        let has_range = self.properties.statistics_enabled(column.path()) != EnabledStatistics::None;
        runs::write::<T>(&mut self.out, &column, all, has_range)
    }

    fn write_rows<T: DataType>(&mut self, runs: impl Iterator<Item = (Option<T::T>, u32)>) -> Result<()> {
        let column = self.next_column()?;
        let mut out = self.out.next_column()?.ok_or_else(too_many)?;
        let mut batch = Batch::<T>::new(self.batch, column.max_def_level() > 0);
        for (value, length) in runs {
            batch.add(out.typed::<T>(), value.as_ref(), length as usize)?;
        }
        batch.write(out.typed::<T>())?;
        out.close()
    }

    fn next_column(&mut self) -> Result<ColumnDescPtr> {
        self.columns.next().ok_or_else(too_many)
    }
}

fn too_many() -> ParquetError {
    ParquetError::General("too many columns".into())
}

/// A batch of rows of a column.
struct Batch<T: DataType> {
    values: Vec<T::T>,
    /// Definition level of each row.
    levels: Vec<i16>,
    room: usize,
    is_optional: bool,
}

impl<T: DataType> Batch<T> {
    fn new(room: usize, is_optional: bool) -> Self {
        Self { values: Vec::with_capacity(room), levels: Vec::with_capacity(room), room, is_optional }
    }

    /// Adds `length` rows of a value. Full batches are written.
    fn add(
        &mut self,
        out: &mut ColumnWriterImpl<'_, T>,
        value: Option<&T::T>,
        mut length: usize,
    ) -> Result<()> {
        while self.levels.len() + length >= self.room {
            let now = self.room - self.levels.len();
            self.extend(value, now);
            self.write(out)?;
            length -= now;
            // The batch has a single value, so the next ones are the same.
            while now == self.room && length >= self.room {
                self.write(out)?;
                length -= self.room;
            }
            self.values.clear();
            self.levels.clear();
        }
        self.extend(value, length);
        Ok(())
    }

    fn extend(&mut self, value: Option<&T::T>, length: usize) {
        self.levels.extend(repeat_n(if value.is_some() { PRESENT } else { 0 }, length));
        if let Some(value) = value {
            self.values.extend(repeat_n(value, length).cloned());
        }
    }

    fn write(&self, out: &mut ColumnWriterImpl<'_, T>) -> Result<()> {
        out.write_batch(&self.values, self.is_optional.then_some(&self.levels[..]), None).map(drop)
    }
}

/// Converts words and merges runs of equal words. Each copy of a word touches its reference count.
fn of_words(
    runs: impl Iterator<Item = (Option<Arc<str>>, u32)>,
) -> impl Iterator<Item = (Option<ByteArray>, u32)> {
    let mut runs = runs.peekable();
    std::iter::from_fn(move || {
        let (word, mut length) = runs.next()?;
        while let Some((_, more)) = runs.next_if(|next| next.0 == word) {
            length += more;
        }
        Some((word.as_deref().map(bytes), length))
    })
}

/// Converts a word. One more byte of capacity gives an empty word a mapped address: at others
/// `memcmp` takes 60 ns to compare nothing, and the dictionary compares every word.
fn bytes(word: &str) -> ByteArray {
    let mut bytes = Vec::with_capacity(word.len() + 1);
    bytes.extend_from_slice(word.as_bytes());
    bytes.into()
}
