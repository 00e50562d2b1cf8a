//! A run in the tables.

use experiment::row::RowLabel;
use serde::{Deserialize, Serialize};

use crate::measure::Values;

/// The metrics of a run.
#[derive(Clone, Debug)]
pub struct RunRow {
    pub variant: String,
    pub row: RowLabel,
    /// Repetition, from 0.
    pub repetition: u32,
    pub seed: u64,
    pub values: Values,
    /// Audit of a run in real time, or of real endpoints that did not finish.
    pub audit: Option<Audit>,
}

/// Audit of a run in real time, or of real endpoints that did not finish.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// Reasons why the run is invalid; empty if it is valid.
    pub invalid_reasons: Vec<String>,
    /// Number of invalid attempts before it.
    pub repeated: u32,
}

impl Audit {
    /// Reads the text in `runs.csv`, which has all reasons in one and not the number of attempts.
    pub(crate) fn from_verdict(text: &str) -> Option<Self> {
        let reasons = text.strip_prefix(INVALID).map(str::to_owned).into_iter().collect();
        (!text.is_empty()).then_some(Self { invalid_reasons: reasons, repeated: 0 })
    }
}

/// Beginning of the text of an invalid run in `runs.csv`.
const INVALID: &str = "invalid: ";

impl RunRow {
    /// Reports whether the run is valid.
    pub fn is_valid(&self) -> bool {
        self.audit.as_ref().is_none_or(|audit| audit.invalid_reasons.is_empty())
    }

    /// Returns the text in `runs.csv`.
    pub(crate) fn verdict(&self) -> String {
        match &self.audit {
            None => String::new(),
            Some(audit) if audit.invalid_reasons.is_empty() => "valid".to_owned(),
            Some(audit) => format!("{INVALID}{}", audit.invalid_reasons.join("; ")),
        }
    }
}
