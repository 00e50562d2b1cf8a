//! 1-RTT keys and their updates (RFC 9001 section 6).
//!
//! Phases are counted from 0; the Key Phase bit is the lowest bit of that number. Both directions change at once: the end that asks
//! for an update sends with new keys and opens with both, until the peer has followed.

use units::{Duration, Time};

use super::keys::{self, Keys, Opened, PacketKey, PacketKeySet, Refused};
use super::session::NextKeys;
use crate::error::{Code, Error};
use crate::wire::header::{Placed, Protected};
use rustls::quic::HeaderProtectionKey;

/// How long keys of an earlier phase are kept, and how long an end waits before it updates again, in PTOs (sections 6.1, 6.5).
const PTOS: u64 = 3;

/// Why an update cannot begin now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotYet {
    /// The handshake is not confirmed (section 6.1).
    Unconfirmed,
    /// The peer has acknowledged nothing that was sent with the keys in use (section 6.1).
    Unacknowledged,
    /// Three PTO have not passed since it did (section 6.5).
    TooSoon,
}

/// Keys of the phase before, for packets that were overtaken.
struct Previous {
    key: Box<dyn PacketKey>,
    /// When they go; unknown until a packet of the new phase came.
    until: Option<Time>,
}

/// How often a set of keys may be used (section 6.6), in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Sealed with one set of keys.
    pub confidentiality: u64,
    /// Refused as forged, over all phases.
    pub integrity: u64,
}

/// The 1-RTT keys of one end.
pub struct OneRtt {
    local_header: Box<dyn HeaderProtectionKey>,
    remote_header: Box<dyn HeaderProtectionKey>,
    current: PacketKeySet,
    /// Computed ahead, so that the time a packet takes does not tell whether it began an update (section 6.3).
    next: PacketKeySet,
    after: Box<dyn NextKeys>,
    previous: Option<Previous>,
    generation: u64,
    limits: Limits,
    confirmed: bool,
    wanted: bool,
    /// The first number sent in this phase, and whether one was acknowledged.
    first_sent: Option<u64>,
    acked: bool,
    /// From when on the next update may begin.
    not_before: Time,
    /// The smallest number opened in this phase.
    first_opened: Option<u64>,
    sealed: u64,
    forged: u64,
}

impl OneRtt {
    /// From what the handshake brought forth.
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

    /// With limits below those of the AEAD, for tests.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How many updates there were.
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// The Key Phase bit of packets that are sent now.
    pub const fn key_phase(&self) -> bool {
        self.generation & 1 == 1
    }

    /// The length of a tag, in bytes.
    pub fn tag_len(&self) -> usize {
        self.current.local.tag_len()
    }

    /// How many bytes of frames a packet needs: [`keys::min_payload`].
    pub fn min_payload(&self, number_len: usize) -> usize {
        let sample = match self.local_header.sample_len() {
            0 => 0,
            sample => 4 + sample,
        };
        sample.saturating_sub(number_len + self.tag_len()).max(1)
    }

    /// The handshake is confirmed (section 4.1.2): from now on keys may be updated.
    pub const fn on_confirmed(&mut self) {
        self.confirmed = true;
    }

    /// An update begins as soon as it may.
    pub const fn request_update(&mut self) {
        self.wanted = true;
    }

    /// Whether an update may begin now.
    ///
    /// # Errors
    /// Why not.
    pub fn may_update(&self, now: Time) -> Result<(), NotYet> {
        match self {
            Self { confirmed: false, .. } => Err(NotYet::Unconfirmed),
            Self { acked: false, .. } => Err(NotYet::Unacknowledged),
            Self { not_before, .. } if now < *not_before => Err(NotYet::TooSoon),
            _ => Ok(()),
        }
    }

    /// An update is wanted, or the confidentiality limit is near: [`prepare`](Self::prepare) does more than say the phase.
    pub const fn has_steps(&self) -> bool {
        let Limits { confidentiality, .. } = self.limits;
        self.wanted || self.sealed >= confidentiality - confidentiality / 8
    }

    /// To be called before the header of a packet is written: updates the keys where that was asked for or the confidentiality limit is
    /// near (7/8 of it), and gives the Key Phase bit.
    ///
    /// # Errors
    /// AEAD_LIMIT_REACHED when the limit is reached and no update may begin: nothing more can be sent (section 6.6).
    pub fn prepare(&mut self, now: Time) -> Result<bool, Error> {
        let Limits { confidentiality, .. } = self.limits;
        if self.has_steps() && self.may_update(now).is_ok() {
            self.rotate();
        }
        if self.sealed >= confidentiality {
            return Err(Error::new(Code::AEAD_LIMIT_REACHED, "the keys are used up and cannot be updated"));
        }
        Ok(self.key_phase())
    }

    /// Protects a packet whose header has the bit that [`prepare`](Self::prepare) gave; otherwise like [`keys::seal`].
    ///
    /// # Errors
    /// As there.
    pub fn seal(&mut self, packet: &mut [u8], placed: &Placed) -> Result<(), Error> {
        self.sealed += 1;
        self.first_sent.get_or_insert(placed.number);
        keys::seal(&*self.local_header, &*self.current.local, packet, placed)
    }

    /// Opens a packet, and follows the peer's update where it began one. `pto` is the probe timeout of now; otherwise like
    /// [`keys::open`].
    ///
    /// # Errors
    /// Packets that are to be dropped. Fatal: reserved bits; KEY_UPDATE_ERROR for an update before this end has sent anything with the
    /// keys in use (section 6.2); AEAD_LIMIT_REACHED when too many packets were forged (section 6.6).
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
        // The peer must have an ACK for a packet of this phase, which nobody sent.
        if self.first_sent.is_none() {
            return Err(Refused::Fatal(Error::new(Code::KEY_UPDATE_ERROR, "a second update too soon")));
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

    /// An ACK of 1-RTT packets came, in a packet that was opened with the keys of `generation`: its largest number.
    ///
    /// # Errors
    /// KEY_UPDATE_ERROR when it stands in a packet with older keys than those it acknowledges (section 6.2).
    pub fn on_ack(&mut self, now: Time, pto: Duration, largest: u64, generation: u64) -> Result<(), Error> {
        if self.first_sent.is_none_or(|first| largest < first) {
            return Ok(());
        }
        if generation < self.generation {
            return Err(Error::new(Code::KEY_UPDATE_ERROR, "an ACK of new keys in a packet of old ones"));
        }
        if !self.acked {
            self.acked = true;
            // Of the first phase there is nothing before that the peer might still keep.
            self.not_before = if self.generation == 0 { now } else { now + pto * PTOS };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
