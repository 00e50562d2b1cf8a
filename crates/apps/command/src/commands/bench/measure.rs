//! Measures one case.

use std::sync::atomic::Ordering;

use cpu_time::ProcessTime;
use scenario::Watch;
use serde::{Deserialize, Serialize};

use super::cases::{Case, Work};
use super::instructions::Counter;
use crate::places;
use crate::status::Error;
use study::{Options, Silent};

/// Result of a case.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Figure {
    /// Name of the case.
    pub(super) case: String,
    /// Packets that passed the bottleneck.
    pub(super) packets: u64,
    /// CPU seconds of the process, in the fastest try.
    pub(super) cpu_seconds: f64,
    pub(super) packets_per_cpu_second: f64,
    /// Instructions per packet, if the kernel counts them.
    #[serde(default)]
    pub(super) instructions_per_packet: Option<f64>,
}

/// Runs a case `tries` times. Returns the fastest try, which other programs disturbed least.
pub(super) fn measure(case: &Case, tries: u32, watch: &Watch) -> Result<Figure, Error> {
    let mut best: Option<Figure> = None;
    for _ in 0..tries {
        let measured = once(case, watch);
        if watch.stop.load(Ordering::Relaxed) {
            return Err(Error::interrupted("interrupted"));
        }
        let figure = measured?;
        if best.as_ref().is_none_or(|b| figure.cpu_seconds < b.cpu_seconds) {
            best = Some(figure);
        }
    }
    best.ok_or_else(|| Error::bad("no try"))
}

fn once(case: &Case, watch: &Watch) -> Result<Figure, Error> {
    let experiment = case.experiment()?;
    let row = experiment.cases().remove(0);
    let scenario = experiment.scenario(&row, 0);
    let out = tempfile::tempdir().map_err(Error::bad)?;
    let simulated = || sim::run(&scenario, watch).map(|outcome| outcome.link.delivered.packets);
    // A study does not report how many packets passed. A separate simulation, which is not
    // measured, counts them.
    let known = if matches!(case.work, Work::Study | Work::Qlog) { simulated() } else { None };
    let counter = Counter::begin();
    let begin = ProcessTime::now();
    let packets = match case.work {
        Work::Simulation => simulated(),
        Work::Stack(cipher) => {
            let profile = stack::Profile { cipher, ..stack::Profile::default() };
            let outcome = stack::run(&scenario, &profile, watch, None).map_err(Error::bad)?;
            outcome.map(|outcome| outcome.link.delivered.packets)
        }
        Work::Study | Work::Qlog => {
            let qlog = (case.work == Work::Qlog).then(Default::default);
            let options = Options { qlog, ..places::simulate(out.path().to_owned()) };
            study::experiment(&experiment, &options, &Silent, watch)?;
            known
        }
    };
    let cpu_seconds = begin.elapsed().as_secs_f64();
    let instructions = counter.and_then(Counter::end);
    let packets = packets.ok_or_else(|| Error::bad(format!("{}: no packets", case.name)))?;
    Ok(Figure {
        case: case.name.to_owned(),
        packets,
        cpu_seconds,
        packets_per_cpu_second: packets as f64 / cpu_seconds,
        instructions_per_packet: instructions.map(|count| count as f64 / packets as f64),
    })
}
