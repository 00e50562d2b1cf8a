//! Folders during writing, with a lock that ends with their process.
//!
//! A lock also tells processes in other PID namespaces and, over NFS, on other hosts.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Duration;

use experiment::library::TEMPORARY;
use tempfile::TempDir;

const PREFIX: &str = TEMPORARY[0];
/// Name of the locked file.
pub(super) const LOCK: &str = ".lock";
/// Age at which a folder without a lock is removed.
const STALE_AFTER: Duration = Duration::from_secs(14 * 24 * 3600);

/// A folder during writing. It is removed if it is dropped.
#[derive(Debug)]
pub(super) struct Unfinished {
    dir: TempDir,
    _lock: Option<File>,
}

impl Unfinished {
    /// Creates a folder in `parent`.
    pub(super) fn create(parent: &Path) -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        // Until it is locked, the folder has no lock and is young.
        let file = tempfile::NamedTempFile::new_in(dir.path())?;
        let is_locked = try_lock(file.as_file());
        let lock = file.persist(dir.path().join(LOCK)).map_err(|e| e.error)?;
        Ok(Self { dir, _lock: is_locked.then_some(lock) })
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Removes the lock, for the last step before publishing.
    pub(super) fn unlock(&self) {
        let _ = fs::remove_file(self.path().join(LOCK));
    }

    /// Leaves the folder where it is.
    pub(super) fn keep(self) {
        let _ = self.dir.keep();
    }
}

/// Removes unfinished folders of processes that no longer exist.
pub(super) fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten().filter(|e| e.file_name().to_string_lossy().starts_with(PREFIX)) {
        let lock = File::options().read(true).write(true).open(entry.path().join(LOCK));
        let is_abandoned = match lock {
            Ok(lock) if cfg!(unix) => try_lock(&lock),
            _ => is_stale(&entry),
        };
        if is_abandoned {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Reports whether nothing has changed in a folder for a long time.
pub(super) fn is_stale(entry: &fs::DirEntry) -> bool {
    let changed = entry.metadata().and_then(|meta| meta.modified());
    // Only for housekeeping: no result depends on it.
    changed.ok().and_then(|at| at.elapsed().ok()).is_some_and(|age| age > STALE_AFTER)
}

/// Locks a file until it is closed, if no other process has it locked.
#[cfg(unix)]
fn try_lock(file: &File) -> bool {
    use rustix::fs::{FlockOperation, flock};
    flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

#[cfg(not(unix))]
fn try_lock(_: &File) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the age of a folder")]
    fn only_folders_without_an_owner_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let there = Unfinished::create(parent.path()).unwrap();
        let left = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent.path()).unwrap().keep();
        File::create(left.join(LOCK)).unwrap();
        let old = std::time::SystemTime::now() - 2 * STALE_AFTER;
        File::open(there.path()).unwrap().set_modified(old).unwrap();
        let starting = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent.path()).unwrap();
        remove_abandoned(parent.path());
        assert!(there.path().exists() && starting.path().exists());
        assert_eq!(left.exists(), cfg!(not(unix)));
        there.unlock();
        let path = there.path().to_owned();
        drop(there);
        assert!(!path.exists());
    }
}
