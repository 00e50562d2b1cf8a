//! Connection states open, closing, draining and gone (RFC 9000 section 10.2), and the contents of
//! CONNECTION_CLOSE at each level.

use units::{Duration, Time};

use crate::error::{Code, Error};
use crate::level::{Level, Side};
use crate::wire::frame::Frame;

/// Duration of the closing and draining states, in PTOs.
const PTOS: u64 = 3;

/// Maximum length of a reason phrase that is sent, in bytes.
pub const MAX_REASON: usize = 256;
/// Maximum size of CONNECTION_CLOSE without its reason: type, code, type of a frame, length.
const HEADER: usize = 1 + 8 + 8 + 2;

/// Reason for closing a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Close {
    /// A QUIC error.
    Transport {
        /// Error code.
        code: Code,
        /// Type of the frame that caused the error, or 0.
        frame: u64,
        /// Reason for human readers.
        reason: Vec<u8>,
    },
    /// An error of the application.
    Application {
        /// Error code, at most 2^62 - 1.
        error: u64,
        /// Reason for human readers.
        reason: Vec<u8>,
    },
}

impl From<Error> for Close {
    fn from(error: Error) -> Self {
        Self::Transport { code: error.code, frame: error.frame, reason: error.reason.into() }
    }
}

/// Truncates a reason to [`MAX_REASON`] bytes, and to a frame that fits into `room`, without
/// splitting a character.
fn shortened(reason: &[u8], room: usize) -> &[u8] {
    let most = MAX_REASON.min(room.saturating_sub(HEADER));
    let is_start = |at: &usize| reason.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let end = (0..=reason.len().min(most)).rev().find(is_start).unwrap_or(0);
    &reason[..end]
}

impl Close {
    /// Returns the frame for a packet of this level with this much space. Initial and Handshake
    /// packets do not reveal the application's reason, since their reader may not be the peer
    /// (section 10.2.3).
    pub fn frame(&self, level: Level, room: usize) -> Frame<'_> {
        match self {
            Self::Transport { code, frame, reason } => {
                Frame::ConnectionClose { code: *code, frame_type: *frame, reason: shortened(reason, room) }
            }
            Self::Application { error, reason } if matches!(level, Level::OneRtt | Level::ZeroRtt) => {
                Frame::ApplicationClose { error: *error, reason: shortened(reason, room) }
            }
            Self::Application { .. } => {
                Frame::ConnectionClose { code: Code::APPLICATION_ERROR, frame_type: 0, reason: &[] }
            }
        }
    }
}

/// Returns the levels at which an end sends CONNECTION_CLOSE, lowest first (section 10.2.3), given
/// whether it has keys of Initial, Handshake and 1-RTT packets, and whether the handshake is
/// confirmed.
///
/// These are the highest level that the peer can certainly read, and all levels that it may have
/// keys for. A client with Handshake keys received them from a server that has them too.
pub fn close_levels(side: Side, keys: [bool; 3], confirmed: bool) -> impl Iterator<Item = Level> {
    let [initial, handshake, one_rtt] = keys;
    let initial = initial && !confirmed && (side == Side::Server || !handshake);
    [(Level::Initial, initial), (Level::Handshake, handshake && !confirmed), (Level::OneRtt, one_rtt)]
        .into_iter()
        .filter_map(|(level, wanted)| wanted.then_some(level))
}

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// The connection is working, or being established.
    Open,
    /// This end has closed the connection. It sends only CONNECTION_CLOSE, in answer to received
    /// packets.
    Closing,
    /// The peer has closed or forgotten the connection. Nothing is sent.
    Draining,
    /// The connection has ended. Datagrams to its IDs belong to no connection.
    Gone,
}

/// State machine of a connection's end.
#[derive(Clone, Debug)]
pub struct Lifecycle {
    state: State,
    until: Time,
    close: Option<Close>,
    /// Packets received while closing, and the number at which CONNECTION_CLOSE is sent again.
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
    /// Returns the state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Reports whether the connection is open.
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Closes the connection from this end, so that CONNECTION_CLOSE is sent. Has no effect unless
    /// the connection is open.
    pub fn close(&mut self, now: Time, pto: Duration, close: Close) {
        if self.is_open() {
            (self.state, self.until) = (State::Closing, now + pto * PTOS);
            (self.close, self.pending) = (Some(close), true);
        }
    }

    /// Processes CONNECTION_CLOSE of either type. An open connection answers with one packet
    /// (section 10.2.2), which must be sent before anything else happens, or not at all.
    ///
    /// Draining ends when closing would have ended.
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

    /// Processes a stateless reset. Nothing more is sent (section 10.3.1).
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

    /// Ends the connection silently: after an idle timeout, or when no path is left (sections 10.1,
    /// 9.3.2).
    pub const fn give_up(&mut self) {
        (self.state, self.until, self.pending) = (State::Gone, Time::NEVER, false);
    }

    /// Processes a packet received while closing. The first is answered, then the second, the
    /// fourth, the eighth (section 10.2.1). So ends that do not hear each other do not send
    /// forever.
    pub const fn on_packet(&mut self) {
        if !matches!(self.state, State::Closing) {
            return;
        }
        self.heard += 1;
        if self.heard == self.answer_at {
            (self.answer_at, self.pending) = (self.answer_at.saturating_mul(2), true);
        }
    }

    /// Returns the reason if CONNECTION_CLOSE must be sent, at the levels of
    /// [`close_levels`] in one datagram. It counts as sent from now on.
    pub fn next_close(&mut self) -> Option<&Close> {
        std::mem::take(&mut self.pending).then_some(())?;
        self.close.as_ref()
    }

    /// Returns the time at which closing or draining ends.
    pub const fn timer(&self) -> Time {
        self.until
    }

    /// Handles the timer.
    pub fn on_timer(&mut self, now: Time) {
        if self.until <= now {
            self.give_up();
        }
    }
}
