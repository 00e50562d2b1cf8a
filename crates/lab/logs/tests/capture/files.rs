//! Formats of files and their damage.

use ackclock_logs::capture;
use ackclock_logs::event::Gap;
use units::{Duration, Time};

use crate::build::{self, ACK, Bytes, ETHERNET, RAW, SYN, Segment};
use crate::recorder::{Connection, Recorder, read, try_read};

/// Time of the packets: seconds and milliseconds.
const AT: (u32, u32) = (1_700_000_000, 250);
const NANOSECONDS: u64 = 1_700_000_000_250_000_000;

fn syn() -> Vec<u8> {
    Segment::new(true, SYN, 9, 0).bytes()
}

fn times(all: &[Connection]) -> Vec<u64> {
    all.iter().flat_map(|connection| &connection.packets).map(|packet| packet.at.0).collect()
}

#[test]
fn all_forms_of_pcap() {
    for big in [false, true] {
        for (magic, per_ms) in [(0xa1b2_c3d4, 1000), (0xa1b2_3c4d, 1_000_000), (0xa1b2_cd34_u32, 1000)] {
            let mut file = Bytes::new(big);
            file.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(65_535).u32(RAW | 0x1400_0000);
            let data = syn();
            for _ in 0..2 {
                file.u32(AT.0).u32(AT.1 * per_ms).u32(data.len() as u32).u32(data.len() as u32);
                if magic == 0xa1b2_cd34 {
                    file.u32(3).u16(0).u16(0);
                }
                file.all.extend(&data);
            }
            assert!(capture::looks_like(&file.all[..12]));
            assert_eq!(times(&read(&file.all)), [NANOSECONDS; 2], "{magic:x} {big}");
        }
    }
}

#[test]
fn sections_interfaces_and_resolutions() {
    let data = syn();
    let mut file = Bytes::new(false);
    file.section(false);
    // Milliseconds, with an offset of 100 s.
    let offset = 100_u64.to_le_bytes();
    file.interface(RAW, &[(2, b"a"), (9, &[3]), (14, &offset)]);
    file.block(4, &[0; 8]).block(0x0bad_cafe, &[1; 8]);
    file.packet(0, 1_699_999_900_250, &data, data.len());
    // 2^-20 s: a quarter of a second is 2^18.
    file.interface(RAW, &[(9, &[0x80 | 20])]);
    file.packet(1, (1_700_000_000 << 20) + (1 << 18), &data, data.len());
    file.section(true);
    file.interface(RAW, &[(14, &100_u64.to_be_bytes())]);
    file.packet(0, 1_699_999_900_250_000, &data, data.len());
    // The packet block of old files, and a simple packet, which has no time.
    let mut old = Bytes::new(true);
    let ticks = NANOSECONDS / 1000 - 100_000_000;
    old.u16(0).u16(0).u32((ticks >> 32) as u32).u32(ticks as u32);
    old.u32(data.len() as u32).u32(data.len() as u32).all.extend(&data);
    file.block(2, &old.all);
    let mut simple = Bytes::new(true);
    simple.u32(data.len() as u32).all.extend(&data);
    file.block(3, &simple.all);
    let all = read(&file.all);
    assert_eq!(times(&all), [NANOSECONDS; 5]);
    let names: Vec<&str> = all.iter().map(|connection| &*connection.about.name).collect();
    assert_eq!(
        names,
        [
            "10.0.0.1:40000 to 10.0.0.2:443",
            "10.0.0.1:40000 to 10.0.0.2:443, interface 1",
            "10.0.0.1:40000 to 10.0.0.2:443, interface 2",
        ]
    );
    let untimed = Gap::Other("1 packets have no time in the file".to_owned());
    assert!(all[2].has(&untimed) && !all[0].has(&untimed));
}

/// The packets around damage are read, and the connection says that some are missing.
#[test]
fn damage_in_the_middle() {
    let ack = |ms: u64| (NANOSECONDS + ms * 1_000_000, Segment::new(true, ACK, 10, 5).bytes(), 40);
    let packets: Vec<_> = (0..6).map(ack).collect();
    for damaged in [0, 4, 8, 12, 20] {
        let mut file = build::pcap(RAW, &packets);
        // The third record.
        let at = 24 + 2 * 56 + damaged;
        file[at..at + 4].copy_from_slice(&[0xff; 4]);
        let all = read(&file);
        let count = all[0].packets.len();
        if damaged == 4 || damaged == 8 {
            assert_eq!(count, 5, "at {damaged}");
            let reason = "byte 136: this is no header of a packet".to_owned();
            assert!(all[0].has(&Gap::Unreadable(1, reason)));
        }
    }
    // Bytes that are missing inside a packet, so that it takes some of the next header. Both are
    // lost.
    for missing in 1..16 {
        let mut file = build::pcap(RAW, &packets);
        file.drain(24 + 2 * 56 + 20..24 + 2 * 56 + 20 + missing);
        let all = read(&file);
        assert_eq!(all[0].packets.len(), 4, "{missing}");
        assert!(all[0].gaps.iter().any(|gap| matches!(gap, Gap::Unreadable(1, _))));
    }
    let mut file = build::pcap(RAW, &packets);
    file.splice(24 + 2 * 56..24 + 2 * 56, vec![0; 1003]);
    let all = read(&file);
    assert_eq!(all[0].packets.len(), 6, "a hole of zeros");
    file.truncate(file.len() - 3);
    let all = read(&file);
    assert!(all[0].has(&Gap::Truncated) && all[0].has(&Gap::Cut(1)));
    assert_eq!(all[0].packets.len(), 5);

    let mut file = Bytes::new(false);
    file.section(false).interface(RAW, &[]);
    let begin = file.all.len();
    for at in 0..6 {
        file.packet(0, at, &Segment::new(true, ACK, 10, 5).bytes(), 40);
    }
    let size = (file.all.len() - begin) / 6;
    let mut damaged = file.all.clone();
    damaged[begin + 2 * size + 4] = 0xfd;
    let all = read(&damaged);
    assert_eq!(all[0].packets.len(), 5);
    let reason = format!("byte {}: this is no block of a pcapng file", begin + 2 * size);
    assert!(all[0].has(&Gap::Unreadable(1, reason)), "{:?}", all[0].gaps);
    damaged.splice(begin + size..begin + size, [1, 2, 3, 4, 5]);
    assert_eq!(read(&damaged)[0].packets.len(), 5);
    // A packet of an interface that is not described.
    let mut unknown = file.clone();
    unknown.packet(7, 9, &[1; 4], 4);
    assert!(matches!(read(&unknown.all)[0].gaps[..], [Gap::BeginsLater, Gap::Unreadable(1, _)]));
    unknown.all.truncate(unknown.all.len() - 5);
    assert!(read(&unknown.all)[0].has(&Gap::Truncated));
}

#[test]
fn files_without_connections() {
    let message = |file: &[u8]| try_read(file, None).unwrap_err().to_string();
    assert_eq!(message(b"{}"), "file.pcap, byte 0: it is no packet capture: give pcap or pcapng");
    assert_eq!(message(b""), "file.pcap, byte 0: it is no packet capture: give pcap or pcapng");
    assert!(!capture::looks_like(b"\x1f\x8b\x08") && !capture::looks_like(b"\x0a\x0d\x0d\x0a"));
    assert_eq!(message(&build::pcap(RAW, &[])), "file.pcap: it has no packets");
    let wireless = build::pcap(127, &[(1_000_000_000, vec![1; 30], 30)]);
    assert_eq!(
        message(&wireless),
        "file.pcap: 1 frames are of link type 127, which cannot be read: capture at an Ethernet or cooked \
         interface"
    );
    let dns = build::udp(build::CLIENT, ([9, 9, 9, 9], 53), &[0x12, 0x34, 1, 0, 0, 1]);
    let arp = [[2; 12].as_slice(), &[8, 6, 0, 1]].concat();
    let ethernet = [[2; 12].as_slice(), &[8, 0], &dns].concat();
    let packets = [(1, ethernet.clone(), ethernet.len()), (2, arp, 60)];
    assert_eq!(
        message(&build::pcap(ETHERNET, &packets)),
        "file.pcap: it has no connection of TCP or QUIC, only 1 UDP datagrams that are not QUIC, 1 frames \
         without an IP packet"
    );
}

#[test]
fn stops_when_asked() {
    let ack = |ms: u64| (ms * 1_000_000, Segment::data(true, 10, 5, 1000).bytes(), 1040);
    let file = build::pcap(RAW, &(1..5000).map(ack).collect::<Vec<_>>());
    let mut recorder = Recorder::stopping(10);
    capture::read(&file[..], "file", None, &mut recorder).unwrap();
    // At the first question, after half a megabyte of records of 1056 bytes.
    assert!((400..600).contains(&recorder.all[0].packets.len()), "{}", recorder.all[0].packets.len());
}

#[test]
fn times_that_run_backwards() {
    let ack = |ms: u64| (ms * 1_000_000, Segment::new(true, ACK, 10, 5).bytes(), 40);
    let all = read(&build::pcap(RAW, &[ack(5000), ack(5003), ack(5001), ack(5004)]));
    assert_eq!(times(&all), [5_000, 5_003, 5_003, 5_004].map(|ms: u64| ms * 1_000_000));
    assert!(all[0].has(&Gap::Backwards(Duration::from_millis(2))));
    assert_eq!(all[0].packets[3].at, Time::from_millis(5004));
}

/// Damage without end, during which the sink asks to stop.
#[test]
fn stops_in_damage() {
    for mut file in [build::pcap(RAW, &[(1, Segment::new(true, ACK, 1, 1).bytes(), 40)]), {
        let mut file = Bytes::new(false);
        file.section(false).interface(RAW, &[]).packet(0, 1, &Segment::new(true, ACK, 1, 1).bytes(), 40);
        file.all
    }] {
        file.resize(8 << 20, 0xa5);
        let read = std::cell::Cell::new(0);
        let counted = Counted(&file, &read);
        capture::read(counted, "file", None, &mut Recorder::stopping(1)).unwrap();
        assert!((512 << 10..2 << 20).contains(&read.get()), "{}", read.get());
    }
}

/// A reader that fails: the events before that are told.
#[test]
fn failures_to_read() {
    struct Failing(std::io::ErrorKind);
    impl std::io::Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }
    }
    let ack = |ms: u64| (ms * 1_000_000, Segment::new(true, ACK, 1, 1).bytes(), 40);
    let file = build::pcap(RAW, &[ack(1), ack(2)]);
    let read = |kind| {
        let mut recorder = Recorder::default();
        let input = std::io::Read::chain(&file[..file.len() - 9], Failing(kind));
        (capture::read(input, "file", None, &mut recorder), recorder.all)
    };
    let (result, all) = read(std::io::ErrorKind::UnexpectedEof);
    assert_eq!(result, Ok(()));
    assert_eq!((all[0].packets.len(), all[0].has(&Gap::Truncated)), (1, true));
    let (result, all) = read(std::io::ErrorKind::TimedOut);
    assert_eq!(result.unwrap_err().to_string(), "file, byte 80: it cannot be read: timed out");
    assert_eq!(all[0].packets.len(), 1);
}

struct Counted<'a>(&'a [u8], &'a std::cell::Cell<usize>);

impl std::io::Read for Counted<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.0.read(out)?;
        self.1.set(self.1.get() + n);
        Ok(n)
    }
}
