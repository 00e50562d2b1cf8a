//! Streams of a connection for tasks.
//!
//! Applications are written as tasks that wait for streams; the connection belongs to an endpoint,
//! which belongs to the loop that drives it. Between the two lies a [`Session`]: tasks put bytes
//! and wishes into it, [`pump`](Session::pump) carries them to the connection and brings what came.
//! What waits in between is bounded for each stream; beyond that, tasks wait, and the peer's credit
//! is not renewed.

mod pipe;
mod pump;
mod stream;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use quic::Side;
use quic::connection::Ended;
use quic::streams::StreamId;
use quic::wire::Direction;

use self::pipe::Pipe;
pub use self::stream::Stream;

/// What a peer may send on a unidirectional stream: those of HTTP/3 carry settings and hints.
const UNIDIRECTIONAL_LIMIT: u64 = 1 << 20;

/// Why a task cannot go on with a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The peer has reset it, or does not want more, with this error code of the application.
    Stream(u64),
    /// The connection is over.
    Connection(Ended),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream(code) => write!(f, "the peer ended the stream with error 0x{code:x}"),
            Self::Connection(ended) => write!(f, "the connection is over: {ended:?}"),
        }
    }
}

impl std::error::Error for Broken {}

#[derive(Debug)]
struct State {
    side: Side,
    /// The error code for streams that a task lets go of in the middle.
    abandoned: u64,
    /// What a peer may send on a stream that it has opened in both directions.
    request_limit: Option<u64>,
    pipes: BTreeMap<StreamId, Pipe>,
    incoming: [VecDeque<StreamId>; 2],
    /// How many streams of the peer's have come, of each direction.
    accepted: [u64; 2],
    opened: [VecDeque<StreamId>; 2],
    acceptors: [Vec<Waker>; 2],
    openers: [Vec<Waker>; 2],
    /// Streams with something for the transport, or from it.
    dirty: BTreeSet<StreamId>,
    /// Streams that wait until less is held.
    starved: BTreeSet<StreamId>,
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

    fn wake_all(&mut self) {
        self.pipes.values_mut().for_each(Pipe::wake);
        let waiting = self.acceptors.iter_mut().chain(&mut self.openers);
        waiting.flat_map(std::mem::take).for_each(Waker::wake);
    }
}

/// Each waiting task once.
fn wait(wakers: &mut Vec<Waker>, cx: &Context<'_>) {
    if !wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
        wakers.push(cx.waker().clone());
    }
}

/// A connection as its tasks see it. Copies are the same session.
#[derive(Clone, Debug)]
pub struct Session(Rc<RefCell<State>>);

impl Session {
    /// Of this end. `abandoned`: the error code for streams that a task drops in the middle;
    /// `request_limit`: how many bytes a peer may send on a stream that it has opened in both
    /// directions.
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
            starved: BTreeSet::new(),
            close: None,
            ended: None,
        })))
    }

    /// The next stream that the peer has opened.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn poll_accept(&self, direction: Direction, cx: &Context<'_>) -> Poll<Result<Stream, Broken>> {
        let mut state = self.0.borrow_mut();
        if let Some(id) = state.incoming[direction as usize].pop_front() {
            drop(state);
            return Poll::Ready(Ok(Stream::new(self.clone(), id)));
        }
        if let Some(ended) = &state.ended {
            return Poll::Ready(Err(Broken::Connection(ended.clone())));
        }
        wait(&mut state.acceptors[direction as usize], cx);
        Poll::Pending
    }

    /// Opens a stream, as soon as the peer allows one.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn poll_open(&self, direction: Direction, cx: &Context<'_>) -> Poll<Result<Stream, Broken>> {
        let mut state = self.0.borrow_mut();
        if let Some(ended) = &state.ended {
            return Poll::Ready(Err(Broken::Connection(ended.clone())));
        }
        if let Some(id) = state.opened[direction as usize].pop_front() {
            drop(state);
            return Poll::Ready(Ok(Stream::new(self.clone(), id)));
        }
        wait(&mut state.openers[direction as usize], cx);
        Poll::Pending
    }

    /// Closes the connection, with an error code of the application and a reason for people.
    pub fn close(&self, code: u64, reason: &[u8]) {
        self.0.borrow_mut().close.get_or_insert_with(|| (code, reason.to_vec()));
    }

    /// How it ended.
    pub fn ended(&self) -> Option<Ended> {
        self.0.borrow().ended.clone()
    }

    /// Streams on which not everything has arrived that was written.
    pub fn sending(&self) -> usize {
        self.0.borrow().pipes.values().filter(|pipe| pipe.is_sending()).count()
    }

    /// From now on the peer may send so much more on a stream.
    pub fn allow(&self, id: StreamId, more: u64) {
        if let Some(pipe) = self.0.borrow_mut().pipes.get_mut(&id) {
            pipe.limit = Some(pipe.received.saturating_add(more));
        }
    }
}
