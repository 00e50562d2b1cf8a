//! Runs of an unfinished study, kept one by one so that none is computed twice: `<out>/<experiment>/.runs-<id>/00017.run`.
//!
//! A study that was interrupted goes on from them, parts that were computed elsewhere are copied beside them, and the folder of the
//! results takes their place. A file is the SHA-256 of what follows, then the run in postcard's encoding, which keeps every bit of a
//! number; what is not whole counts as not there.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use scenario::Histogram;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::measure::Values;
use crate::run_row::Audit;
use crate::store::Manifest;
use crate::summary::{FlowRow, Track};

pub(super) const PREFIX: &str = ".runs-";
/// Runs that nobody came back for.
const FORGOTTEN: Duration = Duration::from_secs(14 * 24 * 3600);
const DIGEST: usize = 32;

/// One run, done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// All metrics.
    pub values: Values,
    /// Those of each flow.
    pub flows: Vec<FlowRow>,
    /// The RTT samples of all flows.
    pub rtt: Histogram,
    /// Time series.
    pub tracks: Vec<Track>,
    /// What a run in real time says of itself.
    pub audit: Option<Audit>,
}

/// The runs of one study that are done.
#[derive(Debug)]
pub struct Runs {
    dir: PathBuf,
}

impl Runs {
    /// Those of this manifest under `out`. Nothing is made before the first run is kept.
    pub fn of(out: &Path, manifest: &Manifest) -> Self {
        let parent = out.join(&manifest.experiment);
        forget(&parent);
        Self { dir: parent.join(format!("{PREFIX}{}", manifest.id())) }
    }

    /// The run of this number, if it is there and whole.
    pub fn load(&self, number: usize) -> Option<Done> {
        let bytes = fs::read(self.file(number)).ok()?;
        let (digest, body) = bytes.split_at_checked(DIGEST)?;
        if Sha256::digest(body)[..] != *digest {
            return None;
        }
        postcard::from_bytes(body).ok()
    }

    /// Keeps a run; it is there whole or not at all.
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn keep(&self, number: usize, done: &Done) -> io::Result<()> {
        let body = postcard::to_stdvec(done).map_err(io::Error::other)?;
        fs::create_dir_all(&self.dir)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(&Sha256::digest(&body))?;
        file.write_all(&body)?;
        file.persist(self.file(number)).map(drop).map_err(|e| e.error)
    }

    /// How many of the first `all` there are; whether they are whole is seen when they are read.
    pub fn count(&self, all: usize) -> usize {
        (0..all).filter(|number| self.file(*number).is_file()).count()
    }

    /// Removes them: their results stand elsewhere, or nobody wants them.
    pub fn discard(&self) {
        let _ = fs::remove_dir_all(&self.dir);
    }

    fn file(&self, number: usize) -> PathBuf {
        self.dir.join(format!("{number:05}.run"))
    }
}

/// The unfinished studies in an experiment's folder: id, and how many runs are kept.
pub(super) fn unfinished(parent: &Path) -> io::Result<Vec<(String, usize)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        if let Some(id) = entry.file_name().to_string_lossy().strip_prefix(PREFIX) {
            all.push((id.to_owned(), fs::read_dir(entry.path())?.count()));
        }
    }
    all.sort();
    Ok(all)
}

/// Removes the runs of studies that nobody went on with.
fn forget(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten().filter(|e| e.file_name().to_string_lossy().starts_with(PREFIX)) {
        let changed = entry.metadata().and_then(|meta| meta.modified());
        // Housekeeping: what is removed decides no result.
        let age = changed.ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age > FORGOTTEN) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn done() -> Done {
        let mut rtt = Histogram::default();
        rtt.add(units::Duration::from_millis(17));
        let columns = BTreeMap::from([("cwnd_bytes".to_owned(), vec![1.5, f64::NAN, -0.0])]);
        Done {
            values: BTreeMap::from([("goodput".into(), 0.1 + 0.2)]),
            flows: Vec::new(),
            rtt,
            tracks: vec![Track {
                variant: "v".to_owned(),
                row: "r".into(),
                repetition: 1,
                flow: 0,
                times: vec![0.1, 0.2, 0.3],
                columns,
            }],
            audit: None,
        }
    }

    fn runs(dir: &Path) -> Runs {
        Runs { dir: dir.join(".runs-0123") }
    }

    #[test]
    fn every_bit_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let runs = runs(dir.path());
        assert_eq!((runs.load(3), runs.count(5)), (None, 0));
        runs.keep(3, &done()).unwrap();
        let back = runs.load(3).unwrap();
        let bits =
            |d: &Done| d.tracks[0].columns["cwnd_bytes"].iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&back), bits(&done()));
        assert_eq!((back.values, back.rtt), (done().values, done().rtt));
        assert_eq!(runs.count(5), 1);
        runs.discard();
        assert_eq!(runs.count(5), 0);
    }

    /// A byte changed, cut off, or nothing at all: computed again.
    #[test]
    fn what_is_not_whole_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let runs = runs(dir.path());
        runs.keep(0, &done()).unwrap();
        let whole = fs::read(runs.file(0)).unwrap();
        for i in [0, DIGEST, whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[i] ^= 1;
            fs::write(runs.file(0), &bytes).unwrap();
            assert_eq!(runs.load(0), None, "byte {i}");
        }
        for length in [0, DIGEST - 1, whole.len() / 2] {
            fs::write(runs.file(0), &whole[..length]).unwrap();
            assert_eq!(runs.load(0), None, "{length} bytes");
        }
    }
}
