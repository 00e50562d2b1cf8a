//! The manifest of a study: everything that determines its results.

use experiment::chart::Chart;
use experiment::diagnostic::Diagnostic;
use experiment::file::{Case, Experiment};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use results::qlog::Format;
use results::store::{self, Manifest, ManifestCase};

use crate::options::Options;

/// Returns the manifest of these cases of an experiment.
pub(crate) fn manifest(exp: &Experiment, cases: &[Case], options: &Options) -> Result<Manifest, Diagnostic> {
    let case = |case: &Case| {
        let spec = exp.resolved(case, exp.seed)?;
        let repetitions = Some(exp.repetitions_of(case)).filter(|runs| *runs != exp.repetitions);
        Ok(ManifestCase { variant: case.variant.clone(), row: case.label(), repetitions, spec })
    };
    let case: Vec<_> = cases.par_iter().map(case).collect();
    let case = case.into_iter().collect::<Result<_, _>>()?;
    let world = options.world;
    let qlog = options.qlog.map(recorded);
    let windows = exp.predefined_windows().map(|name| format!("window={name}"));
    let signals = exp.charts.iter().any(Chart::has_signals).then(|| "signals".to_owned());
    let pcap = options.pcap.then(|| "pcap".to_owned());
    let recording = qlog.into_iter().chain(pcap).chain(windows).chain(signals);
    Ok(Manifest {
        experiment: exp.name.clone(),
        version: options.program.version.clone(),
        commit: options.program.commit.clone(),
        program: options.program.digest.clone(),
        reading: store::digest(exp.reading().as_bytes()),
        recording: recording.collect(),
        world,
        measured: options.is_real_time().then(here_and_now),
        keys: exp.sweep_axes(cases).keys.iter().map(|key| key.key.clone()).collect(),
        seed: exp.seed,
        repetitions: exp.repetitions,
        case,
    })
}

/// Returns time and kernel of a measurement, as in `2026-11-21T23:30:00Z, Linux 6.18.5`.
#[allow(clippy::disallowed_methods, reason = "the time of day, for the manifest of a measurement")]
fn here_and_now() -> String {
    let now = humantime::format_rfc3339_nanos(std::time::SystemTime::now());
    format!("{now}, Linux {}", of_kernel("osrelease"))
}

/// Returns the identifier of a study's finished runs. A measurement that goes on later has the same
/// one, but only on the same machine with the same settings.
pub(crate) fn runs_id(manifest: &Manifest, settings: Option<&str>) -> String {
    let here = || format!("{}, {}", of_kernel("hostname"), settings.unwrap_or_default());
    Manifest { measured: manifest.measured.as_ref().map(|_| here()), ..manifest.clone() }.id()
}

/// Reads a property of this machine.
fn of_kernel(name: &str) -> String {
    std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default().trim().to_owned()
}

/// Returns the entry of a manifest for qlog files in this format.
fn recorded(format: Format) -> String {
    if format == Format::default() { "qlog".to_owned() } else { format!("qlog={format}") }
}
