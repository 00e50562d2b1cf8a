//! Reads the input as qlog, flent or iperf3, and replays it. Nothing panics, events of a connection
//! come in the order of time, and ranges of ACKs ascend.
#![no_main]

use congestion::{Entry, Registry};
use libfuzzer_sys::fuzz_target;
use logs::event::{About, Event, Sink};
use logs::replay::Replays;
use logs::{flent, iperf3, qlog};
use units::Time;

/// Checks what every consumer relies on.
#[derive(Default)]
struct Check {
    newest: Vec<Time>,
}

impl Sink for Check {
    fn open(&mut self, _: About) -> usize {
        self.newest.push(Time::ZERO);
        self.newest.len() - 1
    }

    fn event(&mut self, connection: usize, at: Time, event: &Event<'_>) {
        if let Event::Packet(packet) = event {
            for ack in packet.acks {
                assert!(ack.ranges.iter().all(|(from, to)| from <= to));
                assert!(ack.ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
            }
        }
        assert!(at >= self.newest[connection]);
        self.newest[connection] = at;
    }
}

fuzz_target!(|text: &[u8]| {
    let _ = (qlog::looks_like(text), flent::looks_like(text), iperf3::looks_like(text));
    let _ = qlog::read(text, "fuzz", &mut Check::default());
    let bbr = Registry::default().get("bbr3").map(Entry::algorithm);
    let unknown = Box::new(|_: &str, _: Option<&str>| Err(String::new()));
    let _ = qlog::read(text, "fuzz", &mut Replays::new(bbr, unknown));
    let _ = flent::read(text, "fuzz", &mut Check::default());
    let _ = iperf3::read(text, "fuzz", &mut Check::default());
});
