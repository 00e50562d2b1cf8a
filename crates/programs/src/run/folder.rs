//! The files of one run: what is served, what arrives, keys, the capture. Everything goes when the run is over; what a killed run has left goes when
//! the next one begins.

use std::fs::{self, File, Permissions};
use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;

use ring::digest;
use tempfile::TempDir;
use units::Rng;

use crate::error::Error;
use crate::reader::KeyLog;

/// What the served file is called, and so the downloaded one.
pub(crate) const FILE: &str = "file";
/// What folders of runs are called, before the process that made them.
const PREFIX: &str = "ackclock-run-";
/// Bytes of a file at most: it lies on disk, twice.
pub(crate) const MAX_FILE: u64 = 4 << 30;
/// Bytes written or read at a time.
const PIECE: usize = 64 << 10;
/// Bytes of a key log at most: one connection has less than a kilobyte.
const MAX_KEYS: u64 = 1 << 20;

/// The folder of one run.
#[derive(Debug)]
pub(crate) struct Folder {
    dir: TempDir,
}

/// The folders of one flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowFolder {
    /// What its server serves.
    pub(crate) root: PathBuf,
    /// Where its client writes.
    pub(crate) downloads: PathBuf,
    /// Key logs of client and server.
    pub(crate) keys: [PathBuf; 2],
    /// qlog of client and server.
    pub(crate) qlog: [PathBuf; 2],
}

impl Folder {
    /// A new one, in the system's folder for such.
    ///
    /// # Errors
    /// What the system refuses.
    pub(crate) fn new() -> Result<Self, Error> {
        Self::below(&std::env::temp_dir())
    }

    fn below(parent: &Path) -> Result<Self, Error> {
        let space = process_space();
        forget_dead(parent, &space);
        let dir = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{space}-{}-", process::id()))
            .tempdir_in(parent);
        let dir = dir.map_err(|e| {
            Error::system(format_args!("make a folder for the run in {}", parent.display()), e)
        })?;
        // The ends may run as somebody else, who called sudo.
        open_to_all(dir.path(), 0o755)?;
        Ok(Self { dir })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Folders for a flow of this number, with a file of so many bytes. One that is only to be long enough is not filled.
    ///
    /// # Errors
    /// What the system refuses.
    pub(crate) fn flow(&self, number: usize, size: u64, seed: Option<u64>) -> Result<FlowFolder, Error> {
        let flow = self.path().join(format!("flow-{number}"));
        let of = |name: &str| {
            let path = flow.join(name);
            fs::create_dir_all(&path)
                .map_err(|e| Error::system(format_args!("make {}", path.display()), e))?;
            open_to_all(&path, 0o777)?;
            Ok::<_, Error>(path)
        };
        let (root, downloads, client, server) = (of("root")?, of("downloads")?, of("client")?, of("server")?);
        open_to_all(&flow, 0o755)?;
        open_to_all(&root, 0o755)?;
        let written = write_file(&root.join(FILE), size, seed);
        written.map_err(|e| Error::system(format_args!("write a file of {size} bytes"), e))?;
        let [keys, qlog] = ["keys", "qlog"].map(|name| [client.join(name), server.join(name)]);
        for path in &qlog {
            fs::create_dir_all(path)
                .map_err(|e| Error::system(format_args!("make {}", path.display()), e))?;
            open_to_all(path, 0o777)?;
        }
        Ok(FlowFolder { root, downloads, keys, qlog })
    }
}

impl FlowFolder {
    /// Where what was served arrives.
    pub(crate) fn out(&self) -> PathBuf {
        self.downloads.join(FILE)
    }

    /// How many bytes have arrived; 0 before there is a file.
    pub(crate) fn arrived(&self) -> u64 {
        fs::metadata(self.out()).map_or(0, |file| file.len())
    }

    /// Whether what has arrived is what was served, by SHA-256.
    pub(crate) fn is_right(&self) -> bool {
        let hashes = [self.root.join(FILE), self.out()].map(|path| hash(&path).ok());
        hashes[0].is_some() && hashes[0] == hashes[1]
    }

    /// Copies what both ends have written of qlog to a folder that outlives the run.
    ///
    /// # Errors
    /// What the system refuses.
    pub(crate) fn keep_qlog(&self, number: usize, to: &Path) -> Result<(), Error> {
        let keep = || -> std::io::Result<()> {
            fs::create_dir_all(to)?;
            for (side, from) in ["client", "server"].iter().zip(&self.qlog) {
                for file in fs::read_dir(from)? {
                    let file = file?;
                    let name = format!("flow-{number}-{side}-{}", file.file_name().to_string_lossy());
                    // Not what a program may have put there instead of a file.
                    if file.file_type()?.is_file() {
                        fs::copy(file.path(), to.join(name))?;
                    }
                }
            }
            Ok(())
        };
        keep().map_err(|e| Error::system(format_args!("keep qlog in {}", to.display()), e))
    }

    /// The secrets that either end has logged.
    pub(crate) fn key_log(&self) -> KeyLog {
        let mut text = Vec::new();
        for path in &self.keys {
            if let Ok(file) = File::open(path) {
                // What cannot be read is no secret that we have.
                let _ = file.take(MAX_KEYS).read_to_end(&mut text);
                text.push(b'\n');
            }
        }
        KeyLog::parse(&String::from_utf8_lossy(&text))
    }
}

/// The number of the space that process numbers are of: containers that share a folder for temporary files have numbers of their own.
fn process_space() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().chars().filter(char::is_ascii_digit).collect()
}

/// Removes what dead processes of this user's have left.
fn forget_dead(parent: &Path, space: &str) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    let own = fs::metadata("/proc/self").map(|process| process.uid()).ok();
    for entry in entries.flatten() {
        let is_dead = maker(&entry.file_name().to_string_lossy(), space)
            .is_some_and(|maker| !Path::new("/proc").join(maker.to_string()).exists());
        // Not what a link leads to, nor what somebody else has called so.
        let is_ours = || entry.metadata().is_ok_and(|found| found.is_dir() && Some(found.uid()) == own);
        if is_dead && is_ours() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The process that made a folder of this name.
fn maker(name: &str, space: &str) -> Option<u32> {
    let rest = name.strip_prefix(PREFIX)?.strip_prefix(space)?.strip_prefix('-')?;
    rest.split_once('-')?.0.parse().ok()
}

fn open_to_all(path: &Path, mode: u32) -> Result<(), Error> {
    let set = fs::set_permissions(path, Permissions::from_mode(mode));
    set.map_err(|e| Error::system(format_args!("open {} to the ends", path.display()), e))
}

fn write_file(path: &Path, size: u64, seed: Option<u64>) -> std::io::Result<()> {
    let file = File::create(path)?;
    let Some(seed) = seed else { return file.set_len(size) };
    let mut rng = Rng::stream(seed, "file");
    let mut out = BufWriter::new(file);
    let mut left = size;
    while left > 0 {
        let word = rng.next_u64().to_le_bytes();
        let length = left.min(8);
        out.write_all(&word[..length as usize])?;
        left -= length;
    }
    out.flush()
}

fn hash(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = BufReader::new(File::open(path)?);
    let mut context = digest::Context::new(&digest::SHA256);
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(context.finish().as_ref().to_vec()),
            length => context.update(&piece[..length]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_dead_have_left_goes() {
        let parent = tempfile::tempdir().unwrap();
        let space = process_space();
        let mut child = process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let make = |name: String| {
            let path = parent.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("key.pem"), "secret").unwrap();
            path
        };
        let dead = make(format!("{PREFIX}{space}-{}-abc", child.id()));
        let kept = [
            make(format!("{PREFIX}{space}-{}-abc", process::id())),
            make(format!("{PREFIX}1{space}-{}-abc", child.id())),
            make(format!("{PREFIX}{space}-x-abc")),
            make(format!("ackclock-{}", child.id())),
        ];
        let link = parent.path().join(format!("{PREFIX}{space}-{}-link", child.id()));
        std::os::unix::fs::symlink(&kept[0], &link).unwrap();
        let folder = Folder::below(parent.path()).unwrap();
        assert!(!dead.exists() && folder.path().exists());
        assert!(kept.iter().all(|path| path.join("key.pem").exists()) && link.exists());
    }

    #[test]
    fn files_are_seeded_and_compared() {
        let folder = Folder::new().unwrap();
        let [flow, other] =
            [(0, 1), (1, 2)].map(|(number, seed)| folder.flow(number, 1001, Some(seed)).unwrap());
        assert!(!flow.is_right() && flow.arrived() == 0);
        fs::copy(flow.root.join(FILE), flow.out()).unwrap();
        assert!(flow.is_right() && flow.arrived() == 1001);
        fs::copy(other.root.join(FILE), flow.out()).unwrap();
        assert!(!flow.is_right());
        let long = folder.flow(2, 1 << 30, None).unwrap();
        assert_eq!(fs::metadata(long.root.join(FILE)).unwrap().len(), 1 << 30);
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }
}
