//! Two runs of one case, to see whether a controller depends on more than its inputs.

use std::collections::BTreeSet;

use ::experiment::file::Experiment;
use results::measure;
use scenario::{Scenario, Watch};
use units::Duration;

/// Longest part of a case that is run twice.
const LONGEST: Duration = Duration::from_secs(30);

/// Most values of parameters that are tried.
const MOST: usize = 4;

/// Runs the beginning of cases with a controller twice, one for each of the first values of its
/// parameters. Returns how two runs differ. A run that does not end tells nothing.
pub(crate) fn difference(experiment: &Experiment, controller: &str, watch: &Watch) -> Option<String> {
    let mut seen = BTreeSet::new();
    let cases = experiment.cases();
    let scenarios = cases.iter().map(|case| experiment.scenario(case, 0));
    let tried = scenarios.filter(|scenario| {
        let own = scenario.flows.iter().map(|flow| &flow.algorithm).filter(|own| own.name() == controller);
        own.fold(false, |is_new, own| seen.insert(format!("{own:?}")) || is_new)
    });
    tried.take(MOST).find_map(|scenario| difference_of(scenario, experiment, watch))
}

/// Runs the beginning of a case twice.
fn difference_of(scenario: Scenario, experiment: &Experiment, watch: &Watch) -> Option<String> {
    let scenario = Scenario { duration: scenario.duration.min(LONGEST), ..scenario };
    let [first, second] = [(); 2].map(|()| sim::run(&scenario, watch));
    let (first, second) = (first?, second?);
    let [a, b] = [&first, &second].map(|outcome| measure::measure(&scenario, outcome, experiment.groups()));
    let differs =
        a.iter().find(|(metric, value)| b.get(*metric).map(|b| b.to_bits()) != Some(value.to_bits()));
    if let Some((metric, value)) = differs {
        let other = b.get(metric).copied().unwrap_or(f64::NAN);
        return Some(format!("{metric} is {value} in one run and {other} in another with the same seed"));
    }
    let same = format!("{:?}", first.series) == format!("{:?}", second.series);
    (!same).then(|| "the time series of two runs with the same seed differ".to_owned())
}
