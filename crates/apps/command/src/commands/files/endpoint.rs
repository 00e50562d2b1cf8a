//! Sockets for an endpoint on a real network.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};

use clap::Args;
use quic::config::Config;
use quic::endpoint::{Endpoint, EndpointSettings};
use transfer::Url;
use units::Bytes;
use wire::udp::{Clock, Engine, MAX_PAYLOAD, Socket};

use super::keys;
use crate::status::Error;

/// Size and timestamps of datagrams.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct DatagramArgs {
    /// Set the UDP payload size of the datagrams that this end sends, 1200 to 65507 bytes.
    ///
    /// The path is not probed for a larger size. Most Ethernet paths carry 1452 bytes.
    #[arg(long, value_name = "BYTES", default_value = "1200 bytes", value_parser = datagram)]
    pub(crate) datagram: Bytes,
    /// Take a receive timestamp for each datagram.
    ///
    /// Otherwise Linux 6.10 and later may deliver several datagrams together with one timestamp,
    /// which saves CPU time.
    #[arg(long)]
    pub(crate) stamp_each: bool,
}

fn datagram(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse()?;
    // Every QUIC path carries 1200 bytes (RFC 9000 section 14), so less is for experiments only.
    (1200..=MAX_PAYLOAD as u64)
        .contains(&size.0)
        .then_some(size)
        .ok_or_else(|| format!("must be 1200 to {MAX_PAYLOAD} bytes, the largest UDP payload over IPv4"))
}

impl DatagramArgs {
    /// Returns the configuration of every connection.
    pub(crate) fn config(self) -> Config {
        Config { initial_datagram_size: self.datagram, ..Config::default() }
    }
}

/// Creates an endpoint at this address. Returns the address that the socket got, too.
pub(crate) fn bind(
    address: SocketAddr,
    settings: EndpointSettings,
    datagrams: DatagramArgs,
) -> Result<(Engine, SocketAddr), Error> {
    let cannot = |error: std::io::Error| {
        let right = match error.kind() {
            ErrorKind::AddrNotAvailable => "; this machine must have the address (`ip address` lists all)",
            _ => "",
        };
        Error::bad(format!("cannot bind a UDP socket to {address}: {error}{right}"))
    };
    let mut socket = Socket::bind(address).map_err(cannot)?;
    if !datagrams.stamp_each {
        socket.join_datagrams();
    }
    let local = socket.local_addr().map_err(cannot)?;
    let endpoint = Endpoint::with_random(settings, keys::random()?).map_err(Error::bad)?;
    Ok((Engine::new(socket, Clock::new(), endpoint), local))
}

/// Returns the message for an interface that refuses datagrams of this size. Without it, the
/// protocol would take them for lost and send them again for ever.
pub(crate) fn too_large(host: IpAddr, bytes: usize) -> String {
    let headers = if host.is_ipv4() { 28 } else { 48 };
    format!(
        "the interface to {host} refuses datagrams of {bytes} bytes, because its MTU is below {}; restart with a --datagram that is \
         {headers} bytes smaller than the MTU (1452 bytes fit most Ethernet)",
        bytes + headers
    )
}

/// Resolves a host name. Returns its addresses in the order of the system. IPv4-mapped ones become
/// IPv4 addresses, because that is how their datagrams arrive.
pub(crate) fn resolve(url: &Url) -> Result<Vec<SocketAddr>, Error> {
    let found = (url.host.as_str(), url.port).to_socket_addrs();
    let found = found.map_err(|error| Error::bad(format!("cannot resolve {}: {error}", url.host)))?;
    let found: Vec<SocketAddr> = found.map(unmapped).collect();
    if found.is_empty() {
        return Err(Error::bad(format!("{} has no address", url.host)));
    }
    Ok(found)
}

fn unmapped(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => SocketAddr::new(ip.into(), address.port()),
        IpAddr::V6(_) => address,
    }
}

/// Returns the local address that the routing table selects for a remote one, with port 0.
pub(crate) fn towards(remote: SocketAddr) -> Result<SocketAddr, Error> {
    let any: IpAddr =
        if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let local = UdpSocket::bind((any, 0)).and_then(|socket| {
        // Connecting a UDP socket sends nothing.
        socket.connect(remote)?;
        socket.local_addr()
    });
    let local = local.map_err(|error| Error::bad(format!("no route to {remote}: {error}")))?;
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

    /// A mapped address is that of IPv4. Others keep their scope.
    #[test]
    fn mapped_addresses() {
        let url = |host: &str| Url::parse(&format!("https://{host}:4433/a")).unwrap();
        let found = |host: &str| resolve(&url(host)).unwrap_or_default();
        assert_eq!(found("[::ffff:127.0.0.1]"), found("127.0.0.1"));
        let scoped = std::net::SocketAddrV6::new("fe80::1".parse().unwrap(), 1, 0, 7);
        assert_eq!(unmapped(scoped.into()), scoped.into());
    }

    #[test]
    fn sizes_of_datagrams() {
        for right in ["1200 bytes", "9000 bytes", "65507 bytes"] {
            assert!(datagram(right).is_ok(), "{right}");
        }
        for wrong in ["1199 bytes", "65508 bytes", "65527 bytes"] {
            let why = datagram(wrong).unwrap_err();
            assert!(why.starts_with("must be 1200 to 65507 bytes"), "{wrong}: {why}");
        }
    }
}
