//! Speed of large files, which are made while they are read.

use std::io::{self, Read};
use std::time::Instant;

use ackclock_logs::capture;
use ackclock_logs::event::{About, Event, Sink};
use units::Time;

use crate::build::{self, ETHERNET, RAW, Segment};

/// Number of packets, and of connections they belong to.
const PACKETS: u32 = 1_000_000;
const CONNECTIONS: u32 = 1000;

#[derive(Default)]
struct Count {
    connections: usize,
    bytes: u64,
}

impl Sink for Count {
    fn open(&mut self, _: About) -> usize {
        self.connections += 1;
        self.connections - 1
    }

    fn event(&mut self, _: usize, _: Time, event: &Event<'_>) {
        if let Event::Packet(packet) = event {
            self.bytes += u64::from(packet.bytes);
        }
    }
}

/// File that repeats a pair of records: a segment with data and its acknowledgement.
struct Repeated {
    made: u32,
    buffer: Vec<u8>,
    read: usize,
    /// Captured bytes of a data segment.
    snaplen: usize,
    link: u32,
    size: u64,
}

impl Repeated {
    fn new(link: u32, snaplen: usize) -> Self {
        Self { made: 0, buffer: build::pcap(link, &[]), read: 0, snaplen, link, size: 0 }
    }

    fn make(&mut self) {
        let (round, connection) = (self.made / CONNECTIONS, self.made % CONNECTIONS);
        let seq = round * 1448;
        let layer: &[u8] =
            if self.link == ETHERNET { &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0] } else { &[] };
        let pair = [Segment::data(true, seq, 1, 1448), Segment::new(false, build::ACK, 1, seq + 1448)];
        let records = pair.map(|segment| {
            let mut bytes = segment.stamps(round, round).bytes();
            let port = if segment_is_from_client(&bytes) { 20 } else { 22 };
            bytes[port..port + 2].copy_from_slice(&(40_000 + connection as u16).to_be_bytes());
            let frame = [layer, &bytes].concat();
            let length = frame.len();
            (u64::from(self.made) * 1000, frame[..length.min(self.snaplen)].to_vec(), length)
        });
        self.buffer = build::pcap(self.link, &records).split_off(24);
        self.read = 0;
        self.made += 1;
    }
}

fn segment_is_from_client(packet: &[u8]) -> bool {
    packet[12..16] == build::CLIENT.0
}

impl Read for Repeated {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.read == self.buffer.len() {
            if self.made * 2 >= PACKETS {
                return Ok(0);
            }
            self.make();
        }
        let n = out.len().min(self.buffer.len() - self.read);
        out[..n].copy_from_slice(&self.buffer[self.read..self.read + n]);
        self.read += n;
        self.size += n as u64;
        Ok(n)
    }
}

/// The time of making the file counts as well. Run with
/// `cargo test --release -p ackclock-logs --test capture speed -- --ignored --nocapture`.
#[test]
#[ignore = "prints a speed"]
fn speed() {
    for (link, snaplen) in [(RAW, 65_535), (ETHERNET, 65_535), (ETHERNET, 96)] {
        let mut made = Repeated::new(link, snaplen);
        let begin = Instant::now();
        io::copy(&mut made, &mut io::sink()).unwrap();
        let making = begin.elapsed().as_secs_f64();
        let (mut file, mut count) = (Repeated::new(link, snaplen), Count::default());
        let begin = Instant::now();
        capture::read(&mut file, "file", None, &mut count).unwrap();
        let seconds = begin.elapsed().as_secs_f64() - making;
        assert_eq!((count.connections, count.bytes), (CONNECTIONS as usize, u64::from(PACKETS / 2) * 1448));
        let megabytes = file.size as f64 / 1e6;
        println!(
            "{CONNECTIONS} connections, snap length {snaplen}: {megabytes:.0} MB, {:.0} MB/s, {:.2} million packets/s",
            megabytes / seconds,
            f64::from(PACKETS) / 1e6 / seconds
        );
    }
}
