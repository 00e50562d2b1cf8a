//! The packet log: one row per packet, streamed to a file by a thread of its own. The ground truth
//! of queue, drops, marks.
//!
//! The engine never waits for it. What the writer cannot take is counted as lost, and makes the run
//! invalid. It may also be kept in memory, for later analysis.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread;
use std::time::Instant;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use units::Time;

use crate::emu::capture::pcapng::Pcap;
use crate::emu::capture::row::{Frame, HEADER, Row};
use crate::emu::error::Error;
use crate::emu::linux::clock::wall_at;

/// Entries that go to the writer together.
const BATCH: usize = 512;
/// Batches that wait for the writer at most: some 50 MB of full packets.
const WAITING: usize = 64;
/// Time that the end of a run waits for a writer that makes no progress.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

/// Destinations of the packet log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// Rows as CSV.
    pub csv: Option<PathBuf>,
    /// The traffic as pcapng: every packet at the interface where it was sent and, if it arrived,
    /// where it was received.
    pub pcap: Option<PathBuf>,
    /// Keep the rows in memory, some 80 bytes a packet, for the run's report.
    pub keep: bool,
}

/// Result of writing the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogReport {
    /// Entries lost because the writer was too slow.
    pub lost: u64,
    /// Error of writing the file.
    pub error: Option<String>,
}

#[derive(Debug, Default)]
struct Batch {
    rows: Vec<Row>,
    frames: Vec<Frame>,
}

/// The engine's side of the log.
#[derive(Debug)]
pub(crate) struct Log {
    rows: bool,
    frames: bool,
    batch: Batch,
    to: SyncSender<Batch>,
    lost: mpsc::Sender<u64>,
}

/// The other side, which waits for the writer when the run is over.
#[derive(Debug)]
pub(crate) struct Writer {
    done: Receiver<io::Result<Vec<Row>>>,
    lost: Receiver<u64>,
    names: String,
}

impl Log {
    /// Opens the files and starts their writer. Returns `None` if nothing is to be written. `start`
    /// is when the run starts: its times count from there.
    pub(crate) fn open(files: &Files, start: Instant) -> Result<Option<(Self, Writer)>, Error> {
        if *files == Files::default() {
            return Ok(None);
        }
        let mut outputs = Outputs { csv: None, pcap: None, kept: files.keep.then(Vec::new) };
        if let Some(path) = &files.csv {
            let mut csv = BufWriter::new(create(path)?);
            writeln!(csv, "{HEADER}").map_err(|e| unwritable(path, &e))?;
            outputs.csv = Some(csv);
        }
        if let Some(path) = &files.pcap {
            outputs.pcap = Some(Pcap::new(create(path)?, wall_at(start)).map_err(|e| unwritable(path, &e))?);
        }
        let names = [&files.csv, &files.pcap].into_iter().flatten().map(|p| p.display().to_string());
        let (to, batches) = mpsc::sync_channel(WAITING);
        let (finished, done) = mpsc::channel();
        let (lost, losses) = mpsc::channel();
        // Its receiver may have lost patience: then nobody listens, and that is all right.
        thread::spawn(move || drop(finished.send(outputs.write_all(&batches))));
        let writer = Writer { done, lost: losses, names: names.collect::<Vec<_>>().join(", ") };
        let log = Self {
            rows: files.csv.is_some() || files.keep,
            frames: files.pcap.is_some(),
            batch: Batch::default(),
            to,
            lost,
        };
        Ok(Some((log, writer)))
    }

    pub(crate) fn row(&mut self, row: Row) {
        if self.rows {
            self.batch.rows.push(row);
            self.flush_if_full();
        }
    }

    pub(crate) fn frame(&mut self, interface: usize, at: Time, bytes: &[u8]) {
        if self.frames {
            self.batch.frames.push(Frame { interface, at, bytes: bytes.to_vec() });
            self.flush_if_full();
        }
    }

    fn flush_if_full(&mut self) {
        if self.batch.rows.len() + self.batch.frames.len() >= BATCH {
            self.flush();
        }
    }

    /// Passes on the current batch, or counts it as lost.
    pub(crate) fn flush(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        let entries = batch.rows.len() + batch.frames.len();
        if entries == 0 {
            return;
        }
        // A writer that has ended says why itself.
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = self.to.try_send(batch) {
            let _ = self.lost.send(entries as u64);
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.flush();
    }
}

impl Writer {
    /// Waits for the writer after the engine has dropped its side. Also returns the rows that were
    /// kept, in the order in which packets ended.
    pub(crate) fn finish(self) -> (LogReport, Vec<Row>) {
        let (rows, error) = match self.done.recv_timeout(PATIENCE) {
            Ok(Ok(rows)) => (rows, None),
            Ok(Err(e)) => {
                (Vec::new(), Some(format!("the packet log cannot be written to {}: {e}", self.names)))
            }
            Err(_) => {
                (Vec::new(), Some(format!("the packet log is not finished: nobody reads {}", self.names)))
            }
        };
        (LogReport { lost: self.lost.try_iter().sum(), error }, rows)
    }
}

struct Outputs {
    csv: Option<BufWriter<File>>,
    pcap: Option<Pcap<File>>,
    kept: Option<Vec<Row>>,
}

impl Outputs {
    fn write_all(mut self, batches: &Receiver<Batch>) -> io::Result<Vec<Row>> {
        for batch in batches {
            if let Some(csv) = &mut self.csv {
                batch.rows.iter().try_for_each(|row| row.write(csv))?;
            }
            if let Some(kept) = &mut self.kept {
                kept.extend(&batch.rows);
            }
            if let Some(pcap) = &mut self.pcap {
                batch.frames.into_iter().try_for_each(|frame| pcap.write(frame))?;
            }
        }
        if let Some(csv) = &mut self.csv {
            csv.flush()?;
        }
        self.pcap.as_mut().map_or(Ok(()), Pcap::flush)?;
        Ok(self.kept.unwrap_or_default())
    }
}

/// Creates or truncates a file. A pipe without a reader is an error, because opening it would wait.
fn create(path: &Path) -> Result<File, Error> {
    let mut options = File::options();
    let opened =
        options.write(true).create(true).truncate(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path);
    let file = opened.map_err(|e| match e.raw_os_error() {
        Some(nix::libc::ENXIO) => {
            Error::new(format!("nobody reads the pipe {}: start its reader first", path.display()))
        }
        _ => unwritable(path, &e),
    })?;
    // From here on a slow reader is to hold up the writer, not to fail it.
    fcntl(&file, FcntlArg::F_SETFL(OFlag::empty())).map_err(|e| unwritable(path, &e.into()))?;
    Ok(file)
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::new(format!("cannot write the packet log to {}: {error}", path.display()))
}
