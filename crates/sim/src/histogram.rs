//! A distribution of times in fixed memory: exact count, mean and deviation, quantiles to a tenth of a millisecond.

use congestion::Duration;

/// Width of a bin.
pub const BIN: Duration = Duration::from_micros(100);
/// 20 s: everything longer falls into the last bin.
const BINS: usize = 200_000;

/// Counts of durations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    bins: Vec<u32>,
    count: u64,
    sum: u128,
    sum_of_squares: f64,
    max: Duration,
}

impl Histogram {
    /// Adds a sample.
    pub fn add(&mut self, sample: Duration) {
        let bin = ((sample.0 / BIN.0) as usize).min(BINS - 1);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] = self.bins[bin].saturating_add(1);
        self.count += 1;
        self.sum += u128::from(sample.0);
        let ms = sample.as_millis_f64();
        self.sum_of_squares += ms * ms;
        self.max = self.max.max(sample);
    }

    /// Samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Milliseconds; NaN when empty.
    pub fn mean_ms(&self) -> f64 {
        self.sum as f64 * 1e-6 / self.count as f64
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

    /// The upper edge of the bin below which the share `q` (0..=1) of the samples lies, milliseconds; NaN when empty.
    pub fn quantile_ms(&self, q: f64) -> f64 {
        let wanted = q * self.count as f64;
        let mut seen = 0.0;
        for (bin, &n) in self.bins.iter().enumerate() {
            seen += f64::from(n);
            if seen >= wanted && n > 0 {
                return ((bin + 1) as f64 * BIN.as_millis_f64()).min(self.max_ms());
            }
        }
        f64::NAN
    }

    /// Upper edge in milliseconds and cumulated share of each bin that holds samples.
    pub fn cdf(&self) -> Vec<(f64, f64)> {
        let mut seen = 0.0;
        let filled = self.bins.iter().enumerate().filter(|b| *b.1 > 0);
        filled
            .map(|(bin, &n)| {
                seen += f64::from(n);
                ((bin + 1) as f64 * BIN.as_millis_f64(), seen / self.count as f64)
            })
            .collect()
    }

    /// Adds the samples of another.
    pub fn merge(&mut self, other: &Self) {
        if other.bins.len() > self.bins.len() {
            self.bins.resize(other.bins.len(), 0);
        }
        for (bin, &n) in self.bins.iter_mut().zip(&other.bins) {
            *bin = bin.saturating_add(n);
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

    #[test]
    fn moments_and_quantiles() {
        let mut h = Histogram::default();
        (1..=100).for_each(|ms| h.add(Duration::from_millis(ms)));
        assert!((h.mean_ms() - 50.5).abs() < 1e-9);
        assert!((h.std_ms() - 28.866_07).abs() < 1e-4);
        assert!((h.quantile_ms(0.5) - 50.1).abs() < 0.11);
        assert!((h.quantile_ms(1.0) - 100.0).abs() < 0.11);
        let mut twice = h.clone();
        twice.merge(&h);
        assert_eq!((twice.count(), twice.mean_ms()), (200, h.mean_ms()));
        assert_eq!(h.cdf().last().unwrap().1, 1.0);
    }
}
