//! The runner's part of the wire: which cases can run there, and a run that is made again if it is not valid.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sim::{Outcome, Scenario, Watch};

use super::Failure;
use crate::spec::{Case, Experiment};
use crate::store::Audit;
use crate::wire::world::{self, Fit, Measured};

/// A shared machine is not always itself: a run that is not valid is made again, so often altogether.
const TRIES: u32 = 3;

/// The cases that can run on the wire, each with its simulation before it; and why others cannot.
pub(super) fn cases(exp: &Experiment) -> Result<(Vec<Case>, String), Failure> {
    let mut cases = Vec::new();
    let mut left_out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for case in exp.cases() {
        match Fit::of(&exp.scenario(&case, 0)?) {
            Ok(_) => {
                let wire = case.on_wire();
                cases.extend([case, wire]);
            }
            Err(why) => {
                let rows = left_out.entry(why).or_default();
                if !rows.contains(&case.row) {
                    rows.push(case.row);
                }
            }
        }
    }
    let reasons: Vec<String> =
        left_out.iter().map(|(why, rows)| format!("{} ({why})", rows.join(", "))).collect();
    let reasons = reasons.join("; ");
    match (cases.is_empty(), reasons.is_empty()) {
        (true, _) => Err(Failure::Wire(format!("nothing of {} can run on the wire: {reasons}", exp.file))),
        (false, true) => Ok((cases, String::new())),
        (false, false) => Ok((cases, format!("Not on the wire: {reasons}."))),
    }
}

/// A run, and what it says of itself. The traffic of the last try is in `pcap`.
pub(super) fn run(
    scenario: &Scenario,
    pcap: Option<&Path>,
    watch: &Watch,
) -> Result<(Outcome, Audit), Failure> {
    let fit = Fit::of(scenario).map_err(Failure::Wire)?;
    let mut repeated = 0;
    loop {
        let measured = world::run(scenario, &fit, pcap.map(Path::to_owned), watch);
        let measured = measured.map_err(|e| Failure::Wire(e.to_string()))?;
        let Measured { outcome, objections } = measured.ok_or(Failure::Interrupted)?;
        if objections.is_empty() || repeated + 1 == TRIES {
            return Ok((outcome, Audit { objections, repeated }));
        }
        repeated += 1;
    }
}

/// Whether a run on the wire knows this metric, also that of a group.
pub(super) fn tells(word: &str) -> bool {
    !world::UNKNOWN.contains(&crate::metric::scope(word).0)
}

/// `2026-11-21T23:30:00Z, Linux 6.18.5`.
pub(super) fn here_and_now() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{}, Linux {}", crate::wire::clock(), kernel.trim())
}
