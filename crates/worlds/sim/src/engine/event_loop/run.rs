//! Whole runs.

use std::sync::atomic::Ordering;

use scenario::{Guests, Outcome, Recorder, Scenario, Watch};
use units::Time;

use super::simulation::Simulation;

/// Runs a scenario. Time series and packet events are in the outcome. Returns `None` if
/// `watch.stop` ended the run early.
pub fn run(scenario: &Scenario, watch: &Watch) -> Option<Outcome> {
    run_with_guests(scenario, Guests::new(), watch, None)
}

/// Like [`run`], with guests in the place of some flows, each given with its flow's number. The first
/// of several guests for a flow counts. Guests for unknown flows are ignored. A recorder receives
/// time series and packet events during the run, and the outcome has none of them.
pub fn run_with_guests(
    scenario: &Scenario,
    guests: Guests,
    watch: &Watch,
    mut recorder: Option<&mut dyn Recorder>,
) -> Option<Outcome> {
    let mut simulation = Simulation::new(scenario, guests);
    if !simulation.step(Time::NEVER, watch, &mut recorder) {
        return None;
    }
    watch.reached.store(scenario.duration.0, Ordering::Relaxed);
    let mut outcome = simulation.finish();
    if let Some(recorder) = recorder {
        outcome.hand_over(recorder);
    }
    Some(outcome)
}
