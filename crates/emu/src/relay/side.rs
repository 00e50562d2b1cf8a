//! The two ends of the link, and how each direction stands.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Mutex;

use link::{Backlog, Counters};
use units::Duration;

/// An end of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where the command runs.
    Client,
    /// The other one.
    Server,
}

impl Side {
    /// Its IPv4 address. In a namespace of its own, it collides with no address of the host.
    pub fn ipv4(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 64, 0, self.number())
    }

    /// Its IPv6 address.
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
    /// What happened so far.
    pub counters: Counters,
}

/// How a run stands; some 100 ms old at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Since the start.
    pub elapsed: Duration,
    /// What the client sends, what the server sends.
    pub sides: [SideReport; 2],
}

/// What engine and watchers share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) snapshot: Mutex<Snapshot>,
}
