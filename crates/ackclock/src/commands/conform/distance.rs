//! How far two windows are from each other, whatever their phases.
//!
//! The sawteeth of two runs are not at the same place: a moment's difference would say more of that than of the controllers. Compared are the
//! distributions of the window over time: the first Wasserstein distance `W1 = integral |F(x) - G(x)| dx`, which is the area between the sorted
//! samples, over the mean of the standard's.

/// The first Wasserstein distance of two samples, in their unit; none of an empty one.
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

/// That distance as a share of the mean of `standard`.
pub(super) fn relative(subject: &[f64], standard: &[f64]) -> Option<f64> {
    let mean = mean(standard).filter(|mean| *mean > 0.0)?;
    wasserstein(subject, standard).map(|area| area / mean)
}

/// How differently often two reduce their windows, as a share of how often the standard does: a count in a window of time is known to one, since
/// nobody knows where in its period it begins. Distributions say nothing of it: a sawtooth at half the speed has the same.
pub(super) fn tempo(one: f64, other: f64, standard: f64) -> f64 {
    ((one - other).abs() - 1.0).max(0.0) / standard.max(1.0)
}

/// Of a sample; none of an empty one.
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

    /// A shift by c is c apart, in whatever order the samples come.
    #[test]
    fn a_shift_is_its_own_distance() {
        let saw: Vec<f64> = (0..100).map(|i| f64::from(50 + (i * 37) % 100)).collect();
        let later: Vec<f64> = saw.iter().rev().map(|value| value + 7.0).collect();
        near(wasserstein(&saw, &saw), 0.0);
        near(wasserstein(&saw, &later), 7.0);
        near(relative(&later, &saw), 7.0 / mean(&saw).unwrap());
    }

    /// Uniform on 0..1 against uniform on 0..2: the quantiles p and 2p are 1/2 apart in the mean. Samples of other sizes alike.
    #[test]
    fn uniform_ones() {
        let uniform = |n: u32, to: f64| -> Vec<f64> {
            (0..n).map(|i| to * (f64::from(i) + 0.5) / f64::from(n)).collect()
        };
        near(wasserstein(&uniform(1000, 1.0), &uniform(1000, 2.0)), 0.5);
        let d = wasserstein(&uniform(300, 1.0), &uniform(700, 2.0)).unwrap();
        assert!((d - 0.5).abs() < 2e-3, "{d}");
    }

    /// Sawteeth from beta W to W: the means of 1/2..1 and of 0.7..1 are 0.1 apart, and so are they, since each quantile is.
    #[test]
    fn sawteeth_of_two_betas() {
        let saw = |beta: f64| -> Vec<f64> {
            (0..1000).map(|i| beta + (1.0 - beta) * f64::from(i) / 999.0).collect()
        };
        near(wasserstein(&saw(0.5), &saw(0.7)), 0.1);
    }

    /// A period of 1 s against one of 1.25 s, 25 s long, wherever they begin: 25 or 26 events, and 20 or 21.
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
