//! The runner's part of the wire: which cases can run there, and a run that is made again if it is not valid.

use std::fs;
use std::path::Path;

use scenario::{Outcome, Scenario, Watch};

use super::Failure;
use super::beside;
use experiment::backend::Backend;
use experiment::file::{Case, Experiment};
use experiment::metric::Metric;
use results::store::Audit;
use stack::{Profile, Stack};
use testbed::{Feasibility, Make, Measured};

/// A shared machine is not always itself: a run that is not valid is made again, so often altogether.
const TRIES: u32 = 3;

/// Of an experiment with more variants than those, for the notes of a table.
const REFERENCE_ALONE: &str =
    "Of the variants those of the reference were measured: a run on the wire takes its time.";

/// Gets the privileges. A user namespace must come before any thread.
pub(crate) fn prepare() -> Result<(), Failure> {
    emu::privilege::acquire().map(drop).map_err(|e| Failure::Wire(e.to_string()))
}

/// Every case, and behind it, as rows of their own, the same on the wire if it can run there, and on the stack if that is QUIC; and why others
/// cannot.
pub(super) fn cases(exp: &Experiment) -> Result<(Vec<Case>, String), Failure> {
    let can = |scenario: &Scenario, _| fits(scenario).map(drop);
    let (cases, left_out) = beside::cases(exp, &[Backend::Wire], can).map_err(Failure::Wire)?;
    let mut all = Vec::new();
    let (mut measured, mut left) = (false, false);
    for case in cases {
        // It takes as long as it says.
        if case.on == Backend::Wire && !exp.is_reference(&case.variant) {
            left = true;
            continue;
        }
        measured |= case.on == Backend::Wire;
        let is_of_guests = || Feasibility::of(&exp.scenario(&case, 0)).is_ok_and(|fit| fit.is_of_guests());
        if case.on == Backend::Wire && is_of_guests() {
            all.push(case.run_on(Backend::Stack));
        }
        all.push(case);
    }
    if !measured {
        let why = format!("of {} no variant of the reference can run on the wire: {left_out}", exp.file);
        return Err(Failure::Wire(why));
    }
    let notes = [left_out.as_str(), if left { REFERENCE_ALONE } else { "" }];
    Ok((all, notes.join(" ").trim().to_owned()))
}

/// The kernel can carry it, and our endpoints its flows of QUIC.
fn fits(scenario: &Scenario) -> Result<Feasibility, String> {
    let fit = Feasibility::of(scenario)?;
    if fit.flows.iter().any(Option::is_none) {
        Stack::Kneepoint.check_all(scenario).map_err(|why| format!("of a flow: {why}"))?;
    }
    Ok(fit)
}

/// Who carries the flows of QUIC: our endpoints.
fn guests(scenario: &Scenario, fit: &Feasibility) -> Option<Make> {
    let scenario = fit.flows.iter().any(Option::is_none).then(|| scenario.clone())?;
    Some(Box::new(move || stack::guests(&scenario, &Profile::default()).map_err(|why| why.to_string())))
}

/// A run, and what it says of itself. The traffic of the last try is in `pcap`.
pub(super) fn run(
    scenario: &Scenario,
    pcap: Option<&Path>,
    watch: &Watch,
) -> Result<(Outcome, Audit), Failure> {
    let fit = fits(scenario).map_err(Failure::Wire)?;
    let mut repeated = 0;
    loop {
        let make = guests(scenario, &fit);
        let measured = testbed::run(scenario, &fit, make, pcap.map(Path::to_owned), watch);
        let measured = match measured {
            // A handshake may be lost like any packet.
            Err(_) if repeated + 1 < TRIES => {
                repeated += 1;
                continue;
            }
            measured => measured.map_err(|e| Failure::Wire(e.to_string()))?,
        };
        let Measured { outcome, invalid_reasons, .. } = measured.ok_or(Failure::Interrupted(0))?;
        if invalid_reasons.is_empty() || repeated + 1 == TRIES {
            return Ok((outcome, Audit { invalid_reasons, repeated }));
        }
        repeated += 1;
    }
}

/// Whether a run of this scenario on the wire knows this metric, also that of a group.
pub(super) fn tells(scenario: &Scenario, metric: &Metric) -> bool {
    !testbed::unknown(scenario).contains(&metric.word())
}

/// `2026-11-21T23:30:00Z, Linux 6.18.5`.
#[allow(clippy::disallowed_methods, reason = "the time of day, for the manifest of a measurement")]
pub(super) fn here_and_now() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{}, Linux {}", humantime::format_rfc3339_nanos(std::time::SystemTime::now()), kernel.trim())
}
