//! The controllers' states by name. Series hold their numbers, tables their names; a summary has the names of each controller.

use std::collections::BTreeMap;
use std::sync::Arc;

use congestion::STATE;

use crate::summary::{FlowRow, Summary};

/// The column of the series that has them.
pub(crate) const COLUMN: &str = STATE;

/// A flow of a run: variant, row, repetition, number.
pub(crate) type FlowKey<'a> = (&'a str, &'a str, u32, u32);

/// The names of each flow's states.
#[derive(Debug, Default)]
pub(crate) struct States<'a> {
    of: BTreeMap<FlowKey<'a>, Arc<[Arc<str>]>>,
    all: Option<&'a BTreeMap<String, Vec<String>>>,
}

impl<'a> States<'a> {
    pub(crate) fn of(summary: &'a Summary, flows: &'a [FlowRow]) -> Self {
        let shared = |names: &Vec<String>| names.iter().map(|name| Arc::from(name.as_str())).collect();
        let known: BTreeMap<&str, Arc<[Arc<str>]>> =
            summary.states.iter().map(|(algorithm, names)| (algorithm.as_str(), shared(names))).collect();
        let named = flows.iter().filter_map(|flow| {
            let names = known.get(flow.algorithm.as_str())?;
            Some(((flow.variant.as_str(), flow.row.as_str(), flow.repetition, flow.flow), Arc::clone(names)))
        });
        Self { of: named.collect(), all: Some(&summary.states) }
    }

    fn names<'s>(&'s self, flow: FlowKey<'s>) -> &'s [Arc<str>] {
        self.of.get(&flow).map_or(&[], |names| names)
    }

    /// The name of a flow's states by their numbers; NaN is none. A number without a name stands for itself.
    pub(crate) fn named(&self, flow: FlowKey<'_>, number: f64) -> Option<Arc<str>> {
        if number.is_nan() {
            return None;
        }
        let name = self.names(flow).get(number as usize).filter(|_| number >= 0.0 && number.fract() == 0.0);
        Some(name.cloned().unwrap_or_else(|| number.to_string().into()))
    }

    /// The number that a name stands for.
    pub(crate) fn number(&self, flow: FlowKey<'_>, name: &str) -> Option<f64> {
        let place = self.names(flow).iter().position(|known| **known == *name);
        place.map(|i| i as f64).or_else(|| name.parse().ok())
    }

    /// What the column is, with the names of each controller in the order of their numbers.
    pub(crate) fn description(&self) -> String {
        let of = |(algorithm, names): (&String, &Vec<String>)| format!("; {algorithm}: {}", names.join(", "));
        "the controller's state".to_owned() + &self.all.into_iter().flatten().map(of).collect::<String>()
    }
}
