//! Open, closing, draining, gone (RFC 9000 section 10.2), and what CONNECTION_CLOSE says at which level.

use units::{Duration, Time};

use crate::error::{Code, Error};
use crate::level::{Level, Side};
use crate::wire::frame::Frame;

/// How long a connection is closing or draining, in PTO.
const PTOS: u64 = 3;

/// The longest reason that is sent, in bytes: it must fit into any packet together with the rest.
pub const MAX_REASON: usize = 256;

/// Why a connection ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Close {
    /// A reason of QUIC.
    Transport {
        /// The error.
        code: Code,
        /// The type of the frame at fault, or 0.
        frame: u64,
        /// For people.
        reason: Vec<u8>,
    },
    /// A reason of the application.
    Application {
        /// Its code, at most 2^62 - 1.
        error: u64,
        /// For people.
        reason: Vec<u8>,
    },
}

impl From<Error> for Close {
    fn from(error: Error) -> Self {
        Self::Transport { code: error.code, frame: error.frame, reason: error.reason.into() }
    }
}

/// At most [`MAX_REASON`] bytes, and no piece of a character at the end.
fn shortened(reason: &[u8]) -> &[u8] {
    let is_start = |at: &usize| reason.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let end = (0..=reason.len().min(MAX_REASON)).rev().find(is_start).unwrap_or(0);
    &reason[..end]
}

impl Close {
    /// The frame for a packet of this level. In Initial and Handshake packets the application's reason is not told: whoever reads them may
    /// not be the peer (section 10.2.3).
    pub fn frame(&self, level: Level) -> Frame<'_> {
        match self {
            Self::Transport { code, frame, reason } => {
                Frame::ConnectionClose { code: *code, frame_type: *frame, reason: shortened(reason) }
            }
            Self::Application { error, reason } if matches!(level, Level::OneRtt | Level::ZeroRtt) => {
                Frame::ApplicationClose { error: *error, reason: shortened(reason) }
            }
            Self::Application { .. } => {
                Frame::ConnectionClose { code: Code::APPLICATION_ERROR, frame_type: 0, reason: &[] }
            }
        }
    }
}

/// For which levels an end has keys when it closes, and what it knows of the peer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeysAtClose {
    /// Which end.
    pub side: Side,
    /// Keys of Initial packets are there, not discarded.
    pub initial: bool,
    /// Keys of Handshake packets.
    pub handshake: bool,
    /// Keys of 1-RTT packets.
    pub one_rtt: bool,
    /// The handshake is confirmed (RFC 9001 section 4.1.2).
    pub confirmed: bool,
}

impl KeysAtClose {
    /// In packets of which levels CONNECTION_CLOSE is sent, lowest first: of those that the peer is sure to read, the highest, and all that it
    /// may have keys for (section 10.2.3). A client with Handshake keys got them from a server that has them.
    pub fn levels(&self) -> impl Iterator<Item = Level> + use<> {
        let before = !self.confirmed;
        let server = self.side == Side::Server;
        let initial = self.initial && before && (server || !self.handshake);
        [
            (Level::Initial, initial),
            (Level::Handshake, self.handshake && before),
            (Level::OneRtt, self.one_rtt),
        ]
        .into_iter()
        .filter_map(|(level, wanted)| wanted.then_some(level))
    }
}

/// Where a connection is between its beginning and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It works, or is on the way there.
    Open,
    /// This end has closed it: nothing but CONNECTION_CLOSE is sent, in answer to what comes.
    Closing,
    /// The peer has closed it, or lost it: nothing is sent.
    Draining,
    /// Nothing is left; datagrams to its IDs belong to nobody.
    Gone,
}

/// The states of a connection and their times.
#[derive(Clone, Debug)]
pub struct Lifecycle {
    state: State,
    until: Time,
    close: Option<Close>,
    /// Packets that came while closing, and at how many of them CONNECTION_CLOSE is sent again.
    heard: u64,
    answer_at: u64,
    pending: bool,
}

impl Default for Lifecycle {
    fn default() -> Self {
        Self { state: State::Open, until: Time::NEVER, close: None, heard: 0, answer_at: 1, pending: false }
    }
}

impl Lifecycle {
    /// The state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// It works, or is on the way there.
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Why this end has closed it.
    pub const fn close_reason(&self) -> Option<&Close> {
        self.close.as_ref()
    }

    /// This end closes it, and CONNECTION_CLOSE is to be sent. Nothing happens when it is not open any more.
    pub fn close(&mut self, now: Time, pto: Duration, close: Close) {
        if self.is_open() {
            (self.state, self.until) = (State::Closing, now + pto * PTOS);
            (self.close, self.pending) = (Some(close), true);
        }
    }

    /// CONNECTION_CLOSE came, of either type. An open connection answers with one packet of its own (section 10.2.2): it must be sent before
    /// anything else happens, or not at all. Draining ends when closing would have.
    pub fn on_peer_close(&mut self, now: Time, pto: Duration) {
        match self.state {
            State::Open => {
                let nothing = Error::new(Code::NO_ERROR, "");
                (self.close, self.pending) = (Some(nothing.into()), true);
                self.drain(now, pto);
            }
            State::Closing => (self.state, self.pending) = (State::Draining, false),
            State::Draining | State::Gone => {}
        }
    }

    /// A stateless reset came: nothing more is sent (section 10.3.1).
    pub fn on_reset(&mut self, now: Time, pto: Duration) {
        self.pending = false;
        match self.state {
            State::Open => self.drain(now, pto),
            State::Closing => self.state = State::Draining,
            State::Draining | State::Gone => {}
        }
    }

    fn drain(&mut self, now: Time, pto: Duration) {
        (self.state, self.until) = (State::Draining, now + pto * PTOS);
    }

    /// The peer was silent for too long, or nowhere is left to send to (sections 10.1, 9.3.2): gone without a word.
    pub const fn give_up(&mut self) {
        (self.state, self.until, self.pending) = (State::Gone, Time::NEVER, false);
    }

    /// A packet came to a connection that is closing: the first is answered, then the second, the fourth, the eighth (section 10.2.1), so
    /// that ends that do not hear each other do not talk for ever.
    pub const fn on_packet(&mut self) {
        if !matches!(self.state, State::Closing) {
            return;
        }
        self.heard += 1;
        if self.heard == self.answer_at {
            (self.answer_at, self.pending) = (self.answer_at.saturating_mul(2), true);
        }
    }

    /// CONNECTION_CLOSE is to be sent: at the levels of [`KeysAtClose::levels`], in one datagram. It counts as sent from now on.
    pub fn next_close(&mut self) -> Option<&Close> {
        std::mem::take(&mut self.pending).then_some(())?;
        self.close.as_ref()
    }

    /// When closing or draining ends.
    pub const fn timer(&self) -> Time {
        self.until
    }

    /// The time has come.
    pub fn on_timer(&mut self, now: Time) {
        if self.until <= now {
            self.give_up();
        }
    }
}
