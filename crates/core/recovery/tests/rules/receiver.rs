//! A QUIC receiver with an untrusted peer: no number is new twice, memory is bounded, and receive
//! times survive lost ACKs.

use std::collections::BTreeSet;

use crate::common::ms;
use ackclock_recovery::{AckConfig, AckFrame, Clock, OnGap, Receiver};
use proptest::prelude::*;
use units::{Duration, Ecn};

fn receiver() -> Receiver {
    Receiver::new(AckConfig::default(), Clock::default(), Duration::from_millis(50))
}

fn frame(receiver: &mut Receiver, at: f64) -> AckFrame {
    let mut frame = AckFrame::default();
    receiver.write_ack(ms(at), &mut frame);
    frame
}

/// draft-ietf-quic-ack-frequency: the peer asks for an ACK of every fifth packet, after 100 ms at
/// the latest, and none for gaps.
#[test]
fn other_rules_from_here_on() {
    let mut r = receiver();
    r.on_packet(ms(0.0), 0, Ecn::NotEct, 0);
    let config = AckConfig {
        ack_every: 5.into(),
        max_ack_delay: Duration::from_millis(100),
        immediate_on_gap: OnGap::Off,
        ..AckConfig::default()
    };
    r.set_config(config);
    assert_eq!(r.timer(), Some(ms(25.0)), "what is due stays due");
    frame(&mut r, 25.0);
    assert!([2, 3, 5, 7].into_iter().all(|pn| !r.on_packet(ms(30.0), pn, Ecn::NotEct, 0)));
    assert_eq!(r.timer(), Some(ms(130.0)));
    assert!(r.on_packet(ms(31.0), 8, Ecn::NotEct, 0));
    assert_eq!(frame(&mut r, 31.0).ranges, [(0, 0), (2, 3), (5, 5), (7, 8)]);
}

/// RFC 9000 section 12.3: a forgotten number is not new again.
#[test]
fn an_old_number_is_no_new_one() {
    let mut r = receiver();
    for pn in [0, 1, 5, 6, 9] {
        r.on_packet(ms(0.0), pn, Ecn::Ect0, 0);
    }
    r.on_packet(ms(0.0), 10, Ecn::Ect0, 0);
    r.forget_below(7);
    for pn in [0, 1, 3, 5, 6] {
        assert!(r.is_duplicate(pn), "{pn}");
        assert!(!r.on_packet(ms(1.0), pn, Ecn::Ect0, 0), "{pn}");
    }
    let ack = frame(&mut r, 1.0);
    assert_eq!((ack.ranges, ack.ecn.unwrap().ect0), (vec![(9, 10)], 6));
    assert!(!r.is_duplicate(7), "never received");
    assert!(r.on_packet(ms(1.0), 7, Ecn::Ect0, 0));
    assert_eq!(frame(&mut r, 1.0).ranges, [(7, 7), (9, 10)]);
}

/// Every other number, from the largest down and then from the smallest up.
#[test]
fn ranges_have_an_end() {
    let mut r = receiver().bounded(32);
    for pn in (0..1000).map(|n| 10_000 - 2 * n).chain((0..10_000).map(|n| 20_000 + 2 * n)) {
        r.on_packet(ms(0.0), pn, Ecn::NotEct, 0);
        assert!(r.is_duplicate(pn));
        assert!(frame(&mut r, 0.0).ranges.len() <= 32);
    }
    let ranges = frame(&mut r, 0.0).ranges;
    assert_eq!((ranges[0].0, ranges[31].1), (40_000 - 2 * 32, 39_998));
    assert!((0..40_000 - 2 * 32 - 1).all(|pn| r.is_duplicate(pn)));
    assert!(!r.is_duplicate(39_997));
}

/// RFC 9000 section 13.2.1: such packets are acknowledged and counted, but do not trigger an ACK.
#[test]
fn packets_that_elicit_nothing() {
    let mut r = receiver();
    for pn in 0..100 {
        r.on_bare_packet(ms(pn as f64), pn, Ecn::Ce);
        r.on_bare_packet(ms(pn as f64), pn, Ecn::Ce);
    }
    r.on_bare_packet(ms(200.0), 150, Ecn::NotEct);
    assert!(!r.has_unacked());
    assert_eq!(r.timer(), None);
    assert!(r.on_packet(ms(210.0), 120, Ecn::NotEct, 0), "late behind a packet that elicits nothing");
    assert!(r.has_unacked());
    let ack = frame(&mut r, 215.0);
    assert_eq!(ack.ranges, [(0, 99), (120, 120), (150, 150)]);
    assert_eq!(ack.ecn.unwrap().ce, 100);
    assert_eq!(ack.ack_delay, Duration::from_millis(15), "of the largest, whatever it elicits");
    assert_eq!(ack.timestamps, [(120, 210_000_000)]);
    assert!(!r.has_unacked());
}

/// Times are in order of arrival, in every ACK until one that contained them has arrived.
#[test]
fn times_are_repeated() {
    let mut r = receiver().bounded(64);
    let pns = |frame: AckFrame| frame.timestamps.iter().map(|stamp| stamp.0).collect::<Vec<_>>();
    for (at, pn) in [(1.0, 0), (2.0, 2), (3.0, 1)] {
        r.on_packet(ms(at), pn, Ecn::NotEct, 0);
    }
    assert_eq!(frame(&mut r, 3.0).timestamps, [(0, 1_000_000), (2, 2_000_000), (1, 3_000_000)]);
    let first = r.receipt(3).unwrap();
    r.on_packet(ms(4.0), 3, Ecn::NotEct, 0);
    assert_eq!(pns(frame(&mut r, 4.0)), [0, 2, 1, 3], "the first may be lost");
    // This one has room for two, and arrives.
    let second = r.receipt(2).unwrap();
    r.on_packet(ms(5.0), 4, Ecn::NotEct, 0);
    r.on_ack_acked(second);
    assert_eq!(pns(frame(&mut r, 5.0)), [0, 2, 4], "what had no room waits on");
    r.on_ack_acked(first);
    r.on_ack_acked(first);
    assert_eq!(pns(frame(&mut r, 5.0)), [4]);
    assert_eq!(frame(&mut r, 5.0).ranges, [(0, 4)], "the largest stays acknowledged");
}

/// At most the requested number is kept, the latest.
#[test]
fn times_have_an_end() {
    let config = AckConfig { timestamps: 3, ..AckConfig::default() };
    let mut r = Receiver::new(config, Clock::default(), Duration::ZERO).bounded(64);
    for pn in 0..100_000 {
        r.on_packet(ms(pn as f64), 200_000 - pn, Ecn::NotEct, 0);
    }
    let pns: Vec<_> = frame(&mut r, 1e6).timestamps.iter().map(|stamp| stamp.0).collect();
    assert_eq!(pns, [100_003, 100_002, 100_001]);
    let none = AckConfig { timestamps: 0, ..AckConfig::default() };
    let mut r = Receiver::new(none, Clock::default(), Duration::ZERO).bounded(64);
    r.on_packet(ms(0.0), 0, Ecn::NotEct, 0);
    assert!(frame(&mut r, 0.0).timestamps.is_empty());
}

#[derive(Clone, Debug)]
enum Op {
    Packet(u64),
    Bare(u64),
    /// Write an ACK whose packet arrives or is lost.
    Ack(bool),
    Forget(u64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0u64..120).prop_map(Op::Packet),
        2 => (0u64..120).prop_map(Op::Bare),
        2 => any::<bool>().prop_map(Op::Ack),
        1 => (0u64..120).prop_map(Op::Forget),
    ]
}

proptest! {
    /// Compared with a set of all accepted numbers. None is accepted twice, and ranges contain no
    /// others. A new number is refused only if a number at or above it has been forgotten.
    #[test]
    fn like_a_set(ops in prop::collection::vec(op(), 1..200), most in 1usize..8) {
        let (mut r, mut accepted) = (receiver().bounded(most), BTreeSet::new());
        for op in ops {
            match op {
                Op::Packet(pn) | Op::Bare(pn) => {
                    let new = !r.is_duplicate(pn);
                    let before = frame(&mut r.clone(), 0.0).ecn.map_or(0, |ecn| ecn.ect0);
                    if matches!(op, Op::Bare(_)) {
                        r.on_bare_packet(ms(0.0), pn, Ecn::Ect0);
                    } else {
                        r.on_packet(ms(0.0), pn, Ecn::Ect0, 0);
                    }
                    prop_assert!(!new || accepted.insert(pn), "{} twice", pn);
                    prop_assert!(r.is_duplicate(pn));
                    prop_assert_eq!(frame(&mut r.clone(), 0.0).ecn.map_or(0, |ecn| ecn.ect0), before + u64::from(new));
                }
                Op::Ack(arrives) => {
                    frame(&mut r, 0.0);
                    if let Some(receipt) = r.receipt(64).filter(|_| arrives) {
                        r.on_ack_acked(receipt);
                    }
                }
                Op::Forget(pn) => r.forget_below(pn),
            }
            let ranges = frame(&mut r.clone(), 0.0).ranges;
            prop_assert!(ranges.len() <= most);
            prop_assert!(ranges.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0));
            prop_assert!(ranges.iter().flat_map(|r| r.0..=r.1).all(|pn| accepted.contains(&pn)));
            prop_assert_eq!(ranges.last().map(|r| r.1), accepted.last().copied());
            let bottom = ranges.first().map_or(0, |r| r.0);
            let kept = accepted.range(bottom..).count() as u64;
            prop_assert_eq!(kept, ranges.iter().map(|r| r.1 - r.0 + 1).sum::<u64>());
            prop_assert!(accepted.iter().all(|pn| r.is_duplicate(*pn)));
            prop_assert!((bottom..130).all(|pn| r.is_duplicate(pn) == accepted.contains(&pn)));
        }
    }
}
