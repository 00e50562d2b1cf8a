//! Results folders: `<out>/<experiment>/<id>/` with `manifest.toml`, `summary.json`, `runs.csv`,
//! `series.parquet`, `flows.parquet`, `rtt_cdf.parquet`, `columns.json`, their `SHA256SUMS` and, on
//! request, `qlog/`.
//!
//! The id is a hash of the manifest's runs: everything that determines what is recorded. The same
//! runs get the same folder. If only their evaluation differs, the folder gets another summary. A
//! folder appears complete or not at all, and replaces another in one step.

mod index;
mod manifest;
mod part;
mod recording;
mod rows;
mod runs;
mod series;
pub(crate) mod sums;
mod tables;
mod text;
mod tracks;
mod unfinished;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Deserialize;

pub use self::index::{Entry, State, index};
pub(crate) use self::manifest::without_titles;
pub use self::manifest::{Manifest, ManifestCase, digest};
pub use self::part::Part;
pub use self::recording::{Recorded, Recording};
use self::rows::{cdfs, flow_rows};
pub use self::runs::{Done, Runs};
use self::series::ChartSelection;
pub(crate) use self::sums::hex;
pub use self::tables::series_columns;
use self::tables::{ControllerInfo, Keys, Samples, Tables};
use self::unfinished::{Unfinished, remove_abandoned};
use crate::columns;
pub use crate::run_row::{Audit, RunRow};
use crate::states::States;
use crate::summary::{Results, Summary, Track};
use experiment::file::SweepAxes;
use experiment::input::open_regular;
use experiment::library::TEMPORARY;
use experiment::place::Place;
use experiment::printable;

/// A results folder during writing. If it is dropped before [`Folder::publish`], it leaves nothing
/// behind.
#[derive(Debug)]
pub struct Folder {
    partial: Unfinished,
    target: PathBuf,
}

impl Folder {
    /// Creates the folder of this experiment under `out`. `id` is that of the manifest.
    ///
    /// # Errors
    /// Fails if `out` is not writable.
    pub fn begin(out: &Path, manifest: &Manifest, id: &str) -> io::Result<Self> {
        let parent = out.join(&manifest.experiment);
        fs::create_dir_all(&parent)?;
        remove_abandoned(&parent);
        let partial = Unfinished::create(&parent)?;
        fs::write(partial.path().join(MANIFEST), manifest.text()?)?;
        Ok(Self { partial, target: parent.join(id) })
    }

    /// Returns the folder for files until [`Folder::publish`].
    pub fn path(&self) -> &Path {
        self.partial.path()
    }

    /// Writes the tables and the summary, and adds the time series that charts need to `results`.
    /// `done` are the valid runs with their numbers. `swept` has the keys of each case.
    ///
    /// # Errors
    /// Fails if the file system refuses.
    pub fn fill(
        &self,
        results: &mut Results,
        rows: &[RunRow],
        (runs, done): (&Runs, &[(usize, Option<Recorded>)]),
        swept: &SweepAxes,
    ) -> io::Result<()> {
        let dir = self.path();
        self.write_summary(&results.summary)?;
        let samples = samples(done);
        let mut keys = Keys::new(swept);
        let tables = Tables::new(results, rows, &samples, &mut keys);
        fs::write(dir.join("runs.csv"), text::csv(&tables.runs)?)?;
        fs::write(dir.join("columns.json"), text::columns(&tables.all())?)?;
        for (file, table) in [("flows.parquet", &tables.flows), ("rtt_cdf.parquet", &tables.rtt_cdf)] {
            columns::write(&dir.join(file), table).map_err(io::Error::other)?;
        }
        let mut drawn = ChartSelection::from_summary(&results.summary);
        let controllers = ControllerInfo::from_summary(&results.summary, &results.flows);
        let mut out =
            series::SeriesWriter::begin(&dir.join("series.parquet"), &samples, &keys, &controllers)?;
        for (number, _) in done.iter().filter(|(_, recorded)| recorded.is_some()) {
            for part in runs.parts(*number)? {
                let part = part?;
                drawn.add(&part, &mut results.series);
                out.add(part)?;
            }
        }
        out.finish()
    }

    /// Takes everything but the manifest and the summary from the folder of the same runs.
    ///
    /// # Errors
    /// Fails if the file system refuses.
    pub fn fill_from(&self, old: &Path, summary: &Summary) -> io::Result<()> {
        self.write_summary(summary)?;
        self.take_over(old, sums::is_written)
    }

    /// Takes the files that it lacks and that have such a name from another folder.
    fn take_over(&self, old: &Path, is_wanted: fn(&Path) -> bool) -> io::Result<()> {
        for file in sums::files(old)? {
            let name = file.strip_prefix(old).map_err(io::Error::other)?;
            let to = self.path().join(name);
            if to.exists() || !is_wanted(name) {
                continue;
            }
            fs::create_dir_all(to.parent().unwrap_or(self.path()))?;
            // Lists of logs are written anew. Not every file system has links.
            if sums::is_log_list(&file) || fs::hard_link(&file, &to).is_err() {
                fs::copy(&file, &to)?;
            }
        }
        Ok(())
    }

    fn write_summary(&self, summary: &Summary) -> io::Result<()> {
        let summary = serde_json::to_string_pretty(summary).map_err(io::Error::other)?;
        fs::write(self.path().join(SUMMARY), summary + "\n")
    }

    /// Reads the results that it holds now.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn results(&self) -> io::Result<Results> {
        read(self.path())
    }

    /// Moves the folder to its place. It replaces that of the same runs, and keeps the user's files
    /// there.
    ///
    /// # Errors
    /// Fails if the file system refuses.
    pub fn publish(self) -> io::Result<PathBuf> {
        sums::write(self.path())?;
        for entry in fs::read_dir(self.path())? {
            sync(&entry?.path())?;
        }
        if_there(self.take_over(&self.target, |_| true))?;
        self.partial.unlock();
        // One step, so that nobody finds the place empty. The old folder is then the unfinished one
        // and is deleted.
        if self.target.exists() && exchange(self.partial.path(), &self.target).is_ok() {
            return Ok(self.target);
        }
        // The place is empty, or the file system cannot exchange folders. Another program may
        // publish the same runs at the same time. The last one stays.
        let old = self.partial.path().with_extension("old");
        let mut refused = Ok(());
        for _ in 0..PUBLISH_TRIES {
            refused = fs::rename(self.partial.path(), &self.target);
            if refused.is_ok() {
                self.partial.keep();
                return Ok(self.target);
            }
            let _ = fs::rename(&self.target, &old);
            let _ = fs::remove_dir_all(&old);
        }
        refused.map(|()| self.target)
    }
}

/// Returns the columns of all time series.
fn samples(done: &[(usize, Option<Recorded>)]) -> Samples {
    let mut all = Samples::new();
    for (name, whole) in done.iter().filter_map(|(_, recorded)| recorded.as_ref()).flat_map(|r| &r.columns) {
        *all.entry(name.clone()).or_insert(true) &= whole;
    }
    all
}

const SUMMARY: &str = "summary.json";
const MANIFEST: &str = "manifest.toml";
/// Most other programs that may replace a folder while it is read.
const READ_TRIES: u32 = 10;
/// Most other runs that may publish in between.
const PUBLISH_TRIES: u32 = 100;

/// A full disk may only be noticed when the data must reach it.
fn sync(path: &Path) -> io::Result<()> {
    if path.is_file() { fs::File::open(path)?.sync_all() } else { Ok(()) }
}

/// Exchanges two folders.
#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Results of the same runs in a results folder.
#[derive(Debug)]
pub enum Found {
    /// Results of the same runs and the same evaluation.
    Same(Box<Results>, PathBuf),
    /// Results of the same runs, evaluated in another way.
    OtherReading(PathBuf),
}

/// Finds the results of a finished study: the same program and runs. `id` is that of the manifest.
/// Returns `None` if there are none or they are damaged. Results that are found whole become the
/// newest of their experiment.
pub fn find(out: &Path, manifest: &Manifest, id: &str) -> Option<Found> {
    let dir = out.join(&manifest.experiment).join(id);
    let known = self::manifest(&dir).ok()?;
    let is_whole = in_place(&dir, || sums::check(&dir)).is_ok_and(|is_summed| is_summed);
    if known.of_runs().ok() != manifest.of_runs().ok() || !is_whole {
        return None;
    }
    if known != *manifest {
        return Some(Found::OtherReading(dir));
    }
    let results = read(&dir).ok()?;
    // Another program may have replaced the folder meanwhile, with another evaluation.
    match self::manifest(&dir).is_ok_and(|now| now == known) && renew(&dir).is_ok() {
        true => Some(Found::Same(Box::new(results), dir)),
        false => Some(Found::OtherReading(dir)),
    }
}

/// Makes results the newest of their experiment. Fails for files of another user.
#[allow(clippy::disallowed_methods, reason = "the time of a run, which no number depends on")]
fn renew(dir: &Path) -> io::Result<()> {
    fs::File::open(dir.join(SUMMARY))?.set_modified(SystemTime::now())
}

/// Reads a results folder and checks its sums.
///
/// # Errors
/// Fails if it is not a results folder or a file is damaged. The message names the file.
pub fn load(dir: &Path) -> io::Result<Results> {
    in_place(dir, || sums::check(dir).and_then(|_| read(dir)))
}

/// Reports whether a results folder has checksums. Without them nobody can tell whether its numbers
/// are those of the run.
pub fn has_sums(dir: &Path) -> bool {
    sums::list(dir).is_some()
}

/// Reads a folder again if it was replaced meanwhile.
fn in_place<T>(dir: &Path, read: impl Fn() -> io::Result<T>) -> io::Result<T> {
    for _ in 1..READ_TRIES {
        let list = sums::list(dir);
        let result = read();
        if result.is_ok() || list == sums::list(dir) {
            return result;
        }
    }
    read()
}

/// Reads a results folder without its sums.
fn read(dir: &Path) -> io::Result<Results> {
    let summary = summary(dir)?;
    let flows = table(dir, "flows.parquet", flow_rows)?;
    let series = named("series.parquet", || {
        series::read(
            &dir.join("series.parquet"),
            &mut ChartSelection::from_summary(&summary),
            &States::from_summary(&summary, &flows),
        )
    })?;
    Ok(Results {
        summary,
        series,
        flows,
        rtt_cdf: table(dir, "rtt_cdf.parquet", cdfs)?,
        networks: manifest(dir)?.networks(),
    })
}

/// Reads only the summary of a results folder and checks all sums.
///
/// # Errors
/// Fails like [`load`].
pub fn load_summary(dir: &Path) -> io::Result<Summary> {
    in_place(dir, || sums::check(dir).and_then(|_| summary(dir)))
}

/// Reads columns of the time series of every run, flow by flow. Charts only use the first
/// repetition.
///
/// # Errors
/// Fails like [`load`], but sums are not checked again.
pub fn tracks(dir: &Path, columns: &[&str]) -> io::Result<Vec<Track>> {
    let summary = summary(dir)?;
    let flows = table(dir, "flows.parquet", flow_rows)?;
    let mut wanted = ChartSelection::all_runs(columns);
    named("series.parquet", || {
        series::read(&dir.join("series.parquet"), &mut wanted, &States::from_summary(&summary, &flows))
    })
}

/// Reads `runs.csv` as a table, with the keys of the experiment, units and descriptions.
///
/// # Errors
/// Fails if a file cannot be read. Sums are not checked.
pub fn runs(dir: &Path) -> io::Result<columns::Table> {
    let about = named("columns.json", || io::read_to_string(open_regular(&dir.join("columns.json"))?))?;
    named("runs.csv", || text::runs(open_regular(&dir.join("runs.csv"))?, &about))
}

/// Reads every run, in the order of `runs.csv`.
///
/// # Errors
/// Fails if the file cannot be read. Sums are not checked.
pub fn measured(dir: &Path) -> io::Result<Vec<RunRow>> {
    named("runs.csv", || text::measured(open_regular(&dir.join("runs.csv"))?))
}

fn summary(dir: &Path) -> io::Result<Summary> {
    named(SUMMARY, || {
        let value = serde_json::from_str(&io::read_to_string(open_regular(&dir.join(SUMMARY))?)?)?;
        check_texts(&value)?;
        Ok(serde_json::from_value(value)?)
    })
}

/// Rejects texts with control characters, because texts are shown as they are.
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

/// Reads only the manifest of a results folder. Sums are not checked.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn manifest(dir: &Path) -> io::Result<Manifest> {
    named(MANIFEST, || {
        let text = io::read_to_string(open_regular(&dir.join(MANIFEST))?)?;
        toml::from_str(&text).map_err(io::Error::other)
    })
}

/// Reads a table of a results folder.
fn table<T>(dir: &Path, file: &str, meaning: impl FnOnce(columns::Table) -> io::Result<T>) -> io::Result<T> {
    named(file, || meaning(columns::read(&dir.join(file)).map_err(io::Error::other)?))
}

fn named<T>(file: &str, read: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    read().map_err(|e| sums::named(file, &e))
}

/// A results folder below a root.
#[derive(Clone, Debug)]
pub struct Stored {
    pub experiment: PathBuf,
    pub world: Place,
    pub title: String,
    /// Time of the last run that gave these results.
    pub time: SystemTime,
    pub dir: PathBuf,
}

/// Returns every results folder under `root`, the newest last.
///
/// # Errors
/// Fails if the file system refuses.
pub fn stored(root: &Path) -> io::Result<Vec<Stored>> {
    let mut all = Vec::new();
    walk(root, &mut |dir| {
        let summary = dir.join(SUMMARY);
        if !summary.is_file() {
            // Without this, results whose summary is gone would look as if they had never been.
            // One file of such a name may be the user's own.
            let ours = [MANIFEST, "runs.csv", sums::NAME].iter().filter(|file| dir.join(file).exists());
            return match ours.count() >= 2 {
                true => Err(io::Error::other(format!("{}: {SUMMARY} is missing", dir.display()))),
                false => Ok(true),
            };
        }
        let Head { experiment, world, title } = head(&summary);
        let (time, dir) = (fs::metadata(&summary)?.modified()?, dir.to_owned());
        all.push(Stored { experiment, world, title, time, dir });
        Ok(false)
    })?;
    all.sort_by(|a, b| (a.time, &a.dir).cmp(&(b.time, &b.dir)));
    Ok(all)
}

/// Visits a folder and those below it while `visit` returns `true`. Unfinished folders are skipped,
/// and folders below the root that another program removes meanwhile.
fn walk(root: &Path, visit: &mut impl FnMut(&Path) -> io::Result<bool>) -> io::Result<()> {
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        let listed = visit(&dir).and_then(|is_open| is_open.then(|| fs::read_dir(&dir)).transpose());
        let entries = match listed {
            Err(e) if e.kind() == io::ErrorKind::NotFound && dir != root => None,
            entries => entries?,
        };
        for entry in entries.into_iter().flatten() {
            let entry = entry?;
            let is_dir = if_there(entry.file_type())?.is_some_and(|kind| kind.is_dir());
            let name = entry.file_name();
            if is_dir && !TEMPORARY.iter().any(|begin| name.to_string_lossy().starts_with(begin)) {
                open.push(entry.path());
            }
        }
    }
    Ok(())
}

/// Returns `None` if a file or folder does not exist.
fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// The beginning of a summary.
#[derive(Deserialize)]
struct Head {
    experiment: PathBuf,
    #[serde(default)]
    world: Place,
    #[serde(default)]
    title: String,
}

/// Reads the beginning of a summary. An unreadable summary becomes an error when it is loaded; until
/// then its folder stands for the experiment.
fn head(summary: &Path) -> Head {
    let read = fs::read(summary).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    read.unwrap_or_else(|| Head { experiment: summary.to_owned(), world: Place::SIM, title: String::new() })
}

/// Creates or replaces a file in one step.
///
/// # Errors
/// Fails if the file system refuses.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(content)?;
    file.persist(path)?;
    Ok(())
}
