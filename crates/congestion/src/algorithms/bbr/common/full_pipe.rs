//! The pipe is full when a few rounds of pushing have not brought a significantly higher bandwidth.

use units::Rate;

#[derive(Clone, Debug, Default)]
pub(crate) struct FullPipeSearch {
    /// The bandwidth that the next rounds must outgrow.
    pub(crate) full_bw: Rate,
    /// Rounds in which they did not.
    pub(crate) full_bw_count: u64,
}

impl FullPipeSearch {
    /// A round that the application did not limit ends with this bandwidth: `rounds` in a row without a growth by the
    /// factor `growth`?
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

    /// Below +25 % three times; a round with +25 % begins the count anew.
    #[test]
    fn three_flat_rounds() {
        let mut p = FullPipeSearch::default();
        for mbit in [10, 20, 40, 49, 49, 50, 62, 62] {
            assert!(!p.is_full(Rate(mbit), 1.25, 3), "{mbit}");
        }
        assert!(p.is_full(Rate(62), 1.25, 3));
    }
}
