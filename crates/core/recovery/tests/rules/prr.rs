//! Proportional Rate Reduction, RFC 9937 section 6, in segments: 20 in flight, 10 at the end of the
//! period.

use crate::common::*;
use ackclock_recovery::{Config, EcnCounts, Reduction, SendDecision, TcpAck};
use congestion::Cause;
use units::Ecn;

const FLIGHT: u64 = 20;
const SSTHRESH: u64 = 10;

/// RTT 100 ms; pieces 1..=20 in transmissions 1..=20, one per millisecond from 101 ms on. They fill
/// the window exactly.
fn flight(config: Config) -> Bench {
    let mut b = Bench::primed(config, 100.0);
    b.set_window(FLIGHT * SIZE);
    b.set_reduced(SSTHRESH * SIZE);
    b.send_at((1..=FLIGHT).map(|n| 100.0 + n as f64));
    b
}

/// Returns the segments in flight and the segments that the window still allows.
fn pipe_and_room(b: &Bench) -> (u64, u64) {
    let pipe = b.sender.bytes_in_flight();
    (pipe / SIZE, b.sender.window().saturating_sub(pipe) / SIZE)
}

fn lost(b: &Bench) -> Vec<Piece> {
    b.out.lost.iter().map(|l| l.2).collect()
}

/// One loss: one packet is sent for every two that arrive, until `ssthresh` is in flight, then one
/// for one.
#[test]
fn one_out_for_two_in() {
    let mut b = flight(Config::tcp());
    b.tcp_ack(204.0, 1, &[(2, 5)], 4);
    let mut repeats = lost(&b);
    assert_eq!(repeats, [piece(1)]);
    // RecoverFS is the flight before this ACK, which delivers three: ceil(3 * 10 / 20) = 2.
    assert_eq!(pipe_and_room(&b), (16, 2));
    assert_eq!(b.fill(204.0, &mut repeats), 2);
    for (pn, out) in (5..=FLIGHT).zip([0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1]) {
        b.tcp_ack(200.0 + pn as f64, 1, &[(2, pn + 1)], pn);
        assert_eq!(b.fill(200.0 + pn as f64, &mut repeats), out, "transmission {pn}");
    }
    assert_eq!(b.sender.bytes_in_flight(), SSTHRESH * SIZE);
    assert!(b.sender.in_recovery());
    // The repeat arrives: the period ends.
    b.tcp_ack(304.0, FLIGHT + 1, &[], FLIGHT + 1);
    assert!(!b.sender.in_recovery());
    assert_eq!((b.sender.window(), b.fill(304.0, &mut repeats)), (SSTHRESH * SIZE, 1));
}

/// Losses empty the pipe far below `ssthresh`. There is no burst, but one packet for each that
/// arrives (PRR-CRB) while losses are new. On each ACK that fills a hole there is one more
/// (PRR-SSRB): slow start up to `ssthresh`.
#[test]
fn heavy_loss() {
    let mut b = flight(Config::tcp());
    b.tcp_ack(218.0, 1, &[(16, 19)], 18);
    let mut repeats = lost(&b);
    assert_eq!(repeats.len(), 15);
    assert_eq!(pipe_and_room(&b), (2, 3), "as many as arrived");
    assert_eq!(b.fill(218.0, &mut repeats), 3); // 21..=23: pieces 1, 2, 3
    for (pn, at) in [(19, 219.0), (20, 220.0)] {
        b.tcp_ack(at, 1, &[(16, pn + 1)], pn);
        assert_eq!(pipe_and_room(&b), (4, 1), "nothing fills a hole");
        assert_eq!(b.fill(at, &mut repeats), 1); // 24, 25: pieces 4, 5
    }
    let mut pipe = 5;
    for (n, pn) in (1..=5).zip(21..) {
        b.tcp_ack(318.0, n + 1, &[(16, 21)], pn);
        assert_eq!(pipe_and_room(&b), (pipe - 1, 2), "hole {n} is filled");
        assert_eq!(b.fill(318.0, &mut repeats), 2);
        pipe += 1;
    }
    assert_eq!((pipe, b.sender.bytes_in_flight()), (SSTHRESH, SSTHRESH * SIZE));
    b.tcp_ack(419.0, 7, &[(16, 21)], 26);
    assert_eq!(pipe_and_room(&b), (SSTHRESH - 1, 1), "no further than ssthresh");
}

/// A repeated loss counts as new: the ACK that reveals it is not safe, even if it fills a hole.
#[test]
fn further_loss_is_not_safe() {
    let mut b = flight(Config::tcp());
    b.tcp_ack(218.0, 1, &[(16, 19)], 18);
    let mut repeats = lost(&b);
    b.fill(218.0, &mut repeats); // 21..=23: pieces 1, 2, 3
    b.tcp_ack(219.0, 1, &[(16, 20)], 19);
    b.fill(219.0, &mut repeats); // 24: piece 4
    // Piece 1 arrives and, in the same ACK, piece 4, sent after the repeats of 2 and 3.
    b.tcp_ack(319.0, 2, &[(4, 5), (16, 20)], 24);
    assert_eq!(b.lost_pns(), [20, 22, 23]);
    // 4 delivered before, 2 now, 4 sent: max(6 - 4, 2), and no more.
    assert_eq!(pipe_and_room(&b), (0, 2));
}

/// One ACK that covers many packets sends their share at once; one that covers everything ends the
/// period.
#[test]
fn one_ack_for_many() {
    let mut b = flight(Config::tcp());
    b.tcp_ack(204.0, 1, &[(2, 5)], 4);
    let mut repeats = lost(&b);
    assert_eq!(b.fill(204.0, &mut repeats), 2);
    b.tcp_ack(208.0, 1, &[(2, 9)], 8);
    assert_eq!(pipe_and_room(&b), (14, 2), "ceil(7 * 10 / 20) - 2");
    b.tcp_ack(304.0, FLIGHT + 1, &[], FLIGHT + 1);
    assert!(!b.sender.in_recovery());
    assert_eq!(b.sender.window(), SSTHRESH * SIZE);
}

/// The window falls to `ssthresh` at once if configured so, if the controller shapes its window
/// itself, or if it does not reduce.
#[test]
fn at_once() {
    let mut at_once = flight(Config { reduction: Reduction::AtOnce, ..Config::tcp() });
    let mut shaped = flight(Config::tcp());
    shaped.notes.lock().unwrap().shapes_recovery = true;
    let mut fixed = flight(Config::tcp());
    fixed.set_reduced(FLIGHT * SIZE);
    for (b, window) in [(&mut at_once, SSTHRESH), (&mut shaped, SSTHRESH), (&mut fixed, FLIGHT)] {
        b.tcp_ack(204.0, 1, &[(2, 5)], 4);
        assert!(b.sender.in_recovery());
        assert_eq!(b.sender.window(), window * SIZE);
    }
    assert_eq!((Config::tcp().reduction, Config::quic().reduction), (Reduction::Prr, Reduction::AtOnce));
}

/// A timer that declares the losses starts the period with one packet, the fast retransmit.
#[test]
fn begun_by_the_timer() {
    let mut b = flight(Config::tcp());
    b.tcp_ack(204.0, 1, &[(2, 3), (4, 5)], 4);
    let at = b.timer();
    let mut repeats = lost(&b);
    assert_eq!(repeats, [piece(1), piece(3)]);
    assert_eq!(pipe_and_room(&b), (16, 1));
    assert_eq!(b.fill(at, &mut repeats), 1);
    b.tcp_ack(205.0, 1, &[(2, 3), (4, 6)], 5);
    assert_eq!(pipe_and_room(&b), (16, 0), "ceil(1 * 10 / 18) - 1");
}

/// The reduction for a mark is gradual, like that for a loss (Linux: CWR).
#[test]
fn marks() {
    let mut b = Bench::new(Config { ecn: Ecn::Ect0, ..Config::tcp() });
    b.set_window(FLIGHT * SIZE);
    b.set_reduced(SSTHRESH * SIZE);
    b.send_at((0..FLIGHT).map(|n| n as f64));
    let outs = [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1];
    for (pn, out) in (0..FLIGHT).zip(outs) {
        let at = 100.0 + pn as f64;
        let ecn = Some(EcnCounts { ect0: pn, ect1: 0, ce: 1 });
        let ack = TcpAck { cumulative: (pn + 1) * SIZE, echo: pn, ecn, ..TcpAck::default() };
        b.sender.on_tcp_ack(ms(at), &ack, &mut b.out);
        assert_eq!(b.fill(at, &mut Vec::new()), out, "transmission {pn}");
    }
    assert_eq!(b.verdicts(), [Signal::Reduce(Cause::Ecn)]);
    assert_eq!((b.sender.bytes_in_flight(), b.sender.in_recovery()), (SSTHRESH * SIZE, false));
}

/// A timeout collapses the window whatever PRR has left of it, and the controller performs slow
/// start.
#[test]
fn not_after_a_timeout() {
    let mut b = flight(Config::tcp());
    b.tcp_ack(204.0, 1, &[(2, 5)], 4);
    b.fill(204.0, &mut lost(&b));
    b.set_reduced(SIZE);
    let at = b.timer();
    assert_eq!(b.out.congestion, Some(Cause::Timeout));
    assert_eq!(b.sender.window(), SIZE);
    let repeat = b.resend(at, piece(1));
    b.set_window(2 * SIZE);
    b.tcp_ack(at + 100.0, 5, &[], repeat);
    assert!(b.sender.in_recovery());
    assert_eq!(b.sender.window(), 2 * SIZE);
}

/// An undone reduction is no longer gradual.
#[test]
fn undone() {
    let mut b = flight(Config::tcp());
    b.tcp_ack(204.0, 1, &[(2, 5)], 4);
    b.tcp_ack(205.0, 5, &[], 1);
    assert_eq!(b.sender.stats().undone, 1);
    assert_eq!(b.sender.window(), SSTHRESH * SIZE, "this controller undoes nothing");
}

/// QUIC can use it too: a period ends with the first packet sent since.
#[test]
fn quic() {
    let mut b = flight(Config {
        reduction: Reduction::Prr,
        paced: ackclock_recovery::Paced::Never,
        ..Config::quic()
    });
    b.ack(204.0, &[(2, 4)]);
    let mut repeats = lost(&b);
    assert_eq!(pipe_and_room(&b), (16, 2));
    assert_eq!(b.fill(204.0, &mut repeats), 2);
    b.ack(206.0, &[(2, 6)]);
    assert_eq!(pipe_and_room(&b), (16, 1), "ceil(5 * 10 / 20) - 2");
    b.ack(304.0, &[(2, 21)]);
    assert!(!b.sender.in_recovery());
    assert_eq!(b.sender.window(), SSTHRESH * SIZE);
}

/// The fast retransmit, and nothing else, can be sent although the new window is full.
#[test]
fn the_first_packet() {
    let mut b = flight(Config::tcp());
    b.set_reduced(2 * SIZE);
    b.tcp_ack(204.0, 1, &[(2, 5)], 4);
    assert_eq!(pipe_and_room(&b), (16, 1), "ceil(3 * 2 / 20)");
    assert_eq!(b.fill(204.0, &mut lost(&b)), 1);
    b.tcp_ack(205.0, 1, &[(2, 6)], 5);
    assert_eq!(b.sender.can_send(ms(205.0), SIZE), SendDecision::WindowFull, "ceil(4 * 2 / 20) - 1");
}
