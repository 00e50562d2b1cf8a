//! QUIC: a capture of aioquic with a Retry, a ClientHello that changes after it, two key updates
//! and a change of connection IDs.

use ackclock_logs::event::{Control, Gap, Protocol, Source};
use quic::crypto::keys;
use quic::passive::{KeyLog, Part, Session};
use quic::wire::{ConnectionId, Writer, header};
use quic::{Level, Side, Space};
use units::{Duration, Time};

use crate::build::{self, Bytes, RAW};
use crate::recorder::{Connection, read, try_read};

const FILE: &[u8] = include_bytes!("../captures/quic.pcap");
const KEYS: &str = include_str!("../captures/quic.keys");
const IDENTITY: &str = "78b362e7ee441a25";
/// Size of the IPv4 and UDP headers.
const HEADERS: usize = 28;

fn keys() -> KeyLog {
    KeyLog::parse(KEYS)
}

fn one(file: &[u8], keys: Option<&KeyLog>) -> Connection {
    let mut all = try_read(file, keys).unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// The packets as a pcap file in nanoseconds, changed by `change`.
fn changed(change: impl Fn(usize, &mut Vec<u8>)) -> Vec<u8> {
    let packets = build::packets(FILE).into_iter().enumerate().map(|(n, (at, mut data))| {
        let length = data.len();
        change(n, &mut data);
        (at * 1000, data, length)
    });
    build::pcap(RAW, &packets.collect::<Vec<_>>())
}

fn is_from_client(packet: &[u8]) -> bool {
    packet[12..16] == [10, 64, 0, 1]
}

fn stream_bytes(connection: &Connection, from: Side) -> u64 {
    let packets = connection.packets.iter().filter(|packet| packet.from == from);
    packets.flat_map(|packet| &packet.pieces).map(|piece| piece.len).sum()
}

#[test]
fn with_keys_everything_is_read() {
    let connection = one(FILE, Some(&keys()));
    let about = &connection.about;
    assert_eq!((about.protocol, about.source), (Protocol::Quic, Source::Capture));
    assert_eq!((&*about.identity, &*about.name), (IDENTITY, "10.64.0.1:37689 to 10.64.0.2:4433"));
    assert_eq!((&connection.gaps[..], &connection.vantage[..]), (&[][..], &[Side::Client][..]));
    // The client asked for 2500, 1500 and 700 bytes, in text.
    assert_eq!(stream_bytes(&connection, Side::Client), 4 + 4 + 3);
    assert_eq!(stream_bytes(&connection, Side::Server), 2500 + 1500 + 700);
    let numbers = |from| {
        let sent = connection.packets.iter().filter(|packet| packet.from == from);
        sent.filter_map(|packet| packet.number).collect::<Vec<_>>()
    };
    // aioquic numbers the packets of all spaces together.
    assert_eq!(numbers(Side::Client), (0..14).collect::<Vec<_>>());
    assert_eq!(numbers(Side::Server), (0..11).collect::<Vec<_>>());
    let retry = &connection.packets[1];
    assert_eq!((retry.number, retry.from, retry.bytes, retry.wire), (None, Side::Server, 100, Some(128)));

    let coalesced: Vec<_> = connection.packets[5..8].iter().map(|p| (p.space, p.bytes, p.wire)).collect();
    assert_eq!(
        coalesced,
        [
            (Space::Initial, 111, Some(1228)),
            (Space::Handshake, 105, Some(0)),
            (Space::Application, 984, Some(0)),
        ]
    );
    let last = connection.packets.last().unwrap();
    assert_eq!((last.control, connection.packets[0].control), (Control::Ends, Control::Opens));
    let ack = &connection.packets[11].acks[0];
    // The field has 170 units of 2^3 us.
    assert_eq!((&ack.ranges[..], ack.delay), (&[(2, 3)][..], Some(Duration::from_micros(1360))));
    let spins: Vec<_> = connection.packets.iter().filter_map(|packet| packet.spin).collect();
    assert!(spins.contains(&true) && spins.contains(&false));
    for (side, (from, parameters)) in [Side::Client, Side::Server].into_iter().zip(&connection.parameters) {
        assert_eq!(side, *from);
        assert_eq!(parameters.max_ack_delay, Some(Duration::from_millis(25)));
        assert_eq!(parameters.initial_max_data, Some(1 << 20));
        assert_eq!(parameters.idle_timeout, Some(Duration::from_millis(60_000)));
    }
    assert_eq!(connection.parameters.len(), 2);
}

#[test]
fn without_keys_sizes_are_left() {
    let open = one(FILE, Some(&keys()));
    for log in [None, Some(KeyLog::default()), Some(KeyLog::parse(&KEYS.replace("SECRET_0", "SECRET_9")))] {
        let sealed = one(FILE, log.as_ref());
        assert_eq!((sealed.about.source, &*sealed.about.identity), (Source::Encrypted, IDENTITY));
        assert_eq!((sealed.packets.len(), open.packets.len()), (26, 26));
        for (sealed, open) in sealed.packets.iter().zip(&open.packets) {
            let known = |p: &crate::recorder::Packet| (p.at, p.from, p.space, p.bytes, p.wire, p.spin);
            assert_eq!(known(sealed), known(open));
            let is_readable = open.space == Space::Initial
                || log.as_ref().is_some_and(|log| !log.is_empty()) && open.space == Space::Handshake;
            assert_eq!(
                sealed.number.is_some() && open.space != Space::Application,
                is_readable && open.number.is_some()
            );
        }
        assert!(matches!(sealed.gaps[..], [Gap::Undecrypted(19..=21)]), "{:?}", sealed.gaps);
    }
}

/// Keys in the file, and both ends in it: one state decrypts both, and each has its own events.
#[test]
fn both_ends_with_keys_in_the_file() {
    let mut all = Vec::new();
    for (at, data) in build::packets(FILE) {
        // The path has 20 ms each way.
        let far = if is_from_client(&data) { at + 20_000 } else { at - 20_000 };
        all.push((at, 0, data.clone()));
        all.push((far, 1, data));
    }
    all.sort_by_key(|packet| packet.0);
    let mut file = Bytes::new(false);
    file.section(false).interface(RAW, &[(2, b"client")]).interface(RAW, &[(2, b"server")]);
    file.secrets(KEYS);
    for (at, interface, data) in &all {
        file.packet(*interface, *at, data, data.len());
    }
    let both = read(&file.all);
    assert_eq!(both.len(), 2);
    let alone = one(FILE, Some(&keys()));
    for (connection, vantage) in both.iter().zip([Side::Client, Side::Server]) {
        assert_eq!((connection.about.source, &*connection.about.identity), (Source::Capture, IDENTITY));
        assert_eq!((&connection.gaps[..], &connection.vantage[..]), (&[][..], &[vantage][..]));
        assert_eq!(connection.packets.len(), alone.packets.len());
        assert_eq!(stream_bytes(connection, Side::Server), 4700);
        assert_eq!(connection.parameters.len(), 2);
    }
    assert_eq!(both[0].packets, alone.packets);
}

/// Another port of the client, while it uses its old connection ID and then a new one.
#[test]
fn changes_of_address() {
    let moved = changed(|n, packet| {
        if n >= 11 {
            let at = if is_from_client(packet) { 20 } else { 22 };
            packet[at..at + 2].copy_from_slice(&[0x11, n as u8]);
        }
    });
    let connection = one(&moved, Some(&keys()));
    assert_eq!((stream_bytes(&connection, Side::Server), connection.packets.len()), (4700, 26));
    assert_eq!(connection.gaps, []);
}

#[test]
fn captures_that_begin_later() {
    let packets = |from: usize, port: Option<u16>| {
        let all = build::packets(FILE).into_iter().skip(from).map(|(at, mut data)| {
            let place = if is_from_client(&data) { 22 } else { 20 };
            port.into_iter().for_each(|port| data[place..place + 2].copy_from_slice(&port.to_be_bytes()));
            let length = data.len();
            (at * 1000, data, length)
        });
        build::pcap(RAW, &all.collect::<Vec<_>>())
    };
    // From the client's second Initial on. Its address and that of the server tell the sides.
    let later = one(&packets(4, None), Some(&keys()));
    assert_eq!((later.about.source, &*later.about.identity), (Source::Encrypted, ""));
    assert!(later.has(&Gap::BeginsLater) && later.packets[0].from == Side::Client);
    assert_eq!(later.packets.len(), 21);
    let error = try_read(&packets(5, None), Some(&keys())).unwrap_err();
    assert!(error.message.ends_with("only 18 UDP datagrams that are not QUIC"), "{error}");
    let https = one(&packets(5, Some(443)), None);
    assert_eq!((https.about.source, https.packets.len()), (Source::Encrypted, 18));
    assert_eq!(https.packets[0].from, Side::Client);
    assert_eq!(https.gaps, [Gap::BeginsLater, Gap::Undecrypted(18)]);
}

#[test]
fn cut_datagrams_and_version_2() {
    let cut = one(&changed(|_, packet| packet.truncate(60)), Some(&keys()));
    assert_eq!((cut.about.source, &*cut.about.identity), (Source::Encrypted, IDENTITY));
    let whole = build::packets(FILE);
    let sizes: Vec<_> =
        cut.packets.iter().map(|p| (p.bytes as usize + HEADERS, p.from == Side::Client)).collect();
    assert_eq!(sizes, whole.iter().map(|(_, data)| (data.len(), is_from_client(data))).collect::<Vec<_>>());
    let full = whole.iter().filter(|(_, data)| data.len() > 60).count() as u64;
    assert!(cut.has(&Gap::Cut(full)), "{:?}", cut.gaps);

    let second = changed(|_, packet| {
        if packet[HEADERS] & 0x80 != 0 {
            packet[HEADERS] = (packet[HEADERS] & 0xcf) | (packet[HEADERS].wrapping_add(0x10) & 0x30);
            packet[HEADERS + 1..HEADERS + 5].copy_from_slice(&0x6b33_43cf_u32.to_be_bytes());
        }
    });
    let connection = one(&second, Some(&keys()));
    assert_eq!((connection.about.source, &*connection.about.identity), (Source::Encrypted, IDENTITY));
    assert_eq!((connection.packets.len(), connection.packets[0].control), (23, Control::Opens));
}

/// Three datagrams of the server that offload has joined: 1200, 1200 and 202 bytes.
#[test]
fn joined_datagrams() {
    let mut all: Vec<_> = build::packets(FILE).into_iter().map(|(at, data)| (at * 1000, data, 0)).collect();
    let more = [9, 10].map(|n| all[n].1.split_off(HEADERS)).concat();
    all[7].1.extend(more);
    let total = all[7].1.len() as u16;
    all[7].1[2..4].copy_from_slice(&total.to_be_bytes());
    all[7].1[24..26].copy_from_slice(&(total - 20).to_be_bytes());
    all.drain(9..11);
    all.iter_mut().for_each(|packet| packet.2 = packet.1.len());
    let connection = one(&build::pcap(RAW, &all), Some(&keys()));
    assert_eq!(connection.gaps, [Gap::Joined(2630)]);
    assert_eq!((stream_bytes(&connection, Side::Server), connection.packets.len()), (4700, 26));
    let joined = connection.packets.iter().filter(|packet| packet.at.0 == all[7].0);
    assert_eq!(joined.map(|packet| packet.wire).collect::<Vec<_>>(), [1228, 1228, 230].map(Some));
    let sealed = one(&build::pcap(RAW, &all), None);
    assert_eq!((sealed.packets.len(), sealed.gaps.len()), (24, 2), "{:?}", sealed.gaps);
    assert!(sealed.has(&Gap::Joined(2630)));
}

/// Packets that the capture missed, as their ACKs tell: one of the server, and two of the client,
/// with one ACK between them.
#[test]
fn missed_packets() {
    let packets = build::packets(FILE).into_iter().enumerate();
    let all = packets.filter(|(n, _)| ![5, 9, 11].contains(n)).map(|(_, (at, data))| {
        let length = data.len();
        (at * 1000, data, length)
    });
    let connection = one(&build::pcap(RAW, &all.collect::<Vec<_>>()), Some(&keys()));
    assert_eq!(connection.gaps, [const { Gap::Missed(None) }; 3]);
}

#[test]
fn stateless_resets() {
    let mut session = Session::default();
    let mut tokens = Vec::new();
    let packets = build::packets(FILE);
    for (_, data) in &packets {
        let from = if is_from_client(data) { Side::Client } else { Side::Server };
        for part in session.read(&keys(), 0, from, &data[HEADERS..]) {
            let Part::Protected { packet: Some(packet), .. } = part else { continue };
            tokens.extend(packet.new_ids.iter().filter(|_| from == Side::Server).map(|new| new.1));
        }
    }
    let reset = [[0x43; 30].as_slice(), &tokens[0]].concat();
    let reset = build::udp(([10, 64, 0, 2], 4433), ([10, 64, 0, 1], 37_689), &reset);
    let mut all: Vec<_> = packets.iter().map(|(at, data)| (at * 1000, data.clone(), data.len())).collect();
    all.truncate(20);
    all.push((packets[22].0 * 1000, reset.clone(), reset.len()));
    let connection = one(&build::pcap(RAW, &all), Some(&keys()));
    assert_eq!(connection.packets.last().unwrap().control, Control::Resets);
    assert_eq!(connection.gaps, []);
}

/// Thousands of Initials of thousands of connections, none of which can be decrypted, with DNS
/// between them.
#[test]
fn many_connections() {
    let initial = build::packets(FILE)[0].1.clone();
    let dns = build::udp(([10, 0, 0, 1], 999), ([10, 0, 0, 9], 53), &[0x12, 0x34, 1, 0, 0, 1]);
    let packets = (0..5000_u32).flat_map(|n| {
        let mut initial = initial.clone();
        initial[20..22].copy_from_slice(&(n as u16 + 5000).to_be_bytes());
        initial[HEADERS + 6..HEADERS + 10].copy_from_slice(&n.to_be_bytes());
        initial[HEADERS + 15..HEADERS + 19].copy_from_slice(&n.to_be_bytes());
        let length = initial.len();
        [(u64::from(n) * 1000, initial, length), (u64::from(n) * 1000, dns.clone(), dns.len())]
    });
    let all = read(&build::pcap(RAW, &packets.collect::<Vec<_>>()));
    assert_eq!(all.len(), 5000);
    let crowded = all.iter().filter(|c| c.gaps.iter().any(|gap| matches!(gap, Gap::Other(_)))).count();
    assert_eq!(crowded, 1024);
    assert!(all[0].packets[0].at <= Time::from_millis(1));
}

/// An Initial with a PING, of a connection whose client first used `original` as destination.
fn initial(from: Side, original: &[u8], destination: &[u8], source: &[u8]) -> Vec<u8> {
    let outgoing = header::Outgoing {
        level: Level::Initial,
        destination: ConnectionId::new(destination).unwrap(),
        source: ConnectionId::new(source).unwrap(),
        token: &[],
        number: 0,
        number_len: 1,
        key_phase: false,
        spin: false,
    };
    let mut packet = vec![0; 100];
    let mut writer = Writer::new(&mut packet);
    let placed = outgoing.encode(&mut writer).unwrap();
    writer.bytes(&[1]);
    let keys = keys::initial(original, from).local;
    keys::seal(&*keys.header, &*keys.packet, &mut packet, &placed).unwrap();
    packet
}

/// Connections that share addresses and ports are told apart by their IDs. Those of clients with
/// short IDs or none are told apart by their ports.
#[test]
fn ids_and_addresses() {
    let server = ([10, 0, 0, 2], 4433);
    let exchange = |port: u16, id: u8, client_id: &[u8]| {
        let client = ([10, 0, 0, 1], port);
        let (original, server_id) = ([id; 8], [id + 100; 6]);
        [
            build::udp(client, server, &initial(Side::Client, &original, &original, client_id)),
            build::udp(server, client, &initial(Side::Server, &original, client_id, &server_id)),
            build::udp(client, server, &[[0x40].as_slice(), &server_id, &[id; 30]].concat()),
            build::udp(server, client, &[[0x40].as_slice(), client_id, &[id; 30]].concat()),
        ]
    };
    let read = |exchanges: &[[Vec<u8>; 4]]| {
        let each = (0..4).flat_map(|step| exchanges.iter().map(move |packets| packets[step].clone()));
        let packets = each.enumerate().map(|(n, data)| {
            let length = data.len();
            (n as u64 * 1_000_000, data, length)
        });
        read(&build::pcap(RAW, &packets.collect::<Vec<_>>()))
    };
    let shared =
        read(&[exchange(5000, 1, &[51; 4]), exchange(5000, 2, &[52; 5]), exchange(5000, 3, &[53; 4])]);
    let apart = read(&[exchange(5000, 1, &[]), exchange(5001, 2, &[]), exchange(5002, 3, &[])]);
    let short = read(&[exchange(5000, 1, &[7]), exchange(5001, 2, &[7]), exchange(5002, 3, &[7, 7, 7])]);
    for all in [shared, apart, short] {
        assert_eq!(all.len(), 3, "{all:?}");
        for (connection, id) in all.iter().zip(["01", "02", "03"]) {
            assert_eq!(connection.about.identity, id.repeat(8));
            let seen: Vec<_> = connection.packets.iter().map(|p| (p.from, p.space, p.number)).collect();
            assert_eq!(
                seen,
                [
                    (Side::Client, Space::Initial, Some(0)),
                    (Side::Server, Space::Initial, Some(0)),
                    (Side::Client, Space::Application, None),
                    (Side::Server, Space::Application, None),
                ]
            );
        }
    }
}
