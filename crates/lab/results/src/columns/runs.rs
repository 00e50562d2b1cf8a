//! A run-length encoded column: each value once in a dictionary, then the index and length of each
//! run.
//!
//! Writing takes time in proportion to the runs. The library's own writer takes time in proportion
//! to the rows. The library writes the pages themselves.
//!
//! (Apache Parquet: "Data Pages", "Encodings": RLE_DICTIONARY, and the RLE / bit-packing hybrid of
//! indices and definition levels. Only RLE is used, because the data are runs already.)

use std::cmp::Ordering;
use std::fs::File;
use std::hash::Hash;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, EncodingMask, Type as Physical};
use parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{AsBytes, ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder};
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use rustc_hash::FxHashMap;
use scenario::RunLength;

/// Index of a value in the dictionary, or [`NONE`], and the length of its run.
type Step = (u32, u32);
/// Index of a missing value.
const NONE: u32 = u32::MAX;

/// Value to index in a dictionary. It is only looked up, so its order does not matter.
type Places<K> = FxHashMap<K, u32>;

/// A value of a dictionary.
pub(super) trait Entry {
    /// Key that is equal for values of the same bits.
    type Key<'a>: Hash + Eq
    where
        Self: 'a;
    fn key(&self) -> Self::Key<'_>;
    /// Order for minimum and maximum in the metadata.
    fn order(&self, other: &Self) -> Ordering;
}

impl Entry for f64 {
    type Key<'a> = u64;
    fn key(&self) -> u64 {
        self.to_bits()
    }
    fn order(&self, other: &Self) -> Ordering {
        self.total_cmp(other)
    }
}

impl Entry for i64 {
    type Key<'a> = i64;
    fn key(&self) -> i64 {
        *self
    }
    fn order(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }
}

impl Entry for i32 {
    type Key<'a> = i32;
    fn key(&self) -> i32 {
        *self
    }
    fn order(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }
}

impl Entry for ByteArray {
    type Key<'a> = &'a [u8];
    fn key(&self) -> &[u8] {
        self.data()
    }
    fn order(&self, other: &Self) -> Ordering {
        self.data().cmp(other.data())
    }
}

/// The values of a column, each once.
struct Dictionary<V> {
    values: Vec<V>,
}

impl<V> Dictionary<V> {
    /// Returns the index of a value, which is added if it is new.
    #[inline]
    fn place<K: Hash + Eq>(&mut self, known: &mut Places<K>, key: K, value: impl FnOnce() -> V) -> u32 {
        let place = *known.entry(key).or_insert(self.values.len() as u32);
        if place as usize == self.values.len() {
            self.values.push(value());
        }
        place
    }
}

/// A column: its dictionary and its runs.
pub(super) struct Runs<V> {
    dictionary: Vec<V>,
    steps: Vec<Step>,
    /// Number of steps of each piece, and how often the piece repeats.
    pieces: Vec<(usize, usize)>,
}

impl<V: Entry + Clone> Runs<V> {
    /// Creates runs from values with their lengths.
    pub(super) fn from_values(runs: &[(Option<V>, u32)]) -> Self {
        let (mut known, mut dictionary) = (Places::default(), Dictionary { values: Vec::new() });
        let mut steps = Vec::with_capacity(runs.len());
        for (value, length) in runs {
            let place = value.as_ref().map(|v| dictionary.place(&mut known, v.key(), || v.clone()));
            steps.push((place.unwrap_or(NONE), *length));
        }
        Self { dictionary: dictionary.values, steps, pieces: vec![(runs.len(), 1)] }
    }
}

impl Runs<f64> {
    /// Creates runs from pieces of numbers, one after another. NaN is missing. A piece that is
    /// repeated at once is examined only once.
    pub(super) fn from_pieces(pieces: &[&RunLength]) -> Self {
        let (mut known, mut dictionary) = (Places::default(), Dictionary { values: Vec::new() });
        let mut steps = Vec::new();
        let alike = pieces.chunk_by(|a, b| std::ptr::eq(*a, *b));
        let pieces = alike.map(|alike| {
            steps.extend(alike[0].runs().map(|(value, length)| match value.is_nan() {
                true => (NONE, length),
                false => (dictionary.place(&mut known, value.to_bits(), || value), length),
            }));
            (alike[0].values().len(), alike.len())
        });
        let pieces = pieces.collect();
        Self { dictionary: dictionary.values, steps, pieces }
    }

    /// Converts the numbers to integers. All must be whole.
    pub(super) fn whole(self) -> Runs<i64> {
        let dictionary = self.dictionary.into_iter().map(|value| value as i64).collect();
        Runs { dictionary, steps: self.steps, pieces: self.pieces }
    }
}

impl<V> Runs<V> {
    /// Returns each piece, and how often it repeats.
    fn pieces(&self) -> impl Iterator<Item = (&[Step], usize)> {
        let mut rest = &self.steps[..];
        self.pieces.iter().map(move |(length, times)| {
            let (piece, behind) = rest.split_at(*length);
            rest = behind;
            (piece, *times)
        })
    }

    /// Returns the number of rows with a value and without.
    fn rows(&self) -> (u64, u64) {
        let (mut there, mut none) = (0, 0);
        for (piece, times) in self.pieces() {
            for (place, length) in piece {
                let rows = times as u64 * u64::from(*length);
                *(if *place == NONE { &mut none } else { &mut there }) += rows;
            }
        }
        (there, none)
    }

    /// Returns the page of indices: the definition levels after their length, if values may be
    /// missing, then the width of an index and the indices.
    fn data(&self, rows: u32, is_optional: bool) -> Vec<u8> {
        let mut out = Vec::new();
        if is_optional {
            out.extend([0; 4]);
            match self.steps.iter().any(|step| step.0 == NONE) {
                true => self.put_all(&mut out, 1, |place| Some(u32::from(place != NONE))),
                false => put_run(&mut out, 1, 1, rows),
            }
            let length = (out.len() - 4) as u32;
            out[..4].copy_from_slice(&length.to_le_bytes());
        }
        let width = (self.dictionary.len().max(2) - 1).ilog2() + 1;
        out.push(width as u8);
        self.put_all(&mut out, width.div_ceil(8) as usize, |place| (place != NONE).then_some(place));
        out
    }

    /// Writes the number that `of` returns for each step, in `width` bytes. Steps with `None` are
    /// left out.
    fn put_all(&self, out: &mut Vec<u8>, width: usize, of: impl Fn(u32) -> Option<u32>) {
        for (piece, times) in self.pieces() {
            let start = out.len();
            let (mut now, mut count) = (0, 0);
            for (place, length) in piece {
                let Some(number) = of(*place) else { continue };
                if number != now && count > 0 {
                    put_run(out, width, now, count);
                    count = 0;
                }
                (now, count) = (number, count + length);
            }
            if count > 0 {
                put_run(out, width, now, count);
            }
            let end = out.len();
            (1..times).for_each(|_| out.extend_from_within(start..end));
        }
    }
}

/// Writes a run of a number in `width` bytes.
#[inline]
fn put_run(out: &mut Vec<u8>, width: usize, number: u32, count: u32) {
    let mut header = u64::from(count) << 1;
    while header >= 0x80 {
        out.push(header as u8 | 0x80);
        header >>= 7;
    }
    out.push(header as u8);
    out.extend(&number.to_le_bytes()[..width]);
}

/// Writes a column as a dictionary and one page, with minimum and maximum if `has_range`.
pub(super) fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    column: &ColumnDescPtr,
    runs: &Runs<T::T>,
    has_range: bool,
) -> Result<()>
where
    T::T: Entry,
    Statistics: From<ValueStatistics<T::T>>,
{
    let dictionary = &runs.dictionary;
    let (there, nulls) = runs.rows();
    let rows = there + nulls;
    // The header of a page counts rows in an i32.
    let num_values = i32::try_from(rows).map_err(|_| ParquetError::General("too many rows".into()))? as u32;
    // Compression is worth it for repeated pieces. Otherwise a dictionary hardly shrinks, and
    // indices are small.
    let repeats = runs.pieces.iter().any(|piece| piece.1 > 1);
    let codec = if repeats { Compression::SNAPPY } else { Compression::UNCOMPRESSED };

    let mut uncompressed = 0;
    let mut out = TrackedWrite::new(Vec::new());
    let mut pages = SerializedPageWriter::new(&mut out);
    let mut put = |buf: Vec<u8>, page: &dyn Fn(Bytes) -> Page| {
        let size = buf.len();
        let buf = if repeats { compress(&buf)? } else { buf };
        let spec = pages.write_page(CompressedPage::new(page(buf.into()), size))?;
        uncompressed += spec.uncompressed_size;
        Ok::<PageWriteSpec, ParquetError>(spec)
    };
    let (entries, encoding) = (dictionary.len() as u32, Encoding::PLAIN);
    let first = put(plain::<T>(dictionary), &|buf| Page::DictionaryPage {
        buf,
        num_values: entries,
        encoding,
        is_sorted: false,
    })?;
    let page = put(runs.data(num_values, column.max_def_level() > 0), &|buf| Page::DataPage {
        buf,
        num_values,
        encoding: Encoding::RLE_DICTIONARY,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    })?;
    let bytes = Bytes::from(out.into_inner()?);

    let mut offsets = OffsetIndexBuilder::new();
    offsets.append_row_count(rows as i64);
    offsets.append_offset_and_size(page.offset as i64, page.compressed_size as i32);
    let encodings = [Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY];
    let mut metadata = ColumnChunkMetaData::builder(column.clone())
        .set_compression(codec)
        .set_encodings_mask(EncodingMask::new_from_encodings(encodings.iter()))
        .set_total_compressed_size(bytes.len() as i64)
        .set_total_uncompressed_size(uncompressed as i64)
        .set_num_values(rows as i64)
        .set_dictionary_page_offset(Some(first.offset as i64))
        .set_data_page_offset(page.offset as i64);
    if has_range {
        metadata = metadata.set_statistics(range::<T>(column, dictionary, nulls));
    }
    let close = ColumnCloseResult {
        bytes_written: bytes.len() as u64,
        rows_written: rows,
        metadata: metadata.build()?,
        bloom_filter: None,
        column_index: None,
        offset_index: Some(offsets.build()),
    };
    group.append_column(&bytes, close)
}

fn compress(bytes: &[u8]) -> Result<Vec<u8>> {
    snap::raw::Encoder::new().compress_vec(bytes).map_err(|e| ParquetError::External(Box::new(e)))
}

/// Returns values in plain encoding. Words follow their length.
fn plain<T: DataType>(values: &[T::T]) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 * values.len());
    for value in values {
        let bytes = value.as_bytes();
        if T::get_physical_type() == Physical::BYTE_ARRAY {
            out.extend((bytes.len() as u32).to_le_bytes());
        }
        out.extend(bytes);
    }
    out
}

/// Returns minimum and maximum as the library does for its own pages. There is no NaN.
fn range<T: DataType>(column: &ColumnDescPtr, values: &[T::T], nulls: u64) -> Statistics
where
    T::T: Entry,
    Statistics: From<ValueStatistics<T::T>>,
{
    let least = values.iter().min_by(|a, b| a.order(b));
    let greatest = values.iter().max_by(|a, b| a.order(b));
    let nans = (T::get_physical_type() == Physical::DOUBLE && !values.is_empty()).then_some(0);
    ValueStatistics::new(least.cloned(), greatest.cloned(), None, Some(nulls), false)
        .with_nan_count(nans)
        .with_backwards_compatible_min_max(column.sort_order().is_signed())
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run has a header of length and a zero bit, then the number in whole bytes, lowest first.
    #[test]
    fn as_the_format_says() {
        let mut out = Vec::new();
        put_run(&mut out, 2, 515, 100);
        assert_eq!(out, [0xC8, 0x01, 0x03, 0x02]);
    }

    /// A repeated piece repeats its bytes. A missing value has a level and no index.
    #[test]
    fn pieces_that_are_there_again() {
        let [piece, other] = [&[7.0, 7.0, f64::NAN, 7.0, 9.0][..], &[9.0]].map(RunLength::from_values);
        let runs = Runs::from_pieces(&[&piece, &piece, &other]);
        assert_eq!((&runs.dictionary[..], runs.rows()), (&[7.0, 9.0][..], (9, 2)));
        let levels = [4, 1, 2, 0, 4, 1];
        let indices = [6, 0, 2, 1];
        let expected = [&[14, 0, 0, 0][..], &levels, &levels, &[2, 1], &[1], &indices, &indices, &[2, 1]];
        assert_eq!(runs.data(11, true), expected.concat());
    }
}
