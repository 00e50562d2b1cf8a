//! The manifest of a study: everything that determines its results.

use std::sync::OnceLock;

use experiment::backend::Backend;
use experiment::diagnostic::Diagnostic;
use experiment::file::{Case, Experiment};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use results::qlog::Format;
use results::store::{self, Manifest, ManifestCase};

use super::on_wire;
use super::options::Options;

/// Returns the manifest of these cases of an experiment.
pub(super) fn manifest(exp: &Experiment, cases: &[Case], options: &Options) -> Result<Manifest, Diagnostic> {
    let case = |case: &Case| {
        let spec = exp.resolved(case, exp.seed)?;
        let repetitions = Some(exp.repetitions_of(case)).filter(|runs| *runs != exp.repetitions);
        Ok(ManifestCase { variant: case.variant.clone(), row: case.label(), repetitions, spec })
    };
    let case: Vec<_> = cases.par_iter().map(case).collect();
    let case = case.into_iter().collect::<Result<_, _>>()?;
    let world = options.world;
    let qlog = options.qlog.map(recorded);
    let recording = qlog.into_iter().chain(options.pcap.then(|| "pcap".to_owned()));
    Ok(Manifest {
        experiment: exp.name.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: COMMIT.to_owned(),
        program: program(),
        reading: store::digest(exp.reading().as_bytes()),
        recording: recording.collect(),
        world,
        measured: (world == Backend::Wire).then(on_wire::here_and_now),
        seed: exp.seed,
        repetitions: exp.repetitions,
        case,
    })
}

const COMMIT: &str = env!("ACKCLOCK_COMMIT");

/// Returns the digest of this program, if its commit does not identify it.
fn program() -> Option<String> {
    static DIGEST: OnceLock<Option<String>> = OnceLock::new();
    let is_said = COMMIT.chars().all(|c| c.is_ascii_hexdigit()) && !experiment::controllers::are_extended();
    let read = || Some(store::digest(&std::fs::read(std::env::current_exe().ok()?).ok()?));
    if is_said { None } else { DIGEST.get_or_init(read).clone() }
}

/// Returns the entry of a manifest for qlog files in this format.
fn recorded(format: Format) -> String {
    if format == Format::default() { "qlog".to_owned() } else { format!("qlog={format}") }
}
