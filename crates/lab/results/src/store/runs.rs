//! Finished runs of an unfinished study, kept one by one so that none is computed twice:
//! `<out>/<experiment>/.runs-<id>/00017.run`.
//!
//! An interrupted study continues from them. Shards computed elsewhere are copied beside them. The
//! results folder replaces them. A file is the SHA-256 of its content followed by the run in
//! postcard's encoding, which keeps every bit of a number. Its time series are in `00017.series`,
//! written while it ran. Damaged files are ignored.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use experiment::input::open_regular;
use experiment::library::TEMPORARY;
use scenario::Histogram;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::exchange::Exchange;
use crate::measure::Values;
use crate::run_row::Audit;
use crate::store::Manifest;
use crate::store::if_there;
use crate::store::part::Part;
use crate::store::recording::{self, Recorded, Recording};
use crate::store::unfinished::{Unfinished, is_stale};
use crate::summary::FlowRow;

pub(super) const PREFIX: &str = TEMPORARY[1];
const DIGEST: usize = 32;

/// A finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    pub values: Values,
    /// Metrics of each flow.
    pub flows: Vec<FlowRow>,
    /// RTT samples of all flows.
    pub rtt: Histogram,
    pub recorded: Option<Recorded>,
    /// Audit of a run in real time, or of real endpoints that did not finish.
    pub audit: Option<Audit>,
    /// Packets that sequence diagrams draw.
    #[serde(default)]
    pub exchanges: Vec<Exchange>,
}

/// The finished runs of one study.
#[derive(Debug)]
pub struct Runs {
    dir: PathBuf,
    /// Folder that is deleted together with this value.
    temporary: Option<Unfinished>,
}

impl Runs {
    /// Opens the runs of this manifest, which has this id, under `out`. Nothing is created before
    /// the first run is kept.
    pub fn open(out: &Path, manifest: &Manifest, id: &str) -> Self {
        let parent = out.join(&manifest.experiment);
        remove_stale(&parent);
        Self { dir: parent.join(format!("{PREFIX}{id}")), temporary: None }
    }

    /// Creates runs that cannot be repeated, in a folder that is deleted with the process.
    ///
    /// # Errors
    /// Fails if the folder or file cannot be written.
    pub fn temporary(out: &Path, manifest: &Manifest) -> io::Result<Self> {
        let parent = out.join(&manifest.experiment);
        fs::create_dir_all(&parent)?;
        let dir = Unfinished::create(&parent)?;
        Ok(Self { dir: dir.path().to_owned(), temporary: Some(dir) })
    }

    /// Begins the recording of a run.
    ///
    /// # Errors
    /// Fails if the folder or file cannot be written.
    pub fn record(&self) -> io::Result<Recording> {
        fs::create_dir_all(&self.dir)?;
        Recording::begin(&self.dir)
    }

    /// Finishes the recording of the run with this number.
    ///
    /// # Errors
    /// Fails if the folder or file cannot be written.
    pub fn recorded(&self, number: usize, recording: Recording) -> io::Result<Option<Recorded>> {
        recording.finish(&self.series(number))
    }

    /// Reads the time series of a run, part by part.
    pub(super) fn parts(&self, number: usize) -> io::Result<impl Iterator<Item = io::Result<Part>> + use<>> {
        recording::parts(&self.series(number))
    }

    /// Returns the run with this number, if it exists and is undamaged.
    pub fn load(&self, number: usize) -> Option<Done> {
        let mut bytes = Vec::new();
        open_regular(&self.file(number)).and_then(|mut file| file.read_to_end(&mut bytes)).ok()?;
        let (digest, body) = bytes.split_at_checked(DIGEST)?;
        if Sha256::digest(body)[..] != *digest {
            return None;
        }
        let done: Done = postcard::from_bytes(body).ok()?;
        let is_whole = done.recorded.as_ref().is_none_or(|recorded| recorded.is(&self.series(number)));
        is_whole.then_some(done)
    }

    /// Stores a run in one step.
    ///
    /// # Errors
    /// Fails if the folder or file cannot be written.
    pub fn keep(&self, number: usize, done: &Done) -> io::Result<()> {
        let body = postcard::to_stdvec(done).map_err(io::Error::other)?;
        fs::create_dir_all(&self.dir)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(&Sha256::digest(&body))?;
        file.write_all(&body)?;
        file.persist(self.file(number)).map(drop).map_err(|e| e.error)
    }

    /// Counts the existing runs among the first `all` that outlive the process. Unless all exist,
    /// damage is noticed when they are read.
    pub fn count(&self, all: usize) -> usize {
        let all = if self.temporary.is_some() { 0 } else { all };
        let there = (0..all).filter(|number| self.file(*number).is_file()).count();
        if there < all { there } else { (0..all).filter(|number| self.load(*number).is_some()).count() }
    }

    /// Deletes the runs. Their results are elsewhere, or not wanted.
    pub fn discard(&self) {
        let _ = fs::remove_dir_all(&self.dir);
    }

    /// Deletes their folder if it is empty.
    pub fn remove_if_empty(&self) {
        let _ = fs::remove_dir(&self.dir);
    }

    fn file(&self, number: usize) -> PathBuf {
        self.dir.join(format!("{number:05}.run"))
    }

    fn series(&self, number: usize) -> PathBuf {
        self.dir.join(format!("{number:05}.series"))
    }
}

/// Returns the unfinished studies in an experiment's folder: id and number of runs.
pub(super) fn unfinished(parent: &Path) -> io::Result<Vec<(String, usize)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        if let Some(id) = entry.file_name().to_string_lossy().strip_prefix(PREFIX) {
            let is_run = |file: &fs::DirEntry| file.file_name().to_string_lossy().ends_with(".run");
            // The study may end meanwhile.
            if let Some(files) = if_there(fs::read_dir(entry.path()))? {
                all.push((id.to_owned(), files.flatten().filter(is_run).count()));
            }
        }
    }
    all.sort();
    Ok(all)
}

/// Deletes the runs of abandoned studies.
fn remove_stale(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten().filter(|e| e.file_name().to_string_lossy().starts_with(PREFIX)) {
        if is_stale(&entry) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::summary::Track;
    use scenario::RunLength;

    fn track(times: &[f64]) -> Track {
        let columns =
            BTreeMap::from([("cwnd_bytes".to_owned(), RunLength::from_values(&[1.5, f64::NAN, -0.0]))]);
        let (variant, row) = ("v".to_owned(), "r".into());
        Track { variant, row, repetition: 1, flow: 0, times: times.to_vec(), columns }
    }

    fn kept(runs: &Runs, number: usize) -> Done {
        let mut rtt = Histogram::default();
        rtt.add(units::Duration::from_millis(17));
        let mut recording = runs.record().unwrap();
        recording.add(&Part::from_tracks(&[track(&[0.1, 0.2, 0.3])])).unwrap();
        recording.add(&Part::from_tracks(&[track(&[0.4, 0.5, 0.6])])).unwrap();
        let recorded = runs.recorded(number, recording).unwrap();
        let values = BTreeMap::from([("goodput".into(), 0.1 + 0.2)]);
        let done = Done { values, flows: Vec::new(), rtt, recorded, audit: None, exchanges: Vec::new() };
        runs.keep(number, &done).unwrap();
        done
    }

    fn runs(dir: &Path) -> Runs {
        Runs { dir: dir.join(".runs-0123"), temporary: None }
    }

    #[test]
    fn every_bit_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let runs = runs(dir.path());
        assert_eq!((runs.load(3), runs.count(5)), (None, 0));
        let done = kept(&runs, 3);
        assert_eq!(runs.load(3), Some(done));
        let tracks = |part: io::Result<Part>| {
            let mut all = Vec::new();
            part.unwrap().add_to(&mut all, |_| true);
            all
        };
        let parts: Vec<Vec<Track>> = runs.parts(3).unwrap().map(tracks).collect();
        let bits = |t: &Track| t.columns["cwnd_bytes"].iter().map(f64::to_bits).collect::<Vec<_>>();
        assert_eq!((parts.len(), &parts[1][0].times[..]), (2, &[0.4, 0.5, 0.6][..]));
        assert_eq!(bits(&parts[0][0]), bits(&track(&[])));
        assert_eq!(runs.count(5), 1);
        runs.discard();
        assert_eq!(runs.count(5), 0);
    }

    /// A damaged, truncated or empty file is ignored, and the run is computed again.
    #[test]
    fn what_is_not_whole_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let runs = runs(dir.path());
        kept(&runs, 0);
        for path in [runs.file(0), runs.series(0)] {
            let whole = fs::read(&path).unwrap();
            for i in [0, DIGEST, whole.len() - 1] {
                let mut bytes = whole.clone();
                bytes[i] ^= 1;
                fs::write(&path, &bytes).unwrap();
                assert_eq!(runs.load(0), None, "byte {i}");
            }
            for length in [0, DIGEST - 1, whole.len() / 2] {
                fs::write(&path, &whole[..length]).unwrap();
                assert_eq!(runs.load(0), None, "{length} bytes");
            }
            fs::write(&path, &whole).unwrap();
        }
        assert!(runs.load(0).is_some());
    }

    #[test]
    fn a_run_without_samples_has_no_series() {
        let dir = tempfile::tempdir().unwrap();
        let runs = runs(dir.path());
        assert_eq!(runs.recorded(0, runs.record().unwrap()).unwrap(), None);
        assert!(!runs.series(0).exists());
    }
}
