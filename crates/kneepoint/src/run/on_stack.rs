//! The runner's part of the stack: which cases can run there, and who is in the places of their flows.

use experiment::backend::Backend;
use experiment::file::{Case, Experiment};
use scenario::Scenario;
use stack::{Guests, Profile, check, guests};

use super::beside;
use super::options::Failure;

/// Every case, and beside it the same on the stack if it can run there; and why others cannot.
pub(super) fn cases(exp: &Experiment) -> Result<(Vec<Case>, String), Failure> {
    let can = |scenario: &Scenario| {
        let refused = scenario.flows.iter().find_map(|flow| check(flow).err());
        match refused {
            Some(why) => Err(format!("of a flow: {why}")),
            None if scenario.flows.is_empty() => Err("it has no flow".to_owned()),
            None => Ok(()),
        }
    };
    beside::cases(exp, Backend::Stack, can).map_err(Failure::Stack)
}

/// Who is in the places of a case's flows: nobody in the simulator.
pub(super) fn in_places(case: &Case, scenario: &Scenario) -> Result<Guests, Failure> {
    match case.on {
        Backend::Stack => {
            guests(scenario, &Profile::default()).map_err(|why| Failure::Stack(why.to_string()))
        }
        Backend::Sim | Backend::Wire => Ok(Guests::new()),
    }
}
