//! Active queue management: decides which packets to mark or drop before the queue is full.
//!
//! "Signal" below means: set CE on an ECN-capable packet (ECT(0), ECT(1) or already CE), drop any
//! other.
//!
//! RED decides when a packet arrives, from the backlog alone. The others need the state of the
//! queue when a packet leaves it. `link/mod.rs` explains the consequences for the link.

mod check;
pub mod codel;
pub(crate) mod discipline;
pub mod dual_pi2;
pub(crate) mod fifo;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod fq_codel;
pub mod pie;
pub mod red;
pub(crate) mod signals;
mod threshold;
mod ticker;

use serde::{Deserialize, Serialize};
pub use threshold::Threshold;

use crate::limit::Limit;

/// Queue management, as named in an experiment file: `{ name = "codel", target = "5 ms" }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "aqm"))]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum Aqm {
    /// No management: a packet that does not fit is dropped.
    DropTail(DropTail),
    /// RED: Floyd and Jacobson 1993; classic, gentle, or marking above a threshold.
    Red(red::Params),
    /// CoDel: RFC 8289 (January 2018).
    Codel(codel::Params),
    /// FQ-CoDel: RFC 8290 (January 2018).
    FqCodel(fq_codel::Params),
    /// PIE: RFC 8033 (February 2017).
    Pie(pie::Params),
    /// DualPI2, the coupled dual queue for L4S: RFC 9332 (January 2023).
    #[serde(rename = "dualpi2")]
    DualPi2(dual_pi2::Params),
}

/// Parameters of drop-tail: none. It is a struct so that unknown keys are rejected here too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DropTail {}

impl Default for Aqm {
    fn default() -> Self {
        Self::DropTail(DropTail {})
    }
}

impl Aqm {
    /// Returns every AQM with its default parameters.
    pub fn all() -> Vec<Self> {
        vec![
            Self::default(),
            Self::Red(red::Params::default()),
            Self::Codel(codel::Params::default()),
            Self::FqCodel(fq_codel::Params::default()),
            Self::Pie(pie::Params::default()),
            Self::DualPi2(dual_pi2::Params::default()),
        ]
    }

    /// Returns the name used in experiment files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::DropTail(_) => "drop-tail",
            Self::Red(_) => "red",
            Self::Codel(_) => "codel",
            Self::FqCodel(_) => "fq-codel",
            Self::Pie(_) => "pie",
            Self::DualPi2(_) => "dualpi2",
        }
    }

    /// Reports whether one of its thresholds is a part of the link's limit.
    pub(crate) fn is_part_of_limit(&self) -> bool {
        let Self::Red(params) = self else { return false };
        [params.min, params.max].iter().any(|threshold| matches!(threshold, Threshold::OfLimit(_)))
    }

    /// Checks that all values are in range, for a queue with this limit.
    ///
    /// # Errors
    /// Returns the first rule that does not hold, with the name of its key.
    pub fn check(&self, limit: Limit) -> Result<(), String> {
        match self {
            Self::DropTail(_) => Ok(()),
            Self::Red(params) => params.check(limit),
            Self::Codel(params) => params.check(),
            Self::FqCodel(params) => params.check(),
            Self::Pie(params) => params.check(),
            Self::DualPi2(params) => params.check(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_experiment_files() {
        for aqm in Aqm::all() {
            assert_eq!(aqm.check(Limit::Packets(100)), Ok(()));
            let text = toml::to_string(&aqm).unwrap();
            assert!(text.contains(&format!("name = \"{}\"", aqm.name())), "{text}");
            assert_eq!(toml::from_str::<Aqm>(&text).unwrap(), aqm);
            let named = toml::from_str::<Aqm>(&format!("name = \"{}\"", aqm.name())).unwrap();
            assert_eq!(named, aqm, "all keys have defaults");
        }
        let aqm = toml::from_str::<Aqm>(
            "name = 'red'\nmin = '50 %'\nmax = '50 %'\naction = 'mark-only'\nweight = 1.0",
        );
        assert_eq!(aqm, Ok(Aqm::Red(red::Params::mark_above(Threshold::OfLimit(0.5)))));
    }

    #[test]
    fn refuses_unknown_keys() {
        for aqm in Aqm::all() {
            let text = format!("name = \"{}\"\ntargte = '5 ms'", aqm.name());
            assert!(toml::from_str::<Aqm>(&text).unwrap_err().to_string().contains("targte"));
        }
        assert!(toml::from_str::<Aqm>("name = 'blue'").unwrap_err().to_string().contains("fq-codel"));
    }
}
