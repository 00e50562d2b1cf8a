//! Sockets on this machine's loopback interface: marks, stamps, addresses and bursts, over IPv4,
//! IPv6 and both.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "real time")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use ackclock_wire::udp::{Clock, Incoming, Outgoing, Ready, Sent, Socket, wait};
use units::{Duration, Ecn, Time};

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);
const ANY: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
const MARKS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];

#[derive(Debug)]
struct Seen {
    from: SocketAddr,
    to: SocketAddr,
    ecn: Ecn,
    arrived: Time,
    bytes: Vec<u8>,
}

fn bind(ip: IpAddr) -> Socket {
    Socket::bind(SocketAddr::new(ip, 0)).unwrap()
}

/// Timeout that is long enough on any machine.
const LONG: Duration = Duration::from_secs(60);

/// Receives this many datagrams, or fewer after the timeout.
fn receive(socket: &mut Socket, clock: &Clock, count: usize) -> Vec<Seen> {
    let mut seen = Vec::new();
    let until = clock.now() + LONG;
    while seen.len() < count && clock.now() < until {
        wait(&[socket], &[], Some(until), clock).unwrap();
        let mut keep = |incoming: Incoming<'_>| {
            let Incoming { from, to, ecn, arrived, bytes } = incoming;
            seen.push(Seen { from, to, ecn, arrived, bytes: bytes.to_vec() });
        };
        while socket.receive(clock, &mut keep).unwrap() > 0 {}
    }
    seen
}

fn has_ipv6() -> bool {
    let has = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    if !has {
        println!("skipped: this machine has no IPv6");
    }
    has
}

/// Returns addresses of a client's socket, of a server's socket, and of the server as the client
/// sees it.
fn ways() -> Vec<(IpAddr, IpAddr, IpAddr)> {
    let mut ways = vec![(V4, V4, V4)];
    if has_ipv6() {
        ways.extend([(V6, V6, V6), (V6, ANY, V6), (ANY, ANY, V6)]);
        let only =
            std::fs::read_to_string("/proc/sys/net/ipv6/bindv6only").is_ok_and(|text| text.trim() == "1");
        if only {
            println!("skipped: net.ipv6.bindv6only is set");
        } else {
            ways.extend([(V4, ANY, V4), (ANY, V4, V4), (ANY, ANY, V4)]);
        }
    }
    ways
}

#[test]
fn marks_and_stamps_come_with_every_datagram_one_by_one_and_in_bursts() {
    let clock = Clock::new();
    for (client, server, address) in ways() {
        let (client, mut server) = (bind(client), bind(server));
        let to = SocketAddr::new(address, server.local_addr().unwrap().port());
        for (ecn, segment) in MARKS.into_iter().flat_map(|ecn| [(ecn, None), (ecn, Some(1200))]) {
            let bytes: Vec<u8> = (0..4000).map(|at| (at / 1200) as u8).collect();
            let outgoing = Outgoing { to, from: None, ecn, segment, bytes: &bytes };
            assert!(matches!(client.send(&outgoing).unwrap(), Sent::Yes));
            let parts = if segment.is_some() { vec![1200, 1200, 1200, 400] } else { vec![4000] };
            let seen = receive(&mut server, &clock, parts.len());
            let lengths: Vec<usize> = seen.iter().map(|seen| seen.bytes.len()).collect();
            assert_eq!(lengths, parts, "{to} {ecn:?}");
            for (number, seen) in seen.iter().enumerate() {
                assert_eq!(seen.ecn, ecn, "{to}");
                assert_eq!(seen.bytes[0], number as u8);
                assert_eq!((seen.to, seen.from.ip()), (to, address), "addresses as they are, not mapped");
                assert!(seen.arrived <= clock.now(), "{to}");
            }
        }
    }
}

/// Coalesced datagrams are split as they were sent, with the ECN codepoint of their burst and one
/// timestamp. Bursts with different codepoints are not coalesced.
#[test]
fn joined_datagrams_come_apart() {
    let clock = Clock::new();
    for (client, server, address) in ways() {
        let (client, mut server) = (bind(client), bind(server));
        if !server.join_datagrams() {
            println!("skipped: this kernel joins no datagrams, or hides marks when it does");
            return;
        }
        let to = SocketAddr::new(address, server.local_addr().unwrap().port());
        for (number, ecn) in MARKS.into_iter().enumerate() {
            let bytes = [number as u8; 4000];
            let outgoing = Outgoing { to, from: None, ecn, segment: Some(1200), bytes: &bytes };
            assert!(matches!(client.send(&outgoing).unwrap(), Sent::Yes));
        }
        let seen = receive(&mut server, &clock, 16);
        let lengths: Vec<usize> = seen.iter().map(|seen| seen.bytes.len()).collect();
        assert_eq!(lengths, [1200, 1200, 1200, 400].repeat(4), "{to}");
        for (number, burst) in seen.chunks(4).enumerate() {
            let has_it = |seen: &Seen| seen.bytes[0] == number as u8 && seen.ecn == MARKS[number];
            assert!(burst.iter().all(has_it), "{to}");
            assert!(burst.iter().all(|seen| seen.arrived == burst[0].arrived), "{to}: one stamp");
            assert!(burst[0].arrived <= clock.now(), "{to}");
        }
    }
}

/// The timestamp is the kernel's: two datagrams that are read later have arrived one after the
/// other, before that.
#[test]
fn arrival_is_when_the_kernel_had_it() {
    let clock = Clock::new();
    let (client, mut server) = (bind(V4), bind(V4));
    receive_nothing(&mut server, &clock);
    let to = server.local_addr().unwrap();
    let outgoing = Outgoing { to, from: None, ecn: Ecn::NotEct, segment: None, bytes: b"x" };
    let pause = || {
        let half = std::time::Duration::from_millis(100);
        std::thread::sleep(half);
        let middle = clock.now();
        std::thread::sleep(half);
        middle
    };
    let middles = [(); 2].map(|()| {
        client.send(&outgoing).unwrap();
        pause()
    });
    let seen = receive(&mut server, &clock, 2);
    let order = [seen[0].arrived, middles[0], seen[1].arrived, middles[1]];
    assert!(order.is_sorted(), "{order:?}");
}

fn receive_nothing(socket: &mut Socket, clock: &Clock) {
    assert_eq!(socket.receive(clock, &mut |_| panic!("nobody has sent anything")).unwrap(), 0);
}

/// Receives more datagrams than one call takes, each once, with its own timestamp.
#[test]
fn many_come_in_batches() {
    let clock = Clock::new();
    let (client, mut server) = (bind(V4), bind(V4));
    let to = server.local_addr().unwrap();
    for number in 0..100_u8 {
        client.send(&Outgoing { to, from: None, ecn: Ecn::Ect0, segment: None, bytes: &[number] }).unwrap();
    }
    let seen = receive(&mut server, &clock, 100);
    let numbers: Vec<u8> = seen.iter().map(|seen| seen.bytes[0]).collect();
    assert_eq!(numbers, (0..100).collect::<Vec<u8>>());
    assert!(seen.is_sorted_by_key(|seen| seen.arrived));
}

#[test]
fn a_closed_port_is_told_and_the_socket_goes_on() {
    let clock = Clock::new();
    let (mut client, server) = (bind(V4), bind(V4));
    let closed = server.local_addr().unwrap();
    drop(server);
    let outgoing = Outgoing { to: closed, from: None, ecn: Ecn::NotEct, segment: None, bytes: b"x" };
    assert!(matches!(client.send(&outgoing).unwrap(), Sent::Yes));
    wait(&[&client], &[], Some(clock.now() + LONG), &clock).unwrap();
    assert_eq!(client.unreachable(), Some(V4));
    assert_eq!(client.unreachable(), None);
    receive_nothing(&mut client, &clock);
    let mut other = bind(V4);
    let to = other.local_addr().unwrap();
    assert!(matches!(client.send(&Outgoing { to, ..outgoing }).unwrap(), Sent::Yes));
    assert_eq!(receive(&mut other, &clock, 1).len(), 1);
}

/// A datagram that is too large for IPv4 counts as lost, and later ones are sent.
#[test]
fn what_does_not_fit_is_lost_and_no_error() {
    let clock = Clock::new();
    let (client, mut server) = (bind(V4), bind(V4));
    let to = server.local_addr().unwrap();
    let large = vec![0; 65_530];
    let outgoing = Outgoing { to, from: None, ecn: Ecn::NotEct, segment: None, bytes: &large };
    assert!(matches!(client.send(&outgoing).unwrap(), Sent::Lost(_)));
    assert!(matches!(client.send(&Outgoing { bytes: b"x", ..outgoing }).unwrap(), Sent::Yes));
    assert_eq!(receive(&mut server, &clock, 1).len(), 1);
}

#[test]
fn waiting_ends_with_the_time() {
    let clock = Clock::new();
    let socket = bind(V4);
    let until = clock.now() + Duration::from_millis(5);
    assert_eq!(wait(&[&socket], &[], Some(until), &clock).unwrap(), Ready::Time);
    assert!(clock.now() >= until);
    assert_eq!(wait(&[], &[&socket], Some(Time::NEVER), &clock).unwrap(), Ready::Socket, "there is room");
    assert_eq!(wait(&[&socket], &[], Some(Time::ZERO), &clock).unwrap(), Ready::Time, "it is past");
}
