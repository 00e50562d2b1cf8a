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

/// What rows of other stacks are, for the notes of a table.
const OTHERS: &str = "Rows of other stacks on the wire are processes with their own controllers of these names, loss recovery, pacing and \
                      acknowledgements: of the file they have the network, the datagrams and the times.";

/// The stack whose processes are a row's flows; none where they are the kernel's and ours.
fn program(on: Backend) -> Option<programs::Stack> {
    let name = on.stack().filter(|_| on != Backend::Wire)?;
    programs::shipped().into_iter().find(|stack| stack.name() == name)
}

/// Whether what runs a row is on this machine.
///
/// # Errors
/// What is missing, and the command that installs it.
pub(crate) fn locate(on: Backend) -> Result<(), String> {
    program(on).map_or(Ok(()), |stack| stack.locate().map(drop).map_err(|why| why.to_string()))
}

/// Gets the privileges. A user namespace must come before any thread.
pub(crate) fn prepare() -> Result<(), Failure> {
    emu::privilege::acquire().map(drop).map_err(|e| Failure::Wire(e.to_string()))
}

/// Every case, and behind it, as rows of their own, the same on the wire if it can run there, and on the stack if that is QUIC; and why others
/// cannot.
pub(super) fn cases(exp: &Experiment, backends: &[Backend]) -> Result<(Vec<Case>, String), Failure> {
    let can = |scenario: &Scenario, on| match program(on) {
        None => fits(scenario).map(drop),
        Some(stack) => programs::check(scenario, &stack, None).map_err(|why| why.to_string()),
    };
    let (cases, left_out) = beside::cases(exp, backends, can).map_err(Failure::Wire)?;
    let mut all = Vec::new();
    let (mut measured, mut left, mut others) = (false, false, false);
    for case in cases {
        // It takes as long as it says.
        let is_measured = case.on.world() == Backend::Wire;
        if is_measured && !exp.is_reference(&case.variant) {
            left = true;
            continue;
        }
        measured |= is_measured;
        others |= program(case.on).is_some();
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
    let notes = [(others, OTHERS), (left, REFERENCE_ALONE), (true, left_out.as_str())];
    let notes: Vec<&str> = notes.into_iter().filter(|(is, _)| *is).map(|(_, note)| note).collect();
    Ok((all, notes.join(" ").trim().to_owned()))
}

/// The kernel can carry it, and our endpoints its flows of QUIC.
fn fits(scenario: &Scenario) -> Result<Feasibility, String> {
    let fit = Feasibility::of(scenario)?;
    if fit.flows.iter().any(Option::is_none) {
        Stack::Ackclock.check_all(scenario).map_err(|why| format!("of a flow: {why}"))?;
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
    on: Backend,
    scenario: &Scenario,
    pcap: Option<&Path>,
    watch: &Watch,
) -> Result<(Outcome, Audit), Failure> {
    let mut repeated = 0;
    loop {
        let measured = match program(on) {
            None => once(scenario, pcap, watch),
            Some(stack) => once_as_processes(scenario, &stack, pcap, watch),
        };
        let (outcome, invalid_reasons) = match measured {
            // A handshake may be lost like any packet.
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

/// The kernel's TCP and our QUIC; an outcome, and why it is not valid.
fn once(scenario: &Scenario, pcap: Option<&Path>, watch: &Watch) -> Result<(Outcome, Vec<String>), Failure> {
    let fit = fits(scenario).map_err(Failure::Wire)?;
    let make = guests(scenario, &fit);
    let measured = testbed::run(scenario, &fit, make, pcap.map(Path::to_owned), watch);
    let measured = measured.map_err(|e| Failure::Wire(e.to_string()))?;
    let Measured { outcome, invalid_reasons, .. } = measured.ok_or(Failure::Interrupted(0))?;
    Ok((outcome, invalid_reasons))
}

/// Another stack's.
fn once_as_processes(
    scenario: &Scenario,
    stack: &programs::Stack,
    pcap: Option<&Path>,
    watch: &Watch,
) -> Result<(Outcome, Vec<String>), Failure> {
    let options = programs::Options { pcap: pcap.map(Path::to_owned), ..programs::Options::default() };
    let measured = programs::run_with(scenario, stack, None, &options, watch);
    let measured = measured.map_err(|why| match why {
        programs::Error::Interrupted => Failure::Interrupted(0),
        why => Failure::Wire(why.to_string()),
    })?;
    Ok((measured.outcome, measured.invalid_reasons))
}

/// Whether a run of this scenario there knows this metric, also that of a group.
pub(super) fn tells(on: Backend, scenario: &Scenario, metric: &Metric) -> bool {
    let unknown = if program(on).is_some() { &programs::UNKNOWN } else { testbed::unknown(scenario) };
    !unknown.contains(&metric.word())
}

/// `2026-11-21T23:30:00Z, Linux 6.18.5`.
#[allow(clippy::disallowed_methods, reason = "the time of day, for the manifest of a measurement")]
pub(super) fn here_and_now() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{}, Linux {}", humantime::format_rfc3339_nanos(std::time::SystemTime::now()), kernel.trim())
}
