//! Tracks that grow part by part, as time series are read from a run or a file.

use std::collections::BTreeMap;

use experiment::row::RowLabel;
use scenario::RunLength;

use crate::states::FlowKey;
use crate::summary::Track;

/// Returns the track of a flow, which is created if missing. The flows of a run are at the end. The
/// track is mostly at `likely`.
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

/// Appends samples: `columns` at these times. Columns missing on either side are filled with NaN.
pub(super) fn extend<'n>(
    track: &mut Track,
    times: impl FnOnce(&mut Vec<f64>),
    columns: impl Iterator<Item = (&'n String, &'n RunLength)> + Clone,
) {
    let before = track.times.len();
    times(&mut track.times);
    let added = (track.times.len() - before) as u32;
    for (name, column) in &mut track.columns {
        if columns.clone().all(|(other, _)| other != name) {
            column.push(f64::NAN, added);
        }
    }
    for (name, values) in columns {
        debug_assert_eq!(values.len(), added as usize, "{name}");
        match track.columns.get_mut(name) {
            Some(column) => column.append(values),
            None => {
                let mut column = RunLength::constant(f64::NAN, before as u32);
                column.append(values);
                track.columns.insert(name.clone(), column);
            }
        }
    }
}
