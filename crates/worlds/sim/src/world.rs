//! The simulator as a world.

use std::path::Path;

use scenario::{Guests, Ran, Recorder, Scenario, Watch, World};

use crate::engine::run_with_guests;

/// The simulator.
#[derive(Clone, Copy, Debug)]
pub struct Simulator;

impl World for Simulator {
    fn check(&self, _: &Scenario) -> Result<(), String> {
        Ok(())
    }

    fn run(
        &self,
        scenario: &Scenario,
        _: Option<&Path>,
        watch: &Watch,
        recorder: Option<&mut dyn Recorder>,
    ) -> Result<Option<Ran>, String> {
        let outcome = run_with_guests(scenario, Guests::new(), watch, recorder);
        Ok(outcome.map(|outcome| Ran { invalid_reasons: outcome.broken(scenario), outcome }))
    }

    /// The simulator's receivers report what the file says.
    fn untold(&self, _: &Scenario) -> Vec<&'static str> {
        vec!["receive_times"]
    }
}
