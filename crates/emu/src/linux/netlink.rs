//! Requests to the kernel's routing socket (rtnetlink): two of them, smaller than any netlink library.

use std::io;
use std::os::fd::AsRawFd;

use nix::libc;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

/// Bytes of `nlmsghdr`.
const HEADER: usize = 16;

/// An attribute: `rtattr` (length, type), then its value; values here are whole words, so that nothing needs padding.
pub(crate) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::from((value.len() as u16 + 4).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes
}

/// Sends a request of this type, `body` behind its header, to the network namespace of the calling thread, and waits for
/// the kernel's answer.
pub(crate) fn request(kind: u16, flags: i32, body: &[u8]) -> io::Result<()> {
    let route =
        socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags) as u16;
    // nlmsghdr: length, type, flags, sequence number, sender.
    let mut message = Vec::from(((HEADER + body.len()) as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    send(route.as_raw_fd(), &message, MsgFlags::empty())?;
    // nlmsghdr again, then the error number, negative; 0 if it is done.
    let mut answer = [0; 1024];
    let length = recv(route.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    let error = answer[..length].get(HEADER..HEADER + 4).and_then(|e| e.try_into().ok());
    match error.map_or(-libc::EPROTO, i32::from_ne_bytes) {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}
