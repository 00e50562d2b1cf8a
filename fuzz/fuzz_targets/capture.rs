//! Reads the input as a packet capture: pcap, pcapng, or the packets of one behind a header that is
//! correct. Nothing panics or hangs, times do not run backwards, and an error has a message.
#![no_main]

use ackclock_quic::passive::KeyLog;
use libfuzzer_sys::fuzz_target;
use logs::capture;
use logs::event::{About, Event, Sink};
use units::Time;

const KEYS: &str = include_str!("../../crates/lab/logs/tests/captures/quic.keys");
/// Header of a pcap file in little endian, with nanoseconds and raw IP.
const HEADER: [u8; 24] =
    [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0];
/// Largest number of events per byte: a datagram may hold packets of seven bytes, and each has
/// three.
const EVENTS: usize = 4;

#[derive(Default)]
struct Checks {
    last: Vec<Time>,
    events: usize,
}

impl Sink for Checks {
    fn open(&mut self, _: About) -> usize {
        self.last.push(Time::ZERO);
        self.last.len() - 1
    }

    fn event(&mut self, connection: usize, at: Time, _: &Event<'_>) {
        assert!(at >= self.last[connection]);
        self.last[connection] = at;
        self.events += 1;
    }
}

fn read(file: &[u8], keys: &KeyLog) {
    let mut checks = Checks::default();
    if let Err(error) = capture::read(file, "file", Some(keys), &mut checks) {
        assert!(!error.message.is_empty());
    }
    assert!(checks.events <= EVENTS * file.len() + 100);
}

fuzz_target!(|data: &[u8]| {
    let keys = KeyLog::parse(KEYS);
    read(data, &keys);
    read(&[&HEADER, data].concat(), &keys);
});
