//! Other people's stacks in virtual time, and ours beside them; one program, so that it is linked once.
#![cfg(all(feature = "noq", feature = "quinn"))]

extern crate congestion as ackclock_congestion; // the name that its macros write

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

use ackclock_stack::{Host, Profile, Stack, guests_of};
use scenario::{Outcome, Scenario, Watch};

/// Those in this program.
const HERE: [Stack; 3] = [Stack::Ackclock, Stack::Noq, Stack::Quinn];
/// noq and quinn.
const OTHERS: [Stack; 2] = [Stack::Noq, Stack::Quinn];

/// Both ends of each flow of this stack.
fn on(stack: Stack, scenario: &Scenario) -> Outcome {
    let host = Host::default();
    let guests = guests_of(stack, scenario, &Profile::default(), &host).unwrap();
    let outcome = sim::run_with_guests(scenario, guests, &Watch::default(), None).unwrap();
    assert_eq!(host.failure(), None);
    outcome
}
