//! Distance between two windows, regardless of their phases.
//!
//! The sawteeth of two runs are out of phase, so the difference at one moment says little about the
//! controllers. This module compares the distributions of the window over time. Their distance is
//! the first Wasserstein distance `W1 = integral |F(x) - G(x)| dx`, the area between the sorted
//! samples, divided by the mean of the reference.

/// Returns the first Wasserstein distance of two samples, in their unit; `None` if one is empty.
pub(super) fn wasserstein(one: &[f64], other: &[f64]) -> Option<f64> {
    if one.is_empty() || other.is_empty() {
        return None;
    }
    let (one, other) = (sorted(one), sorted(other));
    let (mut i, mut j, mut area) = (0, 0, 0.0);
    let mut x = one[0].min(other[0]);
    while i < one.len() || j < other.len() {
        let next = match (one.get(i), other.get(j)) {
            (Some(a), Some(b)) => a.min(*b),
            (Some(a), None) => *a,
            (None, Some(b)) => *b,
            (None, None) => break,
        };
        let (f, g) = (i as f64 / one.len() as f64, j as f64 / other.len() as f64);
        area += (f - g).abs() * (next - x);
        x = next;
        i += one[i..].iter().take_while(|value| **value <= x).count();
        j += other[j..].iter().take_while(|value| **value <= x).count();
    }
    Some(area)
}

/// Returns the distance as a share of the mean of `reference`.
pub(super) fn relative(subject: &[f64], reference: &[f64]) -> Option<f64> {
    let mean = mean(reference).filter(|mean| *mean > 0.0)?;
    wasserstein(subject, reference).map(|area| area / mean)
}

/// Returns the difference of two numbers of reductions, as a share of the number of the reference.
///
/// A difference of one does not count, because the measurement can begin anywhere in a period. The
/// distributions do not show this difference: a sawtooth at half the speed has the same
/// distribution.
pub(super) fn tempo(one: f64, other: f64, reference: f64) -> f64 {
    ((one - other).abs() - 1.0).max(0.0) / reference.max(1.0)
}

/// Returns the mean of a sample; `None` if it is empty.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: Option<f64>, b: f64) {
        assert!(a.is_some_and(|a| (a - b).abs() < 1e-9), "{a:?} is not {b}");
    }

    /// A shift by c is a distance of c, whatever the order of the samples.
    #[test]
    fn a_shift_is_its_own_distance() {
        let saw: Vec<f64> = (0..100).map(|i| f64::from(50 + (i * 37) % 100)).collect();
        let later: Vec<f64> = saw.iter().rev().map(|value| value + 7.0).collect();
        near(wasserstein(&saw, &saw), 0.0);
        near(wasserstein(&saw, &later), 7.0);
        near(relative(&later, &saw), 7.0 / mean(&saw).unwrap());
    }

    /// Uniform on 0..1 and on 0..2: the quantiles p and 2p are 1/2 apart on average, also for
    /// samples of different sizes.
    #[test]
    fn uniform_ones() {
        let uniform = |n: u32, to: f64| -> Vec<f64> {
            (0..n).map(|i| to * (f64::from(i) + 0.5) / f64::from(n)).collect()
        };
        near(wasserstein(&uniform(1000, 1.0), &uniform(1000, 2.0)), 0.5);
        let d = wasserstein(&uniform(300, 1.0), &uniform(700, 2.0)).unwrap();
        assert!((d - 0.5).abs() < 2e-3, "{d}");
    }

    /// Sawteeth from beta W to W: the means of 1/2..1 and of 0.7..1 are 0.1 apart. The order of all
    /// quantiles is the same, so the distance is 0.1 too.
    #[test]
    fn sawteeth_of_two_betas() {
        let saw = |beta: f64| -> Vec<f64> {
            (0..1000).map(|i| beta + (1.0 - beta) * f64::from(i) / 999.0).collect()
        };
        near(wasserstein(&saw(0.5), &saw(0.7)), 0.1);
    }

    /// Periods of 1 s and of 1.25 s over 25 s, in any phase: 25 or 26 events, and 20 or 21.
    #[test]
    fn a_slower_saw_is_slower_in_whatever_phase() {
        let count = |period: f64, phase: f64| {
            (0..100).filter(|i| (0.0..25.0).contains(&(phase + period * f64::from(*i)))).count() as f64
        };
        for phase in [0.0, 0.1, 0.5, 0.9] {
            assert_eq!(tempo(count(1.0, phase), count(1.0, 0.3), 25.0), 0.0);
            let slower = tempo(count(1.25, phase), count(1.0, phase), 25.0);
            assert!((0.15..0.21).contains(&slower), "{slower}");
        }
        assert_eq!((tempo(2.0, 1.0, 1.0), tempo(5.0, 0.0, 0.0)), (0.0, 4.0));
    }

    #[test]
    fn nothing_to_compare() {
        assert_eq!(wasserstein(&[], &[1.0]), None);
        assert_eq!(relative(&[1.0], &[0.0]), None);
    }
}
