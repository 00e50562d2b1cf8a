//! What stands under a results root, whole or not: every folder of results and every study that is not finished.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{MANIFEST, Manifest, SUMMARY, manifest, runs, summary, sums, walk};
use crate::summary::Summary;

/// A folder of results, or the kept runs of an unfinished study.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Below the root: `quic-dc/table-1`.
    pub experiment: String,
    /// Name of its folder, a hash of its manifest.
    pub id: String,
    /// Where it is.
    pub dir: PathBuf,
    /// Of its files, without the list of sums.
    pub bytes: u64,
    /// When it was written last.
    pub modified: Option<SystemTime>,
    /// What was to be run, if that can be read.
    pub manifest: Option<Manifest>,
    /// What came out, if that can be read.
    pub summary: Option<Summary>,
    /// Whether it can be believed.
    pub state: State,
}

/// Whether results are complete and as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Every file has its sum.
    Whole,
    /// By a version that wrote no sums: nobody can tell.
    Unsummed,
    /// Which file is missing, changed or cannot be read.
    Damaged(String),
    /// Runs that are kept until the same command goes on; so many.
    Unfinished(usize),
}

/// Everything below `root`, by experiment. It reads every file, for the sums.
///
/// # Errors
/// A folder that cannot be listed.
pub fn index(root: &Path) -> io::Result<Vec<Entry>> {
    let mut all = Vec::new();
    walk(root, &mut |dir| {
        if dir.join(SUMMARY).is_file() || dir.join(MANIFEST).is_file() {
            all.push(of_results(root, dir)?);
            return Ok(false);
        }
        for (id, kept) in runs::unfinished(dir)? {
            let place = dir.join(format!("{}{id}", runs::PREFIX));
            all.push(Entry { state: State::Unfinished(kept), id, ..entry(root, &place)? });
        }
        Ok(true)
    })?;
    all.sort_by(|a, b| (&a.experiment, a.modified, &a.id).cmp(&(&b.experiment, b.modified, &b.id)));
    Ok(all)
}

fn of_results(root: &Path, dir: &Path) -> io::Result<Entry> {
    let (manifest, summary) = (manifest(dir), summary(dir));
    let checked = sums::check(dir);
    let unreadable = [checked.as_ref().err(), manifest.as_ref().err(), summary.as_ref().err()];
    let state = match (unreadable.into_iter().flatten().next(), &checked) {
        (Some(problem), _) => State::Damaged(problem.to_string()),
        (None, Ok(true)) => State::Whole,
        (None, _) => State::Unsummed,
    };
    let mut entry = Entry { summary: summary.ok(), state, ..entry(root, dir)? };
    if let Ok(manifest) = manifest {
        entry.experiment.clone_from(&manifest.experiment);
        entry.manifest = Some(manifest);
    }
    Ok(entry)
}

/// What the file system says.
fn entry(root: &Path, dir: &Path) -> io::Result<Entry> {
    let mut bytes = 0;
    for file in sums::files(dir)? {
        bytes += fs::metadata(file)?.len();
    }
    let parent = dir.parent().unwrap_or(root);
    let experiment = parent.strip_prefix(root).unwrap_or(parent);
    let name = |path: &Path| path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    Ok(Entry {
        experiment: name(experiment),
        id: dir.file_name().map(|id| name(Path::new(id))).unwrap_or_default(),
        dir: dir.to_owned(),
        bytes,
        modified: fs::metadata(dir).and_then(|meta| meta.modified()).ok(),
        manifest: None,
        summary: None,
        state: State::Unsummed,
    })
}
