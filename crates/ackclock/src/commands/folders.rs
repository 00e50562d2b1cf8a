//! Results folders: those that a command reads, and the name of one that it writes.

use std::io;
use std::path::{Path, PathBuf};

use crate::status::Error;
use results::store;
use results::summary::{Results, Summary};

/// The newest results of each experiment below these folders.
pub(crate) fn load(dirs: &[PathBuf]) -> Result<Vec<Results>, Error> {
    Ok(load_with_ids(dirs)?.into_iter().map(|(_, results)| results).collect())
}

/// The same, each with the id of its runs, which is its folder's name.
pub(crate) fn load_with_ids(dirs: &[PathBuf]) -> Result<Vec<(String, Results)>, Error> {
    let id = |folder: &Path| folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    each(dirs, |folder| Ok((id(folder), store::load(folder)?)))
}

/// Their summaries alone.
pub(crate) fn load_summaries(dirs: &[PathBuf]) -> Result<Vec<Summary>, Error> {
    each(dirs, store::load_summary)
}

/// What is read of the newest results of each experiment below these folders.
fn each<T>(dirs: &[PathBuf], read: impl Fn(&Path) -> io::Result<T>) -> Result<Vec<T>, Error> {
    let mut all = Vec::new();
    for dir in dirs {
        let at = |e: io::Error| Error::bad(format!("{}: {e}", dir.display()));
        for folder in store::newest(dir).map_err(at)? {
            let wrong = |e: io::Error| Error::bad(format!("{}: not a results folder: {e}", folder.display()));
            all.push(read(&folder).map_err(wrong)?);
        }
    }
    if all.is_empty() {
        let dirs: Vec<_> = dirs.iter().map(|d| d.display().to_string()).collect();
        return Err(Error::bad(format!("{}: no results there; `ackclock run` makes some", dirs.join(", "))));
    }
    Ok(all)
}

/// A folder name for a report of these experiments.
pub(crate) fn slug(names: &[String]) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '-' };
    let joined = names.join("+").trim_matches('/').chars().map(clean).collect::<String>();
    let slug: String = joined.trim_matches(|c| c == '.' || c == '-').chars().take(200).collect();
    if slug.is_empty() { "run".to_owned() } else { slug }
}
