//! What belongs to one packet number space, and what a connection with three of them knows besides (RFC 9000 section 12.3).

use units::Time;

use crate::sender::acked_ranges::AckedRanges;
use crate::sender::ecn_validation::Ledger;
use crate::sender::late::LateAcks;
use crate::sender::sent_packets::{Payload, SentPackets};

/// A packet number space, in the order of the handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpaceId {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// 0-RTT and 1-RTT packets; the only one of a sender that has one.
    #[default]
    Application,
}

impl SpaceId {
    /// All, in the order of the handshake.
    pub const ALL: [Self; 3] = [Self::Initial, Self::Handshake, Self::Application];
}

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It opens the connection.
    Client,
    /// It is limited in what it may send before the client's address is validated.
    Server,
}

/// The sender's side of one packet number space.
#[derive(Debug)]
pub(crate) struct Space<T> {
    pub(crate) sent: SentPackets<T>,
    pub(crate) late: LateAcks<T>,
    pub(crate) acked: AckedRanges,
    pub(crate) largest_acked: Option<u64>,
    pub(crate) loss_time: Option<Time>,
    /// When the last packet left that elicits an ACK.
    pub(crate) last_sent: Time,
    pub(crate) ecn: Ledger,
}

impl<T: Payload> Space<T> {
    /// Nothing sent yet. `rate_samples`: the controller needs them.
    pub(crate) fn new(rate_samples: bool) -> Self {
        Self {
            sent: SentPackets::new(rate_samples),
            late: LateAcks::new(),
            acked: AckedRanges::default(),
            largest_acked: None,
            loss_time: None,
            last_sent: Time::ZERO,
            ecn: Ledger::default(),
        }
    }
}

/// The spaces of a connection with three of them, and how far its handshake is.
#[derive(Debug)]
pub(crate) struct Spaces<T> {
    /// Those that are not at hand; an empty one in the place of the one that is.
    pub(crate) parked: [Space<T>; 3],
    /// Which is at hand.
    pub(crate) at_hand: SpaceId,
    /// `PeerCompletedAddressValidation` of RFC 9002 appendix A.8.
    pub(crate) peer_validated: bool,
    pub(crate) handshake_keys: bool,
    pub(crate) confirmed: bool,
    /// A server may send nothing until more arrives.
    pub(crate) amplification_limited: bool,
    /// When the timer was set last: the anti-deadlock timeout counts from there.
    pub(crate) since: Time,
}
