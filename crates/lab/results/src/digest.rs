//! Digests of a run: whether two builds compute the same, without comparing files.

use experiment::file::{Case, Experiment};
use scenario::{End, Histogram, Outcome, Recorder, Scenario, Series, Watch, World};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::measure::{self, Values};
use crate::store::{Part, hex, without_titles};

/// Digests of the first repetition of a case. Equal digests mean equal results, bit for bit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Digest {
    pub experiment: String,
    pub variant: String,
    pub row: String,
    pub seed: u64,
    /// Number of events that the simulator handled.
    pub events: u64,
    /// SHA-256 of all time series, with every bit of a number.
    pub series: String,
    /// SHA-256 of the metrics of the run and of its flows, and of their RTT samples.
    pub records: String,
    /// SHA-256 of the case with all keys but titles and notes.
    pub manifest: String,
}

impl Digest {
    /// Runs the first repetition of a case in a world. Returns `None` if the run was stopped.
    ///
    /// # Errors
    /// A case that the world cannot run, or a value that TOML cannot hold.
    pub fn new(
        exp: &Experiment,
        case: &Case,
        world: &dyn World,
        watch: &Watch,
    ) -> Result<Option<Self>, String> {
        let scenario = exp.scenario(case, 0);
        world.check(&scenario)?;
        let spec = exp.resolved(case, exp.seed).map_err(|e| e.to_string())?;
        let manifest = toml::to_string(&without_titles(&spec)).map_err(|e| e.to_string())?;
        let mut series = SeriesHash { case, hash: Sha256::new() };
        let Some(ran) = world.run(&scenario, None, watch, Some(&mut series))? else { return Ok(None) };
        Ok(Some(Self {
            experiment: exp.name.clone(),
            variant: case.variant.clone(),
            row: case.label().to_string(),
            seed: scenario.seed,
            events: ran.outcome.events,
            series: hex(&series.hash.finalize()),
            records: records(exp, &scenario, &ran.outcome),
            manifest: hex(&Sha256::digest(&manifest)),
        }))
    }
}

/// Recorder that only hashes the time series.
struct SeriesHash<'a> {
    case: &'a Case,
    hash: Sha256,
}

impl Recorder for SeriesHash<'_> {
    fn series(&mut self, part: Series) {
        let part = Part::new(&self.case.variant, self.case.label(), 0, part, false);
        // Postcard writes every bit of a number. A part has nothing that it cannot write.
        self.hash.update(postcard::to_stdvec(&part).unwrap_or_default());
    }

    fn events(&mut self, _: usize, _: End, _: &scenario::trace::Trace) {}
}

fn records(exp: &Experiment, scenario: &Scenario, outcome: &Outcome) -> String {
    let mut hash = Sha256::new();
    add(&mut hash, &measure::measure(scenario, outcome, exp.groups()));
    for flow in 0..outcome.flows.len() {
        add(&mut hash, &measure::of_flow(scenario, outcome, flow));
    }
    let rtt: Histogram = measure::rtt_of_all(&outcome.flows);
    for (ms, share) in rtt.cdf() {
        hash.update(ms.to_bits().to_le_bytes());
        hash.update(share.to_bits().to_le_bytes());
    }
    hex(&hash.finalize())
}

/// Adds metrics with every bit of their values.
fn add(hash: &mut Sha256, values: &Values) {
    for (metric, value) in values {
        hash.update(metric.as_str());
        hash.update(value.to_bits().to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const FILE: &str = "title = \"t\"\nsource = \"s\"\nduration = \"2 s\"\nseries = \"100 ms\"\n\n[link]\n\
                        rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"1 BDP\"\n\n[[flow]]\ncontroller = \"cubic\"\n";

    fn digest(text: &str) -> Digest {
        let exp = Experiment::parse("x", Path::new("x.toml"), text).unwrap();
        Digest::new(&exp, &exp.cases()[0], &sim::Simulator, &Watch::default()).unwrap().unwrap()
    }

    /// The same run has the same digests. A change reaches the digests of what it changes.
    #[test]
    fn a_digest_is_of_the_run() {
        let first = digest(FILE);
        assert_eq!(first, digest(FILE));
        assert!(first.events > 100);
        let slower = digest(&FILE.replace("10 Mbit/s", "9 Mbit/s"));
        assert!(slower.series != first.series && slower.records != first.records);
        assert!(slower.manifest != first.manifest);
        let titled = digest(&FILE.replace("\"t\"", "\"another\""));
        assert_eq!(titled, first);
        let coarser = digest(&FILE.replace("100 ms", "200 ms"));
        assert!(coarser.series != first.series && coarser.records == first.records);
    }
}
