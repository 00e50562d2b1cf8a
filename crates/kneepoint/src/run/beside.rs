//! Cases of another backend beside the simulator's.

use std::collections::BTreeMap;

use experiment::backend::Backend;
use experiment::file::{Case, Experiment};
use scenario::Scenario;

/// Every case, and behind it, as a row of its own, the same on this backend if it can run there; and why others cannot, in a sentence.
///
/// # Errors
/// Why none can.
pub(super) fn cases(
    exp: &Experiment,
    backend: Backend,
    can: impl Fn(&Scenario) -> Result<(), String>,
) -> Result<(Vec<Case>, String), String> {
    let mut cases = Vec::new();
    let mut left_out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for case in exp.cases() {
        let fit = can(&exp.scenario(&case, 0));
        cases.push(case.clone());
        match fit {
            Ok(()) => cases.push(case.run_on(backend)),
            Err(why) => {
                let rows = left_out.entry(why).or_default();
                if !rows.contains(&case.row) {
                    rows.push(case.row);
                }
            }
        }
    }
    let any = cases.iter().any(|case| case.on == backend);
    let reasons: Vec<String> =
        left_out.iter().map(|(why, rows)| format!("{} ({why})", rows.join(", "))).collect();
    let (reasons, word) = (reasons.join("; "), backend.word());
    match (any, reasons.is_empty()) {
        (false, _) => Err(format!("nothing of {} can run on the {word}: {reasons}", exp.file)),
        (true, true) => Ok((cases, String::new())),
        (true, false) => Ok((cases, format!("Not on the {word}: {reasons}."))),
    }
}
