//! Runs a whole scenario with endpoints in place of its flows.

use scenario::{Guest, Guests, Outcome, Recorder, Scenario, Watch};

use crate::aioquic::Host;
use crate::endpoint_spec::EndpointSpec;
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
    guests_on(Stack::Ackclock, scenario, profile, &Host::default())
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
    stack.check_scenario(scenario)?;
    let guest = |(number, flow)| -> Result<(usize, Box<dyn Guest>), Refusal> {
        let spec = EndpointSpec::new((number, flow), scenario, (stack, stack), host);
        let spec = EndpointSpec { profile: profile.clone(), compares: false, ..spec };
        Ok((number, Box::new(Session::from_spec(spec, number, scenario)?)))
    };
    scenario.flows.iter().enumerate().filter(|(_, flow)| is_quic(flow)).map(guest).collect()
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
