//! Averages series over equal bins of time. No sample is dropped.

use units::Duration;

use super::axis::{extent, is_drawable, nice_step};
use results::summary::Track;

/// Length of a run in seconds above which bins are a second by default, as in papers.
const LONG: f64 = 20.0;

/// Bins of time from zero, or from the start of the part that is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bins {
    /// Start of the first bin.
    pub(super) start: f64,
    /// Width in seconds.
    width: f64,
    pub(super) count: usize,
    /// End of the last bin, or earlier if the samples end earlier.
    pub(super) end: f64,
}

impl Bins {
    /// Creates bins of the asked width, by default one second in a long run. They are wider if
    /// samples are further apart, or if there would be more than `most`.
    pub(super) fn new(tracks: &[&Track], start: f64, asked: Option<Duration>, most: usize) -> Self {
        let times = tracks.iter().flat_map(|t| &t.times).copied();
        let end = extent(times).map_or(start, |(_, end)| end.max(start));
        let sampled = tracks.iter().filter_map(|t| sampling(t)).fold(0.0, f64::max);
        let asked =
            asked.map_or(if end - start > LONG { 1.0 } else { 0.0 }, Duration::as_secs_f64).max(sampled);
        // Samples are at least a clock tick apart.
        let asked = if asked > 0.0 { asked.max(1e-9) } else { 1.0 };
        let least = (end - start) / most.max(1) as f64;
        let width = if least > asked { asked * nice_step(least / asked) } else { asked };
        Self { start, width, count: (((end - start) / width - 1e-9).ceil() as usize).max(1), end }
    }

    /// Returns a series' mean in each bin. NaN counts as 0, because the flow does not run.
    pub(super) fn means(&self, times: &[f64], values: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut sums = vec![(0.0, 0_u32); self.count];
        for (time, value) in times.iter().zip(values) {
            if let Some((sum, count)) = self.index(*time).and_then(|i| sums.get_mut(i)) {
                *sum += if is_drawable(value) { value.max(0.0) } else { 0.0 };
                *count += 1;
            }
        }
        sums.into_iter().map(|(sum, count)| sum / f64::from(count.max(1))).collect()
    }

    /// Returns the middle of each bin with the mean of its numbers.
    pub(super) fn present(&self, times: &[f64], values: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
        let mut sums = vec![(0.0, 0_u32); self.count];
        for (time, value) in times.iter().zip(values).filter(|(_, value)| is_drawable(*value)) {
            if let Some((sum, count)) = self.index(*time).and_then(|i| sums.get_mut(i)) {
                (*sum, *count) = (*sum + value, *count + 1);
            }
        }
        // A bin without numbers is a gap in the line.
        let mean = |(sum, count): (f64, u32)| if count > 0 { sum / f64::from(count) } else { f64::NAN };
        let middle = |i: usize| self.middle(i);
        sums.into_iter().enumerate().map(|(i, sum)| (middle(i), mean(sum))).collect()
    }

    fn middle(&self, i: usize) -> f64 {
        (self.start + (i as f64 + 0.5) * self.width).min(self.end)
    }

    /// Returns the bin of a sample. A sample describes the time before it.
    fn index(&self, time: f64) -> Option<usize> {
        let index = ((time - self.start) / self.width - 1e-9).floor();
        (is_drawable(time) && index >= 0.0).then_some(index as usize)
    }

    /// Returns a line through the values in the middles of their bins, level from the start and to
    /// the end.
    pub(super) fn line(&self, values: &[f64]) -> impl Iterator<Item = (f64, f64)> {
        let middle = |i: usize| self.middle(i);
        let first = values.first().map(|v| (self.start, *v));
        let last = values.last().map(|v| (self.end, *v));
        first.into_iter().chain(values.iter().enumerate().map(move |(i, v)| (middle(i), *v))).chain(last)
    }

    /// Returns the value of the bin at a time.
    pub(super) fn value(&self, values: &[f64], time: f64) -> Option<f64> {
        self.index(time).and_then(|i| values.get(i)).copied()
    }

    /// Formats the width of a bin: `1 s`.
    pub(super) fn width(&self) -> String {
        // Sample times are sums, so their differences are off by some ns.
        Duration::from_secs_f64((self.width * 1e6).round() / 1e6).to_string()
    }
}

/// Returns the mean seconds between a track's samples.
fn sampling(track: &Track) -> Option<f64> {
    let (first, last) = extent(track.times.iter().copied())?;
    let gaps = track.times.len() - 1;
    (gaps > 0).then(|| (last - first) / gaps as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(interval: f64, count: u32) -> Track {
        let times = (1..=count).map(|i| f64::from(i) * interval).collect();
        let (variant, row) = (String::new(), "".into());
        Track { variant, row, repetition: 0, flow: 0, times, columns: Default::default() }
    }

    #[test]
    fn bins_are_as_wide_as_it_needs() {
        let width = |interval, count, asked: Option<u64>| {
            let track = track(interval, count);
            let bins = Bins::new(&[&track], 0.0, asked.map(Duration::from_millis), 200);
            assert!(bins.count <= 200 && bins.count as f64 * bins.width >= bins.end - 1e-6, "{bins:?}");
            bins.width()
        };
        assert_eq!(width(0.1, 150, None), "100 ms");
        assert_eq!(width(0.1, 600, None), "1 s");
        assert_eq!(width(0.1, 600, Some(5000)), "5 s");
        assert_eq!(width(2.0, 30, None), "2 s", "samples are further apart");
        assert_eq!(width(0.1, 9000, None), "5 s", "200 bins at most");
        assert_eq!(width(0.1, 600, Some(1)), "500 ms");
    }

    #[test]
    fn a_bin_holds_the_samples_up_to_its_end() {
        let bins = Bins { start: 0.0, width: 1.0, count: 3, end: 3.0 };
        let times = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, f64::NAN, -1.0];
        let values = [9.0, 2.0, 4.0, f64::NAN, 6.0, f64::INFINITY, -2.0, 9.0, 9.0, 9.0];
        assert_eq!(bins.means(&times, values.into_iter()), [3.0, 3.0, 0.0]);
        let present = bins.present(&times[2..6], [4.0, f64::NAN, f64::NAN, 7.0].into_iter());
        assert!(present[0] == (0.5, 4.0) && present[1].1.is_nan() && present[2] == (2.5, 7.0), "{present:?}");
        let line = bins.line(&[3.0, 4.0, 5.0]).collect::<Vec<_>>();
        assert_eq!(line, [(0.0, 3.0), (0.5, 3.0), (1.5, 4.0), (2.5, 5.0), (3.0, 5.0)]);
    }
}
