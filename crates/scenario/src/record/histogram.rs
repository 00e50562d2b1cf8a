//! A distribution of times in little memory: exact count, mean, deviation and most; quantiles within 0.05 % of the
//! sample, from a nanosecond to centuries.
//!
//! ```text
//! below 2^10 ns   a bin for each nanosecond
//! above           2^10 bins for each power of two: a bin is 1/2048 to 1/1024 of its value wide
//! quantile        the middle of the bin in which it lies, or the longest sample
//! ```
//!
//! Bins are kept in blocks of `BLOCK` bins, a cache line, which are there once a sample has fallen into them. What a flow
//! takes grows with the width of what it saw, not with the number of samples nor with the time they stand for: RTTs from 50
//! to 100 ms are 64 blocks of 64 B, and the whole range from 1 us to 3 hours is 131 kB.

use serde::{Deserialize, Serialize};
use units::Duration;

/// Bins of a power of two, as a power of two.
const BITS: u32 = 10;
/// Bins that come together.
const BLOCK: usize = 16;

/// Counts of durations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// The number of the first block that `places` knows.
    first: usize,
    /// Where each block from the first on is, counted from 1; 0: nowhere yet.
    places: Vec<u16>,
    blocks: Vec<[u32; BLOCK]>,
    count: u64,
    /// Nanoseconds: whole ones up to 104 days (2^53), then to ten digits.
    sum: f64,
    sum_of_squares: f64,
    #[serde(with = "nanoseconds")]
    max: Duration,
}

/// As a number: a file for people has units, one of a million runs has none.
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

/// The bin of a time.
#[inline]
fn bin(Duration(ns): Duration) -> usize {
    let octave = (u64::BITS - ns.leading_zeros()).saturating_sub(BITS + 1);
    ((octave as usize) << BITS) + (ns >> octave) as usize
}

/// The first time of a bin, and how many nanoseconds are in it.
fn edges(bin: usize) -> (u64, u64) {
    let octave = (bin >> BITS).saturating_sub(1);
    (((bin - (octave << BITS)) as u64) << octave, 1 << octave)
}

impl Histogram {
    /// Adds a sample.
    pub fn add(&mut self, sample: Duration) {
        let bin = bin(sample);
        let n = self.at(bin);
        *n = n.saturating_add(1);
        self.count += 1;
        self.sum += sample.0 as f64;
        let ms = sample.as_millis_f64();
        self.sum_of_squares += ms * ms;
        self.max = self.max.max(sample);
    }

    /// Adds so many samples of this time.
    pub fn add_many(&mut self, sample: Duration, times: u64) {
        if times == 0 {
            return;
        }
        let n = self.at(bin(sample));
        *n = n.saturating_add(u32::try_from(times).unwrap_or(u32::MAX));
        self.count += times;
        self.sum += sample.0 as f64 * times as f64;
        let ms = sample.as_millis_f64();
        self.sum_of_squares += ms * ms * times as f64;
        self.max = self.max.max(sample);
    }

    /// The count of a bin.
    #[inline]
    fn at(&mut self, bin: usize) -> &mut u32 {
        let place = self.places.get((bin / BLOCK).wrapping_sub(self.first)).copied().unwrap_or(0);
        let place = if place > 0 { place } else { self.take(bin / BLOCK) };
        &mut self.blocks[usize::from(place) - 1][bin % BLOCK]
    }

    /// A new block, all zero; its place.
    #[cold]
    fn take(&mut self, block: usize) -> u16 {
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

    /// Every bin that holds samples, shortest times first, and how many.
    fn filled(&self) -> impl Iterator<Item = (usize, u32)> {
        let blocks = self.places.iter().enumerate().filter(|(_, place)| **place > 0);
        let bins = blocks.flat_map(move |(i, place)| {
            let counts = &self.blocks[usize::from(*place) - 1];
            counts.iter().enumerate().map(move |(j, n)| ((self.first + i) * BLOCK + j, *n))
        });
        bins.filter(|(_, n)| *n > 0)
    }

    /// Samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Milliseconds; NaN when empty.
    pub fn mean_ms(&self) -> f64 {
        self.sum * 1e-6 / self.count as f64
    }

    /// Standard deviation in milliseconds; NaN when empty.
    pub fn std_ms(&self) -> f64 {
        let mean = self.mean_ms();
        (self.sum_of_squares / self.count as f64 - mean * mean).max(0.0).sqrt()
    }

    /// The longest, milliseconds.
    pub fn max_ms(&self) -> f64 {
        self.max.as_millis_f64()
    }

    /// The shortest time that the share `q` (0..=1) of the samples does not exceed, milliseconds, within 0.05 %; NaN when
    /// empty.
    pub fn quantile_ms(&self, q: f64) -> f64 {
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

    /// Upper edge in milliseconds and cumulated share of each bin that holds samples; the last is the longest sample.
    pub fn cdf(&self) -> Vec<(f64, f64)> {
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

    /// Adds the samples of another.
    pub fn merge(&mut self, other: &Self) {
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

    fn of(samples: impl IntoIterator<Item = u64>) -> Histogram {
        let mut h = Histogram::default();
        samples.into_iter().for_each(|ns| h.add(Duration(ns)));
        h
    }

    #[test]
    fn moments_and_quantiles() {
        let h = of((1..=100).map(|ms| ms * 1_000_000));
        assert!((h.mean_ms() - 50.5).abs() < 1e-9);
        assert!((h.std_ms() - 28.866_07).abs() < 1e-4);
        let mut twice = h.clone();
        twice.merge(&h);
        assert_eq!((twice.count(), twice.mean_ms()), (200, h.mean_ms()));
        assert_eq!(twice.quantile_ms(0.5), h.quantile_ms(0.5));
        assert_eq!(h.cdf().last(), Some(&(100.0, 1.0)));
        assert!(of([]).quantile_ms(0.5).is_nan() && of([]).cdf().is_empty());
    }

    /// Every time is in one bin, bins follow each other without a gap, and none is wider than 1/1024 of its times.
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

    /// 0.1 % from a microsecond to hours: any quantile of samples spread over eleven decades.
    #[test]
    fn quantiles_are_within_a_thousandth() {
        let mut samples = Vec::new();
        let mut ns = 1000.0_f64;
        while ns < 4.0 * 3600e9 {
            samples.push(ns as u64);
            ns *= 1.000_7;
        }
        let h = of(samples.iter().copied());
        for permille in 1..=1000 {
            let exact = samples[(samples.len() * permille).div_ceil(1000) - 1] as f64 * 1e-6;
            let error = h.quantile_ms(permille as f64 / 1000.0) / exact - 1.0;
            assert!(error.abs() < 0.000_5, "{permille} per mille: {error}");
        }
        let share = |edge: f64| samples.iter().filter(|ns| **ns as f64 * 1e-6 <= edge).count() as f64;
        assert!(h.cdf().iter().all(|(edge, s)| (s * samples.len() as f64 - share(*edge)).abs() < 1e-6));
    }

    /// Blocks come in any order; what is shorter than all before moves nothing that was counted.
    #[test]
    fn order_does_not_matter() {
        let samples = [7, 3_000_000, 40, 900_000_000_000, 40_000, 3_000_001, u64::MAX];
        let (mut up, mut down) = (samples, samples);
        up.sort_unstable();
        down.sort_unstable_by(|a, b| b.cmp(a));
        for q in [0.1, 0.3, 0.5, 0.7, 0.9] {
            assert_eq!(of(up).quantile_ms(q), of(down).quantile_ms(q));
            assert_eq!(of(up).quantile_ms(q), of(samples).quantile_ms(q));
        }
        let mut merged = of([9_000_000]);
        merged.merge(&of(samples));
        assert_eq!(merged.quantile_ms(0.0), 7e-6);
    }

    /// A few samples a few cache lines, a minute of queue no more than its octaves.
    #[test]
    fn memory() {
        let bytes = |h: &Histogram| 64 * h.blocks.len() + 2 * h.places.len();
        assert!(bytes(&of((0..10).map(|i| 50_000_000 + 10_000 * i))) <= 3 * 64);
        assert!(bytes(&of((50_000..100_000).map(|us| 1000 * us))) <= 5000);
        assert!(bytes(&of((0..1_000_000).map(|i| 1_000_000_000 + 63_000 * i))) <= 30_000);
    }
}
