//! Requests of a client, and their progress.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use crate::meter::Summary;
use crate::tasks::{Signal, Spawner};

/// A file to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchRequest {
    /// Index among all requests, from 0.
    pub number: usize,
    /// Server as in the URL, `host` or `host:port`.
    pub authority: String,
    /// Path and query.
    pub path: String,
    /// `Range` field. Only used in HTTP/3.
    pub range: Option<String>,
    /// Path of the downloaded file.
    pub out: PathBuf,
}

/// Reason for a failed transfer.
#[derive(Debug)]
pub enum Failure {
    /// HTTP status other than success.
    Status(u16),
    /// The server reset the stream with this error code.
    Reset(u64),
    /// Invalid response.
    Protocol(String),
    /// Number of bytes received, and the larger number expected.
    Short(u64, u64),
    /// The connection ended.
    Lost,
    /// The file cannot be written. Its path and the error.
    Disk(PathBuf, io::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => {
                let words = http::StatusCode::from_u16(*status).ok().and_then(|s| s.canonical_reason());
                write!(
                    f,
                    "the server answered {status}{}",
                    words.map(|w| format!(" {w}")).unwrap_or_default()
                )
            }
            Self::Reset(code) => {
                write!(f, "the server reset the stream (error 0x{code:x}); the file may have changed")
            }
            Self::Protocol(what) => write!(f, "invalid response: {what}"),
            Self::Short(came, of) => write!(f, "received {came} of {of} bytes"),
            Self::Lost => f.write_str("the connection ended before the file was complete"),
            Self::Disk(path, error) => write!(f, "cannot write {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for Failure {}

/// State of a transfer.
#[derive(Debug, Default)]
pub enum Stage {
    /// No response yet.
    #[default]
    Waiting,
    /// The body is arriving.
    Running,
    /// The file is complete and has its name.
    Done,
    /// The transfer failed.
    Failed(Failure),
}

/// A transfer.
#[derive(Debug, Default)]
pub struct Item {
    /// State.
    pub stage: Stage,
    /// Number of body bytes received.
    pub bytes: u64,
    /// Total number of body bytes, if the server announced it.
    pub expected: Option<u64>,
    /// True if the client requested a range but the server sends the whole file. A server need not
    /// support ranges (RFC 9110 section 14.2).
    pub whole: bool,
}

/// State of the connection besides its transfers.
#[derive(Clone, Copy, Debug, Default)]
struct ConnectionState {
    /// True until the request that follows all transfers has ended.
    busy: bool,
    /// True if the server is one of this crate.
    ackclock: bool,
    seen_by_server: Option<Summary>,
}

/// Progress of all transfers of a client. Clones share the same state.
#[derive(Clone, Debug)]
pub struct Progress {
    items: Rc<RefCell<Vec<Item>>>,
    connection: Rc<Cell<ConnectionState>>,
    over: Signal,
    spawner: Spawner,
}

impl Progress {
    /// Creates the progress of `count` waiting transfers.
    pub fn new(count: usize, spawner: Spawner) -> Self {
        let items = (0..count).map(|_| Item::default()).collect();
        let (connection, over) = (Rc::default(), Signal::default());
        Self { items: Rc::new(RefCell::new(items)), connection, over, spawner }
    }

    /// Calls `read` with all transfers.
    pub fn with_items<R>(&self, read: impl FnOnce(&[Item]) -> R) -> R {
        read(&self.items.borrow())
    }

    fn change(&self, number: usize, change: impl FnOnce(&mut Item)) {
        if let Some(item) = self.items.borrow_mut().get_mut(number) {
            change(item);
        }
        if self.is_over() {
            self.over.send();
        }
    }

    fn note(&self, change: impl FnOnce(&mut ConnectionState)) {
        let mut connection = self.connection.get();
        change(&mut connection);
        self.connection.set(connection);
    }

    /// Returns the server's measurements of the path, if it is a server of this crate and sent
    /// them.
    pub fn seen_by_server(&self) -> Option<Summary> {
        self.connection.get().seen_by_server
    }

    /// Reports whether no request is left, so that the connection can be closed.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_over() && !self.connection.get().busy
    }

    pub(crate) fn hold(&self) {
        self.note(|connection| connection.busy = true);
    }

    pub(crate) fn release(&self) {
        self.note(|connection| connection.busy = false);
    }

    pub(crate) fn set_ackclock(&self) {
        self.note(|connection| connection.ackclock = true);
    }

    pub(crate) fn is_ackclock(&self) -> bool {
        self.connection.get().ackclock
    }

    pub(crate) fn set_seen_by_server(&self, summary: Option<Summary>) {
        self.note(|connection| connection.seen_by_server = summary);
    }

    pub(crate) async fn all_over(&self) {
        self.over.wait().await;
    }

    /// Returns the number of body bytes received, over all transfers.
    pub fn bytes(&self) -> u64 {
        self.items.borrow().iter().map(|item| item.bytes).sum()
    }

    /// Reports whether every transfer has completed or failed.
    pub fn is_over(&self) -> bool {
        self.items.borrow().iter().all(|item| matches!(item.stage, Stage::Done | Stage::Failed(_)))
    }

    pub(crate) fn began(&self, number: usize, expected: Option<u64>) {
        self.change(number, |item| (item.stage, item.expected) = (Stage::Running, expected));
    }

    pub(crate) fn set_whole(&self, number: usize) {
        self.change(number, |item| item.whole = true);
    }

    pub(crate) fn grew(&self, number: usize, bytes: u64) {
        self.change(number, |item| item.bytes += bytes);
    }

    /// Marks all unfinished transfers as failed, because the connection has ended.
    pub(crate) fn lost(&self) {
        for item in self.items.borrow_mut().iter_mut() {
            if matches!(item.stage, Stage::Waiting | Stage::Running) {
                item.stage = Stage::Failed(Failure::Lost);
            }
        }
        self.release();
        self.over.send();
    }

    /// Spawns the task of a transfer. Its result is the result of the transfer.
    pub(crate) fn spawn(&self, number: usize, task: impl Future<Output = Result<(), Failure>> + 'static) {
        let (this, other) = (self.clone(), self.clone());
        let task = async move {
            let ended = task.await;
            this.change(number, |item| {
                item.stage = match ended {
                    Ok(()) => Stage::Done,
                    Err(failure) => Stage::Failed(failure),
                }
            });
        };
        let bug = move || {
            let failure = Failure::Protocol("reading HTTP/3 panicked, which is a bug in Ackclock".to_owned());
            other.change(number, |item| item.stage = Stage::Failed(failure));
        };
        self.spawner.spawn(task, bug);
    }

    pub(crate) const fn spawner(&self) -> &Spawner {
        &self.spawner
    }
}
