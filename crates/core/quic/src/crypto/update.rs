//! 1-RTT keys and key updates (RFC 9001 section 6).
//!
//! Phases are counted from 0; the Key Phase bit is the lowest bit of that number. Both directions
//! change together. The end that starts an update sends with new keys and opens with both, until
//! the peer follows.

use units::{Duration, Time};

use super::keys::{self, Keys, Opened, PacketKey, PacketKeySet, Refused};
use super::session::NextKeys;
use crate::error::{Code, Error};
use crate::wire::header::{Placed, Protected};
use rustls::quic::HeaderProtectionKey;

/// Time for which old keys are kept, and minimum time between updates, in PTOs (sections 6.1, 6.5).
const PTOS: u64 = 3;

/// Reason why a key update cannot start now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotYet {
    /// The handshake is not confirmed (section 6.1).
    Unconfirmed,
    /// The peer has not acknowledged any packet sent with the current keys (section 6.1).
    Unacknowledged,
    /// Fewer than three PTOs have passed since such an acknowledgement (section 6.5).
    TooSoon,
}

/// Keys of the previous phase, for reordered packets.
struct Previous {
    key: Box<dyn PacketKey>,
    /// Time at which the keys are discarded. Unknown until a packet of the new phase arrives.
    until: Option<Time>,
}

/// Usage limits of keys, in packets (section 6.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of packets sealed with one set of keys.
    pub confidentiality: u64,
    /// Number of packets that failed authentication, over all phases.
    pub integrity: u64,
}

/// 1-RTT keys of one end.
pub struct OneRtt {
    local_header: Box<dyn HeaderProtectionKey>,
    remote_header: Box<dyn HeaderProtectionKey>,
    current: PacketKeySet,
    /// Computed in advance, so that the processing time of a packet does not reveal an update
    /// (section 6.3).
    next: PacketKeySet,
    after: Box<dyn NextKeys>,
    previous: Option<Previous>,
    generation: u64,
    limits: Limits,
    confirmed: bool,
    wanted: bool,
    /// First packet number sent in this phase, and whether any packet of this phase was
    /// acknowledged.
    first_sent: Option<u64>,
    acked: bool,
    /// Earliest time of the next update.
    not_before: Time,
    /// Smallest packet number opened in this phase.
    first_opened: Option<u64>,
    sealed: u64,
    forged: u64,
}

impl OneRtt {
    /// Creates the keys from the output of the handshake.
    pub fn new(keys: Keys, mut after: Box<dyn NextKeys>) -> Self {
        let Keys { local, remote } = keys;
        let limits = Limits {
            confidentiality: local.packet.confidentiality_limit(),
            integrity: remote.packet.integrity_limit(),
        };
        Self {
            local_header: local.header,
            remote_header: remote.header,
            current: PacketKeySet { local: local.packet, remote: remote.packet },
            next: after.next_keys(),
            after,
            previous: None,
            generation: 0,
            limits,
            confirmed: false,
            wanted: false,
            first_sent: None,
            acked: false,
            not_before: Time::ZERO,
            first_opened: None,
            sealed: 0,
            forged: 0,
        }
    }

    /// Sets limits below those of the AEAD, for tests.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the number of updates so far.
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the Key Phase bit of packets sent now.
    pub const fn key_phase(&self) -> bool {
        self.generation & 1 == 1
    }

    /// Returns the length of a tag, in bytes.
    pub fn tag_len(&self) -> usize {
        self.current.local.tag_len()
    }

    /// Returns the minimum payload of a packet, in bytes: see [`keys::min_payload`].
    pub fn min_payload(&self, number_len: usize) -> usize {
        keys::sample_end(&*self.local_header).saturating_sub(number_len + self.tag_len()).max(1)
    }

    /// Confirms the handshake (section 4.1.2). Keys may be updated from now on.
    pub const fn on_confirmed(&mut self) {
        self.confirmed = true;
    }

    /// Requests an update, which starts as soon as it is allowed.
    pub const fn request_update(&mut self) {
        self.wanted = true;
    }

    /// Checks whether an update may start now.
    ///
    /// # Errors
    /// The reason why it may not.
    pub fn may_update(&self, now: Time) -> Result<(), NotYet> {
        match self {
            Self { confirmed: false, .. } => Err(NotYet::Unconfirmed),
            Self { acked: false, .. } => Err(NotYet::Unacknowledged),
            Self { not_before, .. } if now < *not_before => Err(NotYet::TooSoon),
            _ => Ok(()),
        }
    }

    /// Reports whether [`prepare`](Self::prepare) would try to update the keys: on request, or
    /// because the confidentiality limit is near.
    pub const fn wants_update(&self) -> bool {
        let Limits { confidentiality, .. } = self.limits;
        self.wanted || self.sealed >= confidentiality - confidentiality / 8
    }

    /// Updates the keys if an update was requested or 7/8 of the confidentiality limit is reached.
    /// Returns the Key Phase bit. Call this before writing the header of a packet.
    ///
    /// # Errors
    /// AEAD_LIMIT_REACHED if the limit is reached and no update may start. Nothing more can be sent
    /// then (section 6.6).
    pub fn prepare(&mut self, now: Time) -> Result<bool, Error> {
        let Limits { confidentiality, .. } = self.limits;
        if self.wants_update() && self.may_update(now).is_ok() {
            self.rotate();
        }
        if self.sealed >= confidentiality {
            return Err(Error::new(
                Code::AEAD_LIMIT_REACHED,
                "confidentiality limit reached and no key update possible",
            ));
        }
        Ok(self.key_phase())
    }

    /// Protects a packet whose header has the bit returned by [`prepare`](Self::prepare). Otherwise
    /// like [`keys::seal`].
    ///
    /// # Errors
    /// See [`keys::seal`].
    pub fn seal(&mut self, packet: &mut [u8], placed: &Placed) -> Result<(), Error> {
        self.sealed += 1;
        self.first_sent.get_or_insert(placed.number);
        keys::seal(&*self.local_header, &*self.current.local, packet, placed)
    }

    /// Opens a packet, and follows an update by the peer. `pto` is the current probe timeout.
    /// Otherwise like [`keys::open`].
    ///
    /// # Errors
    /// Packets that must be dropped. Fatal errors are set reserved bits, KEY_UPDATE_ERROR, and
    /// AEAD_LIMIT_REACHED. KEY_UPDATE_ERROR reports an update before this end has sent anything
    /// with the current keys (section 6.2). AEAD_LIMIT_REACHED reports too many forged packets
    /// (section 6.6).
    pub fn open<'a>(
        &mut self,
        now: Time,
        pto: Duration,
        packet: &'a mut [u8],
        at: &Protected,
        largest: Option<u64>,
    ) -> Result<Opened<'a>, Refused> {
        self.forget_previous(now);
        let unmasked = keys::unmask(&*self.remote_header, packet, at, largest)?;
        let (number, updates) = (unmasked.number, unmasked.key_phase() != self.key_phase());
        let overtaken =
            updates && self.first_opened.is_none_or(|first| number < first) && self.generation > 0;
        let (key, generation) = match (&self.previous, updates) {
            (_, false) => (&self.current.remote, self.generation),
            (Some(previous), true) if overtaken => (&previous.key, self.generation - 1),
            (None, true) if overtaken => return Err(Refused::Old),
            (_, true) => (&self.next.remote, self.generation + 1),
        };
        let opened = keys::open_payload(&**key, packet, at, unmasked, generation);
        if opened == Err(Refused::Forged) {
            self.on_forged()?;
        }
        let opened = opened?;
        if generation > self.generation {
            self.on_peer_update()?;
        }
        if generation == self.generation {
            self.on_current(now, pto, number);
        }
        Ok(opened)
    }

    fn forget_previous(&mut self, now: Time) {
        self.previous.take_if(|previous| previous.until.is_some_and(|until| until <= now));
    }

    fn on_forged(&mut self) -> Result<(), Refused> {
        self.forged += 1;
        match self.forged > self.limits.integrity {
            true => Err(Refused::Fatal(Error::new(Code::AEAD_LIMIT_REACHED, "too many forged packets"))),
            false => Ok(()),
        }
    }

    fn on_peer_update(&mut self) -> Result<(), Refused> {
        // The peer needs an ACK for a packet of this phase, but no such packet was sent.
        if self.first_sent.is_none() {
            return Err(Refused::Fatal(Error::new(
                Code::KEY_UPDATE_ERROR,
                "key update before the previous one was acknowledged",
            )));
        }
        self.rotate();
        Ok(())
    }

    fn on_current(&mut self, now: Time, pto: Duration, number: u64) {
        self.first_opened = Some(self.first_opened.map_or(number, |first| first.min(number)));
        if let Some(previous) = &mut self.previous {
            previous.until.get_or_insert(now + pto * PTOS);
        }
    }

    fn rotate(&mut self) {
        let following = self.after.next_keys();
        let old = std::mem::replace(&mut self.current, std::mem::replace(&mut self.next, following));
        self.previous = Some(Previous { key: old.remote, until: None });
        self.generation += 1;
        self.wanted = false;
        (self.first_sent, self.acked, self.first_opened, self.sealed) = (None, false, None, 0);
    }

    /// Processes an ACK of 1-RTT packets whose largest number is `largest`. It arrived in a packet
    /// opened with the keys of `generation`.
    ///
    /// # Errors
    /// KEY_UPDATE_ERROR if the packet has older keys than the packets it acknowledges (section
    /// 6.2).
    pub fn on_ack(&mut self, now: Time, pto: Duration, largest: u64, generation: u64) -> Result<(), Error> {
        if self.first_sent.is_none_or(|first| largest < first) {
            return Ok(());
        }
        if generation < self.generation {
            return Err(Error::new(
                Code::KEY_UPDATE_ERROR,
                "ACK of packets with new keys in a packet with old keys",
            ));
        }
        if !self.acked {
            self.acked = true;
            // In the first phase the peer has no older keys that it might still keep.
            self.not_before = if self.generation == 0 { now } else { now + pto * PTOS };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
