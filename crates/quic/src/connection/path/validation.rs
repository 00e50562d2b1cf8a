//! One path: how much may be sent on it, and whether the peer is there (RFC 9000 sections 8.1, 8.2).

use std::collections::VecDeque;
use std::net::SocketAddr;

use units::{Duration, Time};

use crate::random::Random;
use crate::wire::header::MIN_INITIAL_DATAGRAM;

/// How many challenges wait for their response, and how many of the peer's wait for theirs.
pub const MAX_CHALLENGES: usize = 4;
/// An unvalidated address gets so many times what came from it (section 8.1).
pub const AMPLIFICATION: u64 = 3;
/// The PTO of a path of which nothing is known: 333 ms and four times half of it (RFC 9002 section 6.2.2).
pub const INITIAL_PTO: Duration = Duration::from_millis(999);
/// Validation fails after so many PTO (section 8.2.4).
const PTOS: u64 = 3;
/// Nobody waits longer between two challenges than 2^this PTO.
const MAX_BACKOFF: u32 = 10;

/// Both ends of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Addresses {
    /// This end.
    pub local: SocketAddr,
    /// The peer.
    pub remote: SocketAddr,
}

/// What PATH_CHALLENGE says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// The data.
    pub data: [u8; 8],
    /// The datagram is to be filled up to 1200 bytes: the amplification limit allows it (section 8.2.1).
    pub expand: bool,
}

/// A validation under way.
#[derive(Clone, Debug)]
struct Validation {
    outstanding: VecDeque<Challenge>,
    sent: u32,
    next: Time,
    deadline: Time,
}

/// One path.
#[derive(Clone, Debug)]
pub struct Path {
    addresses: Addresses,
    validated: bool,
    received: u64,
    sent: u64,
    validation: Option<Validation>,
    responses: VecDeque<[u8; 8]>,
}

impl Path {
    /// A path on which nothing was sent. `validated`: the peer is known to be there, as a server is to its client.
    pub const fn new(addresses: Addresses, validated: bool) -> Self {
        Self { addresses, validated, received: 0, sent: 0, validation: None, responses: VecDeque::new() }
    }

    /// Its ends.
    pub const fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// The peer is there: there is no limit.
    pub const fn is_validated(&self) -> bool {
        self.validated
    }

    /// A validation is under way.
    pub const fn is_challenging(&self) -> bool {
        self.validation.is_some()
    }

    /// The peer has proved its address otherwise: by a packet with Handshake keys, by a token, or by using a connection ID of this end that
    /// has at least 64 unpredictable bits (section 8.1).
    pub const fn validate(&mut self) {
        self.validated = true;
    }

    /// A datagram of so many bytes came, whatever was in it (section 8.1).
    pub const fn on_received(&mut self, bytes: u64) {
        self.received = self.received.saturating_add(bytes);
    }

    /// A datagram of so many bytes left.
    pub const fn on_sent(&mut self, bytes: u64) {
        self.sent = self.sent.saturating_add(bytes);
    }

    /// How many bytes may leave: three times what came until the address is validated, then any number.
    pub const fn budget(&self) -> u64 {
        match self.validated {
            true => u64::MAX,
            false => self.received.saturating_mul(AMPLIFICATION).saturating_sub(self.sent),
        }
    }

    /// Asks whether the peer is there, with the first challenge at once; it has three times the longer of `pto` and [`INITIAL_PTO`] to
    /// answer (section 8.2.4). Nothing happens when it is being asked.
    pub fn challenge(&mut self, now: Time, pto: Duration) {
        let deadline = now + pto.max(INITIAL_PTO) * PTOS;
        let validation = Validation { outstanding: VecDeque::new(), sent: 0, next: now, deadline };
        self.validation.get_or_insert(validation);
    }

    /// The next PATH_CHALLENGE, when it is due: each with its own data, each twice as late as the one before (section 8.2.1). Four are
    /// remembered.
    pub fn next_challenge(&mut self, now: Time, pto: Duration, random: &mut Random) -> Option<Challenge> {
        let expand = self.budget() >= MIN_INITIAL_DATAGRAM as u64;
        let validation = self.validation.as_mut().filter(|validation| validation.next <= now)?;
        let challenge = Challenge { data: random.bytes(), expand };
        validation.outstanding.truncate(MAX_CHALLENGES - 1);
        validation.outstanding.push_front(challenge);
        validation.next = now + pto.max(Duration(1)) * (1 << validation.sent.min(MAX_BACKOFF));
        validation.sent += 1;
        Some(challenge)
    }

    /// PATH_RESPONSE, on whatever path it came. Says whether it answers a challenge of this path.
    ///
    /// Where the challenge was too small to show that the path carries 1200 bytes, the address is validated and the path is asked once
    /// more (section 8.2.1).
    pub fn on_response(&mut self, now: Time, pto: Duration, data: &[u8; 8]) -> bool {
        let Some(validation) = &self.validation else { return false };
        let Some(answered) = validation.outstanding.iter().find(|challenge| challenge.data == *data) else {
            return false;
        };
        let expanded = answered.expand;
        self.validated = true;
        self.validation = None;
        if !expanded {
            self.challenge(now, pto);
        }
        true
    }

    /// PATH_CHALLENGE: it is answered on this path (section 8.2.2). At most four wait; of more the oldest go without an answer, which
    /// the peer takes for a loss.
    pub fn on_challenge(&mut self, data: [u8; 8]) {
        if self.responses.len() == MAX_CHALLENGES {
            self.responses.pop_front();
        }
        self.responses.push_back(data);
    }

    /// The data of the next PATH_RESPONSE. It is sent once: the peer asks again (section 13.3). Its datagram is filled up to 1200 bytes if
    /// the budget allows it.
    pub fn next_response(&mut self) -> Option<[u8; 8]> {
        self.responses.pop_front()
    }

    /// There is a response to be sent.
    pub fn has_response(&self) -> bool {
        !self.responses.is_empty()
    }

    /// When the next challenge is due, or the validation fails; never when there is none.
    pub fn timer(&self) -> Time {
        self.validation.as_ref().map_or(Time::NEVER, |validation| validation.next.min(validation.deadline))
    }

    /// The time has come. Says whether the validation has failed; what is due is in [`next_challenge`](Self::next_challenge).
    pub fn on_timer(&mut self, now: Time) -> bool {
        self.validation.take_if(|validation| validation.deadline <= now).is_some()
    }

    /// No validation any more.
    pub fn give_up(&mut self) {
        self.validation = None;
    }
}
