//! Estimates the CPU time of an experiment before it runs.

use experiment::file::Experiment;
use link::{LinkConfig, RateModel};
use scenario::{Scenario, Transport};

/// Approximate number of packets that one core simulates per second.
const PACKETS_PER_SECOND: f64 = 4e6;
/// Approximate number of packets that one core passes between real endpoints per second.
const PACKETS_OF_STACKS_PER_SECOND: f64 = 1.6e5;

/// Estimates the seconds that an experiment takes on one core, in the simulator and on this many
/// stacks.
pub fn cost(experiment: &Experiment, stacks: usize) -> f64 {
    let runs = |case| packets(&experiment.scenario(case, 0)) * f64::from(experiment.repetitions_of(case));
    let packets = experiment.cases().iter().map(runs).sum::<f64>();
    let each = 1.0 / PACKETS_PER_SECOND + stacks as f64 / PACKETS_OF_STACKS_PER_SECOND;
    packets * each
}

/// Returns an upper bound of the packets sent: the capacity of the fastest link, or the data to be
/// sent.
fn packets(scenario: &Scenario) -> f64 {
    let links = std::iter::once(&scenario.link).chain(&scenario.beyond);
    let seconds = scenario.duration.as_secs_f64();
    let carried = links.map(|link| bytes_per_second(link) * seconds).fold(0.0, f64::max);
    let transfers: Option<u64> = scenario.flows.iter().map(|flow| flow.transfer).sum();
    let bytes = transfers.map_or(carried, |bytes| carried.min(bytes as f64));
    let transport = scenario.flows.first().map_or_else(Transport::default, |flow| flow.transport);
    bytes / f64::from(transport.wire_bytes(transport.payload()))
}

/// Returns the rate of a link: the unweighted mean of its steps, or the nominal rate.
fn bytes_per_second(link: &LinkConfig) -> f64 {
    match &link.rate {
        RateModel::Steps(steps) => {
            let sum: f64 = steps.iter().map(|(_, rate)| rate.bytes_per_sec()).sum();
            sum / steps.len().max(1) as f64
        }
        model => model.nominal().bytes_per_sec(),
    }
}

/// Formats a time of about a second or more.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "< 1 s".to_owned(),
        s if s < 100.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    }
}
