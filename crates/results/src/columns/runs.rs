//! A column of runs, run-length encoded: each value once in a dictionary, then the place of each run's value and the run's length. It takes as long
//! as there are runs, where the library's own writer takes as long as there are rows. The library writes the pages themselves.
//!
//! (Apache Parquet: "Data Pages", "Encodings": RLE_DICTIONARY, and the RLE / bit-packing hybrid of indices and definition levels, of which RLE alone is
//! used: it is what runs are already.)

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
use scenario::Repeated;

/// The place of a value in a dictionary, or [`NONE`], and the length of its run.
type Step = (u32, u32);
/// No value.
const NONE: u32 = u32::MAX;

/// Places of values in a dictionary. They are only looked up, so that their order is nobody's.
type Places<K> = FxHashMap<K, u32>;

/// What tells values apart.
pub(super) trait Entry {
    /// Equal for values of the same bits.
    type Key<'a>: Hash + Eq
    where
        Self: 'a;
    fn key(&self) -> Self::Key<'_>;
    /// The order of the least and the greatest value in the metadata.
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
    /// The place of a value, which is added if it is new.
    #[inline]
    fn place<K: Hash + Eq>(&mut self, known: &mut Places<K>, key: K, value: impl FnOnce() -> V) -> u32 {
        let place = *known.entry(key).or_insert(self.values.len() as u32);
        if place as usize == self.values.len() {
            self.values.push(value());
        }
        place
    }
}

/// A column: each of its values once, and its runs.
pub(super) struct Runs<V> {
    dictionary: Vec<V>,
    steps: Vec<Step>,
    /// How many of the steps belong together, and how often they are there.
    pieces: Vec<(usize, usize)>,
}

impl<V: Entry + Clone> Runs<V> {
    /// These values, each with the length of its run.
    pub(super) fn of(runs: &[(Option<V>, u32)]) -> Self {
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
    /// These numbers, one piece behind the other; NaN where there is none. A piece that is there again at once is looked at once.
    pub(super) fn of_pieces(pieces: &[&Repeated]) -> Self {
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

    /// As whole numbers, which they are.
    pub(super) fn whole(self) -> Runs<i64> {
        let dictionary = self.dictionary.into_iter().map(|value| value as i64).collect();
        Runs { dictionary, steps: self.steps, pieces: self.pieces }
    }
}

impl<V> Runs<V> {
    /// Each piece, and how often it is there.
    fn pieces(&self) -> impl Iterator<Item = (&[Step], usize)> {
        let mut rest = &self.steps[..];
        self.pieces.iter().map(move |(length, times)| {
            let (piece, behind) = rest.split_at(*length);
            rest = behind;
            (piece, *times)
        })
    }

    /// Rows with a value, and without.
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

    /// The page of indices: definition levels behind their length, if values may be missing, the width of an index, and the indices.
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

    /// What `of` makes of the steps, in numbers of so many bytes; steps of which it makes nothing are left out.
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

/// A run of a number of so many bytes.
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

/// Writes a column as a dictionary and one page, with its least and greatest value if `has_range`.
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
    // The header of a page counts them in an i32.
    let num_values = i32::try_from(rows).map_err(|_| ParquetError::General("too many rows".into()))? as u32;
    // Pieces that are there again are worth it. Of the others a dictionary hardly gets smaller, and indices are small.
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

/// Values one after another, words behind their length.
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

/// The least and the greatest value, as the library tells them of its own pages; there is no NaN.
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

    /// A header with the length and no bit, then the number in whole bytes, the lowest first.
    #[test]
    fn as_the_format_says() {
        let mut out = Vec::new();
        put_run(&mut out, 2, 515, 100);
        assert_eq!(out, [0xC8, 0x01, 0x03, 0x02]);
    }

    /// A piece that is there again is its bytes again; what is missing has a level and no index.
    #[test]
    fn pieces_that_are_there_again() {
        let [piece, other] = [&[7.0, 7.0, f64::NAN, 7.0, 9.0][..], &[9.0]].map(Repeated::of);
        let runs = Runs::of_pieces(&[&piece, &piece, &other]);
        assert_eq!((&runs.dictionary[..], runs.rows()), (&[7.0, 9.0][..], (9, 2)));
        let levels = [4, 1, 2, 0, 4, 1];
        let indices = [6, 0, 2, 1];
        let expected = [&[14, 0, 0, 0][..], &levels, &levels, &[2, 1], &[1], &indices, &indices, &[2, 1]];
        assert_eq!(runs.data(11, true), expected.concat());
    }
}
