//! Experiments and published tables embedded in the program, and those on disk.

use std::fs;
use std::path::{Component, Path, PathBuf};

use include_dir::{Dir, include_dir};

use crate::diagnostic::{Diagnostic, did_you_mean, question};
use crate::input::{self, unreadable};
use crate::printable::is_terminal_control;

static EXPERIMENTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/experiments");
static PUBLISHED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/published");

/// Folder of the shipped networks.
pub const NETWORKS: &str = "networks/";

/// Prefix of a shipped experiment's path in messages.
const SHIPPED: &str = "shipped:";

/// Problem of a word that names no file, folder or shipped experiment.
pub const NOT_FOUND: &str = "no such file, folder or shipped experiment";

/// Beginnings of the names of unfinished folders in results. No part of an experiment's name has
/// one, because readers skip these folders.
pub const TEMPORARY: [&str; 2] = [".partial-", ".runs-"];

/// Files that every results folder has. Its manifest is no experiment.
const RESULTS: [&str; 2] = ["manifest.toml", "runs.csv"];

/// Name that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// An experiment file found by [`Library`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The experiment's name: `quic-dc/table-1`.
    pub name: String,
    /// The file, for messages. Published tables are searched next to it.
    pub file: PathBuf,
    /// Text of the file.
    pub text: String,
}

/// Returns the register of numbers in the prose of shipped experiments, with the origin of each.
pub fn prose_numbers() -> &'static str {
    EXPERIMENTS.get_file("prose-numbers.csv").and_then(include_dir::File::contents_utf8).unwrap_or_default()
}

/// All experiments that can be named on a command line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Library;

impl Library {
    /// Returns the shipped experiments, sorted by name.
    pub fn shipped(&self) -> Vec<Source> {
        let mut sources = Vec::new();
        collect_shipped(&EXPERIMENTS, &mut sources);
        sources.sort_by(|a, b| a.name.cmp(&b.name));
        sources
    }

    /// Returns the shipped networks: experiments whose links can be named without their folder.
    pub fn networks(&self) -> Vec<Source> {
        self.shipped().into_iter().filter(|source| source.name.starts_with(NETWORKS)).collect()
    }

    /// Resolves words of a command line to experiments, without duplicates.
    ///
    /// A word can be, in this order:
    ///
    /// * a file, or `-` for one on standard input;
    /// * a folder, for all `.toml` files below it;
    /// * a network, like `lte`;
    /// * a shipped name, or a prefix of shipped names;
    /// * a number in a shipped name: `thesis/table-9` is in `thesis/table-9-10`.
    ///
    /// # Errors Fails for a word that resolves to nothing, a file that is empty or cannot be read,
    /// and a folder without experiments.
    pub fn resolve(&self, names: &[String]) -> Result<Vec<Source>, Diagnostic> {
        let (found, wrong) = self.resolve_each(names);
        wrong.into_iter().next().map_or(Ok(found), Err)
    }

    /// Resolves words as [`Library::resolve`] does, and also returns the problem of each word that
    /// fails.
    pub fn resolve_each(&self, names: &[String]) -> (Vec<Source>, Vec<Diagnostic>) {
        let (mut found, mut wrong): (Vec<Source>, Vec<Diagnostic>) = (Vec::new(), Vec::new());
        for name in names {
            match self.resolve_one(name) {
                Ok(sources) => sources.into_iter().for_each(|source| add(source, &mut found, &mut wrong)),
                Err(problem) => wrong.push(problem),
            }
        }
        (found, wrong)
    }

    fn resolve_one(&self, name: &str) -> Result<Vec<Source>, Diagnostic> {
        if name == STANDARD_INPUT {
            let text = input::read_from("stdin", std::io::stdin())?;
            return Ok(vec![source("stdin", Path::new("stdin"), text)?]);
        }
        let path = Path::new(name);
        if !path.is_dir() && (path.exists() || is_toml(path)) {
            return Ok(vec![read(path)?]);
        }
        let files = if path.is_dir() { files_below(path)? } else { Vec::new() };
        if !files.is_empty() {
            return files.iter().map(|file| read(file)).collect();
        }
        let shipped = self.named(name);
        match shipped.is_empty() {
            false => Ok(shipped),
            true if path.is_dir() => Err(Diagnostic::new(
                name,
                "folder contains no experiments",
                "no .toml file in it or below it",
            )),
            true => Err(self.unknown(name)),
        }
    }

    /// Returns the shipped experiments with this name or prefix, where a prefix ends at a `/`. If
    /// there are none, returns those that contain this table or figure.
    fn named(&self, name: &str) -> Vec<Source> {
        let name = name.trim_end_matches('/');
        if name.is_empty() {
            return Vec::new();
        }
        if let Some(network) =
            self.networks().into_iter().find(|network| network.name[NETWORKS.len()..] == *name)
        {
            return vec![network];
        }
        let below =
            |n: &str| n.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let (exact, others): (Vec<Source>, Vec<Source>) =
            self.shipped().into_iter().partition(|s| below(&s.name));
        if !exact.is_empty() {
            return exact;
        }
        let (numbered, others): (Vec<Source>, Vec<Source>) =
            others.into_iter().partition(|s| holds(&s.name, name));
        match numbered.is_empty() {
            // A prefix that ends with a number: `rfc8867/5-1`.
            true => others.into_iter().filter(|s| begins(&s.name, name)).collect(),
            false => numbered,
        }
    }

    fn unknown(&self, name: &str) -> Diagnostic {
        let shipped = self.shipped();
        let prefixes = shipped.iter().filter_map(|s| s.name.split_once('/')).map(|(prefix, _)| prefix);
        let networks = shipped.iter().filter_map(|s| s.name.strip_prefix(NETWORKS));
        let names = shipped.iter().map(|s| s.name.as_str()).filter(|name| !name.starts_with(NETWORKS));
        let mut known: Vec<&str> = names.chain(prefixes).chain(networks).collect();
        // A folder comes before the files that contain its name.
        known.sort_unstable_by_key(|name| (name.contains('/'), *name));
        known.dedup();
        let right = format!("{}`ackclock list` shows the shipped experiments", question(name, &known));
        let name = if name.is_empty() { "\"\"" } else { name };
        Diagnostic::new(name, NOT_FOUND, right)
    }
}

/// Adds a source that is not yet found. Another file of the same name is a problem, since the
/// results of both would be in one folder and replace each other.
fn add(source: Source, found: &mut Vec<Source>, wrong: &mut Vec<Diagnostic>) {
    let place = |file: &Path| fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    match found.iter().find(|known| known.name == source.name) {
        None => found.push(source),
        Some(known) if place(&known.file) == place(&source.file) => {}
        Some(known) => wrong.push(Diagnostic::new(
            source.file.display().to_string(),
            format!("this experiment and {} are both called `{}`", known.file.display(), source.name),
            "rename one, or run each with its own --out",
        )),
    }
}

/// Reports whether a name starts with the requested one, which ends with a number.
fn begins(name: &str, asked: &str) -> bool {
    asked.contains('/')
        && asked.ends_with(|c: char| c.is_ascii_digit())
        && name.strip_prefix(asked).is_some_and(|rest| rest.starts_with('-'))
}

/// Reports whether an experiment contains the requested table or figure. `thesis/table-9-10`
/// contains `thesis/table-9`, and `dstar/figure-3-table-1` contains `dstar/table-1`. A number
/// belongs to the last word before it.
fn holds(name: &str, asked: &str) -> bool {
    let (Some((folder, name)), Some((of, asked))) = (name.rsplit_once('/'), asked.rsplit_once('/')) else {
        return false;
    };
    let Some((word, number)) = asked.split_once('-') else { return false };
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let mut last = "";
    let mut found = false;
    for part in name.split('-') {
        match is_number(part) {
            true => found |= last == word && part == number,
            false => last = part,
        }
    }
    found && folder == of && !word.is_empty()
}

fn collect_shipped(dir: &Dir<'_>, sources: &mut Vec<Source>) {
    for file in dir.files().filter(|f| is_toml(f.path())) {
        let Some(text) = file.contents_utf8() else { continue };
        let name = slashed(&file.path().with_extension(""));
        let label = format!("{SHIPPED}{}", slashed(file.path()));
        sources.push(Source { name, file: PathBuf::from(label), text: text.to_owned() });
    }
    dir.dirs().for_each(|dir| collect_shipped(dir, sources));
}

fn is_toml(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "toml")
}

fn read(path: &Path) -> Result<Source, Diagnostic> {
    let text = input::read(path).map_err(|problem| match path.exists() {
        true => problem,
        false => problem.with_right("`ackclock list` shows the shipped experiments"),
    })?;
    let name = name_of(path);
    check_name(&name, path).map_err(|wrong| {
        let right = "rename the file: the experiment and its results folder take its name";
        Diagnostic::new(path.display().to_string(), wrong, right)
    })?;
    source(&name, path, text)
}

/// Checks that a name can name a results folder and be shown in a table.
fn check_name(name: &str, file: &Path) -> Result<(), &'static str> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    match name {
        _ if stem.trim_matches('.').is_empty() => Err("the file name is empty"),
        _ if name.split('/').any(|part| TEMPORARY.iter().any(|begin| part.starts_with(begin))) => {
            Err("the name begins like that of an unfinished folder in results")
        }
        _ if name.chars().any(|c| c.is_control() || is_terminal_control(c)) => {
            Err("the file name contains a control character")
        }
        _ => Ok(()),
    }
}

fn source(name: &str, file: &Path, text: String) -> Result<Source, Diagnostic> {
    if text.trim().is_empty() {
        return Err(crate::file::empty(&file.display().to_string()));
    }
    Ok(Source { name: name.to_owned(), file: file.to_owned(), text })
}

/// Returns the name of an experiment file. `experiments/quic-dc/table-1.toml` is `quic-dc/table-1`,
/// as if it were shipped. Elsewhere the name is the relative path, or the last part of an absolute
/// path. Results folders have this name.
fn name_of(file: &Path) -> String {
    let path = file.with_extension("");
    let parts: Vec<String> = path
        .components()
        .filter_map(|c| {
            if let Component::Normal(part) = c { Some(part.to_string_lossy().into_owned()) } else { None }
        })
        .collect();
    let last = parts.len().saturating_sub(1);
    let from = parts[..last].iter().rposition(|part| part == "experiments");
    let from = from.map_or(if file.is_absolute() { last } else { 0 }, |i| i + 1);
    parts[from..].join("/")
}

fn slashed(path: &Path) -> String {
    path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// Returns all experiment files below a folder, sorted. Leaves out results, and hidden files and
/// folders. Does not follow links to folders, which may form a cycle.
fn files_below(dir: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    let refuse = |e: std::io::Error| Diagnostic::new(dir.display().to_string(), unreadable(&e), "");
    let mut files = Vec::new();
    if RESULTS.iter().all(|file| dir.join(file).is_file()) {
        return Ok(files);
    }
    for entry in fs::read_dir(dir).map_err(refuse)? {
        let entry = entry.map_err(refuse)?;
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            files.extend(files_below(&path)?);
        } else if is_toml(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns label and text of a published table. It is searched in a folder `published` next to the
/// experiment file or above it, then among the shipped tables. A shipped experiment uses only the
/// shipped tables.
pub fn published(experiment: &str, table: &str) -> Result<(String, String), (String, String)> {
    let on_disk = if experiment.starts_with(SHIPPED) { None } else { beside(Path::new(experiment), table) };
    if let Some(path) = on_disk {
        let label = path.display().to_string();
        return match input::read(&path) {
            Ok(text) => Ok((label, text)),
            Err(problem) => Err((problem.with_right("").to_string(), String::new())),
        };
    }
    let shipped = PUBLISHED.get_file(table).and_then(|f| f.contents_utf8());
    shipped.map(|text| (format!("{SHIPPED}published/{table}"), text.to_owned())).ok_or_else(|| {
        let known = PUBLISHED.files().filter_map(|f| f.path().to_str());
        let right = did_you_mean(table, known);
        (
            format!(
                "published table `{table}` is neither in a `published` folder next to the file nor among the shipped tables"
            ),
            right,
        )
    })
}

fn beside(experiment: &Path, table: &str) -> Option<PathBuf> {
    let experiment = std::path::absolute(experiment).ok()?;
    let candidates = experiment.ancestors().skip(1).map(|dir| dir.join("published").join(table));
    candidates.into_iter().find(|path| path.exists())
}
