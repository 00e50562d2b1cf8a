//! Requests to the kernel's routing socket (rtnetlink).

use std::io;
use std::os::fd::AsRawFd;

use netlink_packet_core::{NLM_F_ACK, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use nix::libc;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

/// Sends a request to the network namespace of the calling thread, and waits for the kernel's answer.
pub(crate) fn request(what: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    let route =
        socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    let mut message = NetlinkMessage::from(what);
    message.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    send(route.as_raw_fd(), &bytes, MsgFlags::empty())?;
    let mut answer = [0; 1024];
    let length = recv(route.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    match NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer[..length]) {
        // Also "no error".
        Ok(NetlinkMessage { payload: NetlinkPayload::Error(said), .. }) => match said.code {
            None => Ok(()),
            Some(_) => Err(said.to_io()),
        },
        _ => Err(io::Error::from_raw_os_error(libc::EPROTO)),
    }
}
