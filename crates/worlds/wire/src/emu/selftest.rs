//! Measures the emulator on this machine: rate and delay as the kernel of a receiver sees them.
//!
//! ```text
//! rate    (n - 1) * 8 * 1500 bytes / (last arrival - first), of a flood that keeps the queue filled
//! delay   arrival - sending - 8 * 1500 bytes / rate, of single packets that find the link empty
//! window  42 packets on their way at any time must carry 42 * 8 * 1500 bytes / RTT, RTT the median that they see
//! ```
//!
//! Arrivals are the kernel's receive timestamps (`SO_TIMESTAMPNS`). A packet is sent when the
//! system call starts. So the delay includes the way through both kernels, and its error is an
//! upper bound of the emulator's.

use std::io::{self, IoSliceMut};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use link::{Limit, LinkConfig};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::time::{ClockId, clock_gettime};
use units::{Bytes, Duration, Rate};

use crate::emu::error::Error;
use crate::emu::linux::privilege::real_time;
use crate::emu::relay::rig::{Config, Rig};
use crate::emu::relay::side::Side;
use crate::emu::validity::Audit;

/// Bytes of an IP packet and of its UDP payload.
const PACKET: u32 = 1500;
const PAYLOAD: usize = PACKET as usize - 28;
const PORT: u16 = 4242;
/// Index of the payload byte that requests an answer. The time is before it.
const ECHO: usize = 8;
/// Interval of single packets, after which a link of 10 Mbit/s is empty again.
const PROBE_EVERY: std::time::Duration = std::time::Duration::from_millis(2);
/// Interval of the flood's bursts, and its rate relative to that of the link.
const FLOOD_EVERY: std::time::Duration = std::time::Duration::from_millis(2);
const FLOOD_FACTOR: f64 = 1.2;
/// Start of the flood that does not count.
const WARM_UP: std::time::Duration = std::time::Duration::from_millis(500);
/// Most packets of one send call: what fits into a datagram before it is segmented (`UDP_SEGMENT`).
const SEGMENTS: usize = 40;
/// Receive buffer for the flood, in bytes.
const RECEIVE_BUFFER: usize = 64 << 20;

/// A rate and a delay, set and measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Configured rate.
    pub rate: Rate,
    /// Configured delay.
    pub delay: Duration,
    /// Measured rate, in bit/s.
    pub measured: f64,
    /// Packets that the rate is measured from.
    pub packets: u64,
    /// Median one-way delay, without transmission.
    pub delay_p50: Duration,
    /// 99th percentile of the one-way delay.
    pub delay_p99: Duration,
    /// Audit of the flood.
    pub flood: Audit,
    /// Audit of the single packets.
    pub probes: Audit,
}

impl Measurement {
    /// Returns the relative error of the rate.
    pub fn rate_error(&self) -> f64 {
        self.measured / self.rate.0 as f64 - 1.0
    }
}

/// Measures a link of this rate and one-way delay. Rate and delay are measured for `time` each.
///
/// # Errors
/// The error of the system call, or that no packet arrived.
pub fn measure(rate: Rate, delay: Duration, time: std::time::Duration) -> Result<Measurement, Error> {
    let Run { arrivals: single, audit: probes, .. } = run(rate, delay, time, probe, false)?;
    let Run { arrivals: stamps, audit: flood, .. } = run(rate, delay, time + WARM_UP, flood, false)?;
    let transmission = rate.time_for(PACKET.into());
    let mut delays: Vec<Duration> =
        single.iter().map(|a| Duration(a.at.saturating_sub(a.sent)) - transmission).collect();
    delays.sort_unstable();
    let at = |share: f64| delays.get(((delays.len() as f64 - 1.0) * share) as usize).copied();
    let (measured, packets) = rate_of(&stamps).ok_or_else(nothing)?;
    Ok(Measurement {
        rate,
        delay,
        measured,
        packets,
        delay_p50: at(0.5).ok_or_else(nothing)?,
        delay_p99: at(0.99).ok_or_else(nothing)?,
        flood,
        probes,
    })
}

/// Rate of the link of [`window`], which is never the bottleneck.
const WINDOW_RATE: Rate = Rate(100_000_000);
/// Packets in flight at any time.
pub const WINDOW: u32 = 42;

/// Measurement of a fixed window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Median round-trip time, including the answer.
    pub rtt: Duration,
    /// Measured rate, in bit/s.
    pub measured: f64,
    /// Rate of the closed form at this round-trip time, in bit/s.
    pub expected: f64,
}

/// Keeps [`WINDOW`] packets in flight through a link with this one-way delay.
///
/// # Errors
/// The error of the system call, or that no packet arrived.
pub fn window(delay: Duration, time: std::time::Duration) -> Result<Window, Error> {
    let Run { arrivals, mut rtts, .. } = run(WINDOW_RATE, delay, time + WARM_UP, keep_window, true)?;
    rtts.sort_unstable();
    let rtt = rtts.get(rtts.len() / 2).copied().ok_or_else(nothing)?;
    let expected = f64::from(WINDOW * PACKET) * 8.0 / rtt.as_secs_f64();
    Ok(Window { rtt, measured: rate_of(&arrivals).ok_or_else(nothing)?.0, expected })
}

fn nothing() -> Error {
    Error::new("no test packet arrived: is there a packet filter that covers new network namespaces?")
}

/// Times of a packet, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    sent: u64,
    at: u64,
}

/// Returns the rate on the wire, in bit/s, between the first arrival after the warm-up and the
/// last, and its packets.
fn rate_of(arrivals: &[Arrival]) -> Option<(f64, u64)> {
    let from = arrivals.first()?.at + WARM_UP.as_nanos() as u64;
    let first = arrivals.iter().position(|a| a.at >= from)?;
    let counted = &arrivals[first..];
    let span = counted.last()?.at.checked_sub(counted.first()?.at).filter(|&span| span > 0)?;
    let packets = counted.len() as u64 - 1;
    Some((packets as f64 * f64::from(PACKET) * 8e9 / span as f64, packets))
}

/// Sends for this long. Returns the round-trip times if there are answers.
type Send = fn(&UdpSocket, Rate, std::time::Duration) -> io::Result<Vec<Duration>>;

struct Run {
    arrivals: Vec<Arrival>,
    rtts: Vec<Duration>,
    audit: Audit,
}

/// Runs a link with this sender at the client's end and a receiver at the server's, which answers
/// if `answers` is set.
fn run(
    rate: Rate,
    delay: Duration,
    time: std::time::Duration,
    send: Send,
    answers: bool,
) -> Result<Run, Error> {
    let limit = Limit::Bytes(Bytes(rate.bytes_in(Duration::from_millis(50))));
    let rig = Rig::start(&Config::new(LinkConfig { delay, limit, ..LinkConfig::plain(rate) }))?;
    let sender = socket(&rig, Side::Client)?;
    let receiver = socket(&rig, Side::Server)?;
    for (socket, other) in [(&sender, Side::Server), (&receiver, Side::Client)] {
        let connected = socket.connect((other.ipv4(), PORT));
        connected.map_err(|e| Error::system("address the other end", e))?;
    }
    // Where it is not allowed, the usual size has to do; lost packets show in the rate.
    let _ = setsockopt(&receiver, sockopt::RcvBufForce, &RECEIVE_BUFFER);
    setsockopt(&receiver, sockopt::ReceiveTimestampns, &true)
        .map_err(|e| Error::system("enable receive timestamps", e))?;
    let over = AtomicBool::new(false);
    let done = thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            // Who answers must not be late; who takes a flood must not crowd out the emulator.
            if answers {
                real_time(1);
            }
            receive(&receiver, &over)
        });
        let sending = scope.spawn(|| send(&sender, rate, time));
        let sent = sending.join();
        // What is still queued and on its way.
        thread::sleep(std::time::Duration::from_nanos(delay.0) + std::time::Duration::from_millis(150));
        over.store(true, Ordering::Relaxed);
        let arrivals = receiving.join();
        let panicked = |_| Error::new("a thread of the self-test has panicked");
        let rtts = sent.map_err(panicked)?.map_err(|e| Error::system("send test packets", e))?;
        let arrivals = arrivals.map_err(panicked)?.map_err(|e| Error::system("receive test packets", e))?;
        Ok((rtts, arrivals))
    });
    let report = rig.stop()?;
    let (rtts, arrivals) = done?;
    Ok(Run { arrivals, rtts, audit: report.audit })
}

fn socket(rig: &Rig, side: Side) -> Result<UdpSocket, Error> {
    rig.namespace(side).run(|| {
        UdpSocket::bind((side.ipv4(), PORT)).map_err(|e| Error::system("open a socket in the namespace", e))
    })
}

fn now() -> io::Result<u64> {
    let now = clock_gettime(ClockId::CLOCK_REALTIME)?;
    Ok(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

/// Sends single packets that carry their time.
fn probe(socket: &UdpSocket, _: Rate, time: std::time::Duration) -> io::Result<Vec<Duration>> {
    // The sender's own lateness is not the link's.
    real_time(1);
    let mut payload = [0; PAYLOAD];
    let end = Instant::now() + time;
    while Instant::now() < end {
        payload[..ECHO].copy_from_slice(&now()?.to_be_bytes());
        socket.send(&payload)?;
        thread::sleep(PROBE_EVERY);
    }
    Ok(Vec::new())
}

/// Sends a packet for every answer.
fn keep_window(socket: &UdpSocket, _: Rate, time: std::time::Duration) -> io::Result<Vec<Duration>> {
    real_time(1);
    socket.set_read_timeout(Some(std::time::Duration::from_secs(1)))?;
    let mut payload = [0; PAYLOAD];
    payload[ECHO] = 1;
    let mut send = || -> io::Result<usize> {
        payload[..ECHO].copy_from_slice(&now()?.to_be_bytes());
        socket.send(&payload)
    };
    for _ in 0..WINDOW {
        send()?;
    }
    let mut rtts = Vec::new();
    let end = Instant::now() + time;
    while Instant::now() < end {
        let mut answer = [0; ECHO];
        socket.recv(&mut answer)?;
        rtts.push(Duration(now()?.saturating_sub(u64::from_be_bytes(answer))));
        send()?;
    }
    Ok(rtts)
}

/// Sends more than the link carries, in bursts that the kernel segments into packets.
fn flood(socket: &UdpSocket, rate: Rate, time: std::time::Duration) -> io::Result<Vec<Duration>> {
    setsockopt(socket, sockopt::UdpGsoSegment, &(PAYLOAD as i32))?;
    let payload = [0; PAYLOAD * SEGMENTS];
    let per_second = rate.0 as f64 / 8.0 / f64::from(PACKET) * FLOOD_FACTOR;
    let start = Instant::now();
    let mut sent = 0;
    while start.elapsed() < time {
        let target = (start.elapsed() + FLOOD_EVERY).as_secs_f64() * per_second;
        while sent < target as usize {
            let segments = (target as usize - sent).min(SEGMENTS);
            match socket.send(&payload[..segments * PAYLOAD]) {
                Ok(_) => {}
                // The device's queue is full: the link has enough to do.
                Err(e) if e.raw_os_error() == Some(nix::libc::ENOBUFS) => {}
                Err(e) => return Err(e),
            }
            sent += segments;
        }
        thread::sleep(FLOOD_EVERY);
    }
    Ok(Vec::new())
}

fn receive(socket: &UdpSocket, over: &AtomicBool) -> io::Result<Vec<Arrival>> {
    socket.set_read_timeout(Some(std::time::Duration::from_millis(50)))?;
    let mut arrivals = Vec::with_capacity(1 << 16);
    let mut payload = [0; PAYLOAD];
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    while !over.load(Ordering::Relaxed) {
        let mut buffers = [IoSliceMut::new(&mut payload)];
        let got = recvmsg::<()>(socket.as_raw_fd(), &mut buffers, Some(&mut control), MsgFlags::empty());
        let at = match got {
            Ok(message) => message.cmsgs()?.find_map(|c| match c {
                ControlMessageOwned::ScmTimestampns(at) => Some(at),
                _ => None,
            }),
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => continue,
            Err(e) => return Err(e.into()),
        };
        let Some(at) = at else { continue };
        let mut sent = [0; ECHO];
        sent.copy_from_slice(&payload[..ECHO]);
        if payload[ECHO] == 1 {
            socket.send(&sent)?;
        }
        arrivals.push(Arrival {
            sent: u64::from_be_bytes(sent),
            at: at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64,
        });
    }
    Ok(arrivals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_counts_gaps_not_packets() {
        let every = 1_200_000;
        let arrivals: Vec<Arrival> = (0..2000).map(|i| Arrival { sent: 0, at: 7 + i * every }).collect();
        let (rate, packets) = rate_of(&arrivals).unwrap();
        assert!((rate - 10e6).abs() < 1e-3 && packets < 2000 - 400, "{rate} {packets}");
        assert_eq!(rate_of(&arrivals[..2]), None);
        assert_eq!(rate_of(&[]), None);
    }
}
