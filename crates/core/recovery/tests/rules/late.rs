//! Packets declared lost that arrive late: they count as delivered, also for the rate, and keep the
//! ACK clock running.

use crate::common::*;
use ackclock_recovery::{AckFrame, Config};
use congestion::Cause;

/// Sends a packet each millisecond, acknowledged 100 ms later; every 50th overtakes 20. Packets and
/// ACKs are in the order of time.
fn overtaken(config: Config, seconds: u64) -> Bench {
    let mut b = Bench::new(config);
    let count = 1000 * seconds;
    let mut arrivals: Vec<(u64, u64)> =
        (0..count).map(|pn| (if pn % 50 == 49 { pn + 80 } else { pn + 100 }, pn)).collect();
    arrivals.sort_unstable();
    let mut arrivals = arrivals.into_iter().peekable();
    for ms in 0..count + 200 {
        while let Some((_, pn)) = arrivals.next_if(|arrival| arrival.0 == ms) {
            b.ack_frame(ms as f64, &AckFrame { ranges: vec![(pn, pn)], ..AckFrame::default() });
        }
        if ms < count {
            b.send(ms as f64);
        }
    }
    b
}

/// 8.00 Mbit/s, a third of it declared lost because it was overtaken.
#[test]
fn the_rate_under_reordering() {
    let b = overtaken(Config::quic(), 10);
    let stats = b.sender.stats();
    assert!(stats.spurious > 3000 && stats.lost() == stats.spurious, "{stats:?}");
    assert_eq!(b.sender.delivered(), 10_000 * SIZE, "all bytes");
    let notes = b.notes.lock().unwrap();
    assert_eq!(notes.late, stats.spurious * SIZE);
    // Without the first flight, whose interval starts before anything was delivered.
    let rates = &notes.rates[100..];
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    assert!((mean / 1e6 - 1.0).abs() < 0.01, "{mean}");
    let largest = notes.rates.iter().copied().fold(0.0, f64::max);
    assert!(largest < 1e6 * 121.0 / 100.0, "20 packets early in 100 ms: {largest}");
}

/// An ACK of late packets alone reaches the controller. Otherwise there would be no ACK clock.
#[test]
fn late_packets_alone() {
    let mut b = Bench::primed(Config::quic(), 100.0);
    b.send_at((1..=6).map(|n| 100.0 + f64::from(n)));
    b.ack(206.0, &[(4, 6)]);
    assert_eq!(b.lost_pns(), [1, 2, 3]);
    b.signals();
    b.ack(207.0, &[(1, 2), (4, 6)]);
    assert_eq!(b.signals(), [Signal::Ack { acked: 0, growth: 0 }]);
    assert_eq!(b.notes.lock().unwrap().late, 2 * SIZE);
    b.ack(208.0, &[(1, 6)]);
    assert_eq!(b.signals(), [Signal::Ack { acked: 0, growth: 0 }, Signal::Undo]);
    assert_eq!(b.sender.delivered(), 7 * SIZE);
}

/// TCP: bytes that have not been retransmitted arrived in the packet declared lost, whichever
/// packet the acknowledgement echoes.
#[test]
fn covered_without_a_repeat() {
    let mut b = Bench::primed(Config::tcp(), 100.0);
    b.send_at((1..=9).map(|n| 100.0 + f64::from(n)));
    b.tcp_ack(206.0, 1, &[(4, 7)], 6);
    assert_eq!(b.lost_pns(), [1, 2, 3]);
    b.resend(206.0, piece(1));
    b.tcp_ack(207.0, 7, &[], 3);
    let late: Vec<u64> = b.out.late.iter().map(|l| l.0).collect();
    assert_eq!(late, [1, 2, 3], "the repeat of 1 is a millisecond old");
    assert_eq!((b.sender.stats().spurious, b.sender.delivered()), (3, 7 * SIZE));
    assert_eq!(b.verdicts(), [Signal::Reduce(Cause::Loss), Signal::Undo]);
    assert_eq!(b.sender.bytes_in_flight(), 3 * SIZE, "7, 8, 9");
}
