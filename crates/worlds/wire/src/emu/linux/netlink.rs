//! Messages of the kernel's routing socket (rtnetlink): requests that are written, notices that are
//! read.
//!
//! ```text
//! message    length u32 | type u16 | flags u16 | sequence u32 | port u32 | body            linux/netlink.h
//! body       a fixed header of the type, then attributes                                   linux/rtnetlink.h
//! attribute  length u16 | type u16 | value, padded to 4 bytes
//! ```
//!
//! Numbers are in the byte order of the machine.

use std::io;
use std::os::fd::AsRawFd;

use nix::libc;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

/// Bytes of a message's header.
const HEADER: usize = 16;
/// Bytes of `struct ifinfomsg`, the fixed header of messages about an interface.
pub(crate) const INTERFACE_HEADER: usize = 16;
/// Bytes of `struct ifaddrmsg`, the fixed header of messages about an address.
pub(crate) const ADDRESS_HEADER: usize = 8;
/// Bytes of an attribute's header.
const ATTRIBUTE_HEADER: usize = 4;
/// Bits of an attribute's type that are flags: nested, and in network byte order.
const ATTRIBUTE_FLAGS: u16 = 0xc000;

/// A request under construction.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    kind: u16,
    flags: u16,
    body: Vec<u8>,
}

impl Request {
    /// Creates a request of this type (`RTM_...`) with these flags (`NLM_F_...`) and the fixed
    /// header of the type.
    pub(crate) fn new(kind: u16, flags: i32, header: &[u8]) -> Self {
        Self { kind, flags: flags as u16, body: header.to_vec() }
    }

    /// Appends an attribute.
    pub(crate) fn with(mut self, kind: u16, value: &[u8]) -> Self {
        push_attribute(&mut self.body, kind, value);
        self
    }

    /// Returns the message in the kernel's format.
    fn to_bytes(&self) -> Vec<u8> {
        message(self.kind, self.flags | (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16, &self.body)
    }

    /// Sends the request to the network namespace of the calling thread and waits for the kernel's
    /// answer.
    ///
    /// # Errors
    /// The error that the kernel answers with, or that of the socket.
    pub(crate) fn send(&self) -> io::Result<()> {
        let kind = SockType::Raw;
        let route = socket(AddressFamily::Netlink, kind, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
        send(route.as_raw_fd(), &self.to_bytes(), MsgFlags::empty())?;
        let mut answer = [0; 1024];
        let length = recv(route.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        let refused = || io::Error::from_raw_os_error(libc::EPROTO);
        let (answer, _) = Message::split(&answer[..length]).ok_or_else(refused)?;
        match answer.body.first_chunk() {
            // An error of zero acknowledges the request.
            Some(code) if answer.kind == libc::NLMSG_ERROR as u16 => match i32::from_ne_bytes(*code) {
                0 => Ok(()),
                code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
            },
            _ => Err(refused()),
        }
    }
}

/// A message from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    /// Type of the message: `RTM_...` or `NLMSG_...`.
    pub(crate) kind: u16,
    /// Fixed header of the type, then attributes.
    pub(crate) body: &'a [u8],
}

impl<'a> Message<'a> {
    /// Splits the first message off a datagram. Returns `None` if no complete message is left.
    pub(crate) fn split(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
        let kind = u16::from_ne_bytes([*bytes.get(4)?, *bytes.get(5)?]);
        let body = bytes.get(HEADER..length)?;
        Some((Self { kind, body }, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
    }

    /// Returns the value of the first attribute of this type behind a fixed header of `header`
    /// bytes.
    pub(crate) fn attribute(&self, header: usize, kind: u16) -> Option<&'a [u8]> {
        let mut rest = self.body.get(header..)?;
        loop {
            let length = usize::from(u16::from_ne_bytes(*rest.first_chunk()?));
            let found = u16::from_ne_bytes([*rest.get(2)?, *rest.get(3)?]) & !ATTRIBUTE_FLAGS;
            let value = rest.get(ATTRIBUTE_HEADER..length)?;
            if found == kind {
                return Some(value);
            }
            rest = rest.get(length.next_multiple_of(4)..)?;
        }
    }

    /// Returns the 32-bit number at this place of the body.
    pub(crate) fn number(&self, at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(*self.body.get(at..)?.first_chunk()?))
    }
}

/// Returns the fixed header of messages about an interface, `struct ifinfomsg`: family, type,
/// index, flags, mask of flags.
pub(crate) fn interface_header(index: u32, flags: u32) -> [u8; INTERFACE_HEADER] {
    let mut header = [0; INTERFACE_HEADER];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header
}

/// Appends an attribute with its padding.
pub(crate) fn push_attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = (ATTRIBUTE_HEADER + value.len()) as u16;
    to.extend(length.to_ne_bytes());
    to.extend(kind.to_ne_bytes());
    to.extend(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

/// Returns a message with its header. Sequence and port are zero: each request has a socket of its
/// own.
pub(crate) fn message(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend(((HEADER + body.len()) as u32).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend(body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let request =
            Request::new(libc::RTM_NEWROUTE, libc::NLM_F_CREATE, &[7; 12]).with(4, &[1, 2, 3]).with(5, &[9]);
        let mut bytes = request.to_bytes();
        // linux/netlink.h: the length counts header and body; flags of `ip route add`.
        assert_eq!(
            bytes[..8],
            [&44_u32.to_ne_bytes()[..], &24_u16.to_ne_bytes(), &0x405_u16.to_ne_bytes()].concat()
        );
        bytes.extend(message(3, 0, &[]));
        let (first, rest) = Message::split(&bytes).unwrap();
        assert_eq!(
            (first.kind, first.attribute(12, 4), first.attribute(12, 5)),
            (24, Some(&[1, 2, 3][..]), Some(&[9][..]))
        );
        assert_eq!((first.attribute(12, 6), first.number(0)), (None, Some(0x0707_0707)));
        assert_eq!(Message::split(rest), Some((Message { kind: 3, body: &[] }, &[][..])));
    }

    #[test]
    fn broken_messages_are_refused() {
        let whole = Request::new(16, 0, &[0; 16]).with(4, &[1, 2, 3, 4]).to_bytes();
        for length in 0..whole.len() {
            assert_eq!(Message::split(&whole[..length]), None, "{length}");
        }
        for bytes in [&[0; 40][..], &[255; 40], &[15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]] {
            assert_eq!(Message::split(bytes), None, "{bytes:?}");
        }
        for length in [0_u16, 3, 9, u16::MAX] {
            let mut body = vec![0; 8];
            body[..2].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(Message { kind: 0, body: &body }.attribute(0, 1), None, "{length}");
        }
    }
}
