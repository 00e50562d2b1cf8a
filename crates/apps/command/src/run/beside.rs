//! Cases on other backends, next to the simulated ones.

use std::collections::BTreeMap;

use experiment::backend::Backend;
use experiment::file::{Case, Experiment};
use scenario::Scenario;

/// Returns every case, each followed by the same case on each backend that can run it. Adds a
/// sentence for each backend that cannot run some of them.
///
/// # Errors
/// The reasons why no case can run on any of the backends.
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
    let no_case = |(place, reasons)| format!("no case of {} can run on {place}: {reasons}", exp.file);
    Err(sentences.map(no_case).collect::<Vec<_>>().join("; "))
}
