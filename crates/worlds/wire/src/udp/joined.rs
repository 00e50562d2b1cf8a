//! Datagrams that the kernel has coalesced (GRO), with ECN codepoint, address and timestamp. These
//! are four control messages, and quinn-udp has space for three.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::cmsg_space;
use nix::libc;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, RecvMsg, SockaddrStorage, recvmsg};
use nix::sys::time::TimeSpec;

/// Metadata of coalesced datagrams.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) from: SocketAddr,
    /// Local address.
    pub(crate) to: Option<IpAddr>,
    /// ECN codepoint, two bits.
    pub(crate) ecn: u8,
    /// Kernel timestamp of the wall clock, since 1970.
    pub(crate) stamp: Option<Duration>,
    /// Bytes of all datagrams, and of each but the last.
    pub(crate) length: usize,
    pub(crate) segment: usize,
}

/// Allocates space for all control messages of a datagram, with an ECN codepoint for each version
/// of IP.
pub(crate) fn room() -> Vec<u8> {
    cmsg_space!(TimeSpec, libc::c_int, libc::in_pktinfo, libc::in6_pktinfo, libc::c_int, libc::c_int)
}

/// Receives the next datagrams.
///
/// # Errors
/// The error of the system call; `WouldBlock` if there are none.
pub(crate) fn receive(io: &UdpSocket, buffer: &mut [u8], room: &mut [u8]) -> io::Result<Header> {
    let mut slices = [IoSliceMut::new(buffer)];
    let received: RecvMsg<'_, '_, SockaddrStorage> =
        recvmsg(io.as_raw_fd(), &mut slices, Some(room), MsgFlags::MSG_DONTWAIT)?;
    let length = received.bytes;
    let from = received.address.as_ref().and_then(address).ok_or(io::ErrorKind::AddrNotAvailable)?;
    let mut header = Header { from, to: None, ecn: 0, stamp: None, length, segment: length };
    for message in received.cmsgs()? {
        header.take(&message);
    }
    Ok(header)
}

impl Header {
    fn take(&mut self, message: &ControlMessageOwned) {
        match message {
            ControlMessageOwned::Ipv4Tos(field) => self.ecn = field & 3,
            ControlMessageOwned::Ipv6TClass(field) => self.ecn = (field & 3) as u8,
            ControlMessageOwned::UdpGroSegments(bytes) => self.segment = usize::try_from(*bytes).unwrap_or(0),
            ControlMessageOwned::ScmTimestampns(time) => self.stamp = Some(Duration::from(*time)),
            ControlMessageOwned::Ipv4PacketInfo(info) => {
                self.to = Some(Ipv4Addr::from(u32::from_be(info.ipi_addr.s_addr)).into());
            }
            ControlMessageOwned::Ipv6PacketInfo(info) => {
                self.to = Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into());
            }
            _ => {}
        }
    }
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in().map(|v4| SocketAddrV4::from(*v4).into());
    v4.or_else(|| storage.as_sockaddr_in6().map(|v6| SocketAddrV6::from(*v6).into()))
}
