//! Results folders: those that a command reads, and the name of one that it writes.

use std::path::PathBuf;

use crate::status::Error;
use results::store;
use results::summary::Results;

/// The newest results of each experiment below these folders.
pub(crate) fn load(dirs: &[PathBuf]) -> Result<Vec<Results>, Error> {
    Ok(load_with_ids(dirs)?.into_iter().map(|(_, results)| results).collect())
}

/// The same, each with the id of its runs, which is its folder's name.
pub(crate) fn load_with_ids(dirs: &[PathBuf]) -> Result<Vec<(String, Results)>, Error> {
    let mut all = Vec::new();
    for dir in dirs {
        let at = |e: std::io::Error| Error::bad(format!("{}: {e}", dir.display()));
        for folder in store::newest(dir).map_err(at)? {
            let read =
                |e: std::io::Error| Error::bad(format!("{}: not a results folder: {e}", folder.display()));
            let id = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            all.push((id, store::load(&folder).map_err(read)?));
        }
    }
    if all.is_empty() {
        let dirs: Vec<_> = dirs.iter().map(|d| d.display().to_string()).collect();
        return Err(Error::bad(format!("{}: no results there; `kneepoint run` makes some", dirs.join(", "))));
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
