//! Changes of the link's interface during a run, from the kernel's notifications. No change is too
//! short to be seen.

use std::fmt;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};

use crate::emu::linux::netlink::{ADDRESS_HEADER, INTERFACE_HEADER, Message};

/// Buffer size in bytes, more than the longest notification.
const NOTICE: usize = 32 << 10;

/// A change of the interface that the emulator did not make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The interface was set down.
    Down,
    /// The MTU was changed.
    Mtu(u32),
    /// The interface was deleted, or moved to another namespace.
    Gone,
    /// An address was added.
    Gained(IpAddr),
    /// An address of the link was removed.
    Lost(IpAddr),
    /// More changes at once than the kernel could report.
    Many,
}

/// Formats the change as a clause about the interface.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Down => write!(f, "was set down"),
            Self::Mtu(bytes) => write!(f, "got an MTU of {bytes} bytes"),
            Self::Gone => write!(f, "was deleted or moved away"),
            Self::Gained(address) => write!(f, "got the address {address}"),
            Self::Lost(address) => write!(f, "lost its address {address}"),
            Self::Many => write!(f, "changed too often to be followed"),
        }
    }
}

/// The interface as it was set up, and the notifications of its namespace.
#[derive(Debug)]
pub(crate) struct Watch {
    socket: OwnedFd,
    interface: Interface,
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    index: u32,
    mtu: u32,
    addresses: [IpAddr; 2],
}

impl Watch {
    /// Watches this interface, in the network namespace of the calling thread.
    pub(crate) fn open(index: u32, mtu: u32, addresses: [IpAddr; 2]) -> nix::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
        let groups = libc::RTMGRP_LINK | libc::RTMGRP_IPV4_IFADDR | libc::RTMGRP_IPV6_IFADDR;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, groups as u32))?;
        Ok(Self { socket, interface: Interface { index, mtu, addresses } })
    }

    /// Returns the first change since the last call. Skips a notification that cannot be read.
    pub(crate) fn change(&self) -> Option<Change> {
        let mut buffer = [0; NOTICE];
        let mut first = None;
        loop {
            let change = match recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                Ok(length) => change_in(&self.interface, &buffer[..length]),
                Err(Errno::ENOBUFS) => Some(Change::Many),
                Err(Errno::EINTR) => None,
                Err(_) => return first,
            };
            first = first.or(change);
        }
    }
}

/// Returns the first change that the messages of a datagram report.
fn change_in(interface: &Interface, mut bytes: &[u8]) -> Option<Change> {
    while let Some((message, rest)) = Message::split(bytes) {
        if let Some(change) = interface.change(&message) {
            return Some(change);
        }
        bytes = rest;
    }
    None
}

impl Interface {
    fn change(&self, message: &Message<'_>) -> Option<Change> {
        // Both headers have the interface's index as their second word.
        if message.number(4) != Some(self.index) {
            return None;
        }
        match message.kind {
            libc::RTM_NEWLINK => self.change_of_link(message),
            libc::RTM_DELLINK => Some(Change::Gone),
            libc::RTM_NEWADDR => {
                address(message).filter(|address| !self.addresses.contains(address)).map(Change::Gained)
            }
            libc::RTM_DELADDR => {
                address(message).filter(|address| self.addresses.contains(address)).map(Change::Lost)
            }
            _ => None,
        }
    }

    fn change_of_link(&self, message: &Message<'_>) -> Option<Change> {
        if message.number(8)? & libc::IFF_UP as u32 == 0 {
            return Some(Change::Down);
        }
        let mtu = message.attribute(INTERFACE_HEADER, libc::IFLA_MTU)?;
        let mtu = u32::from_ne_bytes(mtu.try_into().ok()?);
        (mtu != self.mtu).then_some(Change::Mtu(mtu))
    }
}

/// Reads the address of a notification. IPv4 has its own address under `IFA_LOCAL`, IPv6 only under
/// `IFA_ADDRESS`.
fn address(message: &Message<'_>) -> Option<IpAddr> {
    let local = message.attribute(ADDRESS_HEADER, libc::IFA_LOCAL);
    let bytes = local.or_else(|| message.attribute(ADDRESS_HEADER, libc::IFA_ADDRESS))?;
    let ipv4 = || <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from);
    ipv4().or_else(|| <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::emu::linux::netlink::{interface_header, message, push_attribute};

    const OURS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 64, 0, 1));
    const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 64, 0, 7));
    const UP: u32 = (libc::IFF_UP | libc::IFF_RUNNING) as u32;

    fn link(kind: u16, index: u32, flags: u32, mtu: u32) -> Vec<u8> {
        let mut body = interface_header(index, flags).to_vec();
        // A name of odd length before it: attributes are padded.
        push_attribute(&mut body, libc::IFLA_IFNAME, b"ack0\0\0");
        push_attribute(&mut body, libc::IFLA_MTU, &mtu.to_ne_bytes());
        message(kind, 0, &body)
    }

    fn addressed(kind: u16, address: IpAddr) -> Vec<u8> {
        let mut body = vec![0; ADDRESS_HEADER];
        body[4] = 2;
        match address {
            IpAddr::V4(ip) => {
                push_attribute(&mut body, libc::IFA_ADDRESS, &[10, 0, 0, 9]);
                push_attribute(&mut body, libc::IFA_LOCAL, &ip.octets());
            }
            IpAddr::V6(ip) => push_attribute(&mut body, libc::IFA_ADDRESS, &ip.octets()),
        }
        message(kind, 0, &body)
    }

    fn change(messages: &[Vec<u8>]) -> Option<Change> {
        let interface = Interface { index: 2, mtu: 1500, addresses: [OURS, IpAddr::V6(1.into())] };
        change_in(&interface, &messages.concat())
    }

    #[test]
    fn a_change_is_what_differs_from_the_set_up_interface() {
        use libc::{RTM_DELADDR, RTM_DELLINK, RTM_NEWADDR, RTM_NEWLINK};
        let same = || link(RTM_NEWLINK, 2, UP, 1500);
        let down = |index| link(RTM_NEWLINK, index, 0, 1500);
        assert_eq!(change(&[same(), addressed(RTM_NEWADDR, OURS), down(1)]), None);
        assert_eq!(change(&[same(), down(2)]), Some(Change::Down));
        assert_eq!(change(&[link(RTM_NEWLINK, 2, UP, 1400)]), Some(Change::Mtu(1400)));
        assert_eq!(change(&[link(RTM_DELLINK, 2, UP, 1500)]), Some(Change::Gone));
        assert_eq!(change(&[addressed(RTM_NEWADDR, OTHER)]), Some(Change::Gained(OTHER)));
        assert_eq!(change(&[addressed(RTM_DELADDR, OURS)]), Some(Change::Lost(OURS)));
        assert_eq!(change(&[addressed(RTM_DELADDR, OTHER)]), None);
        let other = IpAddr::V6(7.into());
        assert_eq!(change(&[addressed(RTM_NEWADDR, other)]), Some(Change::Gained(other)));
        for bytes in [&[][..], &[0; 16], &[255; 40]] {
            assert_eq!(change(&[bytes.to_vec()]), None, "{bytes:?}");
        }
    }
}
