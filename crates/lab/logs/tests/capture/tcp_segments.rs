//! TCP, by hand and from a capture of Linux.

use ackclock_logs::event::{Control, Gap, Protocol, Source};
use quic::Side;
use units::{Ecn, Time};

use crate::build::{self, ACK, CLIENT, FIN, RAW, RST, SERVER, SYN, Segment};
use crate::recorder::{Connection, Packet, read};

/// Sequence numbers of both ends, shortly before they wrap.
const ISN: [u32; 2] = [u32::MAX - 100, u32::MAX];
const MSS: [u8; 4] = [2, 4, 5, 180];

/// A handshake from 0 ms to 40 ms, captured `way` milliseconds from the client, with scales 7 and
/// 2.
fn handshake(way: u64) -> Vec<(u64, Segment)> {
    let offers = |scale| [MSS.as_slice(), &[1, 3, 3, scale]].concat();
    let [c, s] = ISN.map(|isn| isn.wrapping_add(1));
    vec![
        (way, Segment::new(true, SYN, ISN[0], 0).options(&offers(7))),
        (40 - way, Segment::new(false, SYN | ACK, ISN[1], c).options(&offers(2))),
        (40 + way, Segment::new(true, ACK, c, s)),
    ]
}

fn with(more: Vec<(u64, Segment)>) -> Vec<Connection> {
    read(&build::segments(&[handshake(0), more].concat()))
}

/// Sequence numbers of the client and the server at these offsets.
fn c(offset: u32) -> u32 {
    ISN[0].wrapping_add(1).wrapping_add(offset)
}

fn s(offset: u32) -> u32 {
    ISN[1].wrapping_add(1).wrapping_add(offset)
}

#[test]
fn a_connection() {
    let sack = |blocks: &[(u32, u32)]| {
        let mut options = vec![1, 1, 5, 2 + 8 * blocks.len() as u8];
        blocks
            .iter()
            .for_each(|(start, end)| options.extend([c(*start), c(*end)].map(u32::to_be_bytes).concat()));
        options
    };
    let all = with(vec![
        (41, Segment::data(true, c(0), s(0), 100)),
        (42, Segment::data(true, c(200), s(0), 100)),
        (80, Segment::new(false, ACK, s(0), c(100)).options(&sack(&[(200, 300)]))),
        (81, Segment::data(true, c(100), s(0), 100)),
        (121, Segment::new(false, ACK, s(0), c(300)).options(&sack(&[(100, 200)]))),
        (122, Segment::new(true, FIN | ACK, c(300), s(0))),
        (162, Segment::new(false, FIN | ACK, s(0), c(301))),
        (163, Segment::new(true, ACK, c(301), s(1))),
        (170, Segment::new(false, RST, s(1), 0)),
    ]);
    let [connection] = &all[..] else { panic!("{all:?}") };
    let about = &connection.about;
    assert_eq!((about.protocol, about.source), (Protocol::Tcp, Source::Capture));
    assert_eq!((&*about.name, &*about.identity), ("10.0.0.1:40000 to 10.0.0.2:443", "ffffff9b00000000"));
    assert_eq!(connection.gaps, []);
    assert_eq!(connection.vantage, [Side::Client]);
    let sizes: Vec<_> =
        connection.parameters.iter().map(|(side, p)| (*side, p.max_udp_payload_size)).collect();
    assert_eq!(sizes, [(Side::Client, Some(1460)), (Side::Server, Some(1460))]);

    let packets = &connection.packets;
    assert!(packets.iter().all(|packet| packet.ecn == Some(Ecn::Ect0)));
    let data: Vec<_> = packets.iter().filter(|p| p.bytes > 0).map(|p| (p.number, p.data())).collect();
    assert_eq!(data, [(Some(0), Some((0, 100))), (Some(1), Some((200, 100))), (Some(2), Some((100, 100)))]);
    let acks: Vec<_> = packets[3..].iter().map(|p| (p.cumulative(), p.limit)).collect();
    // Windows of 1000, times 2^7 of the client and 2^2 of the server.
    let (client, server) = (128_000, 4000);
    assert_eq!(
        acks,
        [
            (Some(0), Some(client)),
            (Some(0), Some(client)),
            (Some(100), Some(100 + server)),
            (Some(0), Some(client)),
            (Some(300), Some(300 + server)),
            (Some(0), Some(client)),
            (Some(301), Some(301 + server)),
            (Some(1), Some(1 + client)),
            (None, None),
        ]
    );
    assert_eq!(packets[5].acks[0].selective, [(200, 300)]);
    assert_eq!(packets[7].acks[0].selective, [(100, 200)], "a DSACK");
    let control: Vec<_> = packets.iter().map(|p| p.control).filter(|c| *c != Control::None).collect();
    assert_eq!(control, [Control::Opens, Control::Opens, Control::Ends, Control::Ends, Control::Resets]);
    assert_eq!(
        (packets[8].pieces[0].fin, packets[8].data(), packets[8].eliciting),
        (true, Some((300, 0)), true)
    );
    assert_eq!((packets[0].wire, packets[0].limit, packets[1].limit), (Some(48), None, Some(1000)));
}

/// A SYN with another number begins another connection. A repeated one does not.
#[test]
fn ports_that_are_used_again() {
    let again = handshake(0).remove(0);
    let other = Segment::new(true, SYN, 77, 0);
    let all = with(vec![(50, again.1), (60, other.clone()), (61, other)]);
    assert_eq!(all.iter().map(|c| c.packets.len()).collect::<Vec<_>>(), [4, 2]);
    assert_eq!(all[1].about.identity, "0000004d00000000");
}

/// 6 GB in steps of 1 GB: numbers wrap, offsets do not. Segments that the capture missed are told
/// with their bytes.
#[test]
fn long_streams() {
    let step = 1 << 30;
    let mut more = Vec::new();
    for n in 1..=6_u64 {
        more.push((100 * n, Segment::data(true, c((n * step) as u32), s(0), 1000)));
        more.push((100 * n + 40, Segment::new(false, ACK, s(0), c((n * step + 1000) as u32))));
    }
    let all = with(more);
    let data: Vec<_> = all[0].packets.iter().filter_map(Packet::data).collect();
    assert_eq!(data, (1..=6).map(|n| (n * step, 1000)).collect::<Vec<_>>());
    let holes = [0, 1000, 1000, 1000, 1000, 1000].map(|known| Gap::Missed(Some(step - known)));
    assert_eq!(all[0].gaps, holes);
}

/// Data that is captured shortly behind its acknowledgement is not missing.
#[test]
fn acks_before_data() {
    let all = with(vec![
        (80, Segment::new(false, ACK, s(0), c(100))),
        (81, Segment::data(true, c(0), s(0), 100)),
        (82, Segment::new(false, ACK, s(0), c(200))),
        (83, Segment::data(true, c(150), s(0), 50)),
    ]);
    assert_eq!(all[0].gaps, [Gap::Missed(Some(50))]);
}

#[test]
fn captures_that_begin_later() {
    let all = read(&build::segments(&[
        (0, Segment::data(false, 5000, 700, 100)),
        (1, Segment::new(true, ACK, 700, 5100)),
        (2, Segment::data(false, 4900, 700, 100)),
        (3, Segment::data(false, 4950, 700, 100)),
        (4, Segment::new(true, ACK, 700, 4950)),
    ]));
    let [connection] = &all[..] else { panic!("{all:?}") };
    assert_eq!(connection.gaps, [Gap::BeginsLater]);
    assert_eq!(
        (&*connection.about.name, &*connection.about.identity),
        ("10.0.0.1:40000 to 10.0.0.2:443", "")
    );
    let seen: Vec<_> =
        connection.packets.iter().map(|p| (p.from, p.data(), p.cumulative(), p.limit)).collect();
    assert_eq!(
        seen,
        [
            (Side::Server, Some((0, 100)), Some(0), None),
            (Side::Client, None, Some(100), None),
            (Side::Server, None, Some(0), None),
            (Side::Server, Some((0, 50)), Some(0), None),
            (Side::Client, None, Some(0), None),
        ]
    );
    // Data that was on its way when the capture began is not missing. Data later on is.
    let on_its_way = read(&build::segments(&[
        (0, Segment::new(true, ACK, 700, 1000)),
        (1, Segment::new(true, ACK, 700, 2000)),
        (2, Segment::data(false, 5000, 700, 100)),
        (3, Segment::new(true, ACK, 700, 5000)),
        (4, Segment::data(false, 5200, 700, 100)),
        (5, Segment::new(true, ACK, 700, 5300)),
    ]));
    assert_eq!(on_its_way[0].gaps, [Gap::BeginsLater, Gap::Missed(Some(100))]);
    let alone = read(&build::segments(&[(0, Segment::new(false, SYN | ACK, 9, 5))]));
    assert_eq!((&*alone[0].about.identity, alone[0].packets[0].from), ("0000000400000000", Side::Server));
    assert_eq!(alone[0].gaps, [Gap::BeginsLater]);
}

/// Headers that the snap length cuts, and lengths that only the IP header has.
#[test]
fn cut_packets() {
    let packets = [(54, 1), (40, 2), (30, 3), (48, 4)].map(|(size, ms)| {
        let segment = Segment::data(true, c(0), s(0), 1000).stamps(1, 2);
        let bytes = segment.bytes();
        (ms * 1_000_000, bytes[..size].to_vec(), bytes.len())
    });
    let all = read(&build::pcap(RAW, &packets));
    assert_eq!(
        all[0].packets.iter().map(|p| (p.bytes, p.timestamps)).collect::<Vec<_>>(),
        [(1000, Some((1, 2))), (1000, None), (1000, None),]
    );
    assert_eq!(all[0].gaps, [Gap::BeginsLater, Gap::Cut(3)]);
}

/// Segments above the MSS, and IP headers without a length.
#[test]
fn joined_segments() {
    let all = with(vec![
        (50, Segment::data(true, c(0), s(0), 1460)),
        (51, Segment::data(true, c(1460), s(0), 2920)),
        (52, Segment::data(true, c(4380), s(0), 1461)),
        (53, Segment::data(true, c(5841), s(0), 4380)),
    ]);
    assert_eq!(all[0].gaps, [Gap::Joined(2960), Gap::Joined(4420)]);
    let mut large = Segment::data(true, c(0), s(0), 30_000).bytes();
    large[2..4].copy_from_slice(&[0, 0]);
    let length = large.len();
    let all = read(&build::pcap(RAW, &[(1, large.clone(), length)]));
    assert_eq!(all[0].gaps, [Gap::BeginsLater, Gap::Joined(30_040)]);
    assert_eq!(all[0].packets[0].bytes, 30_000);
    let loopback = [[2, 0, 0, 0].as_slice(), &large].concat();
    let all = read(&build::pcap(0, &[(1, loopback, length + 4)]));
    assert_eq!(all[0].gaps, [Gap::BeginsLater], "BSD's loopback has no usual size");
}

#[test]
fn fragments() {
    let mut first = Segment::data(true, c(0), s(0), 400).bytes();
    first[6] = 0x20;
    let mut later = first.clone();
    later[7] = 52;
    let length = first.len();
    let all = read(&build::pcap(RAW, &[(1, first, length), (2, later, length)]));
    assert_eq!(all[0].packets.len(), 1);
    let what = "1 packets came as fragments of IP, which are not joined";
    assert_eq!(all[0].gaps, [Gap::BeginsLater, Gap::Other(what.to_owned())]);
}

#[test]
fn the_nearest_end() {
    let at = |way| read(&build::segments(&handshake(way)))[0].vantage.clone();
    assert_eq!(
        [at(0), at(4), at(10), at(16), at(20)],
        [vec![Side::Client], vec![Side::Client], vec![], vec![Side::Server], vec![Side::Server]]
    );
    // Later, by timestamps: the server sends data 40 ms after each ACK, the client answers at once.
    let round = |n: u32| {
        let at = u64::from(n) * 40;
        [
            (at, Segment::data(false, 100 * n, 1, 100).stamps(500 + n * 40, 900 + n * 40)),
            (at, Segment::new(true, ACK, 1, 100 * n + 100).stamps(940 + n * 40, 500 + n * 40)),
        ]
    };
    let later = read(&build::segments(&(0..8).flat_map(round).collect::<Vec<_>>()));
    assert_eq!(later[0].vantage, [Side::Client]);
}

/// Two interfaces that hold both ends, as our own captures do.
#[test]
fn both_ends_in_one_file() {
    let mut file = build::Bytes::new(false);
    file.section(false).interface(RAW, &[(2, b"client")]).interface(RAW, &[(2, b"server")]);
    for ((near, segment), (far, _)) in handshake(0).into_iter().zip(handshake(20)) {
        let bytes = segment.bytes();
        file.packet(0, near * 1000, &bytes, bytes.len());
        file.packet(1, far * 1000, &bytes, bytes.len());
    }
    let all = read(&file.all);
    let [client, server] = &all[..] else { panic!("{all:?}") };
    assert_eq!(client.about.identity, server.about.identity);
    assert_eq!(client.about.name, "10.0.0.1:40000 to 10.0.0.2:443, interface client");
    assert_eq!(server.about.name, "10.0.0.1:40000 to 10.0.0.2:443, interface server");
    assert_eq!((client.packets.len(), server.packets.len()), (3, 3));
    assert_eq!((&client.vantage[..], &server.vantage[..]), (&[Side::Client][..], &[Side::Server][..]));
}

/// A RST to a closed port is no connection. Thousands of SYNs are read in bounded memory.
#[test]
fn many_connections() {
    let packets: Vec<_> = (0..5000_u32)
        .map(|n| {
            let mut bytes = Segment::new(true, SYN, n, 0).bytes();
            bytes[20..22].copy_from_slice(&(n as u16).to_be_bytes());
            bytes[15] = (n >> 8) as u8;
            (u64::from(n) * 1000, bytes, 40)
        })
        .collect();
    let all = read(&build::pcap(RAW, &packets));
    assert_eq!(all.len(), 5000);
    let crowded =
        |c: &&Connection| c.gaps.iter().any(|gap| matches!(gap, Gap::Other(why) if why.contains("4096")));
    let idle = all.iter().filter(crowded).count();
    assert_eq!(idle, 1024, "a quarter of 4096 at once");
    assert!(all[..1024].iter().all(|connection| connection.gaps.len() == 1));
    let lost =
        build::segments(&[(0, Segment::new(false, RST | ACK, 0, 5)), (1, Segment::new(true, ACK, 1, 1))]);
    assert_eq!(read(&lost)[0].packets.len(), 1);
    assert_eq!((CLIENT.1, SERVER.1), (40_000, 443));
}

/// A capture of Linux over a lossy link, cut to 80 bytes a packet, against tshark's fields.
#[test]
fn linux_as_tshark_reads_it() {
    let all = read(include_bytes!("../captures/tcp.pcap"));
    let mut packets: Vec<_> = all.iter().flat_map(|connection| &connection.packets).collect();
    // The sort is stable, and the connections do not share a time.
    packets.sort_by_key(|packet| packet.at);
    let lines: Vec<&str> = include_str!("../captures/tcp.tshark.csv").lines().collect();
    let compared = packets.iter().zip(&lines).filter(|(packet, line)| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse::<u64>().unwrap();
        let list = |at: usize| fields[at].split(' ').filter_map(|n| n.parse::<u64>().ok()).map(|n| n - 1);
        assert_eq!(packet.from == Side::Client, fields[0] == "10.64.0.1", "{line}");
        assert_eq!(packet.wire.map(u64::from), Some(number(1)), "{line}");
        assert_eq!(u64::from(packet.bytes), number(3), "{line}");
        if number(3) > 0 {
            assert_eq!(packet.data(), Some((number(2) - 1, number(3))), "{line}");
        }
        if let Some(ack) = packet.acks.first() {
            assert_eq!(ack.cumulative, Some(number(4).saturating_sub(1)), "{line}");
            assert_eq!(ack.selective, list(5).zip(list(6)).collect::<Vec<_>>(), "{line}");
        }
        assert_eq!(packet.timestamps.map(|t| (u64::from(t.0), u64::from(t.1))), Some((number(8), number(9))));
        true
    });
    assert_eq!((compared.count(), lines.len()), (packets.len(), packets.len()));
    let control = |packet: &&&Packet| packet.control == Control::Opens;
    assert_eq!(packets.iter().filter(control).count(), 2);
    assert!(packets[0].at > Time::from_millis(1_700_000_000_000));
}
