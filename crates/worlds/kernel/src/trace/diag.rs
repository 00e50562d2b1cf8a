//! inet_diag: the kernel tells the state of single TCP sockets, without privileges
//! (linux/inet_diag.h).
//!
//! Numbers are in the byte order of the machine, except for addresses and ports.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use bytemuck::Zeroable;
use rustix::io;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use scenario::trace::Inner;

use super::record::{TraceRecord, kind};
use crate::agent::monotonic;

/// Type of requests and answers (`SOCK_DIAG_BY_FAMILY`), and the types that end a list.
const BY_FAMILY: u16 = 20;
const DONE: u16 = 3;
const ERROR: u16 = 2;
const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;
const TCP: u8 = 6;
const INET: u8 = 2;
const INET6: u8 = 10;
/// Bits of the attributes in an answer: TCP_INFO, the block of the controller, its name.
const EXTENSIONS: u8 = 1 << 1 | 1 << 2 | 1 << 3;
const INFO: u16 = 2;
const VEGAS: u16 = 3;
const NAME: u16 = 4;
const DCTCP: u16 = 9;
const BBR: u16 = 16;
/// Bits of the states of connections: from SYN_SENT to CLOSING, without TIME_WAIT and LISTEN.
const CONNECTIONS: u32 = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;
/// Bytes of headers: a netlink message, `inet_diag_msg`, its part before the socket's identity.
const MESSAGE: usize = 16;
const ANSWER: usize = 72;
const BEFORE_ID: usize = 4;
/// Bytes of the identity: ports, addresses, interface, cookie.
const ID: usize = 48;
/// Gains of BBR are multiples of this.
const BBR_UNIT: f64 = 256.0;

/// A socket, as inet_diag finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) family: u8,
    pub(super) id: [u8; ID],
    pub(super) inode: u32,
}

impl Found {
    pub(super) fn cookie(&self) -> u64 {
        double(&self.id, ID - 8).unwrap_or(0)
    }
}

/// State of a connection at one time.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The sample as a record of [`kind::POLLED`].
    pub record: TraceRecord,
    /// The controller's own variables, if the kernel sends them.
    pub inner: Inner,
    /// Whether data was sent.
    pub is_sender: bool,
}

/// Connection to inet_diag of this network namespace.
#[derive(Debug)]
pub struct Diag {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl Diag {
    /// Opens a connection.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn open() -> io::Result<Self> {
        let protocol = Some(netlink::SOCK_DIAG);
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
        Ok(Self { socket, buffer: vec![0; 1 << 16] })
    }

    /// Returns the state of the connection of a record. Returns `None` if it is gone.
    pub fn sample(&mut self, record: &TraceRecord) -> Option<Sample> {
        let [local, peer] = record.addresses();
        let mut id = [0; ID];
        for (at, address) in [(0, local), (2, peer)] {
            id[at..at + 2].copy_from_slice(&address.port().to_be_bytes());
            let ip = 4 + at * 8;
            match address.ip() {
                IpAddr::V4(v4) => id[ip..ip + 4].copy_from_slice(&v4.octets()),
                IpAddr::V6(v6) => id[ip..ip + 16].copy_from_slice(&v6.octets()),
            }
        }
        id[40..].copy_from_slice(&record.cookie.to_ne_bytes());
        let family = if local.is_ipv4() { INET } else { INET6 };
        self.look(&Found { family, id, inode: 0 })
    }

    /// Returns the state of a socket.
    pub(super) fn look(&mut self, found: &Found) -> Option<Sample> {
        self.request(found.family, REQUEST, &found.id).ok()?;
        let (_, length) = recv(&self.socket, &mut self.buffer[..], RecvFlags::empty()).ok()?;
        let (kind, body, _) = split(self.buffer.get(..length)?)?;
        if kind == BY_FAMILY { sample(body) } else { None }
    }

    /// Lists the connections of this network namespace.
    pub(super) fn list(&mut self) -> io::Result<Vec<Found>> {
        let mut all = Vec::new();
        for family in [INET, INET6] {
            self.request(family, REQUEST | DUMP, &[0; ID])?;
            while self.take_list(&mut all)? {}
        }
        Ok(all)
    }

    /// Takes one datagram of a list. Returns false at the end.
    fn take_list(&mut self, all: &mut Vec<Found>) -> io::Result<bool> {
        let (_, length) = recv(&self.socket, &mut self.buffer[..], RecvFlags::empty())?;
        let mut rest = self.buffer.get(..length).unwrap_or_default();
        while let Some((kind, body, next)) = split(rest) {
            if kind == DONE || kind == ERROR {
                return Ok(false);
            }
            all.extend(found(body));
            rest = next;
        }
        Ok(length > 0)
    }

    fn request(&self, family: u8, flags: u16, id: &[u8; ID]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(MESSAGE + 8 + ID);
        bytes.extend(((MESSAGE + 8 + ID) as u32).to_ne_bytes());
        bytes.extend(BY_FAMILY.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend([family, TCP, EXTENSIONS, 0]);
        bytes.extend(CONNECTIONS.to_ne_bytes());
        bytes.extend(id);
        send(&self.socket, &bytes, SendFlags::empty()).map(drop)
    }
}

/// Splits the first message off a datagram: its type, its body, the rest.
fn split(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
    let kind = u16::from_ne_bytes([*bytes.get(4)?, *bytes.get(5)?]);
    let rest = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((kind, bytes.get(MESSAGE..length)?, rest))
}

fn found(body: &[u8]) -> Option<Found> {
    let id = *body.get(BEFORE_ID..)?.first_chunk()?;
    Some(Found { family: *body.first()?, id, inode: word(body, ANSWER - 4)? })
}

/// Returns the value of an attribute of an answer.
fn attribute(body: &[u8], wanted: u16) -> Option<&[u8]> {
    let mut rest = body.get(ANSWER..)?;
    loop {
        let length = usize::from(u16::from_ne_bytes(*rest.first_chunk()?));
        let value = rest.get(4..length)?;
        if u16::from_ne_bytes([*rest.get(2)?, *rest.get(3)?]) == wanted {
            return Some(value);
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn double(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn sample(body: &[u8]) -> Option<Sample> {
    let info = attribute(body, INFO)?;
    let w = |at| word(info, at);
    let mut record = TraceRecord {
        time_ns: monotonic(),
        cookie: double(body, BEFORE_ID + ID - 8)?,
        kind: kind::POLLED,
        state: *body.get(1)?,
        ca_state: *info.get(1)?,
        mss: w(16)?,
        packets_out: w(24)?,
        sacked_out: w(28)?,
        lost_out: w(32)?,
        retrans_out: w(36)?,
        srtt_us: w(68)?,
        rttvar_us: w(72)?,
        ssthresh: w(76)?,
        cwnd: w(80)?,
        total_retrans: w(100)?,
        lost: w(100)?,
        pacing_rate: double(info, 104)?,
        bytes_acked: double(info, 120)?,
        min_rtt_us: w(148)?,
        delivered: w(192)?,
        delivered_ce: w(196)?,
        ..TraceRecord::zeroed()
    };
    // Bits of options and of the byte with app_limited (linux/tcp.h).
    let (has_sack, is_app_limited) = (info.get(5)? & 2 != 0, info.get(7)? & 1 != 0);
    let name = attribute(body, NAME).unwrap_or_default();
    record.describe(addresses(body)?, name, has_sack, is_app_limited);
    Some(Sample { record, inner: inner(body), is_sender: w(156)? > 0 })
}

/// Returns the addresses of both ends.
fn addresses(body: &[u8]) -> Option<[SocketAddr; 2]> {
    let address = |port: usize, ip: usize| {
        let port = u16::from_be_bytes(*body.get(BEFORE_ID + port..)?.first_chunk()?);
        let ip = body.get(BEFORE_ID + ip..)?;
        let ip = match *body.first()? {
            INET => IpAddr::V4(Ipv4Addr::from(*ip.first_chunk::<4>()?)),
            _ => IpAddr::V6(Ipv6Addr::from(*ip.first_chunk::<16>()?)),
        };
        Some(SocketAddr::new(ip, port))
    };
    Some([address(0, 4)?, address(2, 20)?])
}

/// Returns the controller's own variables.
fn inner(body: &[u8]) -> Inner {
    let read = |bytes: &[u8], names: &[(&'static str, usize, f64)]| {
        let value =
            |&(name, at, unit): &(&'static str, usize, f64)| Some((name, f64::from(word(bytes, at)?) / unit));
        names.iter().filter_map(value).collect()
    };
    if let Some(bbr) = attribute(body, BBR) {
        let mut all: Inner =
            read(bbr, &[("min_rtt_us", 8, 1.0), ("pacing_gain", 12, BBR_UNIT), ("cwnd_gain", 16, BBR_UNIT)]);
        all.extend(double(bbr, 0).map(|bandwidth| ("bw", bandwidth as f64 * 8.0)));
        return all;
    }
    if let Some(vegas) = attribute(body, VEGAS) {
        return read(vegas, &[("rtt_count", 4, 1.0), ("rtt_us", 8, 1.0), ("base_rtt_us", 12, 1.0)]);
    }
    attribute(body, DCTCP).map_or_else(Vec::new, |dctcp| read(dctcp, &[("alpha", 4, 1024.0)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_answers_are_refused() {
        let mut body = vec![0; ANSWER];
        body[0] = INET;
        for (kind, length) in [(INFO, 232_usize), (BBR, 20), (NAME, 4)] {
            body.extend((length as u16 + 4).to_ne_bytes());
            body.extend(kind.to_ne_bytes());
            body.extend(vec![1; length]);
        }
        let whole = sample(&body).unwrap();
        assert_eq!((whole.record.cwnd, whole.inner.len()), (0x0101_0101, 4));
        for length in 0..ANSWER + 200 {
            assert!(sample(&body[..length]).is_none(), "{length}");
        }
        for length in [0_u8, 3, 255] {
            body[ANSWER] = length;
            body[ANSWER + 1] = 255;
            assert!(sample(&body).is_none());
            assert_eq!(split(&[length; 40]), None);
        }
    }

    /// A connection of this process, as TCP_INFO has it.
    #[test]
    fn finds_a_connection() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut diag = Diag::open().unwrap();
        let ports = [client.local_addr().unwrap().port(), client.peer_addr().unwrap().port()];
        let ports: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
        let all = diag.list().unwrap();
        let found = all.iter().find(|found| found.id[..4] == ports[..]).unwrap();
        let sample = diag.look(found).unwrap();
        assert_eq!(sample.record.addresses(), [client.local_addr().unwrap(), client.peer_addr().unwrap()]);
        assert_eq!((sample.record.cwnd, sample.is_sender), (10, false));
        assert_eq!(diag.sample(&sample.record).unwrap().record.cookie, sample.record.cookie);
        let other = TraceRecord { cookie: sample.record.cookie ^ 1, ..sample.record };
        assert!(diag.sample(&other).is_none(), "another socket");
    }
}
