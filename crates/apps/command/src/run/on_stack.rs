//! Runs on real stacks in virtual time: the cases that can run there, the endpoints of their flows,
//! and the metrics that are unknown.

use experiment::backend::Backend;
use experiment::file::{Case, Experiment};
use experiment::metric::Metric;
use results::store::Audit;
use scenario::{FlowConfig, Guests, Outcome, Scenario, Transport};
use stack::{Host, Profile, Refusal, Stack, guests_on};

use super::beside;
use super::options::Failure;

/// Returns the stack that runs a row.
fn stack(on: Backend) -> Option<Stack> {
    let name = on.stack().filter(|_| on.world() == Backend::Stack);
    Stack::ALL.into_iter().find(|stack| Some(stack.word()) == name)
}

/// Note of a table about rows of stacks other than ours.
const OTHERS: &str = "Rows of other stacks run the file's controllers inside those stacks, or the stack's own if `own-controller` is set. \
                      Loss recovery, pacing and acknowledgements are the stack's own: the keys `recovery` and `ack` do not apply. \
                      The handshake is part of the run, with or without `handshake`.";
/// Note of a table about rows of aioquic.
const AIOQUIC: &str = "Rows of aioquic use its own controllers of these names.";

/// Note of a table about TCP flows.
const MIXED: &str =
    "TCP flows are simulated in the rows of stacks too, on the same links as the QUIC connections.";

fn is_tcp(flow: &FlowConfig) -> bool {
    matches!(flow.transport, Transport::Tcp { .. })
}

/// Returns every case, each followed by the same case on the stacks that can run it, and the notes
/// for the table.
pub(super) fn cases(exp: &Experiment, backends: &[Backend]) -> Result<(Vec<Case>, String), Failure> {
    let (cases, left_out) = beside::cases(exp, backends, can_run).map_err(Failure::Stack)?;
    let on_stacks = || cases.iter().filter(|case| stack(case.on).is_some());
    let others = on_stacks().any(|case| case.on.is_external());
    let mixed = on_stacks().any(|case| exp.scenario(case, 0).flows.iter().any(is_tcp));
    let aioquic = on_stacks().any(|case| case.on == Backend::Aioquic);
    let notes = [(others, OTHERS), (aioquic, AIOQUIC), (mixed, MIXED), (true, left_out.as_str())];
    let notes: Vec<&str> = notes.into_iter().filter(|(is, _)| *is).map(|(_, note)| note).collect();
    Ok((cases, notes.join(" ").trim().to_owned()))
}

/// Checks that every case can run on each of these stacks.
///
/// # Errors
/// The first case that cannot, and why.
pub(crate) fn check_all(exp: &Experiment, backends: &[Backend]) -> Result<(), Failure> {
    for case in exp.cases() {
        let scenario = exp.scenario(&case, 0);
        for on in backends.iter().copied() {
            let why = |why| Failure::Stack(format!("{} cannot run on {}: {why}", case.row, on.place()));
            can_run(&scenario, on).map_err(why)?;
        }
    }
    Ok(())
}

fn can_run(scenario: &Scenario, on: Backend) -> Result<(), String> {
    let reason = |refusal: Refusal| match refusal {
        // A clause about the flow, like "it uses TCP".
        Refusal::Flow(_) => format!("flow: {refusal}"),
        why => why.to_string(),
    };
    stack(on).map_or(Ok(()), |stack| stack.check_scenario(scenario).map_err(reason))
}

/// Returns the endpoints of a case's flows; none for the simulator. After the run, [`check_host`]
/// tells whether processes on `host` failed.
pub(super) fn guests_for(case: &Case, scenario: &Scenario, host: &Host) -> Result<Guests, Failure> {
    let guests = |stack| guests_on(stack, scenario, &Profile::default(), host);
    stack(case.on).map_or(Ok(Guests::new()), guests).map_err(|why| of_row(case, &why.to_string()))
}

/// Returns the flows whose connection ended early. Such a run says nothing about the controller.
pub(super) fn audit(scenario: &Scenario, outcome: &Outcome) -> Option<Audit> {
    let flows = scenario.flows.iter().zip(&outcome.flows);
    let invalid_reasons: Vec<String> =
        flows.filter_map(|(flow, record)| record.why_broken(&flow.label)).collect();
    (!invalid_reasons.is_empty()).then_some(Audit { invalid_reasons, repeated: 0 })
}

/// Checks that the processes on `host` ran to the end.
///
/// # Errors
/// The failure of a process.
pub(super) fn check_host(case: &Case, host: &Host) -> Result<(), Failure> {
    host.failure().map_or(Ok(()), |why| Err(of_row(case, &why)))
}

fn of_row(case: &Case, why: &str) -> Failure {
    let row = case.label();
    Failure::Stack(match case.variant.as_str() {
        "" => format!("{row}: {why}"),
        variant => format!("{row} ({variant}): {why}"),
    })
}

/// Reports whether a run on this backend knows this metric, of all flows or of a group.
pub(super) fn knows(on: Backend, metric: &Metric) -> bool {
    match stack(on) {
        // The simulator's receivers report what the file says.
        None => metric.word() != "receive_times",
        Some(stack) => stack.controller_trait().is_none() || !stack::UNKNOWN.contains(&metric.word()),
    }
}
