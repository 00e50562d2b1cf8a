//! Endpoints as guests of a simulation that pauses, beside a simulated flow.

use ackclock_stack::{Host, Profile, Stack, guests_on};
use scenario::{FlowConfig, Outcome, Scenario, Watch};
use sim::Simulation;
use units::{Duration, Time};

use crate::common::*;

/// Runs the first flow on this stack, and pauses at these intervals on the way.
fn paused(stack: Stack, scenario: &Scenario, interval: Option<Duration>) -> Outcome {
    let host = Host::default();
    let mut guests = guests_on(stack, scenario, &Profile::default(), &host).unwrap();
    guests.truncate(1);
    let mut simulation = Simulation::new(scenario, guests);
    while let Some(interval) = interval.filter(|_| !simulation.is_done()) {
        simulation.step(simulation.now() + interval, &Watch::default(), &mut None);
        let snapshot = simulation.snapshot();
        assert!(snapshot.flows[0].stats.sent >= snapshot.flows[0].stats.lost());
    }
    simulation.step(Time::NEVER, &Watch::default(), &mut None);
    simulation.finish()
}

#[test]
fn pauses_change_nothing() {
    let first = FlowConfig { transfer: Some(2_000_000), ..flow("cubic") };
    let mut scenario = Scenario::new(link(), [first, flow("new-reno")], Duration::from_secs(4));
    (scenario.series, scenario.link.loss) = (Some(Duration::from_millis(20)), 0.002);
    let stacks = Stack::ALL.into_iter().filter(|stack| stack.is_built_in() && stack.find().is_ok());
    for stack in stacks {
        let all = |interval| {
            let outcome = paused(stack, &scenario, interval);
            format!("{:?}", Outcome { events: 0, ..outcome })
        };
        let whole = all(None);
        for interval in [1, 7, 333].map(Duration::from_millis) {
            assert!(all(Some(interval)) == whole, "{}, every {interval}", stack.word());
        }
    }
}
