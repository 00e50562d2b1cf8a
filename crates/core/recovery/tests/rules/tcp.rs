//! The TCP rules: SACK, RACK (RFC 8985 section 6), NewReno's recovery (RFC 6582).

use crate::common::*;
use ackclock_recovery::{Config, EcnCounts, Exit, TcpAck};
use congestion::Cause::{self, Loss};
use congestion::Detection::TimeThreshold;
use units::Duration;
use units::Ecn;

fn reduce(causes: &[Cause]) -> Vec<Signal> {
    causes.iter().map(|c| Signal::Reduce(*c)).collect()
}

/// RTT 100 ms; pieces 1..=20, one per millisecond from 101 ms on, piece n in transmission n.
fn flight(config: Config) -> Bench {
    let mut b = Bench::primed(config, 100.0);
    b.send_at((1..=20).map(|n| 100.0 + f64::from(n)));
    b
}

/// Pieces from `from` on arrive without reordering, up to the third after the hole at `from - 1`.
fn hole(b: &mut Bench, from: u64) {
    for pn in from..from + 3 {
        b.tcp_ack(200.0 + pn as f64, from - 1, &[(from, pn + 1)], pn);
    }
}

/// No reordering seen: the third SACKed segment beyond a hole ends the wait (reo_wnd = 0).
#[test]
fn third_sacked_segment() {
    let mut b = flight(Config::tcp());
    for pn in 2..=3 {
        b.tcp_ack(200.0 + pn as f64, 1, &[(2, pn + 1)], pn);
        assert!(b.out.lost.is_empty(), "{pn}");
    }
    assert_ms(b.due().unwrap(), 101.0 + 100.0 + 25.0); // min_rtt / 4
    b.tcp_ack(204.0, 1, &[(2, 5)], 4);
    assert_eq!(b.lost(), [(1, TimeThreshold)]);
    assert_eq!(b.verdicts(), reduce(&[Loss]));
}

/// RACK.segs_sacked counts the segments beyond the hole, not those that the same ACK acknowledges
/// before it.
#[test]
fn only_sacked_segments_count() {
    let mut b = flight(Config::tcp());
    b.tcp_ack(207.0, 6, &[(7, 8)], 7);
    assert!(b.out.lost.is_empty());
    assert_ms(b.due().unwrap(), 106.0 + 100.0 + 25.0);
}

/// Fewer than three: after min_rtt / 4. The timer waits for the last hole (section 6.2 step 5: the
/// largest remainder).
#[test]
fn reordering_timer() {
    let mut b = flight(Config::tcp());
    b.tcp_ack(204.0, 1, &[(2, 3), (4, 5)], 4);
    assert_ms(b.timer(), 103.0 + 100.0 + 25.0);
    assert_eq!(b.lost_pns(), [1, 3]);
}

/// Once reordering was seen, three SACKed segments prove nothing: min_rtt / 4.
#[test]
fn after_reordering() {
    let mut b = flight(Config::tcp());
    b.tcp_ack(202.0, 1, &[(2, 3)], 2);
    b.tcp_ack(203.0, 3, &[], 1); // 1 was overtaken by 2
    b.tcp_ack(205.0, 3, &[(4, 6)], 5);
    b.tcp_ack(208.0, 3, &[(4, 9)], 8);
    assert!(b.out.lost.is_empty());
    assert_ms(b.due().unwrap(), 103.0 + 100.0 + 25.0);
}

/// RACK.rtt is that of the packet delivered last, also of a late one (step 2).
#[test]
fn rack_rtt_of_a_late_packet() {
    let mut b = flight(Config::tcp());
    b.tcp_ack(203.0, 1, &[(3, 4)], 3);
    b.tcp_ack(211.0, 2, &[(3, 4)], 1); // 110 ms
    assert_ms(b.due().unwrap(), 102.0 + 110.0 + 25.0);
}

/// Step 4: a spurious loss widens the window by min_rtt / 4, once per round trip. After 16
/// recoveries it is reset.
#[test]
fn spurious_losses_widen_the_window() {
    let mut b = flight(Config::tcp());
    b.tcp_ack(206.0, 1, &[(4, 7)], 6);
    assert_eq!(b.lost_pns(), [1, 2, 3]);
    // All three arrive late: three late ACKs in one round trip, one step.
    b.tcp_ack(207.0, 2, &[(4, 7)], 1);
    b.tcp_ack(207.5, 3, &[(4, 7)], 2);
    b.tcp_ack(208.0, 7, &[], 3);
    assert_eq!(b.sender.stats().spurious, 3);
    assert_eq!(b.verdicts(), [Signal::Reduce(Loss), Signal::Undo]);
    b.tcp_ack(210.0, 7, &[(8, 11)], 10);
    assert!(b.out.lost.is_empty());
    assert_ms(b.due().unwrap(), 107.0 + 100.0 + 2.0 * 25.0);
}

/// The retransmission is in flight, but the original has arrived: no RTT sample of a few
/// milliseconds, and no loss of everything sent before the retransmission (section 6.2 step 2).
#[test]
fn late_original_after_retransmission() {
    let mut b = flight(Config::tcp());
    hole(&mut b, 2);
    assert_eq!(b.lost_pns(), [1]);
    let repeat = b.resend(204.0, piece(1));
    b.tcp_ack(206.0, 5, &[], 1);
    assert_eq!(b.sender.bytes_in_flight(), 16 * SIZE, "the retransmission is off the books");
    assert_eq!((b.out.rtt, b.lost()), (None, vec![]));
    assert_eq!((b.sender.stats().spurious, b.sender.stats().retransmissions), (1, 1));
    assert_eq!(b.verdicts(), [Signal::Reduce(Loss), Signal::Undo]);
    b.tcp_ack(304.0, 20, &[], repeat);
    b.tcp_ack(304.0, 20, &[], 19);
    assert_eq!(b.sender.stats().lost(), 1);
}

/// RFC 6582: no second reduction until everything sent before the first has arrived. QUIC ends the
/// period a round trip later.
#[test]
fn recovery_lasts_until_all_holes_are_filled() {
    for (exit, cuts) in [(Exit::NewrenoTcp, 1), (Exit::Quic, 2)] {
        let mut b = flight(Config { exit, ..Config::tcp() });
        hole(&mut b, 2); // transmission 1 is lost
        b.resend(204.0, piece(1)); // 21, lost again
        b.send_at((0..5).map(|n| 205.0 + f64::from(n))); // 22..=26: pieces 21..=25
        b.tcp_ack(306.0, 1, &[(2, 21), (22, 23)], 23); // piece 21 is missing
        assert_eq!(b.lost_pns(), [21, 22], "the retransmission and piece 21");
        assert!(b.sender.in_recovery(), "{exit:?}");
        assert_eq!(b.verdicts().len(), cuts, "{exit:?}");
        let (first, second) = (b.resend(306.0, piece(1)), b.resend(306.0, piece(21)));
        b.tcp_ack(406.0, 21, &[(22, 26)], first);
        assert!(!b.sender.in_recovery(), "all before the cut is there");
        b.tcp_ack(406.1, 26, &[], second);
        assert_eq!(b.sender.bytes_in_flight(), 0);
    }
}

/// A cumulative ACK over originals and retransmissions acknowledges each of them, and nothing
/// beyond.
#[test]
fn cumulative_over_retransmissions() {
    let mut b = flight(Config::tcp());
    b.tcp_ack(208.0, 1, &[(2, 3), (5, 9)], 8); // 1, 3, 4 are missing
    assert_eq!(b.lost_pns(), [1, 3, 4]);
    for n in [1, 3, 4] {
        b.resend(208.0, piece(n)); // 21..=23
    }
    b.send(209.0); // 24: piece 21
    b.signals();
    b.tcp_ack(308.0, 21, &[], 21);
    assert_eq!(b.signals(), [Signal::Ack { acked: 15 * SIZE, growth: 0 }], "9..=20 and 21..=23");
    assert_eq!(b.sender.bytes_in_flight(), SIZE);
    b.tcp_ack(309.0, 22, &[], 24);
    assert_eq!((b.sender.bytes_in_flight(), b.due()), (0, None));
    assert_eq!(b.sender.stats().acked + b.sender.stats().lost(), b.sender.stats().sent);
}

/// RFC 8985 section 7.4: the probe repaired the loss. The window is reduced nevertheless, once.
#[test]
fn repaired_by_the_probe() {
    for (echo, cuts) in [(3, 1), (2, 0)] {
        let mut b = Bench::primed(Config::tcp(), 100.0);
        b.send_at([100.0, 100.0]);
        let at = b.timer();
        let data = b.sender.probe_payload().unwrap();
        assert_eq!(b.resend(at, data), 3);
        b.signals();
        b.tcp_ack(at + 100.0, 3, &[], echo);
        assert_eq!(b.verdicts(), reduce(&vec![Loss; cuts]), "answered by {echo}");
        assert_eq!((b.sender.bytes_in_flight(), b.sender.in_recovery()), (0, false));
        assert_eq!(b.sender.stats().lost(), 0);
    }
}

/// One ACK covers a probe and its original, but only one of them arrived: ECN validation must not
/// fail.
#[test]
fn ecn_counts_one_arrival() {
    for echo in [0, 1] {
        let mut b = Bench::new(Config { ecn: Ecn::Ect0, ..Config::tcp() });
        b.send(0.0);
        b.resend(1.0, piece(0));
        let ecn = Some(EcnCounts { ect0: 1, ect1: 0, ce: 0 });
        let ack = TcpAck { cumulative: SIZE, echo, ecn, ..TcpAck::default() };
        b.sender.on_tcp_ack(ms(100.0), &ack, &mut b.out);
        let ce = Some(EcnCounts { ect0: 1, ect1: 0, ce: 1 });
        let pn = b.send(100.0);
        let ack = TcpAck { cumulative: 2 * SIZE, echo: pn, ecn: ce, ..TcpAck::default() };
        b.sender.on_tcp_ack(ms(200.0), &ack, &mut b.out);
        assert_eq!(b.verdicts(), reduce(&[Cause::Ecn]), "still valid: the mark counts");
    }
}

/// The smallest RTT limits which retransmissions can have arrived (RFC 8985 section 6.2 step 2).
#[test]
fn min_rtt_guards() {
    let mut b = flight(Config::tcp());
    hole(&mut b, 2);
    b.resend(204.0, piece(1)); // 21
    b.send(204.0); // 22
    // Packet 22 cannot be acknowledged after 10 ms. Even if it were, 21 would be no evidence of its
    // own.
    b.tcp_ack(214.0, 5, &[], 22);
    assert_eq!(b.out.rtt, None);
    assert_eq!(b.sender.rtt().min(), Duration::from_millis(100));
}
