//! Results folders: `<out>/<experiment>/<id>/` with `manifest.toml`, `summary.json`, `runs.csv`, `series.parquet`,
//! `flows.parquet`, `rtt_cdf.parquet`, `columns.json`, their `SHA256SUMS` and, on request, `qlog/`. The id is a hash of the manifest, which names all
//! that decides the bytes: the same study lands in the same folder. A folder appears whole or not at all, and takes the place of
//! another in one step.

mod index;
mod part;
mod recording;
mod rows;
mod runs;
mod series;
pub(crate) mod sums;
mod tables;
mod text;
mod tracks;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

pub use self::index::{Entry, State, index};
pub use self::part::Part;
pub use self::recording::{Recorded, Recording};
use self::rows::{cdfs, flow_rows};
pub use self::runs::{Done, Runs};
use self::series::Drawn;
use self::tables::{Keys, Samples, Tables, Told};
use crate::columns;
use crate::network::Network;
pub use crate::run_row::{Audit, RunRow};
use crate::states::States;
use crate::summary::{Results, Summary, Track};
use experiment::backend::Backend;
use experiment::file::Swept;
use experiment::input::open_regular;
use experiment::printable;
use experiment::row::RowLabel;

/// Everything that decides a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// `quic-dc/table-1`.
    pub experiment: String,
    /// Version of Ackclock.
    pub version: String,
    /// Its commit.
    pub commit: String,
    /// SHA-256 of the program, where the commit does not say which it is: changed sources, controllers of somebody's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// SHA-256 of how the runs are read: title, note, table, published values, claims, charts.
    #[serde(default)]
    pub reading: String,
    /// What is recorded beside the tables, like qlog.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recording: Vec<String>,
    /// Where it ran.
    pub world: Backend,
    /// When and on which kernel it was measured: a measurement is no other's repetition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// Seed of the first repetition; the others count up.
    pub seed: u64,
    /// Runs of each case, where the case says nothing else.
    pub repetitions: u32,
    /// Every case with all its keys.
    pub case: Vec<ManifestCase>,
}

/// One case of a manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ManifestCase {
    /// Variant name.
    pub variant: String,
    /// Row label.
    pub row: RowLabel,
    /// Its runs, where they are fewer than others'.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<u32>,
    /// The experiment with every default written out.
    pub spec: toml::Table,
}

impl Manifest {
    /// What the networks of its cases allow.
    pub fn networks(&self) -> Vec<Network> {
        self.case.iter().filter_map(|case| Network::of_spec(&case.variant, &case.row, &case.spec)).collect()
    }

    /// All its runs.
    pub fn runs(&self) -> usize {
        self.case.iter().map(|case| case.repetitions.unwrap_or(self.repetitions) as usize).sum()
    }

    /// Twelve hexadecimal digits that stand for this manifest. Of hundreds of cases it takes a tenth of a second.
    pub fn id(&self) -> String {
        // The same file by another path is the same experiment; the note of a run begins with its name.
        let mut same = Self { experiment: String::new(), ..self.clone() };
        same.case.iter_mut().for_each(|case| drop(case.spec.remove("note")));
        digest(toml::to_string(&same).unwrap_or_default().as_bytes())[..12].to_owned()
    }
}

/// SHA-256 in hexadecimal digits.
pub fn digest(bytes: &[u8]) -> String {
    sums::hex(&Sha256::digest(bytes))
}

/// A results folder being filled. Dropped before [`Folder::publish`], it leaves nothing behind.
#[derive(Debug)]
pub struct Folder {
    partial: TempDir,
    target: PathBuf,
}

impl Folder {
    /// Begins the folder of this experiment, whose manifest has this ID, under `out`.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn begin(out: &Path, manifest: &Manifest, id: &str) -> io::Result<Self> {
        let parent = out.join(&manifest.experiment);
        fs::create_dir_all(&parent)?;
        sweep(&parent);
        let partial = unfinished(&parent)?;
        fs::write(partial.path().join(MANIFEST), toml::to_string(manifest).map_err(io::Error::other)?)?;
        Ok(Self { partial, target: parent.join(id) })
    }

    /// Where files may be written until [`Folder::publish`].
    pub fn path(&self) -> &Path {
        self.partial.path()
    }

    /// Writes the tables and the summary, and puts those time series into the results that their charts draw. `done` are the runs that
    /// count, by their numbers; `swept` says what the keys of each case are.
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn fill(
        &self,
        results: &mut Results,
        rows: &[RunRow],
        (runs, done): (&Runs, &[(usize, Option<Recorded>)]),
        swept: &Swept,
    ) -> io::Result<()> {
        let dir = self.path();
        let summary = serde_json::to_string_pretty(&results.summary).map_err(io::Error::other)?;
        fs::write(dir.join(SUMMARY), summary + "\n")?;
        let samples = samples(done);
        let mut keys = Keys::new(swept);
        let tables = Tables::new(results, rows, &samples, &mut keys);
        fs::write(dir.join("runs.csv"), text::csv(&tables.runs)?)?;
        fs::write(dir.join("columns.json"), text::columns(&tables.all())?)?;
        for (file, table) in [("flows.parquet", &tables.flows), ("rtt_cdf.parquet", &tables.rtt_cdf)] {
            columns::write(&dir.join(file), table).map_err(io::Error::other)?;
        }
        let mut drawn = Drawn::of(&results.summary);
        let told = Told::of(&results.summary, &results.flows);
        let mut out = series::Out::begin(&dir.join("series.parquet"), &samples, &keys, &told)?;
        for (number, _) in done.iter().filter(|(_, recorded)| recorded.is_some()) {
            for part in runs.parts(*number)? {
                let part = part?;
                drawn.add(&part, &mut results.series);
                out.add(part)?;
            }
        }
        out.finish()
    }

    /// Puts the folder in its place, over the one of an earlier run of the same manifest.
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn publish(self) -> io::Result<PathBuf> {
        sums::write(self.path())?;
        for entry in fs::read_dir(self.path())? {
            sync(&entry?.path())?;
        }
        // In one step, so that nobody ever finds the place empty; the old folder is then the unfinished one, which goes.
        if self.target.exists() && exchange(self.partial.path(), &self.target).is_ok() {
            return Ok(self.target);
        }
        // Nothing stands there, or the file system cannot exchange. Another run of the same manifest may publish at the same time: its
        // folder holds the same bytes.
        let old = self.partial.path().with_extension("old");
        let mut refused = Ok(());
        for _ in 0..PUBLISH_TRIES {
            refused = fs::rename(self.partial.path(), &self.target);
            if refused.is_ok() {
                let _ = self.partial.keep();
                return Ok(self.target);
            }
            let _ = fs::rename(&self.target, &old);
            let _ = fs::remove_dir_all(&old);
        }
        refused.map(|()| self.target)
    }
}

/// The columns of all time series.
fn samples(done: &[(usize, Option<Recorded>)]) -> Samples {
    let mut all = Samples::new();
    for (name, whole) in done.iter().filter_map(|(_, recorded)| recorded.as_ref()).flat_map(|r| &r.columns) {
        *all.entry(name.clone()).or_insert(true) &= whole;
    }
    all
}

/// A folder of this process, which goes with it.
fn unfinished(parent: &Path) -> io::Result<TempDir> {
    let prefix = format!("{PARTIAL}{}-", std::process::id());
    tempfile::Builder::new().prefix(&prefix).tempdir_in(parent)
}

const SUMMARY: &str = "summary.json";
const MANIFEST: &str = "manifest.toml";
const PARTIAL: &str = ".partial-";
/// As many others as may come in between.
const PUBLISH_TRIES: u32 = 100;

/// Removes what runs left behind that were killed: unfinished folders of processes that are no more.
fn sweep(parent: &Path) {
    let proc = Path::new("/proc");
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(PARTIAL).and_then(|rest| rest.split('-').next()).map(str::to_owned);
        if owner.is_some_and(|pid| proc.join("self").exists() && !proc.join(pid).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A full disk may show only when the data must reach it.
fn sync(path: &Path) -> io::Result<()> {
    if path.is_file() { fs::File::open(path)?.sync_all() } else { Ok(()) }
}

/// Lets two folders change places.
#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The results of a study that has been made already: the same program, the same runs, read the same way; `id` is that of its manifest. `None`
/// if there are none, or if they are damaged.
pub fn find(out: &Path, manifest: &Manifest, id: &str) -> Option<(Results, PathBuf)> {
    let dir = out.join(&manifest.experiment).join(id);
    let known = self::manifest(&dir).ok()? == *manifest;
    known.then(|| load(&dir).ok()).flatten().map(|results| (results, dir))
}

/// Reads a results folder, once its sums are right.
///
/// # Errors
/// A folder that is not one, or damaged files: the message names the file.
pub fn load(dir: &Path) -> io::Result<Results> {
    let summary = load_summary(dir)?;
    let flows = table(dir, "flows.parquet", flow_rows)?;
    let series = named("series.parquet", || {
        series::read(&dir.join("series.parquet"), &mut Drawn::of(&summary), &States::of(&summary, &flows))
    })?;
    Ok(Results {
        summary,
        series,
        flows,
        rtt_cdf: table(dir, "rtt_cdf.parquet", cdfs)?,
        networks: manifest(dir)?.networks(),
    })
}

/// Reads the summary of a results folder alone, once all its sums are right.
///
/// # Errors
/// As [`load`].
pub fn load_summary(dir: &Path) -> io::Result<Summary> {
    sums::check(dir)?;
    summary(dir)
}

/// These columns of the time series of every run of a results folder, flow by flow: what a chart draws is of the first repetition alone.
///
/// # Errors
/// As [`load`], whose sums are not checked again.
pub fn tracks(dir: &Path, columns: &[&str]) -> io::Result<Vec<Track>> {
    let summary = summary(dir)?;
    let flows = table(dir, "flows.parquet", flow_rows)?;
    let mut wanted = Drawn::columns_of_all(columns);
    named("series.parquet", || {
        series::read(&dir.join("series.parquet"), &mut wanted, &States::of(&summary, &flows))
    })
}

fn summary(dir: &Path) -> io::Result<Summary> {
    named(SUMMARY, || {
        let value = serde_json::from_str(&io::read_to_string(open_regular(&dir.join(SUMMARY))?)?)?;
        check_texts(&value)?;
        Ok(serde_json::from_value(value)?)
    })
}

/// Texts are shown as they are: none may hold what a terminal obeys.
fn check_texts(value: &serde_json::Value) -> io::Result<()> {
    use serde_json::Value;
    let check = |text: &str| printable::check(text).map_err(io::Error::other);
    match value {
        Value::String(text) => check(text),
        Value::Array(list) => list.iter().try_for_each(check_texts),
        Value::Object(map) => {
            map.iter().try_for_each(|(key, value)| check(key).and_then(|()| check_texts(value)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn manifest(dir: &Path) -> io::Result<Manifest> {
    named(MANIFEST, || {
        let text = io::read_to_string(open_regular(&dir.join(MANIFEST))?)?;
        toml::from_str(&text).map_err(io::Error::other)
    })
}

/// A table of a results folder, and what it says.
fn table<T>(dir: &Path, file: &str, meaning: impl FnOnce(columns::Table) -> io::Result<T>) -> io::Result<T> {
    named(file, || meaning(columns::read(&dir.join(file)).map_err(io::Error::other)?))
}

fn named<T>(file: &str, read: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    read().map_err(|e| io::Error::new(e.kind(), format!("{file}: {e}")))
}

/// The newest results folder of every experiment and world under `root`, by experiment name.
///
/// # Errors
/// What the file system refuses.
pub fn newest(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut best: BTreeMap<(PathBuf, Backend), (std::time::SystemTime, PathBuf)> = BTreeMap::new();
    walk(root, &mut |dir| {
        let summary = dir.join(SUMMARY);
        if !summary.is_file() {
            return Ok(true);
        }
        let found = (fs::metadata(&summary)?.modified()?, dir.to_owned());
        let parent = dir.parent().unwrap_or(dir).to_owned();
        let slot = best.entry((parent, world_of(&summary))).or_insert_with(|| found.clone());
        if found > *slot {
            *slot = found;
        }
        Ok(false)
    })?;
    Ok(best.into_values().map(|(_, dir)| dir).collect())
}

/// Visits a folder and those below it, as long as the answer is to go on below; what begins with a dot is not for readers.
fn walk(root: &Path, visit: &mut impl FnMut(&Path) -> io::Result<bool>) -> io::Result<()> {
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        if !visit(&dir)? {
            continue;
        }
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() && !entry.file_name().to_string_lossy().starts_with('.') {
                open.push(entry.path());
            }
        }
    }
    Ok(())
}

/// What a summary says of it; one that cannot be read is an error when it is loaded.
fn world_of(summary: &Path) -> Backend {
    #[derive(Deserialize)]
    struct Only {
        #[serde(default)]
        world: Backend,
    }
    let read = fs::read(summary).ok().and_then(|bytes| serde_json::from_slice::<Only>(&bytes).ok());
    read.map_or(Backend::Sim, |only| only.world)
}

/// Creates or replaces a file in one step.
///
/// # Errors
/// What the file system refuses.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(content)?;
    file.persist(path)?;
    Ok(())
}
