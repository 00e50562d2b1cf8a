//! A distribution of times in little memory: exact count, mean, standard deviation and maximum.
//! Quantiles are within 0.05 % of the sample, from a nanosecond to centuries.
//!
//! ```text
//! below 2^10 ns   a bin for each nanosecond
//! above           2^10 bins for each power of two: a bin is 1/2048 to 1/1024 of its value wide
//! quantile        the middle of the bin that contains it, or the longest sample
//! ```
//!
//! Bins are kept in blocks of `BLOCK` bins, one cache line each, allocated when a sample falls into
//! them. Memory therefore grows with the spread of the samples, not with their number nor with
//! their size: RTTs from 50 to 100 ms take 64 blocks of 64 B, and the whole range from 1 us to 3
//! hours takes 131 kB.
//!
//! The newest samples wait in order of arrival, and are counted many at a time. Beside many other
//! flows neither a histogram nor its blocks are cached, and the next sample of the waiting ones is.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use units::Duration;

/// Binary logarithm of the number of bins for each power of two.
const BITS: u32 = 10;
/// Number of bins in a block.
const BLOCK: usize = 16;
/// Largest number of samples that wait.
const WAITING: usize = 128;

/// Histogram of durations.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Counted", into = "Counted")]
pub struct Histogram {
    /// Samples that wait, in nanoseconds.
    waiting: Vec<u32>,
    /// All samples before them; `None` if there are none.
    counted: Option<Box<Counted>>,
}

/// Samples by bin, and their moments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Counted {
    /// Number of the first block in `places`.
    first: usize,
    /// Position of each block from the first on, counted from 1; 0 if not allocated.
    places: Vec<u16>,
    blocks: Vec<[u32; BLOCK]>,
    count: u64,
    /// Sum in nanoseconds: exact up to 104 days (2^53), then to ten digits.
    sum: f64,
    sum_of_squares: f64,
    #[serde(with = "nanoseconds")]
    max: Duration,
}

/// Serialises a duration as a number. Files for people have units, but one of a million runs does
/// not.
mod nanoseconds {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use units::Duration;

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        time.0.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration)
    }
}

/// Returns the bin of a duration.
#[inline]
fn bin(Duration(ns): Duration) -> usize {
    let octave = (u64::BITS - ns.leading_zeros()).saturating_sub(BITS + 1);
    ((octave as usize) << BITS) + (ns >> octave) as usize
}

/// Returns the start of a bin and its width, in nanoseconds.
fn edges(bin: usize) -> (u64, u64) {
    let octave = (bin >> BITS).saturating_sub(1);
    (((bin - (octave << BITS)) as u64) << octave, 1 << octave)
}

impl From<Counted> for Histogram {
    fn from(counted: Counted) -> Self {
        Self { waiting: Vec::new(), counted: Some(Box::new(counted)) }
    }
}

impl From<Histogram> for Counted {
    fn from(mut histogram: Histogram) -> Self {
        std::mem::take(histogram.count_waiting())
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.all() == other.all()
    }
}

impl Histogram {
    /// Adds a sample.
    #[inline]
    pub fn add(&mut self, sample: Duration) {
        match u32::try_from(sample.0) {
            Ok(ns) if self.waiting.len() < self.waiting.capacity() => self.waiting.push(ns),
            _ => self.add_at_once(sample),
        }
    }

    /// Adds a sample behind those that wait, and makes room for the next.
    #[cold]
    fn add_at_once(&mut self, sample: Duration) {
        self.count_waiting().add_many(sample, 1);
        self.waiting.reserve_exact(WAITING);
    }

    /// Counts the waiting samples. Returns the counts of all samples.
    fn count_waiting(&mut self) -> &mut Counted {
        let counted = self.counted.get_or_insert_default();
        counted.add_all(&self.waiting);
        self.waiting.clear();
        counted
    }

    /// Returns the counts of all samples.
    fn all(&self) -> Cow<'_, Counted> {
        match &self.counted {
            Some(counted) if self.waiting.is_empty() => Cow::Borrowed(counted),
            _ => Cow::Owned(self.clone().into()),
        }
    }

    /// Adds `times` samples of the same duration.
    pub fn add_many(&mut self, sample: Duration, times: u64) {
        if times > 0 {
            self.count_waiting().add_many(sample, times);
        }
    }

    /// Returns the number of samples.
    pub fn count(&self) -> u64 {
        self.counted.as_ref().map_or(0, |counted| counted.count) + self.waiting.len() as u64
    }

    /// Returns the mean in milliseconds; NaN when empty.
    pub fn mean_ms(&self) -> f64 {
        self.all().mean_ms()
    }

    /// Returns the standard deviation in milliseconds; NaN when empty.
    pub fn std_ms(&self) -> f64 {
        let all = self.all();
        let mean = all.mean_ms();
        let variance = all.sum_of_squares / all.count as f64 - mean * mean;
        // `max` would turn NaN into 0.
        if variance < 0.0 { 0.0 } else { variance.sqrt() }
    }

    /// Returns the longest duration in milliseconds.
    pub fn max_ms(&self) -> f64 {
        self.all().max.as_millis_f64()
    }

    /// Returns the shortest duration that a share `q` (0..=1) of the samples does not exceed, in
    /// milliseconds, within 0.05 %. NaN when empty.
    pub fn quantile_ms(&self, q: f64) -> f64 {
        self.all().quantile_ms(q)
    }

    /// Returns the upper edge, in milliseconds, and the cumulative share of each bin that holds
    /// samples. The last edge is the longest sample.
    pub fn cdf(&self) -> Vec<(f64, f64)> {
        self.all().cdf()
    }

    /// Adds the samples of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.count_waiting().merge(&other.all());
    }
}

impl Counted {
    /// Adds samples in nanoseconds, in this order. Their sums stay in registers.
    fn add_all(&mut self, samples: &[u32]) {
        let durations = || samples.iter().map(|&ns| Duration(ns.into()));
        durations().for_each(|sample| self.count_in_bin(sample, 1));
        self.count += samples.len() as u64;
        let before = (self.sum, self.sum_of_squares);
        (self.sum, self.sum_of_squares) = durations().fold(before, |(sum, squares), sample| {
            let ms = sample.as_millis_f64();
            (sum + sample.0 as f64, squares + ms * ms)
        });
        self.max = durations().fold(self.max, Duration::max);
    }

    #[inline]
    fn count_in_bin(&mut self, sample: Duration, times: u32) {
        let n = self.at(bin(sample));
        *n = n.saturating_add(times);
    }

    fn add_many(&mut self, sample: Duration, times: u64) {
        self.count_in_bin(sample, u32::try_from(times).unwrap_or(u32::MAX));
        self.count += times;
        self.sum += sample.0 as f64 * times as f64;
        let ms = sample.as_millis_f64();
        self.sum_of_squares += ms * ms * times as f64;
        self.max = self.max.max(sample);
    }

    /// Returns the count of a bin.
    #[inline]
    fn at(&mut self, bin: usize) -> &mut u32 {
        let place = self.places.get((bin / BLOCK).wrapping_sub(self.first)).copied().unwrap_or(0);
        let place = if place > 0 { place } else { self.allocate(bin / BLOCK) };
        &mut self.blocks[usize::from(place) - 1][bin % BLOCK]
    }

    /// Allocates a block of zeros. Returns its position.
    #[cold]
    fn allocate(&mut self, block: usize) -> u16 {
        if self.places.is_empty() {
            self.first = block;
        }
        if block < self.first {
            self.places.splice(0..0, std::iter::repeat_n(0, self.first - block));
            self.first = block;
        }
        let index = block - self.first;
        if index >= self.places.len() {
            self.places.resize(index + 1, 0);
        }
        self.blocks.push([0; BLOCK]);
        self.places[index] = self.blocks.len() as u16;
        self.places[index]
    }

    /// Returns every bin that holds samples, shortest durations first, with its count.
    fn filled(&self) -> impl Iterator<Item = (usize, u32)> {
        let blocks = self.places.iter().enumerate().filter(|(_, place)| **place > 0);
        let bins = blocks.flat_map(move |(i, place)| {
            let counts = &self.blocks[usize::from(*place) - 1];
            counts.iter().enumerate().map(move |(j, n)| ((self.first + i) * BLOCK + j, *n))
        });
        bins.filter(|(_, n)| *n > 0)
    }

    fn mean_ms(&self) -> f64 {
        self.sum * 1e-6 / self.count as f64
    }

    fn quantile_ms(&self, q: f64) -> f64 {
        let wanted = q * self.count as f64;
        let mut seen = 0.0;
        for (bin, n) in self.filled() {
            seen += f64::from(n);
            if seen >= wanted {
                let (start, width) = edges(bin);
                return Duration(start + width / 2).min(self.max).as_millis_f64();
            }
        }
        f64::NAN
    }

    fn cdf(&self) -> Vec<(f64, f64)> {
        let mut seen = 0.0;
        self.filled()
            .map(|(bin, n)| {
                seen += f64::from(n);
                let (start, width) = edges(bin);
                let edge = Duration(start.saturating_add(width - 1)).min(self.max);
                (edge.as_millis_f64(), seen / self.count as f64)
            })
            .collect()
    }

    fn merge(&mut self, other: &Self) {
        for (bin, n) in other.filled() {
            let mine = self.at(bin);
            *mine = mine.saturating_add(n);
        }
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.max = self.max.max(other.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(samples: impl IntoIterator<Item = u64>) -> Histogram {
        let mut h = Histogram::default();
        samples.into_iter().for_each(|ns| h.add(Duration(ns)));
        h
    }

    #[test]
    fn nothing_has_no_moments() {
        let none = Histogram::default();
        assert!(none.mean_ms().is_nan() && none.std_ms().is_nan() && none.quantile_ms(0.5).is_nan());
    }

    #[test]
    fn moments_and_quantiles() {
        let h = histogram((1..=100).map(|ms| ms * 1_000_000));
        assert!((h.mean_ms() - 50.5).abs() < 1e-9);
        assert!((h.std_ms() - 28.866_07).abs() < 1e-4);
        let mut twice = h.clone();
        twice.merge(&h);
        assert_eq!((twice.count(), twice.mean_ms()), (200, h.mean_ms()));
        assert_eq!(twice.quantile_ms(0.5), h.quantile_ms(0.5));
        assert_eq!(h.cdf().last(), Some(&(100.0, 1.0)));
        assert!(histogram([]).quantile_ms(0.5).is_nan() && histogram([]).cdf().is_empty());
    }

    /// Samples that wait are part of every answer, and come before later samples that cannot wait.
    #[test]
    fn waiting_samples_count() {
        let (mut waiting, mut counted) = (Histogram::default(), Counted::default());
        for n in 0..3 * WAITING as u64 {
            let sample = Duration(if n % 100 == 99 { n << 40 } else { n * n * 1009 });
            waiting.add(sample);
            counted.add_many(sample, 1);
            assert_eq!(waiting.count(), n + 1);
            assert_eq!(waiting.std_ms().to_bits(), Histogram::from(counted.clone()).std_ms().to_bits());
        }
        assert_eq!(waiting, Histogram::from(counted));
    }

    /// Every duration is in one bin, bins follow each other without a gap, and none is wider than
    /// 1/1024 of its durations.
    #[test]
    fn bins_tile_time() {
        let mut end = 0;
        for n in 0..bin(Duration::MAX) {
            let (start, width) = edges(n);
            assert_eq!(start, end, "bin {n}");
            end = start + width;
            assert_eq!((bin(Duration(start)), bin(Duration(end - 1))), (n, n));
            assert!(width == 1 || width <= start >> BITS, "bin {n}");
        }
        assert_eq!(bin(Duration::MAX), bin(Duration(end)));
    }

    /// Checks the error of any quantile for samples spread over eleven decades, from a microsecond
    /// to hours.
    #[test]
    fn quantiles_are_within_a_thousandth() {
        let mut samples = Vec::new();
        let mut ns = 1000.0_f64;
        while ns < 4.0 * 3600e9 {
            samples.push(ns as u64);
            ns *= 1.000_7;
        }
        let h = histogram(samples.iter().copied());
        for permille in 1..=1000 {
            let exact = samples[(samples.len() * permille).div_ceil(1000) - 1] as f64 * 1e-6;
            let error = h.quantile_ms(permille as f64 / 1000.0) / exact - 1.0;
            assert!(error.abs() < 0.000_5, "{permille} per mille: {error}");
        }
        let share = |edge: f64| samples.iter().filter(|ns| **ns as f64 * 1e-6 <= edge).count() as f64;
        assert!(h.cdf().iter().all(|(edge, s)| (s * samples.len() as f64 - share(*edge)).abs() < 1e-6));
    }

    /// Blocks come in any order. A duration shorter than all before moves no earlier count.
    #[test]
    fn order_does_not_matter() {
        let samples = [7, 3_000_000, 40, 900_000_000_000, 40_000, 3_000_001, u64::MAX];
        let (mut up, mut down) = (samples, samples);
        up.sort_unstable();
        down.sort_unstable_by(|a, b| b.cmp(a));
        for q in [0.1, 0.3, 0.5, 0.7, 0.9] {
            assert_eq!(histogram(up).quantile_ms(q), histogram(down).quantile_ms(q));
            assert_eq!(histogram(up).quantile_ms(q), histogram(samples).quantile_ms(q));
        }
        let mut merged = histogram([9_000_000]);
        merged.merge(&histogram(samples));
        assert_eq!(merged.quantile_ms(0.0), 7e-6);
    }

    /// A few samples take a few cache lines; a minute of queuing takes no more than its octaves.
    /// Samples that wait take half a kilobyte.
    #[test]
    fn memory() {
        let bytes = |h: &Histogram| 64 * h.all().blocks.len() + 2 * h.all().places.len();
        assert!(4 * histogram((0..100_000).map(|i| 50_000_000 + i)).waiting.capacity() <= 512);
        assert!(bytes(&histogram((0..10).map(|i| 50_000_000 + 10_000 * i))) <= 3 * 64);
        assert!(bytes(&histogram((50_000..100_000).map(|us| 1000 * us))) <= 5000);
        assert!(bytes(&histogram((0..1_000_000).map(|i| 1_000_000_000 + 63_000 * i))) <= 30_000);
    }
}
