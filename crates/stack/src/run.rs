//! A whole scenario on this stack.

use scenario::{FlowConfig, Outcome, Recorder, Scenario, Watch};
use sim::Guest;

use crate::aioquic::Host;
use crate::couple::Couple;
use crate::pair::Pair;
use crate::profile::Profile;
use crate::refusal::Refusal;
use crate::which::{Stack, is_quic};

/// Guests and the flows in whose places they are.
pub type Guests = Vec<(usize, Box<dyn Guest>)>;

/// A guest in the place of each flow of QUIC, for [`sim::run_with_guests`]: whoever leaves some out has simulated flows beside them, as those of
/// TCP are.
///
/// # Errors
/// Why one of the flows cannot be run, or all of them are of TCP.
pub fn guests(scenario: &Scenario, profile: &Profile) -> Result<Guests, Refusal> {
    let pair = |number, flow: &_| -> Result<Box<dyn Guest>, Refusal> {
        Ok(Box::new(Pair::new(flow, number, scenario, profile)?))
    };
    in_places(Stack::Ackclock, scenario, pair)
}

/// A guest of this stack, both ends, in the place of each flow of QUIC. Ends that are not in this program are on `host`, one for each run: who has
/// run it asks [`Host::failure`] before believing it.
///
/// # Errors
/// As there.
pub fn guests_of(
    stack: Stack,
    scenario: &Scenario,
    profile: &Profile,
    host: &Host,
) -> Result<Guests, Refusal> {
    if stack == Stack::Ackclock {
        return guests(scenario, profile);
    }
    let couple = |number, flow: &_| -> Result<Box<dyn Guest>, Refusal> {
        Ok(Box::new(Couple::new(flow, number, scenario, (stack, stack), false, host)?))
    };
    in_places(stack, scenario, couple)
}

fn in_places(
    stack: Stack,
    scenario: &Scenario,
    guest: impl Fn(usize, &FlowConfig) -> Result<Box<dyn Guest>, Refusal>,
) -> Result<Guests, Refusal> {
    stack.check_all(scenario)?;
    let flows = scenario.flows.iter().enumerate().filter(|(_, flow)| is_quic(flow));
    flows.map(|(number, flow)| Ok((number, guest(number, flow)?))).collect()
}

/// Runs a scenario with real endpoints in the places of all its flows of QUIC; `None` when `watch.stop` ended it early. What is recorded goes to
/// `recorder` while the run goes on, or is in the outcome where there is none.
///
/// # Errors
/// Why one of the flows cannot be run.
pub fn run(
    scenario: &Scenario,
    profile: &Profile,
    watch: &Watch,
    recorder: Option<&mut dyn Recorder>,
) -> Result<Option<Outcome>, Refusal> {
    let guests = guests(scenario, profile)?;
    Ok(sim::run_with_guests(scenario, guests, watch, recorder))
}
