//! The runner's part of the stacks: which cases can run there, who is in the places of their flows, and what they do not tell.

use experiment::backend::Backend;
use experiment::file::{Case, Experiment};
use experiment::metric::Metric;
use scenario::{FlowConfig, Scenario, Transport};
use stack::{Guests, Profile, Refusal, Stack, guests_of};

use super::beside;
use super::options::Failure;

/// The backend of a row that this stack runs.
pub(crate) fn backend(stack: Stack) -> Backend {
    match stack {
        Stack::Kneepoint => Backend::Stack,
        Stack::Noq => Backend::Noq,
        Stack::Quinn => Backend::Quinn,
    }
}

/// The other way round.
fn stack(on: Backend) -> Option<Stack> {
    Stack::ALL.into_iter().find(|stack| backend(*stack) == on)
}

/// What rows of stacks other than ours are, for the notes of a table.
const OTHERS: &str = "Rows of other stacks have the file's controllers inside those stacks, whose loss recovery, pacing and \
                      acknowledgements are their own: the keys `recovery` and `ack` are not for them.";

/// What stands beside the connections of stacks.
const MIXED: &str =
    "Flows of TCP are simulated in the rows of stacks too, on the same links as the connections of QUIC.";

fn is_tcp(flow: &FlowConfig) -> bool {
    matches!(flow.transport, Transport::Tcp { .. })
}

/// Every case, and beside it the same on these stacks if they can run it; and why others cannot.
pub(super) fn cases(exp: &Experiment, stacks: &[Stack]) -> Result<(Vec<Case>, String), Failure> {
    let backends: Vec<Backend> = stacks.iter().copied().map(backend).collect();
    let (cases, left_out) = beside::cases(exp, &backends, can_run).map_err(Failure::Stack)?;
    let on_stacks = || cases.iter().filter(|case| stack(case.on).is_some());
    let others = on_stacks().any(|case| is_other(case.on));
    let mixed = on_stacks().any(|case| exp.scenario(case, 0).flows.iter().any(is_tcp));
    let notes = [(others, OTHERS), (mixed, MIXED), (true, left_out.as_str())];
    let notes: Vec<&str> = notes.into_iter().filter(|(is, _)| *is).map(|(_, note)| note).collect();
    Ok((cases, notes.join(" ").trim().to_owned()))
}

/// Whether every case can run on each of these stacks.
///
/// # Errors
/// The first that cannot, and why.
pub(crate) fn check_all(exp: &Experiment, stacks: &[Stack]) -> Result<(), Failure> {
    for case in exp.cases() {
        let scenario = exp.scenario(&case, 0);
        for on in stacks.iter().copied().map(backend) {
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

/// Who is in the places of a case's flows: nobody in the simulator.
pub(super) fn in_places(case: &Case, scenario: &Scenario) -> Result<Guests, Failure> {
    let guests = |stack| guests_of(stack, scenario, &Profile::default());
    stack(case.on).map_or(Ok(Guests::new()), guests).map_err(|why| Failure::Stack(why.to_string()))
}

/// A stack that is not ours.
fn is_other(on: Backend) -> bool {
    stack(on).is_some_and(|stack| stack.outside().is_some())
}

/// Whether a run on this backend knows this metric, also that of a group.
pub(super) fn tells(on: Backend, metric: &Metric) -> bool {
    match stack(on) {
        // In the simulator what a receiver tells is what the file says.
        None => metric.word() != "receive_times",
        Some(stack) => stack.outside().is_none() || !stack::UNKNOWN.contains(&metric.word()),
    }
}
