//! The loss recovery of older TCPs: without SACK (RFC 5681, RFC 6582), by the scoreboard of RFC
//! 6675, with Early Retransmit (RFC 5827), with the check of Vegas, without a tail loss probe.

use std::ops::Range;

use crate::common::*;
use ackclock_recovery::{
    Config, Exit, Limit, PacketCount, Reduction, SendDecision, TcpAck, TimeThreshold, Timeout,
};
use congestion::Cause::{Loss, Timeout as TimedOut};
use congestion::Detection::{self, PacketThreshold};
use proptest::prelude::*;

/// TCP of 1990 to 1999: no SACK, no RACK, no probe.
fn without_sack(exit: Exit) -> Config {
    Config {
        sack: false,
        packet_threshold: Some(3),
        time_threshold: TimeThreshold::Off,
        timeout: Timeout::Rto,
        reduction: Reduction::AtOnce,
        undo: false,
        exit,
        ..Config::tcp()
    }
}

/// The scoreboard of RFC 6675 alone.
fn scoreboard() -> Config {
    Config {
        packet_threshold: Some(3),
        packet_count: PacketCount::Sacked,
        time_threshold: TimeThreshold::Off,
        ..Config::tcp()
    }
}

/// RTT 100 ms; pieces 1..=20, one per millisecond from 101 ms on, piece n in transmission n.
fn flight(config: Config) -> Bench {
    let mut b = Bench::primed(config, 100.0);
    b.send_at((1..=20).map(|n| 100.0 + f64::from(n)));
    b
}

/// Duplicate acknowledgements up to `cumulative`, in answer to these transmissions. SACK blocks are
/// ignored.
fn duplicates(b: &mut Bench, cumulative: u64, echoes: Range<u64>) {
    for pn in echoes {
        b.tcp_ack(200.0 + pn as f64, cumulative, &[(cumulative + 1, pn + 1)], pn);
    }
}

/// Section 3.2.1 of the thesis: of one window, 11 and 20 are lost (here 5 and 12). Reno reduces the
/// window for each, NewReno for both together, and repeats the second at the partial ACK.
#[test]
fn reno_cuts_twice_where_newreno_cuts_once() {
    for (exit, cuts, at_partial_ack) in [(Exit::RenoTcp, 2, false), (Exit::NewrenoTcp, 1, true)] {
        let mut b = flight(without_sack(exit));
        for pn in 1..5 {
            b.tcp_ack(200.0 + pn as f64, pn + 1, &[], pn);
        }
        duplicates(&mut b, 5, 6..8);
        assert_eq!(b.lost(), [], "two duplicates are not enough");
        duplicates(&mut b, 5, 8..9);
        assert_eq!(b.lost(), [(5, PacketThreshold)], "{exit:?}");
        let repeat = b.resend(208.0, piece(5));
        b.send_at((0..3).map(|n| 209.0 + f64::from(n))); // pieces 21..=23
        duplicates(&mut b, 5, 9..12);
        duplicates(&mut b, 5, 13..21);
        assert_eq!(b.lost(), [], "one loss per window until new data is acknowledged");
        b.tcp_ack(308.0, 12, &[], repeat);
        assert_eq!(!b.lost().is_empty(), at_partial_ack, "{exit:?}");
        assert_eq!(b.sender.in_recovery(), exit == Exit::NewrenoTcp);
        for pn in 22..25 {
            b.tcp_ack(287.0 + pn as f64, 12, &[], pn);
        }
        let second = b.resend(313.0, piece(12));
        b.tcp_ack(413.0, 24, &[], second);
        assert_eq!(b.verdicts(), vec![Signal::Reduce(Loss); cuts], "{exit:?}");
        assert_eq!((b.sender.bytes_in_flight(), b.sender.in_recovery()), (0, false));
        assert_eq!(b.sender.stats().lost(), 2);
    }
}

/// RFC 5681 section 3.2: the retransmission ignores the window. Each duplicate admits a packet. New
/// data deflates the window.
#[test]
fn duplicates_inflate_the_window() {
    let mut b = flight(without_sack(Exit::RenoTcp));
    b.set_window(20 * SIZE);
    b.set_reduced(10 * SIZE);
    duplicates(&mut b, 1, 2..3);
    assert_eq!(b.sender.window(), 21 * SIZE, "limited transmit, RFC 3042");
    duplicates(&mut b, 1, 3..5);
    assert_eq!(b.sender.window(), 13 * SIZE, "ssthresh + 3");
    assert_eq!(b.fill(204.0, &mut vec![piece(1)]), 1, "19 packets in flight");
    assert_eq!(b.sender.can_send(ms(204.0), SIZE), SendDecision::WindowFull);
    duplicates(&mut b, 1, 5..12);
    assert_eq!((b.sender.window(), b.sender.bytes_in_flight()), (20 * SIZE, 20 * SIZE));
    duplicates(&mut b, 1, 12..21);
    assert_eq!(b.sender.window(), 29 * SIZE);
    assert_eq!(b.fill(221.0, &mut Vec::new()), 9);
    b.tcp_ack(304.0, 21, &[], 21);
    assert_eq!((b.sender.window(), b.sender.bytes_in_flight()), (10 * SIZE, 9 * SIZE));
}

/// Packets that waited for a hole to be filled yield no RTT sample.
#[test]
fn rtt_of_the_echoed_packet() {
    let mut b = flight(without_sack(Exit::NewrenoTcp));
    duplicates(&mut b, 1, 2..21);
    let repeat = b.resend(221.0, piece(1));
    b.tcp_ack(331.0, 21, &[], repeat);
    assert_eq!(b.out.rtt, Some(units::Duration::from_millis(110)));
}

/// Reno waits for the retransmission timeout if fewer than three duplicates arrive. No probe is
/// sent before it. Duplicates are forgotten.
#[test]
fn timeout_without_probe() {
    let mut b = Bench::primed(without_sack(Exit::RenoTcp), 100.0);
    b.send_at([100.0, 101.0, 102.0]); // 1, 2, 3
    b.tcp_ack(201.0, 1, &[], 2);
    b.tcp_ack(202.0, 1, &[], 3);
    assert_ms(b.timer(), 100.0 + 300.0); // srtt + 200 ms
    assert_eq!(b.lost_pns(), [1, 2, 3], "nobody knows what has arrived");
    assert_eq!(b.verdicts(), [Signal::Reduce(TimedOut)]);
    // The repeat is lost too: the next timeout repeats it, not data that has arrived.
    b.resend(400.0, piece(1));
    b.timer();
    assert_eq!(b.out.lost.iter().map(|lost| lost.2).collect::<Vec<_>>(), [piece(1)]);
    let repeat = b.resend(1000.0, piece(1));
    b.tcp_ack(1100.0, 4, &[], repeat);
    assert_eq!((b.sender.bytes_in_flight(), b.sender.in_recovery()), (0, false));
}

/// The probe of RFC 8985 repairs a lost tail two RTTs after it, the timeout of RFC 6298 one RTT and
/// 200 ms after it.
#[test]
fn probe_comes_before_the_timeout() {
    let due = |timeout| {
        let mut b = Bench::primed(Config { timeout, ..Config::tcp() }, 50.0);
        b.send_at([50.0, 50.0]);
        b.due().unwrap()
    };
    assert_ms(due(Timeout::TlpRto), 50.0 + 2.0 * 50.0 + 2.0);
    assert_ms(due(Timeout::Rto), 50.0 + 50.0 + 200.0);
}

/// Figure 32 of the thesis: 1 to 3 are lost, 4 arrives. QUIC declares 1 lost, the scoreboard
/// nothing.
#[test]
fn one_sacked_packet() {
    let quic = Config { packet_count: PacketCount::Numbers, ..scoreboard() };
    for (config, lost) in [(quic, vec![1]), (scoreboard(), vec![])] {
        let mut b = flight(config);
        b.tcp_ack(204.0, 1, &[(4, 5)], 4);
        assert_eq!(b.lost_pns(), lost);
    }
}

/// RFC 6675 section 4: three discontiguous sequences, however small, or more than two full packets.
#[test]
fn sequences_or_bytes() {
    const NONE: [u64; 0] = [];
    let sent = |sizes: &[u64]| {
        let mut b = Bench::primed(scoreboard(), 100.0);
        let mut at = SIZE;
        for size in sizes {
            b.sender.on_sent(ms(100.0), *size, Piece(at, at + size), false);
            at += size;
        }
        b
    };
    let ack = |b: &mut Bench, sacks: [(u64, u64); 3]| {
        let ack = TcpAck {
            cumulative: SIZE,
            sacks: sacks.map(|s| (SIZE + s.0, SIZE + s.1)),
            echo: 9,
            ..TcpAck::default()
        };
        b.sender.on_tcp_ack(ms(200.0), &ack, &mut b.out);
        b.lost_pns()
    };
    let small = [1000, 10, 10, 10, 10, 10];
    assert_eq!(ack(&mut sent(&small), [(1000, 1010), (1020, 1030), (1040, 1050)]), [1], "three sequences");
    assert_eq!(ack(&mut sent(&small), [(1000, 1010), (1020, 1030), (0, 0)]), NONE, "two sequences");
    let full = [1000, 1000, 1000, 1000];
    assert_eq!(ack(&mut sent(&full), [(1000, 3000), (0, 0), (0, 0)]), NONE, "two full packets");
    assert_eq!(ack(&mut sent(&full), [(1000, 4000), (0, 0), (0, 0)]), [1], "three full packets");
    let odd = [1000, 1000, 1000, 1];
    assert_eq!(ack(&mut sent(&odd), [(1000, 3001), (0, 0), (0, 0)]), [1], "one byte more than two");
}

/// RFC 6675 section 4 rules 1.a: a repeat is not lost again, however much is SACKed beyond it.
#[test]
fn a_repeat_is_not_lost_by_the_scoreboard() {
    let mut b = flight(scoreboard());
    b.tcp_ack(204.0, 1, &[(2, 5)], 4);
    assert_eq!(b.lost_pns(), [1]);
    b.resend(204.0, piece(1)); // 21
    b.send(205.0); // 22: piece 21
    b.tcp_ack(210.0, 1, &[(2, 7), (8, 11)], 10);
    assert_eq!(b.lost_pns(), [7], "a hole beyond the repeat");
    b.tcp_ack(220.0, 1, &[(2, 7), (8, 21)], 20);
    assert!(b.out.lost.is_empty());
}

/// RFC 5827 section 3: with two or three packets outstanding and no more data, all but one SACKed
/// packet prove the loss. Otherwise three do.
#[test]
fn early_retransmit() {
    for count in [PacketCount::Numbers, PacketCount::Sacked] {
        for (outstanding, limited, lost) in
            [(2, true, true), (3, true, true), (4, true, false), (3, false, false)]
        {
            let early = Config { early_retransmit: true, packet_count: count, ..scoreboard() };
            let mut b = Bench::primed(early, 100.0);
            b.send_at(vec![100.0; outstanding as usize]);
            if limited {
                b.sender.on_limited(Limit::Application);
            }
            b.tcp_ack(200.0, 1, &[(2, outstanding)], outstanding - 1);
            assert_eq!(b.lost(), [], "{count:?}, {outstanding}: one packet is missing");
            b.tcp_ack(200.0, 1, &[(2, outstanding + 1)], outstanding);
            // Of four outstanding packets, three are SACKed: the usual threshold.
            assert_eq!(!b.lost().is_empty(), lost || outstanding == 4, "{count:?}, {outstanding}, {limited}");
        }
    }
}

/// Vegas examines the oldest packet at the first duplicate ACK and declares it lost if it is older
/// than srtt + 4 rttvar. No timer does.
#[test]
fn check_of_vegas() {
    for sack in [true, false] {
        let vegas =
            || Config { time_threshold: TimeThreshold::Vegas, sack, ..without_sack(Exit::NewrenoTcp) };
        // After the first sample of 100 ms: srtt = 100, rttvar = 50 ms.
        let mut b = Bench::primed(vegas(), 100.0);
        b.send_at([100.0, 101.0]);
        b.tcp_ack(399.0, 1, &[(2, 3)], 2);
        assert_eq!(b.lost(), [], "299 ms old, sack = {sack}");
        let mut b = Bench::primed(vegas(), 100.0);
        b.send_at([100.0, 700.0]);
        b.tcp_ack(800.0, 1, &[(2, 3)], 2);
        assert_eq!(b.lost(), [(1, Detection::TimeThreshold)], "700 ms old, sack = {sack}");
        assert_eq!(b.verdicts(), [Signal::Reduce(Loss)]);
    }
}

/// The definition of `IsLost` (RFC 6675 section 4) for full packets: sequences and bytes SACKed
/// above packet `n`.
fn is_lost(sacked: &[bool], n: usize) -> bool {
    let above = &sacked[n + 1..];
    let sequences = (0..above.len()).filter(|i| above[*i] && (*i == 0 || !above[i - 1])).count();
    sequences >= 3 || above.iter().filter(|s| **s).count() > 2
}

proptest! {
    /// The scoreboard agrees with the definition, whatever arrives in whatever order.
    #[test]
    fn scoreboard_by_definition(order in Just((1..=20u64).collect::<Vec<_>>()).prop_shuffle(), count in 1usize..20) {
        let mut b = flight(scoreboard());
        let (mut sacked, mut lost) = (vec![false; 21], vec![false; 21]);
        sacked[0] = true;
        for &pn in &order[..count] {
            sacked[pn as usize] = true;
            let cumulative = sacked.iter().position(|s| !s).unwrap_or(21) as u64;
            b.tcp_ack(250.0, cumulative, &[(pn, pn + 1)], pn);
            for pn in b.lost_pns() {
                lost[pn as usize] = true;
            }
            for n in 1..21 {
                let expected = !sacked[n] && is_lost(&sacked, n);
                prop_assert!(!expected || lost[n], "packet {} of {:?}", n, sacked);
                prop_assert!(sacked[n] || expected == lost[n], "packet {} of {:?}", n, sacked);
            }
        }
    }
}
