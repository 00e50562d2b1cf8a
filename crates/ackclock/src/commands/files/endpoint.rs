//! Sockets of real networks under an endpoint.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};

use clap::Args;
use quic::config::Config;
use quic::endpoint::{Endpoint, EndpointSettings};
use transfer::Url;
use udp::{Clock, Engine, MOST_IN_DATAGRAM, Socket};
use units::Bytes;

use super::keys;
use crate::status::Error;

/// What datagrams are like.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct DatagramArgs {
    /// Bytes of UDP payload that this end sends in a datagram, 1200 to 65507: nobody looks for what the path carries (1452 on most Ethernet).
    #[arg(long, value_name = "BYTES", default_value = "1200 bytes", value_parser = datagram)]
    pub(crate) datagram: Bytes,
    /// A receive time for each datagram. Otherwise Linux from 6.10 on may hand over several that came together as one, with one time, for a fraction of the
    /// work.
    #[arg(long)]
    pub(crate) stamp_each: bool,
}

fn datagram(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse()?;
    let config = DatagramArgs { datagram: size, stamp_each: false }.config();
    let fits = size.0 <= MOST_IN_DATAGRAM as u64 && config.check().is_ok();
    fits.then_some(size).ok_or_else(|| {
        format!(
            "1200 to {MOST_IN_DATAGRAM} bytes are possible, which is what a datagram of UDP has over IPv4"
        )
    })
}

impl DatagramArgs {
    /// What every connection is told.
    pub(crate) fn config(self) -> Config {
        Config { initial_datagram_size: self.datagram, ..Config::default() }
    }
}

/// An endpoint at this address.
pub(crate) fn bind(
    address: SocketAddr,
    settings: EndpointSettings,
    datagrams: DatagramArgs,
) -> Result<(Engine, SocketAddr), Error> {
    let cannot = |error: std::io::Error| Error::bad(format!("cannot use UDP at {address}: {error}"));
    let mut socket = Socket::bind(address).map_err(cannot)?;
    if !datagrams.stamp_each {
        socket.join_datagrams();
    }
    let local = socket.local_addr().map_err(cannot)?;
    let endpoint = Endpoint::with_random(settings, keys::random()?).map_err(Error::bad)?;
    Ok((Engine::new(socket, Clock::new(), endpoint), local))
}

/// What is told where the interface takes no such datagrams: the protocol takes it for loss, and repeats what never leaves.
pub(crate) fn too_large(host: IpAddr, bytes: usize) -> String {
    let headers = if host.is_ipv4() { 28 } else { 48 };
    format!(
        "the interface towards {host} refuses datagrams of {bytes} bytes, and none of them leaves: its MTU is below {}; start again with \
         a --datagram that is {headers} bytes smaller than the MTU (1452 bytes fit most Ethernet)",
        bytes + headers
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_interface_refuses() {
        let why = too_large(Ipv4Addr::LOCALHOST.into(), 1473);
        assert!(
            why.contains("127.0.0.1 refuses datagrams of 1473 bytes") && why.contains("below 1501;"),
            "{why}"
        );
        assert!(too_large(Ipv6Addr::LOCALHOST.into(), 1453).contains("below 1501;"));
    }

    #[test]
    fn sizes_of_datagrams() {
        for right in ["1200 bytes", "9000 bytes", "65507 bytes"] {
            assert!(datagram(right).is_ok(), "{right}");
        }
        for wrong in ["1199 bytes", "65508 bytes", "65527 bytes"] {
            let why = datagram(wrong).unwrap_err();
            assert!(why.starts_with("1200 to 65507 bytes are possible"), "{wrong}: {why}");
        }
    }
}
