//! Two runs of one case, to see whether a controller depends on more than its inputs.

use ::experiment::file::Experiment;
use results::measure;
use scenario::{Scenario, Watch};
use units::Duration;

/// Longest part of a case that is run twice.
const LONGEST: Duration = Duration::from_secs(30);

/// Runs the beginning of the first case with a controller twice. Returns how the two differ. A run
/// that does not end tells nothing.
pub(crate) fn difference(experiment: &Experiment, controller: &str, watch: &Watch) -> Option<String> {
    let cases = experiment.cases();
    let mut scenarios = cases.iter().map(|case| experiment.scenario(case, 0));
    let scenario =
        scenarios.find(|scenario| scenario.flows.iter().any(|flow| flow.algorithm.name() == controller))?;
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
