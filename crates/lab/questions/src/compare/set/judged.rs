//! The answer over a set of networks: each network's outcome, and what they say together.
//!
//! ```text
//! r         goodput of a controller over that of the first one, on one network
//! win       r > 1 + margin;   loss: r < 1 / (1 + margin);   draw otherwise
//! median    of r over the networks
//! interval  r(k) to r(n + 1 - k) of the sorted ratios, k the largest with P(B(n, 1/2) < k) <= 2.5 %
//!           (Conover, Practical Nonparametric Statistics, 1999, section 3.2); none below 6 networks
//! ```

use std::collections::BTreeMap;

use serde::Serialize;

use crate::decision::Verdict;
use crate::ratio::Ratio;

/// A network with the results of each controller, in the order of the standings.
#[derive(Debug, Serialize)]
pub struct OnNetwork {
    pub name: String,
    /// Varied keys with their values.
    pub keys: Vec<(String, String)>,
    /// Pairs of runs with the same seed.
    pub pairs: u32,
    /// Label of the controller with the highest goodput by more than the margin, if there is one.
    pub best: Option<String>,
    pub controllers: Vec<Measured>,
}

impl OnNetwork {
    /// Reports whether a controller is not decided against the first one.
    pub(super) fn is_open(&self) -> bool {
        self.controllers.iter().any(|own| own.verdict == Some(Verdict::Undecided))
    }
}

/// A controller on one network.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Mbit/s, geometric mean of the runs.
    pub goodput: f64,
    /// Milliseconds, of the first runs.
    pub rtt_mean: Option<f64>,
    /// Mean queueing delay in milliseconds, of the first runs.
    pub queue_wait: Option<f64>,
    /// Percent, of the first runs.
    pub loss: Option<f64>,
    /// Goodput over that of the first controller. The interval is a point if one run was made.
    pub ratio: Option<Ratio>,
    /// Verdict on the ratio; `None` for the first controller.
    pub verdict: Option<Verdict>,
    /// Goodput that the competitor keeps beside it, over what it has beside its own kind.
    pub keeps: Option<f64>,
}

/// A controller over all networks.
#[derive(Debug, Serialize)]
pub struct Standing {
    pub label: String,
    /// Networks on which no other controller has more, within the margin.
    pub best_on: usize,
    /// Networks on which it has more than the first controller, as much, less, or is not decided.
    pub wins: usize,
    pub draws: usize,
    pub losses: usize,
    pub undecided: usize,
    /// Median ratio to the first controller, with its interval over the networks.
    pub median: Option<Ratio>,
    /// Smallest ratio, and the network.
    pub worst: Option<(f64, String)>,
    /// Longest mean queueing delay in milliseconds, and the network.
    pub longest_wait: Option<(f64, String)>,
    /// Share that the competitor keeps: median, smallest, and the network of the smallest.
    pub keeps: Option<(f64, f64, String)>,
}

impl Standing {
    /// Sums up the controller with this number.
    pub(super) fn new(label: String, i: usize, networks: &[OnNetwork], margin: f64) -> Self {
        let all = || networks.iter().map(|network| (&network.controllers[i], network.name.as_str()));
        let count = |verdict| all().filter(|(own, _)| own.verdict == Some(verdict)).count();
        let ratios: Vec<(f64, &str)> =
            all().filter_map(|(own, name)| own.ratio.map(|ratio| (ratio.value, name))).collect();
        let least = |values: &[(f64, &str)]| {
            let least = values.iter().min_by(|a, b| a.0.total_cmp(&b.0));
            least.map(|(value, name)| (*value, (*name).to_owned()))
        };
        let waits = all().filter_map(|(own, name)| Some((own.queue_wait?, name)));
        let kept: Vec<(f64, &str)> = all().filter_map(|(own, name)| Some((own.keeps?, name))).collect();
        let most = |network: &OnNetwork| network.controllers.iter().map(|c| c.goodput).fold(0.0, f64::max);
        let is_best = |network: &&OnNetwork| {
            let most = most(network);
            most > 0.0 && network.controllers[i].goodput * (1.0 + margin) >= most
        };
        Self {
            best_on: networks.iter().filter(is_best).count(),
            wins: count(Verdict::More),
            draws: count(Verdict::Equal),
            losses: count(Verdict::Less),
            undecided: count(Verdict::Undecided),
            median: median(ratios.iter().map(|(ratio, _)| *ratio).collect()),
            worst: least(&ratios),
            longest_wait: waits
                .max_by(|a, b| a.0.total_cmp(&b.0))
                .map(|(wait, name)| (wait, name.to_owned())),
            keeps: median(kept.iter().map(|(kept, _)| *kept).collect())
                .zip(least(&kept))
                .map(|(median, (least, name))| (median.value, least, name)),
            label,
        }
    }
}

/// Returns the median of numbers with its interval.
pub(super) fn median(mut values: Vec<f64>) -> Option<Ratio> {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let at = |rank: usize| values.get(rank).copied();
    let value = (at((n.checked_sub(1)?) / 2)? + at(n / 2)?) / 2.0;
    let rank = interval_rank(n);
    let [low, high] = match rank {
        0 => [0.0, f64::INFINITY],
        rank => [at(rank - 1)?, at(n - rank)?],
    };
    Some(Ratio { value, low, high })
}

/// Returns the rank, from 1, of the lower end of the interval of a median; 0 if there is none.
fn interval_rank(n: usize) -> usize {
    let mut term = libm::exp2(-(n as f64));
    let (mut below, mut rank) = (0.0, 0);
    for k in 0..n {
        below += term;
        if below > 0.025 {
            break;
        }
        rank = k + 1;
        term *= (n - k) as f64 / (k + 1) as f64;
    }
    rank
}

/// Returns the networks' values of a key that varies.
pub(super) fn values<'a>(networks: &'a [OnNetwork], key: &str) -> Vec<&'a str> {
    let of = |network: &'a OnNetwork| network.keys.iter().find(|(own, _)| own == key);
    networks.iter().filter_map(of).map(|(_, value)| value.as_str()).collect()
}

/// Counts by label.
pub(super) type Counts<'a> = BTreeMap<&'a str, usize>;

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks of the table of Conover, and of Hollander and Wolfe: 6 values give the extremes, 10
    /// the second, 20 the sixth, 100 the fortieth.
    #[test]
    fn intervals_of_medians() {
        let ranks = [5, 6, 8, 9, 10, 20, 100].map(interval_rank);
        assert_eq!(ranks, [0, 1, 1, 2, 2, 6, 40]);
        let hundred = median((1..=100).map(f64::from).collect()).unwrap();
        assert_eq!((hundred.value, hundred.low, hundred.high), (50.5, 40.0, 61.0));
        let few = median(vec![1.0, 2.0, 3.0]).unwrap();
        assert_eq!((few.value, few.low, few.high), (2.0, 0.0, f64::INFINITY));
        assert!(median(Vec::new()).is_none());
    }
}
