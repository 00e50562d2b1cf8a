//! Detects a full pipe: for several rounds the bandwidth has not grown significantly.

use units::Rate;

#[derive(Clone, Debug, Default)]
pub(crate) struct FullPipeSearch {
    /// Bandwidth that the next rounds must exceed.
    pub(crate) full_bw: Rate,
    /// Number of rounds that did not exceed it.
    pub(crate) full_bw_count: u64,
}

impl FullPipeSearch {
    /// Ends a round with bandwidth `bw` that the application did not limit.
    ///
    /// Returns true if the bandwidth has not grown by the factor `growth` for `rounds` consecutive
    /// rounds.
    pub(crate) fn is_full(&mut self, bw: Rate, growth: f64, rounds: u64) -> bool {
        if bw.0 as f64 >= self.full_bw.0 as f64 * growth {
            *self = Self { full_bw: bw, full_bw_count: 0 };
            return false;
        }
        self.full_bw_count += 1;
        self.full_bw_count >= rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three rounds below +25 %. A round with +25 % restarts the count.
    #[test]
    fn three_flat_rounds() {
        let mut p = FullPipeSearch::default();
        for mbit in [10, 20, 40, 49, 49, 50, 62, 62] {
            assert!(!p.is_full(Rate(mbit), 1.25, 3), "{mbit}");
        }
        assert!(p.is_full(Rate(62), 1.25, 3));
    }
}
