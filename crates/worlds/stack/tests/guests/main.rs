//! Other stacks and ours in virtual time. All tests are one program, to link only once.
#![cfg(all(feature = "noq", feature = "quinn"))]

extern crate congestion as ackclock_congestion; // the name that its macros use

mod aioquic;
mod applications;
#[path = "../common/mod.rs"]
mod common;
mod faults;
mod pairs;
mod rebinding;
mod rules;
mod stamps;
mod transfers;

use ackclock_stack::{Host, Profile, Stack, guests_on};
use scenario::{Outcome, Scenario, Watch};

/// The stacks that run inside this program.
const HERE: [Stack; 3] = [Stack::Ackclock, Stack::Noq, Stack::Quinn];
/// noq and quinn.
const OTHERS: [Stack; 2] = [Stack::Noq, Stack::Quinn];

/// Runs a scenario with both endpoints of each flow on this stack.
fn on(stack: Stack, scenario: &Scenario) -> Outcome {
    let host = Host::default();
    let guests = guests_on(stack, scenario, &Profile::default(), &host).unwrap();
    let outcome = sim::run_with_guests(scenario, guests, &Watch::default(), None).unwrap();
    assert_eq!(host.failure(), None);
    outcome
}
