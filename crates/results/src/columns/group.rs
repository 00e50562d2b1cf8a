//! A group of rows on its way to its file, column by column. Of each value it takes how often it follows itself.

use std::fs::File;
use std::iter::repeat_n;
use std::sync::Arc;

use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};

use super::column::{Column, THERE};

/// A group of rows.
pub(crate) struct Group<'a> {
    out: SerializedRowGroupWriter<'a, File>,
    /// Rows that are handed over at once: as many as the library encodes at once, so that they have not left the cache by then.
    batch: usize,
}

impl<'a> Group<'a> {
    pub(super) fn begin(file: &'a mut SerializedFileWriter<File>) -> Result<Self> {
        let batch = file.properties().write_batch_size();
        Ok(Self { out: file.next_row_group()?, batch })
    }

    /// A column, each of its values so often.
    pub(crate) fn column(&mut self, column: &Column, lengths: impl Iterator<Item = u32>) -> Result<()> {
        match column {
            Column::Text(words) => self.text(words.iter().cloned().zip(lengths)),
            Column::Words(words) => self.words(words.iter().cloned().zip(lengths)),
            Column::Int(values) => self.ints(values.iter().copied().zip(lengths)),
            Column::Count(values) => self.counts(values.iter().copied().zip(lengths)),
            Column::Real(values) => self.reals(values.iter().copied().zip(lengths)),
        }
    }

    fn text(&mut self, runs: impl Iterator<Item = (Arc<str>, u32)>) -> Result<()> {
        self.add::<ByteArrayType>(false, of_words(runs.map(|(word, length)| (Some(word), length))))
    }

    /// Words, where there are any.
    pub(crate) fn words(&mut self, runs: impl Iterator<Item = (Option<Arc<str>>, u32)>) -> Result<()> {
        self.add::<ByteArrayType>(true, of_words(runs))
    }

    fn ints(&mut self, runs: impl Iterator<Item = (i32, u32)>) -> Result<()> {
        self.add::<Int32Type>(false, runs.map(|(value, length)| (Some(value), length)))
    }

    /// Whole numbers, where there are any.
    pub(crate) fn counts(&mut self, runs: impl Iterator<Item = (Option<i64>, u32)>) -> Result<()> {
        self.add::<Int64Type>(true, runs)
    }

    /// Numbers; NaN where there is none.
    pub(crate) fn reals(&mut self, runs: impl Iterator<Item = (f64, u32)>) -> Result<()> {
        self.add::<DoubleType>(true, runs.map(|(value, length)| ((!value.is_nan()).then_some(value), length)))
    }

    /// Ends it, once every column is there.
    pub(crate) fn finish(self) -> Result<()> {
        self.out.close().map(drop)
    }

    fn add<T: DataType>(
        &mut self,
        is_optional: bool,
        runs: impl Iterator<Item = (Option<T::T>, u32)>,
    ) -> Result<()> {
        let mut out =
            self.out.next_column()?.ok_or_else(|| ParquetError::General("too many columns".into()))?;
        let mut batch = Batch::<T>::new(self.batch, is_optional);
        for (value, length) in runs {
            batch.add(out.typed::<T>(), value.as_ref(), length as usize)?;
        }
        batch.write(out.typed::<T>())?;
        out.close()
    }
}

/// Rows of a column that are handed over at once.
struct Batch<T: DataType> {
    values: Vec<T::T>,
    /// Of each row whether it has a value.
    levels: Vec<i16>,
    room: usize,
    is_optional: bool,
}

impl<T: DataType> Batch<T> {
    fn new(room: usize, is_optional: bool) -> Self {
        Self { values: Vec::with_capacity(room), levels: Vec::with_capacity(room), room, is_optional }
    }

    /// Adds so many rows of a value; what is full is written.
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
            // Where it is all of one value the next ones are like it.
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
        self.levels.extend(repeat_n(if value.is_some() { THERE } else { 0 }, length));
        if let Some(value) = value {
            self.values.extend(repeat_n(value, length).cloned());
        }
    }

    fn write(&self, out: &mut ColumnWriterImpl<'_, T>) -> Result<()> {
        out.write_batch(&self.values, self.is_optional.then_some(&self.levels[..]), None).map(drop)
    }
}

/// Words as they are stored, where one follows its like in one run: each copy of them counts who has it.
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

/// A word as it is stored. Room for a byte more gives an empty one an address that is mapped: at others `memcmp` takes 60 ns to compare
/// nothing, and the dictionary compares each word.
fn bytes(word: &str) -> ByteArray {
    let mut bytes = Vec::with_capacity(word.len() + 1);
    bytes.extend_from_slice(word.as_bytes());
    bytes.into()
}
