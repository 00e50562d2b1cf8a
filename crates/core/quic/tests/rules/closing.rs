//! Closing, draining and idle timeout: the rules of RFC 9000 section 10, and comparison with a
//! simple model.

use ackclock_quic::connection::close::close_levels;
use ackclock_quic::connection::close::lifecycle::MAX_REASON;
use ackclock_quic::connection::{Close, IdleTimer, Lifecycle, State};
use ackclock_quic::units::{Duration, Time};
use ackclock_quic::wire::Frame;
use ackclock_quic::{Code, Error, Level, Side};
use proptest::prelude::*;

const PTO: Duration = Duration::from_millis(100);

fn application() -> Close {
    Close::Application { error: 7, reason: b"enough".to_vec() }
}

#[test]
fn three_pto_of_closing() {
    let mut life = Lifecycle::default();
    assert!(life.is_open() && life.next_close().is_none() && life.timer() == Time::NEVER);
    let now = Time::from_millis(50);
    life.close(now, PTO, application());
    assert_eq!((life.state(), life.timer()), (State::Closing, now + PTO * 3));
    assert_eq!(life.next_close(), Some(&application()));
    assert_eq!(life.next_close(), None);
    // The first reason remains.
    life.close(now + PTO, PTO, Error::new(Code::INTERNAL_ERROR, "later").into());
    life.on_packet();
    assert_eq!((life.next_close().cloned(), life.timer()), (Some(application()), now + PTO * 3));
    life.on_timer(now + PTO * 3 - Duration(1));
    assert_eq!(life.state(), State::Closing);
    life.on_timer(now + PTO * 3);
    assert_eq!((life.state(), life.timer()), (State::Gone, Time::NEVER));
    life.on_packet();
    life.on_peer_close(now, PTO);
    life.on_reset(now, PTO);
    assert_eq!((life.state(), life.next_close()), (State::Gone, None));
}

#[test]
fn answers_to_every_power_of_two() {
    let mut life = Lifecycle::default();
    life.on_packet();
    life.close(Time::ZERO, PTO, application());
    let _ = life.next_close();
    let answered: Vec<u64> = (1..=1000)
        .filter(|_| {
            life.on_packet();
            life.next_close().is_some()
        })
        .collect();
    assert_eq!(answered, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
}

#[test]
fn one_answer_and_then_nothing() {
    let mut life = Lifecycle::default();
    life.on_peer_close(Time::ZERO, PTO);
    assert_eq!((life.state(), life.timer()), (State::Draining, Time::ZERO + PTO * 3));
    let no_error = Frame::ConnectionClose { code: Code::NO_ERROR, frame_type: 0, reason: &[] };
    assert_eq!(life.next_close().map(|close| close.frame(Level::OneRtt, 1000)), Some(no_error));
    (0..100).for_each(|_| life.on_packet());
    life.on_peer_close(Time::from_millis(200), PTO);
    assert_eq!((life.timer(), life.next_close()), (Time::ZERO + PTO * 3, None));
    life.on_timer(Time::ZERO + PTO * 3);
    assert_eq!(life.state(), State::Gone);

    // Both ends close: draining ends when closing would have ended, and nothing more is sent.
    let mut life = Lifecycle::default();
    life.close(Time::ZERO, PTO, application());
    life.on_packet();
    life.on_peer_close(Time::from_millis(200), PTO);
    assert_eq!((life.state(), life.timer()), (State::Draining, Time::ZERO + PTO * 3));
    assert_eq!(life.next_close(), None);
}

#[test]
fn a_reset_is_not_answered() {
    let mut life = Lifecycle::default();
    life.on_reset(Time::ZERO, PTO);
    assert_eq!(
        (life.state(), life.timer(), life.next_close()),
        (State::Draining, Time::ZERO + PTO * 3, None)
    );
    let mut life = Lifecycle::default();
    life.close(Time::ZERO, PTO, application());
    life.on_reset(Time::from_millis(100), PTO);
    assert_eq!(
        (life.state(), life.timer(), life.next_close()),
        (State::Draining, Time::ZERO + PTO * 3, None)
    );
    let mut life = Lifecycle::default();
    life.give_up();
    assert_eq!((life.state(), life.next_close()), (State::Gone, None));
}

/// Section 10.2.3.
#[test]
fn levels_that_the_peer_can_read() {
    use Level::{Handshake, Initial, OneRtt};
    let rows: &[(Side, [bool; 4], &[Level])] = &[
        (Side::Client, [true, false, false, false], &[Initial]),
        (Side::Client, [true, true, false, false], &[Handshake]),
        (Side::Client, [false, true, true, false], &[Handshake, OneRtt]),
        (Side::Client, [false, false, true, true], &[OneRtt]),
        (Side::Server, [true, false, false, false], &[Initial]),
        (Side::Server, [true, true, true, false], &[Initial, Handshake, OneRtt]),
        (Side::Server, [false, true, true, false], &[Handshake, OneRtt]),
        (Side::Server, [true, true, true, true], &[OneRtt]),
        (Side::Server, [false; 4], &[]),
    ];
    for &(side, [initial, handshake, one_rtt, confirmed], expected) in rows {
        let keys = [initial, handshake, one_rtt];
        let levels: Vec<_> = close_levels(side, keys, confirmed).collect();
        assert_eq!(levels, expected, "{side:?} {keys:?} {confirmed}");
    }
}

#[test]
fn the_applications_reason_is_for_the_peer_alone() {
    let hidden = Frame::ConnectionClose { code: Code::APPLICATION_ERROR, frame_type: 0, reason: &[] };
    assert_eq!(application().frame(Level::Initial, 1000), hidden);
    assert_eq!(application().frame(Level::Handshake, 1000), hidden);
    let told = Frame::ApplicationClose { error: 7, reason: b"enough" };
    assert_eq!(application().frame(Level::OneRtt, 1000), told);
    let close = Close::from(Error::new(Code::STREAM_LIMIT_ERROR, "too many").in_frame(8));
    let told = Frame::ConnectionClose { code: Code::STREAM_LIMIT_ERROR, frame_type: 8, reason: b"too many" };
    assert_eq!((close.frame(Level::Initial, 1000), close.frame(Level::OneRtt, 1000)), (told, told));
    let long = Close::Application { error: 1, reason: vec![b'x'; 5000] };
    assert!(long.frame(Level::OneRtt, 1000).size() < MAX_REASON + 8);
    // Cut between characters.
    let umlauts = Close::Application { error: 1, reason: format!("x{}", "\u{fc}".repeat(200)).into_bytes() };
    let Frame::ApplicationClose { reason, .. } = umlauts.frame(Level::OneRtt, 1000) else { unreachable!() };
    assert_eq!(std::str::from_utf8(reason).map(str::len), Ok(MAX_REASON - 1));
    // Cut so that the frame fits.
    for room in [0, 20, 21, 22, 100] {
        let size = umlauts.frame(Level::OneRtt, room).size();
        assert!(size <= room.max(8), "{size} in {room}");
    }
}

#[test]
fn the_shorter_timeout_of_both() {
    let seconds = Duration::from_secs;
    let rows = [
        (Some(seconds(30)), Some(seconds(10)), Some(seconds(10))),
        (Some(seconds(10)), Some(seconds(30)), Some(seconds(10))),
        (None, Some(seconds(10)), Some(seconds(10))),
        (Some(seconds(10)), None, Some(seconds(10))),
        (None, None, None),
    ];
    for (local, remote, both) in rows {
        let mut idle = IdleTimer::new(Time::ZERO, local);
        idle.on_peer(remote);
        assert_eq!(idle.timeout(), both);
        let expected = both.map_or(Time::NEVER, |timeout| Time::ZERO + timeout);
        assert_eq!(idle.deadline(PTO), expected);
    }
    let short = IdleTimer::new(Time::ZERO, Some(PTO));
    assert_eq!(short.deadline(PTO), Time::ZERO + PTO * 3);
}

proptest! {
    /// The timer restarts with each received packet, and with the first ACK-eliciting packet sent
    /// after it.
    #[test]
    fn idle_like_a_list_of_events(events in prop::collection::vec((any::<bool>(), 1_u64..1000), 0..60)) {
        let timeout = Duration::from_secs(10);
        let mut idle = IdleTimer::new(Time::ZERO, Some(timeout));
        let mut now = Time::ZERO;
        let mut log = Vec::new();
        for (heard, after) in events {
            now += Duration::from_millis(after);
            log.push((heard, now));
            if heard { idle.on_received(now) } else { idle.on_sent(now) }
            let last_heard = log.iter().rposition(|(heard, _)| *heard);
            let first_sent = log.iter().skip(last_heard.map_or(0, |at| at + 1)).map(|(_, at)| *at).next();
            let since = first_sent.or(last_heard.map(|at| log[at].1)).unwrap();
            prop_assert_eq!(idle.deadline(PTO), since + timeout);
        }
    }

    /// A connection that is not open always reaches its end. While it drains, it sends
    /// nothing but the one answer.
    #[test]
    fn always_to_an_end(steps in prop::collection::vec((0_u8..5, 0_u64..200), 1..60)) {
        let mut life = Lifecycle::default();
        let mut now = Time::ZERO;
        let mut end = None;
        let mut before = State::Open;
        for (step, after) in steps {
            now += Duration::from_millis(after);
            life.on_timer(now);
            match step {
                0 => life.close(now, PTO, application()),
                1 => life.on_peer_close(now, PTO),
                2 => life.on_reset(now, PTO),
                _ => life.on_packet(),
            }
            let sent = life.next_close().is_some();
            let answer = before == State::Open && step == 1;
            prop_assert!(!sent || life.state() == State::Closing || answer);
            prop_assert!(life.state() >= before, "{before:?} to {:?}", life.state());
            if !life.is_open() {
                let end = *end.get_or_insert(now + PTO * 3);
                prop_assert_eq!(life.state() == State::Gone, now >= end);
            }
            before = life.state();
        }
    }
}
