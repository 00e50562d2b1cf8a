//! Files of one run: served and downloaded files, keys, and the capture. They are removed when the
//! run ends. Files left by a killed run are removed when the next run starts.
//!
//! The processes of a run have a folder of their own with mode 0700, which belongs to the user that
//! they run as. The capture is in another folder, which belongs to this process. Files in the
//! processes' folder are never read through a link. They must be regular files, and the size read
//! is bounded.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;

use crate::emu::{Identity, Side};
use ring::digest;
use tempfile::TempDir;
use units::Rng;

use crate::processes::error::Error;
use crate::processes::regular;
use quic::passive::KeyLog;

/// Name of the served file, and so of the downloaded one.
pub(crate) const FILE: &str = "file";
/// Prefix of the names of run folders. The ID of the process that made them follows.
const PREFIX: &str = "ackclock-run-";
/// Maximum size of the served file, in bytes. It is stored on disk twice.
pub(crate) const MAX_FILE: u64 = 4 << 30;
/// Size of a read, in bytes.
const PIECE: usize = 64 << 10;
/// Maximum number of bytes read from a key log. One connection needs less than a kilobyte.
const MAX_KEYS: u64 = 1 << 20;
/// Maximum number of bytes copied from one qlog file.
const MAX_QLOG: u64 = 1 << 30;
/// Maximum number of qlog files read from one end.
const MAX_QLOGS: usize = 1000;

/// The folders of one run.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Folder that the processes read and write.
    dir: TempDir,
    /// Folder that only this process reads and writes.
    private: TempDir,
    /// Handle of `dir`, opened while no other user could have replaced it.
    opened: Arc<File>,
}

/// The folders of one flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowFolder {
    /// Folder that the server serves.
    pub(crate) root: PathBuf,
    /// Folder that the client writes to.
    pub(crate) downloads: PathBuf,
    /// Key logs of client and server.
    pub(crate) keys: [PathBuf; 2],
    /// qlog folders of client and server.
    pub(crate) qlog: [PathBuf; 2],
    /// The run's folder, and this flow's name in it.
    run: Arc<File>,
    name: PathBuf,
    size: u64,
}

impl Folder {
    /// Makes the folders in the system's temporary folder.
    ///
    /// # Errors
    /// The error of the system call.
    pub(crate) fn new(identity: &Identity) -> Result<Self, Error> {
        Self::below(&std::env::temp_dir(), identity)
    }

    fn below(parent: &Path, identity: &Identity) -> Result<Self, Error> {
        let namespace = pid_namespace();
        remove_stale(parent, &namespace, identity);
        let failed = |e| Error::system(format_args!("make a folder for the run in {}", parent.display()), e);
        let make = || {
            let name = format!("{PREFIX}{namespace}-{}-", process::id());
            let mut builder = tempfile::Builder::new();
            let builder = builder.prefix(&name).permissions(fs::Permissions::from_mode(0o700));
            builder.tempdir_in(parent).map_err(failed)
        };
        let (dir, private) = (make()?, make()?);
        let opened = Arc::new(File::open(dir.path()).map_err(failed)?);
        Ok(Self { dir, private, opened })
    }

    /// Returns the folder that the processes may read and write.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the folder that only this process may read and write.
    pub(crate) fn private(&self) -> &Path {
        self.private.path()
    }

    /// Makes the folders of flow `number`, with a file of `size` bytes. Without a seed the file has
    /// the right size but no contents.
    ///
    /// # Errors
    /// The error of the system call.
    pub(crate) fn flow(&self, number: usize, size: u64, seed: Option<u64>) -> Result<FlowFolder, Error> {
        let name = PathBuf::from(format!("flow-{number}"));
        let flow = self.path().join(&name);
        let make = |path: &Path| {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(|e| Error::system(format_args!("make {}", path.display()), e))
        };
        let [root, downloads] = ["root", "downloads"].map(|name| flow.join(name));
        let [keys, qlog] =
            ["keys", "qlog"].map(|name| ["client", "server"].map(|end| flow.join(end).join(name)));
        [&root, &downloads, &qlog[0], &qlog[1]].into_iter().try_for_each(|path| make(path))?;
        // Each end appends to its log. The secrets are for no other user.
        let touch = |path: &PathBuf| {
            let made = File::options().append(true).create_new(true).mode(0o600).open(path);
            made.map(drop).map_err(|e| Error::system(format_args!("make {}", path.display()), e))
        };
        keys.iter().try_for_each(touch)?;
        let written = write_file(&root.join(FILE), size, seed);
        written.map_err(|e| Error::system(format_args!("write a file of {size} bytes"), e))?;
        Ok(FlowFolder { root, downloads, keys, qlog, run: Arc::clone(&self.opened), name, size })
    }

    /// Gives the processes' folder and its contents to the user that the processes run as. Until
    /// then no other user can reach it.
    ///
    /// # Errors
    /// The error of the system call.
    pub(crate) fn give(&self, identity: &Identity) -> Result<(), Error> {
        let given = give_all(self.path(), identity);
        given.map_err(|e| {
            Error::system(format_args!("give {} to the user of the run", self.path().display()), e)
        })
    }
}

/// Changes the owner of a path and everything below it. The folder itself is last: until then only
/// this process can have written to it.
fn give_all(path: &Path, identity: &Identity) -> std::io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            give_all(&entry?.path(), identity)?;
        }
    }
    identity.give(path)
}

impl FlowFolder {
    /// Returns the path of the downloaded file.
    pub(crate) fn out(&self) -> PathBuf {
        self.downloads.join(FILE)
    }

    /// Returns the number of bytes that have arrived, or `None` before there is a file.
    pub(crate) fn arrived(&self) -> Option<u64> {
        let file = fs::symlink_metadata(self.out()).ok()?;
        file.is_file().then_some(file.len())
    }

    /// Reports whether the downloaded file equals the served one, by SHA-256.
    pub(crate) fn matches_served(&self) -> bool {
        let hash = |path: &str| hash(self.open(path).ok()?, self.size).ok().flatten();
        let [served, arrived] = ["root", "downloads"].map(|folder| hash(&format!("{folder}/{FILE}")));
        served.is_some() && served == arrived
    }

    /// Copies the qlog files of both ends to a folder that outlives the run.
    ///
    /// # Errors
    /// The error of the system call.
    pub(crate) fn keep_qlog(&self, number: usize, to: &Path) -> Result<(), Error> {
        let keep = || -> std::io::Result<()> {
            fs::create_dir_all(to)?;
            for side in [Side::Client, Side::Server] {
                for (name, file) in self.qlog_files(side) {
                    let name = format!("flow-{number}-{side}-{}", name.display());
                    std::io::copy(&mut file.take(MAX_QLOG), &mut File::create(to.join(name))?)?;
                }
            }
            Ok(())
        };
        keep().map_err(|e| Error::system(format_args!("keep qlog in {}", to.display()), e))
    }

    /// Opens the qlog files of an end. Skips what is not a regular file, and what cannot be read.
    pub(crate) fn qlog_files(&self, side: Side) -> impl Iterator<Item = (std::ffi::OsString, File)> {
        let folder = PathBuf::from(format!("{side}/qlog"));
        let names = regular::names_below(&self.run, &self.name.join(&folder)).unwrap_or_default();
        let open = move |name: std::ffi::OsString| Some((self.open(folder.join(&name)).ok()?, name));
        names.into_iter().filter_map(open).map(|(file, name)| (name, file)).take(MAX_QLOGS)
    }

    /// Returns the secrets that both ends have logged.
    pub(crate) fn key_log(&self) -> KeyLog {
        KeyLog::parse(&String::from_utf8_lossy(&self.secrets()))
    }

    /// Returns what both ends have logged for SSLKEYLOGFILE. A log that cannot be read counts as
    /// empty.
    pub(crate) fn secrets(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for side in [Side::Client, Side::Server] {
            if let Ok(file) = self.open(format!("{side}/keys")) {
                let _ = file.take(MAX_KEYS).read_to_end(&mut text);
                text.push(b'\n');
            }
        }
        text
    }

    fn open(&self, path: impl AsRef<OsStr>) -> std::io::Result<File> {
        regular::open_below(&self.run, &self.name.join(Path::new(path.as_ref())))
    }
}

/// Returns the inode number of this process's PID namespace. Containers that share a temporary
/// folder number their processes separately.
fn pid_namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().chars().filter(char::is_ascii_digit).collect()
}

/// Removes run folders of dead processes. They must belong to this user, or to the user that the
/// processes run as.
fn remove_stale(parent: &Path, namespace: &str, identity: &Identity) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    let owners = [Identity::own().uid(), identity.uid()];
    for entry in entries.flatten() {
        let is_dead = creator(&entry.file_name().to_string_lossy(), namespace)
            .is_some_and(|creator| !Path::new("/proc").join(creator.to_string()).exists());
        // Does not follow links, and ignores another user's folder with such a name.
        let is_ours = || entry.metadata().is_ok_and(|found| found.is_dir() && owners.contains(&found.uid()));
        if is_dead && is_ours() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns the ID of the process that made a folder with this name.
fn creator(name: &str, namespace: &str) -> Option<u32> {
    let rest = name.strip_prefix(PREFIX)?.strip_prefix(namespace)?.strip_prefix('-')?;
    rest.split_once('-')?.0.parse().ok()
}

fn write_file(path: &Path, size: u64, seed: Option<u64>) -> std::io::Result<()> {
    let file = File::create_new(path)?;
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

/// Hashes a file of `size` bytes. Returns `None` if its size differs, without reading it.
fn hash(file: File, size: u64) -> std::io::Result<Option<Vec<u8>>> {
    if file.metadata()?.len() != size {
        return Ok(None);
    }
    let mut file = BufReader::new(file.take(size));
    let mut context = digest::Context::new(&digest::SHA256);
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(Some(context.finish().as_ref().to_vec())),
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
        let namespace = pid_namespace();
        let mut child = process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let make = |name: String| {
            let path = parent.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("key.pem"), "secret").unwrap();
            path
        };
        let dead = make(format!("{PREFIX}{namespace}-{}-abc", child.id()));
        let kept = [
            make(format!("{PREFIX}{namespace}-{}-abc", process::id())),
            make(format!("{PREFIX}1{namespace}-{}-abc", child.id())),
            make(format!("{PREFIX}{namespace}-x-abc")),
            make(format!("ackclock-{}", child.id())),
        ];
        let link = parent.path().join(format!("{PREFIX}{namespace}-{}-link", child.id()));
        std::os::unix::fs::symlink(&kept[0], &link).unwrap();
        let folder = Folder::below(parent.path(), &Identity::own()).unwrap();
        assert!(!dead.exists() && folder.path().exists());
        assert!(kept.iter().all(|path| path.join("key.pem").exists()) && link.exists());
    }

    #[test]
    fn files_are_seeded_and_compared() {
        let folder = Folder::new(&Identity::own()).unwrap();
        let [flow, other] =
            [(0, 1), (1, 2)].map(|(number, seed)| folder.flow(number, 1001, Some(seed)).unwrap());
        assert!(!flow.matches_served() && flow.arrived().is_none());
        fs::copy(flow.root.join(FILE), flow.out()).unwrap();
        assert!(flow.matches_served() && flow.arrived() == Some(1001));
        fs::copy(other.root.join(FILE), flow.out()).unwrap();
        assert!(!flow.matches_served());
        fs::write(flow.out(), vec![0; 1002]).unwrap();
        assert!(!flow.matches_served(), "different size");
        let long = folder.flow(2, 1 << 30, None).unwrap();
        assert_eq!(fs::metadata(long.root.join(FILE)).unwrap().len(), 1 << 30);
        let paths = [folder.path(), folder.private()].map(Path::to_owned);
        drop(folder);
        assert!(paths.iter().all(|path| !path.exists()));
    }

    /// Paths below a folder, with the folder itself.
    fn below(path: &Path) -> Vec<PathBuf> {
        let mut all = vec![path.to_owned()];
        if path.is_dir() {
            all.extend(fs::read_dir(path).unwrap().flat_map(|entry| below(&entry.unwrap().path())));
        }
        all
    }

    /// No other user can reach what the processes read and write; it belongs to the user that they
    /// run as.
    #[test]
    fn folders_are_closed_to_others() {
        let folder = Folder::new(&Identity::own()).unwrap();
        folder.flow(0, 10, Some(1)).unwrap();
        let closed = |path: &PathBuf| fs::metadata(path).unwrap().mode() & 0o077 == 0;
        assert!([folder.path(), folder.private()].map(Path::to_owned).iter().all(closed));
        assert!(below(folder.path()).iter().filter(|path| path.is_dir()).all(closed));
        folder.give(&Identity::own()).unwrap();
        if Identity::own().uid() != 0 {
            println!("skipped: only root can give a folder to another user");
            return;
        }
        for path in below(folder.path()) {
            std::os::unix::fs::lchown(path, Some(0), Some(0)).unwrap();
        }
        let other = Identity::for_test(65_534, 65_534);
        folder.give(&other).unwrap();
        assert!(below(folder.path()).iter().all(|path| fs::metadata(path).unwrap().uid() == 65_534));
        assert_eq!(fs::metadata(folder.private()).unwrap().uid(), 0);
    }

    /// Stacks append their secrets to logs that exist already, for the user of the run alone.
    #[test]
    fn key_logs_are_private() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::below(parent.path(), &Identity::own()).unwrap();
        let flow = folder.flow(0, 10, Some(1)).unwrap();
        assert!(flow.keys.iter().all(|keys| fs::metadata(keys).unwrap().mode() & 0o777 == 0o600));
        assert!(flow.key_log().is_empty());
    }

    /// A process of the run, or its user, may replace files and folders by links and pipes. Links
    /// are not followed, and opening a pipe does not block.
    #[test]
    fn planted_links_and_pipes_are_neither_followed_nor_opened() {
        use std::os::unix::fs::symlink;
        use std::sync::mpsc;
        use std::time::Duration;

        let outside = tempfile::tempdir().unwrap();
        let secret = outside.path().join("secret");
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::below(parent.path(), &Identity::own()).unwrap();
        let pipe = |path: &Path| {
            let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
            rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
        };
        let links = folder.flow(0, 10, Some(1)).unwrap();
        fs::copy(links.root.join(FILE), &secret).unwrap();
        symlink(&secret, links.out()).unwrap();
        fs::write(outside.path().join("keys"), format!("SERVER_TRAFFIC_SECRET_0 {0} {0}", "ab".repeat(32)))
            .unwrap();
        fs::remove_file(&links.keys[0]).unwrap();
        symlink(outside.path().join("keys"), &links.keys[0]).unwrap();
        symlink(&secret, links.qlog[0].join("a.sqlog")).unwrap();
        // A folder replaced by a link.
        fs::remove_dir_all(links.qlog[1].parent().unwrap()).unwrap();
        fs::create_dir(outside.path().join("qlog")).unwrap();
        fs::write(outside.path().join("qlog/b.sqlog"), "secret").unwrap();
        symlink(outside.path(), links.qlog[1].parent().unwrap()).unwrap();
        let pipes = folder.flow(1, 10, Some(1)).unwrap();
        pipe(&pipes.out());
        for keys in &pipes.keys {
            fs::remove_file(keys).unwrap();
            pipe(keys);
        }
        pipe(&pipes.qlog[0].join("a.sqlog"));
        fs::write(pipes.qlog[1].join("b.sqlog"), "plain").unwrap();
        let (tell, told) = mpsc::channel();
        let to = parent.path().join("kept");
        std::thread::spawn(move || {
            for (number, flow) in [links, pipes].iter().enumerate() {
                assert!(!flow.matches_served() && flow.arrived().is_none());
                assert!(flow.key_log().is_empty());
                flow.keep_qlog(number, &to).unwrap();
            }
            let kept = fs::read_dir(to).unwrap().map(|entry| entry.unwrap().file_name());
            tell.send(kept.collect::<Vec<_>>()).unwrap();
        });
        // Opening a pipe without a writer would normally block forever.
        let kept = told.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(kept, ["flow-1-server-b.sqlog"]);
    }
}
