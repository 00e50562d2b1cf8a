//! Who changes the link's interface while it runs: the kernel's own notices, so that no change is too short to be seen.

use std::fmt;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};

/// Bytes of the longest notice, and more.
const NOTICE: usize = 32 << 10;

/// A change of the interface that was not ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It carries nothing any more.
    Down,
    /// Packets of another size.
    Mtu(u32),
    /// Deleted, or moved into another namespace.
    Gone,
    /// An address that the link does not know.
    Gained(IpAddr),
    /// An address of the link's.
    Lost(IpAddr),
    /// More changes at once than the kernel could tell of.
    Many,
}

/// What happened to the interface.
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

/// The interface as it was set up, and the notices of its namespace.
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
    /// Of this interface, in the network namespace of the calling thread.
    pub(crate) fn open(index: u32, mtu: u32, addresses: [IpAddr; 2]) -> nix::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
        let groups = libc::RTMGRP_LINK | libc::RTMGRP_IPV4_IFADDR | libc::RTMGRP_IPV6_IFADDR;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, groups as u32))?;
        Ok(Self { socket, interface: Interface { index, mtu, addresses } })
    }

    /// The first change since it was asked last. A notice that cannot be read is none.
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

/// What the messages of a datagram say of the interface.
fn change_in(interface: &Interface, mut bytes: &[u8]) -> Option<Change> {
    while let Ok(message) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(bytes) {
        if let NetlinkPayload::InnerMessage(told) = &message.payload
            && let Some(change) = interface.change(told)
        {
            return Some(change);
        }
        // Each begins at a whole word.
        let length = (message.header.length as usize).next_multiple_of(4);
        bytes = bytes.get(length.max(1)..)?;
    }
    None
}

impl Interface {
    fn change(&self, message: &RouteNetlinkMessage) -> Option<Change> {
        use RouteNetlinkMessage as Told;
        match message {
            Told::NewLink(link) if link.header.index == self.index => self.change_of_link(link),
            Told::DelLink(link) if link.header.index == self.index => Some(Change::Gone),
            Told::NewAddress(told) if told.header.index == self.index => {
                address(told).filter(|address| !self.addresses.contains(address)).map(Change::Gained)
            }
            Told::DelAddress(told) if told.header.index == self.index => {
                address(told).filter(|address| self.addresses.contains(address)).map(Change::Lost)
            }
            _ => None,
        }
    }

    fn change_of_link(&self, link: &LinkMessage) -> Option<Change> {
        if !link.header.flags.contains(LinkFlags::Up) {
            return Some(Change::Down);
        }
        let mtu = link.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::Mtu(bytes) => Some(*bytes),
            _ => None,
        });
        mtu.filter(|&mtu| mtu != self.mtu).map(Change::Mtu)
    }
}

/// IPv4 has its own address under `Local`, IPv6 under `Address` alone.
fn address(message: &AddressMessage) -> Option<IpAddr> {
    let all = || message.attributes.iter();
    let local = all().find_map(|a| if let AddressAttribute::Local(ip) = a { Some(*ip) } else { None });
    local.or_else(|| all().find_map(|a| if let AddressAttribute::Address(ip) = a { Some(*ip) } else { None }))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const OURS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 64, 0, 1));
    const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 64, 0, 7));

    fn link(index: u32, flags: LinkFlags, mtu: u32) -> LinkMessage {
        let mut message = LinkMessage::default();
        (message.header.index, message.header.flags) = (index, flags);
        message.attributes.push(LinkAttribute::Mtu(mtu));
        message
    }

    fn addressed(address: IpAddr) -> AddressMessage {
        let mut message = AddressMessage::default();
        message.header.index = 2;
        message.attributes.push(AddressAttribute::Local(address));
        message
    }

    fn change(messages: Vec<RouteNetlinkMessage>) -> Option<Change> {
        let mut bytes = Vec::new();
        for message in messages {
            let mut message = NetlinkMessage::from(message);
            message.finalize();
            let begin = bytes.len();
            bytes.resize(begin + message.buffer_len().next_multiple_of(4), 0);
            message.serialize(&mut bytes[begin..]);
        }
        let interface = Interface { index: 2, mtu: 1500, addresses: [OURS, IpAddr::V6(1.into())] };
        change_in(&interface, &bytes)
    }

    #[test]
    fn a_change_is_what_differs_from_the_set_up_interface() {
        use RouteNetlinkMessage as Told;
        let same = || Told::NewLink(link(2, LinkFlags::Up | LinkFlags::Running, 1500));
        let down = |index| Told::NewLink(link(index, LinkFlags::empty(), 1500));
        assert_eq!(change(vec![same(), Told::NewAddress(addressed(OURS)), down(1)]), None);
        assert_eq!(change(vec![same(), down(2)]), Some(Change::Down));
        assert_eq!(change(vec![Told::NewLink(link(2, LinkFlags::Up, 1400))]), Some(Change::Mtu(1400)));
        assert_eq!(change(vec![Told::DelLink(link(2, LinkFlags::Up, 1500))]), Some(Change::Gone));
        assert_eq!(change(vec![Told::NewAddress(addressed(OTHER))]), Some(Change::Gained(OTHER)));
        assert_eq!(change(vec![Told::DelAddress(addressed(OURS))]), Some(Change::Lost(OURS)));
        assert_eq!(change(vec![Told::DelAddress(addressed(OTHER))]), None);
        let interface = Interface { index: 2, mtu: 1500, addresses: [OURS, OTHER] };
        for bytes in [&[][..], &[0; 16], &[255; 40]] {
            assert_eq!(change_in(&interface, bytes), None, "{bytes:?}");
        }
    }
}
