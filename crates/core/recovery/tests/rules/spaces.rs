//! Three packet number spaces: timers of RFC 9002 section 6.2 and appendix A.8 in closed form, and
//! all counters compared with a plain model.

use crate::common::*;
use ackclock_recovery::SpaceId::{Application, Handshake, Initial};
use ackclock_recovery::{AckFrame, Config, EcnCounts, Role, SendDecision, SpaceId};
use congestion::Cause;
use proptest::prelude::*;
use units::{Duration, Ecn};

fn client() -> Bench {
    Bench::endpoint(Config::quic(), Role::Client)
}

fn server() -> Bench {
    Bench::endpoint(Config::quic(), Role::Server)
}

/// PTO before the first sample, milliseconds.
const FIRST: f64 = 999.0;

/// Numbers start at 0 in each space. Bytes in flight and the recovery period belong to the
/// connection.
#[test]
fn one_flight_and_one_period() {
    let mut b = client();
    assert_eq!((b.send_in(0.0, Initial), b.send_in(1.0, Handshake), b.send_in(2.0, Application)), (0, 0, 0));
    for at in 0..9 {
        b.send_in(3.0 + f64::from(at), if at < 4 { Handshake } else { Application });
    }
    assert_eq!(b.sender.bytes_in_flight(), 12 * SIZE);
    b.ack_in(50.0, Handshake, &[(4, 4)]).unwrap();
    assert_eq!((b.out.space, b.lost_pns(), b.out.congestion), (Handshake, vec![0, 1], Some(Cause::Loss)));
    b.ack_in(51.0, Application, &[(5, 5)]).unwrap();
    assert_eq!((b.out.space, b.lost_pns()), (Application, vec![0, 1, 2]));
    assert_eq!(b.out.congestion, None, "they left before the reduction");
    assert_eq!(b.sender.bytes_in_flight(), 5 * SIZE);
    for at in 0..4 {
        b.send_in(60.0 + f64::from(at), Application);
    }
    b.ack_in(110.0, Application, &[(9, 9)]).unwrap();
    assert_eq!((b.lost_pns(), b.out.congestion), (vec![3, 4, 6], Some(Cause::Loss)), "6 left after it");
}

/// An endpoint needs some time to send in response to an acknowledgement. Packets count as sent at
/// the moment of the reduction until it says that it is done, as where no time passes
/// (`loss_of_the_packet_that_leaves_at_once`).
#[test]
fn what_leaves_a_little_later() {
    for (answered, expected) in [(false, None), (true, Some(Cause::Loss))] {
        let mut b = Bench::connected();
        for n in 0..20 {
            b.send_in(f64::from(n), Application);
        }
        b.ack_in(100.0, Application, &[(1, 4)]).unwrap();
        assert_eq!((b.lost_pns(), b.out.congestion), (vec![0], Some(Cause::Loss)));
        if answered {
            b.sender.end_response();
        }
        assert_eq!(b.send_in(100.005, Application), 20);
        b.sender.end_response();
        for n in 0..4 {
            b.send_in(106.0 + f64::from(n), Application);
        }
        b.ack_in(208.0, Application, &[(1, 19), (21, 23)]).unwrap();
        assert_eq!((b.lost_pns(), b.out.congestion), (vec![20], expected));
    }
}

/// Section 6.4: the packets in flight of a discarded space are removed without being acknowledged
/// or lost, and the backoff is reset.
#[test]
fn discarded() {
    let mut b = client();
    b.send_in(0.0, Initial);
    b.send_in(0.0, Initial);
    b.timer();
    b.send_in(1000.0, Handshake);
    b.signals();
    assert_eq!(b.sender.bytes_in_flight(), 3 * SIZE);
    b.sender.discard(ms(1001.0), Initial);
    assert_eq!((b.sender.bytes_in_flight(), b.sender.stats().discarded), (SIZE, 2));
    assert_ms(b.due().unwrap(), 1000.0 + FIRST);
    assert!(b.signals().is_empty(), "the controller is told nothing");
    b.ack_in(1050.0, Initial, &[(0, 1)]).unwrap();
    assert!(b.acked().is_empty());
    // After a Retry, numbers continue (RFC 9000 section 17.2.5.3).
    assert_eq!(b.send_in(1060.0, Initial), 2);
    b.ack_in(1100.0, Initial, &[(2, 2)]).unwrap();
    assert_eq!((b.acked(), b.lost_pns(), b.sender.bytes_in_flight()), (vec![2], vec![], SIZE));
}

/// Section 6.2.1: the timer doubles with each timeout. Two probes can be sent whatever the window,
/// in the space that timed out.
#[test]
fn probes_in_order() {
    let mut b = client();
    b.send_in(0.0, Initial);
    b.send_in(10.0, Handshake);
    assert_ms(b.timer(), FIRST);
    assert_eq!((b.out.probe, b.out.space), (true, Initial));
    b.set_window(0);
    b.send_in(FIRST, Initial);
    assert_eq!(b.sender.can_send(ms(FIRST), SIZE), SendDecision::Now);
    b.send_in(FIRST, Initial);
    assert_eq!(b.sender.can_send(ms(FIRST), SIZE), SendDecision::WindowFull, "two, no more");
    assert_ms(b.timer(), 10.0 + 2.0 * FIRST);
    assert_eq!(b.out.space, Handshake);
    b.send_in(2008.0, Handshake);
    assert_ms(b.timer(), FIRST + 4.0 * FIRST);
    assert_eq!(b.out.space, Initial);
}

/// Section 6.2.1: 1-RTT packets are probed once the handshake is confirmed, and only they wait for
/// the peer's max_ack_delay.
#[test]
fn application() {
    let mut b = client();
    b.sender.on_handshake_keys();
    b.send_in(0.0, Handshake);
    b.ack_in(100.0, Handshake, &[(0, 0)]).unwrap(); // PTO = 100 + 4 * 50
    b.send_in(100.0, Application);
    assert_eq!(b.due(), None, "not before the handshake is confirmed");
    b.sender.on_handshake_confirmed(ms(150.0));
    assert_ms(b.due().unwrap(), 100.0 + 300.0 + 25.0);
    b.sender.set_max_ack_delay(Duration::from_millis(60));
    assert_ms(b.due().unwrap(), 100.0 + 300.0 + 60.0);
    assert_ms(b.timer(), 460.0);
    b.send_in(460.0, Application);
    assert_ms(b.due().unwrap(), 460.0 + 2.0 * 360.0);
    b.send_in(461.0, Handshake);
    assert_ms(b.due().unwrap(), 461.0 + 2.0 * 300.0);
}

/// Section 6.2.2.1: a client with nothing in flight sends to avoid a deadlock. It sends an Initial
/// until it has Handshake keys, and stops when an ACK of a Handshake packet shows that it is
/// validated.
#[test]
fn deadlock() {
    let mut b = client();
    b.send_in(0.0, Initial);
    b.ack_in(100.0, Initial, &[(0, 0)]).unwrap();
    assert_ms(b.due().unwrap(), 100.0 + 300.0);
    b.timer();
    assert_eq!((b.out.probe, b.out.space), (true, Initial));
    b.send_in(400.0, Initial);
    b.ack_in(500.0, Initial, &[(0, 1)]).unwrap();
    // 3/4 of rttvar 50. An ACK in an Initial does not reset the backoff.
    assert_ms(b.due().unwrap(), 500.0 + 2.0 * 250.0);
    b.sender.on_handshake_keys();
    b.sender.discard(ms(600.0), Initial);
    assert_ms(b.due().unwrap(), 600.0 + 250.0);
    b.timer();
    assert_eq!((b.out.probe, b.out.space), (true, Handshake));
    b.send_in(850.0, Handshake);
    b.ack_in(950.0, Handshake, &[(0, 0)]).unwrap();
    assert_eq!(b.due(), None);
    b.send_in(960.0, Handshake);
    assert_ms(b.due().unwrap(), 960.0 + 100.0 + 4.0 * 28.125);
}

/// A server starts with its own address validated, and must not probe while it can send nothing.
/// A probe due meanwhile is due at once when it can send again.
#[test]
fn amplification() {
    let mut b = server();
    assert_eq!(b.due(), None);
    b.send_in(0.0, Initial);
    b.send_in(0.0, Handshake);
    assert_ms(b.due().unwrap(), FIRST);
    b.sender.set_amplification_limited(true);
    assert_eq!(b.due(), None);
    b.sender.on_timer(ms(5000.0), &mut b.out);
    assert!(!b.out.probe);
    b.sender.set_amplification_limited(false);
    assert_ms(b.due().unwrap(), FIRST);
    b.sender.on_timer(ms(6000.0), &mut b.out);
    assert_eq!((b.out.probe, b.out.space), (true, Initial));
    b.ack_in(6100.0, Initial, &[(0, 0)]).unwrap();
    assert_eq!(b.sender.stats().timeouts, 1);
    let pto = 6100.0 + 4.0 * 3050.0;
    assert_ms(b.due().unwrap(), pto); // the server's backoff is taken back by any ACK
}

/// Losses come before probes, whatever the space.
#[test]
fn loss_time_first() {
    let mut b = server();
    b.send_in(0.0, Initial);
    b.ack_in(100.0, Initial, &[(0, 0)]).unwrap();
    b.send_in(100.0, Initial);
    b.send_in(110.0, Handshake);
    b.send_in(111.0, Handshake);
    b.ack_in(211.0, Handshake, &[(1, 1)]).unwrap();
    b.sender.set_amplification_limited(true);
    assert_ms(b.due().unwrap(), 110.0 + 112.5);
    b.timer();
    assert_eq!((b.out.space, b.lost_pns(), b.out.probe), (Handshake, vec![0], false));
}

/// Section 5.3: no delay for an Initial, any delay before the handshake is confirmed, then at most
/// the peer's max_ack_delay.
#[test]
fn ack_delay() {
    let smoothed = |space, confirmed: bool| {
        let mut b = client();
        b.send_in(0.0, space);
        b.ack_in(100.0, space, &[(0, 0)]).unwrap();
        if confirmed {
            b.sender.on_handshake_confirmed(ms(100.0));
        }
        b.send_in(1000.0, space);
        let ack_delay = AckFrame::decode_delay(50_000 >> 3, 3);
        let frame = AckFrame { ranges: vec![(0, 1)], ack_delay, ..AckFrame::default() };
        b.sender.on_ack_in(ms(1000.0 + 180.0), space, &frame, None, &mut b.out).unwrap();
        b.sender.rtt().smoothed().as_millis_f64() * 8.0 - 700.0
    };
    assert_ms(smoothed(Initial, false), 180.0);
    assert_ms(smoothed(Handshake, false), 130.0);
    assert_ms(smoothed(Application, false), 130.0);
    assert_ms(smoothed(Application, true), 155.0);
    assert_eq!(AckFrame::decode_delay(u64::MAX, 255), Duration::MAX);
}

/// RFC 9000 section 13.4.2.1: counts belong to a space. Those of another do not fail validation,
/// falling ones do.
#[test]
fn ecn_counts_of_each() {
    let config = Config { ecn: Ecn::Ect0, ..Config::quic() };
    let mut b = Bench::endpoint(config, Role::Server);
    let ack = |b: &mut Bench, at, space, range, ect0| {
        let ecn = Some(EcnCounts { ect0, ..EcnCounts::default() });
        let frame = AckFrame { ranges: vec![range], ecn, ..AckFrame::default() };
        b.sender.on_ack_in(ms(at), space, &frame, None, &mut b.out).unwrap();
        b.sender.bare_mark()
    };
    for space in [Initial, Initial, Initial, Handshake, Handshake, Handshake] {
        let (mark, data) = (b.sender.datagram_mark(ms(0.0)), piece(0));
        b.sender.on_sent_in(ms(0.0), space, SIZE, mark, data, true);
    }
    assert_eq!(ack(&mut b, 50.0, Initial, (0, 1), 2), Ecn::Ect0);
    assert_eq!(ack(&mut b, 51.0, Handshake, (0, 0), 1), Ecn::Ect0);
    assert_eq!(ack(&mut b, 52.0, Initial, (0, 2), 3), Ecn::Ect0);
    assert_eq!(ack(&mut b, 53.0, Handshake, (0, 1), 0), Ecn::NotEct, "falling");
    assert_eq!(b.sender.datagram_mark(ms(60.0)), Ecn::NotEct);
}

/// Appendix A.4 with two packets per datagram: ten packets form the test, and when the tenth is
/// lost the path drops ECT.
#[test]
fn a_test_of_coalesced_packets() {
    let mut b = Bench::endpoint(Config { ecn: Ecn::Ect0, ..Config::quic() }, Role::Server);
    let marks: Vec<_> = (0..7)
        .map(|_| {
            let mark = b.sender.datagram_mark(ms(0.0));
            for space in [Initial, Handshake] {
                b.sender.on_sent_in(ms(0.0), space, SIZE, mark, piece(0), true);
            }
            mark
        })
        .collect();
    assert_eq!(marks, [vec![Ecn::Ect0; 5], vec![Ecn::NotEct; 2]].concat());
    let failed = |b: &Bench| format!("{:?}", b.sender).contains("state: Failed");
    b.ack_in(50.0, Initial, &[(5, 6)]).unwrap();
    assert_eq!(b.lost_pns(), [0, 1, 2, 3]);
    b.timer();
    assert_eq!((b.out.space, b.lost_pns(), failed(&b)), (Initial, vec![4], false));
    b.ack_in(80.0, Handshake, &[(5, 6)]).unwrap();
    assert_eq!((b.lost_pns(), failed(&b)), (vec![0, 1, 2, 3], false));
    b.timer();
    assert_eq!((b.lost_pns(), failed(&b)), (vec![4], true));
}

#[derive(Clone, Debug)]
enum Op {
    Send(SpaceId),
    Pad(SpaceId),
    Bare(SpaceId),
    Skip(SpaceId),
    /// Number of the newest packets that are not acknowledged, and of the packets below them that
    /// are.
    Ack(SpaceId, u64, u64),
    Discard(SpaceId),
    Keys,
    Confirm,
    Limit(bool),
    Timer,
}

fn space() -> impl Strategy<Value = SpaceId> {
    prop_oneof![Just(Initial), Just(Handshake), Just(Application)]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => space().prop_map(Op::Send),
        1 => space().prop_map(Op::Pad),
        4 => space().prop_map(Op::Bare),
        1 => space().prop_map(Op::Skip),
        6 => (space(), 0u64..5, 1u64..6).prop_map(|(space, below, count)| Op::Ack(space, below, count)),
        1 => prop_oneof![Just(Initial), Just(Handshake)].prop_map(Op::Discard),
        1 => Just(Op::Keys),
        1 => Just(Op::Confirm),
        1 => any::<bool>().prop_map(Op::Limit),
        3 => Just(Op::Timer),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Flies { sent: f64, elicits: bool },
    Settled,
    Bare,
    Skipped,
}

#[derive(Default)]
struct Model {
    spaces: [Vec<Fate>; 3],
    largest: [Option<u64>; 3],
    validated: bool,
    keys: bool,
    confirmed: bool,
    limited: bool,
    since: f64,
    timeouts: i32,
}

impl Model {
    fn flying(&self, space: SpaceId) -> impl Iterator<Item = f64> + '_ {
        let eliciting = |fate: &Fate| match fate {
            Fate::Flies { sent, elicits: true } => Some(*sent),
            _ => None,
        };
        self.spaces[space as usize].iter().filter_map(eliciting)
    }

    /// Appendix A.8 without its loss times. `last` is the send time of the last ACK-eliciting
    /// packet of each space.
    fn timer(&self, timeout: f64, last: [f64; 3]) -> Option<(f64, SpaceId)> {
        if self.limited {
            return None;
        }
        let (mut first, backoff) = (None::<(f64, SpaceId)>, f64::from(1 << self.timeouts));
        for space in SpaceId::ALL {
            if self.flying(space).next().is_none() || (space == Application && !self.confirmed) {
                continue;
            }
            let delay = if space == Application { 25.0 } else { 0.0 };
            let at = last[space as usize] + (timeout + delay) * backoff;
            if first.is_none_or(|first| at < first.0) {
                first = Some((at, space));
            }
        }
        let fallback = if self.keys { Handshake } else { Initial };
        first.or((!self.validated).then_some((self.since + timeout * backoff, fallback)))
    }
}

proptest! {
    /// Packets are sent, acknowledged, skipped, discarded and confirmed in three spaces: bytes in
    /// flight, payloads and timer equal those of the model.
    #[test]
    fn like_a_model(ops in prop::collection::vec(op(), 1..150), is_server in any::<bool>()) {
        let mut b = if is_server { server() } else { client() };
        let mut model = Model { validated: is_server, ..Model::default() };
        let mut last = [0.0; 3];
        for (n, op) in ops.into_iter().enumerate() {
            let now = 7.0 * n as f64;
            match op {
                Op::Send(space) | Op::Pad(space) => {
                    let elicits = matches!(op, Op::Send(_));
                    let pn = if elicits { b.send_in(now, space) } else { b.pad_in(now, space) };
                    prop_assert_eq!(pn, model.spaces[space as usize].len() as u64);
                    model.spaces[space as usize].push(Fate::Flies { sent: now, elicits });
                    model.since = now;
                    if elicits {
                        last[space as usize] = now;
                    }
                }
                Op::Bare(space) => {
                    prop_assert_eq!(b.bare_in(space), model.spaces[space as usize].len() as u64);
                    model.spaces[space as usize].push(Fate::Bare);
                }
                Op::Skip(space) => {
                    b.sender.skip_number(space);
                    model.spaces[space as usize].push(Fate::Skipped);
                }
                Op::Ack(space, below, count) => {
                    let numbers = &mut model.spaces[space as usize];
                    let Some(high) = (numbers.len() as u64).checked_sub(1 + below) else { continue };
                    let low = high.saturating_sub(count - 1);
                    let named = &mut numbers[low as usize..=high as usize];
                    let verdict = b.ack_in(now, space, &[(low, high)]);
                    // The latest 16 skipped numbers are remembered; more are rare here.
                    if named.contains(&Fate::Skipped) {
                        prop_assert!(verdict.is_err() || numbers.iter().filter(|f| **f == Fate::Skipped).count() > 16);
                        if verdict.is_err() {
                            continue;
                        }
                    }
                    let mut acked = Vec::new();
                    for pn in low..=high {
                        let fate = &mut model.spaces[space as usize][pn as usize];
                        if matches!(fate, Fate::Flies { .. }) {
                            *fate = Fate::Settled;
                            acked.push(pn);
                        }
                    }
                    prop_assert_eq!(b.acked(), acked.clone());
                    let raised = model.largest[space as usize].is_none_or(|largest| high > largest);
                    model.largest[space as usize] = model.largest[space as usize].max(Some(high));
                    for pn in b.lost_pns() {
                        let largest = model.largest[space as usize];
                        let fate = &mut model.spaces[space as usize][pn as usize];
                        prop_assert!(Some(pn) < largest && matches!(fate, Fate::Flies { .. }), "{} lost", pn);
                        *fate = Fate::Settled;
                    }
                    // Section 6.1.1, over all numbers.
                    let left = model.spaces[space as usize].iter().take((high + 1).saturating_sub(3) as usize);
                    let overdue = left.filter(|f| matches!(f, Fate::Flies { .. })).count();
                    let settled = !acked.is_empty() || !b.out.late.is_empty();
                    prop_assert!(!settled || overdue == 0);
                    model.since = now;
                    model.validated |= space == Handshake;
                    let largest = model.spaces[space as usize][high as usize];
                    if raised && !settled && largest != Fate::Bare {
                        break; // lost or discarded so long ago that nobody knows: either is right
                    }
                    if model.validated && (settled || raised) {
                        model.timeouts = 0;
                    }
                }
                Op::Discard(space) => {
                    b.sender.discard(ms(now), space);
                    for fate in &mut model.spaces[space as usize] {
                        if matches!(fate, Fate::Flies { .. }) {
                            *fate = Fate::Settled;
                        }
                    }
                    (model.since, model.timeouts) = (now, 0);
                }
                Op::Keys => {
                    b.sender.on_handshake_keys();
                    model.keys = true;
                }
                Op::Confirm => {
                    b.sender.on_handshake_confirmed(ms(now));
                    (model.confirmed, model.validated, model.since) = (true, true, now);
                }
                Op::Limit(limited) => {
                    b.sender.set_amplification_limited(limited);
                    model.limited = limited;
                }
                Op::Timer => {
                    let Some(due) = b.due().filter(|due| *due <= now) else { continue };
                    b.sender.on_timer(ms(now), &mut b.out);
                    for pn in b.lost_pns() {
                        model.spaces[b.out.space as usize][pn as usize] = Fate::Settled;
                    }
                    model.since = now;
                    if b.out.probe {
                        model.timeouts += 1;
                    } else {
                        // Or an ACK of another space has raised the RTT since, and it waits longer.
                        prop_assert!(!b.out.lost.is_empty() || b.due() > Some(due), "{} at {}", due, now);
                    }
                }
            }
            let flying = model.spaces.iter().flatten().filter(|f| matches!(f, Fate::Flies { .. })).count();
            prop_assert_eq!(b.sender.bytes_in_flight(), flying as u64 * SIZE);
            // With a loss time, the timer equals it. Its rule has separate tests.
            let rtt = b.sender.rtt();
            let timeout = rtt.timeout(Duration::from_millis(1)).as_millis_f64();
            let at_loss = format!("{:?}", b.sender).matches("loss_time: Some").count() > 0;
            if !at_loss {
                let expected = model.timer(timeout, last).map(|due| due.0);
                prop_assert_eq!(expected.is_some(), b.due().is_some());
                if let (Some(expected), Some(due)) = (expected, b.due()) {
                    prop_assert!((expected - due).abs() < 1e-3, "{} for {}", due, expected);
                }
            }
        }
    }
}
