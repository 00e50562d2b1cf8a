//! Lists everything under a results root: results folders and unfinished studies, complete or not.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{MANIFEST, Manifest, SUMMARY, if_there, manifest, runs, summary, sums, walk};
use crate::summary::Summary;

/// A results folder, or the kept runs of an unfinished study.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Path below the root: `quic-dc/table-1`.
    pub experiment: String,
    /// Name of its folder: a hash of the runs in its manifest.
    pub id: String,
    pub dir: PathBuf,
    /// Size of its files in bytes, without the list of checksums.
    pub bytes: u64,
    /// Time of the last run that gave these results.
    pub modified: Option<SystemTime>,
    /// The manifest, if it can be read.
    pub manifest: Option<Manifest>,
    /// The summary, if it can be read.
    pub summary: Option<Summary>,
    pub state: State,
}

/// Integrity of results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// All files match their checksums.
    Whole,
    /// Written by a version without checksums, so nothing is known.
    Unsummed,
    /// The file that is missing, changed or unreadable.
    Damaged(String),
    /// Number of runs kept until the same command continues.
    Unfinished(usize),
}

/// Lists everything below `root` by experiment. It reads every file to check the sums.
///
/// # Errors
/// Fails if a folder cannot be listed.
pub fn index(root: &Path) -> io::Result<Vec<Entry>> {
    let mut all = Vec::new();
    walk(root, &mut |dir| {
        if dir.join(SUMMARY).is_file() || dir.join(MANIFEST).is_file() {
            all.push(of_results(root, dir)?);
            return Ok(false);
        }
        for (id, kept) in runs::unfinished(dir)? {
            let place = dir.join(format!("{}{id}", runs::PREFIX));
            let entry = if_there(entry(root, &place))?;
            all.extend(entry.map(|entry| Entry { state: State::Unfinished(kept), id, ..entry }));
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
    let state = copied_from(dir, manifest.as_ref().ok()).map_or(state, State::Damaged);
    let mut entry = Entry { summary: summary.ok(), state, ..entry(root, dir)? };
    if let Ok(manifest) = manifest {
        entry.experiment.clone_from(&manifest.experiment);
        entry.manifest = Some(manifest);
    }
    Ok(entry)
}

/// Returns a remark if the folder is a copy under another name, with the original beside it. Ids of
/// older versions follow another rule, so a name alone tells nothing.
fn copied_from(dir: &Path, manifest: Option<&Manifest>) -> Option<String> {
    let id = manifest?.id();
    let original = dir.with_file_name(&id);
    (original != dir && original.join(MANIFEST).is_file()).then(|| format!("a copy of {id}"))
}

/// Creates an entry from what the file system knows.
fn entry(root: &Path, dir: &Path) -> io::Result<Entry> {
    let mut bytes = 0;
    for file in sums::files(dir)? {
        bytes += if_there(fs::metadata(file))?.map_or(0, |file| file.len());
    }
    let parent = dir.parent().unwrap_or(root);
    let experiment = parent.strip_prefix(root).unwrap_or(parent);
    let time = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified());
    let name = |path: &Path| path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    Ok(Entry {
        experiment: name(experiment),
        id: dir.file_name().map(|id| name(Path::new(id))).unwrap_or_default(),
        dir: dir.to_owned(),
        bytes,
        modified: time(&dir.join(SUMMARY)).or_else(|_| time(dir)).ok(),
        manifest: None,
        summary: None,
        state: State::Unsummed,
    })
}
