//! `series.parquet`: written in groups of rows, so that it may exceed memory, and read where charts
//! need it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use experiment::row::RowLabel;
use scenario::RunLength;

use crate::columns::{Column, Named, Reader, Writer};
use crate::states::States;
use crate::store::part::Part;
use crate::store::rows::{damaged, ints, numbers, words};
use crate::store::tables::{self, ControllerInfo, KEYS, Keys, Samples, series_table};
use crate::store::tracks;
use crate::summary::{Summary, Track};

/// Approximate number of rows of a group, which are in memory.
const GROUP: usize = 1 << 17;

/// Writes the file.
pub(super) struct SeriesWriter<'a> {
    file: Writer,
    /// Columns after the time, with the type of each.
    samples: Vec<(&'a str, Column)>,
    keys: &'a Keys<'a>,
    controllers: &'a ControllerInfo<'a>,
    waiting: Vec<Part>,
    rows: usize,
}

impl<'a> SeriesWriter<'a> {
    /// Creates the file with these columns.
    pub(super) fn begin(
        path: &Path,
        samples: &'a Samples,
        keys: &'a Keys<'a>,
        controllers: &'a ControllerInfo<'a>,
    ) -> io::Result<Self> {
        let mut head = series_table(samples, controllers);
        let types = head.iter().rev().take(samples.len()).rev().map(|column| column.column.clone());
        let samples = samples.keys().map(String::as_str).zip(types).collect();
        keys.put_into(&mut head);
        let file = Writer::new(path, &head).map_err(io::Error::other)?;
        Ok(Self { file, samples, keys, controllers, waiting: Vec::new(), rows: 0 })
    }

    /// Adds samples in the order of the file.
    pub(super) fn add(&mut self, part: Part) -> io::Result<()> {
        self.rows += part.times().len() * part.flows().count();
        self.waiting.push(part);
        if self.rows >= GROUP { self.group() } else { Ok(()) }
    }

    fn group(&mut self) -> io::Result<()> {
        let tracks: Vec<TrackOf<'_>> = self.waiting.iter().flat_map(of_part).collect();
        let heads =
            tracks.iter().map(|(part, _, flow)| (part.variant(), part.row(), part.repetition(), *flow));
        let mut heads = tables::heads(heads);
        self.keys.put_into(&mut heads);
        let lengths: Vec<u32> = tracks.iter().map(|(part, ..)| part.times().len() as u32).collect();
        let mut group = self.file.group().map_err(io::Error::other)?;
        for Named { column, .. } in heads {
            // Each track has one value for all its samples.
            group.column(&column, lengths.iter().copied()).map_err(io::Error::other)?;
        }
        let times: Vec<&RunLength> = tracks.iter().map(|(part, ..)| part.times()).collect();
        group.numbers(&times, false).map_err(io::Error::other)?;
        // Missing values of each part, for columns that it does not have.
        let none = |part: &Part| RunLength::constant(f64::NAN, part.times().len() as u32);
        let none: Vec<RunLength> = self.waiting.iter().map(none).collect();
        let none = self.waiting.iter().zip(&none).flat_map(|(part, none)| part.flows().map(move |_| none));
        let none: Vec<&RunLength> = none.collect();
        for (name, kind) in &self.samples {
            let pieces = tracks.iter().zip(&none);
            let pieces: Vec<&RunLength> =
                pieces.map(|((part, at, _), none)| part.column(*at, name).unwrap_or(none)).collect();
            let written = match kind {
                Column::Words(_) => group.words(names(&tracks, &pieces, &self.controllers.states)),
                kind => group.numbers(&pieces, matches!(kind, Column::Count(_))),
            };
            written.map_err(io::Error::other)?;
        }
        group.finish().map_err(io::Error::other)?;
        self.waiting.clear();
        self.rows = 0;
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        if !self.waiting.is_empty() {
            self.group()?;
        }
        self.file.finish().map_err(io::Error::other)
    }
}

/// A part, and the index and number of one of its flows.
type TrackOf<'p> = (&'p Part, usize, u32);

/// Returns the tracks of a part.
fn of_part(part: &Part) -> impl Iterator<Item = TrackOf<'_>> {
    part.flows().enumerate().map(move |(at, flow)| (part, at, flow))
}

/// Returns the names of states with their run lengths.
fn names(
    tracks: &[TrackOf<'_>],
    pieces: &[&RunLength],
    states: &States<'_>,
) -> impl Iterator<Item = (Option<Arc<str>>, u32)> {
    tracks.iter().zip(pieces).flat_map(move |((part, _, flow), piece)| {
        let key = (part.variant(), part.row().as_str(), part.repetition(), *flow);
        piece.runs().map(move |(state, length)| (states.named(key, state), length))
    })
}

/// The part of the time series that a study's charts draw.
pub(super) struct ChartSelection<'a> {
    /// Row labels of each chart; an empty list selects all.
    rows: Vec<&'a [RowLabel]>,
    columns: BTreeSet<&'a str>,
    /// Variant and row to the repetition that is drawn: the first.
    first: BTreeMap<(String, String), u32>,
    /// Select every repetition, not only the first.
    every_run: bool,
}

impl<'a> ChartSelection<'a> {
    pub(super) fn from_summary(summary: &'a Summary) -> Self {
        let (mut all, mut columns) = (Vec::new(), BTreeSet::new());
        for chart in summary.charts.iter().filter(|chart| chart.columns().next().is_some()) {
            all.push(&chart.rows[..]);
            columns.extend(chart.columns().map(String::as_str));
        }
        Self { rows: all, columns, first: BTreeMap::new(), every_run: false }
    }

    /// Selects columns of every run.
    pub(super) fn all_runs(columns: &[&'a str]) -> Self {
        let columns = columns.iter().copied().collect();
        Self { rows: vec![&[]], columns, first: BTreeMap::new(), every_run: true }
    }

    /// Reports whether a run is selected. Runs come in the order of their repetitions.
    fn has(&mut self, variant: &str, row: &str, repetition: u32) -> bool {
        let wanted = self.rows.iter().any(|rows| rows.is_empty() || rows.iter().any(|label| *label == *row));
        wanted
            && (self.every_run
                || *self.first.entry((variant.to_owned(), row.to_owned())).or_insert(repetition)
                    == repetition)
    }

    /// Appends the selected samples to the tracks.
    pub(super) fn add(&mut self, part: &Part, all: &mut Vec<Track>) {
        if self.has(part.variant(), part.row().as_str(), part.repetition()) {
            part.add_to(all, |name| self.columns.contains(name));
        }
    }
}

/// Reads the selected samples of a file.
pub(super) fn read(
    path: &Path,
    drawn: &mut ChartSelection<'_>,
    states: &States<'_>,
) -> io::Result<Vec<Track>> {
    if drawn.rows.is_empty() {
        return Ok(Vec::new());
    }
    let file = Reader::open(path).map_err(io::Error::other)?;
    let heads = file.heads();
    let at = |name: &str| heads.iter().position(|head| head.name == name && !head.is_key).ok_or_else(damaged);
    let known = [KEYS[0], KEYS[1], "repetition", "flow", "time_s"].map(at);
    let mut all = Vec::new();
    for group in 0..file.groups() {
        let read = |number: usize| file.column(group, number).map_err(io::Error::other);
        let [variants, rows, repetitions, flows, times] = &known;
        let place = |at: &io::Result<usize>| at.as_ref().copied().map_err(|_| damaged());
        let (variants, rows) = (words(read(place(variants)?)?)?, words(read(place(rows)?)?)?);
        let (repetitions, flows) = (ints(read(place(repetitions)?)?)?, ints(read(place(flows)?)?)?);
        let length = flows.len();
        if [variants.len(), rows.len(), repetitions.len()] != [length; 3] {
            return Err(damaged());
        }
        let is_same = |i: usize, j: usize| {
            flows[i] == flows[j]
                && repetitions[i] == repetitions[j]
                && variants[i] == variants[j]
                && rows[i] == rows[j]
        };
        let mut tracks: Vec<(Track, std::ops::Range<usize>)> = Vec::new();
        let mut start = 0;
        while start < length {
            let end = (start + 1..length).find(|i| !is_same(start, *i)).unwrap_or(length);
            if drawn.has(&variants[start], &rows[start], repetitions[start]) {
                let track = Track {
                    variant: variants[start].to_string(),
                    row: RowLabel::from(&*rows[start]),
                    repetition: repetitions[start],
                    flow: flows[start],
                    times: Vec::new(),
                    columns: BTreeMap::new(),
                };
                tracks.push((track, start..end));
            }
            start = end;
        }
        if tracks.is_empty() {
            continue;
        }
        let times = numbers(read(place(times)?)?)?;
        for (track, range) in &mut tracks {
            track.times = times.get(range.clone()).ok_or_else(damaged)?.to_vec();
        }
        for (number, head) in heads.iter().enumerate() {
            if head.is_key || !drawn.columns.contains(head.name.as_str()) {
                continue;
            }
            let column = read(number)?;
            for (track, range) in &mut tracks {
                let values = part(&column, range.clone(), track, states)?;
                if values.values().iter().any(|v| !v.is_nan()) {
                    track.columns.insert(head.name.clone(), values);
                }
            }
        }
        let first = all.len().saturating_sub(tracks.len());
        for (likely, (part, _)) in (first..).zip(&tracks) {
            let track = tracks::of_flow(&mut all, likely, part.key());
            tracks::extend(track, |times| times.extend(&part.times), part.columns.iter());
        }
    }
    Ok(all)
}

/// Reads values of a column as numbers. States are stored by name.
fn part(
    column: &Column,
    rows: std::ops::Range<usize>,
    track: &Track,
    states: &States<'_>,
) -> io::Result<RunLength> {
    match column {
        Column::Words(names) => {
            let number = |name: &Option<Arc<str>>| match name {
                None => Ok(f64::NAN),
                Some(name) => states.number(track.key(), name).ok_or_else(damaged),
            };
            names.get(rows).ok_or_else(damaged)?.iter().map(number).collect()
        }
        Column::Real(values) => Ok(RunLength::from_values(values.get(rows).ok_or_else(damaged)?)),
        Column::Count(values) => {
            let values = values.get(rows).ok_or_else(damaged)?;
            Ok(values.iter().map(|v| v.map_or(f64::NAN, |v| v as f64)).collect())
        }
        Column::Text(_) | Column::Int(_) => Err(damaged()),
    }
}

#[cfg(test)]
mod tests {
    use experiment::file::SweepAxes;
    use experiment::place::Place;

    use super::*;
    use crate::columns::{self, are_whole};
    use crate::summary::FlowRow;
    use crate::variables::Variables;

    fn track(repetition: u32, flow: u32, columns: &[(&str, &[f64])]) -> Track {
        let times = (0..columns[0].1.len()).map(|i| i as f64).collect();
        let columns = columns
            .iter()
            .map(|(name, values)| ((*name).to_owned(), RunLength::from_values(values)))
            .collect();
        Track { variant: "v".to_owned(), row: "cubic".into(), repetition, flow, times, columns }
    }

    fn drawn(columns: &[&'static str]) -> ChartSelection<'static> {
        let columns = columns.iter().copied().collect();
        ChartSelection { rows: vec![&[]], columns, first: BTreeMap::new(), every_run: false }
    }

    fn stored(parts: &[Vec<Track>], drawn: &mut ChartSelection<'_>) -> Vec<Track> {
        let controllers = ControllerInfo { states: States::default(), variables: &Variables::new() };
        written(parts, &controllers, |path| read(path, drawn, &controllers.states).unwrap())
    }

    fn written<R>(
        parts: &[Vec<Track>],
        controllers: &ControllerInfo<'_>,
        read: impl FnOnce(&Path) -> R,
    ) -> R {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("series.parquet");
        let mut samples = Samples::new();
        for (name, values) in parts.iter().flatten().flat_map(|track| &track.columns) {
            *samples.entry(name.clone()).or_insert(true) &= are_whole(values.values());
        }
        let swept = SweepAxes::default();
        let keys = Keys::new(&swept);
        let mut out = SeriesWriter::begin(&path, &samples, &keys, controllers).unwrap();
        for part in parts {
            out.add(Part::from_tracks(part)).unwrap();
            out.group().unwrap();
        }
        out.finish().unwrap();
        read(&path)
    }

    /// NaN is not equal to itself, so values are compared as text.
    #[test]
    fn stored_and_reloaded_they_are_what_they_were() {
        let tracks = vec![
            track(0, 0, &[("cwnd_bytes", &[f64::NAN, 3000.0]), ("ssthresh", &[f64::INFINITY, 1.5])]),
            track(0, 1, &[("cwnd_bytes", &[1200.0, 1200.0]), ("mode", &[0.0, 2.0])]),
        ];
        let back = stored(std::slice::from_ref(&tracks), &mut drawn(&["cwnd_bytes", "ssthresh", "mode"]));
        assert_eq!(format!("{back:?}"), format!("{tracks:?}"));
    }

    /// Two flows are read from three groups. A late column is empty before, and unselected columns
    /// are not read.
    #[test]
    fn groups_are_parts_of_one_run() {
        let part = |x: f64| vec![track(0, 0, &[("x", &[x])]), track(0, 1, &[("x", &[-x]), ("y", &[0.5])])];
        let late = vec![track(0, 0, &[("x", &[3.0]), ("z", &[7.0])]), track(0, 1, &[("x", &[-3.0])])];
        let second = vec![track(1, 0, &[("x", &[9.0])])];
        let back = stored(&[part(1.0), part(2.0), late, second], &mut drawn(&["x", "z"]));
        assert_eq!(back.len(), 2, "the first repetition");
        assert_eq!(back[0].columns["x"].to_vec(), [1.0, 2.0, 3.0]);
        assert_eq!(format!("{:?}", back[0].columns["z"].to_vec()), "[NaN, NaN, 7.0]");
        assert_eq!(back[1].columns["x"].to_vec(), [-1.0, -2.0, -3.0]);
        assert!(!back[1].columns.contains_key("y"));
    }

    /// All repetitions are read, and no other column.
    #[test]
    fn every_run_of_a_column() {
        let runs: Vec<Vec<Track>> =
            (0..3).map(|run| vec![track(run, 0, &[("x", &[f64::from(run)]), ("y", &[0.5])])]).collect();
        let back = stored(&runs, &mut ChartSelection::all_runs(&["x"]));
        let values: Vec<f64> = back.iter().map(|track| track.columns["x"].values()[0]).collect();
        assert_eq!((values, back[0].columns.len()), (vec![0.0, 1.0, 2.0], 1));
    }

    /// Tables have the names of states and tracks have their numbers, without loss for any
    /// controller.
    #[test]
    fn states_are_stored_by_name() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let named = BTreeMap::from([
            ("a".to_owned(), names(&["Startup", "Drain"])),
            ("b".to_owned(), names(&["Hold", "Drain", "Startup"])),
        ]);
        let summary = Summary {
            experiment: String::new(),
            world: Place::SIM,
            title: String::new(),
            source: String::new(),
            note: String::new(),
            why_reference: String::new(),
            metrics: Vec::new(),
            variants: Vec::new(),
            claims: Vec::new(),
            charts: Vec::new(),
            states: named,
            variables: Variables::new(),
            exchanges: Vec::new(),
        };
        let flow = |flow, algorithm: &str| FlowRow {
            variant: "v".to_owned(),
            row: "cubic".into(),
            repetition: 0,
            flow,
            label: String::new(),
            algorithm: algorithm.to_owned(),
            values: BTreeMap::new(),
        };
        let flows = [flow(0, "a"), flow(1, "b"), flow(2, "cubic"), flow(3, "unnamed")];
        let controllers = ControllerInfo::from_summary(&summary, &flows);
        let series = vec![
            track(0, 0, &[("state", &[1.0, f64::NAN])]),
            track(0, 1, &[("state", &[0.0, 2.0])]),
            track(0, 2, &[("cwnd_bytes", &[1.0, 1.0])]),
            track(0, 3, &[("state", &[-1.0, 7.0])]),
        ];
        written(std::slice::from_ref(&series), &controllers, |path| {
            let table = columns::read(path).unwrap();
            let column = table.iter().find(|column| column.name == "state").unwrap();
            let words =
                [Some("Drain"), None, Some("Hold"), Some("Startup"), None, None, Some("-1"), Some("7")];
            assert_eq!(column.column, Column::Words(words.map(|word| word.map(Into::into)).to_vec()));
            assert_eq!(
                column.description,
                "the controller's state; a: Startup, Drain; b: Hold, Drain, Startup"
            );
            let back = read(path, &mut drawn(&["state", "cwnd_bytes"]), &controllers.states).unwrap();
            assert_eq!(format!("{back:?}"), format!("{series:?}"));
            let unknown = read(path, &mut drawn(&["state"]), &States::default());
            assert!(unknown.is_err(), "a name that the summary does not have");
        });
    }
}
