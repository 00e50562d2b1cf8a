//! Results folders: loading stored results, and naming the folder of a report.

use std::io;
use std::path::{Path, PathBuf};

use crate::status::Error;
use results::store;
use results::summary::{Results, Summary};

/// Loads the newest results of each experiment below these folders.
pub(crate) fn load(dirs: &[PathBuf]) -> Result<Vec<Results>, Error> {
    each(dirs, store::load)
}

/// Loads their summaries only.
pub(crate) fn load_summaries(dirs: &[PathBuf]) -> Result<Vec<Summary>, Error> {
    each(dirs, store::load_summary)
}

/// Applies `read` to the newest results folder of each experiment below these folders.
pub(crate) fn each<T>(dirs: &[PathBuf], read: impl Fn(&Path) -> io::Result<T>) -> Result<Vec<T>, Error> {
    let mut all = Vec::new();
    for dir in dirs {
        for folder in store::newest(dir).map_err(|e| unlisted(dir, &e))? {
            let wrong =
                |e: io::Error| Error::bad(format!("{}: damaged results: {e}; {AGAIN}", folder.display()));
            all.push(read(&folder).map_err(wrong)?);
        }
    }
    if all.is_empty() {
        let dirs: Vec<_> = dirs.iter().map(|d| d.display().to_string()).collect();
        return Err(Error::bad(format!("{}: {NO_RESULTS}", dirs.join(", "))));
    }
    Ok(all)
}

/// Advice for damaged results.
pub(crate) const AGAIN: &str = "run the experiment again with --fresh";

/// Returns the error about a folder that cannot be searched for results.
pub(crate) fn unlisted(dir: &Path, error: &io::Error) -> Error {
    Error::bad(match error.kind() {
        io::ErrorKind::NotFound => {
            format!("{}: no such folder; give a folder written by `ackclock run --out`", dir.display())
        }
        io::ErrorKind::NotADirectory => {
            format!("{}: not a folder; give a folder written by `ackclock run --out`", dir.display())
        }
        _ => format!("{}: {error}", dir.display()),
    })
}

/// Message for a folder without results.
pub(crate) const NO_RESULTS: &str = "no results found; create some with `ackclock run`";

/// Returns a folder name for a report of these experiments.
pub(crate) fn slug(names: &[String]) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '-' };
    let joined = names.join("+").trim_matches('/').chars().map(clean).collect::<String>();
    let slug: String = joined.trim_matches(|c| c == '.' || c == '-').chars().take(200).collect();
    if slug.is_empty() { "run".to_owned() } else { slug }
}
