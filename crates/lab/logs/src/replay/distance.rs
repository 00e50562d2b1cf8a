//! Windows of a log beside those of the replay.

use units::{Duration, Time};

use crate::thin::keep_last;

/// Largest number of moments that are kept.
const MOST: usize = 1 << 12;
/// First distance between two moments.
const FINEST: Duration = Duration::from_micros(500);
/// Largest number of distances that are kept. Beyond it every other one is dropped.
const MOST_DISTANCES: usize = 1 << 22;

/// Windows at one time, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Time of the log.
    pub at: Time,
    /// Window of the log.
    pub logged: u64,
    /// Window of the replayed controller.
    pub replayed: u64,
}

/// Distance of the windows over all ACKs: |replayed - logged| / logged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Largest.
    pub largest: f64,
}

/// Windows of a log and of a replay, at each ACK.
#[derive(Clone, Debug)]
pub struct Windows {
    acks: u64,
    differing: u64,
    first: Option<Moment>,
    moments: Vec<Moment>,
    spacing: Duration,
    distances: Vec<f32>,
    /// Number of ACKs per distance that is kept.
    stride: u64,
}

impl Default for Windows {
    fn default() -> Self {
        let (moments, distances) = (Vec::new(), Vec::new());
        Self { acks: 0, differing: 0, first: None, moments, spacing: FINEST, distances, stride: 1 }
    }
}

impl Windows {
    /// Adds the windows after an ACK.
    pub(super) fn add(&mut self, moment: Moment) {
        let Moment { logged, replayed, .. } = moment;
        if logged != replayed {
            self.differing += 1;
            self.first.get_or_insert(moment);
        }
        if self.acks.is_multiple_of(self.stride) {
            self.distances.push((replayed.abs_diff(logged) as f64 / logged.max(1) as f64) as f32);
        }
        self.acks += 1;
        if self.distances.len() > MOST_DISTANCES {
            let mut keep = false;
            self.distances.retain(|_| {
                keep = !keep;
                keep
            });
            self.stride *= 2;
        }
        self.draw(moment);
    }

    /// Keeps the moment for a chart. Of each interval the last stays.
    fn draw(&mut self, moment: Moment) {
        let place = |at: Time, spacing: Duration| at.0 / spacing.0.max(1);
        match self.moments.last_mut() {
            Some(last) if place(last.at, self.spacing) >= place(moment.at, self.spacing) => *last = moment,
            _ => self.moments.push(moment),
        }
        while self.moments.len() > MOST {
            self.spacing = self.spacing * 2;
            let spacing = self.spacing;
            keep_last(&mut self.moments, |moment| place(moment.at, spacing));
        }
    }

    /// Returns the number of ACKs.
    pub fn acks(&self) -> u64 {
        self.acks
    }

    /// Returns the number of ACKs after which the windows differ.
    pub fn differing(&self) -> u64 {
        self.differing
    }

    /// Returns the first ACK after which the windows differ.
    pub fn first_difference(&self) -> Option<Moment> {
        self.first
    }

    /// Returns at most 4096 moments, evenly spread.
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }

    /// Returns the distance over all ACKs. `None` without an ACK.
    pub fn distance(&self) -> Option<Distance> {
        let mut sorted = self.distances.clone();
        sorted.sort_unstable_by(f32::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        // The smallest value that at least this share of all do not exceed.
        let quantile = |share: f64| {
            let rank = libm::ceil(share * sorted.len() as f64) as usize;
            f64::from(sorted[rank.saturating_sub(1).min(last)])
        };
        Some(Distance { median: quantile(0.5), p95: quantile(0.95), largest: f64::from(sorted[last]) })
    }
}
