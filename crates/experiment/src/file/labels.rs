//! What claims, charts and sentences of a file may name: rows, variants, metrics, groups.

use crate::backend::Backend;
use crate::file::groups::Groups;
use crate::file::reference::Reference;
use crate::file::vary::Case;

/// What a table has: for checking that a claim or a miss speaks of it.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    pub(crate) rows: Vec<String>,
    pub(crate) variants: Vec<String>,
    pub(crate) metrics: Vec<String>,
    pub(crate) groups: Groups,
    pub(crate) published: Option<Reference>,
}

impl Labels {
    /// With the rows of the wire beside the others, if that is the world.
    pub(crate) fn on(&self, world: Backend) -> Self {
        let mut labels = self.clone();
        if world == Backend::Wire {
            labels.rows.extend(self.rows.iter().map(|row| world.label(row)));
        }
        labels
    }

    /// What the source prints for a row of either world.
    pub(crate) fn published(&self, row: &str, metric: &str) -> Option<f64> {
        self.published.as_ref()?.value(Backend::of(row).0, metric)
    }

    pub(super) fn of(cases: &[Case], metrics: Vec<String>, groups: Groups) -> Self {
        let mut labels = Self { rows: Vec::new(), variants: Vec::new(), metrics, groups, published: None };
        for case in cases {
            if labels.variants.last() != Some(&case.variant) {
                labels.variants.push(case.variant.clone());
            }
            if labels.variants.len() == 1 {
                labels.rows.push(case.row.clone());
            }
        }
        labels
    }
}
