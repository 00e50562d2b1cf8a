//! Consecutive samples of a run with all its flows.

use std::collections::BTreeMap;

use experiment::row::RowLabel;
use scenario::{FlowSeries, RunLength, Series};
use serde::{Deserialize, Serialize};

use crate::store::tracks;
use crate::summary::Track;

/// Column to values.
pub(super) type Columns = BTreeMap<String, RunLength>;

/// Consecutive samples of a run. Columns of the bottleneck are stored once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    variant: String,
    row: RowLabel,
    repetition: u32,
    times: RunLength,
    /// Columns that all flows share.
    shared: Columns,
    /// Number and own columns of each flow.
    flows: Vec<(u32, Columns)>,
}

impl Part {
    /// Converts samples of a run of this case. `signals` keeps the columns [`SIGNALS`].
    ///
    /// [`SIGNALS`]: experiment::chart::SIGNALS
    pub fn new(variant: &str, row: RowLabel, repetition: u32, series: Series, signals: bool) -> Self {
        let mut shared = Columns::new();
        put(&mut shared, "queue_bytes", RunLength::from_values(&series.backlog));
        put(&mut shared, "drops", RunLength::from_values(&series.drops));
        put(&mut shared, "ping_ms", RunLength::from_values(&series.probe_ms));
        put(&mut shared, "udp_mbit_s", RunLength::from_values(&series.udp_mbit_s));
        let times = RunLength::from_values(&series.times);
        let flows = (0..).zip(series.flows.into_iter().map(|flow| of_flow(flow, signals))).collect();
        Self { variant: variant.to_owned(), row, repetition, times, shared, flows }
    }

    pub(super) fn variant(&self) -> &str {
        &self.variant
    }

    pub(super) fn row(&self) -> &RowLabel {
        &self.row
    }

    pub(super) fn repetition(&self) -> u32 {
        self.repetition
    }

    pub(super) fn times(&self) -> &RunLength {
        &self.times
    }

    /// Returns the numbers of its flows.
    pub(super) fn flows(&self) -> impl Iterator<Item = u32> {
        self.flows.iter().map(|(number, _)| *number)
    }

    /// Returns a column of the flow at this index, if there is one.
    pub(super) fn column(&self, flow: usize, name: &str) -> Option<&RunLength> {
        self.shared.get(name).or_else(|| self.flows.get(flow)?.1.get(name))
    }

    /// Returns all columns.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&String, &RunLength)> {
        self.flows.iter().flat_map(|(_, own)| own).chain(&self.shared)
    }

    /// Appends the wanted columns to the tracks of its flows.
    pub(super) fn add_to(&self, all: &mut Vec<Track>, is_wanted: impl Fn(&str) -> bool) {
        let first = all.len().saturating_sub(self.flows.len());
        for (likely, (flow, own)) in (first..).zip(&self.flows) {
            let key = (&*self.variant, self.row.as_str(), self.repetition, *flow);
            let track = tracks::of_flow(all, likely, key);
            let wanted = own.iter().chain(&self.shared).filter(|(name, _)| is_wanted(name));
            tracks::extend(track, |times| self.times.add_to(times), wanted);
        }
    }
}

/// Returns the columns of a flow: all variables of the controller, and other columns that have
/// values.
fn of_flow(flow: FlowSeries, signals: bool) -> Columns {
    let mut own: Columns = flow.inner.into_iter().map(|(name, values)| (name.to_owned(), values)).collect();
    put(&mut own, "cwnd_bytes", flow.cwnd);
    put(&mut own, "bytes_in_flight", flow.bytes_in_flight);
    put(&mut own, "pacing_rate_mbit_s", flow.pacing_rate_mbit_s);
    put(&mut own, "smoothed_rtt_ms", flow.smoothed_rtt_ms);
    put(&mut own, "latest_rtt_ms", flow.latest_rtt_ms);
    put(&mut own, "goodput_mbit_s", flow.goodput_mbit_s);
    put(&mut own, "media_mbit_s", flow.media_mbit_s);
    put(&mut own, "owd_ms", flow.owd_ms);
    if signals {
        put(&mut own, "lost_packets", flow.lost_packets);
        put(&mut own, "repeated_packets", flow.repeated_packets);
        put(&mut own, "ce_packets", flow.ce_packets);
    }
    own
}

fn put(columns: &mut Columns, name: &str, values: RunLength) {
    if values.values().iter().any(|value| !value.is_nan()) {
        columns.insert(name.to_owned(), values);
    }
}

#[cfg(test)]
impl Part {
    /// Creates a part from tracks of one run without shared columns.
    pub(super) fn from_tracks(tracks: &[Track]) -> Self {
        let own = |track: &Track| {
            let columns = track.columns.iter();
            (track.flow, columns.map(|(name, values)| (name.clone(), values.clone())).collect())
        };
        Self {
            variant: tracks[0].variant.clone(),
            row: tracks[0].row.clone(),
            repetition: tracks[0].repetition,
            times: RunLength::from_values(&tracks[0].times),
            shared: Columns::new(),
            flows: tracks.iter().map(own).collect(),
        }
    }
}
