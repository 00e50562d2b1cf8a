//! The first repetition of a row, which charts of single runs show.

use std::collections::BTreeMap;

use super::Source;
use super::kinds::Kind;
use results::summary::{FlowRow, Track};

/// A run with its flows, in their order.
pub(super) struct Run<'a> {
    pub(super) row: &'a str,
    pub(super) flows: Vec<Member<'a>>,
}

/// A flow of a run with its data.
pub(super) struct Member<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) track: Option<&'a Track>,
    pub(super) metrics: Option<&'a FlowRow>,
}

impl<'a> Run<'a> {
    /// Returns the first run of a row, if any of its data is left.
    pub(super) fn first(source: &'a Source<'_>, variant: &str, row: &'a str) -> Option<Self> {
        let results = source.results;
        let tracks = || results.series.iter().filter(|t| t.variant == variant && t.row == row);
        let rows = || results.flows.iter().filter(|f| f.variant == variant && f.row == row);
        let first = tracks().map(|t| t.repetition).chain(rows().map(|f| f.repetition)).min()?;
        let mut flows: BTreeMap<u32, Member<'a>> = BTreeMap::new();
        let unknown = || Member { kind: Kind::from_row(source, row), track: None, metrics: None };
        for track in tracks().filter(|t| t.repetition == first) {
            flows.entry(track.flow).or_insert_with(unknown).track = Some(track);
        }
        for metrics in rows().filter(|f| f.repetition == first) {
            let member = flows.entry(metrics.flow).or_insert_with(unknown);
            (member.kind, member.metrics) = (Kind::from_flow(metrics), Some(metrics));
        }
        Some(Self { row, flows: flows.into_values().collect() })
    }

    /// Returns its flows with a time series.
    pub(super) fn tracks(&self) -> impl Iterator<Item = (Kind<'a>, &'a Track)> {
        self.flows.iter().filter_map(|flow| Some((flow.kind, flow.track?)))
    }

    /// Returns a metric of its flows.
    pub(super) fn values(&self, metric: &str) -> impl Iterator<Item = (Kind<'a>, f64)> {
        self.flows.iter().filter_map(move |flow| Some((flow.kind, *flow.metrics?.values.get(metric)?)))
    }
}
