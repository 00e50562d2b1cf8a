//! What the tasks of one connection of a server share.

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

/// Read from a file in one go, in bytes: of each stream so much is in memory besides what its
/// session and the connection hold.
const PIECE: u64 = 32 << 10;
/// What a log keeps that nobody takes.
const MAX_LINES: usize = 1000;
/// H3_INTERNAL_ERROR (RFC 9114 section 8.1).
const INTERNAL_ERROR: u64 = 0x102;

/// A request that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Who asked.
    pub peer: SocketAddr,
    /// For what, as it was written.
    pub path: String,
    /// With which status: that of HTTP, for `hq-interop` too.
    pub status: u16,
    /// How many bytes of the file were handed to the connection.
    pub bytes: u64,
}

/// What was answered, for people.
#[derive(Clone, Debug, Default)]
pub struct Log(Rc<RefCell<VecDeque<Answered>>>);

impl Log {
    pub(crate) fn put(&self, line: Answered) {
        let mut lines = self.0.borrow_mut();
        if lines.len() < MAX_LINES {
            lines.push_back(line);
        }
    }

    /// The oldest that was not taken yet.
    pub fn take(&self) -> Option<Answered> {
        self.0.borrow_mut().pop_front()
    }
}

/// Of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) session: Session,
    pub(crate) peer: SocketAddr,
    pub(crate) root: Rc<Root>,
    pub(crate) stop: Signal,
    pub(crate) spawner: Spawner,
    pub(crate) log: Log,
    pub(crate) meter: Meter,
    /// Requests that are being answered.
    pub(crate) running: Rc<Cell<usize>>,
}

/// Counts a request as long as it lives.
struct Running(Rc<Cell<usize>>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Job {
    /// A task for a request.
    pub(crate) fn answer(&self, task: impl Future<Output = ()> + 'static) {
        self.running.set(self.running.get() + 1);
        let running = Running(Rc::clone(&self.running));
        self.task(async move {
            let _running = running;
            task.await;
        });
    }

    /// A task whose panic ends the connection.
    pub(crate) fn task(&self, task: impl Future<Output = ()> + 'static) {
        let session = self.session.clone();
        self.spawner.spawn(task, move || session.close(INTERNAL_ERROR, b""));
    }

    pub(crate) fn answered(&self, path: &str, status: u16, bytes: u64) {
        self.log.put(Answered { peer: self.peer, path: path.to_owned(), status, bytes });
    }
}

/// A part of a file, piece by piece.
pub(crate) struct Pieces {
    pub(crate) file: Served,
    pub(crate) left: Range<u64>,
}

impl Pieces {
    /// All of it.
    pub(crate) fn whole(file: Served) -> Self {
        let left = 0..file.len();
        Self { file, left }
    }

    /// The next.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, Refusal> {
        let len = PIECE.min(self.left.end.saturating_sub(self.left.start));
        if len == 0 {
            return Ok(None);
        }
        let mut piece = vec![0; len as usize];
        self.file.read(self.left.start, &mut piece)?;
        self.left.start += len;
        Ok(Some(piece.into()))
    }
}
