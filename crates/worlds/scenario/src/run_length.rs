//! Run-length encoded columns, for series in which most values equal the one before. A flow sampled
//! every millisecond is an example: most samples find no new acknowledgement.

use serde::{Deserialize, Serialize};

/// Run-length encoded column of numbers. Values are equal if they have the same bits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunLength {
    values: Vec<f64>,
    lengths: Vec<u32>,
}

impl RunLength {
    /// Empty column.
    pub const EMPTY: Self = Self { values: Vec::new(), lengths: Vec::new() };

    /// Encodes values.
    pub fn from_values(values: &[f64]) -> Self {
        values.iter().copied().collect()
    }

    /// Creates a column of `length` equal values.
    pub fn constant(value: f64, length: u32) -> Self {
        let mut all = Self::EMPTY;
        all.push(value, length);
        all
    }

    /// Creates an empty column with capacity for `runs` runs.
    pub(crate) fn with_capacity(runs: usize) -> Self {
        Self { values: Vec::with_capacity(runs), lengths: Vec::with_capacity(runs) }
    }

    /// Returns the value of each run.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns each run as its value and length.
    pub fn runs(&self) -> impl Iterator<Item = (f64, u32)> + Clone {
        self.values.iter().copied().zip(self.lengths.iter().copied())
    }

    /// Returns all values, one by one.
    pub fn iter(&self) -> impl Iterator<Item = f64> + Clone {
        self.runs().flat_map(|(value, length)| std::iter::repeat_n(value, length as usize))
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.lengths.iter().map(|length| *length as usize).sum()
    }

    /// Reports whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Appends `length` equal values.
    #[inline]
    pub fn push(&mut self, value: f64, length: u32) {
        if length == 0 {
            return;
        }
        match (self.values.last(), self.lengths.last_mut()) {
            (Some(last), Some(before)) if last.to_bits() == value.to_bits() => *before += length,
            _ => {
                self.values.push(value);
                self.lengths.push(length);
            }
        }
    }

    /// Like [`RunLength::push`], for a value known to differ from the last. It does not read the
    /// last value, which is rarely cached when many columns grow in turn.
    #[inline]
    pub(crate) fn push_different(&mut self, value: f64, length: u32) {
        debug_assert!(length > 0 && self.values.last().is_none_or(|last| last.to_bits() != value.to_bits()));
        self.values.push(value);
        self.lengths.push(length);
    }

    /// Removes the last run if it has this value. Returns its length, or 0.
    pub(crate) fn pop_equal(&mut self, value: f64) -> u32 {
        match self.values.pop_if(|last| last.to_bits() == value.to_bits()) {
            Some(_) => self.lengths.pop().unwrap_or(0),
            None => 0,
        }
    }

    /// Appends another column.
    pub fn append(&mut self, others: &Self) {
        let mut others = others.runs();
        // The first run may continue the last one of this column.
        others.next().into_iter().for_each(|(value, length)| self.push(value, length));
        self.values.extend(others.clone().map(|run| run.0));
        self.lengths.extend(others.map(|run| run.1));
    }

    /// Returns all values as a vector.
    pub fn to_vec(&self) -> Vec<f64> {
        let mut all = Vec::new();
        self.add_to(&mut all);
        all
    }

    /// Appends all values to `all`. If that must reallocate, it reserves four times the space. A
    /// system with overcommit provides memory as it is touched, whereas every move touches all of
    /// it.
    pub fn add_to(&self, all: &mut Vec<f64>) {
        let length = self.len();
        if all.capacity() - all.len() < length {
            all.reserve_exact(length + 3 * all.len());
        }
        for (value, length) in self.runs() {
            all.extend(std::iter::repeat_n(value, length as usize));
        }
    }
}

impl FromIterator<f64> for RunLength {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut all = Self::EMPTY;
        values.into_iter().for_each(|value| all.push(value, 1));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_for_bit() {
        let values = [f64::NAN, f64::NAN, 0.0, -0.0, 1.5, 1.5, 1.5, f64::INFINITY];
        let all = RunLength::from_values(&values);
        assert_eq!((&all.lengths[..], all.len()), (&[2, 1, 1, 3, 1][..], values.len()));
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&all.to_vec()), bits(&values));
        assert_eq!(RunLength::from_values(&[]).len(), 0);
        assert_eq!(bits(&all.iter().collect::<Vec<_>>()), bits(&values));
        for at in 0..=values.len() {
            let mut parts = RunLength::from_values(&values[..at]);
            parts.append(&RunLength::from_values(&values[at..]));
            assert_eq!((bits(&parts.to_vec()), &parts.lengths), (bits(&values), &all.lengths), "{at}");
        }
    }
}
