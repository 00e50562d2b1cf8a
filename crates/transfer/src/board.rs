//! How far each of several transfers is.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use crate::meter::Summary;
use crate::tasks::{Signal, Spawner};

/// Something to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its place among all, from 0.
    pub number: usize,
    /// Whom to ask: `host` or `host:port`, as in the URL.
    pub authority: String,
    /// For what: path and query.
    pub path: String,
    /// The field `Range`, in HTTP/3.
    pub range: Option<String>,
    /// Where it goes.
    pub out: PathBuf,
}

/// Why a file did not come.
#[derive(Debug)]
pub enum Failure {
    /// The server answered with this status.
    Status(u16),
    /// The server ended the stream, with this error code.
    Reset(u64),
    /// The server sent something that is no answer.
    Protocol(String),
    /// So many bytes came, of so many.
    Short(u64, u64),
    /// The connection ended.
    Lost,
    /// It cannot be written: where, and why.
    Disk(PathBuf, io::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => {
                let words = http::StatusCode::from_u16(*status).ok().and_then(|s| s.canonical_reason());
                write!(f, "the server says {status}{}", words.map(|w| format!(" {w}")).unwrap_or_default())
            }
            Self::Reset(code) => {
                write!(f, "the server broke it off (error 0x{code:x}): the file may have changed meanwhile")
            }
            Self::Protocol(what) => write!(f, "the server's answer is none: {what}"),
            Self::Short(came, of) => write!(f, "{came} bytes came of {of}"),
            Self::Lost => f.write_str("the connection ended before the file did"),
            Self::Disk(path, error) => write!(f, "cannot write {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for Failure {}

/// Where a transfer is.
#[derive(Debug, Default)]
pub enum Stage {
    /// No byte of it has come.
    #[default]
    Waiting,
    /// It comes.
    Running,
    /// It stands under its name.
    Done,
    /// It does not.
    Failed(Failure),
}

/// One transfer.
#[derive(Debug, Default)]
pub struct Item {
    /// How far it is.
    pub stage: Stage,
    /// Bytes that came.
    pub bytes: u64,
    /// Bytes that will come, where the server has said so.
    pub expected: Option<u64>,
    /// A part was asked for, and the server sends the whole file: it need not know ranges (RFC 9110
    /// section 14.2).
    pub whole: bool,
}

/// What is known besides the transfers themselves.
#[derive(Clone, Copy, Debug, Default)]
struct Beside {
    /// Something is still to be asked when all are over.
    stays: bool,
    /// The server is one of this crate.
    ours: bool,
    heard: Option<Summary>,
}

/// All of them. Copies are the same board.
#[derive(Clone, Debug)]
pub struct Board {
    items: Rc<RefCell<Vec<Item>>>,
    beside: Rc<Cell<Beside>>,
    over: Signal,
    spawner: Spawner,
}

impl Board {
    /// Of so many transfers.
    pub fn new(count: usize, spawner: Spawner) -> Self {
        let items = (0..count).map(|_| Item::default()).collect();
        let (beside, over) = (Rc::default(), Signal::default());
        Self { items: Rc::new(RefCell::new(items)), beside, over, spawner }
    }

    /// Looks at all of them.
    pub fn look<R>(&self, look: impl FnOnce(&[Item]) -> R) -> R {
        look(&self.items.borrow())
    }

    fn change(&self, number: usize, change: impl FnOnce(&mut Item)) {
        if let Some(item) = self.items.borrow_mut().get_mut(number) {
            change(item);
        }
        if self.is_over() {
            self.over.give();
        }
    }

    fn note(&self, change: impl FnOnce(&mut Beside)) {
        let mut beside = self.beside.get();
        change(&mut beside);
        self.beside.set(beside);
    }

    /// What the server has seen of the path, where it is one of this crate and was asked.
    pub fn seen_by_server(&self) -> Option<Summary> {
        self.beside.get().heard
    }

    /// Nothing is left to ask: the connection can be closed.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_over() && !self.beside.get().stays
    }

    pub(crate) fn stay(&self) {
        self.note(|beside| beside.stays = true);
    }

    pub(crate) fn leave(&self) {
        self.note(|beside| beside.stays = false);
    }

    pub(crate) fn set_ours(&self) {
        self.note(|beside| beside.ours = true);
    }

    pub(crate) fn is_ours(&self) -> bool {
        self.beside.get().ours
    }

    pub(crate) fn heard(&self, summary: Option<Summary>) {
        self.note(|beside| beside.heard = summary);
    }

    pub(crate) async fn all_over(&self) {
        self.over.wait().await;
    }

    /// Bytes that came, of all.
    pub fn bytes(&self) -> u64 {
        self.items.borrow().iter().map(|item| item.bytes).sum()
    }

    /// Every transfer is over, well or not.
    pub fn is_over(&self) -> bool {
        self.items.borrow().iter().all(|item| matches!(item.stage, Stage::Done | Stage::Failed(_)))
    }

    pub(crate) fn began(&self, number: usize, expected: Option<u64>) {
        self.change(number, |item| (item.stage, item.expected) = (Stage::Running, expected));
    }

    pub(crate) fn is_whole(&self, number: usize) {
        self.change(number, |item| item.whole = true);
    }

    pub(crate) fn grew(&self, number: usize, bytes: u64) {
        self.change(number, |item| item.bytes += bytes);
    }

    /// The connection is over: what is not done has failed.
    pub(crate) fn lost(&self) {
        for item in self.items.borrow_mut().iter_mut() {
            if matches!(item.stage, Stage::Waiting | Stage::Running) {
                item.stage = Stage::Failed(Failure::Lost);
            }
        }
        self.leave();
        self.over.give();
    }

    /// A task for one transfer; what it says is how the transfer ended.
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
            let failure = Failure::Protocol("HTTP/3 could not be read (a defect)".to_owned());
            other.change(number, |item| item.stage = Stage::Failed(failure));
        };
        self.spawner.spawn(task, bug);
    }

    pub(crate) const fn spawner(&self) -> &Spawner {
        &self.spawner
    }
}
