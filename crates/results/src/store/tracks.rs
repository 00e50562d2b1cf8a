//! Tracks that grow part by part, as time series come from a run or from a file.

use std::collections::BTreeMap;

use experiment::row::RowLabel;

use crate::states::FlowKey;
use crate::summary::Track;

/// The track of a flow, which is made if there is none. The flows of one run stand at the end; mostly this one stands at `likely`.
pub(super) fn of_flow<'t>(all: &'t mut Vec<Track>, likely: usize, key: FlowKey<'_>) -> &'t mut Track {
    let is_it = |track: &Track| track.key() == key;
    let (variant, row, repetition, flow) = key;
    let place = if all.get(likely).is_some_and(is_it) {
        likely
    } else {
        let run = all.iter().rev().take_while(|track| track.repetition == repetition);
        run.enumerate()
            .find(|(_, track)| is_it(track))
            .map_or(all.len(), |(behind, _)| all.len() - 1 - behind)
    };
    if place == all.len() {
        let (variant, row) = (variant.to_owned(), RowLabel::from(row));
        all.push(Track { variant, row, repetition, flow, times: Vec::new(), columns: BTreeMap::new() });
    }
    &mut all[place]
}

/// Adds the samples that follow, of which `add` puts those of a column behind others.
pub(super) fn extend<'n, V>(
    track: &mut Track,
    times: V,
    columns: impl Iterator<Item = (&'n String, V)>,
    add: impl Fn(V, &mut Vec<f64>),
) {
    let before = track.times.len();
    add(times, &mut track.times);
    for (name, values) in columns {
        let column = track.columns.entry(name.clone()).or_default();
        column.resize(before, f64::NAN);
        add(values, column);
    }
    let length = track.times.len();
    track.columns.values_mut().for_each(|column| column.resize(length, f64::NAN));
}
