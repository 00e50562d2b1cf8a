//! State of one packet number space: CRYPTO stream and received packets (RFC 9000 section
//! 12.3).

use recovery::{AckConfig, Clock, OnGap, Receiver, SpaceId};
use units::{Duration, Time};

use crate::crypto_stream::CryptoStream;
use crate::level::Space;

/// Maximum number of ranges of received packet numbers (RFC 9000 section 13.2.3).
pub(super) const MAX_RANGES: usize = 64;

/// State of one space.
pub(super) struct SpaceState {
    pub(super) crypto: CryptoStream,
    pub(super) receiver: Receiver,
    /// Largest packet number received.
    pub(super) largest: Option<u64>,
    /// Whether an ACK must be sent without delay.
    pub(super) ack_now: bool,
    /// Number of probes to send, whether or not there is data (RFC 9002 section 6.2.4).
    pub(super) probes: u8,
}

impl SpaceState {
    /// Creates an empty space. Initial and Handshake packets are acknowledged immediately (section
    /// 13.2.1).
    pub(super) fn new() -> Self {
        let config = AckConfig { immediate_on_gap: OnGap::All, timestamps: 0, ..AckConfig::default() };
        Self {
            crypto: CryptoStream::default(),
            receiver: receiver(config, Duration::MAX),
            largest: None,
            ack_now: false,
            probes: 0,
        }
    }

    /// Reports whether an ACK is due.
    pub(super) fn owes_ack(&self, now: Time) -> bool {
        self.ack_now || self.receiver.timer().is_some_and(|due| due <= now)
    }

    /// Discards everything needed only for packets of this space (RFC 9001 section
    /// 4.9).
    pub(super) fn discard(&mut self) {
        let largest = self.largest;
        *self = Self { largest, ..Self::new() };
    }
}

/// Creates a receiver that does not trust its peer. `base_rtt` is used only for `delay_factor`.
pub(super) fn receiver(config: AckConfig, base_rtt: Duration) -> Receiver {
    Receiver::new(config, Clock::default(), base_rtt).bounded(MAX_RANGES)
}

/// Converts a space to the type of loss recovery.
pub(super) const fn space_id(space: Space) -> SpaceId {
    SpaceId::ALL[space as usize]
}
