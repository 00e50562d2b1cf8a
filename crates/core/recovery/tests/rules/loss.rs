//! Loss detection: RFC 9002 section 6.1.

use crate::common::*;
use ackclock_recovery::{Config, LossLabel, TimeThreshold};
use congestion::Detection::{PacketThreshold, TimeThreshold as Late};
use units::{Duration, Time};

fn with(packet_threshold: Option<u64>, time_threshold: TimeThreshold) -> Config {
    Config { packet_threshold, time_threshold, ..Config::quic() }
}

/// Packets 0..=5, one per millisecond from 100 ms on; RTT 100 ms; packet 0 measures the RTT.
fn flight(config: Config) -> Bench {
    let mut b = Bench::primed(config, 100.0);
    b.send_at((1..=5).map(|n| 100.0 + f64::from(n)));
    b
}

/// ACK of 5 only: 1 and 2 are lost at once, 3 and 4 at 9/8 RTT after they were sent.
#[test]
fn packet_threshold_then_timer() {
    let mut b = flight(Config::quic());
    b.ack(205.0, &[(5, 5)]);
    assert_eq!(b.lost(), [(1, PacketThreshold), (2, PacketThreshold)]);
    assert_ms(b.timer(), 103.0 + 112.5);
    assert_eq!(b.lost(), [(3, Late)]);
    assert_ms(b.timer(), 104.0 + 112.5);
    assert_eq!(b.lost(), [(4, Late)]);
    assert_eq!((b.sender.bytes_in_flight(), b.due()), (0, None));
    let stats = b.sender.stats();
    assert_eq!((stats.lost_by_packet_threshold, stats.lost_by_time_threshold, stats.lost()), (2, 2, 4));
}

/// Packet 1 is beyond both thresholds, packet 2 beyond that of packets alone. The label changes
/// nothing else.
#[test]
fn a_loss_by_both_rules_has_the_label_of_the_first() {
    for (loss_label, first) in [(LossLabel::PacketFirst, PacketThreshold), (LossLabel::TimeFirst, Late)] {
        let mut b = Bench::primed(Config { loss_label, ..Config::quic() }, 100.0);
        b.send_at([100.0, 130.0, 130.0, 130.0, 130.0]);
        b.ack(230.0, &[(5, 5)]);
        assert_eq!(b.lost(), [(1, first), (2, PacketThreshold)]);
        assert_ms(b.timer(), 130.0 + 112.5);
    }
    let config =
        Config { time_threshold: TimeThreshold::Off, loss_label: LossLabel::TimeFirst, ..Config::quic() };
    let mut b = flight(config);
    b.ack(205.0, &[(5, 5)]);
    assert_eq!(b.lost(), [(1, PacketThreshold), (2, PacketThreshold)]);
}

/// ACK of 4 only: only 1 is lost.
#[test]
fn exactly_three_behind() {
    let mut b = flight(Config::quic());
    b.ack(204.0, &[(4, 4)]);
    assert_eq!(b.lost(), [(1, PacketThreshold)]);
}

/// Smoothed 100 ms, latest 120 ms: the latest counts, 135 ms.
#[test]
fn the_longer_of_smoothed_and_latest() {
    let mut b = Bench::primed(Config::quic(), 100.0);
    b.send_at([200.0, 200.0]);
    b.ack(320.0, &[(2, 2)]);
    assert_eq!(b.out.rtt, Some(Duration::from_millis(120)));
    assert_ms(b.due().unwrap(), 335.0);
}

/// RFC 9002 appendix A.10: `time_sent <= lost_send_time`.
#[test]
fn equality_is_lost() {
    // 10 ns earlier also shorten the RTT, but that moves the deadline by only a ninth of it.
    for (early, lost) in [(0, true), (10, false)] {
        let mut b = Bench::primed(Config::quic(), 80.0);
        b.send_at([100.0, 144.375]);
        // Packet 2's RTT is 40 ms, smoothed (7 * 80 + 40) / 8 = 75: 1 is lost from 100 + 84.375 ms
        // on.
        let frame = ackclock_recovery::AckFrame { ranges: vec![(2, 2)], ..Default::default() };
        b.sender.on_ack(Time(ms(184.375).0 - early), &frame, None, &mut b.out);
        assert_eq!(b.out.lost.len(), usize::from(lost), "{early} ns early");
    }
}

/// The granularity is the minimum of the time threshold.
#[test]
fn granularity() {
    let mut b = Bench::primed(Config::quic(), 0.2);
    b.send_at([10.0, 10.0]);
    b.ack(10.2, &[(2, 2)]);
    assert_ms(b.timer(), 11.0);
    assert_eq!(b.lost(), [(1, Late)]);
}

#[test]
fn every_packet_threshold() {
    for k in [3, 6, 9] {
        let mut b = Bench::primed(with(Some(k), TimeThreshold::Off), 100.0);
        b.send_at((0..12).map(|_| 100.0)); // 1..=12
        b.ack(200.0, &[(k, k)]);
        assert!(b.out.lost.is_empty(), "{k}: one behind the threshold");
        b.ack(200.0, &[(k, k + 1)]);
        assert_eq!(b.lost(), [(1, PacketThreshold)], "{k}");
    }
    let mut b = flight(with(None, TimeThreshold::Factor(1.125)));
    b.ack(205.0, &[(5, 5)]);
    assert!(b.out.lost.is_empty(), "off");
    assert_ms(b.timer(), 101.0 + 112.5);
    assert_eq!(b.lost(), [(1, Late)]);
}

/// An absurdly large threshold is never reached.
#[test]
fn no_overflow() {
    let mut b = flight(with(Some(u64::MAX), TimeThreshold::Off));
    b.ack(205.0, &[(5, 5)]);
    assert!(b.out.lost.is_empty());
}

#[test]
fn time_threshold_off() {
    let mut b = flight(with(Some(3), TimeThreshold::Off));
    b.ack(205.0, &[(5, 5)]);
    assert_eq!(b.lost_pns(), [1, 2]);
    b.timer();
    assert!(b.out.probe && b.out.lost.is_empty(), "the timer is the probe timeout");
}

/// With both off, only a timeout declares losses, and QUIC's never does.
#[test]
fn both_off() {
    let mut b = flight(with(None, TimeThreshold::Off));
    b.ack(205.0, &[(5, 5)]);
    for _ in 0..5 {
        b.timer();
        assert!(b.out.probe && b.out.lost.is_empty());
    }
    assert_eq!(b.sender.stats().lost(), 0);
}

/// `largest_acked` never decreases: an older ACK changes nothing.
#[test]
fn reordered_acks() {
    let mut b = flight(Config::quic());
    b.ack(205.0, &[(0, 0), (4, 5)]);
    assert_eq!(b.lost_pns(), [1, 2]);
    b.ack(205.1, &[(0, 0), (4, 4)]);
    assert!(b.out.lost.is_empty() && b.out.rtt.is_none());
    b.ack(205.2, &[(0, 0), (3, 5)]);
    assert_eq!(b.out.rtt, None, "3 does not raise the largest acknowledged");
    assert_eq!(b.sender.bytes_in_flight(), 0);
}

/// Malformed ranges are read as far as they make sense.
#[test]
fn nonsense() {
    let mut b = flight(Config::quic());
    b.ack(150.0, &[]);
    b.ack(150.0, &[(6, u64::MAX), (7, 3)]);
    assert_eq!(b.sender.bytes_in_flight(), 5 * SIZE);
    b.ack(205.0, &[(4, 5), (1, 2), (4, 4)]);
    assert_eq!(
        b.signals(),
        [
            Signal::Lost(vec![(1, PacketThreshold), (2, PacketThreshold)]),
            Signal::Reduce(congestion::Cause::Loss),
            Signal::Ack { acked: 2 * SIZE, growth: 0 }
        ]
    );
    b.ack(206.0, &[(0, u64::MAX)]);
    assert_eq!(b.sender.bytes_in_flight(), 0);
}

/// An unused probe credit expires with the next ACK. Otherwise it would pass a closed window much
/// later.
#[test]
fn unused_credit_lapses() {
    let mut b = flight(Config::quic());
    b.ack(205.0, &[(5, 5)]); // a loss: one packet can be sent at once
    b.set_window(0);
    assert_eq!(b.sender.can_send(ms(205.0), SIZE), ackclock_recovery::SendDecision::Now);
    b.ack(206.0, &[(3, 5)]);
    assert_eq!(b.sender.can_send(ms(206.0), SIZE), ackclock_recovery::SendDecision::WindowFull);
}

/// Late packets raise the packet threshold to the value that would have avoided their loss, up to a
/// limit. google/quiche has none, cloudflare/quiche 20.
#[test]
fn late_packets_raise_the_packet_threshold() {
    for (most, declared) in [(None, 2), (Some(20), 1), (Some(8), 2)] {
        let mut b = Bench::primed(
            Config { max_packet_threshold: most, time_threshold: TimeThreshold::Off, ..Config::quic() },
            100.0,
        );
        for flight in 0..2u64 {
            // One packet is overtaken by nine.
            let (at, first) = (100.0 + 200.0 * flight as f64, 1 + 10 * flight);
            b.send_at((0..10).map(|n| at + f64::from(n)));
            b.ack(at + 110.0, &[(first + 1, first + 9)]);
            b.ack(at + 111.0, &[(first, first + 9)]);
        }
        assert_eq!(b.sender.stats().lost(), declared, "{most:?}");
    }
}

/// The time threshold rises too: 1.125, 1.25, 1.5, 2.
#[test]
fn late_packets_raise_the_time_threshold() {
    for (most, late, patience) in
        [(None, 40.0, 112.5), (Some(2.0), 20.0, 125.0), (Some(2.0), 40.0, 150.0), (Some(1.3), 40.0, 130.0)]
    {
        let mut b = Bench::primed(
            Config { max_time_threshold: most, packet_threshold: None, ..Config::quic() },
            100.0,
        );
        b.send_at([100.0, 100.0]);
        b.ack(200.0, &[(2, 2)]);
        b.timer();
        assert_eq!(b.lost_pns(), [1]);
        b.ack(200.0 + late, &[(1, 2)]);
        b.send_at([1000.0, 1000.0]);
        b.ack(1100.0, &[(4, 4)]);
        assert_ms(b.due().unwrap(), 1000.0 + patience);
    }
}
