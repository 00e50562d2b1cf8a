//! The part of a run that a chart over time draws.

use experiment::chart::{Chart, Data};
use results::summary::{Results, RunLength, Track};

/// Returns the results with the series of a part only, if the chart asks for one, and its start and
/// end in seconds.
pub(super) fn crop(results: &Results, chart: &Chart) -> Option<(Results, (f64, f64))> {
    let is_asked = chart.print.from.or(chart.print.to).is_some();
    if !is_asked || !matches!(chart.data, Data::Series { .. }) {
        return None;
    }
    let (from, to) = chart.print.part();
    let last = results.series.iter().flat_map(|t| t.times.last()).copied().fold(from, f64::max);
    let part = (from, to.min(last));
    let series = results.series.iter().map(|track| cropped(track, part)).collect();
    let (summary, flows, networks) =
        (results.summary.clone(), results.flows.clone(), results.networks.clone());
    Some((Results { summary, series, flows, networks, rtt_cdf: Vec::new() }, part))
}

fn cropped(track: &Track, (from, to): (f64, f64)) -> Track {
    // Sample times are sums, so they are off by some ns.
    let is_inside = |time: &f64| (from - 1e-9..=to + 1e-9).contains(time);
    let column = |values: &RunLength| -> RunLength {
        let all = track.times.iter().zip(values.iter());
        all.filter(|(time, _)| is_inside(time)).map(|(_, value)| value).collect()
    };
    Track {
        variant: track.variant.clone(),
        row: track.row.clone(),
        times: track.times.iter().copied().filter(is_inside).collect(),
        columns: track.columns.iter().map(|(name, values)| (name.clone(), column(values))).collect(),
        ..*track
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use experiment::chart::Mark;
    use experiment::print::Print;
    use units::Duration;

    #[test]
    fn a_part_has_its_samples_only() {
        let all = fixture::realistic();
        let data = fixture::over_time(vec!["cwnd_bytes".to_owned()]);
        let mut chart = fixture::chart("T", Mark::Line, data);
        assert!(crop(&all[1], &chart).is_none());
        let (from, to) = (Some(Duration::from_secs(20)), Some(Duration::from_secs(40)));
        chart.print = Print { from, to, ..Print::default() };
        let (part, ends) = crop(&all[1], &chart).unwrap();
        assert_eq!(ends, (20.0, 40.0));
        for (whole, part) in all[1].series.iter().zip(&part.series) {
            let inside = |time: &&f64| (20.0..=40.0).contains(*time);
            assert_eq!(part.times.len(), whole.times.iter().filter(inside).count());
            let first = whole.times.iter().position(|time| *time >= 20.0).unwrap();
            let column = |track: &Track, at: usize| track.columns["cwnd_bytes"].iter().nth(at);
            assert_eq!(column(part, 0).map(f64::to_bits), column(whole, first).map(f64::to_bits));
            assert_eq!(part.columns["cwnd_bytes"].len(), part.times.len());
        }
        chart.print = Print { from, ..Print::default() };
        let last = all[1].series.iter().flat_map(|t| t.times.last()).copied().fold(0.0, f64::max);
        assert_eq!(crop(&all[1], &chart).unwrap().1, (20.0, last));
        let drawn = crate::svg(&all[1], &chart).remove(0);
        assert!(drawn.contains(&format!("data-x=\"20 {last} ")), "{drawn}");
    }
}
