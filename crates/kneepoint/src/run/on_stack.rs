//! The runner's part of the stacks: which cases can run there, who is in the places of their flows, and what they do not tell.

use experiment::backend::Backend;
use experiment::file::{Case, Experiment};
use experiment::metric::Metric;
use scenario::Scenario;
use stack::{Guests, Host, Profile, Stack, guests_of};

use super::beside;
use super::options::Failure;

/// The backend of a row that this stack runs.
fn backend(stack: Stack) -> Backend {
    match stack {
        Stack::Kneepoint => Backend::Stack,
        Stack::Noq => Backend::Noq,
        Stack::Quinn => Backend::Quinn,
        Stack::Aioquic => Backend::Aioquic,
    }
}

/// The other way round.
fn stack(on: Backend) -> Option<Stack> {
    Stack::ALL.into_iter().find(|stack| backend(*stack) == on)
}

/// What rows of stacks other than ours are, for the notes of a table.
const OTHERS: &str = "Rows of other stacks have the file's controllers inside those stacks, whose loss recovery, pacing and \
                      acknowledgements are their own: the keys `recovery` and `ack` are not for them.";
/// And of one of them.
const AIOQUIC: &str = "Those of aioquic have its own controllers of these names.";

/// Every case, and beside it the same on these stacks if they can run it; and why others cannot.
pub(super) fn cases(exp: &Experiment, stacks: &[Stack]) -> Result<(Vec<Case>, String), Failure> {
    let can = |scenario: &Scenario, on: Backend| {
        let refused =
            stack(on).and_then(|stack| scenario.flows.iter().find_map(|flow| stack.check(flow).err()));
        match refused {
            Some(why) => Err(format!("of a flow: {why}")),
            None if scenario.flows.is_empty() => Err("it has no flow".to_owned()),
            None => Ok(()),
        }
    };
    let backends: Vec<Backend> = stacks.iter().copied().map(backend).collect();
    let (cases, left_out) = beside::cases(exp, &backends, can).map_err(Failure::Stack)?;
    let has = |which: &dyn Fn(Backend) -> bool| cases.iter().any(|case| which(case.on));
    let others = if has(&is_other) { OTHERS } else { "" };
    let aioquic = if has(&|on| on == Backend::Aioquic) { AIOQUIC } else { "" };
    let notes = [others, aioquic, &left_out];
    let said: Vec<&str> = notes.into_iter().filter(|note| !note.is_empty()).collect();
    Ok((cases, said.join(" ").trim().to_owned()))
}

/// Who is in the places of a case's flows: nobody in the simulator. What runs on `host` is to be asked after the run what became of it
/// ([`well`]).
pub(super) fn in_places(case: &Case, scenario: &Scenario, host: &Host) -> Result<Guests, Failure> {
    let guests = |stack| guests_of(stack, scenario, &Profile::default(), host);
    stack(case.on).map_or(Ok(Guests::new()), guests).map_err(|why| of_row(case, &why.to_string()))
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

/// A stack that is not ours.
fn is_other(on: Backend) -> bool {
    stack(on).is_some_and(|stack| stack != Stack::Kneepoint)
}

/// Whether a run on this backend knows this metric, also that of a group.
pub(super) fn tells(on: Backend, metric: &Metric) -> bool {
    !is_other(on) || !stack::UNKNOWN.contains(&metric.word())
}
