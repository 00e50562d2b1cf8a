//! What waits between a task and the transport, on one stream.

use std::collections::VecDeque;
use std::task::Waker;

use bytes::Bytes;

/// How much that came waits for a task at most, besides what was read last. Of what a stranger may
/// send, the limit of a stream is less.
pub(super) const INBOX: usize = 128 << 10;
/// How much waits to be sent at most, besides the piece that a task has just given: little, times a
/// hundred streams.
pub(super) const OUTBOX: usize = 32 << 10;

/// How the receiving part ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Fin,
    Reset(u64),
}

/// How the sending part ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Finish {
    #[default]
    Open,
    /// After what waits.
    Wanted,
    /// The transport knows.
    Told,
}

/// A wish for the transport, and whether it knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Wish {
    #[default]
    None,
    Wanted(u64),
    Told,
}

impl Wish {
    /// Nothing happens to one that was made before.
    pub(super) fn make(&mut self, code: u64) {
        if *self == Self::None {
            *self = Self::Wanted(code);
        }
    }

    /// The code, once.
    pub(super) fn take(&mut self) -> Option<u64> {
        let Self::Wanted(code) = *self else { return None };
        *self = Self::Told;
        Some(code)
    }
}

/// One stream.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    pub(super) receives: bool,
    pub(super) inbox: VecDeque<Bytes>,
    pub(super) inbox_len: usize,
    /// The transport may have something to read.
    pub(super) readable: bool,
    pub(super) end: Option<End>,
    pub(super) reader: Option<Waker>,
    pub(super) stop: Wish,
    /// Of bytes that may come until [`limit`](Self::limit); none without one.
    pub(super) received: u64,
    pub(super) limit: Option<u64>,

    pub(super) sends: bool,
    pub(super) outbox: VecDeque<Bytes>,
    pub(super) outbox_len: usize,
    pub(super) finish: Finish,
    pub(super) reset: Wish,
    /// The peer does not want more, with this code.
    pub(super) stopped: Option<u64>,
    pub(super) writer: Option<Waker>,
    /// All was acknowledged, or the reset was.
    pub(super) acked: bool,

    /// A task has it, or has had it. Before that nothing is read: what waits is bounded by the
    /// connection's window.
    pub(super) claimed: bool,
    /// No task has it any more.
    pub(super) dropped: bool,
}

impl Pipe {
    pub(super) fn wake(&mut self) {
        self.reader.take().into_iter().chain(self.writer.take()).for_each(Waker::wake);
    }

    /// It can be forgotten.
    pub(super) fn is_over(&self) -> bool {
        let read = !self.receives || self.end.is_some() || self.stop == Wish::Told;
        self.dropped && read && (!self.sends || self.acked)
    }

    /// Not everything that was written has arrived.
    pub(super) fn is_sending(&self) -> bool {
        let begun = self.outbox_len > 0 || self.finish != Finish::Open;
        self.sends && begun && !self.acked && self.reset == Wish::None && self.stopped.is_none()
    }
}
