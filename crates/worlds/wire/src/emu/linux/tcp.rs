//! The kernel's TCP between the two ends: connections with a chosen controller and segment size,
//! and their `TCP_INFO` (linux/tcp.h).
// The full `TCP_INFO` struct and receive timeouts have no safe wrapper.
#![allow(unsafe_code)]

use std::fs;
use std::io;
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect as connect_to, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeVal;

use crate::emu::error::Error;
use crate::emu::linux::netlink;
use crate::emu::linux::tun;
use crate::emu::relay::rig::Rig;
use crate::emu::relay::side::Side;

/// Connection timeout. The answer comes at once over an empty link, and after some retransmissions
/// over a lossy one.
const PATIENCE: TimeVal = TimeVal::new(15, 0);
/// Option bytes of TCP timestamps (RFC 7323) in every segment.
pub const TIMESTAMPS: u32 = 12;
/// Bytes of the headers of IPv4 and TCP with timestamps.
pub const HEADERS: u32 = 20 + 20 + TIMESTAMPS;
/// Routing metrics (linux/rtnetlink.h): the bits of the locked ones, the window, the initial
/// window, features.
const RTAX_LOCK: u16 = 1;
const RTAX_CWND: u16 = 7;
const RTAX_INITCWND: u16 = 11;
const RTAX_FEATURES: u16 = 12;
/// `RTAX_FEATURE_TCP_USEC_TS`, since Linux 6.7.
const FEATURE_USEC_TIMESTAMPS: u32 = 1 << 4;
/// Port of the connection that leaves a window in the kernel's cache.
const MEMORY_PORT: u16 = 6999;

/// Options of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The kernel's controller: `cubic`, `reno`, `bbr`.
    pub controller: String,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// The server's port.
    pub port: u16,
}

/// Both ends of a connection.
#[derive(Debug)]
pub struct Connection {
    /// The client's end.
    pub client: TcpStream,
    /// The server's end.
    pub server: TcpStream,
}

/// Returns what decides the kernel's TCP: its build, and the parameters of TCP, its controllers and
/// sockets.
pub fn settings() -> String {
    let list = |folder: &Path, begin: &str| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let wanted = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(begin));
        wanted.map(|entry| entry.path()).collect()
    };
    let modules = list(Path::new("/sys/module"), "tcp_");
    let mut files: Vec<_> = modules.iter().flat_map(|module| list(&module.join("parameters"), "")).collect();
    files.extend(list(Path::new("/proc/sys/net/ipv4"), "tcp_"));
    files.extend(list(Path::new("/proc/sys/net/core"), ""));
    files.sort();
    let read = |path: &PathBuf| fs::read_to_string(path).unwrap_or_default();
    let values = files.iter().map(|path| format!("{}: {}", path.display(), read(path).trim()));
    [read(&"/proc/version".into())].into_iter().chain(values).collect::<Vec<_>>().join("\n")
}

/// Sets TCP at both ends: whether it negotiates ECN, and whether connections pass what they have
/// learnt to later ones, as Linux does by default.
///
/// # Errors
/// The error of the system call.
pub fn configure(rig: &Rig, ecn: bool, learns: bool) -> Result<(), Error> {
    let on = |yes: bool| if yes { "1" } else { "0" };
    let settings = [("tcp_ecn", on(ecn)), ("tcp_no_metrics_save", on(!learns))];
    for side in [Side::Client, Side::Server] {
        rig.namespace(side).run(|| {
            settings.iter().try_for_each(|(name, value)| {
                fs::write(format!("/proc/sys/net/ipv4/{name}"), value)
                    .map_err(|e| Error::system(format_args!("set {name} of the {side}"), e))
            })
        })?;
    }
    Ok(())
}

/// Locks the window of every connection that the client opens from now on to this many segments.
/// `patience` is a few round-trip times.
///
/// The kernel takes a locked window from its cache of peers, not from the route. A peer enters that
/// cache when a connection to it ends. So this makes a connection and ends it.
///
/// # Errors
/// The error of the system call.
pub fn lock_window(rig: &Rig, segments: u32, patience: Duration) -> Result<(), Error> {
    let metrics = [(RTAX_LOCK, 1 << RTAX_CWND), (RTAX_CWND, segments), (RTAX_INITCWND, segments)];
    rig.namespace(Side::Client).run(|| {
        let added = add_route(Side::Server, &metrics);
        added.map_err(|e| Error::system("fix the window on the route", e))
    })?;
    configure(rig, false, true)?;
    drop(open_both(rig, &Options { controller: "reno".to_owned(), mss: 1000, port: MEMORY_PORT })?);
    thread::sleep(patience);
    Ok(())
}

/// Makes the timestamps of all connections from now on count microseconds instead of milliseconds.
///
/// # Errors
/// The error of the system call. Linux before 6.7 refuses it.
pub fn count_microseconds(rig: &Rig) -> Result<(), Error> {
    for (side, peer) in [(Side::Client, Side::Server), (Side::Server, Side::Client)] {
        rig.namespace(side).run(|| {
            let added = add_route(peer, &[(RTAX_FEATURES, FEATURE_USEC_TIMESTAMPS)]);
            added.map_err(|e| Error::system("let timestamps of TCP count microseconds", e))
        })?;
    }
    Ok(())
}

/// Adds a route with these metrics: `ip route add 10.64.0.2 dev ack0 cwnd lock N initcwnd N`.
fn add_route(to: Side, of_route: &[(u16, u32)]) -> io::Result<()> {
    let mut metrics = Vec::new();
    for (kind, value) in of_route {
        netlink::push_attribute(&mut metrics, *kind, &value.to_ne_bytes());
    }
    // struct rtmsg: family, lengths of destination and source, TOS, table, protocol, scope, type;
    // then flags.
    let header = [
        libc::AF_INET as u8,
        32,
        0,
        0,
        libc::RT_TABLE_MAIN,
        libc::RTPROT_STATIC,
        libc::RT_SCOPE_LINK,
        libc::RTN_UNICAST,
        0,
        0,
        0,
        0,
    ];
    let index = nix::net::if_::if_nametoindex(tun::NAME)?;
    netlink::Request::new(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, &header)
        .with(libc::RTA_DST, &to.ipv4().octets())
        .with(libc::RTA_OIF, &index.to_ne_bytes())
        .with(libc::RTA_METRICS, &metrics)
        .send()
}

/// Connects the client to the server. When the sockets are closed, the connection is reset.
///
/// # Errors
/// The error of the system call: a controller that the kernel does not have, or no answer.
pub fn connect(rig: &Rig, options: &Options) -> Result<Connection, Error> {
    let connection = open_both(rig, options)?;
    reset_on_close(&connection.client)?;
    reset_on_close(&connection.server)?;
    Ok(connection)
}

fn open_both(rig: &Rig, options: &Options) -> Result<Connection, Error> {
    let address = SocketAddrV4::new(Side::Server.ipv4(), options.port);
    let listener = rig.namespace(Side::Server).run(|| {
        let listener =
            TcpListener::bind(address).map_err(|e| Error::system(format_args!("listen at {address}"), e))?;
        setsockopt(&listener, sockopt::ReceiveTimeout, &PATIENCE)
            .map_err(|e| Error::system("limit the wait for a connection", e))?;
        Ok(listener)
    })?;
    let client = rig.namespace(Side::Client).run(|| open(options, address))?;
    let (server, _) = listener.accept().map_err(|_| no_answer())?;
    // The accepted socket inherits the listener's timeout, but must survive any silence.
    setsockopt(&server, sockopt::ReceiveTimeout, &TimeVal::new(0, 0))
        .map_err(|e| Error::system("wait without limit", e))?;
    Ok(Connection { client, server })
}

fn no_answer() -> Error {
    Error::new(format!(
        "no connection through the link within {} s: does it lose every packet?",
        PATIENCE.tv_sec()
    ))
}

fn open(options: &Options, address: SocketAddrV4) -> Result<TcpStream, Error> {
    let wrong = |tried: &'static str| move |e: Errno| Error::system(tried, e);
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket =
        socket(AddressFamily::Inet, SockType::Stream, flags, None).map_err(wrong("open a socket"))?;
    let name = options.controller.clone().into();
    setsockopt(&socket, sockopt::TcpCongestion, &name).map_err(|e| no_controller(&options.controller, e))?;
    // The option includes the timestamps in the segment size.
    setsockopt(&socket, sockopt::TcpMaxSeg, &(options.mss + TIMESTAMPS))
        .map_err(wrong("set the segment size"))?;
    let own = SockaddrIn::from(SocketAddrV4::new(Side::Client.ipv4(), 0));
    bind(socket.as_raw_fd(), &own).map_err(wrong("bind a socket"))?;
    setsockopt(&socket, sockopt::SendTimeout, &PATIENCE).map_err(wrong("limit the wait for a connection"))?;
    connect_to(socket.as_raw_fd(), &SockaddrIn::from(address)).map_err(|_| no_answer())?;
    setsockopt(&socket, sockopt::SendTimeout, &TimeVal::new(0, 0)).map_err(wrong("wait without limit"))?;
    Ok(TcpStream::from(socket))
}

fn no_controller(name: &str, error: Errno) -> Error {
    match error {
        Errno::ENOENT => Error::new(format!(
            "this kernel has no TCP controller `{name}`; load it with `sudo modprobe tcp_{name}`, or use one of {}",
            controllers().join(", ")
        )),
        error => Error::system(format_args!("choose the TCP controller `{name}`"), error),
    }
}

/// Returns the TCP controllers that the kernel has loaded.
pub fn controllers() -> Vec<String> {
    let list = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    list.split_whitespace().map(str::to_owned).collect()
}

/// Lets a closed socket vanish: unsent data is dropped, and the peer gets a reset. The kernel would
/// otherwise keep the socket, its controller and its namespace for minutes after this process was
/// killed, because no acknowledgement can arrive any more.
fn reset_on_close(stream: &TcpStream) -> Result<(), Error> {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    setsockopt(&stream, sockopt::Linger, &linger)
        .map_err(|e| Error::system("drop unsent data when a socket is closed", e))
}

/// Ends a connection at once. When the last reference to it is gone, unsent data is dropped.
pub fn abort(stream: &TcpStream) {
    // Fails only where the connection has ended already.
    let _ = stream.shutdown(std::net::Shutdown::Both);
}

/// Returns the number that the kernel's tracepoints give a socket (`SO_COOKIE`).
///
/// # Errors
/// The error of the system call.
#[cfg(feature = "kernel")]
pub fn cookie(stream: &TcpStream) -> io::Result<u64> {
    Ok(rustix::net::sockopt::socket_cookie(stream)?)
}

/// State of the kernel's loss recovery (`tcp_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaState {
    /// No sign of loss.
    #[default]
    Open,
    /// Duplicate acknowledgements, or SACK blocks, but no loss yet.
    Disorder,
    /// The window goes down for ECN.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// State of a connection, from the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// State of loss recovery.
    pub state: CaState,
    /// True if its timestamps count microseconds.
    pub usec_timestamps: bool,
    /// Segments sent and not acknowledged, with those declared lost and those in SACK blocks.
    pub unacked: u32,
    /// Segments in SACK blocks.
    pub sacked: u32,
    /// Segments declared lost.
    pub lost: u32,
    /// Retransmitted segments in flight.
    pub retrans: u32,
    /// Payload of a segment, bytes.
    pub snd_mss: u32,
    /// Smoothed RTT.
    pub smoothed_rtt: Duration,
    /// RTT variation.
    pub rttvar: Duration,
    /// Minimum RTT.
    pub min_rtt: Duration,
    /// Slow start threshold, segments; `None`: infinite.
    pub ssthresh: Option<u32>,
    /// Congestion window, in segments.
    pub cwnd: u32,
    /// Retransmitted segments since the start.
    pub total_retrans: u32,
    /// Pacing rate, in bytes per second; `None` without pacing.
    pub pacing_rate: Option<u64>,
    /// Time with something to send, since the start.
    pub busy: Duration,
    /// Part of the busy time that was limited by the receiver's window.
    pub rwnd_limited: Duration,
    /// Part of the busy time that was limited by the send buffer.
    pub sndbuf_limited: Duration,
    /// Segments delivered with a CE mark, since the start.
    pub delivered_ce: u32,
}

/// Bytes of `struct tcp_info` that are read. An older kernel gives fewer, and the rest is zero.
const LENGTH: usize = 200;
/// `TCPI_OPT_USEC_TS` of `tcpi_options`.
const USEC_TIMESTAMPS: u8 = 1 << 6;
/// `TCP_INFINITE_SSTHRESH`.
const INFINITE: u32 = 0x7fff_ffff;

impl Info {
    /// Reads the current state of a connection.
    ///
    /// # Errors
    /// The system's error for a socket that is not TCP.
    pub fn read(stream: &TcpStream) -> io::Result<Self> {
        let mut bytes = [0_u8; LENGTH];
        let mut length = LENGTH as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes, which is the buffer's size, and the new
        // length.
        let done = unsafe {
            libc::getsockopt(
                stream.as_fd().as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                bytes.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if done == 0 { Ok(Self::parse(&bytes)) } else { Err(io::Error::last_os_error()) }
    }

    /// Parses the struct by the offsets of linux/tcp.h, which only grows at its end.
    fn parse(bytes: &[u8; LENGTH]) -> Self {
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let double = |at: usize| {
            let mut eight = [0; 8];
            eight.copy_from_slice(&bytes[at..at + 8]);
            u64::from_ne_bytes(eight)
        };
        let us = |micros: u64| Duration::from_micros(micros);
        let state = match bytes[1] {
            0 => CaState::Open,
            1 => CaState::Disorder,
            2 => CaState::Cwr,
            3 => CaState::Recovery,
            _ => CaState::Loss,
        };
        Self {
            state,
            usec_timestamps: bytes[5] & USEC_TIMESTAMPS != 0,
            snd_mss: word(16),
            unacked: word(24),
            sacked: word(28),
            lost: word(32),
            retrans: word(36),
            smoothed_rtt: us(word(68).into()),
            rttvar: us(word(72).into()),
            ssthresh: Some(word(76)).filter(|&s| s < INFINITE),
            cwnd: word(80),
            total_retrans: word(100),
            pacing_rate: Some(double(104)).filter(|&rate| rate < u64::MAX),
            min_rtt: us(word(148).into()),
            busy: us(double(168)),
            rwnd_limited: us(double(176)),
            sndbuf_limited: us(double(184)),
            delivered_ce: word(196),
        }
    }

    /// Returns the segments in flight, as the kernel counts them against the window.
    pub fn in_flight(&self) -> u32 {
        (self.unacked + self.retrans).saturating_sub(self.sacked + self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The settings are those of this kernel, and the same when nothing changes.
    #[test]
    fn settings_of_this_kernel() {
        let all = settings();
        let ecn = fs::read_to_string("/proc/sys/net/ipv4/tcp_ecn").unwrap();
        assert!(all.starts_with("Linux version "), "{all}");
        assert!(all.contains(&format!("/proc/sys/net/ipv4/tcp_ecn: {}\n", ecn.trim())), "{all}");
        assert_eq!(all, settings());
    }

    #[test]
    fn reads_the_kernels_numbers() {
        let mut bytes = [0; LENGTH];
        bytes[1] = 3;
        for (at, value) in [
            (16, 1448_u32),
            (24, 30),
            (28, 5),
            (32, 2),
            (36, 1),
            (68, 50_123),
            (76, INFINITE),
            (80, 42),
            (148, 50_000),
        ] {
            bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        bytes[104..112].copy_from_slice(&u64::MAX.to_ne_bytes());
        bytes[168..176].copy_from_slice(&7_u64.to_ne_bytes());
        let info = Info::parse(&bytes);
        assert_eq!((info.state, info.cwnd, info.snd_mss, info.ssthresh), (CaState::Recovery, 42, 1448, None));
        assert_eq!((info.in_flight(), info.pacing_rate), (24, None));
        assert_eq!(info.smoothed_rtt, Duration::from_micros(50_123));
        assert_eq!((info.min_rtt, info.busy), (Duration::from_millis(50), Duration::from_micros(7)));
        bytes[76..80].copy_from_slice(&21_u32.to_ne_bytes());
        assert_eq!(Info::parse(&bytes).ssthresh, Some(21));
    }

    /// The offsets fit the running kernel, for a connection over the loopback interface.
    #[test]
    fn fits_this_kernel() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let info = Info::read(&client).unwrap();
        assert_eq!((info.state, info.cwnd, info.ssthresh, info.total_retrans), (CaState::Open, 10, None, 0));
        assert!(info.snd_mss >= 536 && info.smoothed_rtt > Duration::ZERO);
    }
}
