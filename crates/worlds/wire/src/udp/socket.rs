//! A UDP socket with the metadata that QUIC needs of a datagram.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::utsname::uname;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, TransportErrorPayload, UdpSocketState};
use units::{Ecn, Time};

use crate::udp::clock::Clock;
use crate::udp::joined::{self, Header};

/// Largest UDP payload over IPv4, in bytes: 65 535 of the packet, less 20 of the IP header and 8 of
/// the UDP header. One send call takes this many, also for several datagrams. Over IPv6 it would
/// take 20 more.
pub const MAX_PAYLOAD: usize = 65_507;
/// Largest datagram that can arrive, in bytes.
const MOST: usize = 65_535;
/// Requested size of the kernel's buffers for a socket, in bytes: 40 ms at 800 Mbit/s.
const BUFFER: usize = 4 << 20;

/// A datagram to send, or several of equal length.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Destination.
    pub to: SocketAddr,
    /// Source address. `None` follows the routing table.
    pub from: Option<IpAddr>,
    /// ECN codepoint in the IP header.
    pub ecn: Ecn,
    /// Bytes of each datagram; the last one may be shorter. With `None` all bytes are one datagram.
    pub segment: Option<usize>,
    /// Payload.
    pub bytes: &'a [u8],
}

/// Result of sending.
#[derive(Debug)]
pub enum Sent {
    /// The kernel has accepted the datagrams.
    Yes,
    /// The socket is full and nothing was sent. [`wait`](crate::udp::wait) returns when there is room.
    Full,
    /// The datagrams count as lost: no route, a firewall, or larger than the path or the interface
    /// takes. A protocol with retransmissions continues.
    Lost(io::Error),
}

impl Sent {
    /// Reports whether the datagrams are too large for the interface.
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(self, Self::Lost(error) if error.raw_os_error() == Some(nix::libc::EMSGSIZE))
    }
}

/// A received datagram.
#[derive(Debug)]
pub struct Incoming<'a> {
    /// Source address.
    pub from: SocketAddr,
    /// Destination address, with the port of the socket.
    pub to: SocketAddr,
    /// ECN codepoint in the IP header.
    pub ecn: Ecn,
    /// Time at which the kernel received it, on this end's clock.
    pub arrived: Time,
    /// Payload.
    pub bytes: &'a mut [u8],
}

/// A socket that never blocks.
pub struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
    buffers: Vec<Vec<u8>>,
    /// Space for control messages, if the kernel coalesces datagrams.
    joins: Option<Vec<u8>>,
    /// Metadata of the buffers during delivery.
    headers: Vec<Header>,
    /// Time at which the socket was last found empty.
    looked: Time,
    /// Arrival of the newest datagram. The kernel delivers in order, so that none arrived earlier
    /// than the one before.
    newest: Time,
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket").field("local", &self.local).finish_non_exhaustive()
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}

impl Socket {
    /// Binds a socket to this address. Port 0 chooses a free port. `[::]` receives IPv4 too, unless
    /// `net.ipv6.bindv6only` is set.
    ///
    /// # Errors
    /// The error of the system call: the port is taken, or not allowed for this user.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::new(UdpSocket::bind(address)?)
    }

    /// Creates a socket from one that is already bound, for example in another network namespace.
    ///
    /// # Errors
    /// The error of a system call that enables receive timestamps, addresses or ECN.
    pub fn new(io: UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new((&io).into())?;
        // Off until somebody asks (`join_datagrams`). Where the kernel does not know the option it
        // does not join either.
        let _ = setsockopt(&io, sockopt::UdpGroSegment, &false);
        state.enable_transport_errors((&io).into())?;
        // As much as the kernel allows: beyond its bound with CAP_NET_ADMIN alone.
        let _ = setsockopt(&io, sockopt::RcvBufForce, &BUFFER)
            .or_else(|_| setsockopt(&io, sockopt::RcvBuf, &BUFFER));
        let _ = setsockopt(&io, sockopt::SndBuf, &BUFFER);
        let local = io.local_addr()?;
        let buffers = vec![vec![0; MOST]; BATCH_SIZE];
        Ok(Self {
            io,
            state,
            local,
            buffers,
            joins: None,
            headers: Vec::new(),
            looked: Time::ZERO,
            newest: Time::ZERO,
        })
    }

    /// Lets the kernel coalesce datagrams of one sender (GRO, generic receive offload). That takes
    /// far fewer calls. But coalesced datagrams share one timestamp, the arrival of the last one.
    /// So it is for bulk transfers, and measured runs do without. Returns whether it is enabled:
    /// Linux before 6.10 coalesced datagrams with and without CE, and lost all marks but one.
    pub fn join_datagrams(&mut self) -> bool {
        let joins = uname().is_ok_and(|system| joins_by_mark(&system.release().to_string_lossy()))
            && setsockopt(&self.io, sockopt::UdpGroSegment, &true).is_ok();
        self.joins = joins.then(joined::room);
        joins
    }

    /// Returns the local address.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// Returns the largest number of datagrams that the kernel segments from one call; 1 without
    /// segmentation.
    pub fn most_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Sends datagrams. A datagram that the network refuses is a loss and not an error.
    ///
    /// # Errors
    /// The socket can no longer be used.
    pub fn send(&self, outgoing: &Outgoing<'_>) -> io::Result<Sent> {
        let transmit = Transmit {
            destination: self.as_bound(outgoing.to),
            ecn: codepoint(outgoing.ecn),
            contents: outgoing.bytes,
            segment_size: outgoing.segment,
            src_ip: outgoing.from.map(|from| self.as_bound(SocketAddr::new(from, 0)).ip()),
        };
        match self.state.try_send((&self.io).into(), &transmit) {
            Ok(()) => Ok(Sent::Yes),
            Err(error) => self.refused(outgoing, error),
        }
    }

    fn refused(&self, outgoing: &Outgoing<'_>, error: io::Error) -> io::Result<Sent> {
        let is_gone = matches!(error.raw_os_error(), Some(nix::libc::EBADF | nix::libc::ENOTSOCK));
        match outgoing.segment {
            _ if error.kind() == io::ErrorKind::WouldBlock => Ok(Sent::Full),
            _ if is_gone => Err(error),
            // A driver that takes no bursts says so at the first one: from now on there are none.
            Some(segment) if outgoing.bytes.len() > segment && self.most_segments() == 1 => {
                self.send_each(outgoing, segment)
            }
            _ => Ok(Sent::Lost(error)),
        }
    }

    /// Sends datagrams one by one. After the kernel has accepted the first, the others are accepted
    /// or lost.
    fn send_each(&self, outgoing: &Outgoing<'_>, segment: usize) -> io::Result<Sent> {
        let mut fate = Sent::Yes;
        for (number, bytes) in outgoing.bytes.chunks(segment.max(1)).enumerate() {
            match self.send(&Outgoing { segment: None, bytes, ..*outgoing })? {
                Sent::Yes => {}
                Sent::Full if number == 0 => return Ok(Sent::Full),
                Sent::Full => fate = Sent::Lost(io::ErrorKind::WouldBlock.into()),
                lost @ Sent::Lost(_) => fate = lost,
            }
        }
        Ok(fate)
    }

    /// Delivers received datagrams until the socket is empty or one batch is full. Returns their
    /// number; zero if the socket is empty.
    ///
    /// # Errors
    /// The socket can no longer be used.
    pub fn receive(&mut self, clock: &Clock, deliver: &mut dyn FnMut(Incoming<'_>)) -> io::Result<usize> {
        let before = clock.now();
        let mut headers = std::mem::take(&mut self.headers);
        let outcome = self.fill(&mut headers);
        let reading = clock.read();
        let (mut count, port) = (0, self.local.port());
        for (header, buffer) in headers.iter().zip(&mut self.buffers) {
            let to = header.to.map_or(self.local, |ip| SocketAddr::new(ip.to_canonical(), port));
            let (from, ecn) = (canonical(header.from), mark(header.ecn));
            let arrived = reading.arrived(header.stamp, self.looked).max(self.newest);
            self.newest = arrived;
            let joined = &mut buffer[..header.length.min(MOST)];
            // An empty datagram counts, and is of no use to anybody.
            let parts = joined.chunks_mut(header.segment.max(1));
            count += parts.len().max(1);
            parts.for_each(|bytes| deliver(Incoming { from, to, ecn, arrived, bytes }));
        }
        if headers.len() < BATCH_SIZE {
            self.looked = before;
        }
        self.headers = headers;
        outcome.map(|()| count)
    }

    /// Fills the buffers, and `headers` with one entry for each.
    fn fill(&mut self, headers: &mut Vec<Header>) -> io::Result<()> {
        headers.clear();
        let outcome = match &mut self.joins {
            Some(room) => self.buffers.iter_mut().try_for_each(|buffer| {
                headers.push(joined::receive(&self.io, buffer, room)?);
                Ok(())
            }),
            None => receive_batch(&self.io, &self.state, &mut self.buffers, headers),
        };
        match outcome {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock || is_passing(&error) => Ok(()),
            outcome => outcome,
        }
    }

    /// Returns the next host that is reported as unreachable, or without a listener at the port, by
    /// an ICMP message. Anybody can send such a message, so it is only a hint.
    pub fn unreachable(&self) -> Option<IpAddr> {
        loop {
            let error = self.state.recv_transport_error((&self.io).into()).ok()??;
            if let (TransportErrorPayload::Unreachable, Some(address)) = (error.payload, error.addr) {
                return Some(address.ip().to_canonical());
            }
        }
    }

    /// Converts an address to the family of the socket: IPv4 to IPv4-mapped IPv6, or back.
    fn as_bound(&self, address: SocketAddr) -> SocketAddr {
        match (self.local, address) {
            (SocketAddr::V6(_), SocketAddr::V4(v4)) => {
                SocketAddr::V6(SocketAddrV6::new(v4.ip().to_ipv6_mapped(), v4.port(), 0, 0))
            }
            (SocketAddr::V4(_), SocketAddr::V6(v6)) => {
                v6.ip().to_ipv4_mapped().map_or(address, |ip| SocketAddr::new(ip.into(), v6.port()))
            }
            _ => address,
        }
    }
}

/// Reports whether this release of Linux does not coalesce datagrams with different ECN codepoints:
/// 6.10 and later.
fn joins_by_mark(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    let (major, minor): (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    (major, minor) >= (6, 10)
}

/// Receives one datagram into each buffer.
fn receive_batch(
    io: &UdpSocket,
    state: &UdpSocketState,
    buffers: &mut [Vec<u8>],
    headers: &mut Vec<Header>,
) -> io::Result<()> {
    let mut metas = [RecvMeta::default(); BATCH_SIZE];
    let mut slices: Vec<IoSliceMut<'_>> = buffers.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
    let received = state.recv(io.into(), &mut slices, &mut metas)?;
    headers.extend(metas.into_iter().take(received).map(|meta| Header {
        from: meta.addr,
        to: meta.dst_ip,
        ecn: meta.ecn.map_or(0, |codepoint| codepoint as u8),
        stamp: meta.timestamp,
        length: meta.len,
        segment: meta.stride,
    }));
    Ok(())
}

/// Reports whether an error does not concern a datagram in the buffer.
fn is_passing(error: &io::Error) -> bool {
    let of_network = [
        nix::libc::ECONNREFUSED,
        nix::libc::EHOSTUNREACH,
        nix::libc::ENETUNREACH,
        nix::libc::EMSGSIZE,
        nix::libc::EACCES,
        nix::libc::EPROTO,
        nix::libc::ENOPROTOOPT,
        nix::libc::EOPNOTSUPP,
        nix::libc::EHOSTDOWN,
    ];
    error.kind() == io::ErrorKind::Interrupted
        || error.raw_os_error().is_some_and(|errno| of_network.contains(&errno))
}

/// Converts an IPv4-mapped address to IPv4. An IPv6 address keeps its scope.
fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => SocketAddr::new(ip.into(), address.port()),
        IpAddr::V6(_) => address,
    }
}

fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

/// Converts the two ECN bits (RFC 3168 section 5).
fn mark(bits: u8) -> Ecn {
    match bits {
        0b10 => Ecn::Ect0,
        0b01 => Ecn::Ect1,
        0b11 => Ecn::Ce,
        _ => Ecn::NotEct,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::net::Ipv4Addr;
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use super::*;

    thread_local! {
        /// Calls of [`pausing_wall`] that do not pause; all later ones do.
        static UNTIL_PAUSE: Cell<i32> = const { Cell::new(0) };
    }

    /// Reads the wall clock after a pause.
    fn pausing_wall() -> Duration {
        let left = UNTIL_PAUSE.get();
        UNTIL_PAUSE.set(left - 1);
        if left <= 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// Datagrams arrive in the order in which they were sent, however long the thread pauses
    /// between its readings of the two clocks.
    #[test]
    fn arrivals_are_in_order() {
        let clock = Clock::with_wall(pausing_wall);
        let any = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        let (client, mut server) = (Socket::bind(any).unwrap(), Socket::bind(any).unwrap());
        let to = server.local_addr().unwrap();
        // The second batch is held up.
        UNTIL_PAUSE.set(1);
        for number in 0..2 * BATCH_SIZE as u8 {
            let outgoing = Outgoing { to, from: None, ecn: Ecn::NotEct, segment: None, bytes: &[number] };
            assert!(matches!(client.send(&outgoing).unwrap(), Sent::Yes));
        }
        let mut arrivals = Vec::new();
        while server.receive(&clock, &mut |incoming| arrivals.push(incoming.arrived)).unwrap() > 0 {}
        assert_eq!(arrivals.len(), 2 * BATCH_SIZE);
        assert!(arrivals.is_sorted(), "{arrivals:?}");
    }

    #[test]
    fn joined_where_marks_are_kept() {
        for release in ["6.10", "6.18.44-fc-v657", "6.10.0-rc1", "7.0.1"] {
            assert!(joins_by_mark(release), "{release}");
        }
        for release in ["6.9.12", "5.15.0-generic", "6.1", "6", "", "unknown"] {
            assert!(!joins_by_mark(release), "{release}");
        }
    }
}
