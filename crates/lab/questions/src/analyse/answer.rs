//! The answer: all connections, and where their results are.

use results::measure;
use results::summary::Results;
use serde::Serialize;
use units::{Duration, Time};

use super::analysed::{Analysed, analysed};
use super::pair::Pair;
use super::run::Run;
use super::{Question, world};
use crate::lab::Stored;

/// End of a run that every connection ends before. It gives no series.
const END: Duration = Duration::from_secs(1 << 32);

/// Answer to an analysis.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// Names of the files.
    pub title: String,
    /// Name of the stored results without their folder.
    #[serde(skip)]
    pub name: String,
    /// Connections, those with most data first.
    pub connections: Vec<Analysed>,
    /// Number of further connections, which have less data.
    pub left_out: usize,
    /// Comparison of two connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair: Option<Pair>,
    /// Stored results.
    pub results: Vec<Stored>,
    /// Results for the page.
    #[serde(skip)]
    pub runs: Vec<Results>,
}

impl Answer {
    pub(super) fn new(question: &Question, run: &Run, left_out: usize) -> Self {
        let outcome = world::outcome(&run.connections, END, END);
        let scenario = scenario(question);
        let all: Vec<Analysed> = run
            .connections
            .iter()
            .zip(&run.labels)
            .enumerate()
            .map(|(number, (connection, label))| {
                let mut one = outcome.clone();
                one.flows = vec![outcome.flows[number].clone()];
                let mut scenario = scenario.clone();
                scenario.flows = vec![of_flow()];
                analysed(label, connection, &measure::of_flow(&scenario, &one, 0))
            })
            .collect();
        let name = run.name().trim_start_matches("analyse/").to_owned();
        Self {
            title: run.title().to_owned(),
            name,
            connections: all,
            left_out,
            pair: None,
            results: Vec::new(),
            runs: Vec::new(),
        }
    }
}

/// Returns a scenario with the measuring window.
fn scenario(question: &Question) -> scenario::Scenario {
    let link = link::LinkConfig::plain(units::Rate(u64::MAX));
    let mut scenario = scenario::Scenario::new(link, [], Duration::MAX);
    scenario.measure = question.window.map(|(from, to)| (Time::ZERO + from, Time::ZERO + to));
    scenario
}

fn of_flow() -> scenario::FlowConfig {
    let algorithm = congestion::Registry::default().iter().next().map(congestion::Entry::algorithm);
    let algorithm = algorithm.unwrap_or_else(|| unreachable!("the registry has controllers"));
    scenario::FlowConfig::new("", algorithm, scenario::Transport::default(), Duration::ZERO)
}
