//! Names of controllers' states. Series hold numbers, tables hold names, and a summary has the
//! names for each controller.

use std::collections::BTreeMap;
use std::sync::Arc;

use congestion::STATE;

use crate::summary::{FlowRow, Summary};

/// Column of the series with the states.
pub(crate) const COLUMN: &str = STATE;

/// Flow of a run: variant, row, repetition, number.
pub(crate) type FlowKey<'a> = (&'a str, &'a str, u32, u32);

/// State names of each flow.
#[derive(Debug, Default)]
pub(crate) struct States<'a> {
    by_flow: BTreeMap<FlowKey<'a>, Arc<[Arc<str>]>>,
    all: Option<&'a BTreeMap<String, Vec<String>>>,
}

impl<'a> States<'a> {
    pub(crate) fn from_summary(summary: &'a Summary, flows: &'a [FlowRow]) -> Self {
        let shared = |names: &Vec<String>| names.iter().map(|name| Arc::from(name.as_str())).collect();
        let known: BTreeMap<&str, Arc<[Arc<str>]>> =
            summary.states.iter().map(|(algorithm, names)| (algorithm.as_str(), shared(names))).collect();
        let named = flows.iter().filter_map(|flow| {
            let names = known.get(flow.algorithm.as_str())?;
            Some(((flow.variant.as_str(), flow.row.as_str(), flow.repetition, flow.flow), Arc::clone(names)))
        });
        Self { by_flow: named.collect(), all: Some(&summary.states) }
    }

    fn names<'s>(&'s self, flow: FlowKey<'s>) -> &'s [Arc<str>] {
        self.by_flow.get(&flow).map_or(&[], |names| names)
    }

    /// Returns the name of a flow's state; `None` for NaN. A number without a name is returned as
    /// text.
    pub(crate) fn named(&self, flow: FlowKey<'_>, number: f64) -> Option<Arc<str>> {
        if number.is_nan() {
            return None;
        }
        let name = self.names(flow).get(number as usize).filter(|_| number >= 0.0 && number.fract() == 0.0);
        Some(name.cloned().unwrap_or_else(|| number.to_string().into()))
    }

    /// Returns the number of a state's name.
    pub(crate) fn number(&self, flow: FlowKey<'_>, name: &str) -> Option<f64> {
        let place = self.names(flow).iter().position(|known| **known == *name);
        place.map(|i| i as f64).or_else(|| name.parse().ok())
    }

    /// Describes the column, with the names of each controller in the order of their numbers.
    pub(crate) fn description(&self) -> String {
        let list =
            |(algorithm, names): (&String, &Vec<String>)| format!("; {algorithm}: {}", names.join(", "));
        "the controller's state".to_owned() + &self.all.into_iter().flatten().map(list).collect::<String>()
    }
}
