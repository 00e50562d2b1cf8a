//! Losses, retransmissions and CE marks as ticks at the edges of a plot over time.

use std::collections::BTreeSet;

use experiment::chart::SIGNALS;
use maud::{Markup, html};

use super::axis::Scale;
use super::svg;
use results::summary::{RunLength, Track};

/// Length of a tick.
const LENGTH: f64 = 7.0;
/// Counter of CE marks, whose ticks are at the upper edge.
const MARKED: &str = SIGNALS[2];
/// Counter of losses.
const LOST: &str = SIGNALS[0];

/// Draws ticks where counters of these flows grow. `bounds` are the time axis, and the upper and the
/// lower edge.
pub(super) fn draw(
    counters: &[String],
    tracks: &[&Track],
    colour: &str,
    (time, (top, bottom)): (&Scale, (f64, f64)),
) -> Markup {
    let of_counter = |counter: &String| {
        let (from, to) = if counter == MARKED { (top, top + LENGTH) } else { (bottom, bottom - LENGTH) };
        let places: BTreeSet<_> =
            known(tracks, counter).flat_map(changes).map(|at| svg::px(time.at(at))).collect();
        places.iter().map(|x| format!("M{x} {}V{}", svg::px(from), svg::px(to))).collect::<String>()
    };
    html! {
        @for data in counters.iter().map(of_counter).filter(|data| !data.is_empty()) {
            path d=(data) stroke=(colour) stroke-width="0.8" fill="none" {}
        }
    }
}

/// Explains the ticks that are drawn, and says which are not known.
pub(super) fn remarks(counters: &[String], tracks: &[&Track]) -> Vec<String> {
    let remark = |counter: &String| {
        let (edge, what) = match counter.as_str() {
            LOST => ("lower", "packets declared lost"),
            MARKED => ("upper", "packets with a CE mark"),
            _ => ("lower", "retransmissions"),
        };
        if known(tracks, counter).next().is_none() {
            return Some(format!("Not known: {what}."));
        }
        let has_ticks = known(tracks, counter).flat_map(changes).next().is_some();
        has_ticks.then(|| format!("Ticks at the {edge} edge: {what}."))
    };
    counters.iter().filter_map(remark).collect()
}

/// Returns a counter of these flows with the times of its samples.
fn known<'t>(tracks: &[&'t Track], counter: &str) -> impl Iterator<Item = (&'t [f64], &'t RunLength)> {
    tracks.iter().filter_map(move |track| Some((&track.times[..], track.columns.get(counter)?)))
}

/// Returns the times at which a counter has grown since the sample before.
fn changes<'t>((times, counter): (&'t [f64], &'t RunLength)) -> impl Iterator<Item = f64> + use<'t> {
    let pairs = counter.iter().zip(counter.iter().skip(1));
    times.iter().skip(1).zip(pairs).filter(|(_, (before, now))| now > before).map(|(time, _)| *time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(counter: &str, values: &[f64]) -> Track {
        let columns = [(counter.to_owned(), RunLength::from_values(values))].into();
        let times = (1..=values.len()).map(|i| i as f64).collect();
        Track { variant: String::new(), row: "".into(), repetition: 0, flow: 0, times, columns }
    }

    #[test]
    fn a_counter_has_a_tick_where_it_grows() {
        let track = track(LOST, &[f64::NAN, 0.0, 0.0, 2.0, 2.0, 3.0]);
        assert_eq!(changes((&track.times, &track.columns[LOST])).collect::<Vec<_>>(), [4.0, 6.0]);
        let time = Scale::exact(0.0, 10.0, 5).on(0.0, 100.0);
        let drawn = draw(&SIGNALS.map(str::to_owned), &[&track], "#111111", (&time, (10.0, 60.0))).0;
        assert!(drawn.contains("d=\"M40 60V53M60 60V53\"") && drawn.matches("<path").count() == 1, "{drawn}");
    }

    #[test]
    fn remarks_name_what_is_drawn_and_what_is_not_known() {
        let counters = [LOST, MARKED].map(str::to_owned);
        let says = |values: &[f64]| remarks(&counters, &[&track(MARKED, values)]);
        let unknown = "Not known: packets declared lost.";
        assert_eq!(says(&[0.0, 1.0]), [unknown, "Ticks at the upper edge: packets with a CE mark."]);
        assert_eq!(says(&[0.0, 0.0]), [unknown]);
        let repeats = [SIGNALS[1].to_owned()];
        let told = remarks(&repeats, &[&track(SIGNALS[1], &[0.0, 1.0])]);
        assert_eq!(told, ["Ticks at the lower edge: retransmissions."]);
    }
}
