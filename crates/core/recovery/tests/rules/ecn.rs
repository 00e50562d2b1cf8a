//! ECN counts and their validation (RFC 9000 section 13.4), with sender and receiver.

use crate::common::*;
use ackclock_recovery::{AckConfig, AckFrame, Clock, Config, Receiver};
use congestion::Cause;
use proptest::prelude::*;
use units::Duration;
use units::Ecn;

/// Delivery of a packet and its ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Arrives,
    Marked,
    Lost,
    /// Overtaken by the next one.
    Late,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![6 => Just(Fate::Arrives), 2 => Just(Fate::Marked), 1 => Just(Fate::Lost), 1 => Just(Fate::Late)]
}

/// Sends packets one per millisecond, each acknowledged 50 ms later if its ACK survives.
struct Line {
    bench: Bench,
    receiver: Receiver,
    marked: u64,
    arrived: u64,
    held: Option<(u64, Ecn)>,
}

impl Line {
    fn new(mark: Ecn) -> Self {
        let ack = AckConfig { ack_every: 1.into(), ..AckConfig::default() };
        let bench = Bench::new(Config { ecn: mark, ..Config::quic() });
        Self {
            bench,
            receiver: Receiver::new(ack, Clock::default(), Duration::from_millis(50)),
            marked: 0,
            arrived: 0,
            held: None,
        }
    }

    fn arrive(&mut self, at: f64, pn: u64, ecn: Ecn) {
        self.receiver.on_packet(ms(at + 25.0), pn, ecn, self.bench.sender.least_unacked());
        self.marked += u64::from(ecn == Ecn::Ce);
        self.arrived += u64::from(ecn != Ecn::NotEct);
    }

    fn packet(&mut self, at: f64, fate: Fate, ack_lost: bool) -> Ecn {
        let piece = piece(self.arrived);
        let (pn, ecn) = self.bench.sender.on_sent(ms(at), SIZE, piece, false);
        match fate {
            Fate::Arrives => self.arrive(at, pn, ecn),
            Fate::Marked => self.arrive(at, pn, if ecn == Ecn::NotEct { ecn } else { Ecn::Ce }),
            Fate::Lost => {}
            Fate::Late => {
                if let Some((pn, ecn)) = self.held.replace((pn, ecn)) {
                    self.arrive(at, pn, ecn);
                }
            }
        }
        let mut frame = AckFrame::default();
        self.receiver.write_ack(ms(at + 25.0), &mut frame);
        if !ack_lost && !frame.ranges.is_empty() {
            let counts = frame.ecn.unwrap_or_default();
            assert_eq!((counts.ce, counts.ect0 + counts.ect1 + counts.ce), (self.marked, self.arrived));
            self.bench.ack_frame(at + 50.0, &frame);
        }
        ecn
    }
}

proptest! {
    /// With lost packets, late packets, lost ACKs and marks, counts are exact. An honest path never
    /// fails validation: in the end a mark causes a reduction.
    #[test]
    fn an_honest_path_validates(
        steps in prop::collection::vec((fate(), prop::bool::weighted(0.3)), 20..120),
        mark in prop_oneof![Just(Ecn::Ect0), Just(Ecn::Ect1)],
    ) {
        let mut line = Line::new(mark);
        // The first packet and its ACK arrive: a path that drops the whole test counts as one that
        // drops ECT.
        line.packet(0.0, Fate::Arrives, false);
        for (n, (fate, ack_lost)) in steps.into_iter().enumerate() {
            line.packet(60.0 * (n + 1) as f64, fate, ack_lost);
        }
        // A pause resolves the losses, so that the mark stands alone.
        for n in 0..5 {
            line.packet(50_000.0 + 60.0 * f64::from(n), Fate::Arrives, false);
        }
        let ecn = line.packet(60_000.0, Fate::Marked, false);
        prop_assert_eq!(ecn, mark, "still marking");
        prop_assert_eq!(line.bench.out.congestion, Some(Cause::Ecn));
    }
}

/// On a path that clears ECT the sender stops marking and ignores counts.
#[test]
fn bleaching() {
    let mut line = Line::new(Ecn::Ect0);
    let (pn, ecn) = line.bench.sender.on_sent(ms(0.0), SIZE, piece(0), false);
    assert_eq!(ecn, Ecn::Ect0);
    line.arrive(0.0, pn, Ecn::NotEct);
    let mut frame = AckFrame::default();
    line.receiver.write_ack(ms(25.0), &mut frame);
    assert_eq!(frame.ecn, None);
    line.bench.ack_frame(50.0, &frame);
    assert_eq!(line.packet(60.0, Fate::Marked, false), Ecn::NotEct);
    assert!(line.bench.verdicts().is_empty());
}

/// RFC 9000 section 13.4.2.1: an ACK that does not raise the largest acknowledged number must not
/// fail validation, although its older counts are below those seen.
#[test]
fn overtaken_acks() {
    let mut line = Line::new(Ecn::Ect0);
    let b = &mut line.bench;
    for at in 0..3 {
        b.send(f64::from(at));
    }
    let count = |ect0| ackclock_recovery::EcnCounts { ect0, ect1: 0, ce: 0 };
    b.ack_ecn(50.0, &[(0, 0), (2, 2)], count(2));
    b.ack_ecn(50.1, &[(0, 1)], count(1));
    b.send(60.0);
    b.ack_ecn(110.0, &[(0, 3)], ackclock_recovery::EcnCounts { ect0: 3, ect1: 0, ce: 1 });
    assert_eq!(b.out.congestion, Some(Cause::Ecn));
}
