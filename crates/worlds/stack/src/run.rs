//! Runs a whole scenario with endpoints in place of its flows.

use scenario::{FlowConfig, Guest, Guests, Outcome, Recorder, Scenario, Watch};

use crate::aioquic::Host;
use crate::own_session::OwnSession;
use crate::profile::Profile;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::stack::{Stack, is_quic};

/// Creates a guest of `ackclock-quic` for each QUIC flow, for [`sim::run_with_guests`]. Flows whose
/// guests are left out are simulated, as TCP flows are.
///
/// # Errors
/// The first property of a QUIC flow that is not supported, or a scenario without QUIC flows.
pub fn guests(scenario: &Scenario, profile: &Profile) -> Result<Guests, Refusal> {
    let session = |number, flow: &_| -> Result<Box<dyn Guest>, Refusal> {
        Ok(Box::new(OwnSession::new(flow, number, scenario, profile)?))
    };
    guests_with(Stack::Ackclock, scenario, session)
}

/// Creates a guest of this stack for each QUIC flow. The guest is both endpoints of the connection.
/// Endpoints that run outside this program use `host`. Create one host for each run, and check
/// [`Host::failure`] after the run before you use its results.
///
/// # Errors
/// The same as for [`guests`].
pub fn guests_on(
    stack: Stack,
    scenario: &Scenario,
    profile: &Profile,
    host: &Host,
) -> Result<Guests, Refusal> {
    if stack == Stack::Ackclock {
        return guests(scenario, profile);
    }
    let session = |number, flow: &_| -> Result<Box<dyn Guest>, Refusal> {
        Ok(Box::new(Session::new(flow, number, scenario, (stack, stack), false, host)?))
    };
    guests_with(stack, scenario, session)
}

fn guests_with(
    stack: Stack,
    scenario: &Scenario,
    guest: impl Fn(usize, &FlowConfig) -> Result<Box<dyn Guest>, Refusal>,
) -> Result<Guests, Refusal> {
    stack.check_scenario(scenario)?;
    let flows = scenario.flows.iter().enumerate().filter(|(_, flow)| is_quic(flow));
    flows.map(|(number, flow)| Ok((number, guest(number, flow)?))).collect()
}

/// Runs a scenario with endpoints of `ackclock-quic` in place of all its QUIC flows. Returns `None`
/// if `watch.stop` ended the run early. With a `recorder`, records are passed to it during the run.
/// Otherwise they are part of the outcome.
///
/// # Errors
/// The same as for [`guests`].
pub fn run(
    scenario: &Scenario,
    profile: &Profile,
    watch: &Watch,
    recorder: Option<&mut dyn Recorder>,
) -> Result<Option<Outcome>, Refusal> {
    let guests = guests(scenario, profile)?;
    Ok(sim::run_with_guests(scenario, guests, watch, recorder))
}
