//! One run in the tables.

use experiment::row::RowLabel;
use serde::{Deserialize, Serialize};

use crate::measure::Values;

/// The metrics of one run.
#[derive(Clone, Debug)]
pub struct RunRow {
    /// Variant name.
    pub variant: String,
    /// Row label.
    pub row: RowLabel,
    /// From 0.
    pub repetition: u32,
    /// Of this run.
    pub seed: u64,
    /// All metrics.
    pub values: Values,
    /// What a run in real time says of itself, or one of real endpoints that did not come to its end.
    pub audit: Option<Audit>,
}

/// What a run in real time says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// Why it is not valid; empty if it is.
    pub invalid_reasons: Vec<String>,
    /// Tries before it that were not valid.
    pub repeated: u32,
}

impl RunRow {
    /// Whether it counts.
    pub fn is_valid(&self) -> bool {
        self.audit.as_ref().is_none_or(|audit| audit.invalid_reasons.is_empty())
    }

    /// Its word in `runs.csv`.
    pub(crate) fn verdict(&self) -> String {
        match &self.audit {
            None => String::new(),
            Some(audit) if audit.invalid_reasons.is_empty() => "valid".to_owned(),
            Some(audit) => format!("invalid: {}", audit.invalid_reasons.join("; ")),
        }
    }
}
