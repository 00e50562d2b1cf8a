//! Mean loss interval, RFC 5348 section 5.4.
//!
//! ```text
//! I_0 is the open interval, I_1 the newest closed one                                   packets
//! w       = 1 1 1 1 .8 .6 .4 .2
//! I_mean  = max(sum w_i I_i for i = 0 .. n-1,  sum w_(i-1) I_i for i = 1 .. n) / sum of the n weights,  n <= 8
//! ```

use alloc::collections::VecDeque;

/// Weights, newest interval first.
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// The closed intervals, newest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct LossIntervals(VecDeque<f64>);

impl LossIntervals {
    /// Adds the newest closed interval, in packets.
    pub(crate) fn push(&mut self, packets: f64) {
        self.0.truncate(WEIGHTS.len() - 1);
        self.0.push_front(packets);
    }

    /// Returns the mean with this open interval, in packets. `None` without a closed interval.
    pub(crate) fn mean(&self, open: f64) -> Option<f64> {
        let n = self.0.len();
        let total: f64 = WEIGHTS[..n].iter().sum();
        let closed = self.0.iter().zip(WEIGHTS).map(|(i, w)| i * w).sum::<f64>();
        let with_open = core::iter::once(&open).chain(&self.0).take(n);
        let opened = with_open.zip(WEIGHTS).map(|(i, w)| i * w).sum::<f64>();
        (n > 0).then(|| closed.max(opened) / total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(open: f64, newest_first: &[f64]) -> Option<f64> {
        let mut intervals = LossIntervals::default();
        newest_first.iter().rev().for_each(|&packets| intervals.push(packets));
        intervals.mean(open)
    }

    /// The weights sum to 6: 85 is 100 - 90 / 6, 97 is 100 - 0.2 * 90 / 6.
    #[test]
    fn weights() {
        let close = |mean: Option<f64>, expected: f64| (mean.expect("one") - expected).abs() < 1e-9;
        assert!(close(mean(0.0, &[10.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0]), 85.0));
        assert!(close(mean(0.0, &[100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 10.0]), 97.0));
        assert!(close(mean(0.0, &[100.0; 8]), 100.0));
        assert!(close(mean(0.0, &[100.0; 20]), 100.0), "the eight newest");
        assert_eq!(mean(7.0, &[]), None);
    }

    /// The open interval counts only if it raises the mean.
    #[test]
    fn open_interval() {
        for (open, expected) in [(0.0, 100.0), (100.0, 100.0), (700.0, 200.0)] {
            assert!((mean(open, &[100.0; 8]).expect("one") - expected).abs() < 1e-9, "{open}");
        }
    }
}
