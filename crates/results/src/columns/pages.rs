//! A column's values as the pages of a Parquet file, from values that repeat: what follows its like costs nothing. The crate's own writer
//! takes them one by one, and looks each of them up in its dictionary: of a series that took longer than the simulation.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::hybrid::{Hybrid, width};

/// What a dictionary holds.
pub(super) trait Entry {
    /// Whether both are one.
    fn is(&self, other: &Self) -> bool;
    /// Equal for those.
    fn hash(&self) -> u64;
    /// In Parquet's plain encoding.
    fn plain(&self, out: &mut Vec<u8>);
}

impl Entry for i64 {
    fn is(&self, other: &Self) -> bool {
        self == other
    }

    fn hash(&self) -> u64 {
        self.cast_unsigned()
    }

    fn plain(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
}

impl Entry for i32 {
    fn is(&self, other: &Self) -> bool {
        self == other
    }

    fn hash(&self) -> u64 {
        u64::from(self.cast_unsigned())
    }

    fn plain(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
}

impl Entry for f64 {
    fn is(&self, other: &Self) -> bool {
        self.to_bits() == other.to_bits()
    }

    fn hash(&self) -> u64 {
        self.to_bits()
    }

    fn plain(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
}

impl Entry for Arc<str> {
    fn is(&self, other: &Self) -> bool {
        self == other
    }

    fn hash(&self) -> u64 {
        // FNV-1a: there are few of them, and they are short.
        self.bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    fn plain(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.len() as u32).to_le_bytes());
        out.extend_from_slice(self.as_bytes());
    }
}

/// Different values in the order in which they come.
struct Dictionary<T> {
    values: Vec<T>,
    /// Places in `values` from 1, by hash; 0 where there is none. At most half of them are taken.
    table: Vec<u32>,
}

impl<T: Entry + Clone> Dictionary<T> {
    fn new() -> Self {
        Self { values: Vec::new(), table: vec![0; 1 << 6] }
    }

    /// Where in `table` a value is or belongs.
    fn slot(table: &[u32], values: &[T], value: &T) -> usize {
        let mask = table.len() - 1;
        // The golden ratio spreads numbers that differ in a few bits (Knuth, 6.4); the upper half is the better one.
        let mixed = (value.hash() ^ (value.hash() >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut at = (mixed >> 32) as usize & mask;
        while table[at] != 0 && !values[table[at] as usize - 1].is(value) {
            at = (at + 1) & mask;
        }
        at
    }

    /// The place of a value.
    fn place(&mut self, value: &T) -> u32 {
        let at = Self::slot(&self.table, &self.values, value);
        if self.table[at] == 0 {
            self.values.push(value.clone());
            self.table[at] = self.values.len() as u32;
            let place = self.table[at] - 1;
            if self.values.len() * 2 > self.table.len() {
                self.grow();
            }
            return place;
        }
        self.table[at] - 1
    }

    fn grow(&mut self) {
        let mut table = vec![0; self.table.len() * 4];
        for (value, number) in self.values.iter().zip(1..) {
            let at = Self::slot(&table, &self.values, value);
            table[at] = number;
        }
        self.table = table;
    }
}

/// A chunk of a column: its bytes, and what the file says of them.
pub(super) struct Chunk {
    pub(super) bytes: Bytes,
    pub(super) about: ColumnCloseResult,
}

/// Values, of which some may not be there, as a chunk of this column.
pub(super) fn chunk<T: Entry + Clone>(
    descr: &ColumnDescPtr,
    runs: impl Iterator<Item = (Option<T>, u32)>,
    statistics: impl FnOnce(&[T], u64) -> Option<Statistics>,
) -> Result<Chunk> {
    let is_optional = descr.self_type().is_optional();
    let mut dictionary = Dictionary::new();
    let mut places: Vec<(u32, u32)> = Vec::new();
    let mut levels = Hybrid::begin(vec![0; 4], 1);
    let (mut rows, mut there) = (0_u64, 0_u64);
    let mut level = (0, 0);
    for (value, length) in runs {
        rows += u64::from(length);
        let is_there = u32::from(value.is_some());
        if is_there != level.0 {
            levels.add(level.0, std::mem::take(&mut level.1));
            level.0 = is_there;
        }
        level.1 += length;
        if let Some(value) = value {
            there += u64::from(length);
            let place = dictionary.place(&value);
            match places.last_mut() {
                Some(last) if last.0 == place => last.1 += length,
                _ => places.push((place, length)),
            }
        }
    }
    levels.add(level.0, level.1);
    let levels = if is_optional { with_length(levels.finish()) } else { Vec::new() };
    let statistics = statistics(&dictionary.values, rows - there);
    write(descr, (rows, there), levels, &dictionary.values, &places, statistics)
}

/// Levels behind how many bytes they are.
fn with_length(mut levels: Vec<u8>) -> Vec<u8> {
    let length = (levels.len() - 4) as u32;
    levels[..4].copy_from_slice(&length.to_le_bytes());
    levels
}

/// A dictionary with places in it, or all values where most are different.
fn write<T: Entry>(
    descr: &ColumnDescPtr,
    (rows, there): (u64, u64),
    levels: Vec<u8>,
    values: &[T],
    places: &[(u32, u32)],
    statistics: Option<Statistics>,
) -> Result<Chunk> {
    let mut sink = TrackedWrite::new(Vec::new());
    let mut pages = Pages { out: SerializedPageWriter::new(&mut sink), plain: 0 };
    let mut data = levels;
    let is_plain = there == 0 || values.len() as u64 * 2 > there;
    let mut dictionary_at = None;
    if is_plain {
        for (place, length) in places {
            (0..*length).for_each(|_| values[*place as usize].plain(&mut data));
        }
    } else {
        let mut all = Vec::new();
        values.iter().for_each(|value| value.plain(&mut all));
        dictionary_at = Some(pages.dictionary(&all, values.len() as u32)?);
        let width = width(values.len());
        data.push(width as u8);
        let mut hybrid = Hybrid::begin(data, width);
        places.iter().for_each(|(place, length)| hybrid.add(*place, *length));
        data = hybrid.finish();
    }
    let encoding = if is_plain { Encoding::PLAIN } else { Encoding::RLE_DICTIONARY };
    let data_at = pages.data(&data, rows as u32, encoding)?;
    let plain = pages.plain;
    let bytes = sink.into_inner()?;
    let mut encodings = vec![Encoding::RLE, encoding];
    if dictionary_at.is_some() {
        encodings.push(Encoding::PLAIN);
    }
    let mut about = ColumnChunkMetaData::builder(Arc::clone(descr))
        .set_compression(Compression::SNAPPY)
        .set_encodings(encodings)
        .set_num_values(rows as i64)
        .set_total_compressed_size(bytes.len() as i64)
        .set_total_uncompressed_size(plain as i64)
        .set_data_page_offset(data_at)
        .set_dictionary_page_offset(dictionary_at);
    if let Some(statistics) = statistics {
        about = about.set_statistics(statistics);
    }
    let about = ColumnCloseResult {
        bytes_written: bytes.len() as u64,
        rows_written: rows,
        metadata: about.build()?,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    Ok(Chunk { bytes: bytes.into(), about })
}

/// Pages one after another.
struct Pages<'a> {
    out: SerializedPageWriter<'a, Vec<u8>>,
    /// Bytes that they would have uncompressed.
    plain: usize,
}

impl Pages<'_> {
    fn dictionary(&mut self, plain: &[u8], num_values: u32) -> Result<i64> {
        let buf = packed(plain)?;
        let page = Page::DictionaryPage { buf, num_values, encoding: Encoding::PLAIN, is_sorted: false };
        self.page(page, plain.len())
    }

    fn data(&mut self, plain: &[u8], num_values: u32, encoding: Encoding) -> Result<i64> {
        let page = Page::DataPage {
            buf: packed(plain)?,
            num_values,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        self.page(page, plain.len())
    }

    /// Where it begins.
    fn page(&mut self, page: Page, plain: usize) -> Result<i64> {
        let written = self.out.write_page(CompressedPage::new(page, plain))?;
        self.plain += written.uncompressed_size;
        Ok(written.offset as i64)
    }
}

/// As the chunk says that all its pages are.
fn packed(plain: &[u8]) -> Result<Bytes> {
    let packed = snap::raw::Encoder::new().compress_vec(plain);
    packed.map(Bytes::from).map_err(|e| ParquetError::External(Box::new(e)))
}

#[cfg(test)]
mod tests {
    use super::super::{Column, Named, Writer, read};
    use super::*;

    type Runs<T> = Vec<(Option<T>, u32)>;

    /// Runs of up to `longest` of `different` numbers, some of which are not there.
    fn runs(rows: u32, longest: u64, different: u64) -> Runs<i64> {
        let mut state = u64::from(rows) + longest + different;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let (mut all, mut left) = (Vec::new(), rows);
        while left > 0 {
            let length = (1 + below(longest) as u32).min(left);
            let value = (below(7) > 0).then(|| below(different).cast_signed() - 3);
            all.push((value, length));
            left -= length;
        }
        all
    }

    fn all<T: Clone>(runs: &Runs<T>) -> Vec<Option<T>> {
        runs.iter().flat_map(|(value, length)| std::iter::repeat_n(value.clone(), *length as usize)).collect()
    }

    fn real(value: i64) -> f64 {
        value as f64 * 0.3
    }

    /// By the crate's own reader: runs and loose values, in dictionaries of every width and without one, in two groups.
    #[test]
    fn the_reader_finds_what_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.parquet");
        for (rows, longest, different) in [
            (1, 1, 1),
            (7, 3, 2),
            (1000, 1, 1),
            (1000, 30, 1),
            (3000, 20, 5),
            (3000, 1, 1 << 40),
            (9000, 9, 700),
        ] {
            let numbers = runs(rows, longest, different);
            let words: Runs<Arc<str>> =
                numbers.iter().map(|(v, length)| (v.map(|v| format!("w{v}").into()), *length)).collect();
            let ints: Vec<(i32, u32)> = numbers.iter().map(|(v, n)| (v.unwrap_or(0) as i32, *n)).collect();
            let reals = || numbers.iter().map(|(v, length)| (v.map_or(f64::NAN, real), *length));
            let head = vec![
                Named::new("count", "", "", Column::Count(Vec::new())),
                Named::new("real", "", "", Column::Real(Vec::new())),
                Named::new("words", "", "", Column::Words(Vec::new())),
                Named::new("int", "", "", Column::Int(Vec::new())),
            ];
            let mut writer = Writer::new(&path, &head).unwrap();
            for _ in 0..2 {
                let mut group = writer.group().unwrap();
                group.counts(numbers.iter().copied()).unwrap();
                group.reals(reals()).unwrap();
                group.words(words.iter().cloned()).unwrap();
                group.ints(ints.iter().copied()).unwrap();
                group.finish().unwrap();
            }
            writer.finish().unwrap();
            let table = read(&path).unwrap();
            let twice = |once: Vec<Option<i64>>| [once.clone(), once].concat();
            let expected = twice(all(&numbers));
            assert!(table[0].column == Column::Count(expected.clone()), "{rows} {longest} {different}");
            let Column::Real(found) = &table[1].column else { panic!("{:?}", table[1].column) };
            let bits = |v: f64| (!v.is_nan()).then(|| v.to_bits());
            assert!(found.iter().map(|v| bits(*v)).eq(expected.iter().map(|v| v.map(|v| real(v).to_bits()))));
            let once = all(&words);
            assert!(table[2].column == Column::Words([once.clone(), once].concat()));
            let Column::Int(found) = &table[3].column else { panic!("{:?}", table[3].column) };
            assert!(
                found.iter().eq(expected.iter().map(|v| v.unwrap_or(0) as i32).collect::<Vec<_>>().iter())
            );
        }
    }

    #[test]
    fn numbers_that_are_not_there_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.parquet");
        let mut writer =
            Writer::new(&path, &vec![Named::new("x", "", "", Column::Real(Vec::new()))]).unwrap();
        let mut group = writer.group().unwrap();
        group.reals([(f64::NAN, 3), (0.0, 1), (-1.5, 40)].into_iter()).unwrap();
        group.finish().unwrap();
        writer.finish().unwrap();
        let file =
            parquet::file::reader::SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let metadata = parquet::file::reader::FileReader::metadata(&file);
        let Some(Statistics::Double(about)) = metadata.row_group(0).column(0).statistics() else { panic!() };
        assert_eq!(
            (about.min_opt(), about.max_opt(), about.null_count_opt()),
            (Some(&-1.5), Some(&0.0), Some(3))
        );
    }
}
