//! Values of which many follow their like: a flow's series of a sample each millisecond, of which most find no new acknowledgement.

use serde::{Deserialize, Serialize};

/// Numbers, and how many of each follow one another; equal is what has the same bits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Repeated {
    values: Vec<f64>,
    lengths: Vec<u32>,
}

impl Repeated {
    /// None.
    pub const EMPTY: Self = Self { values: Vec::new(), lengths: Vec::new() };

    /// These.
    pub fn of(values: &[f64]) -> Self {
        values.iter().copied().collect()
    }

    /// So many of one.
    pub fn of_one(value: f64, length: u32) -> Self {
        let mut all = Self::EMPTY;
        all.push(value, length);
        all
    }

    /// None, with room for so many that differ.
    pub(crate) fn with_capacity(room: usize) -> Self {
        Self { values: Vec::with_capacity(room), lengths: Vec::with_capacity(room) }
    }

    /// The value of each run.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Each value with the length of its run.
    pub fn runs(&self) -> impl Iterator<Item = (f64, u32)> + Clone {
        self.values.iter().copied().zip(self.lengths.iter().copied())
    }

    /// One after another.
    pub fn iter(&self) -> impl Iterator<Item = f64> + Clone {
        self.runs().flat_map(|(value, length)| std::iter::repeat_n(value, length as usize))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.lengths.iter().map(|length| *length as usize).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Adds so many of a value.
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

    /// The same, none of which is like the last: that need not be looked at, which is far away where many of these grow in turns.
    #[inline]
    pub(crate) fn push_other(&mut self, value: f64, length: u32) {
        debug_assert!(length > 0 && self.values.last().is_none_or(|last| last.to_bits() != value.to_bits()));
        self.values.push(value);
        self.lengths.push(length);
    }

    /// Takes the last ones out if they are of this value: how many they were.
    pub(crate) fn pop_like(&mut self, value: f64) -> u32 {
        match self.values.pop_if(|last| last.to_bits() == value.to_bits()) {
            Some(_) => self.lengths.pop().unwrap_or(0),
            None => 0,
        }
    }

    /// Adds others.
    pub fn append(&mut self, others: &Self) {
        let mut others = others.runs();
        // They may begin as these end.
        others.next().into_iter().for_each(|(value, length)| self.push(value, length));
        self.values.extend(others.clone().map(|run| run.0));
        self.lengths.extend(others.map(|run| run.1));
    }

    /// All of them.
    pub fn to_vec(&self) -> Vec<f64> {
        let mut all = Vec::new();
        self.add_to(&mut all);
        all
    }

    /// Puts all of them behind others. When these must move there is room for four times as many afterwards: memory that a system
    /// with overcommit gives as it is touched, where a move touches all.
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

impl FromIterator<f64> for Repeated {
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
        let all = Repeated::of(&values);
        assert_eq!((&all.lengths[..], all.len()), (&[2, 1, 1, 3, 1][..], values.len()));
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&all.to_vec()), bits(&values));
        assert_eq!(Repeated::of(&[]).len(), 0);
        assert_eq!(bits(&all.iter().collect::<Vec<_>>()), bits(&values));
        for at in 0..=values.len() {
            let mut parts = Repeated::of(&values[..at]);
            parts.append(&Repeated::of(&values[at..]));
            assert_eq!((bits(&parts.to_vec()), &parts.lengths), (bits(&values), &all.lengths), "{at}");
        }
    }
}
