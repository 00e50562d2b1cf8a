//! Runs on the wire, in real time: the cases that can run there, and repetition of invalid runs.

use std::fs;
use std::path::Path;

use scenario::{Outcome, Scenario, Watch};

use super::Failure;
use super::{beside, processes};
use experiment::backend::Backend;
use experiment::file::{Case, Experiment};
use experiment::metric::Metric;
use results::store::Audit;
use stack::{Profile, Stack};
use wire::endpoints::{Feasibility, MakeGuests, Measured};

/// Largest number of tries. Other programs on the machine can make a run invalid.
const TRIES: u32 = 3;

/// Note of a table about variants that were not measured.
const REFERENCE_ALONE: &str =
    "Only the reference variants were measured, because runs on the wire take real time.";

/// Note of a table about rows of other stacks.
const OTHERS: &str = "Rows of other stacks on the wire are processes with their own controllers of these names, loss recovery, pacing and \
                      acknowledgements. From the file they take the network, the datagram size and the times.";

/// Checks that the program behind a backend is installed.
///
/// # Errors
/// The missing part, and the command that installs it.
pub(crate) fn locate(on: Backend) -> Result<(), String> {
    processes::stack_of(on).map_or(Ok(()), |stack| processes::locate(&stack))
}

/// Acquires the privileges. A user namespace must be entered before any thread starts.
pub(crate) fn prepare() -> Result<(), Failure> {
    wire::emu::privilege::acquire().map(drop).map_err(|e| Failure::Wire(e.to_string()))
}

/// Returns every case, each followed by the same case on the wire if it can run there, and on the
/// stack if it is QUIC. Adds the notes for the table.
pub(super) fn cases(exp: &Experiment, backends: &[Backend]) -> Result<(Vec<Case>, String), Failure> {
    let can = |scenario: &Scenario, on| match processes::stack_of(on) {
        None => fits(scenario).map(drop),
        Some(stack) => processes::check(scenario, &stack),
    };
    let (cases, left_out) = beside::cases(exp, backends, can).map_err(Failure::Wire)?;
    let mut all = Vec::new();
    let (mut measured, mut left, mut others) = (false, false, false);
    for case in cases {
        // In real time, only the reference variants are worth their time.
        let is_measured = case.on.world() == Backend::Wire;
        if is_measured && !exp.is_reference(&case.variant) {
            left = true;
            continue;
        }
        measured |= is_measured;
        others |= processes::stack_of(case.on).is_some();
        let is_of_guests = || Feasibility::check(&exp.scenario(&case, 0)).is_ok_and(|fit| fit.guests_only());
        if case.on == Backend::Wire && is_of_guests() {
            all.push(case.run_on(Backend::Stack));
        }
        all.push(case);
    }
    if !measured {
        let why = format!("no reference variant of {} can run on the wire: {left_out}", exp.file);
        return Err(Failure::Wire(why));
    }
    let notes = [(others, OTHERS), (left, REFERENCE_ALONE), (true, left_out.as_str())];
    let notes: Vec<&str> = notes.into_iter().filter(|(is, _)| *is).map(|(_, note)| note).collect();
    Ok((all, notes.join(" ").trim().to_owned()))
}

/// Checks that the kernel can run the TCP flows of a scenario, and our endpoints its QUIC flows.
fn fits(scenario: &Scenario) -> Result<Feasibility, String> {
    let fit = Feasibility::check(scenario)?;
    if fit.flows.iter().any(Option::is_none) {
        Stack::Ackclock.check_scenario(scenario).map_err(|why| format!("flow: {why}"))?;
    }
    Ok(fit)
}

/// Returns a constructor of our endpoints for the QUIC flows, if there are any.
fn guests(scenario: &Scenario, fit: &Feasibility) -> Option<MakeGuests> {
    let scenario = fit.flows.iter().any(Option::is_none).then(|| scenario.clone())?;
    Some(Box::new(move || stack::guests(&scenario, &Profile::default()).map_err(|why| why.to_string())))
}

/// Makes a run, up to [`TRIES`] times until it is valid. Returns its outcome and audit. `pcap` has
/// the traffic of the last try.
pub(super) fn run(
    on: Backend,
    scenario: &Scenario,
    pcap: Option<&Path>,
    watch: &Watch,
) -> Result<(Outcome, Audit), Failure> {
    let mut repeated = 0;
    loop {
        let measured = match processes::stack_of(on) {
            None => once(scenario, pcap, watch),
            Some(stack) => processes::once(scenario, &stack, pcap, watch),
        };
        let (outcome, invalid_reasons) = match measured {
            // Packets of the handshake can be lost like any other.
            Err(Failure::Wire(_)) if repeated + 1 < TRIES => {
                repeated += 1;
                continue;
            }
            measured => measured?,
        };
        if invalid_reasons.is_empty() || repeated + 1 == TRIES {
            return Ok((outcome, Audit { invalid_reasons, repeated }));
        }
        repeated += 1;
    }
}

/// Runs the kernel's TCP and our QUIC once. Returns the outcome, and the reasons why it is not
/// valid.
fn once(scenario: &Scenario, pcap: Option<&Path>, watch: &Watch) -> Result<(Outcome, Vec<String>), Failure> {
    let fit = fits(scenario).map_err(Failure::Wire)?;
    let make = guests(scenario, &fit);
    let measured = wire::endpoints::run(scenario, &fit, make, pcap.map(Path::to_owned), watch);
    let measured = measured.map_err(|e| Failure::Wire(e.to_string()))?;
    let Measured { outcome, invalid_reasons, .. } = measured.ok_or(Failure::Interrupted(0))?;
    Ok((outcome, invalid_reasons))
}

/// Reports whether a run of this scenario on the wire knows this metric, of all flows or of a
/// group.
pub(super) fn knows(on: Backend, scenario: &Scenario, metric: &Metric) -> bool {
    let unknown = if processes::stack_of(on).is_some() {
        processes::UNKNOWN
    } else {
        wire::endpoints::unknown(scenario)
    };
    !unknown.contains(&metric.word())
}

/// Returns time and kernel of a measurement, as in `2026-11-21T23:30:00Z, Linux 6.18.5`.
#[allow(clippy::disallowed_methods, reason = "the time of day, for the manifest of a measurement")]
pub(super) fn here_and_now() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{}, Linux {}", humantime::format_rfc3339_nanos(std::time::SystemTime::now()), kernel.trim())
}
