//! The emulator on this machine. Where privileges are missing, a test says that it is skipped and
//! why.
//!
//! Every run is checked for what does not depend on time, and for what cannot happen too early: a
//! packet is never before its time, a rate never above its own. How late a packet may be, only a
//! valid run can tell (`ackclock_wire::emu::testing::timing`).
#![cfg(target_os = "linux")]
// The emulator runs in real time.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use ackclock_wire::emu::capture::log::Files;
use ackclock_wire::emu::child::{Child, Signal, code};
use ackclock_wire::emu::selftest::{Measurement, measure};
use ackclock_wire::emu::testing::{skipped, timing, turn};
use ackclock_wire::emu::{Config, Error, Identity, Report, Rig, Side, SideReport, tcp};
use link::aqm::{Aqm, Threshold, red};
use link::{Limit, LinkConfig};
use nix::sys::socket::{setsockopt, sockopt};
use units::{Bytes, Rate};

const PORT: u16 = 4000;

/// Timeout that is long enough on any machine.
const LONG: Duration = Duration::from_secs(60);
/// Silence after which nothing more arrives, once the emulator holds no packet.
const SILENCE: Duration = Duration::from_millis(300);

fn ms(ms: u64) -> units::Duration {
    units::Duration::from_millis(ms)
}

fn link(mbit_s: u64, delay: u64, limit: Limit) -> LinkConfig {
    LinkConfig { delay: ms(delay), limit, ..LinkConfig::plain(Rate(mbit_s * 1_000_000)) }
}

fn socket(rig: &Rig, side: Side, address: IpAddr) -> UdpSocket {
    let open = || UdpSocket::bind((address, PORT)).map_err(|e| Error::new(e.to_string()));
    let socket = rig.namespace(side).run(open).unwrap();
    // Enough for every packet of a test.
    setsockopt(&socket, sockopt::RcvBufForce, &(16 << 20)).unwrap();
    socket.set_read_timeout(Some(LONG)).unwrap();
    socket
}

fn pair(rig: &Rig) -> (UdpSocket, UdpSocket) {
    let [client, server] = [Side::Client, Side::Server].map(|side| socket(rig, side, side.ipv4().into()));
    client.connect((Side::Server.ipv4(), PORT)).unwrap();
    (client, server)
}

/// Sends datagrams that make packets of 1500 bytes, no faster than the device's queue takes them.
fn send(socket: &UdpSocket, packets: usize) {
    for _ in 0..packets {
        socket.send(&[7; 1472]).unwrap();
    }
}

/// Counts the datagrams that arrive of `sent` packets of the client. Waits until the emulator holds
/// none of them, and then for silence.
fn receive(rig: &Rig, socket: &UdpSocket, sent: u64) -> usize {
    let mut buffer = [0; 2000];
    collect(rig, sent, || socket.recv(&mut buffer).ok(), socket).len()
}

/// Collects what `next` receives, as [`receive`] does.
fn collect<T>(rig: &Rig, sent: u64, mut next: impl FnMut() -> Option<T>, socket: &UdpSocket) -> Vec<T> {
    socket.set_read_timeout(Some(SILENCE)).unwrap();
    let (mut all, until) = (Vec::new(), Instant::now() + LONG);
    while Instant::now() < until {
        // Read before the wait: the packets that it counts as delivered can be received then.
        let SideReport { backlog, counters } = rig.snapshot().sides[0];
        let gone = counters.delivered.packets + counters.dropped().packets;
        let is_over = counters.pushed.packets >= sent
            && gone >= counters.pushed.packets + counters.duplicated.packets
            && backlog.packets == 0;
        match next() {
            Some(one) => all.push(one),
            None if is_over => break,
            None => {}
        }
    }
    socket.set_read_timeout(Some(LONG)).unwrap();
    all
}

fn rows(file: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(file).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

fn hidden(report: &Report) -> u64 {
    let drops = report.audit.hidden.iter().map(|h| h.unwrap());
    drops.map(|h| h.to_emulator + h.from_emulator).sum::<u64>() + report.audit.anomalies.refused
}

#[test]
fn what_is_sent_arrives_or_is_logged_as_dropped() {
    let Some(_turn) = turn("what_is_sent_arrives_or_is_logged_as_dropped") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.csv");
    let mut config = Config::new(link(20, 5, Limit::Packets(30)));
    config.log = Files { csv: Some(file.clone()), pcap: None, ..Files::default() };
    let rig = Rig::start(&config).unwrap();
    let (client, server) = pair(&rig);
    send(&client, 500);
    let received = receive(&rig, &server, 500) as u64;
    let report = rig.stop().unwrap();
    let counters = report.last.sides[0].counters;
    assert_eq!((counters.pushed.packets, counters.delivered.packets), (500, received));
    assert_eq!(counters.dropped_full.packets, 500 - received);
    assert!(received < 500, "a burst of 500 overflows a queue of 30");
    assert_eq!((hidden(&report), report.audit.log.clone().unwrap().lost), (0, 0));

    let rows = rows(&file);
    let fate = |word: &str| rows.iter().filter(|row| row[6] == word).count() as u64;
    assert_eq!((fate("delivered"), fate("queue-full")), (received, 500 - received));
    // 1500 bytes at 20 Mbit/s take 600 us: never less between two departures, never less than that
    // and 5 ms on the way.
    let number = |row: &[String], i: usize| row[i].parse::<u64>().unwrap();
    let delivered: Vec<_> = rows.iter().filter(|row| row[6] == "delivered").collect();
    assert!(delivered.iter().all(|row| number(row, 7) >= number(row, 4) + 5_000_000));
    assert!(delivered.windows(2).all(|two| number(two[1], 4) - number(two[0], 4) >= 600_000));
    // 30 wait, and one is being transmitted.
    assert!(delivered.iter().all(|row| number(row, 5) <= 31 * 600_000), "30 packets are the longest queue");
}

/// A duplicated packet arrives twice and has one row. The kernel drops a damaged packet, and its
/// row says so.
#[test]
fn copies_and_damage() {
    let Some(_turn) = turn("copies_and_damage") else { return };
    for (corrupt, duplicate, received, fate) in [(0.0, 1.0, 80, "delivered"), (1.0, 0.0, 0, "damaged")] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log.csv");
        let mut config = Config::new(LinkConfig { corrupt, duplicate, ..link(20, 5, Limit::Unlimited) });
        config.log = Files { csv: Some(file.clone()), pcap: None, ..Files::default() };
        let rig = Rig::start(&config).unwrap();
        let (client, server) = pair(&rig);
        send(&client, 40);
        assert_eq!(receive(&rig, &server, 40), received, "{fate}");
        let report = rig.stop().unwrap();
        let counters = report.last.sides[0].counters;
        assert_eq!(
            (counters.pushed.packets, counters.delivered.packets),
            (40, 40 + counters.duplicated.packets)
        );
        let rows = rows(&file);
        assert_eq!(rows.iter().filter(|row| row[6] == fate).count(), 40);
    }
}

/// Every ECN-capable packet that leaves above the threshold is marked; all four codepoints survive
/// otherwise.
fn marks(ipv6: bool) {
    let aqm = Aqm::Red(red::Params::mark_above(Threshold::OfLimit(0.1)));
    // 300 packets take 0.7 s, so that no pause of the sender keeps the queue short.
    let config = Config::new(LinkConfig { aqm, ..link(5, 1, Limit::Packets(400)) });
    let rig = Rig::start(&config).unwrap();
    let address = |side: Side| if ipv6 { IpAddr::from(side.ipv6()) } else { side.ipv4().into() };
    let [client, server] = [Side::Client, Side::Server].map(|side| socket(&rig, side, address(side)));
    client.connect(SocketAddr::new(address(Side::Server), PORT)).unwrap();
    let set = |bits: i32| match ipv6 {
        true => setsockopt(&client, sockopt::Ipv6TClass, &bits).unwrap(),
        false => setsockopt(&client, sockopt::Ipv4Tos, &bits).unwrap(),
    };
    match ipv6 {
        true => setsockopt(&server, sockopt::Ipv6RecvTClass, &true).unwrap(),
        false => setsockopt(&server, sockopt::IpRecvTos, &true).unwrap(),
    }
    for codepoint in [0, 1, 2, 3] {
        set(codepoint);
        client.send(&[1; 100]).unwrap();
        assert_eq!(next_codepoint(&server), Some(codepoint as u8), "unchanged in an empty queue");
    }
    set(2);
    for _ in 0..300 {
        client.send(&[7; 1400]).unwrap();
    }
    let seen = collect(&rig, 304, || next_codepoint(&server), &server);
    let report = rig.stop().unwrap();
    let counters = report.last.sides[0].counters;
    let marked = seen.iter().filter(|&&c| c == 3).count() as u64;
    assert_eq!((seen.len() as u64, counters.dropped().packets), (300, 0), "marks, no drops");
    // The number depends on when the sender runs: the counter and the receiver must agree on it.
    assert!(marked > 0 && marked < 300, "{marked}");
    assert_eq!(counters.marked.packets, marked);
}

/// Codepoint of the next datagram. The kernel takes only datagrams whose checksums are right.
fn next_codepoint(socket: &UdpSocket) -> Option<u8> {
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
    use std::os::fd::AsRawFd;
    let mut buffer = [0; 2000];
    let mut control = nix::cmsg_space!(i32);
    let mut into = [std::io::IoSliceMut::new(&mut buffer)];
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut into, Some(&mut control), MsgFlags::empty()).ok()?;
    message.cmsgs().unwrap().find_map(|c| match c {
        ControlMessageOwned::Ipv4Tos(tos) => Some(tos & 3),
        ControlMessageOwned::Ipv6TClass(class) => Some((class & 3) as u8),
        _ => None,
    })
}

#[test]
fn ecn_marks_arrive_and_are_counted() {
    let Some(_turn) = turn("ecn_marks_arrive_and_are_counted") else { return };
    marks(false);
}

#[test]
fn ecn_marks_arrive_over_ipv6_too() {
    let Some(_turn) = turn("ecn_marks_arrive_over_ipv6_too") else { return };
    if UdpSocket::bind((std::net::Ipv6Addr::LOCALHOST, 0)).is_err() {
        return skipped("ecn_marks_arrive_over_ipv6_too", "this machine has no IPv6");
    }
    marks(true);
}

#[test]
fn an_aqm_that_decides_at_departure() {
    let Some(_turn) = turn("an_aqm_that_decides_at_departure") else { return };
    let aqm = Aqm::Codel(link::aqm::codel::Params::default());
    let rig = Rig::start(&Config::new(LinkConfig { aqm, ..link(10, 1, Limit::Packets(1000)) })).unwrap();
    let (client, server) = pair(&rig);
    // 480 ms of queue: CoDel drops after 100 ms above its target.
    send(&client, 400);
    let received = receive(&rig, &server, 400) as u64;
    let counters = rig.stop().unwrap().last.sides[0].counters;
    assert!(counters.dropped_aqm.packets > 0);
    assert_eq!(received + counters.dropped_aqm.packets, 400);
}

/// Keeps W packets in flight: one more for each answer. Rate = W * L / RTT, and no run is faster.
#[test]
fn a_fixed_window_of_42_segments() {
    let Some(_turn) = turn("a_fixed_window_of_42_segments") else { return };
    let (window, count) = (42, 420);
    let rig = Rig::start(&Config::new(link(100, 25, Limit::Unlimited))).unwrap();
    let (client, server) = pair(&rig);
    thread::scope(|scope| {
        let echo = scope.spawn(|| {
            let mut buffer = [0; 2000];
            for _ in 0..count {
                let (_, from) = server.recv_from(&mut buffer).unwrap();
                server.send_to(&[1], from).unwrap();
            }
        });
        let start = Instant::now();
        send(&client, window);
        let mut buffer = [0; 10];
        for _ in 0..count - window {
            client.recv(&mut buffer).unwrap();
            send(&client, 1);
        }
        for _ in 0..window {
            client.recv(&mut buffer).unwrap();
        }
        // Rounds of 50 ms: the first window's packets follow each other by their transmission.
        let least = Duration::from_millis(50) * (count / window) as u32;
        assert!(start.elapsed() >= least, "{:?} is faster than light", start.elapsed());
        echo.join().unwrap();
    });
    let sides = rig.stop().unwrap().last.sides;
    assert_eq!(sides.map(|s| s.counters.delivered.packets), [count as u64; 2]);
}

#[test]
fn tcp_through_the_link_is_never_above_its_rate() {
    let Some(_turn) = turn("tcp_through_the_link_is_never_above_its_rate") else { return };
    let rig = Rig::start(&Config::new(link(20, 5, Limit::Bytes(Bytes(50_000))))).unwrap();
    let listener = rig
        .namespace(Side::Server)
        .run(|| TcpListener::bind((Side::Server.ipv4(), PORT)).map_err(|e| Error::new(e.to_string())))
        .unwrap();
    let bytes = 1_000_000;
    let start = Instant::now();
    let (sent, received) = thread::scope(|scope| {
        let server = scope.spawn(|| listener.accept().unwrap().0.read_to_end(&mut Vec::new()).unwrap());
        let connect =
            || TcpStream::connect((Side::Server.ipv4(), PORT)).map_err(|e| Error::new(e.to_string()));
        let mut client = rig.namespace(Side::Client).run(connect).unwrap();
        client.write_all(&vec![5; bytes]).unwrap();
        drop(client);
        (bytes, server.join().unwrap())
    });
    let least = Duration::from_secs_f64(bytes as f64 * 8.0 / 20e6);
    assert_eq!(sent, received);
    assert!(start.elapsed() >= least);
    assert_eq!(hidden(&rig.stop().unwrap()), 0);
}

#[test]
fn the_hosts_addresses_are_free_and_rigs_stand_beside_each_other() {
    let Some(_turn) = turn("the_hosts_addresses_are_free_and_rigs_stand_beside_each_other") else { return };
    // The same addresses twice, each in its own namespaces.
    let config = Config::new(link(10, 1, Limit::Unlimited));
    let rigs = [Rig::start(&config).unwrap(), Rig::start(&config).unwrap()];
    for rig in rigs {
        let (client, server) = pair(&rig);
        send(&client, 3);
        assert_eq!(receive(&rig, &server, 3), 3);
    }
}

#[test]
fn an_interface_that_disappears_is_an_error() {
    let Some(_turn) = turn("an_interface_that_disappears_is_an_error") else { return };
    if Command::new("ip").arg("-V").output().is_err() {
        return skipped("an_interface_that_disappears_is_an_error", "no program `ip` (iproute2)");
    }
    let rig = Rig::start(&Config::new(link(10, 1, Limit::Unlimited))).unwrap();
    change(&rig, Side::Client, "ip link delete ack0");
    let until = Instant::now() + LONG;
    while !rig.has_failed() && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    let error = rig.stop().unwrap_err().to_string();
    assert!(error.contains("the interface ack0 of the client's namespace was deleted"), "{error}");
    assert!(error.contains(" s after the start"), "{error}");
}

fn change(rig: &Rig, side: Side, script: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-c", script]);
    assert!(Child::start(rig, side, &Identity::own(), shell).unwrap().wait().success(), "{script}");
}

/// A link that a command has changed carries other traffic, or none. The run is not valid, also if
/// the change did not last.
#[test]
fn an_interface_that_is_changed_makes_the_run_invalid() {
    let test = "an_interface_that_is_changed_makes_the_run_invalid";
    let Some(_turn) = turn(test) else { return };
    if Command::new("ip").arg("-V").output().is_err() {
        return skipped(test, "no program `ip` (iproute2)");
    }
    let changed = |side: Side, script: &str| {
        let rig = Rig::start(&Config::new(link(10, 1, Limit::Unlimited))).unwrap();
        let (client, _server) = pair(&rig);
        thread::sleep(Duration::from_millis(300));
        change(&rig, side, script);
        // The device may be down.
        let _ = client.send(&[0; 100]);
        thread::sleep(Duration::from_millis(300));
        rig.stop().unwrap().audit
    };
    for (side, script, says) in [
        (Side::Client, "ip link set ack0 down", "the client's interface ack0 was set down "),
        (Side::Server, "ip link set ack0 down", "the server's interface ack0 was set down "),
        (
            Side::Client,
            "ip link set ack0 down; ip link set ack0 up",
            "the client's interface ack0 was set down ",
        ),
        (Side::Client, "ip link set ack0 mtu 1400", "the client's interface ack0 got an MTU of 1400 bytes "),
        (
            Side::Server,
            "ip addr del 10.64.0.2/24 dev ack0",
            "the server's interface ack0 lost its address 10.64.0.2 ",
        ),
        (
            Side::Client,
            "ip addr add fd00:64::9/64 dev ack0",
            "the client's interface ack0 got the address fd00:64::9 ",
        ),
    ] {
        let audit = changed(side, script);
        assert!(
            audit.verdict().starts_with("invalid: ") && audit.verdict().contains(says),
            "{}",
            audit.verdict()
        );
        let (at, _) = audit.changes[side as usize].unwrap();
        assert!(at.as_secs_f64() >= 0.3, "{at:?}");
    }
    let audit = changed(Side::Client, "ip route add 10.65.0.0/16 dev ack0; ip link set lo mtu 1400");
    assert_eq!(audit.changes, [None; 2], "what does not touch the link is nothing");
}

#[test]
fn a_command_ends_with_all_that_it_started() {
    let Some(_turn) = turn("a_command_ends_with_all_that_it_started") else { return };
    let rig = Rig::start(&Config::new(link(10, 1, Limit::Unlimited))).unwrap();
    let run = |script: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        Child::start(&rig, Side::Client, &Identity::own(), shell).unwrap()
    };
    assert_eq!(code(run("exit 7").wait()), 7);
    assert_eq!(code(run("kill -TERM $$").wait()), 128 + 15);
    assert_eq!(
        code(run("[ $ACKCLOCK_SERVER = 10.64.0.2 ] && [ $ACKCLOCK_CLIENT_V6 = fd00:64::1 ]").wait()),
        0
    );
    // In the background, in a session of its own.
    let seconds = format!("3{}", std::process::id());
    assert_eq!(code(run(&format!("setsid sleep {seconds} & exit 0")).wait()), 0);
    assert_eq!(running(&seconds), 0);
    let mut asleep = run(&format!("trap 'exit 5' TERM; sleep {seconds} & wait"));
    let until = Instant::now() + LONG;
    while running(&seconds) == 0 {
        assert!(Instant::now() < until, "it never sleeps");
        thread::sleep(Duration::from_millis(10));
    }
    asleep.signal(Signal::SIGTERM);
    assert_eq!(code(asleep.wait()), 5, "signals are passed on");
    let missing = Command::new("ackclock-no-such-program");
    let missing = Child::start(&rig, Side::Client, &Identity::own(), missing).unwrap_err();
    assert!(missing.to_string().contains("cannot run `ackclock-no-such-program`"), "{missing}");
}

/// Counts the processes that have this word among their arguments.
fn running(word: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let arguments = all.filter_map(|p| fs::read(p.path().join("cmdline")).ok());
    arguments.filter(|a| a.split(|&b| b == 0).any(|a| a == word.as_bytes())).count()
}

#[test]
fn a_log_that_nobody_reads_is_an_error_or_makes_the_run_invalid() {
    let Some(_turn) = turn("a_log_that_nobody_reads_is_an_error_or_makes_the_run_invalid") else { return };
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut config = Config::new(link(1000, 0, Limit::Unlimited));
    config.log = Files { csv: Some(pipe.clone()), ..Files::default() };
    let error = Rig::start(&config).unwrap_err().to_string();
    assert!(error.contains("nobody reads the pipe"), "{error}");
    // A reader that never reads, and more rows than a pipe holds.
    let open = fs::File::options().read(true).write(true).open(&pipe).unwrap();
    let rig = Rig::start(&config).unwrap();
    let (client, server) = pair(&rig);
    send(&client, 2000);
    assert_eq!(receive(&rig, &server, 2000), 2000, "the link does not wait for it");
    let report = rig.stop().unwrap();
    assert!(report.audit.verdict().contains("nobody reads"), "{}", report.audit.verdict());
    drop(open);
    config.log.csv = Some("/proc/nowhere/x".into());
    assert!(Rig::start(&config).unwrap_err().to_string().contains("/proc/nowhere/x"));
}

fn tcp_options(controller: &str) -> tcp::Options {
    tcp::Options { controller: controller.to_owned(), mss: 1200, port: PORT }
}

/// Timestamps count microseconds at both ends where that is asked for.
#[test]
fn tcp_timestamps_in_microseconds() {
    let Some(_turn) = turn("tcp_timestamps_in_microseconds") else { return };
    for asked in [false, true] {
        let rig = Rig::start(&Config::new(link(20, 5, Limit::Unlimited))).unwrap();
        if asked && let Err(why) = tcp::count_microseconds(&rig) {
            return skipped("tcp_timestamps_in_microseconds", &format!("{why}; it needs Linux 6.7"));
        }
        let connection = tcp::connect(&rig, &tcp_options("reno")).unwrap();
        for end in [&connection.client, &connection.server] {
            assert_eq!(tcp::Info::read(end).unwrap().usec_timestamps, asked);
        }
    }
}

/// The kernel uses the requested controller and segment size, and reports them.
#[test]
fn tcp_with_a_controller_and_a_segment_size() {
    let Some(_turn) = turn("tcp_with_a_controller_and_a_segment_size") else { return };
    let mut config = Config::new(link(20, 5, Limit::Unlimited));
    config.log.keep = true;
    let rig = Rig::start(&config).unwrap();
    tcp::configure(&rig, true, false).unwrap();
    let connection = tcp::connect(&rig, &tcp_options("reno")).unwrap();
    (&connection.client).write_all(&[7; 12_000]).unwrap();
    let mut got = vec![0; 12_000];
    (&connection.server).read_exact(&mut got).unwrap();
    let info = tcp::Info::read(&connection.client).unwrap();
    assert_eq!(info.snd_mss, 1200);
    assert!(info.smoothed_rtt >= Duration::from_millis(10));
    tcp::abort(&connection.client);
    drop(connection);
    let report = rig.stop().unwrap();
    let data: Vec<u32> =
        report.packets.iter().filter_map(|row| row.segment.map(|s| s.payload).filter(|&n| n > 0)).collect();
    // More if the kernel retransmits, because an acknowledgement was late.
    assert!(data.iter().sum::<u32>() >= 12_000 && data.iter().max() == Some(&1200), "{data:?}");
    // SYN with ECE and CWR: it asks for ECN.
    let first = report.packets[0].segment.unwrap();
    assert_eq!((first.destination, first.flags & 0xc2), (PORT, 0xc2));
}

#[test]
fn a_controller_that_the_kernel_has_not_is_an_error() {
    let Some(_turn) = turn("a_controller_that_the_kernel_has_not_is_an_error") else { return };
    let rig = Rig::start(&Config::new(link(20, 5, Limit::Unlimited))).unwrap();
    let said = tcp::connect(&rig, &tcp_options("no-such")).unwrap_err().to_string();
    assert!(said.contains("no TCP controller `no-such`") && said.contains("cubic"), "{said}");
}

/// The window closes and the sender waits. The link goes on, and ends when it is stopped.
#[test]
fn a_receiver_that_never_reads_holds_up_nothing() {
    let Some(_turn) = turn("a_receiver_that_never_reads_holds_up_nothing") else { return };
    let rig = Rig::start(&Config::new(link(1000, 1, Limit::Unlimited))).unwrap();
    let connection = tcp::connect(&rig, &tcp_options("cubic")).unwrap();
    connection.client.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let chunk = vec![0; 1 << 20];
    let until = Instant::now() + LONG;
    while (&connection.client).write(&chunk).is_ok() {
        assert!(Instant::now() < until, "the window never closes");
    }
    let (client, server) = pair(&rig);
    client.send(&[0; 100]).unwrap();
    server.recv(&mut [0; 200]).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    thread::spawn(move || drop(tell.send(rig.stop())));
    assert_eq!(hidden(&told.recv_timeout(LONG).unwrap().unwrap()), 0);
}

#[test]
fn a_rig_that_is_dropped_leaves_nothing() {
    let Some(_turn) = turn("a_rig_that_is_dropped_leaves_nothing") else { return };
    // Other tests of this process open files for a moment, so a number of files proves nothing. A
    // file that the rig leaves open stays.
    let open = || -> BTreeSet<_> {
        let all = fs::read_dir("/proc/self/fd").unwrap().filter_map(Result::ok);
        all.filter_map(|file| Some((file.file_name(), fs::read_link(file.path()).ok()?))).collect()
    };
    let namespaces = |rig: &Rig| {
        rig.namespace(Side::Client).run(|| Ok(fs::read_link("/proc/thread-self/ns/net").unwrap()))
    };
    let before = open();
    let rig = Rig::start(&Config::new(link(10, 1, Limit::Unlimited))).unwrap();
    let inside = namespaces(&rig).unwrap();
    assert_ne!(inside, fs::read_link("/proc/self/ns/net").unwrap());
    let opened: BTreeSet<_> = open().difference(&before).cloned().collect();
    assert!(opened.iter().any(|(_, file)| file.ends_with("net/tun")), "{opened:?}");
    drop(rig);
    let until = Instant::now() + LONG;
    while !open().is_disjoint(&opened) && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    let left: Vec<_> = open().intersection(&opened).cloned().collect();
    assert!(left.is_empty(), "{left:?}");
    let held = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    assert!(!held.filter_map(|p| fs::read_link(p.path().join("ns/net")).ok()).any(|ns| ns == inside));
}

/// Checks a measurement: within 0.5 % of the rate and 0.5 ms of the delay.
fn check(measured: &Measurement) -> Result<(), String> {
    let off = measured.delay_p50.0.abs_diff(measured.delay.0);
    let is_good = measured.rate_error().abs() <= 0.005 && off <= ms(1).0 / 2;
    let Measurement { rate, measured: real, delay, delay_p50, .. } = measured;
    is_good.then_some(()).ok_or_else(|| format!("{real} bit/s for {rate:?}, {delay_p50} for {delay}"))
}

/// A receiver sees the rate and the delay that were set. The check would notice an emulator that is
/// 5 % or 2 ms off.
#[test]
fn rate_and_delay_are_those_that_were_set() {
    let Some(_turn) = turn("rate_and_delay_are_those_that_were_set") else { return };
    let (rate, delay) = (Rate(20_000_000), ms(10));
    timing("rate_and_delay_are_those_that_were_set", || {
        let measured = measure(rate, delay, Duration::from_secs(1)).unwrap();
        // Holds also on a busy machine.
        assert!(measured.delay_p50 >= delay && measured.packets > 0, "{measured:?}");
        let mut invalid = measured.flood.invalid_reasons();
        invalid.extend(measured.probes.invalid_reasons());
        (invalid, check(&measured))
    });
    for (rate, delay) in
        [(Rate(rate.0 * 95 / 100), delay), (Rate(rate.0 * 105 / 100), delay), (rate, ms(8)), (rate, ms(12))]
    {
        timing(&format!("a link of {rate:?} and {delay} is told from one of 20 Mbit/s and 10 ms"), || {
            let measured = measure(rate, delay, Duration::from_secs(1)).unwrap();
            let mut invalid = measured.flood.invalid_reasons();
            invalid.extend(measured.probes.invalid_reasons());
            let as_set = Measurement { rate: Rate(20_000_000), delay: ms(10), ..measured };
            (invalid, check(&as_set).err().map(drop).ok_or_else(|| format!("not noticed: {as_set:?}")))
        });
    }
}
