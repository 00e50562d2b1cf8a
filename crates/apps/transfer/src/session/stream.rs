//! A stream as a task uses it.

use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::Bytes;
use quic::streams::StreamId;

use super::pipe::{Command, End, Finish, INBOX, OUTBOX, Pipe};
use super::{Session, SessionError};

/// A stream. If it is dropped before its end, unfinished sending is reset and the peer is asked to
/// stop.
#[derive(Debug)]
pub struct Stream {
    session: Session,
    id: StreamId,
}

impl Stream {
    /// Takes a stream for a task. The session must not be borrowed.
    pub(super) fn new(session: Session, id: StreamId) -> Self {
        let stream = Self { session, id };
        stream.with(|pipe| {
            pipe.claimed = true;
            ((), pipe.readable)
        });
        stream
    }

    /// Returns the stream ID.
    pub const fn id(&self) -> StreamId {
        self.id
    }

    /// Changes the buffers. The second value of `change` requests a pump of the stream.
    fn with<R>(&self, change: impl FnOnce(&mut Pipe) -> (R, bool)) -> Option<R> {
        let mut state = self.session.0.borrow_mut();
        let (result, look) = change(state.pipes.get_mut(&self.id)?);
        if look {
            state.dirty.insert(self.id);
            state.ring();
        }
        Some(result)
    }

    fn broken(&self) -> Option<SessionError> {
        self.session.ended().map(SessionError::Connection)
    }

    /// Returns the next bytes, or `None` at the end.
    ///
    /// # Errors
    /// An error if the peer reset the stream or the connection has ended. Earlier data is read
    /// first.
    pub fn poll_read(&mut self, cx: &Context<'_>) -> Poll<Result<Option<Bytes>, SessionError>> {
        let ended = self.broken();
        let read = self.with(|pipe| {
            if let Some(bytes) = pipe.inbox.pop_front() {
                let was_full = pipe.inbox_len >= INBOX;
                pipe.inbox_len -= bytes.len();
                return (Poll::Ready(Ok(Some(bytes))), was_full && pipe.inbox_len < INBOX);
            }
            let read = match (pipe.end, ended) {
                (Some(End::Fin), _) => Poll::Ready(Ok(None)),
                (Some(End::Reset(code)), _) => Poll::Ready(Err(SessionError::Stream(code))),
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

    /// Returns the next bytes, or `None` at the end.
    ///
    /// # Errors
    /// Same as [`poll_read`](Self::poll_read).
    pub async fn read(&mut self) -> Result<Option<Bytes>, SessionError> {
        poll_fn(|cx| self.poll_read(cx)).await
    }

    /// Waits until the send buffer has space.
    ///
    /// # Errors
    /// An error if the peer sent STOP_SENDING or the connection has ended.
    pub fn poll_ready(&mut self, cx: &Context<'_>) -> Poll<Result<(), SessionError>> {
        if let Some(broken) = self.broken() {
            return Poll::Ready(Err(broken));
        }
        let ready = self.with(|pipe| {
            let ready = match pipe.stopped {
                Some(code) => Poll::Ready(Err(SessionError::Stream(code))),
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

    /// Appends bytes to the send buffer. Callers that want a bounded buffer first wait for
    /// [`poll_ready`](Self::poll_ready).
    ///
    /// # Errors
    /// An error if the peer sent STOP_SENDING or the connection has ended.
    pub fn push(&mut self, bytes: Bytes) -> Result<(), SessionError> {
        if let Some(broken) = self.broken() {
            return Err(broken);
        }
        let pushed = self.with(|pipe| {
            if let Some(code) = pipe.stopped {
                return (Err(SessionError::Stream(code)), false);
            }
            if !bytes.is_empty() && pipe.finish == Finish::Open && pipe.reset == Command::None {
                pipe.outbox_len += bytes.len();
                pipe.outbox.push_back(bytes);
            }
            (Ok(()), true)
        });
        pushed.unwrap_or(Ok(()))
    }

    /// Sends bytes, and waits until the send buffer has space.
    ///
    /// # Errors
    /// Same as [`push`](Self::push).
    pub async fn write(&mut self, bytes: Bytes) -> Result<(), SessionError> {
        self.push(bytes)?;
        poll_fn(|cx| self.poll_ready(cx)).await
    }

    /// Ends the sending part after all bytes pushed so far.
    pub fn finish(&mut self) {
        self.with(|pipe| {
            if pipe.finish == Finish::Open {
                pipe.finish = Finish::Pending;
            }
            ((), true)
        });
    }

    /// Ends the sending part at once with an application error code. This has no effect if its end
    /// was already passed to the transport.
    pub fn reset(&mut self, code: u64) {
        self.with(|pipe| {
            pipe.reset.request(code);
            (pipe.outbox_len, pipe.outbox) = (0, std::collections::VecDeque::new());
            ((), true)
        });
    }

    /// Asks the peer to stop sending, with an application error code.
    pub fn stop(&mut self, code: u64) {
        self.with(|pipe| {
            pipe.stop.request(code);
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
                pipe.reset.request(abandoned);
                (pipe.outbox_len, pipe.outbox) = (0, std::collections::VecDeque::new());
            }
            if pipe.receives && pipe.end.is_none() {
                pipe.stop.request(abandoned);
            }
            (pipe.inbox_len, pipe.inbox) = (0, std::collections::VecDeque::new());
            ((), true)
        });
    }
}
