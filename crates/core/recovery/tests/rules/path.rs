//! Changes of path and datagram size, and the number of packets that can be sent at once.

use crate::common::*;
use ackclock_recovery::SpaceId::{Application, Handshake};
use ackclock_recovery::{AckFrame, Budget, Config, EcnCounts, Limit, Pacing, Role, SendDecision, Style};
use congestion::{Cause, Control, Controller, PathInfo};
use proptest::prelude::*;
use units::{Duration, Ecn};

const PATH: PathInfo = PathInfo { max_datagram_size: SIZE, paced: true, seed: 2 };

/// A bench with an RTT of 100 ms and four packets in flight, moved to another path at 200 ms.
fn moved() -> Bench {
    let mut b = Bench::connected();
    b.send_in(0.0, Application);
    b.ack_in(100.0, Application, &[(0, 0)]).unwrap();
    for _ in 0..4 {
        b.send_in(150.0, Application);
    }
    let controller = b.controller();
    b.sender.on_path_change(ms(200.0), controller, PATH);
    b.signals();
    b
}

/// RFC 9000 section 9.4: earlier packets neither count nor provide samples, but their payloads are
/// acknowledged and lost.
#[test]
fn the_old_path() {
    let mut b = moved();
    assert_eq!((b.sender.bytes_in_flight(), b.sender.rtt().is_sampled()), (0, false));
    assert_ms(b.due().unwrap(), 150.0 + 999.0 + 25.0);
    b.ack_in(250.0, Application, &[(0, 2), (4, 4)]).unwrap();
    assert_eq!((b.acked(), b.out.rtt, b.signals()), (vec![1, 2, 4], None, vec![]));
    assert_eq!(b.send_in(260.0, Application), 5);
    assert_eq!(b.send_in(260.0, Application), 6);
    b.ack_in(300.0, Application, &[(0, 2), (4, 6)]).unwrap();
    assert_eq!((b.lost_pns(), b.out.congestion), (vec![3], None), "a loss of the old path");
    assert_eq!(b.out.rtt, Some(Duration::from_millis(40)));
    assert_eq!(b.signals(), [Signal::Ack { acked: 2 * SIZE, growth: 2 * SIZE }]);
    assert_eq!((b.sender.bytes_in_flight(), b.due()), (0, None));
    b.ack_in(301.0, Application, &[(0, 6)]).unwrap();
    assert_eq!(b.signals(), [], "late, and of the old path");
}

/// Losses of both paths in one ACK: the new controller hears only of its own.
#[test]
fn both_paths() {
    let mut b = moved();
    for at in 0..4 {
        b.send_in(260.0 + f64::from(at), Application);
    }
    b.ack_in(310.0, Application, &[(0, 0), (8, 8)]).unwrap();
    assert_eq!(b.lost_pns(), [1, 2, 3, 4, 5]);
    assert_eq!(b.out.congestion, Some(Cause::Loss));
    let lost: Vec<_> = b.signals().into_iter().filter(|s| matches!(s, Signal::Lost(_))).collect();
    assert!(matches!(&lost[..], [Signal::Lost(lost)] if lost.len() == 1 && lost[0].0 == 5), "{lost:?}");
    assert_eq!(b.sender.bytes_in_flight(), 2 * SIZE);
}

/// A reduction of the old path is not undone on the new one, however late its packets arrive.
#[test]
fn no_undo_over_paths() {
    let mut b = Bench::connected();
    b.send_in(0.0, Application);
    b.ack_in(100.0, Application, &[(0, 0)]).unwrap();
    for _ in 0..5 {
        b.send_in(150.0, Application);
    }
    b.ack_in(250.0, Application, &[(4, 4)]).unwrap();
    assert_eq!((b.lost_pns(), b.out.congestion), (vec![1], Some(Cause::Loss)));
    let controller = b.controller();
    b.sender.on_path_change(ms(251.0), controller, PATH);
    b.signals();
    b.send_in(252.0, Application);
    b.ack_in(255.0, Application, &[(0, 5)]).unwrap();
    b.ack_in(260.0, Application, &[(0, 6)]).unwrap();
    assert_eq!(b.verdicts(), []);
    assert_eq!(b.sender.stats().undone, 0);
    b.sender.discard(ms(300.0), Handshake);
    assert_eq!(b.sender.bytes_in_flight(), 0);
}

/// ECN is validated again (RFC 9000 section 13.4.2), and the counts of the space continue.
#[test]
fn ecn_begins_anew() {
    let mut b = Bench::endpoint(Config { ecn: Ecn::Ect1, ..Config::quic() }, Role::Server);
    let send = |b: &mut Bench, at| {
        let mark = b.sender.datagram_mark(ms(at));
        b.sender.on_sent_in(ms(at), Application, SIZE, mark, piece(0), true);
        mark
    };
    let ack = |b: &mut Bench, at, pn, ect1| {
        let ecn = Some(EcnCounts { ect1, ..EcnCounts::default() });
        let frame = AckFrame { ranges: vec![(0, pn)], ecn, ..AckFrame::default() };
        b.sender.on_ack_in(ms(at), Application, &frame, None, &mut b.out).unwrap();
    };
    assert_eq!((send(&mut b, 0.0), send(&mut b, 0.0)), (Ecn::Ect1, Ecn::Ect1));
    ack(&mut b, 50.0, 0, 0);
    assert_eq!(send(&mut b, 60.0), Ecn::NotEct, "bleached");
    let controller = b.controller();
    b.sender.on_path_change(ms(70.0), controller, PATH);
    assert_eq!(send(&mut b, 70.0), Ecn::Ect1, "tested again");
    ack(&mut b, 120.0, 3, 1);
    assert_eq!(b.sender.bare_mark(), Ecn::Ect1, "validated");
}

/// Every earlier packet is removed once, even if its space is discarded later.
#[test]
fn discarded_after_a_move() {
    let mut b = Bench::endpoint(Config::quic(), Role::Client);
    b.send_in(0.0, Handshake);
    let controller = b.controller();
    b.sender.on_path_change(ms(1.0), controller, PATH);
    b.send_in(2.0, Handshake);
    b.send_in(3.0, Application);
    assert_eq!(b.sender.bytes_in_flight(), 2 * SIZE);
    b.sender.discard(ms(4.0), Handshake);
    assert_eq!((b.sender.bytes_in_flight(), b.sender.stats().discarded), (SIZE, 2));
}

/// The controller of a path with growing datagrams is kept and told, and so is the pacer.
#[test]
fn larger_datagrams() {
    #[derive(Clone, Debug)]
    struct InPackets(u64);
    impl Controller for InPackets {
        fn on_ack(&mut self, _: &congestion::Ack) -> Option<Cause> {
            None
        }
        fn on_congestion(&mut self, _: &congestion::Congestion) {}
        fn on_path_change(&mut self, path: PathInfo) {
            self.0 = path.max_datagram_size;
        }
        fn control(&self) -> Control {
            Control::window(100 * self.0)
        }
    }
    let controller = Box::new(InPackets(SIZE));
    let mut sender = ackclock_recovery::Sender::with_spaces(Config::quic(), controller, PATH, Role::Client);
    let mut out = ackclock_recovery::AckEffects::default();
    sender.on_sent_in(ms(0.0), Application, SIZE, Ecn::NotEct, piece(0), true);
    let frame = AckFrame { ranges: vec![(0, 0)], ..AckFrame::default() };
    sender.on_ack_in(ms(100.0), Application, &frame, None, &mut out).unwrap();
    assert_eq!(sender.budget(ms(9000.0), SIZE), Budget { packets: 10, limit: Limit::Pacer, at: None });
    sender.set_max_datagram_size(2 * SIZE);
    assert_eq!(sender.window(), 200 * SIZE);
    assert_eq!(sender.budget(ms(19_000.0), 2 * SIZE).packets, 10, "of the new size");
}

/// Nothing is sent while the peer's address allows nothing, and the caller learns the reason.
#[test]
fn who_limits() {
    let mut b = Bench::endpoint(Config::quic(), Role::Server);
    b.set_window(3 * SIZE);
    b.send_in(0.0, Application);
    b.ack_in(100.0, Application, &[(0, 0)]).unwrap();
    assert_eq!(b.sender.budget(ms(5000.0), SIZE), Budget { packets: 3, limit: Limit::Window, at: None });
    b.sender.set_amplification_limited(true);
    assert_eq!(
        b.sender.budget(ms(5000.0), SIZE),
        Budget { packets: 0, limit: Limit::Amplification, at: None }
    );
    b.sender.set_amplification_limited(false);
    for _ in 0..3 {
        b.send_in(5000.0, Application);
    }
    assert_eq!(b.sender.budget(ms(5000.0), SIZE), Budget { packets: 0, limit: Limit::Window, at: None });
    let limited = |b: &mut Bench, by| {
        b.ack_in(5100.0, Application, &[(0, 3)]).unwrap();
        b.sender.on_limited(by);
        let pn = b.send_in(5200.0, Application);
        b.signals();
        b.ack_in(5300.0, Application, &[(0, pn)]).unwrap();
        b.signals()
    };
    assert_eq!(limited(&mut b, Limit::Pacer), [Signal::Ack { acked: SIZE, growth: SIZE }]);
    assert_eq!(limited(&mut b, Limit::FlowControl), [Signal::Ack { acked: SIZE, growth: 0 }]);
}

proptest! {
    /// The budget equals the number of packets sent one by one, for any window, rate, burst and
    /// probes.
    #[test]
    fn budget_is_what_leaves(
        window in 0u64..60, flying in 0u64..40, wait in 0u64..200, burst in prop::option::of(1u64..30),
        by_bursts in any::<bool>(), overshoot in any::<bool>(), size in 1u64..1500, probe in any::<bool>(),
    ) {
        let style = if by_bursts { Style::Bursts } else { Style::Tokens };
        let interval = Duration::from_millis(1);
        let pacing = Pacing { style, burst, interval: if by_bursts { interval } else { Duration::ZERO }, ..Pacing::default() };
        let mut b = Bench::endpoint(Config { pacing, overshoot, ..Config::quic() }, Role::Server);
        b.sender.on_handshake_confirmed(ms(0.0));
        b.send_in(0.0, Application);
        b.set_window((window + 1) * SIZE - 300);
        b.ack_in(50.0, Application, &[(0, 0)]).unwrap();
        for _ in 0..flying {
        b.send_in(100.0, Application);
    }
        let now = if probe && flying > 0 { b.timer() } else { 100.0 + wait as f64 };
        let budget = b.sender.budget(ms(now), size);
        let mut left = 0;
        let stopped = loop {
            match b.sender.can_send(ms(now), size) {
                SendDecision::Now => {
                    b.sender.on_sent_in(ms(now), Application, size, Ecn::NotEct, piece(0), true);
                    left += 1;
                }
                stopped => break stopped,
            }
        };
        prop_assert_eq!(budget.packets, left);
        if left == 0 {
            prop_assert_eq!(budget.limit == Limit::Window, stopped == SendDecision::WindowFull);
            prop_assert_eq!(budget.at, match stopped { SendDecision::At(at) => Some(at), _ => None });
        } else if left > 2 {
            prop_assert_eq!(budget.limit == Limit::Window, stopped == SendDecision::WindowFull);
        }
    }
}
