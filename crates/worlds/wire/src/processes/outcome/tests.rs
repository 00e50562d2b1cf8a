//! Tests with a flow of four packets and known traffic.

use crate::emu::Segment;
use crate::emu::capture::row::End;
use congestion::Algorithm;
use link::{DropReason, LinkConfig};
use quic::Level;
use scenario::Transport;
use scenario::trace::Event as Traced;
use units::{Ecn, Rate};

use super::*;
use crate::processes::capture::Captured;
use quic::passive::{KeyLog, Packet};

const MS: u64 = 1_000_000;
const PORT: u16 = 7000;

fn ms(ms: u64) -> Time {
    Time(ms * MS)
}

fn scenario(handshake: bool) -> Scenario {
    let (rate, rtt) = (Rate(10_000_000), Duration::from_millis(20));
    let link = LinkConfig { delay: rtt / 2, ..LinkConfig::plain(rate) };
    let cubic = Algorithm::all().into_iter().find(|algorithm| algorithm.name() == "cubic").unwrap();
    let flow = FlowConfig::new("cubic", cubic, Transport::default(), rtt);
    let flow = FlowConfig { transfer: Some(4000), handshake, ..flow };
    Scenario {
        series: Some(Duration::from_millis(10)),
        trace: true,
        ..Scenario::new(link, [flow], Duration::from_secs(1))
    }
}

/// Returns a packet with 1000 bytes of the response. Piece 3 is the last.
fn data(number: u64, piece: u8) -> Packet {
    let offset = u16::from(piece) * 1000;
    // STREAM with offset and length, in two bytes each.
    let mut payload = vec![0x0e | u8::from(piece == 3), 0];
    payload.extend((0x4000 | offset).to_be_bytes());
    payload.extend((0x4000_u16 | 1000).to_be_bytes());
    payload.resize(payload.len() + 1000, 7);
    Packet::read(Level::OneRtt, number, 1037, &payload)
}

/// Returns an ACK of packet 0 and of packets 2 to `to`; without `to`, an ACK of packet 0 only.
fn ack(number: u64, to: Option<u8>) -> Packet {
    let payload = match to {
        None => vec![0x02, 0, 0, 0, 0],
        Some(to) => vec![0x02, to, 0, 1, to - 2, 0, 0],
    };
    Packet::read(Level::OneRtt, number, 40, &payload)
}

struct World {
    reader: TrafficReader,
    rows: Vec<Row>,
}

impl World {
    fn see(&mut self, at: u64, from: usize, seen_by: usize, packet: &Packet) {
        let ports = if from == 0 { [999, PORT] } else { [PORT, 999] };
        let payload = vec![0; packet.bytes as usize];
        let captured = Captured { at: ms(at), seen_by, from, ports, ecn: Ecn::NotEct, payload };
        let fate = (from == seen_by).then(|| Fates::from_rows(&self.rows).take(&captured)).flatten();
        self.reader.take_opened(&captured, std::slice::from_ref(packet), fate);
    }

    /// Sends a packet. It leaves the queue after one millisecond. If it `arrives`, it does so ten
    /// milliseconds later.
    fn send(&mut self, at: u64, from: usize, packet: &Packet, arrives: bool) {
        let segment =
            Segment { protocol: 17, source: if from == 0 { 999 } else { PORT }, ..Segment::default() };
        let end = match arrives {
            true => End::Delivered { at: ms(at + 11), late: Duration::ZERO },
            false => End::Dropped { at: ms(at), reason: DropReason::QueueFull },
        };
        self.rows.push(Row {
            from,
            arrival: ms(at),
            size: packet.bytes + 42,
            flow: 1,
            departure: arrives.then_some(ms(at + 1)),
            marked: false,
            end,
            segment: Some(segment),
        });
        self.see(at, from, from, packet);
    }
}

/// Returns a run in which four packets leave at 500, 501, 502 and 503 ms and take 11 ms each. The
/// second is dropped. Its data is sent again at 530 ms, and once more, needlessly, at 531 ms. A
/// handshake precedes all this, from 100 ms on.
fn world() -> World {
    let mut world = World { reader: TrafficReader::new(KeyLog::default()), rows: Vec::new() };
    let hello = Packet::read(Level::Initial, 0, 1200, &[1]);
    world.send(100, 0, &hello, true);
    world.send(112, 1, &hello, true);
    world.send(124, 0, &Packet::read(Level::OneRtt, 0, 40, &[1]), true);
    for (number, lost) in [(0, false), (1, true), (2, false), (3, false)] {
        world.send(500 + u64::from(number), 1, &data(number.into(), number), !lost);
    }
    for (number, piece) in [(0, None), (2, Some(2)), (3, Some(3))] {
        world.see(511 + number, 1, 0, &data(number, number as u8));
        world.send(511 + number, 0, &ack(10 + number, piece), true);
    }
    for (number, to) in [(0, None), (2, Some(2)), (3, Some(3))] {
        world.see(522 + number, 0, 1, &ack(10 + number, to));
    }
    world.send(530, 1, &data(4, 1), true);
    world.send(531, 1, &data(5, 1), true);
    world.see(541, 1, 0, &data(4, 1));
    world.see(542, 1, 0, &data(5, 1));
    world.see(552, 0, 1, &ack(20, Some(4)));
    world
}

fn outcome_of(handshake: bool) -> Outcome {
    let World { reader, rows } = world();
    outcome(&scenario(handshake), &rows, Default::default(), &[reader.finish()])
}

#[test]
fn what_the_traffic_tells() {
    let traffic = world().reader.finish();
    assert_eq!((traffic.first, traffic.connected), (Some(ms(100)), Some(ms(124))));
    assert_eq!((traffic.first_data, traffic.complete), (Some(ms(500)), Some(ms(541))));
    assert_eq!(traffic.lost, [(1, ms(530))], "the data of 4 was sent again, too, but 4 is acknowledged");
    let reading = Reading::from_traffic(&traffic);
    let span = |of: u64| Some(Duration::from_millis(of));
    assert_eq!((reading.handshake, reading.completion), (span(24), span(441)));
    // Four packets and the Initial: Initial keys are never discarded here.
    let most = traffic.in_flight.iter().map(|(_, bytes)| *bytes).max();
    assert_eq!(most, Some(4 * 1037 + 1200));
    let vain: u64 = traffic
        .events
        .iter()
        .map(|(_, event)| match event {
            traffic::Event::FeedbackReceived { spurious, .. } => *spurious,
            _ => 0,
        })
        .sum();
    assert_eq!(vain, 1);
}

#[test]
fn the_run_begins_with_the_first_data_and_ends_with_the_last() {
    let outcome = outcome_of(false);
    let flow = &outcome.flows[0];
    assert_eq!((flow.started, flow.finished, outcome.end), (Time::ZERO, Some(ms(41)), ms(41)));
    let (stats, totals) = (&flow.stats, &flow.totals);
    assert_eq!((stats.sent, stats.sent_bytes, stats.retransmissions), (6, 6 * 1037, 2));
    assert_eq!((stats.lost(), stats.spurious), (1, 0), "4 is acknowledged after the end");
    assert_eq!((totals.packets, totals.sent, totals.wire), (6, 6000, 6 * 1079));
    assert_eq!((totals.dropped, totals.redundant, flow.delivered), (1, 0, 4000));
    assert_eq!((totals.rtt.count(), totals.rtt.mean_ms()), (3, 22.0));
    assert_eq!((totals.owd.count(), totals.owd.mean_ms()), (4, 11.0));
    assert_eq!(totals.queue_delay.mean_ms(), 1.0);
    // By the end three packets have arrived, and the retransmission arrives at that moment.
    assert_eq!((outcome.link.delivered.packets, outcome.link.delivered.bytes), (4, 4 * 1079));
    // One more has left the link, which takes 1 ms, and is still under way, which takes 10 ms.
    assert_eq!(outcome.carried, [5 * 1079]);
    let lost =
        |(at, event): &(Time, Traced)| (*at, matches!(event, Traced::Lost { pn: 1, .. })) == (ms(30), true);
    assert!(flow.trace.as_ref().unwrap().iter().any(lost));
}

#[test]
fn with_a_handshake_it_begins_with_the_clients_first_packet() {
    let outcome = outcome_of(true);
    let flow = &outcome.flows[0];
    assert_eq!((flow.started, flow.finished, outcome.end), (Time::ZERO, Some(ms(441)), ms(441)));
    // The server's Initial counts as a packet, but carries no stream data.
    assert_eq!((flow.totals.packets, flow.totals.sent), (7, 6000));
}

#[test]
fn series_at_their_ticks() {
    let series = outcome_of(false).series;
    assert_eq!(series.times.len(), 4);
    assert_eq!(series.drops, [1.0; 4]);
    // At 30 ms the retransmission has just left and takes a millisecond.
    assert_eq!(series.backlog, [0.0, 0.0, 1079.0, 0.0]);
    let flow = &series.flows[0];
    // 3000 bytes arrive in the second interval of 10 ms.
    assert_eq!(flow.goodput_mbit_s.to_vec()[..3], [0.0, 2.4, 0.0]);
    assert!(flow.cwnd.iter().chain(flow.smoothed_rtt_ms.iter()).all(f64::is_nan), "no qlog, no windows");
    assert_eq!(flow.latest_rtt_ms.to_vec()[2], 22.0);
    assert_eq!(flow.bytes_in_flight.values()[0], 4.0 * 1037.0 + 1200.0);
}

#[test]
fn a_flow_that_sent_nothing() {
    let outcome = outcome(&scenario(false), &[], Default::default(), &[Traffic::default()]);
    let flow = &outcome.flows[0];
    assert_eq!((flow.started, flow.finished, flow.delivered), (Time::NEVER, None, 0));
    assert_eq!(outcome.end, ms(1000));
}

/// Fates are found by sender, time and port. A damaged packet counts as dropped by the receiver's
/// kernel.
#[test]
fn fates() {
    let World { rows, .. } = world();
    let mut damaged = rows[3];
    damaged.end = End::Dropped { at: ms(511), reason: DropReason::Damaged };
    let captured = |at| Captured {
        at: ms(at),
        seen_by: 1,
        from: 1,
        ports: [PORT, 999],
        ecn: Ecn::NotEct,
        payload: Vec::new(),
    };
    let mut all = Fates::from_rows(&[damaged, rows[4]]);
    let first = all.take(&captured(500)).unwrap();
    assert_eq!((first, first.is_damaged(), first.dropped()), (damaged, true, Some(ms(511))));
    assert_eq!(all.take(&captured(500)), None, "each fate belongs to one packet");
    let second = all.take(&captured(501)).unwrap();
    assert_eq!((second, second.is_damaged(), second.dropped()), (rows[4], false, Some(ms(501))));
    assert_eq!((Fates::begin(&rows), Fates::begin(&[])), (ms(100), Time::ZERO));
}
