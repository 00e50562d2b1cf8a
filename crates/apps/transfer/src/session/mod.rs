//! Lets asynchronous tasks use the streams of a connection.
//!
//! Applications are tasks that wait for streams. The connection belongs to an endpoint, and the
//! endpoint to the loop that drives it. A [`Session`] lies between them. Tasks write bytes and
//! commands to it, and [`pump`](Session::pump) moves them to the connection and moves received
//! bytes back.
//!
//! The buffers of each stream are bounded. When they are full, tasks wait and the peer gets no more
//! flow control credit.

mod bell;
mod pipe;
mod pump;
mod stream;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use quic::Side;
use quic::connection::{Connection, Ended};
use quic::streams::StreamId;
use quic::wire::Direction;

pub(crate) use self::bell::{Bell, Ringing};
use self::pipe::Pipe;
pub use self::stream::Stream;

/// Largest number of bytes that a peer may send on a unidirectional stream. Those of HTTP/3 carry
/// settings and hints.
const UNIDIRECTIONAL_LIMIT: u64 = 256 << 10;
/// Smallest part of a file that is worth reading, in bytes.
const LEAST_ROOM: usize = 2 << 10;

/// Error that ends the use of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionError {
    /// The peer reset the stream or sent STOP_SENDING, with this application error code.
    Stream(u64),
    /// The connection has ended.
    Connection(Ended),
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream(code) => write!(f, "the peer ended the stream with error 0x{code:x}"),
            Self::Connection(ended) => write!(f, "the connection has ended: {ended:?}"),
        }
    }
}

impl std::error::Error for SessionError {}

#[derive(Debug)]
struct State {
    side: Side,
    /// Error code for streams that a task drops before their end.
    abandoned: u64,
    /// Largest number of bytes that the peer may send on a bidirectional stream that it opened.
    request_limit: Option<u64>,
    pipes: BTreeMap<StreamId, Pipe>,
    incoming: [VecDeque<StreamId>; 2],
    /// Number of streams accepted from the peer, by direction.
    accepted: [u64; 2],
    opened: [VecDeque<StreamId>; 2],
    acceptors: [Vec<Waker>; 2],
    openers: [Vec<Waker>; 2],
    /// Streams to pump.
    dirty: BTreeSet<StreamId>,
    /// Streams with bytes to read that wait until the session may hold more.
    unread: BTreeSet<StreamId>,
    /// Number of bytes of files that tasks may push.
    room: usize,
    /// Tasks that wait for room.
    starved: Vec<Waker>,
    bell: Option<Bell>,
    close: Option<(u64, Vec<u8>)>,
    ended: Option<Ended>,
}

impl State {
    fn new_pipe(&self, id: StreamId) -> Pipe {
        let local = id.initiator() == self.side;
        let limit = match id.direction() {
            Direction::Unidirectional => Some(UNIDIRECTIONAL_LIMIT),
            Direction::Bidirectional => self.request_limit.filter(|_| !local),
        };
        let (receives, sends) = (id.sends(self.side.peer()), id.sends(self.side));
        Pipe { receives, sends, limit, ..Pipe::default() }
    }

    fn ring(&self) {
        self.bell.iter().for_each(Bell::ring);
    }

    fn wake_all(&mut self) {
        self.pipes.values_mut().for_each(Pipe::wake);
        let waiting = self.acceptors.iter_mut().chain(&mut self.openers).chain([&mut self.starved]);
        waiting.flat_map(std::mem::take).for_each(Waker::wake);
    }
}

/// Registers a waiting task, unless it is registered already.
fn wait(wakers: &mut Vec<Waker>, cx: &Context<'_>) {
    if !wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
        wakers.push(cx.waker().clone());
    }
}

/// The tasks' view of a connection. Clones share the same session.
#[derive(Clone, Debug)]
pub struct Session(Rc<RefCell<State>>);

impl Session {
    /// Creates the session of one end.
    ///
    /// `abandoned` is the error code for streams that a task drops before their end.
    /// `request_limit` is the largest number of bytes that the peer may send on a bidirectional
    /// stream that it opened.
    pub fn new(side: Side, abandoned: u64, request_limit: Option<u64>) -> Self {
        Self(Rc::new(RefCell::new(State {
            side,
            abandoned,
            request_limit,
            pipes: BTreeMap::new(),
            incoming: [VecDeque::new(), VecDeque::new()],
            accepted: [0; 2],
            opened: [VecDeque::new(), VecDeque::new()],
            acceptors: [Vec::new(), Vec::new()],
            openers: [Vec::new(), Vec::new()],
            dirty: BTreeSet::new(),
            unread: BTreeSet::new(),
            room: usize::MAX,
            starved: Vec::new(),
            bell: None,
            close: None,
            ended: None,
        })))
    }

    /// Adds a bell that rings when a task needs [`pump`](Self::pump).
    #[must_use]
    pub(crate) fn with_bell(self, bell: Bell) -> Self {
        self.0.borrow_mut().bell = Some(bell);
        self
    }

    /// Returns the next stream that the peer opened.
    ///
    /// # Errors
    /// [`SessionError::Connection`] if the connection has ended.
    pub fn poll_accept(&self, direction: Direction, cx: &Context<'_>) -> Poll<Result<Stream, SessionError>> {
        let mut state = self.0.borrow_mut();
        if let Some(id) = state.incoming[direction as usize].pop_front() {
            drop(state);
            return Poll::Ready(Ok(Stream::new(self.clone(), id)));
        }
        if let Some(ended) = &state.ended {
            return Poll::Ready(Err(SessionError::Connection(ended.clone())));
        }
        wait(&mut state.acceptors[direction as usize], cx);
        Poll::Pending
    }

    /// Opens a stream as soon as the peer's limit allows.
    ///
    /// # Errors
    /// [`SessionError::Connection`] if the connection has ended.
    pub fn poll_open(&self, direction: Direction, cx: &Context<'_>) -> Poll<Result<Stream, SessionError>> {
        let mut state = self.0.borrow_mut();
        if let Some(ended) = &state.ended {
            return Poll::Ready(Err(SessionError::Connection(ended.clone())));
        }
        if let Some(id) = state.opened[direction as usize].pop_front() {
            drop(state);
            return Poll::Ready(Ok(Stream::new(self.clone(), id)));
        }
        wait(&mut state.openers[direction as usize], cx);
        state.ring();
        Poll::Pending
    }

    /// Closes the connection with an application error code and a reason phrase.
    pub fn close(&self, code: u64, reason: &[u8]) {
        let mut state = self.0.borrow_mut();
        state.close.get_or_insert_with(|| (code, reason.to_vec()));
        state.ring();
    }

    /// Waits until the session may hold more, and returns how many bytes of a file may be pushed
    /// now, at most `most`. Returns 0 once the connection has ended.
    pub async fn room(&self, most: usize) -> usize {
        poll_fn(|cx| {
            let mut state = self.0.borrow_mut();
            if state.ended.is_some() {
                return Poll::Ready(0);
            }
            if state.room < most.min(LEAST_ROOM) {
                wait(&mut state.starved, cx);
                return Poll::Pending;
            }
            let taken = state.room.min(most);
            state.room -= taken;
            Poll::Ready(taken)
        })
        .await
    }

    /// Sets how much more the session may hold, and wakes as many tasks as this is enough for.
    pub fn grant(&self, room: usize) {
        let state = &mut *self.0.borrow_mut();
        state.room = room;
        let tasks = state.starved.len().min(room / LEAST_ROOM);
        state.starved.drain(..tasks).for_each(Waker::wake);
    }

    /// Returns the memory of requests and of data that is not acknowledged, in bytes.
    pub fn held(&self, connection: &mut Connection) -> usize {
        let pipes: usize = self.0.borrow().pipes.values().map(Pipe::held).sum();
        pipes + connection.streams().memory_to_send()
    }

    /// Returns how the connection ended, or `None` while it is open.
    pub fn ended(&self) -> Option<Ended> {
        self.0.borrow().ended.clone()
    }

    /// Returns the number of streams with written data that is not yet acknowledged.
    pub fn sending(&self) -> usize {
        self.0.borrow().pipes.values().filter(|pipe| pipe.is_sending()).count()
    }

    /// Allows the peer to send `more` bytes on a stream beyond those received so far.
    pub fn allow(&self, id: StreamId, more: u64) {
        if let Some(pipe) = self.0.borrow_mut().pipes.get_mut(&id) {
            pipe.limit = Some(pipe.received.saturating_add(more));
        }
    }
}
