//! A socket of UDP with all that QUIC wants to know of a datagram.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::utsname::uname;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, TransportErrorPayload, UdpSocketState};
use units::{Ecn, Time};

use crate::clock::Clock;
use crate::joined::{self, Header};

/// Bytes of a UDP payload over IPv4 at most: 65 535 of the packet less 20 of IP's header and 8 of UDP's. One send takes so many, also where they are
/// several datagrams; over IPv6 it would take 20 more.
pub const MOST_IN_DATAGRAM: usize = 65_507;
/// What may come at most, in bytes.
const MOST: usize = 65_535;
/// Bytes of the kernel's buffers for a socket, where it gives so many: 40 ms at 800 Mbit/s.
const BUFFER: usize = 4 << 20;

/// A datagram to be sent, or several of equal length.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Where to.
    pub to: SocketAddr,
    /// The address of this end that it is to come from; none: what the routing table says.
    pub from: Option<IpAddr>,
    /// The mark in the IP header.
    pub ecn: Ecn,
    /// So many bytes each are a datagram, the last one may be shorter; none: all of them are one.
    pub segment: Option<usize>,
    /// What is sent.
    pub bytes: &'a [u8],
}

/// What became of datagrams to be sent.
#[derive(Debug)]
pub enum Sent {
    /// The kernel has them.
    Yes,
    /// It has no room: nothing was sent, and [`wait`](crate::wait) tells when there is.
    Full,
    /// They will not arrive, as if lost on the way: no route, a firewall, larger than the path or the interface takes. A protocol with repeats
    /// goes on.
    Lost(io::Error),
}

impl Sent {
    /// Whether they are larger than the interface takes, each of them.
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(self, Self::Lost(error) if error.raw_os_error() == Some(nix::libc::EMSGSIZE))
    }
}

/// A datagram that has come.
#[derive(Debug)]
pub struct Incoming<'a> {
    /// From where.
    pub from: SocketAddr,
    /// To which address of this end, with the port of the socket.
    pub to: SocketAddr,
    /// The mark in its IP header.
    pub ecn: Ecn,
    /// When the kernel had it, by this end's clock.
    pub arrived: Time,
    /// The payload.
    pub bytes: &'a mut [u8],
}

/// A socket that never blocks.
pub struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
    buffers: Vec<Vec<u8>>,
    /// Room for control messages, if the kernel joins datagrams.
    joins: Option<Vec<u8>>,
    /// What is in the buffers, while it is handed over.
    headers: Vec<Header>,
    /// When it was found empty.
    looked: Time,
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
    /// At this address; port 0 is any. `[::]` takes IPv4 too, unless the system says otherwise (`net.ipv6.bindv6only`).
    ///
    /// # Errors
    /// What the system says: the port is taken, or not for this user.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::new(UdpSocket::bind(address)?)
    }

    /// Of a socket that is bound already, in another network namespace for one.
    ///
    /// # Errors
    /// What the system refuses of what is needed: receive times, addresses, ECN.
    pub fn new(io: UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new((&io).into())?;
        // Off until somebody asks (`join_datagrams`). Where the kernel does not know the option it does not join either.
        let _ = setsockopt(&io, sockopt::UdpGroSegment, &false);
        state.enable_transport_errors((&io).into())?;
        // As much as the kernel allows: beyond its bound with CAP_NET_ADMIN alone.
        let _ = setsockopt(&io, sockopt::RcvBufForce, &BUFFER)
            .or_else(|_| setsockopt(&io, sockopt::RcvBuf, &BUFFER));
        let _ = setsockopt(&io, sockopt::SndBuf, &BUFFER);
        let local = io.local_addr()?;
        let buffers = vec![vec![0; MOST]; BATCH_SIZE];
        Ok(Self { io, state, local, buffers, joins: None, headers: Vec::new(), looked: Time::ZERO })
    }

    /// Lets the kernel hand over datagrams of one sender joined (GRO, generic receive offload): many fewer calls, but datagrams that were joined have one
    /// stamp, of when the last of them came. For transfers in bulk; a measured run has a stamp for each. Whether it does: Linux does not
    /// before 6.10, where datagrams with and without a CE mark were joined and the mark of all but one was lost.
    pub fn join_datagrams(&mut self) -> bool {
        let joins = uname().is_ok_and(|system| joins_by_mark(&system.release().to_string_lossy()))
            && setsockopt(&self.io, sockopt::UdpGroSegment, &true).is_ok();
        self.joins = joins.then(joined::room);
        joins
    }

    /// Where it is bound.
    ///
    /// # Errors
    /// None but of the system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// How many datagrams of one call the kernel takes apart at most; 1 where it does not.
    pub fn most_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Sends. What the network refuses is a loss and no error.
    ///
    /// # Errors
    /// The socket is of no use any more.
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

    /// One after the other. Once the first is with the kernel, the others are, or are lost.
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

    /// Hands over what has come, until there is no more or one batch is full; how many datagrams that were. Zero: it is empty.
    ///
    /// # Errors
    /// The socket is of no use any more.
    pub fn receive(&mut self, clock: &Clock, deliver: &mut dyn FnMut(Incoming<'_>)) -> io::Result<usize> {
        let before = clock.now();
        let mut headers = std::mem::take(&mut self.headers);
        let outcome = self.fill(&mut headers);
        let reading = clock.read();
        let (mut count, port) = (0, self.local.port());
        for (header, buffer) in headers.iter().zip(&mut self.buffers) {
            let to = header.to.map_or(self.local, |ip| SocketAddr::new(ip.to_canonical(), port));
            let (from, ecn) = (canonical(header.from), mark(header.ecn));
            let arrived = reading.arrived(header.stamp, self.looked);
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

    /// Fills the buffers, and says what is in each. None: there is nothing.
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

    /// The next host that has said, or of which a router has said, that it cannot be reached or that nobody listens at the port (ICMP). Anybody
    /// can say so: a hint, no proof.
    pub fn unreachable(&self) -> Option<IpAddr> {
        loop {
            let error = self.state.recv_transport_error((&self.io).into()).ok()??;
            if let (TransportErrorPayload::Unreachable, Some(address)) = (error.payload, error.addr) {
                return Some(address.ip().to_canonical());
            }
        }
    }

    /// As a socket of IPv6 has addresses of IPv4.
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

/// Whether Linux of this release keeps datagrams of different marks apart when it joins them: 6.10 and later.
fn joins_by_mark(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    let (major, minor): (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    (major, minor) >= (6, 10)
}

/// One datagram in each buffer.
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

/// Errors that concern no datagram of the buffer.
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

/// IPv4 as such, also where a socket of IPv6 has it; an address of IPv6 keeps its scope.
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

/// The mark of these two bits (RFC 3168 section 5).
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
    use super::joins_by_mark;

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
