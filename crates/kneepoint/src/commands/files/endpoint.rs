//! Sockets of real networks under an endpoint.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};

use quic::endpoint::{Endpoint, EndpointSettings};
use transfer::Url;
use udp::{Clock, Engine, Socket};

use super::keys;
use crate::status::Error;

/// An endpoint at this address.
pub(crate) fn bind(address: SocketAddr, settings: EndpointSettings) -> Result<(Engine, SocketAddr), Error> {
    let cannot = |error: std::io::Error| Error::bad(format!("cannot use UDP at {address}: {error}"));
    let socket = Socket::bind(address).map_err(cannot)?;
    let local = socket.local_addr().map_err(cannot)?;
    let endpoint = Endpoint::with_random(settings, keys::random()?).map_err(Error::bad)?;
    Ok((Engine::new(socket, Clock::new(), endpoint), local))
}

/// Where a host's addresses are, in the order of the system.
pub(crate) fn resolve(url: &Url) -> Result<Vec<SocketAddr>, Error> {
    let found = (url.host.as_str(), url.port).to_socket_addrs();
    let found: Vec<SocketAddr> =
        found.map_err(|error| Error::bad(format!("cannot find {}: {error}", url.host)))?.collect();
    if found.is_empty() {
        return Err(Error::bad(format!("{} has no address", url.host)));
    }
    Ok(found)
}

/// The address of this end on the way to a host: a path has two ends, and the routing table knows ours.
pub(crate) fn towards(remote: SocketAddr) -> Result<SocketAddr, Error> {
    let any: IpAddr =
        if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let local = UdpSocket::bind((any, 0)).and_then(|socket| {
        // Nothing is sent.
        socket.connect(remote)?;
        socket.local_addr()
    });
    let local = local.map_err(|error| Error::bad(format!("no way leads to {remote}: {error}")))?;
    Ok(SocketAddr::new(local.ip(), 0))
}
