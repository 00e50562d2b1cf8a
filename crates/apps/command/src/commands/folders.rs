//! Results folders: loading stored results, and naming the folder of a report.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::status::{Error, complain};
use experiment::place::Place;
use results::store::{self, Stored};
use results::summary::{Results, Summary};

/// Loads the newest results of each experiment below these folders.
pub(crate) fn load(dirs: &[PathBuf]) -> Result<Vec<Results>, Error> {
    each(dirs, store::load)
}

/// Loads their summaries only.
pub(crate) fn load_summaries(dirs: &[PathBuf]) -> Result<Vec<Summary>, Error> {
    each(dirs, store::load_summary)
}

/// Applies `read` to the newest results folder of each experiment below these folders. Says which
/// others are left out.
pub(crate) fn each<T>(dirs: &[PathBuf], read: impl Fn(&Path) -> io::Result<T>) -> Result<Vec<T>, Error> {
    let mut experiments: BTreeMap<(PathBuf, Place), Vec<(&PathBuf, Stored)>> = BTreeMap::new();
    for root in dirs {
        for found in store::stored(root).map_err(|e| unlisted(root, &e))? {
            let key = (found.experiment.clone(), found.world);
            experiments.entry(key).or_default().push((root, found));
        }
    }
    if experiments.is_empty() {
        let dirs: Vec<_> = dirs.iter().map(|d| d.display().to_string()).collect();
        return Err(Error::bad(format!("{}: {NO_RESULTS}", dirs.join(", "))));
    }
    let wrong =
        |dir: &Path, e: &io::Error| Error::bad(format!("{}: damaged results: {e}; {AGAIN}", dir.display()));
    let newest = experiments.into_values().filter_map(newest);
    let read = |dir: PathBuf| {
        if !store::has_sums(&dir) {
            let shown = dir.display();
            complain(&format!("{shown}: no SHA256SUMS, so it is unknown whether its numbers were changed"));
        }
        read(&dir).map_err(|e| wrong(&dir, &e))
    };
    newest.map(read).collect()
}

/// Returns the newest of an experiment's folders. Says which others are left out, unless the same
/// root has newer results with the same title: then a changed experiment ran again.
fn newest(mut all: Vec<(&PathBuf, Stored)>) -> Option<PathBuf> {
    all.sort_by_key(|(_, stored)| stored.time);
    let mut all = all.into_iter().rev();
    let (root, newest) = all.next()?;
    let mut said = vec![(root, newest.title)];
    for (root, Stored { title, dir, .. }) in all.filter(|(_, older)| older.dir != newest.dir) {
        if said.contains(&(root, title.clone())) {
            continue;
        }
        let (older, newer) = (dir.display(), newest.dir.display());
        complain(&format!("{older}: left out; {newer} ({:?}) is newer and has the same name", said[0].1));
        said.push((root, title));
    }
    Some(newest.dir)
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

/// Returns a folder name for a report of these experiments. A `/` becomes `--`. Different names have
/// different folders: a name that cannot be kept ends with a hash.
pub(crate) fn slug(names: &[String]) -> String {
    const MOST: usize = 160;
    let text = names.join("+");
    let keep = |c: char| c.is_alphanumeric() || "-._+".contains(c);
    let readable = text.trim_matches(['.', '/']).replace('/', "--");
    let mut slug = String::new();
    for c in readable.chars().map(|c| if keep(c) { c } else { '-' }) {
        if slug.len() < MOST {
            slug.push(c);
        }
    }
    if slug.replace("--", "/") == text {
        return slug;
    }
    format!("{slug}{}{:08x}", if slug.is_empty() { "" } else { "-" }, fnv(text.as_bytes()))
}

/// Hashes bytes (FNV-1a, 32 bits).
fn fnv(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> String {
        slug(&[name.to_owned()])
    }

    #[test]
    fn names_of_reports_read_well() {
        assert_eq!(
            ["quic-dc", "quic-dc/table-1", "my.toml", "日本.toml"].map(folder),
            ["quic-dc", "quic-dc--table-1", "my.toml", "日本.toml"]
        );
        assert_eq!(slug(&["a".to_owned(), "b/c".to_owned()]), "a+b--c");
    }

    #[test]
    fn no_two_reports_share_a_folder() {
        let long = |end: &str| format!("{}{end}", "語".repeat(100));
        let names = [
            "a b.toml",
            "a;b.toml",
            "a-b.toml",
            "a/b.toml",
            "a--b.toml",
            "/a/b.toml",
            "../a/b.toml",
            "~.toml",
            "*.toml",
            "..",
            "",
            "a\nb",
            &long("1"),
            &long("2"),
        ];
        let slugs: std::collections::BTreeSet<String> = names.iter().map(|name| folder(name)).collect();
        assert_eq!(slugs.len(), names.len(), "{slugs:?}");
        assert!(slugs.iter().all(|slug| slug.len() < 180 && !slug.starts_with('.') && !slug.contains('/')));
    }
}
