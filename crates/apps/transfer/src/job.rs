//! State that the tasks of one server connection share.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::net::SocketAddr;
use std::ops::Range;
use std::rc::Rc;

use bytes::Bytes;

use crate::meter::Meter;
use crate::root::{Refusal, Root, Served};
use crate::session::Session;
use crate::tasks::{Signal, Spawner};

/// Largest number of bytes per read from a file.
const PIECE: usize = 32 << 10;
/// Largest number of entries in a log.
const MAX_LINES: usize = 1000;
/// H3_INTERNAL_ERROR (RFC 9114 section 8.1).
const INTERNAL_ERROR: u64 = 0x102;

/// An answered request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Address of the client.
    pub peer: SocketAddr,
    /// Requested path, not decoded.
    pub path: String,
    /// HTTP status, also for `hq-interop`.
    pub status: u16,
    /// Number of file bytes passed to the connection.
    pub bytes: u64,
}

/// Log of answered requests. Entries are lost if nothing takes them.
#[derive(Clone, Debug, Default)]
pub struct Log(Rc<RefCell<VecDeque<LogEntry>>>);

impl Log {
    pub(crate) fn put(&self, line: LogEntry) {
        let mut lines = self.0.borrow_mut();
        if lines.len() < MAX_LINES {
            lines.push_back(line);
        }
    }

    /// Removes and returns the oldest entry.
    pub fn take(&self) -> Option<LogEntry> {
        self.0.borrow_mut().pop_front()
    }
}

/// Shared state of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) session: Session,
    pub(crate) peer: SocketAddr,
    pub(crate) root: Root,
    pub(crate) stop: Signal,
    pub(crate) spawner: Spawner,
    pub(crate) log: Log,
    pub(crate) meter: Meter,
    /// Number of requests in progress.
    pub(crate) running: Rc<Cell<usize>>,
}

/// Guard that counts a request in progress.
struct Running(Rc<Cell<usize>>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Job {
    /// Spawns the task of a request.
    pub(crate) fn answer(&self, task: impl Future<Output = ()> + 'static) {
        self.running.set(self.running.get() + 1);
        let running = Running(Rc::clone(&self.running));
        self.task(async move {
            let _running = running;
            task.await;
        });
    }

    /// Spawns a task. Its panic closes the connection.
    pub(crate) fn task(&self, task: impl Future<Output = ()> + 'static) {
        let session = self.session.clone();
        self.spawner.spawn(task, move || session.close(INTERNAL_ERROR, b""));
    }

    pub(crate) fn answered(&self, path: &str, status: u16, bytes: u64) {
        self.log.put(LogEntry { peer: self.peer, path: path.to_owned(), status, bytes });
    }
}

/// Reads a part of a file piece by piece.
pub(crate) struct Pieces {
    pub(crate) file: Served,
    pub(crate) left: Range<u64>,
}

impl Pieces {
    pub(crate) fn whole(file: Served) -> Self {
        let left = 0..file.len();
        Self { file, left }
    }

    /// Reads the next piece, once the session may hold it. Returns `None` at the end of the file or
    /// of the connection.
    pub(crate) async fn next(&mut self, session: &Session) -> Result<Option<Bytes>, Refusal> {
        let left = self.left.end.saturating_sub(self.left.start);
        if left == 0 {
            return Ok(None);
        }
        let len = session.room(usize::try_from(left).unwrap_or(PIECE).min(PIECE)).await;
        if len == 0 {
            return Ok(None);
        }
        let mut piece = vec![0; len];
        self.file.read(self.left.start, &mut piece)?;
        self.left.start += len as u64;
        Ok(Some(piece.into()))
    }
}
