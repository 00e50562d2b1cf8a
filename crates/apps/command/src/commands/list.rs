//! `ackclock list`: lists the shipped experiments, or stored results.

use std::path::PathBuf;

use clap::Args;

use link::{LinkConfig, RateModel};
use scenario::{Scenario, Transport};

use super::index;
use crate::status::{Error, HOLDS, cut, list_width, print};
use experiment::file::Experiment;
use experiment::library::Library;

/// Approximate number of packets that one core simulates per second.
const PACKETS_PER_SECOND: f64 = 4e6;
/// Approximate number of packets that one core passes between real endpoints per second.
const PACKETS_OF_STACKS_PER_SECOND: f64 = 1.6e5;
/// Width of the name column. A longer name takes columns from the numbers behind it.
const NAME: usize = 31;

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Show only experiments with this text in their name, title or source.
    filter: Option<String>,
    /// List the results below this folder, with verdicts, size and integrity.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "results", conflicts_with = "filter")]
    results: Option<PathBuf>,
    /// Print the list of results as JSON.
    #[arg(long, requires = "results")]
    json: bool,
}

/// Lists what the arguments ask for. Returns the exit status.
pub(crate) fn run(args: &ListArgs) -> Result<u8, Error> {
    match &args.results {
        Some(dir) => index::run(dir, args.json),
        None => shipped(args.filter.as_deref().unwrap_or_default()),
    }
}

/// Lists the experiments whose name, title or source contains `filter`, ignoring case.
fn shipped(filter: &str) -> Result<u8, Error> {
    let mut lines = Vec::new();
    for source in Library.shipped() {
        let experiment = Experiment::parse(&source.name, &source.file, &source.text)?;
        let all = [&experiment.name, &experiment.title, &experiment.source];
        if all.iter().any(|text| text.to_lowercase().contains(&filter.to_lowercase())) {
            lines.push(line(&experiment));
        }
    }
    if lines.is_empty() {
        return Err(Error::bad(format!(
            "no shipped experiment has `{filter}` in its name, title or source; `ackclock list` shows all of them"
        )));
    }
    let head = format!("{:NAME$}{:>5} {:>8}  source", "", "runs", "one core");
    for line in std::iter::once(head).chain(lines) {
        print(&format!("{}\n", cut(&line, list_width())));
    }
    Ok(HOLDS)
}

fn line(experiment: &Experiment) -> String {
    let runs: u32 = experiment.cases().iter().map(|case| experiment.repetitions_of(case)).sum();
    let numbers = format!("{runs} {:>8}", time(cost(experiment, 0)));
    let room = (NAME + 14).saturating_sub(experiment.name.chars().count()).max(numbers.len() + 1);
    format!("{}{numbers:>room$}  {}", experiment.name, short(&experiment.source))
}

/// Estimates the seconds that an experiment takes on one core, in the simulator and on this many
/// stacks.
pub(super) fn cost(experiment: &Experiment, stacks: usize) -> f64 {
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

/// Returns the rate of a link: the unweighted mean of its steps, or the median of its slots.
fn bytes_per_second(link: &LinkConfig) -> f64 {
    match &link.rate {
        RateModel::Constant(rate) => rate.bytes_per_sec(),
        RateModel::Steps(steps) => {
            let sum: f64 = steps.iter().map(|(_, rate)| rate.bytes_per_sec()).sum();
            sum / steps.len().max(1) as f64
        }
        RateModel::Slots(slots) => slots.median.bytes_per_sec(),
    }
}

pub(super) fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "< 1 s".to_owned(),
        s if s < 100.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    }
}

/// Returns the part of a source that names a table, figure or section, as in
/// `Table 1 and Figure 4`, or else the whole source.
fn short(source: &str) -> &str {
    let places = ["Table", "Figure", "section", "equation", "appendix"];
    let parts = source.match_indices(", ").map(|(at, comma)| &source[at + comma.len()..]);
    parts.into_iter().find(|part| places.iter().any(|place| part.starts_with(place))).unwrap_or(source)
}
