//! Origin of a packet: its time, its interface, and its two ends.

use std::net::SocketAddr;

use units::Time;

use super::ip;
use super::view::File;

/// Addresses and ports of two ends, the lower one first.
pub(super) type Path = (SocketAddr, SocketAddr);

/// Origin of a packet.
pub(super) struct Origin<'a> {
    pub(super) at: Option<Time>,
    pub(super) interface: u32,
    /// Device in a capture of all devices, otherwise 0.
    pub(super) device: u32,
    pub(super) is_loopback: bool,
    pub(super) name: Option<&'a str>,
    pub(super) file: &'a File,
}

impl Origin<'_> {
    /// Returns an addition to the name of a connection, if the file has several interfaces.
    pub(super) fn place(&self) -> String {
        let interface = self.name.map(|name| format!(", interface {name}")).unwrap_or_default();
        let device = match self.device {
            0 => String::new(),
            device => format!(", device {device}"),
        };
        interface + &device
    }
}

/// Returns the two ends of a segment or datagram, from its first four bytes.
pub(super) fn ends(packet: &ip::Packet<'_>) -> Option<Path> {
    let [a, b, c, d] = *packet.payload.first_chunk::<4>()?;
    let (source, destination) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    Some((SocketAddr::new(packet.source, source), SocketAddr::new(packet.destination, destination)))
}

/// Returns two ends in order.
pub(super) fn path(one: SocketAddr, other: SocketAddr) -> Path {
    if one <= other { (one, other) } else { (other, one) }
}

/// Returns the keys of the quarter with the smallest ages, so that many are removed at once.
pub(super) fn oldest<A: Ord, K>(all: impl Iterator<Item = (A, K)>) -> Vec<K> {
    let mut all: Vec<(A, K)> = all.collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    let keep = (all.len() / 4).max(1);
    all.into_iter().take(keep).map(|(_, key)| key).collect()
}
