//! Numbers of packets that are not in flight, the numbers that an ACK may contain, and the payloads
//! that it returns.

use crate::common::*;
use ackclock_recovery::SpaceId::Application;
use ackclock_recovery::{AckError, AckFrame, EcnCounts};
use congestion::Detection;
use units::{Duration, Ecn};

/// Returns the size of a sender, in characters of its debug output.
fn bulk(bench: &Bench) -> usize {
    format!("{:?}", bench.sender).len()
}

/// An endpoint that only receives stores nothing, however many unacknowledged packets are not in
/// flight.
#[test]
fn a_million_acks_alone() {
    let mut b = Bench::connected();
    let before = bulk(&b);
    for n in 0..1_000_000 {
        assert_eq!(b.bare_in(Application), n);
    }
    assert!(bulk(&b) < before + 100, "{} for {before}", bulk(&b));
    assert_eq!((b.sender.next_number(Application), b.sender.stats().bare), (1_000_000, 1_000_000));
    assert_eq!((b.sender.bytes_in_flight(), b.due()), (0, None));
    assert_eq!(b.sender.least_unacked(), 1_000_000);

    b.send_in(0.0, Application);
    let one = bulk(&b);
    for _ in 0..1_000_000 {
        b.bare_in(Application);
    }
    b.send_in(1.0, Application);
    assert!(bulk(&b) < 2 * one, "{} for {one}", bulk(&b));
    assert_eq!(b.sender.least_unacked(), 1_000_000);
    b.ack_in(50.0, Application, &[(0, 2_000_001)]).unwrap();
    assert_eq!((b.acked(), b.sender.bytes_in_flight()), (vec![1_000_000, 2_000_001], 0));
    assert_eq!(b.out.rtt, Some(Duration::from_millis(49)));
    assert!(bulk(&b) < 2 * one);
}

/// The packet threshold counts all numbers, in flight or not (RFC 9002 section 6.1.1). The largest
/// acknowledged number may belong to a packet whose send time is not kept, and then there is no RTT
/// sample.
#[test]
fn the_largest_is_not_watched() {
    let mut b = Bench::connected();
    b.send_in(0.0, Application);
    for _ in 0..3 {
        b.bare_in(Application);
    }
    b.send_in(1.0, Application);
    b.ack_in(50.0, Application, &[(2, 2)]).unwrap();
    assert!(b.lost().is_empty());
    b.ack_in(51.0, Application, &[(2, 3)]).unwrap();
    assert_eq!(b.lost(), [(0, Detection::PacketThreshold)]);
    assert_eq!((b.out.rtt, b.sender.largest_acked(Application)), (None, Some(3)));
    b.bare_in(Application);
    b.ack_in(60.0, Application, &[(2, 5)]).unwrap();
    assert_eq!((b.acked(), b.out.rtt), (vec![4], None));
    b.send_in(70.0, Application);
    b.ack_in(100.0, Application, &[(2, 6)]).unwrap();
    assert_eq!((b.acked(), b.out.rtt), (vec![6], Some(Duration::from_millis(30))));
}

/// A gap of numbers that were not in flight does not hide one that was: the timer of the time
/// threshold is set.
#[test]
fn a_hole_among_acks_alone() {
    let mut b = Bench::connected();
    b.send_in(0.0, Application);
    b.ack_in(100.0, Application, &[(0, 0)]).unwrap();
    b.send_in(200.0, Application);
    b.bare_in(Application);
    b.send_in(201.0, Application);
    b.ack_in(301.0, Application, &[(0, 0), (2, 3)]).unwrap();
    assert_ms(b.due().unwrap(), 200.0 + 1.125 * 100.0);
    b.timer();
    assert_eq!(b.lost(), [(1, Detection::TimeThreshold)]);
    b.ack_in(330.0, Application, &[(0, 3)]).unwrap();
    assert_eq!(b.out.late, [(1, piece(1))]);
}

/// PADDING is in flight (RFC 9002 section 2), sets no timer (section 6.2.1) and measures no RTT.
#[test]
fn padding() {
    let mut b = Bench::connected();
    assert_eq!(b.pad_in(0.0, Application), 0);
    assert_eq!((b.sender.bytes_in_flight(), b.due()), (SIZE, None));
    b.send_in(10.0, Application);
    assert_ms(b.due().unwrap(), 10.0 + 3.0 * 333.0 + 25.0);
    b.pad_in(500.0, Application);
    assert_ms(b.due().unwrap(), 10.0 + 3.0 * 333.0 + 25.0);
    b.ack_in(110.0, Application, &[(0, 1)]).unwrap();
    assert_eq!((b.out.rtt, b.sender.bytes_in_flight()), (Some(Duration::from_millis(100)), SIZE));
    b.ack_in(600.0, Application, &[(0, 2)]).unwrap();
    assert_eq!((b.out.rtt, b.sender.bytes_in_flight()), (None, 0));
}

/// RFC 9000 section 13.1: numbers that were not sent cannot be acknowledged. The state does not
/// change.
#[test]
fn what_was_not_sent() {
    let mut b = Bench::connected();
    for at in 0..4 {
        b.send_in(f64::from(at), Application);
    }
    assert_eq!(b.sender.skip_number(Application), 4);
    assert_eq!(b.send_in(5.0, Application), 5);
    b.ack_in(50.0, Application, &[(0, 1)]).unwrap();
    let before = (format!("{:?}", b.sender), format!("{:?}", b.out));
    for (ranges, error) in [
        (vec![(6, 6)], AckError::Unsent),
        (vec![(0, u64::MAX)], AckError::Unsent),
        (vec![(3, 4)], AckError::Skipped),
        (vec![(0, 5)], AckError::Skipped),
        (vec![(0, 2), (4, 4)], AckError::Skipped),
    ] {
        assert_eq!(b.ack_in(60.0, Application, &ranges), Err(error), "{ranges:?}");
        assert_eq!((format!("{:?}", b.sender), format!("{:?}", b.out)), before);
    }
    b.ack_in(61.0, Application, &[(0, 3), (5, 5)]).unwrap();
    assert_eq!(b.acked(), [2, 3, 5]);
}

/// Only the latest skipped numbers are remembered, so memory is bounded.
#[test]
fn old_skips_are_forgotten() {
    let mut b = Bench::connected();
    for at in 0..100 {
        b.send_in(f64::from(at), Application);
        b.sender.skip_number(Application);
    }
    assert_eq!(b.ack_in(200.0, Application, &[(169, 169)]), Err(AckError::Skipped));
    assert_eq!(b.ack_in(200.0, Application, &[(167, 167)]), Ok(()), "a pity");
}

/// Acknowledged payloads are returned once each, if requested.
#[test]
fn payloads_come_back() {
    let mut b = Bench::connected();
    for at in 0..5 {
        b.send_in(f64::from(at), Application);
    }
    b.ack_in(50.0, Application, &[(0, 0), (4, 4)]).unwrap();
    assert_eq!(b.out.acked, [(0, piece(0)), (4, piece(4))]);
    assert_eq!(b.lost_pns(), [1]);
    b.ack_in(51.0, Application, &[(0, 4)]).unwrap();
    assert_eq!(b.out.acked, [(2, piece(2)), (3, piece(3))]);
    assert_eq!(b.out.late, [(1, piece(1))]);
    b.ack_in(52.0, Application, &[(0, 4)]).unwrap();
    assert!(b.out.acked.is_empty());
    let mut b = Bench::quic();
    b.send(0.0);
    b.ack(50.0, &[(0, 0)]);
    assert!(b.out.acked.is_empty(), "nobody asked");
}

/// draft-ietf-quic-receive-ts-02: a receive time may arrive after the ACK of its packet. It is
/// counted and has no effect.
#[test]
fn times_of_old_packets() {
    let mut b = Bench::connected();
    for _ in 0..3 {
        b.send_in(0.0, Application);
    }
    let mut ack = |at, ranges: &[(u64, u64)], stamps: &[u64]| {
        let timestamps = stamps.iter().map(|pn| (*pn, 1000)).collect();
        let frame = AckFrame { ranges: ranges.to_vec(), timestamps, ..AckFrame::default() };
        b.sender.on_ack_in(ms(at), Application, &frame, None, &mut b.out).unwrap();
        (b.sender.stats().used_stamps, b.sender.stats().unused_stamps)
    };
    assert_eq!(ack(50.0, &[(0, 1)], &[1]), (1, 0));
    assert_eq!(ack(51.0, &[(0, 2)], &[0, 1, 2]), (2, 2));
    assert_eq!(ack(52.0, &[(0, 2)], &[0, 1, 2]), (2, 5));
}

/// RFC 9000 section 13.4.2: an ACK-only datagram tests nothing. It is marked once the path is known
/// to carry ECN, and its mark counts.
#[test]
fn marks_of_acks_alone() {
    let config = ackclock_recovery::Config { ecn: Ecn::Ect0, ..ackclock_recovery::Config::quic() };
    let mut b = Bench::endpoint(config, ackclock_recovery::Role::Client);
    assert_eq!(b.sender.bare_mark(), Ecn::NotEct);
    let mark = b.sender.datagram_mark(ms(0.0));
    b.sender.on_sent_in(ms(0.0), Application, SIZE, mark, piece(0), true);
    let mut ack = |at, range, ect0| {
        let ecn = Some(EcnCounts { ect0, ..EcnCounts::default() });
        let frame = AckFrame { ranges: vec![range], ecn, ..AckFrame::default() };
        b.sender.on_ack_in(ms(at), Application, &frame, None, &mut b.out).unwrap();
        let mark = b.sender.bare_mark();
        (mark, b.sender.on_bare_sent(Application, mark))
    };
    assert_eq!(ack(50.0, (0, 0), 1), (Ecn::Ect0, 1));
    assert_eq!(ack(60.0, (0, 1), 2), (Ecn::Ect0, 2));
    assert_eq!(ack(70.0, (0, 2), 3), (Ecn::Ect0, 3));
}
