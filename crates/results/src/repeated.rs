//! Values of which many follow their like: a flow's series of a sample each millisecond, of which most find no new acknowledgement.

use serde::{Deserialize, Serialize};

/// Values, and how many of each follow one another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Repeated<T> {
    values: Vec<T>,
    lengths: Vec<u32>,
}

impl<T> Repeated<T> {
    /// The values, each once for as often as it follows itself.
    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }

    /// Each with how often it follows itself.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&T, u32)> {
        self.values.iter().zip(self.lengths.iter().copied())
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.lengths.iter().map(|length| *length as usize).sum()
    }

    /// Adds so many of a value.
    pub(crate) fn push(&mut self, value: T, length: u32) {
        if length > 0 {
            self.values.push(value);
            self.lengths.push(length);
        }
    }
}

impl Repeated<f64> {
    /// These, bit for bit.
    pub(crate) fn of(values: &[f64]) -> Self {
        // Counted first, so that nothing moves while it grows.
        let changes = values.windows(2).filter(|pair| pair[0].to_bits() != pair[1].to_bits()).count();
        let room = if values.is_empty() { 0 } else { changes + 1 };
        let mut all = Self { values: Vec::with_capacity(room), lengths: Vec::with_capacity(room) };
        let mut start = 0;
        while let Some(first) = values.get(start) {
            let rest = &values[start + 1..];
            let like = rest.iter().position(|next| next.to_bits() != first.to_bits()).unwrap_or(rest.len());
            all.push(*first, like as u32 + 1);
            start += like + 1;
        }
        all
    }

    /// All of them.
    pub(crate) fn to_vec(&self) -> Vec<f64> {
        let mut all = Vec::with_capacity(self.len());
        for (value, length) in self.iter() {
            all.resize(all.len() + length as usize, *value);
        }
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
    }
}
