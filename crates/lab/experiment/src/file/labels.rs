//! Names that claims, charts and sentences of a file may use: rows, variants, metrics, groups.

use crate::file::groups::Groups;
use crate::file::reference::Reference;
use crate::file::vary::Case;
use crate::metric::Metric;
use crate::place::Place;
use crate::row::RowLabel;

/// Contents of a table, used to check that a claim or a known deviation refers to them.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    pub(crate) rows: Vec<RowLabel>,
    pub(crate) variants: Vec<String>,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) groups: Groups,
    pub(crate) published: Option<Reference>,
}

impl Labels {
    /// Adds the rows of this backend next to the simulator's.
    pub(crate) fn on(&self, world: Place) -> Self {
        let mut labels = self.clone();
        if world != Place::SIM {
            labels.rows.extend(self.rows.iter().map(|row| row.on(world)));
        }
        labels
    }

    /// Returns the source's number for a row, whichever backend ran it.
    pub(crate) fn published(&self, row: &RowLabel, metric: &Metric) -> Option<f64> {
        self.published.as_ref()?.value(row, metric)
    }

    pub(super) fn new(cases: &[Case], metrics: Vec<Metric>, groups: Groups) -> Self {
        let mut labels = Self { rows: Vec::new(), variants: Vec::new(), metrics, groups, published: None };
        for case in cases {
            if labels.variants.last() != Some(&case.variant) {
                labels.variants.push(case.variant.clone());
            }
            if labels.variants.len() == 1 {
                labels.rows.push(case.label());
            }
        }
        labels
    }
}
