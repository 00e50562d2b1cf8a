//! The runner's part of the stacks: which cases can run there, who is in the places of their flows, and what they do not tell.

use experiment::backend::Backend;
use experiment::file::{Case, Experiment};
use experiment::metric::Metric;
use results::store::Audit;
use scenario::{FlowConfig, Outcome, Scenario, Transport};
use stack::{Guests, Host, Profile, Refusal, Stack, guests_of};

use super::beside;
use super::options::Failure;

/// The stack that runs a row.
fn stack(on: Backend) -> Option<Stack> {
    let name = on.stack().filter(|_| on.world() == Backend::Stack);
    Stack::ALL.into_iter().find(|stack| Some(stack.word()) == name)
}

/// What rows of stacks other than ours are, for the notes of a table.
const OTHERS: &str = "Rows of other stacks have the file's controllers inside those stacks, whose loss recovery, pacing and \
                      acknowledgements are their own: the keys `recovery` and `ack` are not for them. Their handshake is a part \
                      of the run, with `handshake` or without.";
/// And of one of them.
const AIOQUIC: &str = "Those of aioquic have its own controllers of these names.";

/// What stands beside the connections of stacks.
const MIXED: &str =
    "Flows of TCP are simulated in the rows of stacks too, on the same links as the connections of QUIC.";

fn is_tcp(flow: &FlowConfig) -> bool {
    matches!(flow.transport, Transport::Tcp { .. })
}

/// Every case, and beside it the same on these stacks if they can run it; and why others cannot.
pub(super) fn cases(exp: &Experiment, backends: &[Backend]) -> Result<(Vec<Case>, String), Failure> {
    let (cases, left_out) = beside::cases(exp, backends, can_run).map_err(Failure::Stack)?;
    let on_stacks = || cases.iter().filter(|case| stack(case.on).is_some());
    let others = on_stacks().any(|case| case.on.is_of_others());
    let mixed = on_stacks().any(|case| exp.scenario(case, 0).flows.iter().any(is_tcp));
    let aioquic = on_stacks().any(|case| case.on == Backend::Aioquic);
    let notes = [(others, OTHERS), (aioquic, AIOQUIC), (mixed, MIXED), (true, left_out.as_str())];
    let notes: Vec<&str> = notes.into_iter().filter(|(is, _)| *is).map(|(_, note)| note).collect();
    Ok((cases, notes.join(" ").trim().to_owned()))
}

/// Whether every case can run on each of these stacks.
///
/// # Errors
/// The first that cannot, and why.
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
    let of = |refusal: Refusal| match refusal {
        Refusal::NoFlow => refusal.to_string(),
        why => format!("of a flow: {why}"),
    };
    stack(on).map_or(Ok(()), |stack| stack.check_all(scenario).map_err(of))
}

/// Who is in the places of a case's flows: nobody in the simulator. What runs on `host` is to be asked after the run what became of it
/// ([`well`]).
pub(super) fn in_places(case: &Case, scenario: &Scenario, host: &Host) -> Result<Guests, Failure> {
    let guests = |stack| guests_of(stack, scenario, &Profile::default(), host);
    stack(case.on).map_or(Ok(Guests::new()), guests).map_err(|why| of_row(case, &why.to_string()))
}

/// Whose connection was over before the flow was: such a run says nothing of the controller.
pub(super) fn audit(scenario: &Scenario, outcome: &Outcome) -> Option<Audit> {
    let flows = scenario.flows.iter().zip(&outcome.flows);
    let invalid_reasons: Vec<String> =
        flows.filter_map(|(flow, record)| record.why_broken(&flow.label)).collect();
    (!invalid_reasons.is_empty()).then_some(Audit { invalid_reasons, repeated: 0 })
}

/// Whether what ran on `host` did to the end.
///
/// # Errors
/// What became of it instead.
pub(super) fn well(case: &Case, host: &Host) -> Result<(), Failure> {
    host.failure().map_or(Ok(()), |why| Err(of_row(case, &why)))
}

fn of_row(case: &Case, why: &str) -> Failure {
    let row = case.label();
    Failure::Stack(match case.variant.as_str() {
        "" => format!("{row}: {why}"),
        variant => format!("{row} ({variant}): {why}"),
    })
}

/// Whether a run on this backend knows this metric, also that of a group.
pub(super) fn tells(on: Backend, metric: &Metric) -> bool {
    match stack(on) {
        // In the simulator what a receiver tells is what the file says.
        None => metric.word() != "receive_times",
        Some(stack) => stack.outside().is_none() || !stack::UNKNOWN.contains(&metric.word()),
    }
}
