//! State of one packet number space, and of a connection with three of them (RFC 9000 section
//! 12.3).

use units::Time;

use crate::sender::acked_ranges::AckedRanges;
use crate::sender::ecn_validation::SpaceCounts;
use crate::sender::late::LateAcks;
use crate::sender::sent_packets::{Payload, SentPackets};

/// A packet number space, in the order of the handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpaceId {
    /// Initial packets.
    Initial,
    /// Handshake packets.
    Handshake,
    /// 0-RTT and 1-RTT packets. The only space of a sender with one space.
    #[default]
    Application,
}

impl SpaceId {
    /// All spaces, in the order of the handshake.
    pub const ALL: [Self; 3] = [Self::Initial, Self::Handshake, Self::Application];
}

/// Role of an endpoint in the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Opens the connection.
    Client,
    /// Accepts the connection. Limited in what it can send before the client's address is
    /// validated.
    Server,
}

/// One packet number space of a sender.
#[derive(Debug)]
pub(crate) struct Space<T> {
    pub(crate) sent: SentPackets<T>,
    pub(crate) late: LateAcks<T>,
    pub(crate) acked: AckedRanges,
    pub(crate) largest_acked: Option<u64>,
    pub(crate) loss_time: Option<Time>,
    /// Send time of the last ACK-eliciting packet.
    pub(crate) last_sent: Time,
    pub(crate) ecn: SpaceCounts,
}

impl<T: Payload> Space<T> {
    /// Creates an empty space. `rate_samples`: the controller needs them.
    pub(crate) fn new(rate_samples: bool) -> Self {
        Self {
            sent: SentPackets::new(rate_samples),
            late: LateAcks::new(),
            acked: AckedRanges::default(),
            largest_acked: None,
            loss_time: None,
            last_sent: Time::ZERO,
            ecn: SpaceCounts::default(),
        }
    }
}

/// The spaces of a connection with three of them, and the progress of its handshake.
#[derive(Debug)]
pub(crate) struct Spaces<T> {
    /// The inactive spaces, and an empty one in place of the active one.
    pub(crate) parked: [Space<T>; 3],
    pub(crate) active: SpaceId,
    /// `PeerCompletedAddressValidation` of RFC 9002 appendix A.8.
    pub(crate) peer_validated: bool,
    pub(crate) handshake_keys: bool,
    pub(crate) confirmed: bool,
    /// The server can send nothing until more data arrives.
    pub(crate) amplification_limited: bool,
    /// Time at which the timer was set last. The anti-deadlock timeout counts from there.
    pub(crate) since: Time,
}
