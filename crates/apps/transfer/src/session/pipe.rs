//! Buffers of one stream between a task and the transport.

use std::collections::VecDeque;
use std::task::Waker;

use bytes::Bytes;

/// Largest number of received bytes that wait for a task, not counting the last read. Streams of
/// untrusted peers have a lower limit.
pub(super) const INBOX: usize = 128 << 10;
/// Largest number of bytes that wait to be sent, not counting the last piece. It is small because a
/// connection can have a hundred streams.
pub(super) const OUTBOX: usize = 32 << 10;

/// End of the receiving part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Fin,
    Reset(u64),
}

/// State of the end of the sending part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Finish {
    #[default]
    Open,
    /// To be finished after the waiting bytes.
    Pending,
    /// Passed to the transport.
    Sent,
}

/// A reset or stop command for the transport, with its error code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Command {
    #[default]
    None,
    Pending(u64),
    Sent,
}

impl Command {
    /// Requests the command. A second request has no effect.
    pub(super) fn request(&mut self, code: u64) {
        if *self == Self::None {
            *self = Self::Pending(code);
        }
    }

    /// Returns the code of a pending command, and marks it as sent.
    pub(super) fn take(&mut self) -> Option<u64> {
        let Self::Pending(code) = *self else { return None };
        *self = Self::Sent;
        Some(code)
    }
}

/// Buffers and state of a stream.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    pub(super) receives: bool,
    pub(super) inbox: VecDeque<Bytes>,
    pub(super) inbox_len: usize,
    /// True if the transport may have data to read.
    pub(super) readable: bool,
    pub(super) end: Option<End>,
    pub(super) reader: Option<Waker>,
    pub(super) stop: Command,
    /// Number of bytes received. More than [`limit`](Self::limit) close the connection.
    pub(super) received: u64,
    pub(super) limit: Option<u64>,

    pub(super) sends: bool,
    pub(super) outbox: VecDeque<Bytes>,
    pub(super) outbox_len: usize,
    pub(super) finish: Finish,
    pub(super) reset: Command,
    /// Error code of the peer's STOP_SENDING.
    pub(super) stopped: Option<u64>,
    pub(super) writer: Option<Waker>,
    /// True if all data or the reset was acknowledged.
    pub(super) acked: bool,

    /// True once a task has taken the stream. Nothing is read before that. The flow control window
    /// bounds the waiting data.
    pub(super) claimed: bool,
    /// True once the task has dropped the stream.
    pub(super) dropped: bool,
}

impl Pipe {
    pub(super) fn wake(&mut self) {
        self.reader.take().into_iter().chain(self.writer.take()).for_each(Waker::wake);
    }

    /// Returns the memory of the data, in bytes, besides what the connection holds. Until the end
    /// of a request, its task may hold all that has arrived.
    pub(super) fn held(&self) -> usize {
        let is_incomplete = self.sends && self.end.is_none() && !self.dropped;
        let request = if is_incomplete { self.received as usize } else { self.inbox_len };
        self.outbox_len + request
    }

    /// Reports whether the stream can be removed.
    pub(super) fn is_over(&self) -> bool {
        let read = !self.receives || self.end.is_some() || self.stop == Command::Sent;
        self.dropped && read && (!self.sends || self.acked)
    }

    /// Reports whether written data is not yet acknowledged.
    pub(super) fn is_sending(&self) -> bool {
        let begun = self.outbox_len > 0 || self.finish != Finish::Open;
        self.sends && begun && !self.acked && self.reset == Command::None && self.stopped.is_none()
    }
}
