//! Records of the kernel as signals of a controller.
#![cfg(target_os = "linux")]

use ackclock_kernel::flow::Flow;
use ackclock_kernel::record::{Record, kind, state};
use congestion::{Algorithm, Registry};
use proptest::prelude::*;

const MSS: u32 = 1448;

fn algorithm(name: &str) -> Algorithm {
    Registry::default().get(name).unwrap().algorithm()
}

/// Records of one connection, each 1 ms after the one before.
struct Connection {
    flow: Flow,
    next: Record,
}

impl Connection {
    fn new(name: &str) -> Self {
        let mut next: Record = bytemuck::Zeroable::zeroed();
        (next.seq, next.time_us, next.mss, next.rtt_us) = (7 << 32, 1_000_000, MSS, -1);
        (next.min_rtt_us, next.srtt_us) = (u32::MAX, 40_000);
        Self { flow: Flow::new(&algorithm(name), &next, false), next }
    }

    /// Processes a record with these changes, and returns the window.
    fn on(&mut self, kind: u8, change: impl FnOnce(&mut Record)) -> u32 {
        self.next.seq += 1;
        self.next.time_us += 1000;
        self.next.kind = kind;
        change(&mut self.next);
        self.flow.on_record(&self.next);
        let answer = self.flow.answer();
        assert_eq!(answer.answered, self.next.seq);
        answer.cwnd
    }

    /// Sends packets.
    fn send(&mut self, packets: u32) {
        self.next.data_segs_out += packets;
        self.next.in_flight += packets;
    }

    /// Acknowledges packets, with an RTT of 40 ms.
    fn ack(&mut self, packets: u32) -> u32 {
        self.on(kind::ACK, |record| {
            (record.acked, record.prior_in_flight) = (packets, record.in_flight);
            record.prior_delivered = record.delivered;
            record.delivered += packets;
            record.in_flight -= packets;
            (record.rtt_us, record.min_rtt_us, record.cwnd_limited) = (40_000, 40_000, 1);
        })
    }

    fn enter(&mut self, state: u8) -> u32 {
        self.on(kind::STATE, |record| record.state = state)
    }
}

/// RFC 5681: slow start adds what is acknowledged, a loss halves the packets in flight, a timeout
/// leaves one packet.
#[test]
fn reno() {
    let mut reno = Connection::new("tcp-reno");
    reno.send(10);
    assert_eq!(reno.ack(2), 12);
    reno.send(4);
    assert_eq!(reno.ack(2), 14);
    reno.send(4);
    let held = reno.enter(state::RECOVERY);
    assert_eq!(held, 14, "the ACK that follows reports the loss");
    reno.next.lost += 1;
    assert_eq!(reno.next.in_flight, 14);
    let halved = reno.ack(1);
    assert_eq!(halved, 7);
    assert_eq!(reno.ack(2), 7, "no growth in recovery");
    reno.enter(state::OPEN);
    assert_eq!(reno.enter(state::LOSS), 1);
}

/// An undo restores the window.
#[test]
fn a_spurious_reduction() {
    let mut cubic = Connection::new("cubic");
    cubic.send(10);
    let before = cubic.ack(2);
    cubic.enter(state::RECOVERY);
    cubic.next.lost += 1;
    let reduced = cubic.ack(1);
    assert!(reduced < before, "{reduced}");
    assert_eq!(cubic.on(kind::UNDO, |_| ()), before);
}

/// The kernel enters CWR for CE marks.
#[test]
fn marks_reduce_once() {
    let mut reno = Connection::new("tcp-reno");
    reno.send(20);
    let before = reno.ack(4);
    reno.enter(state::CWR);
    reno.next.delivered_ce += 3;
    let after = reno.ack(2);
    assert!(after < before, "{before} {after}");
    assert_eq!(reno.ack(2), after);
}

/// Timestamps of the peer count milliseconds, or microseconds, and wrap. QUIC-DC's queuing delay is
/// that of the path, whatever the unit and wherever they begin.
#[test]
fn receive_times() {
    for (usec, ticks) in [(0, 1), (1, 1000)] {
        for first in [1, u32::MAX - 20 * ticks, u32::MAX / 2] {
            let mut flow = Connection::new("quic-dc");
            (flow.next.tsval, flow.next.usec_timestamps) = (first, usec);
            let mut owqd = Vec::new();
            for number in 0..100 {
                flow.send(1);
                // Of the second half, each waits for 3 ms.
                let queue = if number == 50 { 3 * ticks } else { 0 };
                flow.next.tsval = flow.next.tsval.wrapping_add(ticks + queue);
                flow.ack(1);
                flow.flow.controller().trace(&mut |name, value| {
                    if name == "owqd" {
                        owqd.push(value);
                    }
                });
            }
            let last = *owqd.last().unwrap();
            assert!(owqd[..50].iter().all(|delay| delay.abs() < 1e-6), "{first}: {owqd:?}");
            assert!((last - 0.003).abs() < 1e-4, "{usec}, {first}: {last}");
        }
    }
}

/// A paced controller has a rate; others have none.
#[test]
fn pacing() {
    let mut bbr = Connection::new("bbr3");
    bbr.send(10);
    bbr.ack(2);
    let rate = bbr.flow.answer().pacing_rate;
    // Startup paces at 2.77 times the window of a smoothed RTT or more.
    assert!(rate > u64::from(10 * MSS) * 25 && rate < 100_000_000, "{rate}");
    let mut reno = Connection::new("tcp-reno");
    reno.send(10);
    reno.ack(2);
    assert_eq!(reno.flow.answer().pacing_rate, u64::MAX);
}

/// Idle time shorter than the retransmission timeout changes nothing.
#[test]
fn idle_times() {
    let mut reno = Connection::new("tcp-reno");
    reno.send(10);
    for _ in 0..5 {
        reno.ack(2);
        reno.send(4);
    }
    let before = reno.flow.answer().cwnd;
    let idle = |us| move |record: &mut Record| (record.idle_us, record.rto_us) = (us, 240_000);
    assert_eq!(reno.on(kind::IDLE, idle(200_000)), before);
    assert!(reno.on(kind::IDLE, idle(500_000)) < before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    /// Numbers of the kernel may be anything: no controller panics, and each answer has a window.
    #[test]
    fn damaged_records(bytes in prop::collection::vec(any::<[u8; 120]>(), 1..20), kinds in any::<u64>()) {
        for algorithm in Algorithm::all() {
            let mut flow: Option<Flow> = None;
            for (number, bytes) in bytes.iter().enumerate() {
                let mut record = Record::read(bytes).unwrap();
                record.kind = (kinds >> (2 * (number % 32)) & 3) as u8 + kind::ACK;
                record.state %= 5;
                record.data_segs_out %= 500;
                let flow = flow.get_or_insert_with(|| Flow::new(&algorithm, &record, false));
                flow.on_record(&record);
                let answer = flow.answer();
                prop_assert!((1..=1 << 20).contains(&answer.cwnd) && answer.pacing_rate > 0);
            }
        }
    }
}
