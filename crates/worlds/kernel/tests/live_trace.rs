//! Traces of connections over the loopback interface. Tracepoints need CAP_BPF and CAP_PERFMON;
//! without, the test says so. Polls need nothing.
#![cfg(all(target_os = "linux", feature = "load"))]
// Connections take real time.
#![allow(clippy::disallowed_methods)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

use ackclock_kernel::trace::{Diag, Flow, Poll, Probe, Sample, TraceRecord, kind};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, setsockopt, socket, sockopt};
use nix::time::{ClockId, clock_gettime};
use scenario::trace::{Event, Trace};

/// Returns the time of the kernel's clock, in ns.
fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

fn connect(controller: &str) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
    setsockopt(&client, sockopt::TcpCongestion, &controller.into()).unwrap();
    let port = listener.local_addr().unwrap().port();
    nix::sys::socket::connect(client.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, port)).unwrap();
    (TcpStream::from(client), listener.accept().unwrap().0)
}

/// Sends until the end, in small bursts, while the other end reads.
fn transfer(mut client: TcpStream, mut server: TcpStream, end: Instant) -> [thread::JoinHandle<()>; 2] {
    let sender = thread::spawn(move || {
        let chunk = vec![7; 1 << 17];
        while Instant::now() < end {
            client.write_all(&chunk).unwrap();
            thread::sleep(Duration::from_micros(300));
        }
    });
    let receiver = thread::spawn(move || {
        let mut chunk = vec![0; 1 << 16];
        while matches!(server.read(&mut chunk), Ok(1..)) {}
    });
    [sender, receiver]
}

/// Each sample of TCP_INFO whose call encloses no record has the window that the trace says. The
/// kernel records an ACK before it changes the window, so on a busy machine a sample can have the
/// window of the next record.
#[test]
fn the_window_of_a_trace_is_that_of_tcp_info() {
    for controller in ["reno", "bbr"] {
        let (client, server) = connect(controller);
        let addresses = [client.local_addr().unwrap(), client.peer_addr().unwrap()];
        let probe = match Probe::attach(addresses[1].port(), false) {
            Ok(probe) => probe,
            Err(why) => return eprintln!("skipped: {why}"),
        };
        let end = Instant::now() + Duration::from_millis(1500);
        let threads = transfer(client, server, end);
        let (mut diag, mut records, mut samples) = (Diag::open().unwrap(), Vec::new(), Vec::new());
        let is_ours = |record: &TraceRecord| record.addresses() == addresses;
        while Instant::now() < end {
            probe.read(&mut records).unwrap();
            if let Some(known) = records.iter().find(|record| is_ours(record)) {
                let before = monotonic();
                let sample = diag.sample(known).unwrap();
                samples.push((before, sample.record.time_ns, sample.record));
            }
            thread::sleep(Duration::from_micros(150));
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        thread::sleep(Duration::from_millis(50));
        probe.read(&mut records).unwrap();
        records.retain(is_ours);
        assert_eq!(records.last().unwrap().kind, kind::CLOSED);
        check(controller, &records, &samples, probe.lost_records());
    }
}

fn check(controller: &str, records: &[TraceRecord], samples: &[(u64, u64, TraceRecord)], lost: u64) {
    assert_eq!(records[0].algorithm(), controller);
    let mut trace = Trace::new();
    let mut flow = Flow::new(&records[0], &mut trace);
    records.iter().for_each(|record| flow.on_record(record, &mut trace));
    let windows = trace.iter().filter_map(|(at, event)| match event {
        Event::Metrics(metrics) => Some((at.0, metrics.cwnd)),
        _ => None,
    });
    let windows: Vec<(u64, u64)> = windows.collect();
    let (mut checked, mut differing) = (0_usize, Vec::new());
    for (before, after, sample) in samples {
        let encloses = records.iter().any(|record| (*before..=*after).contains(&record.time_ns));
        let at = windows.partition_point(|(time, _)| time <= before);
        if encloses || at == 0 {
            continue;
        }
        let window = u64::from(sample.cwnd) * u64::from(sample.mss);
        let said = &windows[at - 1..(at + 1).min(windows.len())];
        if !said.iter().any(|(_, said)| *said == window) {
            differing.push((checked, window, said));
        }
        checked += 1;
    }
    let last = records.last().unwrap();
    let summary = flow.summary();
    assert_eq!((summary.bytes, summary.retransmissions), (last.bytes_acked, last.total_retrans.into()));
    eprintln!("{controller}: {checked} of {} samples checked, {} records", samples.len(), records.len());
    let explained = lost as usize + checked.div_ceil(1000);
    assert!(differing.len() <= explained, "{controller}: {lost} records lost: {differing:?}");
    // A late machine checks fewer.
    assert!(checked > 0, "{controller}: {checked} of {}", samples.len());
}

/// Without privileges, the connections of this process are polled. Others are not seen.
#[test]
fn connections_of_a_process_are_polled() {
    let (client, server) = connect("reno");
    let addresses = [client.local_addr().unwrap(), client.peer_addr().unwrap()];
    let mut poll = Poll::open(std::process::id()).unwrap();
    let end = Instant::now() + Duration::from_millis(400);
    let threads = transfer(client, server, end);
    let mut samples: Vec<Sample> = Vec::new();
    while Instant::now() < end + Duration::from_millis(300) {
        poll.look();
        poll.read(&mut samples);
        thread::sleep(Duration::from_millis(10));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    samples.retain(|sample| sample.record.addresses() == addresses);
    // A late machine has few.
    assert!(samples.len() > 1, "{}", samples.len());
    assert_eq!(samples.last().unwrap().record.kind, kind::CLOSED);
    let mut trace = Trace::new();
    let mut flow = Flow::new(&samples[0].record, &mut trace);
    samples.iter().for_each(|sample| flow.on_record(&sample.record, &mut trace));
    assert!(flow.is_polled());
    assert!(flow.summary().bytes > 0 && flow.summary().min_rtt.is_some());
    assert_eq!(poll.cookies().len(), poll.cookies().iter().filter(|cookie| **cookie != 0).count());
}

#[test]
fn processes_that_cannot_be_traced() {
    let why = Poll::open(u32::MAX).err().map(|why| why.to_string());
    assert_eq!(why, Some(format!("no process has the number {}", u32::MAX)));
}
