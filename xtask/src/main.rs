//! Generates and checks pages of this repository. `cargo xtask help` lists the tasks.

mod numbers;
mod pictures;
mod programs;
mod prose;
mod reproductions;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use results::store;
use results::summary::Summary;

/// Folder of the book's pages on each source.
const REPRODUCTIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/reproductions");
/// Page of the keys of experiment files.
const KEYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/reference/keys.md");

/// Generate and check pages of this repository.
///
/// Exit status: 0, 1 if a check fails, or 2 for bad input.
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
enum Task {
    /// Check the hand-written numbers in the texts of the shipped experiments.
    ///
    /// Lists each number that a run does not fill in, with the command that prints it. With
    /// --results, reports each number that its command no longer prints, and each number of a run
    /// that breaks the bound of its sentence (`{row: metric > 0.95}`).
    Prose {
        /// Check the numbers against the results in this folder (repeatable).
        #[arg(long, value_name = "DIR")]
        results: Vec<PathBuf>,
    },
    /// Write the book's page on each source, from the results of all shipped experiments.
    Reproductions {
        /// Folders with results; the newest results of each experiment are used.
        #[arg(required = true)]
        results: Vec<PathBuf>,
        /// Write to this folder instead of docs/src/reproductions.
        #[arg(long, value_name = "DIR", default_value = REPRODUCTIONS, hide_default_value = true)]
        book: PathBuf,
        /// Compare the pages with those in the folder instead of writing them.
        #[arg(long)]
        check: bool,
    },
    /// Write docs/src/reference/keys.md, the keys of experiment files.
    Keys,
    /// Write docs/src/images/algorithms, from the results of `catalogue/pictures`.
    Pictures {
        /// Folder with the results and their report.
        results: PathBuf,
    },
    /// Compile the programs for the kernel, with clang.
    Bpf {
        /// Compare them with the objects in the sources instead, if the same clang made those.
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Prose { results } => prose::check(&results),
        Task::Reproductions { results, book, check } => reproductions::run(&results, &book, check),
        Task::Bpf { check } => programs::run(check),
        Task::Pictures { results } => pictures::write(&results),
        Task::Keys => write(Path::new(KEYS), &experiment::schema::reference()).map(|()| Vec::new()),
    };
    let (complaints, status) = match done {
        Ok(complaints) => (complaints, 1),
        Err(message) => (vec![message], 2),
    };
    complaints.iter().for_each(|complaint| eprintln!("xtask: {complaint}"));
    if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(status) }
}

/// Complaints of a check, or the reason why it could not be made.
type Checked = Result<Vec<String>, String>;

/// Writes a page and the folders above it.
fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder.and_then(|()| fs::write(path, text)).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

/// Loads the newest summary of each experiment below these folders.
fn summaries(dirs: &[PathBuf]) -> Result<Vec<Summary>, String> {
    let mut all = Vec::new();
    for dir in dirs {
        let stored = store::stored(dir).map_err(|e| format!("cannot read {}: {e}", dir.display()))?;
        let folders: BTreeMap<_, _> =
            stored.into_iter().map(|found| ((found.experiment, found.world), found.dir)).collect();
        if folders.is_empty() {
            return Err(format!("{}: no results; `ackclock run --out` writes some", dir.display()));
        }
        for folder in folders.into_values() {
            let damaged = |e| format!("{}: damaged results: {e}", folder.display());
            all.push(store::load_summary(&folder).map_err(damaged)?);
        }
    }
    Ok(all)
}
