//! A path: its sending limit and its validation (RFC 9000 sections 8.1, 8.2).

use std::collections::VecDeque;
use std::net::SocketAddr;

use units::{Duration, Time};

use crate::random::Random;
use crate::wire::header::MIN_INITIAL_DATAGRAM;

/// Maximum number of challenges waiting for a response, and of responses waiting to be sent.
pub const MAX_CHALLENGES: usize = 4;
/// Amplification limit: an unvalidated address gets at most this many times the bytes received from
/// it (section 8.1).
pub const AMPLIFICATION: u64 = 3;
/// PTO of a path without RTT samples: 333 ms plus four times half of it (RFC 9002 section 6.2.2).
pub const INITIAL_PTO: Duration = Duration::from_millis(999);
/// Time until validation fails, in PTOs (section 8.2.4).
const PTOS: u64 = 3;
/// Limit of the backoff between challenges: at most 2^`MAX_BACKOFF` PTOs.
const MAX_BACKOFF: u32 = 10;

/// Addresses of both ends of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Addresses {
    /// Local address.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
}

/// A PATH_CHALLENGE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// Challenge data.
    pub data: [u8; 8],
    /// Whether the datagram must be expanded to 1200 bytes, which the amplification limit allows
    /// (section 8.2.1).
    pub expand: bool,
}

/// A validation in progress.
#[derive(Clone, Debug)]
struct Validation {
    outstanding: VecDeque<Challenge>,
    sent: u32,
    next: Time,
    deadline: Time,
}

/// A path.
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
    /// Creates a path on which nothing was sent. `validated` says that the peer's address is known,
    /// like that of a server to its client.
    pub const fn new(addresses: Addresses, validated: bool) -> Self {
        Self { addresses, validated, received: 0, sent: 0, validation: None, responses: VecDeque::new() }
    }

    /// Returns the addresses of both ends.
    pub const fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Reports whether the peer's address is validated, so that there is no limit.
    pub const fn is_validated(&self) -> bool {
        self.validated
    }

    /// Marks the peer's address as validated by other means (section 8.1).
    ///
    /// These are a packet with Handshake keys, a token, or a connection ID of this end with at
    /// least 64 unpredictable bits.
    pub const fn validate(&mut self) {
        self.validated = true;
    }

    /// Counts a received datagram, whatever its contents (section 8.1).
    pub const fn on_received(&mut self, bytes: u64) {
        self.received = self.received.saturating_add(bytes);
    }

    /// Counts a sent datagram.
    pub const fn on_sent(&mut self, bytes: u64) {
        self.sent = self.sent.saturating_add(bytes);
    }

    /// Returns the number of bytes that may be sent. The limit is three times the received bytes
    /// until the address is validated.
    pub const fn budget(&self) -> u64 {
        match self.validated {
            true => u64::MAX,
            false => self.received.saturating_mul(AMPLIFICATION).saturating_sub(self.sent),
        }
    }

    /// Starts a validation, with the first challenge due immediately. It fails after three times
    /// the longer of `pto` and [`INITIAL_PTO`] (section 8.2.4). Has no effect while a validation is
    /// in progress.
    pub fn challenge(&mut self, now: Time, pto: Duration) {
        let deadline = now + pto.max(INITIAL_PTO) * PTOS;
        let validation = Validation { outstanding: VecDeque::new(), sent: 0, next: now, deadline };
        self.validation.get_or_insert(validation);
    }

    /// Returns the next PATH_CHALLENGE when it is due. Each has its own data, and the interval
    /// doubles each time (section 8.2.1). The last four are remembered.
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

    /// Processes PATH_RESPONSE, on any path. Returns whether it answers a challenge of this path.
    ///
    /// If the challenge was too small to show that the path carries 1200 bytes, it only validates
    /// the address. The path is then challenged once more (section 8.2.1).
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

    /// Processes PATH_CHALLENGE, which is answered on this path (section 8.2.2). At most four
    /// responses wait. Older ones are dropped, which the peer takes for a loss.
    pub fn on_challenge(&mut self, data: [u8; 8]) {
        if self.responses.len() == MAX_CHALLENGES {
            self.responses.pop_front();
        }
        self.responses.push_back(data);
    }

    /// Returns the data of the next PATH_RESPONSE. It is sent once, since the peer repeats its
    /// challenge (section 13.3). Its datagram is expanded to 1200 bytes if the budget allows it.
    pub fn next_response(&mut self) -> Option<[u8; 8]> {
        self.responses.pop_front()
    }

    /// Reports whether a response must be sent.
    pub fn has_response(&self) -> bool {
        !self.responses.is_empty()
    }

    /// Returns the time of the next challenge or of the failure; [`Time::NEVER`] without a
    /// validation.
    pub fn timer(&self) -> Time {
        self.validation.as_ref().map_or(Time::NEVER, |validation| validation.next.min(validation.deadline))
    }

    /// Handles the timer. Returns whether the validation has failed.
    /// [`next_challenge`](Self::next_challenge) returns challenges that are due.
    pub fn on_timer(&mut self, now: Time) -> bool {
        self.validation.take_if(|validation| validation.deadline <= now).is_some()
    }

    /// Stops the validation.
    pub fn give_up(&mut self) {
        self.validation = None;
    }
}
