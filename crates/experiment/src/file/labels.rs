//! What claims, charts and sentences of a file may name: rows, variants, metrics, groups.

use crate::backend::Backend;
use crate::file::groups::Groups;
use crate::file::reference::Reference;
use crate::file::vary::Case;
use crate::metric::Metric;
use crate::row::RowLabel;

/// What a table has: for checking that a claim or a known deviation speaks of it.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    pub(crate) rows: Vec<RowLabel>,
    pub(crate) variants: Vec<String>,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) groups: Groups,
    pub(crate) published: Option<Reference>,
}

impl Labels {
    /// With the rows of this world beside the simulator's.
    pub(crate) fn on(&self, world: Backend) -> Self {
        let mut labels = self.clone();
        if world != Backend::Sim {
            labels.rows.extend(self.rows.iter().map(|row| row.on(world)));
        }
        labels
    }

    /// What the source prints for a row of any world.
    pub(crate) fn published(&self, row: &RowLabel, metric: &Metric) -> Option<f64> {
        self.published.as_ref()?.value(row, metric)
    }

    pub(super) fn of(cases: &[Case], metrics: Vec<Metric>, groups: Groups) -> Self {
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
