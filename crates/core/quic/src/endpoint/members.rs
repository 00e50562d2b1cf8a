//! The connections of an endpoint.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use units::Time;

use crate::connection::Connection;
use crate::endpoint::routing::Handle;
use crate::small_map::SmallMap;

/// A connection and its pending work.
pub(super) struct Member {
    pub(super) connection: Connection,
    /// Whether it is in the endpoint's `touched`.
    pub(super) touched: bool,
    /// Whether it is in `sending`.
    pub(super) sending: bool,
    /// Whether it is in `stale`.
    pub(super) stale: bool,
    /// The time of its entry in `timers`.
    pub(super) due: Option<Time>,
    /// Host that the client came from. It counts there until it is forgotten.
    pub(super) host: Option<IpAddr>,
}

impl Member {
    pub(super) const fn new(connection: Connection) -> Self {
        Self { connection, touched: false, sending: false, stale: false, due: None, host: None }
    }
}

/// Numbers of connections of a host's clients.
#[derive(Clone, Copy, Default)]
pub(super) struct Clients {
    pub(super) all: usize,
    /// Number of those that are not accepted yet.
    pub(super) unaccepted: usize,
}

/// All connections of an endpoint.
pub(super) type Members = SmallMap<Handle, Member>;

/// Returns the key of a host: an IPv4 address, or the network of an IPv6 address, since a host has
/// all addresses of a /64 (RFC 4291 section 2.5.4).
pub(super) fn host(address: SocketAddr) -> IpAddr {
    match address.ip().to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
        ip @ IpAddr::V4(_) => ip,
    }
}
