//! Logs that other programs wrote.

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use ackclock_logs::event::{About, Event, Gap, Sink, Trigger};
use ackclock_logs::{Error, Input, flent, iperf3, open, qlog};
use flate2::Compression;
use flate2::write::GzEncoder;
use quic::Side;
use units::{Duration, Time};

/// Numbers of events, and some of their values.
#[derive(Default)]
struct Found {
    abouts: Vec<About>,
    sent: u64,
    received: u64,
    bytes: u64,
    /// Packets that ACKs cover, with repeats.
    acked: u64,
    lost: Vec<(Option<u64>, Option<Trigger>)>,
    windows: Vec<u64>,
    rtts: Vec<Duration>,
    states: Vec<String>,
    timers: u64,
    parameters: Vec<Side>,
    intervals: Vec<(Option<Side>, Option<u64>, bool)>,
    pings: Vec<Duration>,
    gaps: Vec<Gap>,
    times: Vec<Time>,
}

impl Sink for Found {
    fn open(&mut self, about: About) -> usize {
        self.abouts.push(about);
        self.abouts.len() - 1
    }

    fn event(&mut self, connection: usize, at: Time, event: &Event<'_>) {
        self.times.push(at);
        let here = self.abouts[connection].vantage;
        match event {
            Event::Packet(packet) => {
                *(if Some(packet.from) == here { &mut self.sent } else { &mut self.received }) += 1;
                self.bytes += packet.pieces.iter().map(|piece| piece.len).sum::<u64>();
                let ranges = packet.acks.iter().flat_map(|ack| &ack.ranges);
                self.acked += ranges.map(|(from, to)| to - from + 1).sum::<u64>();
            }
            Event::Lost { number, trigger, .. } => self.lost.push((*number, *trigger)),
            Event::Metrics(metrics) => {
                self.windows.extend(metrics.cwnd);
                self.rtts.extend(metrics.latest_rtt);
            }
            Event::State { new, .. } => self.states.push((*new).to_owned()),
            Event::Timer { .. } => self.timers += 1,
            Event::Parameters { from, .. } => self.parameters.push(*from),
            Event::Interval(interval) if interval.is_ping => self.pings.extend(interval.rtt),
            Event::Interval(interval) => {
                self.intervals.push((interval.from, interval.bytes, interval.is_sent));
            }
            Event::Gap(gap) => self.gaps.push(gap.clone()),
            Event::AppLimited(_) | Event::Vantage(_) | Event::Call(_) => {}
        }
    }
}

type Reader = fn(Input, &str, &mut dyn Sink) -> Result<(), Error>;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs").join(name)
}

fn read(name: &str) -> Found {
    let mut found = Found::default();
    let input = open(&path(name)).unwrap();
    let formats: [(bool, Reader); 3] = [
        (qlog::looks_like(input.first()), qlog::read),
        (flent::looks_like(input.first()), flent::read),
        (iperf3::looks_like(input.first()), iperf3::read),
    ];
    let mut fitting = formats.iter().filter(|(fits, _)| *fits);
    let (_, reader) = fitting.next().unwrap();
    assert!(fitting.next().is_none(), "{name}");
    reader(input, name, &mut found).unwrap();
    found
}

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

#[test]
fn aioquic() {
    let found = read("aioquic-server.qlog");
    // The vantage point comes after the events. The first packet received shows it.
    assert_eq!(found.abouts[0].vantage, Some(Side::Server));
    assert_eq!(found.abouts[0].identity, "b49e6cba24ff64d8");
    assert_eq!((found.sent, found.received, found.acked), (2, 4, 3));
    assert_eq!(found.lost, [(Some(165), None), (Some(166), None)]);
    assert_eq!(found.windows.last(), Some(&25_978));
    assert_eq!(found.rtts[0], Duration(2_109_867));
    assert_eq!(found.parameters, [Side::Server, Side::Client]);
    // 28 November 2026, 18:58:24 UTC.
    assert_eq!(found.times[0].0 / 1_000_000_000, 1_795_892_304);
    assert_eq!(found.gaps, []);
}

#[test]
fn quic_go() {
    let found = read("quic-go-server.sqlog");
    assert_eq!(found.abouts[0].vantage, Some(Side::Server));
    assert_eq!(found.abouts[0].program.as_deref(), Some("quic-go qlog v0.65.0"));
    assert_eq!((found.sent, found.received, found.bytes, found.acked), (5, 6, 2519, 37));
    assert_eq!(found.windows, [40_960; 4]);
    let states = ["slow_start", "application_limited", "slow_start", "application_limited"];
    assert_eq!((found.states.as_slice(), found.timers), (&states.map(str::to_owned)[..], 1));
    // From the wall clock beside the monotonic one.
    assert_eq!(found.times[0].0 / 1_000_000_000, 1_795_892_302);
    assert_eq!(found.gaps, []);
}

#[test]
fn ngtcp2() {
    let found = read("ngtcp2-server.sqlog");
    assert_eq!(found.abouts[0].program.as_deref(), Some("ngtcp2"));
    assert_eq!((found.sent, found.received, found.bytes, found.acked), (6, 5, 2338, 17));
    assert_eq!(found.windows, [14_520, 14_520, 14_520, 14_520, 15_241, 15_241]);
    assert_eq!(found.parameters, [Side::Client, Side::Server]);
    assert_eq!(found.gaps, []);
}

#[test]
fn noq() {
    let found = read("noq-server.qlog");
    assert_eq!(found.abouts[0].program.as_deref(), Some("noq"));
    assert_eq!((found.sent, found.received, found.bytes, found.acked), (4, 4, 2594, 207));
    // The initial RTT is no sample.
    assert_eq!((found.windows.as_slice(), found.rtts.as_slice()), (&[12_000][..], &[us(3094)][..]));
    assert_eq!(found.timers, 6);
    assert_eq!(found.gaps, []);
}

/// No vantage point, two group IDs of one connection, no frames, RTTs in seconds.
#[test]
fn quinn() {
    let found = read("quinn-client.sqlog");
    assert_eq!((found.abouts.len(), found.abouts[0].vantage), (1, Some(Side::Client)));
    assert_eq!((found.sent, found.received, found.bytes), (4, 5, 0));
    assert_eq!(found.rtts, [Duration(7_025_119), Duration(2_118_176), Duration(1_022_282)]);
    let words = ["lacks frames", "in seconds", "lacks sizes and frames"];
    assert_eq!(found.gaps.len(), words.len(), "{:?}", found.gaps);
    for (gap, word) in found.gaps.iter().zip(words) {
        assert!(matches!(gap, Gap::Other(text) if text.contains(word)), "{gap:?}");
    }
}

/// Both of our dialects, QUIC and TCP.
#[test]
fn our_own() {
    for (name, acked, trigger) in [
        ("ackclock-sender.sqlog", 3, Trigger::PacketThreshold),
        ("ackclock-tcp-sender.sqlog", 5, Trigger::TimeThreshold),
    ] {
        let found = read(name);
        assert_eq!(found.abouts[0].vantage, Some(Side::Server));
        assert_eq!(found.abouts[0].program.as_deref(), Some("ackclock"));
        assert_eq!((found.sent, found.received, found.acked), (13, 3, acked));
        assert_eq!((found.lost.len(), found.lost[0]), (5, (Some(5), Some(trigger))));
        assert_eq!(found.states, ["slow_start", "recovery"]);
        assert_eq!((found.windows.len(), found.rtts.len()), (1, 1));
        assert_eq!(found.gaps, []);
    }
}

#[test]
fn iperf3_in_both_directions() {
    let found = read("iperf3-bidirectional.json");
    assert_eq!(found.abouts.len(), 2);
    assert_eq!(
        found.intervals,
        [
            (Some(Side::Client), Some(3_150_970_880), true),
            (Some(Side::Client), Some(3_150_970_880), false),
            (Some(Side::Server), Some(1_027_932_107), false),
            (Some(Side::Server), Some(1_032_847_360), true),
        ]
    );
    assert_eq!(found.gaps, []);
}

#[test]
fn flent_through_gzip() {
    let found = read("flent-ping.flent.gz");
    assert_eq!(found.abouts[0].name, "mine: Ping (ms) ICMP");
    assert_eq!(found.pings, [us(23), us(40), us(41), us(53), us(42)]);
    assert_eq!(found.gaps, []);
}

/// A compressed file that was cut is read as far as it goes.
#[test]
fn cut_gzip() {
    let text = std::fs::read(path("ackclock-sender.sqlog")).unwrap();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&text).unwrap();
    let mut packed = packed.finish().unwrap();
    packed.truncate(packed.len() / 2);
    let mut found = Found::default();
    let input = Input::new(Cursor::new(packed), "x").unwrap();
    assert!(qlog::looks_like(input.first()));
    qlog::read(input, "x", &mut found).unwrap();
    assert!((1..13).contains(&found.sent));
    assert!(matches!(&found.gaps[0], Gap::Other(text) if text.contains("cannot be read to its end")));
    assert_eq!(found.gaps.last(), Some(&Gap::Truncated));
}
