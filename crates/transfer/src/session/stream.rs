//! A stream in the hands of a task.

use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::Bytes;
use quic::streams::StreamId;

use super::pipe::{End, Finish, INBOX, OUTBOX, Pipe, Wish};
use super::{Broken, Session};

/// A stream. Who drops one before its end resets what is not finished, and asks the peer to stop.
#[derive(Debug)]
pub struct Stream {
    session: Session,
    id: StreamId,
}

impl Stream {
    /// For a task; the session must not be borrowed.
    pub(super) fn new(session: Session, id: StreamId) -> Self {
        let stream = Self { session, id };
        stream.with(|pipe| {
            pipe.claimed = true;
            ((), pipe.readable)
        });
        stream
    }

    /// Its number.
    pub const fn id(&self) -> StreamId {
        self.id
    }

    /// Changes the pipe, and has the transport look at it where that says so.
    fn with<R>(&self, change: impl FnOnce(&mut Pipe) -> (R, bool)) -> Option<R> {
        let mut state = self.session.0.borrow_mut();
        let (result, look) = change(state.pipes.get_mut(&self.id)?);
        if look {
            state.dirty.insert(self.id);
        }
        Some(result)
    }

    fn broken(&self) -> Option<Broken> {
        self.session.ended().map(Broken::Connection)
    }

    /// The next bytes; none at the end.
    ///
    /// # Errors
    /// When the peer has reset it, or the connection is over. What came before that is read first.
    pub fn poll_read(&mut self, cx: &Context<'_>) -> Poll<Result<Option<Bytes>, Broken>> {
        let ended = self.broken();
        let read = self.with(|pipe| {
            if let Some(bytes) = pipe.inbox.pop_front() {
                let was_full = pipe.inbox_len >= INBOX;
                pipe.inbox_len -= bytes.len();
                return (Poll::Ready(Ok(Some(bytes))), was_full && pipe.inbox_len < INBOX);
            }
            let read = match (pipe.end, ended) {
                (Some(End::Fin), _) => Poll::Ready(Ok(None)),
                (Some(End::Reset(code)), _) => Poll::Ready(Err(Broken::Stream(code))),
                (None, Some(ended)) if !pipe.readable => Poll::Ready(Err(ended)),
                (None, _) => {
                    pipe.reader = Some(cx.waker().clone());
                    Poll::Pending
                }
            };
            let look = read.is_pending() && pipe.readable;
            (read, look)
        });
        read.unwrap_or(Poll::Ready(Ok(None)))
    }

    /// The next bytes; none at the end.
    ///
    /// # Errors
    /// As [`poll_read`](Self::poll_read).
    pub async fn read(&mut self) -> Result<Option<Bytes>, Broken> {
        poll_fn(|cx| self.poll_read(cx)).await
    }

    /// There is room for more.
    ///
    /// # Errors
    /// When the peer does not want more, or the connection is over.
    pub fn poll_ready(&mut self, cx: &Context<'_>) -> Poll<Result<(), Broken>> {
        if let Some(broken) = self.broken() {
            return Poll::Ready(Err(broken));
        }
        let ready = self.with(|pipe| {
            let ready = match pipe.stopped {
                Some(code) => Poll::Ready(Err(Broken::Stream(code))),
                None if pipe.outbox_len < OUTBOX => Poll::Ready(Ok(())),
                None => {
                    pipe.writer = Some(cx.waker().clone());
                    Poll::Pending
                }
            };
            (ready, false)
        });
        ready.unwrap_or(Poll::Ready(Ok(())))
    }

    /// Sends these bytes after what was given before. Who wants to be bounded waits for
    /// [`poll_ready`](Self::poll_ready).
    ///
    /// # Errors
    /// When the peer does not want more, or the connection is over.
    pub fn push(&mut self, bytes: Bytes) -> Result<(), Broken> {
        if let Some(broken) = self.broken() {
            return Err(broken);
        }
        let pushed = self.with(|pipe| {
            if let Some(code) = pipe.stopped {
                return (Err(Broken::Stream(code)), false);
            }
            if !bytes.is_empty() && pipe.finish == Finish::Open && pipe.reset == Wish::None {
                pipe.outbox_len += bytes.len();
                pipe.outbox.push_back(bytes);
            }
            (Ok(()), true)
        });
        pushed.unwrap_or(Ok(()))
    }

    /// Sends these bytes, and waits until there is room for more.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub async fn write(&mut self, bytes: Bytes) -> Result<(), Broken> {
        self.push(bytes)?;
        poll_fn(|cx| self.poll_ready(cx)).await
    }

    /// What was given is all.
    pub fn finish(&mut self) {
        self.with(|pipe| {
            if pipe.finish == Finish::Open {
                pipe.finish = Finish::Wanted;
            }
            ((), true)
        });
    }

    /// Ends the sending part at once, with an error code of the application. Nothing happens to one
    /// that is finished and sent.
    pub fn reset(&mut self, code: u64) {
        self.with(|pipe| {
            pipe.reset.make(code);
            (pipe.outbox_len, pipe.outbox) = (0, std::collections::VecDeque::new());
            ((), true)
        });
    }

    /// The peer is asked to stop, with an error code of the application.
    pub fn stop(&mut self, code: u64) {
        self.with(|pipe| {
            pipe.stop.make(code);
            ((), true)
        });
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let abandoned = self.session.0.borrow().abandoned;
        self.with(|pipe| {
            pipe.dropped = true;
            if pipe.sends && pipe.finish == Finish::Open {
                pipe.reset.make(abandoned);
                (pipe.outbox_len, pipe.outbox) = (0, std::collections::VecDeque::new());
            }
            if pipe.receives && pipe.end.is_none() {
                pipe.stop.make(abandoned);
            }
            (pipe.inbox_len, pipe.inbox) = (0, std::collections::VecDeque::new());
            ((), true)
        });
    }
}
