//! Cases of other backends beside the simulator's.

use std::collections::BTreeMap;

use experiment::backend::Backend;
use experiment::file::{Case, Experiment};
use scenario::Scenario;

/// Every case, and behind it, as rows of their own, the same on each of these backends that can run it; and why others cannot, in a sentence
/// for each backend.
///
/// # Errors
/// Why none can.
pub(super) fn cases(
    exp: &Experiment,
    backends: &[Backend],
    can: impl Fn(&Scenario, Backend) -> Result<(), String>,
) -> Result<(Vec<Case>, String), String> {
    let mut cases = Vec::new();
    let mut left_out: BTreeMap<Backend, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for case in exp.cases() {
        let scenario = exp.scenario(&case, 0);
        cases.push(case.clone());
        for &backend in backends {
            match can(&scenario, backend) {
                Ok(()) => cases.push(case.run_on(backend)),
                Err(why) => {
                    let rows = left_out.entry(backend).or_default().entry(why).or_default();
                    if !rows.contains(&case.row) {
                        rows.push(case.row.clone());
                    }
                }
            }
        }
    }
    let sentence = |(backend, reasons): (&Backend, &BTreeMap<String, Vec<String>>)| {
        let reasons: Vec<String> =
            reasons.iter().map(|(why, rows)| format!("{} ({why})", rows.join(", "))).collect();
        (backend.place(), reasons.join("; "))
    };
    let sentences = left_out.iter().map(sentence);
    if cases.iter().any(|case| backends.contains(&case.on)) {
        let notes: Vec<String> =
            sentences.map(|(place, reasons)| format!("Not on {place}: {reasons}.")).collect();
        return Ok((cases, notes.join(" ")));
    }
    let nothing = |(place, reasons)| format!("nothing of {} can run on {place}: {reasons}", exp.file);
    Err(sentences.map(nothing).collect::<Vec<_>>().join("; "))
}
