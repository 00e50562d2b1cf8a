//! One packet number space of a connection: its keys, its handshake bytes, what was received (RFC 9000 section 12.3).

use recovery::{AckConfig, Clock, OnGap, Receiver, SpaceId};
use units::{Duration, Time};

use crate::crypto::keys::Keys;
use crate::crypto_stream::CryptoStream;
use crate::level::Space;

/// How many ranges of received numbers are remembered (RFC 9000 section 13.2.3).
pub(super) const MAX_RANGES: usize = 64;

/// One space.
pub(super) struct SpaceState {
    /// Of Initial and Handshake packets; 1-RTT keys are elsewhere.
    pub(super) keys: Option<Keys>,
    pub(super) crypto: CryptoStream,
    pub(super) receiver: Receiver,
    /// The largest number that was received.
    pub(super) largest: Option<u64>,
    /// An ACK is to be sent without delay.
    pub(super) ack_now: bool,
    /// Packets that are to be sent whether or not there is something to say (RFC 9002 section 6.2.4).
    pub(super) probes: u8,
}

impl SpaceState {
    /// Nothing was received. Packets of the handshake are acknowledged at once (section 13.2.1).
    pub(super) fn new() -> Self {
        let config = AckConfig { immediate_on_gap: OnGap::All, timestamps: 0, ..AckConfig::default() };
        Self {
            keys: None,
            crypto: CryptoStream::default(),
            receiver: receiver(config, Duration::MAX),
            largest: None,
            ack_now: false,
            probes: 0,
        }
    }

    /// An ACK is to leave now.
    pub(super) fn owes_ack(&self, now: Time) -> bool {
        self.ack_now || self.receiver.timer().is_some_and(|due| due <= now)
    }

    /// Its keys are discarded, and with them all that is only for its packets (RFC 9001 section 4.9).
    pub(super) fn discard(&mut self) {
        let largest = self.largest;
        *self = Self { largest, ..Self::new() };
    }
}

/// A receiver that does not trust its peer. `base_rtt` is for `delay_factor` alone.
pub(super) fn receiver(config: AckConfig, base_rtt: Duration) -> Receiver {
    Receiver::new(config, Clock::default(), base_rtt).bounded(MAX_RANGES)
}

/// As loss recovery names it.
pub(super) const fn id_of(space: Space) -> SpaceId {
    SpaceId::ALL[space as usize]
}
