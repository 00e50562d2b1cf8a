//! The two ends of the link, and the state of each direction.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Mutex;

use link::{Backlog, Counters};
use units::Duration;

/// An end of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end where the command runs.
    Client,
    /// The other end.
    Server,
}

impl Side {
    /// Returns the IPv4 address of this end. It is in its own namespace and so cannot collide with
    /// an address of the host.
    pub fn ipv4(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 64, 0, self.number())
    }

    /// Returns the IPv6 address of this end.
    pub fn ipv6(self) -> Ipv6Addr {
        Ipv6Addr::new(0xfd00, 0x64, 0, 0, 0, 0, 0, self.number().into())
    }

    fn number(self) -> u8 {
        match self {
            Self::Client => 1,
            Self::Server => 2,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "client",
            Self::Server => "server",
        })
    }
}

/// The state of one direction's link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SideReport {
    /// Packets and bytes in its queue.
    pub backlog: Backlog,
    /// Counters since the start.
    pub counters: Counters,
}

/// State of a run, at most about 100 ms old.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Time since the start.
    pub elapsed: Duration,
    /// Packets of the client, packets of the server.
    pub sides: [SideReport; 2],
}

/// State that the engine shares with other threads.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) snapshot: Mutex<Snapshot>,
}
